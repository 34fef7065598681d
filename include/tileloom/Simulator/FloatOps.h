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

#include <cmath>

namespace tileloom::sim {

struct ArithOptions {
  Rounding rounding = Rounding::RN; ///< RN, RZ, RM or RP
  bool ftz = false;                 ///< flush subnormal inputs and results, sign kept
  bool sat = false;                 ///< clamp to [0, 1]; NaN becomes +0 (PTX .sat)
  bool relu = false;                ///< fma.relu: clamp negative results to 0; NaN stays NaN
};

/// Arithmetic in F64, F32, F16 or BF16 (sub is add of the negation). Results that are NaN are
/// canonicalNaN(format); in F64 a NaN operand, quieted: of several b before c before a, with div a
/// before b; and 0xFFF8000000000000 where none of them is a NaN.
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
/// The sign of .xorsign counts that of a NaN. Two NaNs give the canonical one, in F64 b.
uint64_t minOp(Format format, uint64_t a, uint64_t b, const MinMaxOptions &options = {});
uint64_t maxOp(Format format, uint64_t a, uint64_t b, const MinMaxOptions &options = {});

/// neg and abs of a NaN give the canonical one; in F64 the NaN as it is.
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

/// Whether a flush takes the f32 result of an exact (or odd-rounded) value: tiny after a rounding
/// to nearest of 24 bits, whatever the exponent.
inline bool isTinyF32(double exact) { return std::fabs(float(exact * 0x1p64)) < 0x1p-62f; }
/// a * b with ftz and without NaN rules; the product is exact in double.
inline float mulFlushF32(float a, float b) {
  double product = double(flushF32(a)) * double(flushF32(b));
  return isTinyF32(product) ? float(std::copysign(0.0, product)) : float(product);
}
/// Rounded to odd in double, where the product is exact and another rounding is harmless.
inline double fmaOddF32(float a, float b, float c) {
  double p = double(a) * double(b), q = double(c), s = p + q;
  double t = s - p, error = (p - (s - t)) + (q - t);
  uint64_t bits = bitsOf(s);
  bool adjust = error != 0 && !(bits & 1) && s - s == 0;
  bits += adjust ? (((error > 0) == (s > 0)) ? 1 : uint64_t(-1)) : 0;
  return doubleOf(bits);
}
/// The rounded result of an fma, flushed; the operands are flushed already.
inline float fmaFlushF32(float a, float b, float c, float rounded) {
  bool edge = (bitsOf(rounded) & 0x7FFFFFFFu) == 0x00800000u;
  if (edge && isTinyF32(fmaOddF32(a, b, c)))
    return floatOf(bitsOf(rounded) & 0x80000000u);
  return flushF32(rounded);
}

inline float addF32(float a, float b, const ArithOptions &o = {}) {
  if (!detail::isNearest(o))
    return floatOf(uint32_t(addOp(Format::F32, bitsOf(a), bitsOf(b), o)));
  return detail::finishF32(o.ftz ? flushF32(a) + flushF32(b) : a + b, o);
}
inline float mulF32(float a, float b, const ArithOptions &o = {}) {
  if (!detail::isNearest(o))
    return floatOf(uint32_t(mulOp(Format::F32, bitsOf(a), bitsOf(b), o)));
  return detail::finishF32(o.ftz ? mulFlushF32(a, b) : a * b, o);
}
inline float fmaF32(float a, float b, float c, const ArithOptions &o = {}) {
  if (!detail::isNearest(o))
    return floatOf(uint32_t(fmaOp(Format::F32, bitsOf(a), bitsOf(b), bitsOf(c), o)));
  if (!o.ftz)
    return detail::finishF32(__builtin_fmaf(a, b, c), o);
  float x = flushF32(a), y = flushF32(b), z = flushF32(c);
  return detail::finishF32(fmaFlushF32(x, y, z, __builtin_fmaf(x, y, z)), o);
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
