//===- Formats.cpp - Conversions between PTX number formats
//---------------------------------------===//
//
// One exact decoder to double and one encoder that works on a normalised 64-bit significand, so
// every conversion is rounded once and on integers. See PTX ISA 9.7.9.21 for the special cases.
//
//===----------------------------------------------------------------------------------------------===//
#include "Encode.h"

#include <cmath>

using namespace tileloom::sim;

namespace {
// Order of Format. The stored pattern of TF32 has 13 further zero bits below the mantissa.
constexpr FormatInfo formats[] = {
    {"f64", 64, 11, 52, 1023, true, true, true}, {"f32", 32, 8, 23, 127, true, true, true},
    {"f16", 16, 5, 10, 15, true, true, true},    {"bf16", 16, 8, 7, 127, true, true, true},
    {"tf32", 32, 8, 10, 127, true, true, true},  {"e4m3", 8, 4, 3, 7, false, true, true},
    {"e5m2", 8, 5, 2, 15, true, true, true},     {"e2m3", 6, 2, 3, 1, false, false, true},
    {"e3m2", 6, 3, 2, 3, false, false, true},    {"e2m1", 4, 2, 1, 1, false, false, true},
    {"ue8m0", 8, 8, 0, 127, false, true, false}, {"ue4m3", 7, 4, 3, 7, false, true, false},
};

// Largest finite magnitude as exponent and mantissa bits (no sign, TF32 without its low zeros).
uint64_t maxMagnitude(Format format, const FormatInfo &info) {
  if (format == Format::UE8M0)
    return 0xFE;
  uint64_t all = (uint64_t(1) << (info.exponentBits + info.mantissaBits)) - 1;
  if (info.hasInf)
    return all - (uint64_t(1) << info.mantissaBits);
  return info.hasNaN ? all - 1 : all;
}

unsigned lowZeros(Format format) { return format == Format::TF32 ? 13 : 0; }

uint64_t signBit(const FormatInfo &info) {
  return info.hasSign ? uint64_t(1) << (info.bits - 1) : 0;
}

uint64_t encodeUE8M0(const detail::Exact &value, const ConvertOptions &options) {
  if (!value.significand)
    return 0;
  // The sign is ignored; only rp rounds up (PTX offers rz and rp).
  bool fraction = (value.significand << 1) != 0 || value.sticky;
  int exponent = value.exponent + 63 + (options.rounding == Rounding::RP && fraction);
  if (exponent < -127)
    return 0;
  if (exponent > 127)
    return options.satfinite ? 0xFE : 0xFF;
  return uint64_t(exponent + 127);
}

// Whether the magnitude n.rest is rounded away from zero. `rest` holds the discarded bits, left
// aligned in 64 bits; `sticky` tells that non-zero bits follow.
bool roundsUp(uint64_t kept, uint64_t rest, bool sticky, bool negative,
              const ConvertOptions &options) {
  constexpr uint64_t half = uint64_t(1) << 63;
  switch (options.rounding) {
  case Rounding::RN:
    return rest > half || (rest == half && (sticky || (kept & 1)));
  case Rounding::RNA:
    return rest >= half;
  case Rounding::RZ:
    return false;
  case Rounding::RM:
    return negative && (rest || sticky);
  case Rounding::RP:
    return !negative && (rest || sticky);
  case Rounding::RS: {
    if (!options.randomCount)
      return false;
    uint64_t random = uint64_t(options.randomBits) << (64 - options.randomCount);
    return rest + random < rest; // carry out of the top discarded bit
  }
  }
  return false;
}
} // namespace

const FormatInfo &tileloom::sim::formatInfo(Format format) { return formats[unsigned(format)]; }

uint64_t tileloom::sim::maxFiniteBits(Format format) {
  return maxMagnitude(format, formatInfo(format)) << lowZeros(format);
}

double tileloom::sim::maxFinite(Format format) { return decode(format, maxFiniteBits(format)); }

uint64_t tileloom::sim::canonicalNaN(Format format) {
  switch (format) {
  case Format::F64:
    return 0x7FF8000000000000ull;
  case Format::F32:
    return 0x7FFFFFFF;
  case Format::TF32: // as cvt makes it
    return 0x7FFFE000;
  case Format::F16:
  case Format::BF16:
    return 0x7FFF;
  case Format::E4M3:
  case Format::E5M2:
  case Format::UE4M3:
    return 0x7F;
  case Format::UE8M0:
    return 0xFF;
  case Format::E2M3:
  case Format::E3M2:
  case Format::E2M1:
    return 0;
  }
  return 0;
}

double tileloom::sim::decode(Format format, uint64_t bits) {
  const FormatInfo &info = formatInfo(format);
  if (format == Format::F64)
    return doubleOf(bits);
  if (format == Format::F32)
    return floatOf(uint32_t(bits)) != floatOf(uint32_t(bits)) ? NAN : floatOf(uint32_t(bits));
  if (format == Format::UE8M0)
    return (bits & 0xFF) == 0xFF ? NAN : doubleOf(((bits & 0xFF) - 127 + 1023) << 52);
  bool negative = bits & signBit(info);
  unsigned p = info.mantissaBits;
  uint64_t magnitude = (bits >> lowZeros(format)) & ((uint64_t(1) << (info.exponentBits + p)) - 1);
  if (magnitude > maxMagnitude(format, info)) {
    bool infinite = info.hasInf && (magnitude & ((uint64_t(1) << p) - 1)) == 0;
    return infinite ? (negative ? -INFINITY : INFINITY) : NAN;
  }
  uint64_t exponent = magnitude >> p, mantissa = magnitude & ((uint64_t(1) << p) - 1);
  if (exponent)
    mantissa |= uint64_t(1) << p;
  else
    exponent = 1;
  // Both factors and the product are normal doubles (or zero).
  uint64_t power = uint64_t(int64_t(exponent) - info.bias - int64_t(p) + 1023) << 52;
  double value = double(int64_t(mantissa)) * doubleOf(power);
  return negative ? -value : value;
}

bool detail::isTiny(Format format, const Exact &value, Rounding rounding) {
  const FormatInfo &info = formatInfo(format);
  int exponent = value.exponent + 63;
  if (!value.significand || exponent >= 1 - info.bias)
    return false;
  if (exponent < -info.bias)
    return true;
  // Just below the smallest normal; one binade up it is rounded as if there were no subnormals.
  Exact up = value;
  ++up.exponent;
  ConvertOptions options;
  options.rounding = rounding;
  uint64_t magnitude = encodeExact(format, up, options) & ~signBit(info);
  return magnitude < uint64_t(2) << info.mantissaBits;
}

uint64_t detail::encodeExact(Format format, const Exact &value, const ConvertOptions &options) {
  if (format == Format::UE8M0)
    return encodeUE8M0(value, options);
  const FormatInfo &info = formatInfo(format);
  bool negative = value.negative && info.hasSign;
  uint64_t sign = negative ? signBit(info) : 0;
  uint64_t magnitude = 0;
  int p = info.mantissaBits;
  if (value.significand) {
    int exponent = value.exponent + 63; // of the leading bit
    bool subnormal = exponent < 1 - info.bias;
    // Bits below the destination's last place; more than 63 for deep subnormals.
    int shift = 63 - p + (subnormal ? 1 - info.bias - exponent : 0);
    uint64_t kept = shift > 63 ? 0 : value.significand >> shift;
    bool sticky = value.sticky;
    uint64_t rest;
    if (shift <= 64) {
      rest = value.significand << (64 - shift);
    } else {
      rest = shift < 128 ? value.significand >> (shift - 64) : 0;
      sticky |= shift >= 128 || (value.significand << (128 - shift)) != 0;
    }
    magnitude =
        subnormal ? kept : (uint64_t(exponent + info.bias) << p) + (kept - (uint64_t(1) << p));
    magnitude += roundsUp(kept, rest, sticky, negative, options);
    uint64_t limit = maxMagnitude(format, info);
    if (magnitude > limit) {
      Rounding mode = options.rounding;
      bool towardZero = mode == Rounding::RZ || (mode == Rounding::RM && !negative) ||
                        (mode == Rounding::RP && negative);
      bool clamp = towardZero || options.satfinite || !info.hasInf;
      magnitude = clamp ? limit : limit + 1;
    }
    if (options.ftz && format == Format::F32 && isTiny(format, value, options.rounding))
      magnitude = 0;
  }
  if (options.relu && negative)
    return 0;
  return (magnitude << lowZeros(format)) | sign;
}

uint64_t tileloom::sim::encode(Format format, double value, const ConvertOptions &options) {
  const FormatInfo &info = formatInfo(format);
  if (value != value)
    return info.hasNaN ? canonicalNaN(format) : maxFiniteBits(format);
  bool negative = std::signbit(value) && info.hasSign;
  if (std::isinf(value)) {
    if (options.relu && negative)
      return 0;
    if (format == Format::UE8M0 && !options.satfinite)
      return 0xFF;
    bool clamp = options.satfinite || !info.hasInf;
    uint64_t magnitude = maxMagnitude(format, info) + (clamp ? 0 : 1);
    return (magnitude << lowZeros(format)) | (negative ? signBit(info) : 0);
  }
  return detail::encodeExact(format, detail::exactOf(value), options);
}

// f32 to a format of at most 16 bits, to nearest even, on 32-bit integers: most cvt instructions.
static uint32_t narrowNearest(Format to, uint32_t bits, bool satfinite) {
  const FormatInfo &info = formatInfo(to);
  uint32_t magnitude = bits & 0x7FFFFFFFu, p = info.mantissaBits, drop = 23 - p;
  uint32_t sign = bits >> 31 << (info.bits - 1);
  uint32_t limit = uint32_t(maxMagnitude(to, info)), result;
  if (magnitude > 0x7F800000u)
    return uint32_t(info.hasNaN ? canonicalNaN(to) : limit);
  if (magnitude >= uint32_t(128 - info.bias) << 23) {
    uint32_t rounded = magnitude + (1u << (drop - 1)) - 1 + ((magnitude >> drop) & 1);
    result = (rounded >> drop) - (uint32_t(127 - info.bias) << p);
  } else { // subnormal: a float addition aligns and rounds
    uint32_t magic = (127 + 23 + 1 - info.bias - p) << 23;
    result = bitsOf(floatOf(magnitude) + floatOf(magic)) - magic;
  }
  if (result > limit)
    result = satfinite || !info.hasInf ? limit : limit + 1;
  return result | sign;
}

// From and to f64 a NaN keeps its sign and the upper bits of its payload, quieted; between the
// others it becomes the canonical one.
static uint64_t convertNaN(Format to, Format from, uint64_t bits) {
  const FormatInfo &old = formatInfo(from), &info = formatInfo(to);
  if ((from != Format::F64 && to != Format::F64) || to == Format::TF32 || info.bits < 16)
    return encode(to, NAN);
  uint64_t payload = bits << (64 - old.mantissaBits) | uint64_t(1) << 63;
  uint64_t exponent = (uint64_t(1) << info.exponentBits) - 1;
  uint64_t magnitude = exponent << info.mantissaBits | payload >> (64 - info.mantissaBits);
  return magnitude | (bits & signBit(old) ? signBit(info) : 0);
}

uint64_t tileloom::sim::convert(Format to, Format from, uint64_t bits,
                                const ConvertOptions &options) {
  bool plain = options.rounding == Rounding::RN && !options.relu && !options.ftz;
  if (plain && from == Format::F32) {
    if (to == Format::BF16 && !options.satfinite)
      return floatToBF16(floatOf(uint32_t(bits)));
    if (to == Format::F16 || (to >= Format::E4M3 && to <= Format::E2M1))
      return narrowNearest(to, uint32_t(bits), options.satfinite);
  }
  if (plain && to == Format::F32 && from == Format::F16)
    return bitsOf(f16ToFloat(uint16_t(bits)));
  double value = decode(from, bits);
  if (value != value) {
    if (to == Format::TF32 && options.rounding == Rounding::RNA)
      return bits & 0xFFFFE000u;
    if (options.ftz && from == Format::F32)
      bits = canonicalNaN(from);
    return convertNaN(to, from, bits);
  }
  // A subnormal f32 is below every f16, but a directed rounding sees it: it is not flushed.
  if (options.ftz && from == Format::F32 && to != Format::F16 && std::fabs(value) < 0x1p-126)
    value = std::copysign(0.0, value);
  return encode(to, value, options);
}

uint16_t tileloom::sim::floatToF16(float value) {
  return uint16_t(narrowNearest(Format::F16, bitsOf(value), false));
}

static double roundValue(double value, Rounding rounding) {
  switch (rounding) {
  case Rounding::RZ:
    return std::trunc(value);
  case Rounding::RM:
    return std::floor(value);
  case Rounding::RP:
    return std::ceil(value);
  case Rounding::RNA:
    return std::round(value);
  case Rounding::RN:
  case Rounding::RS:
    break;
  }
  return std::nearbyint(value);
}

uint64_t tileloom::sim::floatToInt(Format from, uint64_t bits, unsigned width, bool isSigned,
                                   Rounding rounding, bool ftz) {
  double value = decode(from, bits);
  if (value != value)
    return from == Format::F64 || width == 64
               ? ~uint64_t(0) << (width - 1) &
                     (isSigned || width == 64 ? ~uint64_t(0) : (uint64_t(1) << width) - 1)
               : 0;
  if (ftz && from == Format::F32 && std::fabs(value) < 0x1p-126)
    return 0;
  value = roundValue(value, rounding);
  if (!isSigned) {
    if (value <= 0)
      return 0;
    uint64_t max = ~uint64_t(0) >> (64 - width);
    return value >= std::ldexp(1.0, int(width)) ? max : uint64_t(value);
  }
  double limit = std::ldexp(1.0, int(width) - 1);
  if (value >= limit)
    return (uint64_t(1) << (width - 1)) - 1;
  if (value < -limit)
    return ~uint64_t(0) << (width - 1);
  return uint64_t(int64_t(value));
}

uint64_t tileloom::sim::intToFloat(Format to, uint64_t value, bool isSigned, Rounding rounding) {
  bool negative = isSigned && int64_t(value) < 0;
  ConvertOptions options;
  options.rounding = rounding;
  return detail::encodeExact(to, detail::exactOf(negative, negative ? 0 - value : value, 0),
                             options);
}

uint64_t tileloom::sim::roundToIntegral(Format format, uint64_t bits, Rounding rounding, bool ftz,
                                        bool saturate) {
  double value = decode(format, bits);
  if (value != value)
    return saturate ? 0 : format == Format::F64 ? bits | uint64_t(1) << 51 : canonicalNaN(format);
  if (ftz && format == Format::F32 && std::fabs(value) < 0x1p-126)
    value = std::copysign(0.0, value);
  value = roundValue(value, rounding);
  if (saturate)
    value = value > 1 ? 1 : value > 0 ? value : 0;
  return encode(format, value);
}

uint32_t tileloom::sim::stochasticBits(Format to, unsigned index, uint32_t rbits, uint8_t &count) {
  unsigned step = to == Format::F16 || to == Format::BF16 ? 16 : 8;
  count = to == Format::F16 ? 13 : uint8_t(step);
  return (rbits >> (step * index)) & ((1u << count) - 1);
}
