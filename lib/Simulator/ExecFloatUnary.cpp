//===- ExecFloatUnary.cpp - Functions of one float (PTX ISA 9.7.3) --------===//
//
// abs, neg, rcp, sqrt, rsqrt, sin, cos, lg2, ex2, tanh, copysign, testp. The approximations return
// the correctly rounded value (ptx-level bounds are documented, bits are not).
//
//===----------------------------------------------------------------------===//
#include "Lanes.h"
#include "tileloom/Simulator/FloatOps.h"

#include <cmath>

namespace tileloom {
namespace sim {
namespace {

enum Op : uint32_t {
  UAbs,
  UNeg,
  URcp,
  USqrt,
  UEx2,
  ULg2,
  URcpA,
  URsqrt,
  USqrtA,
  USin,
  UCos,
  UTanh
};

uint64_t apply(uint32_t sub, Format f, uint64_t a) {
  ArithOptions o;
  o.rounding = Rounding(sub >> 8 & 7);
  o.ftz = sub & 1 << 11;
  switch (sub & 0xFF) {
  case UAbs:
    return absOp(f, a, o.ftz);
  case UNeg:
    return negOp(f, a, o.ftz);
  case URcp:
    return rcpOp(f, a, o);
  case USqrt:
    return sqrtOp(f, a, o);
  case UEx2:
    return approxOp(Approx::Ex2, f, a, o.ftz);
  case ULg2:
    return approxOp(Approx::Lg2, f, a, o.ftz);
  case URcpA:
    return approxOp(Approx::Rcp, f, a, o.ftz);
  case URsqrt:
    return approxOp(Approx::Rsqrt, f, a, o.ftz);
  case USqrtA:
    return approxOp(Approx::Sqrt, f, a, o.ftz);
  case USin:
    return approxOp(Approx::Sin, f, a, o.ftz);
  case UCos:
    return approxOp(Approx::Cos, f, a, o.ftz);
  case UTanh:
    return approxOp(Approx::Tanh, f, a, o.ftz);
  }
  return 0;
}

template <class T, unsigned Half> Step general(Warp &w, const Instr &in) {
  T *d = w.reg<T>(in.d);
  const T *a = w.reg<T>(in.a);
  Format f = Format(in.sub2);
  eachLane(w.active, [&](unsigned i) {
    uint64_t r = 0, mask = Half == 64 ? ~uint64_t(0) : (uint64_t(1) << (Half & 63)) - 1;
    for (unsigned shift = 0; shift < 8 * sizeof(T); shift += Half)
      r |= (apply(in.sub, f, uint64_t(a[i]) >> shift & mask) & mask) << shift;
    d[i] = T(r);
  });
  return Step::Next;
}

/// 2^x for the hot case of softmax: range reduction and a polynomial of degree 8 in double, whose
/// error (below 2^-40) leaves the f32 rounding correct but for rare ties.
template <bool Ftz> Step ex2F32(Warp &w, const Instr &in) {
  map1<float, float>(w, in, [](float x) {
    double v = x < -200.0f ? -200.0 : x > 200.0f ? 200.0 : double(x);
    v = x == x ? v : 0.0;
    double shifted = v + 6755399441055744.0; // 1.5 * 2^52: rounds to an integer
    int64_t n = int64_t(bitsOf(shifted) & 0xFFFFFFFF);
    n = n << 32 >> 32;
    double r = v - (shifted - 6755399441055744.0), y = r * 0.69314718055994530942;
    double p = 1.0 / 3628800;
    p = p * y + 1.0 / 362880;
    p = p * y + 1.0 / 40320;
    p = p * y + 1.0 / 5040;
    p = p * y + 1.0 / 720;
    p = p * y + 1.0 / 120;
    p = p * y + 1.0 / 24;
    p = p * y + 1.0 / 6;
    p = p * y + 0.5;
    p = p * y + 1.0;
    p = p * y + 1.0;
    float f = float(p * doubleOf(uint64_t(n + 1023) << 52));
    if (Ftz && !(bitsOf(f) & 0x7F800000u))
      f = 0.0f;
    return x == x ? f : floatOf(0x7FFFFFFFu);
  });
  return Step::Next;
}

Step copySign32(Warp &w, const Instr &in) {
  map2<uint32_t, uint32_t, uint32_t>(
      w, in, [](uint32_t a, uint32_t b) { return (b & 0x7FFFFFFFu) | (a & 0x80000000u); });
  return Step::Next;
}
Step copySign64(Warp &w, const Instr &in) {
  map2<uint64_t, uint64_t, uint64_t>(w, in, [](uint64_t a, uint64_t b) {
    uint64_t s = uint64_t(1) << 63;
    return (b & ~s) | (a & s);
  });
  return Step::Next;
}

template <class T> Step testProperty(Warp &w, const Instr &in) {
  const T *a = w.reg<T>(in.a);
  uint32_t r = 0;
  eachLane(w.active, [&](unsigned i) {
    T v = a[i];
    bool is = in.sub == 0   ? std::isfinite(v)
              : in.sub == 1 ? std::isinf(v)
              : in.sub == 2 ? !std::isnan(v)
              : in.sub == 3 ? std::isnan(v)
              : in.sub == 4 ? std::isnormal(v) || v == 0
                            : std::fpclassify(v) == FP_SUBNORMAL;
    r |= uint32_t(is) << i;
  });
  setPredicate(w, in.d, r);
  return Step::Next;
}

} // namespace

void decodeFloatUnary(Decoder &d) {
  std::string_view n = d.st->op[0];
  bool approximate = d.take("approx");
  int rounding = d.takeOneOf({"rn", "rz", "rm", "rp"});
  bool ftz = d.take("ftz");
  uint32_t op = n == "abs"     ? UAbs
                : n == "neg"   ? UNeg
                : n == "rcp"   ? (approximate ? URcpA : URcp)
                : n == "sqrt"  ? (approximate ? USqrtA : USqrt)
                : n == "rsqrt" ? URsqrt
                : n == "sin"   ? USin
                : n == "cos"   ? UCos
                : n == "lg2"   ? ULg2
                : n == "ex2"   ? UEx2
                               : UTanh;
  Ty t = d.needType();
  d.needOperands(2, 2);
  d.in.sub = op | uint32_t(rounding > 0 ? rounding : 0) << 8 | (ftz ? 1u << 11 : 0);
  d.in.a = d.use(d.operand(1), t);
  d.in.d = d.def(d.operand(0), t);
  Handler h;
  Format f = Format::F32;
  switch (t) {
  case Ty::F32:
    h = general<uint32_t, 32>;
    break;
  case Ty::F64:
    h = general<uint64_t, 64>;
    f = Format::F64;
    break;
  case Ty::F16:
    h = general<uint16_t, 16>;
    f = Format::F16;
    break;
  case Ty::BF16:
    h = general<uint16_t, 16>;
    f = Format::BF16;
    break;
  case Ty::F16x2:
    h = general<uint32_t, 16>;
    f = Format::F16;
    break;
  case Ty::BF16x2:
    h = general<uint32_t, 16>;
    f = Format::BF16;
    break;
  default:
    d.fail("type is not a floating-point type");
  }
  d.in.sub2 = uint16_t(f);
  if (op == UEx2 && t == Ty::F32)
    h = ftz ? ex2F32<true> : ex2F32<false>;
  d.emit(h, d.halves(t), op >= UEx2 ? 4 : 1);
}

void registerFloat(DecodeTable &t) {
  void decodeFloatArithmetic(Decoder &);
  t["fma"] = decodeFloatArithmetic;
  for (const char *n : {"rcp", "sqrt", "rsqrt", "sin", "cos", "lg2", "ex2", "tanh"})
    t[n] = decodeFloatUnary;
  t["copysign"] = [](Decoder &d) {
    Ty ty = d.needType();
    d.needOperands(3, 3);
    d.in.a = d.use(d.operand(1), ty);
    d.in.b = d.use(d.operand(2), ty);
    d.in.d = d.def(d.operand(0), ty);
    d.emit(ty == Ty::F64 ? copySign64 : copySign32);
  };
  t["testp"] = [](Decoder &d) {
    int which = d.takeOneOf({"finite", "infinite", "number", "notanumber", "normal", "subnormal"});
    if (which < 0)
      d.fail("unknown property");
    Ty ty = d.needType();
    d.needOperands(2, 2);
    d.in.sub = uint32_t(which);
    d.in.a = d.use(d.operand(1), ty);
    d.in.d = d.defPred(d.operand(0));
    d.emit(ty == Ty::F64 ? testProperty<double> : testProperty<float>);
  };
}

} // namespace sim
} // namespace tileloom
