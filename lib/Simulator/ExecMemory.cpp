//===- ExecMemory.cpp - ld and st (PTX ISA 9.7.9.8-11) --------------------===//
//
// Loads and stores of every space and vector length. Handlers are instantiated for the width of the
// address register; a warp-wide access to shared or global memory tells the checks lane by lane
// only when they are on.
//
//===----------------------------------------------------------------------===//
#include "Access.h"
#include "GlobalOrder.h"
#include "Lanes.h"

namespace tileloom {
namespace sim {
namespace {

// sub: bits 0-7 element bytes, 8-15 register bytes, bit 16 sign-extend, bit 17 any CTA (cluster),
// bit 18 strong (volatile, relaxed, acquire, release), bit 19 acquire, bit 20 release, bits 21-22
// scope.
constexpr uint32_t SignExtend = 1 << 16, AnyCta = 1 << 17, Strong = 1 << 18, Acquire = 1 << 19,
                   Release = 1 << 20;

template <bool WideAddress> inline uint64_t addressOf(Warp &w, const Instr &in, unsigned lane) {
  return WideAddress ? w.reg<uint64_t>(in.a)[lane] + uint64_t(in.imm)
                     : uint64_t(w.reg<uint32_t>(in.a)[lane] + uint32_t(in.imm));
}

inline void storeElement(Warp &w, int32_t slot, unsigned regBytes, unsigned lane, const uint8_t *p,
                         unsigned bytes, bool sign) {
  uint8_t *r = w.regs + slot + lane * std::max(regBytes, 2u);
  if (bytes == regBytes) {
    std::memcpy(r, p, bytes);
    return;
  }
  uint64_t v = 0;
  std::memcpy(&v, p, std::min(bytes, 8u));
  if (sign && bytes < 8 && v >> (8 * bytes - 1) & 1)
    v |= ~uint64_t(0) << (8 * bytes);
  std::memcpy(r, &v, std::min(std::max(regBytes, 2u), 8u));
}

template <Space S, bool Wide> Step load(Warp &w, const Instr &in) {
  unsigned bytes = in.sub & 0xFF, regBytes = in.sub >> 8 & 0xFF, n = in.count;
  const int32_t *list = w.program->lists.data() + in.list;
  bool anyCta = in.sub & AnyCta;
  eachLane(w.active, [&](unsigned lane) {
    uint64_t address = addressOf<Wide>(w, in, lane);
    if (in.sub & Strong && w.cluster->checking(CheckRaces))
      GlobalOrder::of(*w.cluster->grid)
          .acquire(w, S, address, Scope(in.sub >> 21 & 3), !(in.sub & Acquire));
    const uint8_t *p = place(w, S, address, bytes * n, bytes * n,
                             in.sub & Strong ? Mode::StrongRead : Mode::Read, int(lane), anyCta);
    static const uint8_t zeros[64] = {0};
    if (!p)
      p = zeros;
    for (unsigned k = 0; k < n; ++k)
      storeElement(w, list[k], regBytes, lane, p + k * bytes, bytes, in.sub & SignExtend);
  });
  return Step::Next;
}

template <Space S, bool Wide> Step store(Warp &w, const Instr &in) {
  unsigned bytes = in.sub & 0xFF, regBytes = in.sub >> 8 & 0xFF, n = in.count;
  const int32_t *list = w.program->lists.data() + in.list;
  bool anyCta = in.sub & AnyCta;
  eachLane(w.active, [&](unsigned lane) {
    uint64_t address = addressOf<Wide>(w, in, lane);
    uint8_t value[64];
    for (unsigned k = 0; k < n; ++k)
      std::memcpy(value + k * bytes, w.regs + list[k] + lane * std::max(regBytes, 2u), bytes);
    uint8_t *p = place(w, S, address, bytes * n, bytes * n,
                       in.sub & Strong ? Mode::Update : Mode::Write, int(lane), anyCta, value);
    if (!p)
      return;
    std::memcpy(p, value, size_t(bytes) * n);
    if (in.sub & Strong && w.cluster->checking(CheckRaces))
      GlobalOrder::of(*w.cluster->grid)
          .release(w, S, address, Scope(in.sub >> 21 & 3), !(in.sub & Release));
  });
  return Step::Next;
}

template <bool Wide> Handler loadFor(Space s) {
  switch (s) {
  case Space::Shared:
    return load<Space::Shared, Wide>;
  case Space::Local:
    return load<Space::Local, Wide>;
  case Space::Param:
    return load<Space::Param, Wide>;
  case Space::Generic:
    return load<Space::Generic, Wide>;
  default:
    return load<Space::Global, Wide>;
  }
}
template <bool Wide> Handler storeFor(Space s) {
  switch (s) {
  case Space::Shared:
    return store<Space::Shared, Wide>;
  case Space::Local:
  case Space::Param:
    return store<Space::Local, Wide>;
  case Space::Generic:
    return store<Space::Generic, Wide>;
  default:
    return store<Space::Global, Wide>;
  }
}

/// st.bulk, PTX ISA 9.7.9.13: zeros over shared memory of the CTA. sub: bit 0 generic, bit 1 wide.
Step storeBulk(Warp &w, const Instr &in) {
  eachLane(w.active, [&](unsigned lane) {
    uint64_t address = in.sub & 2 ? addressOf<true>(w, in, lane) : addressOf<false>(w, in, lane);
    uint64_t size = w.reg<uint64_t>(in.b)[lane];
    if (size % 8 || size > 1 << 24) {
      report(w, "bad-size",
             "st.bulk of " + std::to_string(size) +
                 " bytes; a multiple of 8 up to 16777216 is needed",
             int(lane));
      return;
    }
    if (in.sub & 1 && spaceOf(Space::Generic, address) != Space::Shared) {
      report(w, "out-of-bounds",
             "st.bulk to generic address " + hex(address) + ", which is not in shared memory",
             int(lane));
      return;
    }
    if (uint8_t *p = place(w, Space::Shared, uint32_t(address), uint32_t(size), 8, Mode::Write,
                           int(lane)))
      std::memset(p, 0, size);
  });
  return Step::Next;
}

void decodeStoreBulk(Decoder &d) {
  d.take("bulk");
  d.take("weak");
  bool shared = d.take("shared::cta") || d.take("shared");
  d.needOperands(3, 3);
  Decoder::Address a = d.address(d.operand(0));
  d.in.a = a.slot;
  d.in.imm = a.offset;
  d.in.sub = (shared ? 0 : 1) | (a.wide ? 2 : 0);
  d.in.b = d.use(d.operand(1), Ty::U64);
  if (d.needImmediate(d.operand(2), "the initial value"))
    d.fail("st.bulk stores zeros only");
  d.emit(storeBulk, 0, 4);
}

void loadStore(Decoder &d, bool isLoad) {
  Space s = Space::Generic;
  if (d.take("global") || d.take("const"))
    s = Space::Global;
  else if (d.take("shared") || d.take("shared::cta"))
    s = Space::Shared;
  else if (d.take("shared::cluster")) {
    s = Space::Shared;
    d.in.sub |= AnyCta;
  } else if (d.take("local"))
    s = Space::Local;
  else if (d.take("param") || d.take("param::entry") || d.take("param::func"))
    s = Space::Param;
  d.take("weak");
  if (d.take("volatile")) // relaxed, but read without a fence behind it by much older code
    d.in.sub |= Strong | Acquire;
  if (d.take("relaxed") || d.take("mmio"))
    d.in.sub |= Strong;
  if (d.take("acquire"))
    d.in.sub |= Strong | Acquire;
  if (d.take("release"))
    d.in.sub |= Strong | Release;
  d.in.sub |= uint32_t(takeScope(d)) << 21;
  d.takeOneOf({"ca", "cg", "cs", "lu", "cv", "wb", "wt"});
  d.take("nc");
  d.take("unified");
  while (d.takeOneOf({"L1::evict_normal", "L1::evict_unchanged", "L1::evict_first",
                      "L1::evict_last", "L1::no_allocate", "L2::evict_first", "L2::evict_last",
                      "L2::evict_normal", "L2::cache_hint", "L2::64B", "L2::128B", "L2::256B"}) >=
         0) {
  }
  int vec = d.takeOneOf({"v2", "v4", "v8"});
  Ty t = d.needType();
  size_t at = isLoad ? 1 : 0;
  d.needOperands(2, 3); // a cache policy may follow
  const Operand &data = d.operand(1 - at);
  Decoder::Address a = d.address(d.operand(at));
  if (s == Space::Param && a.isSymbol && a.space == Space::Local)
    s = Space::Local; // a .param variable of a call
  d.in.a = a.slot;
  d.in.imm = a.offset;
  if (d.operandCount() == 3)
    d.use(d.operand(2), Ty::B64);
  unsigned n = vec < 0 ? 1 : 2u << vec, bytes = bytesOf(t);
  if ((data.kind == Operand::Vector ? data.parts.size() : 1) != n)
    d.fail("the vector needs " + std::to_string(n) + " elements");
  unsigned regBytes = bytes;
  for (const Operand *o = data.kind == Operand::Vector ? data.parts.data() : &data, *e = o + n;
       o != e; ++o)
    if (unsigned b = d.registerBytes(*o)) {
      if (b < bytes)
        d.fail("register '" + std::string(o->name) + "' has " + std::to_string(8 * b) +
               " bits, the instruction moves " + std::to_string(8 * bytes));
      regBytes = b;
    }
  d.in.sub |= bytes | regBytes << 8 | (isSigned(t) ? SignExtend : 0);
  if (isLoad)
    d.defList(data, t);
  else
    d.useList(data, t);
  if (isLoad)
    d.emit(a.wide ? loadFor<true>(s) : loadFor<false>(s), 0, s == Space::Param ? 1 : 8);
  else
    d.emit(a.wide ? storeFor<true>(s) : storeFor<false>(s), 0, 2);
}

Step nothing(Warp &, const Instr &) { return Step::Next; }

/// Instructions that only hint: all operands are read, nothing happens.
void hint(Decoder &d) {
  while (!d.takeAny().empty()) {
  }
  for (size_t i = 0; i < d.operandCount(); ++i) {
    const Operand &o = d.operand(i);
    if (o.kind == Operand::Address)
      d.address(o);
  }
  d.emit(nothing);
}

void createPolicy(Decoder &d) {
  while (!d.takeAny().empty()) {
  }
  d.in.d = d.def(d.operand(0), Ty::B64);
  d.emit([](Warp &w, const Instr &in) {
    eachLane(w.active, [&](unsigned i) { w.reg<uint64_t>(in.d)[i] = 0; });
    return Step::Next;
  });
}

} // namespace

void registerMemory(DecodeTable &t) {
  t["ld"] = [](Decoder &d) { loadStore(d, true); };
  t["ldu"] = [](Decoder &d) { loadStore(d, true); };
  void decodeStoreAsync(Decoder &); // ExecBulk.cpp
  t["st"] = [](Decoder &d) {
    if (d.has("bulk") && !d.has("async"))
      return decodeStoreBulk(d);
    if (d.has("async"))
      return decodeStoreAsync(d);
    loadStore(d, false);
  };
  for (const char *n : {"prefetch", "prefetchu", "applypriority", "discard"})
    t[n] = hint;
  t["createpolicy"] = createPolicy;
}

} // namespace sim
} // namespace tileloom
