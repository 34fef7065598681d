//===- FloatOps.cpp - Scalar arithmetic with one rounding
//-----------------------------------------===//
//
// f32, f16 and bf16 are computed in double and rounded to odd there: with at least two spare bits,
// a second rounding to the target in any mode then equals a single one. f64 uses the host, under
// its own rounding mode when the mode is not RN. NaNs and flushes are those of an H200
// (docs/simulator-numerics.md, "Settled on the H200").
//
//===----------------------------------------------------------------------------------------------===//
#include "tileloom/Simulator/FloatOps.h"

#include "Encode.h"

#include <cfenv>
#include <cmath>
#include <initializer_list>

using namespace tileloom::sim;

namespace {

bool isNarrow(Format format) { return format != Format::F64; }

double flushed(Format format, double value, bool ftz) {
  double minNormal = format == Format::F16 ? 0x1p-14 : 0x1p-126;
  return ftz && isNarrow(format) && std::fabs(value) < minNormal ? std::copysign(0.0, value)
                                                                 : value;
}

// The neighbour of `value` towards the exact result when `value` is even, given the sign of exact -
// value: round to odd.
double toOdd(double value, double error) {
  uint64_t bits = bitsOf(value);
  if (error == 0 || (bits & 1))
    return value;
  return doubleOf(bits + ((error > 0) == (value > 0) ? 1 : uint64_t(-1)));
}

double addOdd(double a, double b) {
  double sum = a + b;
  if (!std::isfinite(sum))
    return sum;
  double part = sum - a;
  return toOdd(sum, (a - (sum - part)) + (b - part)); // the error of the sum, exactly (TwoSum)
}

uint64_t finish(Format format, double value, const ArithOptions &options) {
  if (value != value)
    return options.sat ? 0 : canonicalNaN(format);
  if (options.sat)
    value = value > 1 ? 1 : value > 0 ? value : 0;
  ConvertOptions convertOptions;
  convertOptions.rounding = options.rounding;
  convertOptions.relu = options.relu;
  if (options.ftz && std::isfinite(value) &&
      detail::isTiny(format, detail::exactOf(value), options.rounding))
    value = std::copysign(0.0, value);
  return encode(format, value, convertOptions);
}

bool isNaN64(uint64_t bits) { return (bits & ~(uint64_t(1) << 63)) > 0x7FF0000000000000ull; }
uint64_t quiet64(uint64_t bits) { return bits | uint64_t(1) << 51; }

// A zero that comes from cancellation is -0 when rounding down (IEEE 754, 6.3).
double cancelled(double sum, double a, double b, Rounding rounding) {
  if (sum == 0 && rounding == Rounding::RM && (std::signbit(a) != std::signbit(b)))
    return -0.0;
  return sum;
}

int hostMode(Rounding rounding) {
  switch (rounding) {
  case Rounding::RZ:
    return FE_TOWARDZERO;
  case Rounding::RM:
    return FE_DOWNWARD;
  case Rounding::RP:
    return FE_UPWARD;
  default:
    return FE_TONEAREST;
  }
}

// f64 under a host rounding mode. The volatile operands keep the operation between the mode
// changes. A NaN operand is the result, quieted: the first of `nans` that is one.
template <typename Operation>
uint64_t hostOp(const ArithOptions &options, std::initializer_list<uint64_t> nans, double a,
                double b, double c, Operation operation) {
  for (uint64_t operand : nans)
    if (isNaN64(operand))
      return options.sat ? 0 : quiet64(operand);
  volatile double x = a, y = b, z = c;
  volatile double result;
  if (options.rounding == Rounding::RN) {
    result = operation(x, y, z);
  } else {
    int old = std::fegetround();
    std::fesetround(hostMode(options.rounding));
    result = operation(x, y, z);
    std::fesetround(old);
  }
  double value = result;
  if (options.sat)
    value = value > 1 ? 1 : value > 0 ? value : 0;
  return bitsOf(value);
}

bool isNaNBits(Format format, uint64_t bits) {
  double value = decode(format, bits);
  return value != value;
}

uint64_t signOf(Format format) { return uint64_t(1) << (formatInfo(format).bits - 1); }

uint64_t minMax(Format format, uint64_t a, uint64_t b, const MinMaxOptions &options, bool max) {
  double x = flushed(format, decode(format, a), options.ftz);
  double y = flushed(format, decode(format, b), options.ftz);
  bool nanX = x != x, nanY = y != y;
  if ((nanX && nanY) || (options.nan && (nanX || nanY)))
    return format == Format::F64 ? quiet64(nanY ? b : a) : canonicalNaN(format);
  bool negative = (a ^ b) & signOf(format); // of a NaN, too
  if (options.xorsignAbs || options.abs) {
    x = std::fabs(x);
    y = std::fabs(y);
  }
  bool second; // the result is b
  if (nanX || nanY)
    second = nanX;
  else if (x == y)
    second = std::signbit(x) == max; // equal or zeros of two signs: +0 counts as larger
  else
    second = (x < y) == max;
  // The result is an operand, flushed or with another sign.
  uint64_t sign = signOf(format), bits = second ? b : a;
  double value = second ? y : x;
  if (value == 0)
    bits &= sign;
  if (options.xorsignAbs)
    return (bits & ~sign) | (negative ? sign : 0);
  return options.abs ? bits & ~sign : bits;
}
} // namespace

uint64_t tileloom::sim::addOp(Format format, uint64_t a, uint64_t b, const ArithOptions &options) {
  if (!isNarrow(format))
    return hostOp(options, {b, a}, doubleOf(a), doubleOf(b), 0,
                  [](double x, double y, double) { return x + y; });
  double x = flushed(format, decode(format, a), options.ftz);
  double y = flushed(format, decode(format, b), options.ftz);
  return finish(format, cancelled(addOdd(x, y), x, y, options.rounding), options);
}

uint64_t tileloom::sim::subOp(Format format, uint64_t a, uint64_t b, const ArithOptions &options) {
  return addOp(format, a, isNaNBits(format, b) ? b : negOp(format, b), options);
}

uint64_t tileloom::sim::mulOp(Format format, uint64_t a, uint64_t b, const ArithOptions &options) {
  if (!isNarrow(format))
    return hostOp(options, {b, a}, doubleOf(a), doubleOf(b), 0,
                  [](double x, double y, double) { return x * y; });
  // Two 24-bit significands: the product is exact in double.
  return finish(format,
                flushed(format, decode(format, a), options.ftz) *
                    flushed(format, decode(format, b), options.ftz),
                options);
}

uint64_t tileloom::sim::fmaOp(Format format, uint64_t a, uint64_t b, uint64_t c,
                              const ArithOptions &options) {
  if (!isNarrow(format))
    return hostOp(options, {b, c, a}, doubleOf(a), doubleOf(b), doubleOf(c),
                  [](double x, double y, double z) { return std::fma(x, y, z); });
  double product = flushed(format, decode(format, a), options.ftz) *
                   flushed(format, decode(format, b), options.ftz);
  double addend = flushed(format, decode(format, c), options.ftz);
  return finish(format, cancelled(addOdd(product, addend), product, addend, options.rounding),
                options);
}

uint64_t tileloom::sim::divOp(Format format, uint64_t a, uint64_t b, const ArithOptions &options) {
  if (!isNarrow(format))
    return hostOp(options, {a, b}, doubleOf(a), doubleOf(b), 0,
                  [](double x, double y, double) { return x / y; });
  double x = flushed(format, decode(format, a), options.ftz);
  double y = flushed(format, decode(format, b), options.ftz);
  double quotient = x / y;
  if (std::isfinite(quotient) && quotient != 0 && std::isfinite(y)) {
    double remainder = std::fma(-quotient, y, x);
    quotient = toOdd(quotient, y > 0 ? remainder : -remainder);
  }
  return finish(format, quotient, options);
}

uint64_t tileloom::sim::sqrtOp(Format format, uint64_t a, const ArithOptions &options) {
  if (!isNarrow(format))
    return hostOp(options, {a}, doubleOf(a), 0, 0,
                  [](double x, double, double) { return std::sqrt(x); });
  double x = flushed(format, decode(format, a), options.ftz);
  double root = std::sqrt(x);
  if (std::isfinite(root) && root != 0)
    root = toOdd(root, std::fma(-root, root, x));
  return finish(format, root, options);
}

uint64_t tileloom::sim::rcpOp(Format format, uint64_t a, const ArithOptions &options) {
  return divOp(format, encode(format, 1.0), a, options);
}

// f32 without NaNs and modifiers, the case of every softmax: integers in the order of the numbers,
// in which +0 is above -0.
static bool plainMinMax(Format format, uint64_t a, uint64_t b, const MinMaxOptions &options) {
  return format == Format::F32 && !options.ftz && !options.xorsignAbs && !options.abs &&
         (uint32_t(a) & 0x7FFFFFFF) <= 0x7F800000u && (uint32_t(b) & 0x7FFFFFFF) <= 0x7F800000u;
}
static int32_t ordered(uint64_t a) {
  int32_t bits = int32_t(uint32_t(a));
  return bits < 0 ? bits ^ 0x7FFFFFFF : bits;
}

uint64_t tileloom::sim::minOp(Format format, uint64_t a, uint64_t b, const MinMaxOptions &options) {
  if (plainMinMax(format, a, b, options))
    return uint32_t(ordered(b) < ordered(a) ? b : a);
  return minMax(format, a, b, options, false);
}

uint64_t tileloom::sim::maxOp(Format format, uint64_t a, uint64_t b, const MinMaxOptions &options) {
  if (plainMinMax(format, a, b, options))
    return uint32_t(ordered(b) > ordered(a) ? b : a);
  return minMax(format, a, b, options, true);
}

// A NaN becomes the canonical one; in f64 it stays, with its sign.
static uint64_t withSign(Format format, uint64_t a, bool ftz, uint64_t flip, uint64_t clear) {
  double value = decode(format, a);
  if (value != value)
    return format == Format::F64 ? quiet64(a) : canonicalNaN(format);
  if (ftz && bitsOf(flushed(format, value, true)) != bitsOf(value))
    a &= signOf(format);
  return (a ^ flip) & ~clear;
}

uint64_t tileloom::sim::negOp(Format format, uint64_t a, bool ftz) {
  return withSign(format, a, ftz, signOf(format), 0);
}

uint64_t tileloom::sim::absOp(Format format, uint64_t a, bool ftz) {
  return withSign(format, a, ftz, 0, signOf(format));
}
