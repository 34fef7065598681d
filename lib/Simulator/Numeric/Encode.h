//===- Encode.h - Exact values and their one rounding (private)
//-----------------------------------===//
//
// An exact value with up to 64 significant bits and a sticky bit: what arithmetic hands to the
// encoder when double is too narrow or its rounding not wanted.
//
//===----------------------------------------------------------------------------------------------===//
#ifndef TILELOOM_LIB_SIMULATOR_NUMERIC_ENCODE_H
#define TILELOOM_LIB_SIMULATOR_NUMERIC_ENCODE_H

#include "tileloom/Simulator/Formats.h"

namespace tileloom::sim::detail {

/// (-1)^negative * significand * 2^exponent, plus something smaller than the last bit when sticky.
/// The significand is zero or has its top bit set.
struct Exact {
  bool negative = false;
  uint64_t significand = 0;
  int exponent = 0;
  bool sticky = false;
};

inline Exact exactOf(bool negative, uint64_t significand, int exponent, bool sticky = false) {
  if (!significand)
    return {negative, 0, 0, sticky};
  int zeros = __builtin_clzll(significand);
  return {negative, significand << zeros, exponent - zeros, sticky};
}

/// Finite doubles only.
inline Exact exactOf(double value) {
  uint64_t bits = bitsOf(value), mantissa = bits & ((uint64_t(1) << 52) - 1);
  int exponent = int(bits >> 52) & 0x7FF;
  if (exponent)
    mantissa |= uint64_t(1) << 52;
  else
    exponent = 1;
  return exactOf(bits >> 63, mantissa, exponent - 1075);
}

/// Whether a flush to zero takes the value: below the smallest normal after it is rounded to the
/// precision of the format with the exponent unbounded, as an H200 sees it.
bool isTiny(Format format, const Exact &value, Rounding rounding);

uint64_t encodeExact(Format format, const Exact &value, const ConvertOptions &options);

} // namespace tileloom::sim::detail

#endif // TILELOOM_LIB_SIMULATOR_NUMERIC_ENCODE_H
