//===- ExecFloat.cpp - Floating-point arithmetic (PTX ISA 9.7.3-9.7.5) ----===//
//
// add, sub, mul, fma, div, min, max in all floating types. f32 and f64 round-to-nearest run on the
// host's arithmetic with PTX's NaN and flush rules; other modes and types go through FloatOps.h.
//
//===----------------------------------------------------------------------===//
#include "Lanes.h"
#include "tileloom/Simulator/FloatOps.h"

#include <cmath>

namespace tileloom {
namespace sim {
namespace {

inline float canonical(float v) { return v == v ? v : floatOf(0x7FFFFFFFu); }

template <bool Ftz> inline float input(float v) { return Ftz ? flushF32(v) : v; }
template <bool Ftz> inline float output(float v) { return canonical(Ftz ? flushF32(v) : v); }

template <bool Ftz> struct AddF32 {
  float operator()(float a, float b) const { return output<Ftz>(input<Ftz>(a) + input<Ftz>(b)); }
};
template <bool Ftz> struct SubF32 {
  float operator()(float a, float b) const { return output<Ftz>(input<Ftz>(a) - input<Ftz>(b)); }
};
template <bool Ftz> struct MulF32 {
  float operator()(float a, float b) const { return canonical(Ftz ? mulFlushF32(a, b) : a * b); }
};
// min and max: a NaN loses, and -0 is less than +0.
template <bool Ftz> struct MinF32 {
  float operator()(float x, float y) const {
    float a = input<Ftz>(x), b = input<Ftz>(y);
    float r = a < b ? a : b;
    r = a == b ? floatOf(bitsOf(a) | bitsOf(b)) : r;
    return canonical(a != a ? b : b != b ? a : r);
  }
};
template <bool Ftz> struct MaxF32 {
  float operator()(float x, float y) const {
    float a = input<Ftz>(x), b = input<Ftz>(y);
    float r = a > b ? a : b;
    r = a == b ? floatOf(bitsOf(a) & bitsOf(b)) : r;
    return canonical(a != a ? b : b != b ? a : r);
  }
};
// NaNs of f64 are operands: addOp and its like choose which.
template <uint64_t (*General)(Format, uint64_t, uint64_t, const ArithOptions &)>
inline double orNaN(double r, double a, double b) {
  return r == r ? r : doubleOf(General(Format::F64, bitsOf(a), bitsOf(b), {}));
}
struct AddF64 {
  double operator()(double a, double b) const { return orNaN<addOp>(a + b, a, b); }
};
struct SubF64 {
  double operator()(double a, double b) const { return orNaN<subOp>(a - b, a, b); }
};
struct MulF64 {
  double operator()(double a, double b) const { return orNaN<mulOp>(a * b, a, b); }
};

template <bool Ftz> Step fmaF32Soft(Warp &w, const Instr &in) {
  map3<float, float, float, float>(w, in, [](float a, float b, float c) {
    float x = input<Ftz>(a), y = input<Ftz>(b), z = input<Ftz>(c);
    float v = float(fmaOddF32(x, y, z));
    return canonical(Ftz ? fmaFlushF32(x, y, z, v) : v);
  });
  return Step::Next;
}

#if defined(__x86_64__)
template <bool Ftz> __attribute__((target("avx2,fma"))) Step fmaF32Hard(Warp &w, const Instr &in) {
  float *d = w.reg<float>(in.d);
  const float *a = w.reg<float>(in.a), *b = w.reg<float>(in.b), *c = w.reg<float>(in.c);
  uint32_t m = w.active;
  float r[32];
  bool edge = false; // the smallest normal: it may be the rounding of something tiny
  for (unsigned i = 0; i < 32; ++i) {
    float v = __builtin_fmaf(input<Ftz>(a[i]), input<Ftz>(b[i]), input<Ftz>(c[i]));
    edge |= (bitsOf(v) & 0x7FFFFFFFu) == 0x00800000u;
    r[i] = output<Ftz>(v);
  }
  if (Ftz && edge)
    for (unsigned i = 0; i < 32; ++i)
      r[i] = fmaFlushF32(flushF32(a[i]), flushF32(b[i]), flushF32(c[i]), r[i]);
  if (m == ~0u)
    std::memcpy(d, r, sizeof r);
  else
    eachLane(m, [&](unsigned i) { d[i] = r[i]; });
  return Step::Next;
}
#endif
Handler fmaF32Handler(bool ftz) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("fma") && __builtin_cpu_supports("avx2"))
    return ftz ? fmaF32Hard<true> : fmaF32Hard<false>;
#endif
  return ftz ? fmaF32Soft<true> : fmaF32Soft<false>;
}
struct FmaF64 {
  double operator()(double a, double b, double c) const {
    double r = std::fma(a, b, c);
    return r == r ? r : doubleOf(fmaOp(Format::F64, bitsOf(a), bitsOf(b), bitsOf(c)));
  }
};

// The general path. sub: bits 0-7 operation, 8-10 rounding, flags from bit 11; sub2: format and
// lanes.
enum Op : uint32_t { OAdd, OSub, OMul, OFma, ODiv, OMin, OMax, ODivApprox, ODivFull, OMin3, OMax3 };
constexpr uint32_t Ftz = 1 << 11, Sat = 1 << 12, Relu = 1 << 13, NaN = 1 << 14, XorAbs = 1 << 15,
                   NaNAbs = 1 << 16;

uint64_t apply(uint32_t sub, Format f, uint64_t a, uint64_t b, uint64_t c) {
  ArithOptions o;
  o.rounding = Rounding(sub >> 8 & 7);
  o.ftz = sub & Ftz;
  o.sat = sub & Sat;
  o.relu = sub & Relu;
  MinMaxOptions m;
  m.ftz = o.ftz;
  m.nan = sub & NaN;
  m.xorsignAbs = sub & XorAbs;
  m.abs = sub & NaNAbs;
  switch (sub & 0xFF) {
  case OAdd:
    return addOp(f, a, b, o);
  case OSub:
    return subOp(f, a, b, o);
  case OMul:
    return mulOp(f, a, b, o);
  case OFma:
    return fmaOp(f, a, b, c, o);
  case ODiv:
    return divOp(f, a, b, o);
  case OMin:
    return minOp(f, a, b, m);
  case OMax:
    return maxOp(f, a, b, m);
  case OMin3:
    return minOp(f, minOp(f, a, b, m), c, m);
  case OMax3:
    return maxOp(f, maxOp(f, a, b, m), c, m);
  case ODivApprox:
    return divApproxF32(uint32_t(a), uint32_t(b), o.ftz, false);
  case ODivFull:
    return divApproxF32(uint32_t(a), uint32_t(b), o.ftz, true);
  }
  return 0;
}

/// T: register element; packed types split into halves of `Half` bits.
template <class T, unsigned Half> Step general(Warp &w, const Instr &in) {
  T *d = w.reg<T>(in.d);
  const T *a = w.reg<T>(in.a), *b = w.reg<T>(in.b), *c = in.e ? w.reg<T>(in.c) : nullptr;
  Format f = Format(in.sub2);
  eachLane(w.active, [&](unsigned i) {
    uint64_t r = 0;
    for (unsigned shift = 0; shift < 8 * sizeof(T); shift += Half) {
      uint64_t mask = Half == 64 ? ~uint64_t(0) : (uint64_t(1) << (Half & 63)) - 1;
      uint64_t v = apply(in.sub, f, uint64_t(a[i]) >> shift & mask, uint64_t(b[i]) >> shift & mask,
                         c ? uint64_t(c[i]) >> shift & mask : 0);
      r |= (v & mask) << shift;
    }
    d[i] = T(r);
  });
  return Step::Next;
}

/// Mixed precision: a, and b of an fma, are widened, which is exact; the rest is f32 arithmetic.
Step mixed(Warp &w, const Instr &in) {
  uint32_t *d = w.reg<uint32_t>(in.d);
  const uint16_t *a = w.reg<uint16_t>(in.a);
  const uint32_t *c = w.reg<uint32_t>(in.c);
  Format narrow = Format(in.sub2);
  auto widen = [&](uint16_t bits) { return convert(Format::F32, narrow, bits); };
  bool fused = (in.sub & 0xFF) == OFma;
  eachLane(w.active, [&](unsigned i) {
    uint64_t b = fused ? widen(w.reg<uint16_t>(in.b)[i]) : c[i];
    d[i] = uint32_t(apply(in.sub, Format::F32, widen(a[i]), b, c[i]));
  });
  return Step::Next;
}

struct Shape {
  Format format;
  Handler handler;
};
Shape shapeOf(Decoder &d, Ty t) {
  switch (t) {
  case Ty::F32:
    return {Format::F32, general<uint32_t, 32>};
  case Ty::F64:
    return {Format::F64, general<uint64_t, 64>};
  case Ty::F16:
    return {Format::F16, general<uint16_t, 16>};
  case Ty::BF16:
    return {Format::BF16, general<uint16_t, 16>};
  case Ty::F16x2:
    return {Format::F16, general<uint32_t, 16>};
  case Ty::BF16x2:
    return {Format::BF16, general<uint32_t, 16>};
  case Ty::F32x2:
    return {Format::F32, general<uint64_t, 32>};
  default:
    d.fail("type is not a floating-point type");
  }
}

/// add, sub, fma .f32.{f16,bf16}: `type` is f32, `narrow` that of a and b; c and d are f32.
void decodeMixed(Decoder &d, uint32_t op, uint32_t sub, Ty type, Ty narrow) {
  bool fused = d.st->op[0] == "fma";
  if (type != Ty::F32 || (narrow != Ty::F16 && narrow != Ty::BF16) || !(fused || op == OAdd || op == OSub))
    d.fail("mixed precision: expected add, sub or fma with .f32.f16 or .f32.bf16");
  if (sub & ~(uint32_t(Sat) | 7u << 8))
    d.fail("mixed precision: expected no modifier but rounding and .sat");
  d.needOperands(fused ? 4 : 3, fused ? 4 : 3);
  d.in.a = d.use(d.operand(1), narrow);
  if (fused)
    d.in.b = d.use(d.operand(2), narrow);
  d.in.c = d.use(d.operand(fused ? 3 : 2), Ty::F32);
  d.in.d = d.def(d.operand(0), Ty::F32);
  d.in.sub = sub | op;
  d.in.sub2 = uint16_t(narrow == Ty::F16 ? Format::F16 : Format::BF16);
  d.emit(mixed, 0, 1);
}

Handler fastF32(uint32_t op, bool ftz) {
  switch (op) {
  case OAdd:
    return ftz ? op2<float, float, float, AddF32<true>> : op2<float, float, float, AddF32<false>>;
  case OSub:
    return ftz ? op2<float, float, float, SubF32<true>> : op2<float, float, float, SubF32<false>>;
  case OMul:
    return ftz ? op2<float, float, float, MulF32<true>> : op2<float, float, float, MulF32<false>>;
  case OMin:
    return ftz ? op2<float, float, float, MinF32<true>> : op2<float, float, float, MinF32<false>>;
  case OMax:
    return ftz ? op2<float, float, float, MaxF32<true>> : op2<float, float, float, MaxF32<false>>;
  case OFma:
    return fmaF32Handler(ftz);
  default:
    return nullptr;
  }
}
Handler fastF64(uint32_t op) {
  switch (op) {
  case OAdd:
    return op2<double, double, double, AddF64>;
  case OSub:
    return op2<double, double, double, SubF64>;
  case OMul:
    return op2<double, double, double, MulF64>;
  case OFma:
    return op3<double, double, double, double, FmaF64>;
  default:
    return nullptr;
  }
}

} // namespace

void decodeFloatArithmetic(Decoder &d) {
  std::string_view name = d.st->op[0];
  uint32_t op = name == "add"   ? OAdd
                : name == "sub" ? OSub
                : name == "mul" ? OMul
                : name == "div" ? ODiv
                : name == "min" ? OMin
                : name == "max" ? OMax
                                : OFma; // fma, mad
  uint32_t sub = 0;
  if (op == ODiv && d.take("approx"))
    op = ODivApprox;
  else if (op == ODiv && d.take("full"))
    op = ODivFull;
  int rounding = d.takeOneOf({"rn", "rz", "rm", "rp"});
  if (rounding > 0)
    sub |= uint32_t(rounding) << 8;
  if (d.take("ftz"))
    sub |= Ftz;
  if (d.take("sat"))
    sub |= Sat;
  if (d.take("relu"))
    sub |= Relu;
  if (d.take("NaN"))
    sub |= NaN;
  if (d.take("xorsign")) {
    if (!d.take("abs"))
      d.fail(".xorsign needs .abs");
    sub |= XorAbs;
  } else if ((op == OMin || op == OMax) && d.take("abs")) {
    sub |= NaNAbs;
  }
  if (d.take("oob"))
    d.fail("fma.oob is not supported");
  Ty t = d.needType();
  Ty narrow = d.takeType(); // add.f32.bf16 d, a, c: mixed precision, sm_100
  if (narrow != Ty::None)
    return decodeMixed(d, op, sub, t, narrow);
  bool three = op == OFma || ((op == OMin || op == OMax) && d.operandCount() == 4);
  if (three && op != OFma)
    op = op == OMin ? OMin3 : OMax3;
  d.needOperands(three ? 4 : 3, three ? 4 : 3);
  d.in.a = d.use(d.operand(1), t);
  d.in.b = d.use(d.operand(2), t);
  if (three) {
    d.in.c = d.use(d.operand(3), t);
    d.in.e = 1;
  }
  d.in.d = d.def(d.operand(0), t);
  Handler h = nullptr;
  if (t == Ty::F32 && !(sub & ~uint32_t(Ftz)))
    h = fastF32(op, sub & Ftz);
  else if (t == Ty::F64 && !sub)
    h = fastF64(op);
  if (!h) {
    Shape s = shapeOf(d, t);
    if ((op == ODivApprox || op == ODivFull) && t != Ty::F32)
      d.fail("div.approx and div.full need .f32");
    d.in.sub = sub | op;
    d.in.sub2 = uint16_t(s.format);
    h = s.handler;
  }
  d.emit(h, d.halves(t), op == ODiv ? 16 : 1);
}

} // namespace sim
} // namespace tileloom
