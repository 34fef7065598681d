//===- DotAdd.cpp - Scalar reference of the fused dot-add
//-----------------------------------------===//
//
// The model in integers, one output at a time. The tile-wide code falls back to it for infinities,
// NaNs and extreme exponents.
//
//===----------------------------------------------------------------------------------------------===//
#include "../Numeric/Encode.h"
#include "tileloom/Simulator/MatrixUnit.h"

#include <cmath>

using namespace tileloom::sim;

namespace {
constexpr int zeroExponent = -126;

// A finite element: significand * 2^(exponent - fraction bits of the format).
struct Parts {
  int64_t significand;
  int exponent;
};

Parts partsOf(Format format, uint32_t bits) {
  const FormatInfo &info = formatInfo(format);
  double value = decode(format, bits);
  if (value == 0)
    return {0, zeroExponent};
  if (format == Format::UE8M0)
    return {1, int(bits & 0xFF) - 127};
  int exponent = std::ilogb(value);
  if (exponent < 1 - info.bias)
    exponent = 1 - info.bias;
  return {int64_t(std::ldexp(value, info.mantissaBits - exponent)), exponent};
}

// significand * 2^-fraction at `exponent`, truncated toward zero to `bits` bits below 2^emax.
int64_t align(int64_t significand, int fraction, int exponent, int emax, int bits) {
  int64_t magnitude = significand < 0 ? -significand : significand;
  int shift = bits - fraction - (emax - exponent);
  magnitude = shift >= 0 ? magnitude << shift : shift > -63 ? magnitude >> -shift : 0;
  return significand < 0 ? -magnitude : magnitude;
}

uint32_t roundSum(const DotModel &model, int64_t sum, int emax) {
  detail::Exact exact = detail::exactOf(sum < 0, sum < 0 ? 0 - uint64_t(sum) : uint64_t(sum),
                                        emax - model.fractionBits);
  ConvertOptions options;
  if (model.f16Result)
    return uint32_t(detail::encodeExact(Format::F16, exact, options));
  if (exact.significand && exact.exponent + 63 > 127)
    return 0x7F800000u | uint32_t(exact.negative) << 31;
  options.rounding = Rounding::RZ;
  uint32_t bits = uint32_t(detail::encodeExact(Format::F32, exact, options));
  bits &= ~uint32_t(0) << (23 - model.resultFractionBits);
  return bits & 0x7FFFFFFFu ? bits : 0; // a zero result is +0
}

uint32_t nonFinite(const DotModel &model, double value) {
  if (value != value)
    return model.f16Result ? 0x7FFF : 0x7FFFFFFF;
  uint32_t infinity = model.f16Result ? 0x7C00 : 0x7F800000;
  return infinity | (value < 0 ? (model.f16Result ? 0x8000u : 0x80000000u) : 0);
}
} // namespace

uint32_t tileloom::sim::fusedDotAdd(const DotModel &model, Format aFormat, const uint32_t *a,
                                    Format bFormat, const uint32_t *b, size_t k, uint32_t c,
                                    int scaleExponent) {
  Format cFormat = model.f16Result ? Format::F16 : Format::F32;
  double special = decode(cFormat, c);
  bool finite = std::isfinite(special);
  for (size_t i = 0; i < k; ++i) {
    double x = decode(aFormat, a[i]), y = decode(bFormat, b[i]);
    if (std::isfinite(x) && std::isfinite(y))
      continue;
    // Only the non-finite terms decide: infinities of two signs or inf * 0 give NaN.
    special = (finite ? 0 : special) + x * y;
    finite = false;
  }
  if (!finite)
    return nonFinite(model, special);
  Parts accumulator = partsOf(cFormat, c);
  int emax = accumulator.exponent;
  auto product = [&](size_t i, int64_t &significand) {
    Parts x = partsOf(aFormat, a[i]), y = partsOf(bFormat, b[i]);
    significand = x.significand * y.significand;
    if (model.zero == ZeroRule::PerTerm && significand == 0)
      return zeroExponent;
    return x.exponent + y.exponent + scaleExponent;
  };
  int64_t significand;
  for (size_t i = 0; i < k; ++i) {
    int exponent = product(i, significand);
    emax = exponent > emax ? exponent : emax;
  }
  int fraction = formatInfo(aFormat).mantissaBits + formatInfo(bFormat).mantissaBits;
  int64_t sum = align(accumulator.significand, formatInfo(cFormat).mantissaBits,
                      accumulator.exponent, emax, model.fractionBits);
  for (size_t i = 0; i < k; ++i) {
    int exponent = product(i, significand);
    sum += align(significand, fraction, exponent, emax, model.fractionBits);
  }
  return roundSum(model, sum, emax);
}

uint32_t tileloom::sim::fusedDotAddBlockScaled(const uint32_t *a, const uint32_t *b, size_t k,
                                               uint32_t c, Format scaleFormat,
                                               const uint32_t *scaleA, const uint32_t *scaleB,
                                               size_t scales) {
  DotModel model;
  model.fractionBits = 35;
  double special = decode(Format::F32, c);
  for (size_t i = 0; i < scales; ++i)
    if (decode(scaleFormat, scaleA[i]) != decode(scaleFormat, scaleA[i]) ||
        decode(scaleFormat, scaleB[i]) != decode(scaleFormat, scaleB[i]))
      special = NAN;
  if (!std::isfinite(special))
    return nonFinite(model, special);
  size_t groups = k / 16;
  Parts accumulator = partsOf(Format::F32, c);
  int emax = accumulator.exponent;
  for (size_t i = 0; i < groups; ++i) {
    size_t s = i * scales / groups;
    int exponent =
        partsOf(scaleFormat, scaleA[s]).exponent + partsOf(scaleFormat, scaleB[s]).exponent;
    emax = exponent > emax ? exponent : emax;
  }
  int64_t sum = align(accumulator.significand, 23, accumulator.exponent, emax, 35);
  for (size_t i = 0; i < groups; ++i) {
    size_t s = i * scales / groups;
    Parts x = partsOf(scaleFormat, scaleA[s]), y = partsOf(scaleFormat, scaleB[s]);
    double dot = 0; // a multiple of 1/4, at most 576: exact
    for (size_t j = 16 * i; j < 16 * i + 16; ++j)
      dot += decode(Format::E2M1, a[j]) * decode(Format::E2M1, b[j]);
    int fraction = 2 + 2 * formatInfo(scaleFormat).mantissaBits;
    sum += align(int64_t(dot * 4) * x.significand * y.significand, fraction,
                 x.exponent + y.exponent, emax, 35);
  }
  return roundSum(model, sum, emax);
}

int32_t tileloom::sim::integerDotAdd(const int32_t *a, const int32_t *b, size_t k, int32_t c,
                                     bool satfinite) {
  int64_t sum = c;
  for (size_t i = 0; i < k; ++i)
    sum += int64_t(a[i]) * b[i];
  if (satfinite)
    sum = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
  return int32_t(uint32_t(uint64_t(sum)));
}
