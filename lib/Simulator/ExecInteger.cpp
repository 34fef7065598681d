//===- ExecInteger.cpp - Integer arithmetic (PTX ISA 9.7.1, 9.7.2) --------===//
//
// add, sub, mul, mad, div, rem, min, max, abs, neg, sad, extended precision with CC.CF, bit counts
// and fields. Handlers are instantiated for each width and signedness.
//
//===----------------------------------------------------------------------===//
#include "Carry.h"
#include "Lanes.h"

#include <type_traits>

namespace tileloom {
namespace sim {

void decodeFloatArithmetic(Decoder &d); // ExecFloat.cpp: add, sub, mul, ... of floating types
void decodeFloatUnary(Decoder &d);

namespace {

// One functor template per operation; arithmetic wraps, so it is done unsigned.
#define BINARY(NAME, EXPR)                                                                         \
  template <class T> struct NAME {                                                                 \
    T operator()(T a, T b) const {                                                                 \
      using U = Unsigned<T>;                                                                       \
      (void)sizeof(U);                                                                             \
      return T(EXPR);                                                                              \
    }                                                                                              \
  };
BINARY(Add, U(U(a) + U(b)))
BINARY(Sub, U(U(a) - U(b)))
BINARY(MulLo, U(uint64_t(U(a)) * uint64_t(U(b))))
BINARY(Min, a < b ? a : b)
BINARY(Max, a > b ? a : b)
BINARY(Div, b == 0 ? T(~T(0)) : (std::is_signed_v<T> && b == T(-1)) ? T(U(0) - U(a)) : T(a / b))
BINARY(Rem, b == 0 ? a : (std::is_signed_v<T> && b == T(-1)) ? T(0) : T(a % b))
BINARY(AddSat, [](int64_t s) {
  return s > INT32_MAX ? INT32_MAX : s < INT32_MIN ? INT32_MIN : s;
}(int64_t(a) + int64_t(b)))
BINARY(SubSat, [](int64_t s) {
  return s > INT32_MAX ? INT32_MAX : s < INT32_MIN ? INT32_MIN : s;
}(int64_t(a) - int64_t(b)))
BINARY(MulHi, mulHigh<T>(a, b))
#undef BINARY

template <class T> struct Wider;
template <> struct Wider<uint16_t> { using type = uint32_t; };
template <> struct Wider<int16_t> { using type = int32_t; };
template <> struct Wider<uint32_t> { using type = uint64_t; };
template <> struct Wider<int32_t> { using type = int64_t; };

template <class T> struct MulWide {
  auto operator()(T a, T b) const {
    using W = typename Wider<T>::type;
    return W(W(a) * W(b));
  }
};
template <class T> struct MadLo {
  T operator()(T a, T b, T c) const { return Add<T>()(MulLo<T>()(a, b), c); }
};
template <class T> struct MadHi {
  T operator()(T a, T b, T c) const { return Add<T>()(mulHigh<T>(a, b), c); }
};
template <class T> struct MadWide {
  using W = typename Wider<T>::type;
  W operator()(T a, T b, W c) const { return W(Unsigned<W>(W(a) * W(b)) + Unsigned<W>(c)); }
};
template <class T> struct Sad {
  T operator()(T a, T b, T c) const {
    return T(Unsigned<T>(c) +
             (a < b ? Unsigned<T>(b) - Unsigned<T>(a) : Unsigned<T>(a) - Unsigned<T>(b)));
  }
};
template <class T> struct Abs {
  T operator()(T a) const { return a < 0 ? T(Unsigned<T>(0) - Unsigned<T>(a)) : a; }
};
template <class T> struct Neg {
  T operator()(T a) const { return T(Unsigned<T>(0) - Unsigned<T>(a)); }
};
template <class T> struct Mul24Lo {
  T operator()(T a, T b) const {
    int64_t x = std::is_signed_v<T> ? int64_t(a << 8) >> 8 : int64_t(a & 0xFFFFFF);
    int64_t y = std::is_signed_v<T> ? int64_t(b << 8) >> 8 : int64_t(b & 0xFFFFFF);
    return T(x * y);
  }
};
template <class T> struct Mul24Hi {
  T operator()(T a, T b) const {
    int64_t x = std::is_signed_v<T> ? int64_t(int32_t(a) << 8) >> 8 : int64_t(a & 0xFFFFFF);
    int64_t y = std::is_signed_v<T> ? int64_t(int32_t(b) << 8) >> 8 : int64_t(b & 0xFFFFFF);
    return T(x * y >> 16);
  }
};

/// Chooses Op<T> for an integer type; 8-bit arithmetic does not exist in PTX.
template <template <class> class Op> Handler binaryFor(Ty t) {
  switch (t) {
  case Ty::U16:
  case Ty::B16:
    return op2<uint16_t, uint16_t, uint16_t, Op<uint16_t>>;
  case Ty::S16:
    return op2<int16_t, int16_t, int16_t, Op<int16_t>>;
  case Ty::U32:
  case Ty::B32:
    return op2<uint32_t, uint32_t, uint32_t, Op<uint32_t>>;
  case Ty::S32:
    return op2<int32_t, int32_t, int32_t, Op<int32_t>>;
  case Ty::U64:
  case Ty::B64:
    return op2<uint64_t, uint64_t, uint64_t, Op<uint64_t>>;
  case Ty::S64:
    return op2<int64_t, int64_t, int64_t, Op<int64_t>>;
  default:
    return nullptr;
  }
}
template <class T, template <class> class Mul> Step mad24(Warp &w, const Instr &in) {
  map3<T, T, T, T>(w, in, [](T a, T b, T c) { return T(uint32_t(Mul<T>()(a, b)) + uint32_t(c)); });
  return Step::Next;
}
struct MadHiSat {
  int32_t operator()(int32_t a, int32_t b, int32_t c) const {
    int64_t sum = ((int64_t(a) * b) >> 32) + c;
    return int32_t(std::min<int64_t>(std::max<int64_t>(sum, INT32_MIN), INT32_MAX));
  }
};
template <class T> struct MinRelu {
  T operator()(T a, T b) const { return std::max<T>(std::min(a, b), 0); }
};
template <class T> struct MaxRelu {
  T operator()(T a, T b) const { return std::max<T>(std::max(a, b), 0); }
};
template <template <class> class Op> Handler ternaryFor(Ty t) {
  switch (t) {
  case Ty::U16:
    return op3<uint16_t, uint16_t, uint16_t, uint16_t, Op<uint16_t>>;
  case Ty::S16:
    return op3<int16_t, int16_t, int16_t, int16_t, Op<int16_t>>;
  case Ty::U32:
    return op3<uint32_t, uint32_t, uint32_t, uint32_t, Op<uint32_t>>;
  case Ty::S32:
    return op3<int32_t, int32_t, int32_t, int32_t, Op<int32_t>>;
  case Ty::U64:
    return op3<uint64_t, uint64_t, uint64_t, uint64_t, Op<uint64_t>>;
  case Ty::S64:
    return op3<int64_t, int64_t, int64_t, int64_t, Op<int64_t>>;
  default:
    return nullptr;
  }
}

/// Packed 16-bit halves.
template <template <class> class Op, class T> Step packed(Warp &w, const Instr &in) {
  map2<uint32_t, uint32_t, uint32_t>(w, in, [](uint32_t a, uint32_t b) {
    uint32_t low = uint16_t(Op<T>()(T(a), T(b))), high = uint16_t(Op<T>()(T(a >> 16), T(b >> 16)));
    return low | high << 16;
  });
  return Step::Next;
}

void binary(Decoder &d, Ty t, Handler h, uint8_t cost = 1) {
  if (!h)
    d.fail("type is not supported by this instruction");
  d.needOperands(3, 3);
  d.in.a = d.use(d.operand(1), t);
  d.in.b = d.use(d.operand(2), t);
  d.in.d = d.def(d.operand(0), t);
  d.emit(h, d.halves(t), cost);
}

void decodeAddSub(Decoder &d, bool subtract, bool readsCarry) {
  bool writes = d.take("cc"), sat = d.take("sat");
  Ty t = Ty::None;
  t = d.needType();
  if (writes || readsCarry) {
    d.in.sub = (readsCarry ? 1 : 0) | (writes ? 2 : 0);
    bool wide = bytesOf(t) == 8;
    return binary(d, t,
                  subtract ? (wide ? carrySub<uint64_t> : carrySub<uint32_t>)
                           : (wide ? carryAdd<uint64_t> : carryAdd<uint32_t>));
  }
  if (t == Ty::U16x2 || t == Ty::S16x2)
    return binary(d, t, subtract ? packed<Sub, uint16_t> : packed<Add, uint16_t>);
  if (sat) {
    if (t != Ty::S32)
      d.fail(".sat needs .s32");
    return binary(d, t,
                  subtract ? op2<int32_t, int32_t, int32_t, SubSat<int32_t>>
                           : op2<int32_t, int32_t, int32_t, AddSat<int32_t>>);
  }
  binary(d, t, subtract ? binaryFor<Sub>(t) : binaryFor<Add>(t));
}
bool isFloatInstruction(Decoder &d) {
  for (const char *name : {"f32", "f64", "f16", "f16x2", "bf16", "bf16x2", "f32x2"})
    if (d.has(name))
      return true;
  return false;
}
void add(Decoder &d) {
  isFloatInstruction(d) ? decodeFloatArithmetic(d) : decodeAddSub(d, false, false);
}
void sub(Decoder &d) {
  isFloatInstruction(d) ? decodeFloatArithmetic(d) : decodeAddSub(d, true, false);
}
void addc(Decoder &d) { decodeAddSub(d, false, true); }
void subc(Decoder &d) { decodeAddSub(d, true, true); }

template <template <class> class Op> Handler wideBinary(Ty t) {
  switch (t) {
  case Ty::U16:
    return op2<uint32_t, uint16_t, uint16_t, Op<uint16_t>>;
  case Ty::S16:
    return op2<int32_t, int16_t, int16_t, Op<int16_t>>;
  case Ty::U32:
    return op2<uint64_t, uint32_t, uint32_t, Op<uint32_t>>;
  case Ty::S32:
    return op2<int64_t, int32_t, int32_t, Op<int32_t>>;
  default:
    return nullptr;
  }
}
Handler wideMad(Ty t) {
  switch (t) {
  case Ty::U16:
    return op3<uint32_t, uint16_t, uint16_t, uint32_t, MadWide<uint16_t>>;
  case Ty::S16:
    return op3<int32_t, int16_t, int16_t, int32_t, MadWide<int16_t>>;
  case Ty::U32:
    return op3<uint64_t, uint32_t, uint32_t, uint64_t, MadWide<uint32_t>>;
  case Ty::S32:
    return op3<int64_t, int32_t, int32_t, int64_t, MadWide<int32_t>>;
  default:
    return nullptr;
  }
}
Ty widened(Ty t) {
  return t == Ty::U16 ? Ty::U32 : t == Ty::S16 ? Ty::S32 : t == Ty::U32 ? Ty::U64 : Ty::S64;
}

void mul(Decoder &d) {
  if (isFloatInstruction(d))
    return decodeFloatArithmetic(d);
  int part = d.takeOneOf({"lo", "hi", "wide"});
  Ty t = d.needType();
  if (part < 0)
    d.fail("integer mul needs .lo, .hi or .wide");
  if (part == 2) {
    Handler h = wideBinary<MulWide>(t);
    if (!h)
      d.fail("type is not supported by mul.wide");
    d.needOperands(3, 3);
    d.in.a = d.use(d.operand(1), t);
    d.in.b = d.use(d.operand(2), t);
    d.in.d = d.def(d.operand(0), widened(t));
    return d.emit(h, 0, 2);
  }
  binary(d, t, part ? binaryFor<MulHi>(t) : binaryFor<MulLo>(t), 2);
}

void mad(Decoder &d, bool readsCarry) {
  if (isFloatInstruction(d))
    return decodeFloatArithmetic(d);
  int part = d.takeOneOf({"lo", "hi", "wide"});
  bool writes = d.take("cc");
  bool sat = d.take("sat");
  Ty t = d.needType();
  if (part < 0)
    d.fail("integer mad needs .lo, .hi or .wide");
  if (sat && (part != 1 || t != Ty::S32 || writes || readsCarry))
    d.fail("mad.sat is mad.hi.sat.s32");
  Ty result = part == 2 ? widened(t) : t;
  Handler h = part == 2 ? wideMad(t) : part ? ternaryFor<MadHi>(t) : ternaryFor<MadLo>(t);
  if (writes || readsCarry) {
    d.in.sub = (readsCarry ? 1 : 0) | (writes ? 2 : 0);
    bool high = part == 1;
    h = t == Ty::U32   ? (high ? carryMad<uint32_t, true> : carryMad<uint32_t, false>)
        : t == Ty::S32 ? (high ? carryMad<int32_t, true> : carryMad<int32_t, false>)
        : t == Ty::U64 ? (high ? carryMad<uint64_t, true> : carryMad<uint64_t, false>)
        : t == Ty::S64 ? (high ? carryMad<int64_t, true> : carryMad<int64_t, false>)
                       : nullptr;
  }
  if (sat)
    h = op3<int32_t, int32_t, int32_t, int32_t, MadHiSat>;
  if (!h)
    d.fail("type is not supported by mad");
  d.needOperands(4, 4);
  d.in.a = d.use(d.operand(1), t);
  d.in.b = d.use(d.operand(2), t);
  d.in.c = d.use(d.operand(3), result);
  d.in.d = d.def(d.operand(0), result);
  d.emit(h, 0, 2);
}

void minMax(Decoder &d, bool isMax) {
  if (isFloatInstruction(d))
    return decodeFloatArithmetic(d);
  bool relu = d.take("relu");
  Ty t = d.needType();
  if (relu && t == Ty::S32)
    return binary(d, t,
                  isMax ? op2<int32_t, int32_t, int32_t, MaxRelu<int32_t>>
                        : op2<int32_t, int32_t, int32_t, MinRelu<int32_t>>);
  if (relu && t == Ty::S16x2)
    return binary(d, t, isMax ? packed<MaxRelu, int16_t> : packed<MinRelu, int16_t>);
  if (relu)
    d.fail("min and max with .relu need .s32 or .s16x2");
  if (t == Ty::U16x2)
    return binary(d, t, isMax ? packed<Max, uint16_t> : packed<Min, uint16_t>);
  if (t == Ty::S16x2)
    return binary(d, t, isMax ? packed<Max, int16_t> : packed<Min, int16_t>);
  binary(d, t, isMax ? binaryFor<Max>(t) : binaryFor<Min>(t));
}

void absNeg(Decoder &d, bool isNeg) {
  if (isFloatInstruction(d))
    return decodeFloatUnary(d);
  Ty t = d.needType();
  Handler h =
      t == Ty::S16
          ? (isNeg ? op1<int16_t, int16_t, Neg<int16_t>> : op1<int16_t, int16_t, Abs<int16_t>>)
      : t == Ty::S32
          ? (isNeg ? op1<int32_t, int32_t, Neg<int32_t>> : op1<int32_t, int32_t, Abs<int32_t>>)
      : t == Ty::S64
          ? (isNeg ? op1<int64_t, int64_t, Neg<int64_t>> : op1<int64_t, int64_t, Abs<int64_t>>)
          : nullptr;
  if (!h)
    d.fail("abs and neg need a signed type");
  d.needOperands(2, 2);
  d.in.a = d.use(d.operand(1), t);
  d.in.d = d.def(d.operand(0), t);
  d.emit(h);
}

} // namespace

void registerInteger(DecodeTable &t) {
  t["add"] = add;
  t["sub"] = sub;
  t["addc"] = addc;
  t["subc"] = subc;
  t["mul"] = mul;
  t["mad"] = [](Decoder &d) { mad(d, false); };
  t["madc"] = [](Decoder &d) { mad(d, true); };
  t["min"] = [](Decoder &d) { minMax(d, false); };
  t["max"] = [](Decoder &d) { minMax(d, true); };
  t["abs"] = [](Decoder &d) { absNeg(d, false); };
  t["neg"] = [](Decoder &d) { absNeg(d, true); };
  t["div"] = [](Decoder &d) {
    if (isFloatInstruction(d))
      return decodeFloatArithmetic(d);
    Ty ty = d.needType();
    binary(d, ty, binaryFor<Div>(ty), 20);
  };
  t["rem"] = [](Decoder &d) {
    Ty ty = d.needType();
    binary(d, ty, binaryFor<Rem>(ty), 20);
  };
  t["mad24"] = [](Decoder &d) {
    int part = d.takeOneOf({"lo", "hi"});
    Ty ty = d.needType();
    if (part < 0 || (ty != Ty::S32 && ty != Ty::U32))
      d.fail("mad24 needs .lo or .hi, and .u32 or .s32");
    bool s = ty == Ty::S32;
    d.needOperands(4, 4);
    d.in.a = d.use(d.operand(1), ty);
    d.in.b = d.use(d.operand(2), ty);
    d.in.c = d.use(d.operand(3), ty);
    d.in.d = d.def(d.operand(0), ty);
    d.emit(part ? (s ? mad24<int32_t, Mul24Hi> : mad24<uint32_t, Mul24Hi>)
                : (s ? mad24<int32_t, Mul24Lo> : mad24<uint32_t, Mul24Lo>));
  };
  t["mul24"] = [](Decoder &d) {
    int part = d.takeOneOf({"lo", "hi"});
    Ty ty = d.needType();
    bool s = ty == Ty::S32;
    binary(d, ty,
           part ? (s ? op2<int32_t, int32_t, int32_t, Mul24Hi<int32_t>>
                     : op2<uint32_t, uint32_t, uint32_t, Mul24Hi<uint32_t>>)
                : (s ? op2<int32_t, int32_t, int32_t, Mul24Lo<int32_t>>
                     : op2<uint32_t, uint32_t, uint32_t, Mul24Lo<uint32_t>>));
  };
  t["sad"] = [](Decoder &d) {
    Ty ty = d.needType();
    Handler h = ternaryFor<Sad>(ty);
    if (!h)
      d.fail("type is not supported by sad");
    d.needOperands(4, 4);
    d.in.a = d.use(d.operand(1), ty);
    d.in.b = d.use(d.operand(2), ty);
    d.in.c = d.use(d.operand(3), ty);
    d.in.d = d.def(d.operand(0), ty);
    d.emit(h);
  };
}

} // namespace sim
} // namespace tileloom
