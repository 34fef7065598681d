//===- ExecAtomic.cpp - atom and red (PTX ISA 9.7.13.5, 9.7.13.6) -----------===//
//
// Read-modify-write of one to four elements. With several host threads, global words are updated by
// compare-and-swap; the scope of the instruction matters to the race check only.
//
//===----------------------------------------------------------------------===//
#include "Access.h"
#include "GlobalOrder.h"
#include "Lanes.h"
#include "tileloom/Simulator/Reduce.h"

namespace tileloom {
namespace sim {
namespace {

enum Op : uint32_t { Add, Min, Max, Inc, Dec, And, Or, Xor, Exch, Cas };
// sub: bits 0-7 op, 8-15 ReduceType, 16-18 state space, bit 19 no result, bit 20 any CTA,
// bit 21 packed halves, bits 22-23 acquires, releases, bits 24-25 scope.
constexpr uint32_t NoResult = 1 << 19, AnyCta = 1 << 20, Packed = 1 << 21, Acquires = 1 << 22,
                   Releases = 1 << 23;

template <class T> bool swapWord(uint8_t *p, T &expected, T desired) {
  return __atomic_compare_exchange_n(reinterpret_cast<T *>(p), &expected, desired, false,
                                     __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

/// ftz: f32 in global memory, whose subnormals the L2 flushes; shared memory keeps them.
uint64_t combine(uint32_t sub, uint64_t old, uint64_t b, uint64_t c, bool ftz) {
  uint32_t op = sub & 0xFF;
  if (op == Exch)
    return b;
  if (op == Cas)
    return old == b ? c : old;
  ReduceType t = ReduceType(sub >> 8 & 0xFF);
  if (sub & Packed) {
    uint64_t low = reduceElement(ReduceOp(op), t, old & 0xFFFF, b & 0xFFFF, false) & 0xFFFF;
    uint64_t high =
        reduceElement(ReduceOp(op), t, old >> 16 & 0xFFFF, b >> 16 & 0xFFFF, false) & 0xFFFF;
    return low | high << 16;
  }
  return reduceElement(ReduceOp(op), t, old, b, ftz);
}

template <class T>
uint64_t update(uint8_t *p, uint32_t sub, uint64_t b, uint64_t c, bool ftz, bool &changed) {
  T old = __atomic_load_n(reinterpret_cast<T *>(p), __ATOMIC_SEQ_CST);
  T next;
  do
    next = T(combine(sub, old, b, c, ftz));
  while (!swapWord<T>(p, old, next));
  changed |= next != old || (sub & 0xFF) == Exch;
  return old;
}

template <class T> Step atomic(Warp &w, const Instr &in) {
  Space s = Space(in.sub >> 16 & 7);
  const int32_t *list = w.program->lists.data() + in.list; // n sources, n destinations
  unsigned n = in.count;
  eachLane(w.active, [&](unsigned lane) {
    uint64_t address = in.e ? w.reg<uint64_t>(in.a)[lane] + uint64_t(in.imm)
                            : uint64_t(w.reg<uint32_t>(in.a)[lane] + uint32_t(in.imm));
    uint64_t progress = w.cluster->progress;
    bool changed = false, ordered = w.cluster->checking(CheckRaces);
    Scope scope = Scope(in.sub >> 24 & 3);
    uint8_t *p = place(w, s, address, sizeof(T) * n, sizeof(T) * n, Mode::Update, int(lane),
                       in.sub & AnyCta);
    if (!p)
      return;
    if (ordered)
      GlobalOrder::of(*w.cluster->grid).acquire(w, s, address, scope, !(in.sub & Acquires));
    bool ftz = spaceOf(s, address) == Space::Global;
    for (unsigned k = 0; k < n; ++k) {
      uint64_t b = w.reg<T>(list[k])[lane], c = (in.sub & 0xFF) == Cas ? w.reg<T>(in.c)[lane] : 0;
      uint64_t old = update<T>(p + k * sizeof(T), in.sub, b, c, ftz, changed);
      if (!(in.sub & NoResult))
        w.reg<T>(list[n + k])[lane] = T(old);
    }
    if (ordered)
      GlobalOrder::of(*w.cluster->grid).release(w, s, address, scope, !(in.sub & Releases));
    if (!changed)
      w.cluster->progress = progress;
  });
  return Step::Next;
}

struct Wide {
  uint64_t low, high;
};
Step atomic128(Warp &w, const Instr &in) {
  const int32_t *list = w.program->lists.data() + in.list;
  eachLane(w.active, [&](unsigned lane) {
    uint64_t address = w.reg<uint64_t>(in.a)[lane] + uint64_t(in.imm);
    uint8_t *p = place(w, Space(in.sub >> 16 & 7), address, 16, 16, Mode::Update, int(lane), false);
    if (!p)
      return;
    Wide old, b = w.reg<Wide>(list[0])[lane];
    std::memcpy(&old, p, 16);
    bool swap = true;
    if ((in.sub & 0xFF) == Cas) {
      swap = old.low == b.low && old.high == b.high;
      b = w.reg<Wide>(in.c)[lane];
    }
    if (swap)
      std::memcpy(p, &b, 16);
    if (!(in.sub & NoResult))
      w.reg<Wide>(list[1])[lane] = old;
  });
  return Step::Next;
}

void decodeAtomic(Decoder &d, bool isRed) {
  Space s = Space::Generic;
  if (d.take("global"))
    s = Space::Global;
  else if (d.take("shared") || d.take("shared::cta"))
    s = Space::Shared;
  else if (d.take("shared::cluster")) {
    s = Space::Shared;
    d.in.sub |= AnyCta;
  }
  int order = d.takeOneOf({"relaxed", "acquire", "release", "acq_rel"});
  d.in.sub |= (order == 1 || order == 3 ? Acquires : 0) | (order >= 2 ? Releases : 0);
  d.in.sub |= uint32_t(takeScope(d)) << 24;
  d.take("noftz");
  d.take("L2::cache_hint");
  int op = d.takeOneOf({"add", "min", "max", "inc", "dec", "and", "or", "xor", "exch", "cas"});
  if (op < 0)
    d.fail("operation is missing");
  int vec = d.takeOneOf({"v2", "v4", "v8"});
  Ty t = d.needType();
  ReduceType r = ReduceType::U32;
  switch (t) {
  case Ty::U32:
    r = ReduceType::U32;
    break;
  case Ty::S32:
    r = ReduceType::S32;
    break;
  case Ty::U64:
    r = ReduceType::U64;
    break;
  case Ty::S64:
    r = ReduceType::S64;
    break;
  case Ty::F16:
    r = ReduceType::F16;
    break;
  case Ty::BF16:
    r = ReduceType::BF16;
    break;
  case Ty::F16x2:
    r = ReduceType::F16;
    d.in.sub |= Packed;
    break;
  case Ty::BF16x2:
    r = ReduceType::BF16;
    d.in.sub |= Packed;
    break;
  case Ty::F32:
    r = ReduceType::F32;
    break;
  case Ty::F64:
    r = ReduceType::F64;
    break;
  case Ty::B32:
    r = ReduceType::B32;
    break;
  case Ty::B64:
    r = ReduceType::B64;
    break;
  case Ty::B16:
  case Ty::B128:
    if (op != Exch && op != Cas)
      d.fail("this type allows only exch and cas");
    break;
  default:
    d.fail("type is not supported by an atomic");
  }
  if (s != Space::Shared)
    d.program.usesGlobalAtomics = true;
  unsigned n = vec < 0 ? 1 : 2u << vec;
  size_t first = isRed ? 0 : 1;
  d.needOperands(first + 2, first + 4);
  Decoder::Address a = d.address(d.operand(first));
  d.in.a = a.slot;
  d.in.imm = a.offset;
  d.in.e = a.wide;
  const Operand &source = d.operand(first + 1);
  if (op == Cas)
    d.in.c = d.use(d.operand(first + 2), t);
  d.useList(source, t);
  if (d.in.count != n)
    d.fail("the vector needs " + std::to_string(n) + " elements");
  uint32_t begin = d.in.list;
  if (isRed || d.operand(0).kind == Operand::Sink) {
    d.in.sub |= NoResult;
  } else {
    d.defList(d.operand(0), t);
    d.in.list = begin;
    d.in.count = uint16_t(n);
  }
  d.in.sub |= uint32_t(op) | uint32_t(r) << 8 | uint32_t(s) << 16;
  unsigned bytes = bytesOf(t);
  d.emit(bytes == 16  ? atomic128
         : bytes == 8 ? atomic<uint64_t>
         : bytes == 4 ? atomic<uint32_t>
                      : atomic<uint16_t>,
         0, 20);
}

} // namespace

void registerAtomic(DecodeTable &t) {
  t["atom"] = [](Decoder &d) { decodeAtomic(d, false); };
  void decodeReduceAsync(Decoder &); // ExecCpAsync.cpp
  t["red"] = [](Decoder &d) { d.has("async") ? decodeReduceAsync(d) : decodeAtomic(d, true); };
}

} // namespace sim
} // namespace tileloom
