//===- FloatOps.h - Scalar floating-point arithmetic of PTX
//--------------------------------------===//
//
// add, sub, mul, fma, div, sqrt, rcp, min, max with one correct rounding in each mode of PTX
// (9.7.3, 9.7.4), flush-to-zero and saturation, and the approximate functions. Patterns in,
// patterns out, so that NaN results are the canonical ones and no host rounding state is visible.
//
//===----------------------------------------------------------------------------------------------===//
#ifndef TILELOOM_SIMULATOR_FLOATOPS_H
#define TILELOOM_SIMULATOR_FLOATOPS_H

#include "tileloom/Simulator/Formats.h"

namespace tileloom::sim {

struct ArithOptions {
  Rounding rounding = Rounding::RN; ///< RN, RZ, RM or RP
  bool ftz = false;                 ///< flush subnormal inputs and results, sign kept
  bool sat = false;                 ///< clamp to [0, 1]; NaN becomes +0 (PTX .sat)
  bool relu = false;                ///< fma.relu: clamp negative results to 0; NaN stays NaN
};

/// Arithmetic in F64, F32, F16 or BF16 (sub is add of the negation). Results that are NaN are
/// canonicalNaN(format), except in F64 where the host's propagation is kept.
uint64_t addOp(Format format, uint64_t a, uint64_t b, const ArithOptions &options = {});
uint64_t subOp(Format format, uint64_t a, uint64_t b, const ArithOptions &options = {});
uint64_t mulOp(Format format, uint64_t a, uint64_t b, const ArithOptions &options = {});
uint64_t fmaOp(Format format, uint64_t a, uint64_t b, uint64_t c, const ArithOptions &options = {});
uint64_t divOp(Format format, uint64_t a, uint64_t b, const ArithOptions &options = {});
uint64_t sqrtOp(Format format, uint64_t a, const ArithOptions &options = {});
uint64_t rcpOp(Format format, uint64_t a, const ArithOptions &options = {});

struct MinMaxOptions {
  bool ftz = false;
  bool nan = false;        ///< .NaN: any NaN operand gives the canonical NaN
  bool xorsignAbs = false; ///< .xorsign.abs: compare magnitudes, sign is the XOR of the signs
  bool abs = false;        ///< .abs of the sm_100 reductions: compare magnitudes, result positive
};

/// min and max: one NaN operand gives the other (or NaN with .NaN); +0 > -0 (PTX ISA 9.7.3.11).
uint64_t minOp(Format format, uint64_t a, uint64_t b, const MinMaxOptions &options = {});
uint64_t maxOp(Format format, uint64_t a, uint64_t b, const MinMaxOptions &options = {});

uint64_t negOp(Format format, uint64_t a, bool ftz = false);
uint64_t absOp(Format format, uint64_t a, bool ftz = false);

//===----------------------------------------------------------------------------------------------===//
// f32 on host floats, for callers that keep registers as float. Round-to-nearest stays inline.
//===----------------------------------------------------------------------------------------------===//

inline float flushF32(float value) {
  uint32_t bits = bitsOf(value);
  return (bits & 0x7F800000u) ? value : floatOf(bits & 0x80000000u);
}

namespace detail {
inline bool isNearest(const ArithOptions &o) { return o.rounding == Rounding::RN && !o.relu; }

inline float finishF32(float value, const ArithOptions &o) {
  if (o.sat)
    return value > 1 ? 1 : value > 0 ? (o.ftz ? flushF32(value) : value) : 0; // NaN gives +0
  if (value != value)
    return floatOf(0x7FFFFFFFu);
  return o.ftz ? flushF32(value) : value;
}
} // namespace detail

inline float addF32(float a, float b, const ArithOptions &o = {}) {
  if (!detail::isNearest(o))
    return floatOf(uint32_t(addOp(Format::F32, bitsOf(a), bitsOf(b), o)));
  return detail::finishF32(o.ftz ? flushF32(a) + flushF32(b) : a + b, o);
}
inline float mulF32(float a, float b, const ArithOptions &o = {}) {
  if (!detail::isNearest(o))
    return floatOf(uint32_t(mulOp(Format::F32, bitsOf(a), bitsOf(b), o)));
  return detail::finishF32(o.ftz ? flushF32(a) * flushF32(b) : a * b, o);
}
inline float fmaF32(float a, float b, float c, const ArithOptions &o = {}) {
  if (!detail::isNearest(o))
    return floatOf(uint32_t(fmaOp(Format::F32, bitsOf(a), bitsOf(b), bitsOf(c), o)));
  if (o.ftz)
    return detail::finishF32(__builtin_fmaf(flushF32(a), flushF32(b), flushF32(c)), o);
  return detail::finishF32(__builtin_fmaf(a, b, c), o);
}

/// The approximate functions. PTX documents error bounds, not bits: these return the correctly
/// rounded value of the host's double result, with the documented special cases (PTX ISA 9.7.3).
enum class Approx : uint8_t { Ex2, Lg2, Rcp, Rsqrt, Sqrt, Sin, Cos, Tanh };
uint64_t approxOp(Approx function, Format format, uint64_t a, bool ftz = false);

/// div.approx.f32 and div.full.f32: correctly rounded here; |b| in (2^126, 2^128) gives 0 with
/// .approx (PTX ISA 9.7.3.8), or NaN when a is infinite.
uint32_t divApproxF32(uint32_t a, uint32_t b, bool ftz, bool full);

} // namespace tileloom::sim

#endif // TILELOOM_SIMULATOR_FLOATOPS_H
