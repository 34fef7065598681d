//===- ExecLogic.cpp - Bits (PTX ISA 9.7.8, 9.7.9.7) ----------------------===//
//
// and, or, xor, not, cnot, lop3, shifts, funnel shift, prmt.
//
//===----------------------------------------------------------------------===//
#include "Lanes.h"

#include <array>
#include <type_traits>

namespace tileloom {
namespace sim {
namespace {

template <class T> struct And {
  T operator()(T a, T b) const { return T(a & b); }
};
template <class T> struct Or {
  T operator()(T a, T b) const { return T(a | b); }
};
template <class T> struct Xor {
  T operator()(T a, T b) const { return T(a ^ b); }
};
template <class T> struct Not {
  T operator()(T a) const { return T(~a); }
};
template <class T> struct Cnot {
  T operator()(T a) const { return T(a == 0); }
};
template <class T> struct Shl {
  T operator()(T a, uint32_t b) const { return b >= 8 * sizeof(T) ? T(0) : T(a << b); }
};
template <class T> struct Shr {
  T operator()(T a, uint32_t b) const {
    uint32_t limit = 8 * sizeof(T);
    if (b >= limit)
      return std::is_signed_v<T> && a < 0 ? T(-1) : T(0);
    return T(a >> b);
  }
};

enum LogicOp { OpAnd, OpOr, OpXor };

template <LogicOp Op> Step predicateLogic(Warp &w, const Instr &in) {
  uint32_t a = getPredicate(w, in.a, in.sub & 1), b = getPredicate(w, in.b, in.sub & 2);
  setPredicate(w, in.d, Op == OpAnd ? a & b : Op == OpOr ? a | b : a ^ b);
  return Step::Next;
}
Step predicateNot(Warp &w, const Instr &in) {
  setPredicate(w, in.d, getPredicate(w, in.a, !(in.sub & 1)));
  return Step::Next;
}

template <template <class> class Op> Handler bitsBinary(Ty t) {
  switch (bytesOf(t)) {
  case 2:
    return op2<uint16_t, uint16_t, uint16_t, Op<uint16_t>>;
  case 4:
    return op2<uint32_t, uint32_t, uint32_t, Op<uint32_t>>;
  case 8:
    return op2<uint64_t, uint64_t, uint64_t, Op<uint64_t>>;
  default:
    return nullptr;
  }
}
template <template <class> class Op> Handler bitsUnary(Ty t) {
  switch (bytesOf(t)) {
  case 2:
    return op1<uint16_t, uint16_t, Op<uint16_t>>;
  case 4:
    return op1<uint32_t, uint32_t, Op<uint32_t>>;
  case 8:
    return op1<uint64_t, uint64_t, Op<uint64_t>>;
  default:
    return nullptr;
  }
}

template <LogicOp Op> void logic(Decoder &d) {
  Ty t = d.needType();
  d.needOperands(3, 3);
  if (t == Ty::Pred) {
    bool na, nb;
    d.in.a = d.usePred(d.operand(1), na);
    d.in.b = d.usePred(d.operand(2), nb);
    d.in.sub = (na ? 1u : 0) | (nb ? 2u : 0);
    d.in.d = d.defPred(d.operand(0));
    return d.emit(predicateLogic<Op>);
  }
  Handler h = Op == OpAnd  ? bitsBinary<And>(t)
              : Op == OpOr ? bitsBinary<Or>(t)
                           : bitsBinary<Xor>(t);
  if (!h)
    d.fail("type is not supported by this instruction");
  // Of bytes where a constant is zero, `and` takes nothing.
  int64_t mask = 0;
  bool masks = Op == OpAnd && d.immediate(d.operand(2), mask);
  std::vector<ByteSource> sources;
  if (masks)
    sources = d.sourceBytes({d.operand(1)}, bytesOf(t));
  for (unsigned k = 0; k < sources.size(); ++k)
    if (!(uint64_t(mask) >> (8 * k) & 0xFF))
      sources[k] = {};
  d.in.a = d.use(d.operand(1), t);
  d.in.b = d.use(d.operand(2), t);
  d.in.d = d.def(d.operand(0), t);
  if (masks)
    return d.emitBytes(h, sources);
  d.emit(h);
}

void logicNot(Decoder &d) {
  Ty t = d.needType();
  d.needOperands(2, 2);
  if (t == Ty::Pred) {
    bool n;
    d.in.a = d.usePred(d.operand(1), n);
    d.in.sub = n;
    d.in.d = d.defPred(d.operand(0));
    return d.emit(predicateNot);
  }
  Handler h = bitsUnary<Not>(t);
  if (!h)
    d.fail("type is not supported by not");
  d.in.a = d.use(d.operand(1), t);
  d.in.d = d.def(d.operand(0), t);
  d.emit(h);
}

template <template <class> class Op> Handler shiftFor(Ty t) {
  switch (t) {
  case Ty::B16:
  case Ty::U16:
    return op2<uint16_t, uint16_t, uint32_t, Op<uint16_t>>;
  case Ty::S16:
    return op2<int16_t, int16_t, uint32_t, Op<int16_t>>;
  case Ty::B32:
  case Ty::U32:
    return op2<uint32_t, uint32_t, uint32_t, Op<uint32_t>>;
  case Ty::S32:
    return op2<int32_t, int32_t, uint32_t, Op<int32_t>>;
  case Ty::B64:
  case Ty::U64:
    return op2<uint64_t, uint64_t, uint32_t, Op<uint64_t>>;
  case Ty::S64:
    return op2<int64_t, int64_t, uint32_t, Op<int64_t>>;
  default:
    return nullptr;
  }
}
/// The bytes of a shift by whole bytes, of `bytes`: to the right the sign fills up, or zero.
std::vector<ByteSource> shiftedBytes(const std::vector<ByteSource> &bytes, int64_t by, bool left, bool isSigned) {
  const int64_t count = int64_t(bytes.size());
  std::vector<ByteSource> result;
  for (int64_t k = 0; k < count; ++k) {
    int64_t from = left ? k - by : k + by;
    result.push_back(from >= 0 && from < count ? bytes[size_t(from)] : !left && isSigned ? bytes.back() : ByteSource());
  }
  return result;
}

template <template <class> class Op> void shift(Decoder &d) {
  Ty t = d.needType();
  Handler h = shiftFor<Op>(t);
  if (!h)
    d.fail("type is not supported by a shift");
  d.needOperands(3, 3);
  int64_t by = 1;
  bool whole = d.immediate(d.operand(2), by) && by % 8 == 0 && by >= 0 && by < 8 * int64_t(bytesOf(t));
  std::vector<ByteSource> sources;
  if (whole)
    sources = shiftedBytes(d.sourceBytes({d.operand(1)}, bytesOf(t)), by / 8, std::is_same_v<Op<uint32_t>, Shl<uint32_t>>, isSigned(t));
  d.in.a = d.use(d.operand(1), t);
  d.in.b = d.use(d.operand(2), Ty::U32);
  d.in.d = d.def(d.operand(0), t);
  if (whole)
    return d.emitBytes(h, sources);
  d.emit(h);
}

struct Lop3 {
  static Step run(Warp &w, const Instr &in) {
    uint32_t table = uint32_t(in.imm);
    map3<uint32_t, uint32_t, uint32_t, uint32_t>(
        w, in, [table](uint32_t a, uint32_t b, uint32_t c) {
          uint32_t r = 0;
          for (unsigned i = 0; i < 8; ++i)
            if (table >> i & 1)
              r |= (i & 4 ? a : ~a) & (i & 2 ? b : ~b) & (i & 1 ? c : ~c);
          return r;
        });
    return Step::Next;
  }
};
/// PTX ISA 9.7.8.6: p = (result != 0) BoolOp q. sub: bit 0 or (else and), bit 1 q is negated.
Step lop3Predicate(Warp &w, const Instr &in) {
  uint32_t q = getPredicate(w, in.e, in.sub & 2), any = 0;
  Lop3::run(w, in);
  eachLane(w.active, [&](unsigned i) { any |= uint32_t(w.reg<uint32_t>(in.d)[i] != 0) << i; });
  setPredicate(w, in.f, in.sub & 1 ? any | q : any & q);
  return Step::Next;
}

void lop3(Decoder &d) {
  int op = d.takeOneOf({"and", "or"});
  Ty t = d.needType();
  d.needOperands(op < 0 ? 5 : 6, op < 0 ? 5 : 6);
  if ((op >= 0) == d.operand(0).pair.empty())
    d.fail("lop3 gives a predicate (d|p) with .and or .or, and only then");
  d.in.a = d.use(d.operand(1), t);
  d.in.b = d.use(d.operand(2), t);
  d.in.c = d.use(d.operand(3), t);
  d.in.imm = d.needImmediate(d.operand(4), "the table of lop3");
  if (op >= 0) {
    bool negated;
    d.in.e = d.usePred(d.operand(5), negated);
    d.in.sub = uint32_t(op) | (negated ? 2u : 0);
    d.in.f = d.defPred(d.operand(0).pair[0]);
  }
  d.in.d = d.def(d.operand(0), t);
  d.emit(op < 0 ? Handler(Lop3::run) : lop3Predicate);
}

template <bool Left, bool Wrap> Step funnel(Warp &w, const Instr &in) {
  map3<uint32_t, uint32_t, uint32_t, uint32_t>(w, in, [](uint32_t a, uint32_t b, uint32_t c) {
    uint32_t n = Wrap ? c & 31 : (c > 32 ? 32 : c);
    uint64_t v = uint64_t(b) << 32 | a;
    return Left ? uint32_t(n == 32 ? v : v << n >> 32) : uint32_t(v >> n);
  });
  return Step::Next;
}
void shf(Decoder &d) {
  int dir = d.takeOneOf({"l", "r"}), mode = d.takeOneOf({"clamp", "wrap"});
  Ty t = d.needType();
  if (dir < 0 || mode < 0)
    d.fail("shf needs .l or .r and .clamp or .wrap");
  d.needOperands(4, 4);
  d.in.a = d.use(d.operand(1), t);
  d.in.b = d.use(d.operand(2), t);
  d.in.c = d.use(d.operand(3), Ty::U32);
  d.in.d = d.def(d.operand(0), t);
  // shf.l.clamp with n = 32 gives the low word: v << 32 >> 32 in 64 bits is that word.
  d.emit(dir == 0 ? (mode ? funnel<true, true> : funnel<true, false>)
                  : (mode ? funnel<false, true> : funnel<false, false>));
}

/// For each byte of the result of prmt: which of {b, a} it is, and bit 3 for its sign.
std::array<uint32_t, 4> permuteSelectors(uint32_t c, unsigned mode) {
  std::array<uint32_t, 4> s;
  uint32_t k = c & 3;
  for (unsigned i = 0; i < 4; ++i) {
    switch (mode) {
    case 1:
      s[i] = k + i;
      break; // f4e
    case 2:
      s[i] = (k + 8 - i) & 7;
      break; // b4e
    case 3:
      s[i] = k;
      break; // rc8
    case 4:
      s[i] = i < k ? k : i;
      break; // ecl
    case 5:
      s[i] = i > k ? k : i;
      break; // ecr
    case 6:
      s[i] = (k & 1) * 2 + (i & 1);
      break; // rc16
    default:
      s[i] = c >> (4 * i) & 15;
    }
  }
  return s;
}
uint32_t permute(uint32_t a, uint32_t b, uint32_t c, unsigned mode) {
  uint64_t bytes = uint64_t(b) << 32 | a;
  std::array<uint32_t, 4> s = permuteSelectors(c, mode);
  uint32_t r = 0;
  for (unsigned i = 0; i < 4; ++i) {
    uint32_t byte = uint32_t(bytes >> (8 * (s[i] & 7))) & 0xFF;
    if (s[i] & 8)
      byte = byte & 0x80 ? 0xFF : 0;
    r |= byte << (8 * i);
  }
  return r;
}
Step prmtRun(Warp &w, const Instr &in) {
  unsigned mode = in.sub;
  map3<uint32_t, uint32_t, uint32_t, uint32_t>(
      w, in, [mode](uint32_t a, uint32_t b, uint32_t c) { return permute(a, b, c, mode); });
  return Step::Next;
}
void prmt(Decoder &d) {
  Ty t = d.needType();
  d.in.sub = uint32_t(d.takeOneOf({"f4e", "b4e", "rc8", "ecl", "ecr", "rc16"}) + 1);
  d.needOperands(4, 4);
  std::vector<ByteSource> bytes = d.sourceBytes({d.operand(1), d.operand(2)}, 4), sources;
  int64_t selector;
  bool known = d.immediate(d.operand(3), selector);
  d.in.a = d.use(d.operand(1), t);
  d.in.b = d.use(d.operand(2), t);
  d.in.c = d.use(d.operand(3), t);
  d.in.d = d.def(d.operand(0), t);
  if (!known)
    return d.emit(prmtRun);
  for (uint32_t s : permuteSelectors(uint32_t(selector), d.in.sub))
    sources.push_back(bytes[s & 7]);
  d.emitBytes(prmtRun, sources);
}

} // namespace

void registerLogic(DecodeTable &t) {
  t["and"] = logic<OpAnd>;
  t["or"] = logic<OpOr>;
  t["xor"] = logic<OpXor>;
  t["not"] = logicNot;
  t["cnot"] = [](Decoder &d) {
    Ty ty = d.needType();
    d.needOperands(2, 2);
    d.in.a = d.use(d.operand(1), ty);
    d.in.d = d.def(d.operand(0), ty);
    d.emit(bitsUnary<Cnot>(ty));
  };
  t["shl"] = shift<Shl>;
  t["shr"] = shift<Shr>;
  t["lop3"] = lop3;
  t["shf"] = shf;
  t["prmt"] = prmt;
  void registerBits(DecodeTable &); // ExecBits.cpp
  registerBits(t);
}

} // namespace sim
} // namespace tileloom
