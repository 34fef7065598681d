//===- ExecBits.cpp - Bit counts, fields, byte products -------------------===//
//
// popc, clz, brev, bfind, bfe, bfi, bmsk, szext (PTX ISA 9.7.1), dp4a and dp2a.
//
//===----------------------------------------------------------------------===//
#include "Lanes.h"

#include <type_traits>

namespace tileloom {
namespace sim {
namespace {

template <class T> struct Popc {
  uint32_t operator()(T a) const { return uint32_t(__builtin_popcountll(a)); }
};
template <class T> struct Clz {
  uint32_t operator()(T a) const {
    return a ? uint32_t(__builtin_clzll(a)) - (64 - 8 * sizeof(T)) : 8 * sizeof(T);
  }
};
template <class T> struct Brev {
  T operator()(T a) const {
    T r = 0;
    for (unsigned i = 0; i < 8 * sizeof(T); ++i)
      r = T(r << 1 | (a >> i & 1));
    return r;
  }
};
template <class T, bool Amount> struct Bfind {
  uint32_t operator()(T a) const {
    uint64_t v = std::is_signed_v<T> && a < 0 ? uint64_t(int64_t(~a)) : uint64_t(a);
    if (sizeof(T) == 4)
      v &= 0xFFFFFFFF;
    if (!v)
      return ~0u;
    uint32_t at = 63 - uint32_t(__builtin_clzll(v));
    return Amount ? 8 * sizeof(T) - 1 - at : at;
  }
};
template <template <class> class Op> void count(Decoder &d) {
  Ty t = d.needType();
  d.needOperands(2, 2);
  d.in.a = d.use(d.operand(1), t);
  d.in.d = d.def(d.operand(0), Ty::U32);
  d.emit(bytesOf(t) == 8 ? op1<uint32_t, uint64_t, Op<uint64_t>>
                         : op1<uint32_t, uint32_t, Op<uint32_t>>);
}

/// Position or length of a bit field. PTX: the low 8 bits count. So it is for 32 bits; for 64,
/// ptxas makes shifts of the instruction, and an H200 sees all bits: what is above 63 is as 64.
template <class T> unsigned fieldPart(uint32_t v) {
  return sizeof(T) == 8 ? std::min(v, 64u) : v & 0xFF;
}
template <class T> struct Bfe {
  T operator()(T a, uint32_t b, uint32_t c) const {
    using U = std::make_unsigned_t<T>;
    unsigned bits = 8 * sizeof(T), pos = fieldPart<T>(b), len = fieldPart<T>(c);
    if (!len)
      return 0;
    unsigned top = std::min(pos + len - 1, bits - 1);
    bool sign = std::is_signed_v<T> && (U(a) >> top & 1);
    U r = pos < bits ? U(U(a) >> pos) : 0;
    if (len < bits) {
      U mask = U((U(1) << len) - 1);
      r &= mask;
      // Bits beyond the source and beyond the field are copies of the sign.
      unsigned have = pos < bits ? std::min(len, bits - pos) : 0;
      if (sign)
        r = have < bits ? U(r | ~U((have ? (U(1) << have) : U(1)) - 1)) : r;
    } else if (sign && pos) {
      r |= pos < bits ? U(~(U(~U(0)) >> pos)) : U(~U(0));
    }
    return T(r);
  }
};
template <class T> Step bfiRun(Warp &w, const Instr &in) {
  T *d = w.reg<T>(in.d);
  const T *a = w.reg<T>(in.a), *b = w.reg<T>(in.b);
  const uint32_t *c = w.reg<uint32_t>(in.c), *e = w.reg<uint32_t>(in.e);
  eachLane(w.active, [&](unsigned i) {
    unsigned bits = 8 * sizeof(T), pos = fieldPart<T>(c[i]), len = fieldPart<T>(e[i]);
    T r = b[i];
    for (unsigned k = 0; k < len && pos + k < bits; ++k)
      r = T((r & ~(T(1) << (pos + k))) | (a[i] >> k & 1) << (pos + k));
    d[i] = r;
  });
  return Step::Next;
}
struct BmskClamp {
  uint32_t operator()(uint32_t a, uint32_t b) const {
    if (a >= 32 || !b)
      return 0;
    return b >= 32 - a ? ~0u << a : ((1u << b) - 1) << a;
  }
};
struct BmskWrap {
  uint32_t operator()(uint32_t a, uint32_t b) const { return BmskClamp()(a & 31, b & 31); }
};
template <bool Signed, bool Wrap> struct Szext {
  uint32_t operator()(uint32_t a, uint32_t b) const {
    uint32_t n = Wrap ? b & 31 : b > 32 ? 32 : b;
    if (n == 0)
      return 0;
    if (n == 32)
      return a;
    uint32_t low = a & ((1u << n) - 1);
    return Signed && (a >> (n - 1) & 1) ? low | ~0u << n : low;
  }
};

template <bool SA, bool SB> Step dp4a(Warp &w, const Instr &in) {
  map3<uint32_t, uint32_t, uint32_t, uint32_t>(w, in, [](uint32_t a, uint32_t b, uint32_t c) {
    for (unsigned i = 0; i < 4; ++i) {
      int32_t x = SA ? int8_t(a >> 8 * i) : uint8_t(a >> 8 * i);
      int32_t y = SB ? int8_t(b >> 8 * i) : uint8_t(b >> 8 * i);
      c += uint32_t(x * y);
    }
    return c;
  });
  return Step::Next;
}
template <bool SA, bool SB> Step dp2a(Warp &w, const Instr &in) {
  unsigned half = in.sub;
  map3<uint32_t, uint32_t, uint32_t, uint32_t>(w, in, [half](uint32_t a, uint32_t b, uint32_t c) {
    for (unsigned i = 0; i < 2; ++i) {
      int32_t x = SA ? int16_t(a >> 16 * i) : uint16_t(a >> 16 * i);
      uint32_t raw = b >> (8 * (i + 2 * half));
      int32_t y = SB ? int8_t(raw) : uint8_t(raw);
      c += uint32_t(x * y);
    }
    return c;
  });
  return Step::Next;
}
void dotProduct(Decoder &d, bool four) {
  if (!four)
    d.in.sub = uint32_t(d.takeOneOf({"lo", "hi"}));
  Ty a = d.needType(), b = d.needType();
  d.needOperands(4, 4);
  bool sa = a == Ty::S32, sb = b == Ty::S32;
  d.in.a = d.use(d.operand(1), Ty::B32);
  d.in.b = d.use(d.operand(2), Ty::B32);
  d.in.c = d.use(d.operand(3), Ty::B32);
  d.in.d = d.def(d.operand(0), Ty::B32);
  if (four)
    d.emit(sa ? (sb ? dp4a<true, true> : dp4a<true, false>)
              : (sb ? dp4a<false, true> : dp4a<false, false>));
  else
    d.emit(sa ? (sb ? dp2a<true, true> : dp2a<true, false>)
              : (sb ? dp2a<false, true> : dp2a<false, false>));
}

/// fns: the bit that is the |offset|-th set one from `base` on, upwards or downwards.
struct FindNthSet {
  uint32_t operator()(uint32_t mask, uint32_t base, int32_t offset) const {
    if (base > 31)
      return ~0u;
    if (!offset)
      return mask >> base & 1 ? base : ~0u;
    int64_t left = offset < 0 ? -int64_t(offset) : offset;
    for (int at = int(base); at >= 0 && at < 32; at += offset < 0 ? -1 : 1)
      if (mask >> at & 1 && --left == 0)
        return uint32_t(at);
    return ~0u;
  }
};

} // namespace

void registerBits(DecodeTable &t) {
  t["popc"] = count<Popc>;
  t["clz"] = count<Clz>;
  t["brev"] = [](Decoder &d) {
    Ty ty = d.needType();
    d.needOperands(2, 2);
    d.in.a = d.use(d.operand(1), ty);
    d.in.d = d.def(d.operand(0), ty);
    d.emit(bytesOf(ty) == 8 ? op1<uint64_t, uint64_t, Brev<uint64_t>>
                            : op1<uint32_t, uint32_t, Brev<uint32_t>>);
  };
  t["bfind"] = [](Decoder &d) {
    bool amount = d.take("shiftamt");
    Ty ty = d.needType();
    d.needOperands(2, 2);
    d.in.a = d.use(d.operand(1), ty);
    d.in.d = d.def(d.operand(0), Ty::U32);
    d.emit(ty == Ty::U32   ? (amount ? op1<uint32_t, uint32_t, Bfind<uint32_t, true>>
                                     : op1<uint32_t, uint32_t, Bfind<uint32_t, false>>)
           : ty == Ty::S32 ? (amount ? op1<uint32_t, int32_t, Bfind<int32_t, true>>
                                     : op1<uint32_t, int32_t, Bfind<int32_t, false>>)
           : ty == Ty::U64 ? (amount ? op1<uint32_t, uint64_t, Bfind<uint64_t, true>>
                                     : op1<uint32_t, uint64_t, Bfind<uint64_t, false>>)
                           : (amount ? op1<uint32_t, int64_t, Bfind<int64_t, true>>
                                     : op1<uint32_t, int64_t, Bfind<int64_t, false>>));
  };
  t["bfe"] = [](Decoder &d) {
    Ty ty = d.needType();
    d.needOperands(4, 4);
    d.in.a = d.use(d.operand(1), ty);
    d.in.b = d.use(d.operand(2), Ty::U32);
    d.in.c = d.use(d.operand(3), Ty::U32);
    d.in.d = d.def(d.operand(0), ty);
    d.emit(ty == Ty::U32   ? op3<uint32_t, uint32_t, uint32_t, uint32_t, Bfe<uint32_t>>
           : ty == Ty::S32 ? op3<int32_t, int32_t, uint32_t, uint32_t, Bfe<int32_t>>
           : ty == Ty::U64 ? op3<uint64_t, uint64_t, uint32_t, uint32_t, Bfe<uint64_t>>
                           : op3<int64_t, int64_t, uint32_t, uint32_t, Bfe<int64_t>>);
  };
  t["bfi"] = [](Decoder &d) {
    Ty ty = d.needType();
    d.needOperands(5, 5);
    d.in.a = d.use(d.operand(1), ty);
    d.in.b = d.use(d.operand(2), ty);
    d.in.c = d.use(d.operand(3), Ty::U32);
    d.in.e = d.use(d.operand(4), Ty::U32);
    d.in.d = d.def(d.operand(0), ty);
    d.emit(bytesOf(ty) == 8 ? bfiRun<uint64_t> : bfiRun<uint32_t>);
  };
  t["fns"] = [](Decoder &d) {
    d.needType();
    d.needOperands(4, 4);
    d.in.a = d.use(d.operand(1), Ty::B32);
    d.in.b = d.use(d.operand(2), Ty::B32);
    d.in.c = d.use(d.operand(3), Ty::S32);
    d.in.d = d.def(d.operand(0), Ty::B32);
    d.emit(op3<uint32_t, uint32_t, uint32_t, int32_t, FindNthSet>, 0, 8);
  };
  t["bmsk"] = [](Decoder &d) {
    int mode = d.takeOneOf({"clamp", "wrap"});
    d.takeType();
    d.needOperands(3, 3);
    d.in.a = d.use(d.operand(1), Ty::B32);
    d.in.b = d.use(d.operand(2), Ty::B32);
    d.in.d = d.def(d.operand(0), Ty::B32);
    d.emit(mode == 1 ? op2<uint32_t, uint32_t, uint32_t, BmskWrap>
                     : op2<uint32_t, uint32_t, uint32_t, BmskClamp>);
  };
  t["szext"] = [](Decoder &d) {
    bool wrap = d.takeOneOf({"clamp", "wrap"}) == 1;
    bool s = d.takeType() == Ty::S32;
    d.needOperands(3, 3);
    d.in.a = d.use(d.operand(1), Ty::B32);
    d.in.b = d.use(d.operand(2), Ty::B32);
    d.in.d = d.def(d.operand(0), Ty::B32);
    d.emit(s ? (wrap ? op2<uint32_t, uint32_t, uint32_t, Szext<true, true>>
                     : op2<uint32_t, uint32_t, uint32_t, Szext<true, false>>)
             : (wrap ? op2<uint32_t, uint32_t, uint32_t, Szext<false, true>>
                     : op2<uint32_t, uint32_t, uint32_t, Szext<false, false>>));
  };
  t["dp4a"] = [](Decoder &d) { dotProduct(d, true); };
  t["dp2a"] = [](Decoder &d) { dotProduct(d, false); };
}

} // namespace sim
} // namespace tileloom
