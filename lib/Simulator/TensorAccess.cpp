//===- TensorAccess.cpp - Checked accesses to tensor memory ---------------===//
//
// Allocated columns, the order of accesses (Shadow.h), and waits for the warp's own tcgen05.ld and st.
//
//===----------------------------------------------------------------------===//
#include "Tensor.h"

namespace tileloom {
namespace sim {

bool tensorColumns(Warp &w, Cta &cta, uint32_t column, uint32_t columns, const char *what) {
  TensorMemory &t = tensorOf(cta);
  for (uint32_t c = column; c < column + columns; ++c)
    if (c >= TensorMemory::Columns || !t.owner[c]) {
      report(w, "tensor-bounds",
             std::string(what) + " uses columns " + std::to_string(column) + " to " +
                 std::to_string(column + columns - 1) + " of tensor memory; column " +
                 std::to_string(c) +
                 (c >= TensorMemory::Columns ? " does not exist" : " is not allocated"));
      return false;
    }
  return true;
}

Actor tensorStream(Warp &w, const char *what) {
  Actor a;
  a.id = tensorActor(w);
  a.epoch = w.tensorSequence;
  a.async = true;
  a.what = what;
  return a;
}

/// The warp's own ld and st are asynchronous: what it does next with the same words is not ordered behind
/// them without a wait (PTX ISA 9.7.16.6.4.2).
static void needTensorWait(Warp &w, Cta &cta, uint32_t lane, uint32_t column, uint32_t columns, Mode mode, const char *what) {
  if (&cta != w.cta || lane / 32 != w.id % 4 || !w.cluster->checking(CheckInFlight))
    return;
  for (Warp::TensorAccess &p : w.tensorPending) {
    if (!(p.lanes >> lane % 32 & 1) || column >= p.end || column + columns <= p.begin ||
        (!p.store && mode == Mode::Read))
      continue;
    report(w, "missing-tcgen05-wait",
           std::string(what) + (mode == Mode::Write ? " writes " : " reads ") + "columns from " + std::to_string(column) +
               " of tensor memory, while the tcgen05." + (p.store ? "st" : "ld") + " at line " + std::to_string(p.line) +
               " has not been waited for (tcgen05.wait::" + (p.store ? "st)" : "ld)"));
    w.tensorPending.clear(); // once is enough
    return;
  }
}

void noteTensor(Warp &w, Cta &cta, uint32_t lane, uint32_t column, uint32_t columns, Mode mode,
                const Actor &actor, const Clocks *clocks) {
  TensorMemory &t = tensorOf(cta);
  if (!t.shadow)
    return;
  Cluster &c = *w.cluster;
  if (!w.tensorPending.empty())
    needTensorWait(w, cta, lane, column, columns, mode, actor.what ? actor.what : "this access");
  bool races = c.checking(CheckRaces);
  Access a;
  a.actor = actor.id;
  a.async = true; // tensor memory has one order of its own: the proxies do not matter
  w.tensorSeen.proxied.clear();
  if (races) {
    if (w.tensorSeen.seen.size() <= w.actor)
      w.tensorSeen.seen.resize(w.actor + 1, 0);
    w.tensorSeen.seen[w.actor] = ~0u; // its own accesses are in program order
    AccessRecord r;
    r.actor = actor.id;
    r.epoch = actor.epoch;
    r.line = w.current->line;
    r.cta = uint16_t(w.cta->rank);
    r.warp = uint16_t(w.id);
    r.globalCta = uint32_t(w.cta->linear);
    r.async = true;
    r.byWarp = actor.id == w.actor;
    r.warpEpoch = w.syncs;
    r.what = actor.what ? actor.what : "tcgen05";
    a.record = c.records.add(r);
  }
  a.clocks = clocks ? clocks : followsTensorFences(w) ? &w.tensorSeen : &w.clocks;
  a.seen = &a.clocks->seen;
  a.ordinary = &w.clocks.seen;
  uint32_t offset = 4 * (lane * TensorMemory::Columns + column);
  AccessCheck check = mode == Mode::Write ? t.shadow->write(offset, 4 * columns, a, races)
                                          : t.shadow->read(offset, 4 * columns, a, races,
                                                           c.checking(CheckUninitialised));
  if (check.conflict == Conflict::None)
    return;
  uint32_t word = check.offset / 4;
  std::string at = "tensor memory lane " + std::to_string(word / TensorMemory::Columns) +
                   " column " + std::to_string(word % TensorMemory::Columns);
  std::string me = actor.what ? actor.what : "this access";
  if (check.conflict == Conflict::Uninitialised) {
    report(w, "uninitialised", me + " reads " + at + ", which was never written");
    return;
  }
  const AccessRecord &other = c.records[check.other];
  report(w, "tensor-race",
         me + (mode == Mode::Write ? " writes " : " reads ") + at +
             " without being ordered after its " +
             (check.conflict == Conflict::ReadWrite ? "read" : "write") + " by " + other.what +
             " of warp " + std::to_string(other.warp) + " at line " + std::to_string(other.line) +
             "; needed: commit and mbarrier wait (mma, cp) or wait::ld/st, and the tcgen05 fences "
             "around the barrier, by all lanes (or bar.warp.sync)");
}

} // namespace sim
} // namespace tileloom
