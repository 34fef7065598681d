//===- Formats.h - Number formats of PTX and conversions between them
//----------------------------===//
//
// Every floating-point format that PTX names, as bit patterns held in the low bits of a uint64_t.
// All of them are exactly representable in double, so a conversion is decode (exact) and encode
// (one rounding). Rules: PTX ISA 5.2.3 (alternate formats) and 9.7.9.21 (cvt).
//
//===----------------------------------------------------------------------------------------------===//
#ifndef TILELOOM_SIMULATOR_FORMATS_H
#define TILELOOM_SIMULATOR_FORMATS_H

#include <cstdint>
#include <cstring>

namespace tileloom::sim {

/// TF32 lives in 32 bits (the low 13 are ignored on decode and zero on encode). UE4M3 is the
/// non-negative E4M3 used as a scale: decode ignores bit 7.
enum class Format : uint8_t {
  F64,
  F32,
  F16,
  BF16,
  TF32,
  E4M3,
  E5M2,
  E2M3,
  E3M2,
  E2M1,
  UE8M0,
  UE4M3
};

/// The rounding modifiers of PTX. RNA is nearest with ties away from zero, RS is stochastic.
enum class Rounding : uint8_t { RN, RZ, RM, RP, RNA, RS };

struct FormatInfo {
  const char *name;
  uint8_t bits; // width of the pattern (TF32: 32)
  uint8_t exponentBits;
  uint8_t mantissaBits; // stored fraction bits
  int16_t bias;
  bool hasInf;
  bool hasNaN;
  bool hasSign;
};

const FormatInfo &formatInfo(Format format);

/// Largest finite value, as a double and as a pattern.
double maxFinite(Format format);
uint64_t maxFiniteBits(Format format);

/// The NaN that PTX instructions return: 0x7FFFFFFF (f32), 0x7FFF (f16, bf16), 0x7F (e4m3, e5m2),
/// 0xFF (ue8m0), the default quiet NaN for f64; 0 for formats without a NaN.
uint64_t canonicalNaN(Format format);

struct ConvertOptions {
  Rounding rounding = Rounding::RN;
  /// Finite overflow and infinities become the largest finite value. Implied for the formats that
  /// have no infinity, whose PTX conversions all carry .satfinite.
  bool satfinite = false;
  bool relu = false;       ///< negative results (and -0) become +0; NaN stays NaN
  bool ftz = false;        ///< a subnormal f32 input or output becomes a zero of the same sign
  uint32_t randomBits = 0; ///< RS only: added below the last kept bit, `randomCount` bits wide
  uint8_t randomCount = 0;
};

/// Exact value of a pattern. NaN decodes to a quiet NaN, bits above the width are ignored.
double decode(Format format, uint64_t bits);

/// One rounding of an exact value into a format. NaN gives canonicalNaN, or +MAX in the formats
/// without one (PTX: "NaN -> +MAX" for e2m1, e2m3, e3m2).
uint64_t encode(Format format, double value, const ConvertOptions &options = {});

/// cvt between two floating-point formats. NaNs: see encode; from and to f64 sign and payload stay
/// (with ftz, those of the canonical f32), and cvt.rna.tf32 drops the low 13 bits of any.
uint64_t convert(Format to, Format from, uint64_t bits, const ConvertOptions &options = {});

/// cvt.{rni,rzi,rmi,rpi} to an integer of `width` bits (8..64), saturating; NaN gives 0, or
/// 1 << (width-1) when the source is f64 or the destination has 64 bits. The result is sign- or
/// zero-extended to 64 bits.
uint64_t floatToInt(Format from, uint64_t bits, unsigned width, bool isSigned, Rounding rounding,
                    bool ftz = false);

/// cvt from an integer (already extended to 64 bits) with one rounding.
uint64_t intToFloat(Format to, uint64_t value, bool isSigned, Rounding rounding = Rounding::RN);

/// cvt.rXi.f32.f32 and friends: rounds to an integral value in the same format.
uint64_t roundToIntegral(Format format, uint64_t bits, Rounding rounding, bool ftz = false,
                         bool saturate = false);

/// The random bits that element `index` (0 = lowest in the packed result) of a cvt.rs to `to` takes
/// from the 32-bit `rbits`. PTX shows the layout only in figures: 13 bits at 16 * index for f16, 16
/// for bf16, 8 bits at 8 * index for the x4 forms are our reading, UNVERIFIED.
uint32_t stochasticBits(Format to, unsigned index, uint32_t rbits, uint8_t &count);

//===----------------------------------------------------------------------------------------------===//
// Inline fast paths for the common pairs; same results as the functions above, except that the
// widening of a bf16 NaN keeps its payload, as the shift that it compiles to does.
//===----------------------------------------------------------------------------------------------===//

inline uint32_t bitsOf(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  return bits;
}
inline uint64_t bitsOf(double value) {
  uint64_t bits;
  std::memcpy(&bits, &value, 8);
  return bits;
}
inline float floatOf(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, 4);
  return value;
}
inline double doubleOf(uint64_t bits) {
  double value;
  std::memcpy(&value, &bits, 8);
  return value;
}

inline float bf16ToFloat(uint16_t bits) { return floatOf(uint32_t(bits) << 16); }

inline uint16_t floatToBF16(float value) {
  uint32_t bits = bitsOf(value);
  if ((bits & 0x7FFFFFFFu) > 0x7F800000u)
    return 0x7FFF;
  return uint16_t((bits + 0x7FFFu + ((bits >> 16) & 1)) >> 16);
}

inline float f16ToFloat(uint16_t bits) {
  uint32_t sign = uint32_t(bits & 0x8000u) << 16, rest = bits & 0x7FFFu;
  if (rest >= 0x7C00u)
    return floatOf(rest > 0x7C00u ? 0x7FFFFFFFu : sign | 0x7F800000u);
  // Shifted into place the exponent is off by 112; the multiply also normalises subnormals.
  return floatOf(sign | bitsOf(floatOf(rest << 13) * 0x1p112f));
}

uint16_t floatToF16(float value);

/// tf32 as the tensor core reads it: the low 13 bits are dropped (PTX ISA 9.7.15.5.2).
inline float tf32Truncate(uint32_t bits) { return floatOf(bits & 0xFFFFE000u); }

} // namespace tileloom::sim

#endif // TILELOOM_SIMULATOR_FORMATS_H
