//===- ExecMove.cpp - mov, cvta, isspacep, mapa (PTX ISA 9.7.9) -----------===//
//
// Register moves with packing and unpacking of vectors, address conversions, and the special
// registers that change while a warp runs.
//
//===----------------------------------------------------------------------===//
#include "Access.h"
#include "Lanes.h"

namespace tileloom {
namespace sim {
namespace {

template <class T> struct Copy {
  T operator()(T a) const { return a; }
};

Step movePredicate(Warp &w, const Instr &in) {
  setPredicate(w, in.d, getPredicate(w, in.a, in.sub));
  return Step::Next;
}
struct Wide {
  uint64_t low, high;
};
Step move128(Warp &w, const Instr &in) {
  map1<Wide, Wide>(w, in, [](Wide a) { return a; });
  return Step::Next;
}

/// d = {a, b, ...}: sub is the bytes of an element, count the number.
Step pack(Warp &w, const Instr &in) {
  const int32_t *list = w.program->lists.data() + in.list;
  unsigned part = in.sub, whole = part * in.count, lane = std::max(whole, 2u);
  eachLane(w.active, [&](unsigned i) {
    uint8_t buffer[16] = {0};
    for (unsigned k = 0; k < in.count; ++k)
      std::memcpy(buffer + k * part, w.regs + list[k] + i * std::max(part, 2u), part);
    std::memcpy(w.regs + in.d + i * lane, buffer, lane);
  });
  return Step::Next;
}
Step unpack(Warp &w, const Instr &in) {
  const int32_t *list = w.program->lists.data() + in.list;
  unsigned part = in.sub, whole = part * in.count, lane = std::max(whole, 2u);
  eachLane(w.active, [&](unsigned i) {
    uint8_t buffer[16] = {0};
    std::memcpy(buffer, w.regs + in.a + i * lane, lane);
    for (unsigned k = 0; k < in.count; ++k) {
      uint16_t byte = buffer[k];
      if (part == 1)
        std::memcpy(w.regs + list[k] + i * 2, &byte, 2);
      else
        std::memcpy(w.regs + list[k] + i * part, buffer + k * part, part);
    }
  });
  return Step::Next;
}

enum Dynamic { Clock, ClockHigh, Clock64, Timer, TimerLow, TimerHigh };
Step readDynamic(Warp &w, const Instr &in) {
  // One cycle is taken for a nanosecond.
  uint64_t t = w.time, v = in.sub == ClockHigh || in.sub == TimerHigh ? t >> 32 : t;
  bool wide = in.sub == Clock64 || in.sub == Timer;
  eachLane(w.active, [&](unsigned i) {
    if (wide)
      w.reg<uint64_t>(in.d)[i] = v;
    else
      w.reg<uint32_t>(in.d)[i] = uint32_t(v);
  });
  return Step::Next;
}

void mov(Decoder &d) {
  d.take("uni");
  Ty t = d.needType();
  d.needOperands(2, 2);
  const Operand &to = d.operand(0), &from = d.operand(1);
  if (t == Ty::Pred) {
    bool n;
    d.in.a = d.usePred(from, n);
    d.in.sub = n;
    d.in.d = d.defPred(to);
    return d.emit(movePredicate, FlagMove);
  }
  unsigned bytes = bytesOf(t);
  if (from.kind == Operand::Vector || to.kind == Operand::Vector) {
    const Operand &v = from.kind == Operand::Vector ? from : to;
    unsigned n = unsigned(v.parts.size());
    if (n < 2 || bytes % n)
      d.fail("cannot divide " + std::to_string(8 * bytes) + " bits by " + std::to_string(n));
    d.in.sub = bytes / n;
    Ty part = bytes / n == 1   ? Ty::B8
              : bytes / n == 2 ? Ty::B16
              : bytes / n == 4 ? Ty::B32
                               : Ty::B64;
    if (&v == &from) {
      std::vector<ByteSource> sources = d.sourceBytes(v.parts, bytes / n);
      d.useList(from, part);
      d.in.d = d.def(to, t);
      return d.emitBytes(pack, sources, FlagMove);
    }
    std::vector<ByteSource> whole = d.sourceBytes({from}, bytes), sources;
    for (unsigned i = 0; i < bytes; ++i) {
      if (v.parts[i / d.in.sub].kind == Operand::Sink)
        continue;
      sources.push_back(whole[i]);
      if (d.in.sub == 1)
        sources.push_back({}); // the upper byte of a 16-bit register
    }
    d.in.a = d.use(from, t);
    d.defList(to, part);
    return d.emitBytes(unpack, sources, FlagMove);
  }
  if (from.kind == Operand::Special) {
    static const std::unordered_map<std::string_view, uint32_t> dynamic = {
        {"%clock", Clock},       {"%clock_hi", ClockHigh},      {"%clock64", Clock64},
        {"%globaltimer", Timer}, {"%globaltimer_lo", TimerLow}, {"%globaltimer_hi", TimerHigh}};
    auto it = dynamic.find(from.name);
    if (it != dynamic.end()) {
      d.in.sub = it->second;
      d.in.d = d.def(to, t);
      return d.emit(readDynamic);
    }
  }
  d.in.a = d.use(from, t);
  d.in.d = d.def(to, t);
  d.emit(bytes == 16  ? move128
         : bytes == 8 ? op1<uint64_t, uint64_t, Copy<uint64_t>>
         : bytes == 4 ? op1<uint32_t, uint32_t, Copy<uint32_t>>
                      : op1<uint16_t, uint16_t, Copy<uint16_t>>,
         FlagMove);
}

uint64_t windowOf(Space s) {
  return s == Space::Shared  ? SharedWindow
         : s == Space::Local ? LocalWindow
         : s == Space::Param ? ParamWindow
                             : 0;
}
template <class T> Step addWindow(Warp &w, const Instr &in) {
  uint64_t window = uint64_t(in.imm);
  uint64_t mask = window ? 0xFFFFFFFF : ~uint64_t(0);
  map1<T, T>(w, in, [=](T a) { return T((uint64_t(a) & mask) | window); });
  return Step::Next;
}
template <class T> Step dropWindow(Warp &w, const Instr &in) {
  uint64_t mask = in.imm ? 0xFFFFFFFF : ~uint64_t(0);
  map1<T, T>(w, in, [=](T a) { return T(uint64_t(a) & mask); });
  return Step::Next;
}

Space takeSpace(Decoder &d) {
  if (d.take("global"))
    return Space::Global;
  if (d.take("shared") || d.take("shared::cta") || d.take("shared::cluster"))
    return Space::Shared;
  if (d.take("local"))
    return Space::Local;
  if (d.take("param") || d.take("param::entry"))
    return Space::Param;
  if (d.take("const"))
    return Space::Const;
  return Space::Generic;
}

void cvta(Decoder &d) {
  bool to = d.take("to");
  Space s = takeSpace(d);
  if (s == Space::Generic)
    d.fail("cvta needs a state space");
  Ty t = d.needType();
  d.needOperands(2, 2);
  d.in.imm = int64_t(windowOf(s));
  d.in.a = d.use(d.operand(1), t);
  d.in.d = d.def(d.operand(0), t);
  bool wide = bytesOf(t) == 8;
  if (!wide && !to && windowOf(s))
    d.fail("a 32-bit generic address cannot name " + std::string(d.st->op[1]) + " memory");
  d.emit(to ? (wide ? dropWindow<uint64_t> : dropWindow<uint32_t>)
            : (wide ? addWindow<uint64_t> : addWindow<uint32_t>));
}

Step isSpace(Warp &w, const Instr &in) {
  const uint64_t *a = w.reg<uint64_t>(in.a);
  uint32_t r = 0;
  uint64_t window = uint64_t(in.imm);
  for (unsigned i = 0; i < 32; ++i) {
    bool inside = window ? a[i] >> 48 == window >> 48 : a[i] >> 48 == 0;
    if (inside && in.sub)
      inside = uint32_t(a[i]) >> 24 == w.cta->rank;
    r |= uint32_t(inside) << i;
  }
  setPredicate(w, in.d, r);
  return Step::Next;
}
void isspacep(Decoder &d) {
  bool own = d.has("shared") || d.has("shared::cta");
  Space s = takeSpace(d);
  d.needOperands(2, 2);
  d.in.imm = int64_t(windowOf(s));
  d.in.sub = own;
  d.in.a = d.use(d.operand(1), Ty::U64);
  d.in.d = d.defPred(d.operand(0));
  d.emit(isSpace);
}

template <class T> Step mapaRun(Warp &w, const Instr &in) {
  map2<T, T, uint32_t>(w, in, [](T a, uint32_t rank) {
    return T((uint64_t(a) & ~uint64_t(0xFF000000)) | uint64_t(rank & 0xFF) << 24);
  });
  return Step::Next;
}
template <class T> Step ctaRankRun(Warp &w, const Instr &in) {
  map1<uint32_t, T>(w, in, [](T a) { return uint32_t(a) >> 24; });
  return Step::Next;
}

} // namespace

void registerMove(DecodeTable &t) {
  t["mov"] = mov;
  t["cvta"] = cvta;
  t["isspacep"] = isspacep;
  t["mapa"] = [](Decoder &d) {
    takeSpace(d);
    Ty ty = d.needType();
    d.needOperands(3, 3);
    d.in.a = d.use(d.operand(1), ty);
    d.in.b = d.use(d.operand(2), Ty::U32);
    d.in.d = d.def(d.operand(0), ty);
    d.emit(bytesOf(ty) == 8 ? mapaRun<uint64_t> : mapaRun<uint32_t>);
  };
  t["getctarank"] = [](Decoder &d) {
    takeSpace(d);
    Ty ty = d.needType();
    d.needOperands(2, 2);
    d.in.a = d.use(d.operand(1), ty);
    d.in.d = d.def(d.operand(0), Ty::U32);
    d.emit(bytesOf(ty) == 8 ? ctaRankRun<uint64_t> : ctaRankRun<uint32_t>);
  };
}

} // namespace sim
} // namespace tileloom
