//===- Approx.cpp - The approximate functions of PTX
//----------------------------------------------===//
//
// ex2, lg2, rcp, rsqrt, sqrt, sin, cos, tanh and the approximate division (PTX ISA 9.7.3, 9.7.4).
// The hardware's bits are not documented, so these are the host's double results rounded once,
// which lie inside every documented bound.
//
//===----------------------------------------------------------------------------------------------===//
#include "tileloom/Simulator/FloatOps.h"

#include <cmath>

using namespace tileloom::sim;

static double evaluate(Approx function, double x) {
  switch (function) {
  case Approx::Ex2:
    return std::exp2(x);
  case Approx::Lg2:
    return std::log2(x);
  case Approx::Rcp:
    return 1 / x;
  case Approx::Rsqrt:
    return 1 / std::sqrt(x); // -0 gives -inf (PTX ISA 9.7.3.16)
  case Approx::Sqrt:
    return std::sqrt(x);
  case Approx::Sin:
    return std::sin(x);
  case Approx::Cos:
    return std::cos(x);
  case Approx::Tanh:
    return std::tanh(x);
  }
  return x;
}

static double flush(Format format, double value, bool ftz) {
  double minNormal = format == Format::F16 ? 0x1p-14 : format == Format::F64 ? 0x1p-1022 : 0x1p-126;
  return ftz && std::fabs(value) < minNormal ? std::copysign(0.0, value) : value;
}

uint64_t tileloom::sim::approxOp(Approx function, Format format, uint64_t a, bool ftz) {
  double result = evaluate(function, flush(format, decode(format, a), ftz));
  if (format == Format::F64) // rcp and rsqrt.approx.ftz.f64 return only the upper 32 bits
    return result != result ? 0x7FFFFFFF00000000ull
                            : bitsOf(flush(format, result, ftz)) & 0xFFFFFFFF00000000ull;
  if (format == Format::F32) { // the host's conversion rounds to nearest, as encode does
    float value = float(result);
    return value != value ? 0x7FFFFFFF : bitsOf(ftz ? flushF32(value) : value);
  }
  uint64_t bits = encode(format, result);
  if (!ftz || result != result)
    return bits;
  return encode(format, flush(format, decode(format, bits), true));
}

uint32_t tileloom::sim::divApproxF32(uint32_t a, uint32_t b, bool ftz, bool full) {
  double x = flush(Format::F32, decode(Format::F32, a), ftz);
  double y = flush(Format::F32, decode(Format::F32, b), ftz);
  double magnitude = std::fabs(y);
  if (!full && magnitude > 0x1p126 && magnitude < 0x1p128) {
    if (!std::isfinite(x))
      return 0x7FFFFFFF;
    return std::signbit(x) != std::signbit(y) ? 0x80000000u : 0;
  }
  ArithOptions options;
  options.ftz = ftz;
  return uint32_t(divOp(Format::F32, a, b, options));
}
