//===- Barriers.cpp - mbarrier objects in the machine ---------------------===//
//
// See Barriers.h. Completions by asynchronous operations arrive here without a running warp; what
// is wrong with them is reported at the line of the operation.
//
//===----------------------------------------------------------------------===//
#include "Barriers.h"

#include <cstring>

namespace tileloom {
namespace sim {

uint64_t BarrierPlace::load() const {
  uint64_t v;
  std::memcpy(&v, cta->shared.data() + offset, 8);
  return v;
}
void BarrierPlace::store(uint64_t word) const {
  std::memcpy(cta->shared.data() + offset, &word, 8);
}

BarrierPlace liveBarrier(Warp &w, uint32_t address, bool anyCta, int lane) {
  SharedPlace p = sharedPlace(w, address, 8, 8, anyCta, lane);
  if (!p)
    return {};
  BarrierInfo *info = p.cta->barrier(p.offset);
  if (!info || !info->live) {
    report(w, "mbarrier", "no mbarrier was initialised at " + describeShared(*p.cta, p.offset),
           lane);
    return {};
  }
  if (!w.clocks.empty() && w.actor != info->initActor &&
      w.clocks.seen[info->initActor] < info->initEpoch)
    report(w, "race",
           "mbarrier " + hex(p.offset) +
               " is used without being ordered after its initialisation at line " +
               std::to_string(info->initLine),
           lane);
  return {p.cta, p.offset};
}

void needInitFence(Warp &w, const BarrierPlace &b, int lane) {
  BarrierInfo &info = *b.info();
  if (info.initFenced || !w.cluster->checking(CheckStrict))
    return;
  info.initFenced = true; // once is enough
  report(w, "missing-proxy-fence",
         "mbarrier " + hex(b.offset) +
             " is used by an asynchronous operation or another CTA; after its initialisation at "
             "line " +
             std::to_string(info.initLine) +
             " there was neither fence.mbarrier_init nor fence.proxy.async",
         lane);
}

BarrierPlace barrierOf(Warp &w, uint32_t rank, uint32_t offset) {
  return liveBarrier(w, rank << 24 | offset, true, -1);
}

void phaseDone(Cluster &c, BarrierInfo &info) {
  ++info.phase;
  if (c.checking(CheckRaces))
    learn(info.clocks, info.actor, uint32_t(info.phase));
  info.done = info.clocks;
  info.doneTime = info.time;
  madeEvent(c);
}

static void reportAsync(Cluster &c, BarrierPlace b, const std::string &message, uint32_t line) {
  Warp &w = *b.cta->warps[0];
  const Instr *saved = w.current;
  w.current = nullptr;
  Finding f = findingAt(w, "mbarrier", message);
  w.current = saved;
  f.warp = -1;
  moveTo(f, *w.program, line);
  c.report(f);
}

static void finishAsync(Cluster &c, BarrierPlace b, const AsyncArrival &from,
                        const MbarrierResult &r, const char *what, uint32_t line) {
  BarrierInfo &info = *b.info();
  if (!r.ok()) {
    reportAsync(
        c, b, std::string(what) + " completes on mbarrier " + hex(b.offset) + ": " + r.error, line);
    return;
  }
  if (c.checking(CheckRaces) && from.epoch)
    learn(info.clocks, from.actor, from.epoch, from.proxied, from.tensor);
  info.time = std::max(info.time, from.time);
  ++c.progress;
  if (r.completed)
    phaseDone(c, info);
}

static bool stillLive(Cluster &c, BarrierPlace b, const char *what, uint32_t line) {
  if (b.cta->done) {
    reportAsync(c, b,
                std::string(what) + " completes on mbarrier " + hex(b.offset) + " of CTA rank " +
                    std::to_string(b.cta->rank) + ", which has exited",
                line);
    return false;
  }
  if (b.info() && b.info()->live)
    return true;
  reportAsync(c, b,
              std::string(what) + " completes on " + hex(b.offset) + ", where no mbarrier is alive",
              line);
  return false;
}

void completeBytes(Cluster &c, BarrierPlace b, uint32_t bytes, const AsyncArrival &from,
                   const char *what, uint32_t line) {
  if (!stillLive(c, b, what, line))
    return;
  uint64_t word = b.load();
  MbarrierResult r = mbarrierCompleteTx(word, bytes);
  b.store(word);
  finishAsync(c, b, from, r, what, line);
}

void arriveAsync(Cluster &c, BarrierPlace b, const AsyncArrival &from, const char *what,
                 uint32_t line) {
  if (!stillLive(c, b, what, line))
    return;
  uint64_t word = b.load();
  MbarrierResult r = mbarrierArrive(word);
  b.store(word);
  finishAsync(c, b, from, r, what, line);
}

} // namespace sim
} // namespace tileloom
