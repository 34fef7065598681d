//===- TensorMap.h - The tensor map object of TMA
//-------------------------------------------------===//
//
// All fields of cuTensorMapEncodeTiled, its rules, an opaque 128-byte form of our own (the driver's
// bits are undocumented) that tensormap.replace can edit in place, and the byte counts of a box.
// Rules: cuda.h of CUDA 13.0 (cuTensorMapEncodeTiled), PTX ISA 5.5 and 9.7.9.26.
//
//===----------------------------------------------------------------------------------------------===//
#ifndef TILELOOM_SIMULATOR_TENSORMAP_H
#define TILELOOM_SIMULATOR_TENSORMAP_H

#include "tileloom/Simulator/Swizzle.h"

#include <cstdint>
#include <string>

namespace tileloom::sim {

/// An empty string is success; otherwise what was found and what was needed.
using Error = std::string;

/// Values of CUtensorMapDataType.
enum class TmaType : uint8_t {
  U8 = 0,
  U16,
  U32,
  S32,
  U64,
  S64,
  F16,
  F32,
  F64,
  BF16,
  F32Ftz,
  TF32,
  TF32Ftz,
  U4Align8 = 13,  ///< .b4x16: 16 4-bit elements in 8 bytes, dense in shared memory
  U4Align16 = 14, ///< .b4x16_p64: 8 data bytes and an 8-byte gap per 16 elements; load only
  U6Align16 = 15, ///< .b6x16_p32 (load) / .b6p2x16 (store): 16 6-bit elements, 12 bytes in global
};
enum class TmaInterleave : uint8_t { None = 0, B16 = 1, B32 = 2 };
enum class TmaL2Promotion : uint8_t { None = 0, B64 = 1, B128 = 2, B256 = 3 };
enum class TmaFill : uint8_t { Zero = 0, NaN = 1 };

/// Bits of an element in global memory (4 and 6 for the packed types).
unsigned elementBits(TmaType type);
const char *tmaTypeName(TmaType type);
bool isFloating(TmaType type);

struct TensorMap {
  uint64_t globalAddress = 0;
  uint64_t globalDim[5] = {1, 1, 1, 1, 1}; ///< elements; dimension 0 is the innermost
  uint64_t globalStride[4] = {0, 0, 0, 0}; ///< bytes; entry i belongs to dimension i + 1
  uint32_t boxDim[5] = {1, 1, 1, 1, 1};    ///< elements
  uint32_t elementStride[5] = {1, 1, 1, 1, 1};
  uint32_t rank = 1;
  TmaType type = TmaType::U8;
  TmaInterleave interleave = TmaInterleave::None;
  Swizzle swizzle = Swizzle::None;
  TmaL2Promotion l2Promotion = TmaL2Promotion::None;
  TmaFill fill = TmaFill::Zero;

  /// Elements moved along dimension i: ceil(boxDim / elementStride), stride 0 ignored in dim 0.
  uint32_t extent(unsigned dim) const {
    uint32_t stride = dim == 0 && interleave == TmaInterleave::None ? 1 : elementStride[dim];
    return (boxDim[dim] + stride - 1) / stride;
  }
};

/// Checks every rule of cuTensorMapEncodeTiled; the message names the field, the value and the
/// rule. `warnings`, when given, receives advice that is not an error (CUDA guide: 128-byte base).
Error validate(const TensorMap &map, std::string *warnings = nullptr);

constexpr unsigned tensorMapBytes = 128;

/// Writes the opaque form. Does not validate, like the device-side replace.
void encode(const TensorMap &map, uint8_t blob[tensorMapBytes]);

/// Reads the opaque form back. Fails on bytes that are no tensor map, and on one that was built by
/// tensormap.replace from a zero-filled buffer and lacks a field.
Error decode(const uint8_t blob[tensorMapBytes], TensorMap &map);

/// The fields of tensormap.replace (PTX ISA 9.7.9.26).
enum class TmaField : uint8_t {
  GlobalAddress,
  Rank,
  BoxDim,
  GlobalDim,
  GlobalStride,
  ElementStride,
  ElementType,
  InterleaveLayout,
  SwizzleMode,
  SwizzleAtomicity,
  FillMode
};

/// tensormap.replace on the opaque form: `value` has the PTX encoding (rank - 1, PTX element type
/// codes...), `ordinal` is the dimension for the indexed fields. A zero-filled blob is a legal
/// start.
Error replaceField(uint8_t blob[tensorMapBytes], TmaField field, unsigned ordinal, uint64_t value);

/// PTX element type code of tensormap.replace to driver type; false if the code is unknown.
bool typeFromPtxCode(unsigned code, TmaType &type);

/// Bytes from one row of a box to the next in shared memory: a row narrower than the swizzle begins
/// a new span of it all the same (H200, cases narrow_box_*).
uint32_t sharedRowPitch(const TensorMap &map);

/// Bytes of one box in shared memory, gaps of the padded types and behind narrow rows included.
uint32_t sharedBoxBytes(const TensorMap &map);

/// What a load of one box subtracts from the transaction count: the bytes of the box whatever is
/// out of bounds, packed bytes for the padded types (8 or 12 per 16), and no gaps behind narrow
/// rows.
uint32_t transactionBytes(const TensorMap &map);

/// The same for tile::gather4 (four rows; the box has one). UNVERIFIED.
uint32_t gather4TransactionBytes(const TensorMap &map);

} // namespace tileloom::sim

#endif // TILELOOM_SIMULATOR_TENSORMAP_H
