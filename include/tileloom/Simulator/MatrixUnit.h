//===- MatrixUnit.h - The fused dot-add of the tensor cores
//---------------------------------------===//
//
// Bit model of wgmma, tcgen05.mma and mma.sync: all products of one instruction and the accumulator
// are aligned to the largest exponent, truncated to F fraction bits, summed exactly and rounded
// once. PTX promises less (9.7.15.5.2); the model and its parameters are the measurements published
// with MMA-Sim (arXiv 2511.10909). A scalar reference and a tile-wide version give the same bits; a
// third accumulates in fp32 for speed.
//
//===----------------------------------------------------------------------------------------------===//
#ifndef TILELOOM_SIMULATOR_MATRIXUNIT_H
#define TILELOOM_SIMULATOR_MATRIXUNIT_H

#include "tileloom/Simulator/Formats.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tileloom::sim {

/// Element types of matrix operands and accumulators.
enum class MmaType : uint8_t {
  F16,
  BF16,
  TF32,
  E4M3,
  E5M2,
  E2M3,
  E3M2,
  E2M1,
  S8,
  U8,
  F32,
  S32,
  F64
};
const char *mmaTypeName(MmaType type);
inline bool isInteger(MmaType type) {
  return type == MmaType::S8 || type == MmaType::U8 || type == MmaType::S32;
}
/// The number format of a floating-point operand type.
Format formatOf(MmaType type);

enum class MmaUnit : uint8_t { Wgmma, Tcgen05, MmaSync };

/// Which exponent a zero takes when the largest one is sought. The two published versions of the
/// model differ; results differ only when a zero meets an operand above about 2^100. The H200 follows
/// PerTerm (bf16 wgmma, 0 * 2^127 + 2^-30 * 1 = 2^-30).
enum class ZeroRule : uint8_t {
  PerOperand, ///< a zero operand has exponent -126, a zero product -126 + the other's exponent
  PerTerm,    ///< a zero product or accumulator has exponent -126
};

/// Parameters of one fused dot-add.
struct DotModel {
  int fractionBits = 25; ///< F: bits kept below the largest exponent
  int resultFractionBits =
      23;                 ///< f32 results: truncated to this many fraction bits (23, or 13 = E8M13)
  bool f16Result = false; ///< result in f16, round to nearest even
  ZeroRule zero = ZeroRule::PerTerm;
};

/// The model of a unit: wgmma with fp8 inputs keeps F = 13 and E8M13, everything else F = 25.
DotModel dotModel(MmaUnit unit, MmaType a, MmaType b, MmaType d);

//===----------------------------------------------------------------------------------------------===//
// Scalar reference
//===----------------------------------------------------------------------------------------------===//

/// One output of one instruction: patterns of a[0..k), b[0..k) and c (f32, or f16 when f16Result);
/// returns the pattern of d. `scaleExponent` is added to every product exponent (mxf8f6f4).
uint32_t fusedDotAdd(const DotModel &model, Format aFormat, const uint32_t *a, Format bFormat,
                     const uint32_t *b, size_t k, uint32_t c, int scaleExponent = 0);

/// mxf4 and mxf4nvf4: e2m1 patterns, k a multiple of 16, one scale pattern per k / scales elements.
uint32_t fusedDotAddBlockScaled(const uint32_t *a, const uint32_t *b, size_t k, uint32_t c,
                                Format scaleFormat, const uint32_t *scaleA, const uint32_t *scaleB,
                                size_t scales);

/// Integer dot-add: exact modulo 2^32, or saturated.
int32_t integerDotAdd(const int32_t *a, const int32_t *b, size_t k, int32_t c, bool satfinite);

//===----------------------------------------------------------------------------------------------===//
// Tile-wide
//===----------------------------------------------------------------------------------------------===//

/// Where the elements of a dense operand row sit.
enum class Packing : uint8_t {
  Container, ///< one element per 1, 2 or 4 bytes (sub-byte types: low bits of a byte)
  Packed4,   ///< two 4-bit elements per byte, low nibble first (mxf4, mxf4nvf4)
  Padded4,   ///< 16 4-bit elements in 8 bytes, then 8 bytes of gap (16U4_ALIGN16B)
  Padded6,   ///< 16 6-bit elements in 12 bytes, then 4 bytes of gap (16U6_ALIGN16B)
  Tmem4,     ///< one 4-bit element in bits 5:2 of a byte (tcgen05 A in TMEM; UNVERIFIED)
};

/// Bytes of a row of k elements.
size_t packedRowBytes(MmaType type, Packing packing, size_t k);

/// An operand ready for the matrix unit; element (row, k) of each array is at [k * stride + row],
/// rows padded with zeros to a multiple of 16. Reuse one object to avoid allocation.
struct DecodedOperand {
  /// Reads `rows` rows of `k` elements, `rowBytes` apart. `negate` flips every sign.
  void load(MmaType type, Packing packing, const uint8_t *data, size_t rowBytes, size_t rows,
            size_t k, bool negate = false, ZeroRule zero = ZeroRule::PerTerm);

  /// Scale patterns of a block-scaled kind, scales[row * count + i]: count 1 for mxf8f6f4 (UE8M0),
  /// 2 or 4 for mxf4 and mxf4nvf4. Call after load.
  void setScales(Format format, const uint8_t *scales, size_t count);

  /// Makes the k stored elements of a sparse A those of a row of 2 k: element i of a row goes to
  /// places[row * k + i], what nobody goes to is absent (not a zero: it meets no infinity of B).
  /// Call after load.
  void spread(const uint8_t *places);

  MmaType type = MmaType::F16;
  size_t rows = 0, k = 0, stride = 0;
  std::vector<uint32_t> pattern; ///< raw elements, sign applied
  std::vector<float> value;      ///< exact; 0 for infinities and NaNs
  std::vector<int32_t> exponent; ///< of the fused sum; specialExponent for infinities and NaNs
  enum RowState : uint8_t { Normal, AllZero, HasSpecial };
  std::vector<uint8_t> rowState; ///< per row; HasSpecial: an infinity or NaN
  std::vector<uint8_t> present;  ///< after spread, as pattern; empty: all elements are there

  size_t scaleCount = 0; ///< 0: not scaled
  Format scaleFormat = Format::UE8M0;
  std::vector<uint32_t> scalePattern; ///< [i * stride + row], as the three below
  std::vector<float> scaleSignificand;
  std::vector<int32_t> scaleExponent; ///< specialExponent for a NaN
  std::vector<float> scaleValue;
};

/// Exponent that sends an output to the scalar path.
constexpr int32_t specialExponent = 100000;

/// The accumulator tile: 32-bit words [m][n], `stride` words apart. f32 and s32 patterns; an f16
/// result sits in the low 16 bits (the upper half of a written word is zero).
struct Accumulator {
  uint32_t *words = nullptr;
  size_t stride = 0;
};

struct TileOptions {
  bool accumulate = true; ///< false: the old D is taken as zero
  /// D is multiplied by 2^-scaleInputD first (tcgen05 kinds f16 and tf32; 0 to 15).
  unsigned scaleInputD = 0;
  bool satfinite = false; ///< integer only
};

/// D[m][n] = A . B + D for one instruction (K = a.k <= 128), bit-exact. The operands say which
/// form: float, scaled (setScales) or integer. A and B have equal k and numbers of scales.
/// Returns an empty string, or what the operands have that does not fit together.
std::string multiplyAccumulate(const DotModel &model, const DecodedOperand &a,
                               const DecodedOperand &b, Accumulator d,
                               const TileOptions &options = {});

/// The same with plain fp32 accumulation of the products (exact integers for s8 and u8).
std::string multiplyAccumulateFast(const DotModel &model, const DecodedOperand &a,
                                   const DecodedOperand &b, Accumulator d,
                                   const TileOptions &options = {});

/// Name of the kernel in use: "avx512", "avx2" or "base".
const char *matrixKernelName();

/// Selects a kernel by name, for tests and comparisons; false if this processor lacks it. Not to be
/// called while another thread multiplies.
bool setMatrixKernel(const char *name);

} // namespace tileloom::sim

#endif // TILELOOM_SIMULATOR_MATRIXUNIT_H
