//===- ExecCompare.cpp - Comparisons and selection (PTX ISA 9.7.6, 9.7.7) -===//
//
// setp and set with boolean combination, selp, slct. A comparison yields a mask of lanes.
//
//===----------------------------------------------------------------------===//
#include "Lanes.h"
#include "tileloom/Simulator/Formats.h"

namespace tileloom {
namespace sim {
namespace {

enum Cmp : uint8_t { Eq, Ne, Lt, Le, Gt, Ge, Equ, Neu, Ltu, Leu, Gtu, Geu, Num, Nan };

template <Cmp C, class T> inline bool compare(T a, T b) {
  bool nan = a != a || b != b;
  switch (C) {
  case Eq:
    return a == b;
  case Ne:
    return a != b && !nan;
  case Lt:
    return a < b;
  case Le:
    return a <= b;
  case Gt:
    return a > b;
  case Ge:
    return a >= b;
  case Equ:
    return nan || a == b;
  case Neu:
    return nan || a != b;
  case Ltu:
    return nan || a < b;
  case Leu:
    return nan || a <= b;
  case Gtu:
    return nan || a > b;
  case Geu:
    return nan || a >= b;
  case Num:
    return !nan;
  case Nan:
    return nan;
  }
  return false;
}

template <class T> inline T load(const void *p, unsigned i) { return static_cast<const T *>(p)[i]; }
struct Half {
  uint16_t bits;
};
struct BHalf {
  uint16_t bits;
};
template <class T> struct Value {
  static T get(T v, bool) { return v; }
};
template <> struct Value<float> {
  static float get(float v, bool ftz) {
    return ftz && !(bitsOf(v) & 0x7F800000u) ? floatOf(bitsOf(v) & 0x80000000u) : v;
  }
};
template <> struct Value<Half> {
  static float get(Half v, bool ftz) {
    if (ftz && !(v.bits & 0x7C00))
      return 0;
    return f16ToFloat(v.bits);
  }
};
template <> struct Value<BHalf> {
  static float get(BHalf v, bool) { return bf16ToFloat(v.bits); }
};

// sub: bit 0 ftz, bits 1-2 combination (0 none, 1 and, 2 or, 3 xor), bit 3 negated c.
constexpr uint32_t SFtz = 1, SNeg = 8;

template <class T, Cmp C> uint32_t compareMask(Warp &w, const Instr &in) {
  const T *a = w.reg<T>(in.a), *b = w.reg<T>(in.b);
  bool ftz = in.sub & SFtz;
  uint32_t r = 0;
  for (unsigned i = 0; i < 32; ++i)
    r |= uint32_t(compare<C>(Value<T>::get(a[i], ftz), Value<T>::get(b[i], ftz))) << i;
  return r;
}

inline uint32_t combine(Warp &w, const Instr &in, uint32_t r) {
  unsigned how = in.sub >> 1 & 3;
  if (!how)
    return r;
  uint32_t c = getPredicate(w, in.c, in.sub & SNeg);
  return how == 1 ? r & c : how == 2 ? r | c : r ^ c;
}

template <class T, Cmp C> Step setp(Warp &w, const Instr &in) {
  uint32_t r = compareMask<T, C>(w, in), other = ~r;
  uint32_t first = combine(w, in, r);
  if (in.imm)
    setPredicate(w, in.e, combine(w, in, other));
  setPredicate(w, in.d, first);
  return Step::Next;
}
template <class T, Cmp C> Step set(Warp &w, const Instr &in) {
  uint32_t r = combine(w, in, compareMask<T, C>(w, in));
  uint32_t yes = uint32_t(in.imm); // 0xFFFFFFFF or 1.0f
  uint32_t *d = w.reg<uint32_t>(in.d);
  eachLane(w.active, [&](unsigned i) { d[i] = r >> i & 1 ? yes : 0; });
  return Step::Next;
}
template <class H, Cmp C> Step setpPacked(Warp &w, const Instr &in) {
  const uint32_t *a = w.reg<uint32_t>(in.a), *b = w.reg<uint32_t>(in.b);
  bool ftz = in.sub & SFtz;
  uint32_t low = 0, high = 0;
  eachLane(w.active, [&](unsigned i) {
    low |= uint32_t(compare<C>(Value<H>::get(H{uint16_t(a[i])}, ftz),
                               Value<H>::get(H{uint16_t(b[i])}, ftz)))
           << i;
    high |= uint32_t(compare<C>(Value<H>::get(H{uint16_t(a[i] >> 16)}, ftz),
                                Value<H>::get(H{uint16_t(b[i] >> 16)}, ftz)))
            << i;
  });
  low = combine(w, in, low);
  high = combine(w, in, high);
  setPredicate(w, in.d, low);
  if (in.imm)
    setPredicate(w, in.e, high);
  return Step::Next;
}

/// set with packed halves: 1.0 (imm, of the result type) or 0 in each.
template <class H, Cmp C> Step setPacked(Warp &w, const Instr &in) {
  const uint32_t *a = w.reg<uint32_t>(in.a), *b = w.reg<uint32_t>(in.b);
  uint32_t *d = w.reg<uint32_t>(in.d);
  bool ftz = in.sub & SFtz;
  uint32_t yes = uint32_t(in.imm);
  auto half = [&](uint32_t x, uint32_t y) {
    return compare<C>(Value<H>::get(H{uint16_t(x)}, ftz), Value<H>::get(H{uint16_t(y)}, ftz));
  };
  eachLane(w.active, [&](unsigned i) {
    d[i] = (half(a[i], b[i]) ? yes : 0) | (half(a[i] >> 16, b[i] >> 16) ? yes << 16 : 0);
  });
  return Step::Next;
}

template <class T> Handler pick(Cmp c, bool toRegister) {
#define CASE(X)                                                                                    \
  case X:                                                                                          \
    return toRegister ? set<T, X> : setp<T, X>;
  switch (c) {
    CASE(Eq)
    CASE(Ne)
    CASE(Lt)
    CASE(Le)
    CASE(Gt)
    CASE(Ge) CASE(Equ) CASE(Neu) CASE(Ltu) CASE(Leu) CASE(Gtu) CASE(Geu) CASE(Num) CASE(Nan)
  }
#undef CASE
  return nullptr;
}
template <class H> Handler pickPacked(Cmp c, bool toRegister) {
#define CASE(X)                                                                                    \
  case X:                                                                                          \
    return toRegister ? setPacked<H, X> : setpPacked<H, X>;
  switch (c) {
    CASE(Eq)
    CASE(Ne)
    CASE(Lt)
    CASE(Le)
    CASE(Gt)
    CASE(Ge) CASE(Equ) CASE(Neu) CASE(Ltu) CASE(Leu) CASE(Gtu) CASE(Geu) CASE(Num) CASE(Nan)
  }
#undef CASE
  return nullptr;
}
template <class T> Handler pickInteger(Cmp c, bool toRegister) {
#define CASE(X)                                                                                    \
  case X:                                                                                          \
    return toRegister ? set<T, X> : setp<T, X>;
  switch (c) { CASE(Eq) CASE(Ne) CASE(Lt) CASE(Le) CASE(Gt) CASE(Ge) default : return nullptr; }
#undef CASE
}

void decodeSet(Decoder &d, bool toRegister) {
  int c = d.takeOneOf(
      {"eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"});
  if (c < 0) { // lo, ls, hi, hs: unsigned names
    c = d.takeOneOf({"lo", "ls", "hi", "hs"});
    if (c < 0)
      d.fail("comparison operator is missing");
    c = c == 0 ? Lt : c == 1 ? Le : c == 2 ? Gt : Ge;
  }
  int boolean = d.takeOneOf({"and", "or", "xor"});
  bool ftz = d.take("ftz");
  Ty result = toRegister ? d.needType() : Ty::Pred;
  Ty t = d.needType();
  size_t n = boolean >= 0 ? 4 : 3;
  d.needOperands(n, n);
  d.in.sub = (ftz ? SFtz : 0) | uint32_t(boolean + 1) << 1;
  d.in.a = d.use(d.operand(1), t);
  d.in.b = d.use(d.operand(2), t);
  if (boolean >= 0) {
    bool negated;
    d.in.c = d.usePred(d.operand(3), negated);
    d.in.sub |= negated ? SNeg : 0;
  }
  if (toRegister) {
    if (bytesOf(result) != 4)
      d.fail("set with a result that is not 32 bits is not supported");
    bool packed = t == Ty::F16x2 || t == Ty::BF16x2;
    if (packed != (result == Ty::F16x2 || result == Ty::BF16x2) || (packed && boolean >= 0))
      d.fail("set of packed halves gives packed halves, without a boolean operand");
    d.in.imm = result == Ty::F32      ? 0x3F800000
               : result == Ty::F16x2  ? 0x3C00
               : result == Ty::BF16x2 ? 0x3F80
                                      : 0xFFFFFFFF;
    d.in.d = d.def(d.operand(0), result);
  } else {
    d.in.d = d.defPred(d.operand(0));
    if (!d.operand(0).pair.empty()) {
      d.in.e = d.defPred(d.operand(0).pair[0]);
      d.in.imm = 1;
    }
  }
  Cmp k = Cmp(c);
  Handler h = nullptr;
  switch (t) {
  case Ty::B16:
  case Ty::U16:
    h = pickInteger<uint16_t>(k, toRegister);
    break;
  case Ty::S16:
    h = pickInteger<int16_t>(k, toRegister);
    break;
  case Ty::B32:
  case Ty::U32:
    h = pickInteger<uint32_t>(k, toRegister);
    break;
  case Ty::S32:
    h = pickInteger<int32_t>(k, toRegister);
    break;
  case Ty::B64:
  case Ty::U64:
    h = pickInteger<uint64_t>(k, toRegister);
    break;
  case Ty::S64:
    h = pickInteger<int64_t>(k, toRegister);
    break;
  case Ty::F32:
    h = pick<float>(k, toRegister);
    break;
  case Ty::F64:
    h = pick<double>(k, toRegister);
    break;
  case Ty::F16:
    h = pick<Half>(k, toRegister);
    break;
  case Ty::BF16:
    h = pick<BHalf>(k, toRegister);
    break;
  case Ty::F16x2:
    h = pickPacked<Half>(k, toRegister);
    break;
  case Ty::BF16x2:
    h = pickPacked<BHalf>(k, toRegister);
    break;
  default:
    break;
  }
  if (!h)
    d.fail("type and comparison do not go together");
  d.emit(h, toRegister || d.in.imm ? d.halves(t) : uint16_t(0));
}

template <class T> Step selp(Warp &w, const Instr &in) {
  T *d = w.reg<T>(in.d);
  const T *a = w.reg<T>(in.a), *b = w.reg<T>(in.b);
  uint32_t p = getPredicate(w, in.c, in.sub);
  if (w.active == ~0u) {
    for (unsigned i = 0; i < 32; ++i) {
      T x = a[i], y = b[i];
      d[i] = p >> i & 1 ? x : y;
    }
  } else {
    eachLane(w.active, [&](unsigned i) { d[i] = p >> i & 1 ? a[i] : b[i]; });
  }
  return Step::Next;
}

template <class T, class C> Step slct(Warp &w, const Instr &in) {
  map3<T, T, T, C>(w, in, [](T a, T b, C c) { return c >= 0 ? a : b; });
  return Step::Next;
}

} // namespace

void registerCompare(DecodeTable &t) {
  t["setp"] = [](Decoder &d) { decodeSet(d, false); };
  t["set"] = [](Decoder &d) { decodeSet(d, true); };
  t["selp"] = [](Decoder &d) {
    Ty ty = d.needType();
    d.needOperands(4, 4);
    bool negated;
    d.in.a = d.use(d.operand(1), ty);
    d.in.b = d.use(d.operand(2), ty);
    d.in.c = d.usePred(d.operand(3), negated);
    d.in.sub = negated;
    d.in.d = d.def(d.operand(0), ty);
    d.emit(bytesOf(ty) == 8   ? selp<uint64_t>
           : bytesOf(ty) == 4 ? selp<uint32_t>
                              : selp<uint16_t>,
           FlagPhiLike);
  };
  t["slct"] = [](Decoder &d) {
    d.take("ftz");
    Ty ty = d.needType(), c = d.needType();
    d.needOperands(4, 4);
    d.in.a = d.use(d.operand(1), ty);
    d.in.b = d.use(d.operand(2), ty);
    d.in.c = d.use(d.operand(3), c);
    d.in.d = d.def(d.operand(0), ty);
    bool f = c == Ty::F32;
    d.emit(bytesOf(ty) == 8   ? (f ? slct<uint64_t, float> : slct<uint64_t, int32_t>)
           : bytesOf(ty) == 4 ? (f ? slct<uint32_t, float> : slct<uint32_t, int32_t>)
                              : (f ? slct<uint16_t, float> : slct<uint16_t, int32_t>));
  };
}

} // namespace sim
} // namespace tileloom
