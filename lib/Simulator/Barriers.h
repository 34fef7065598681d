//===- Barriers.h - mbarrier objects in the machine --------------*- C++ -*-===//
//
// The 8 bytes of an mbarrier (engine: tileloom/Simulator/Mbarrier.h) together with its clocks: used
// by the mbarrier instructions and by everything that completes on one.
//
//===----------------------------------------------------------------------===//
#ifndef TILELOOM_LIB_SIMULATOR_BARRIERS_H
#define TILELOOM_LIB_SIMULATOR_BARRIERS_H

#include "Access.h"
#include "tileloom/Simulator/Mbarrier.h"

namespace tileloom {
namespace sim {

struct BarrierPlace {
  Cta *cta = nullptr;
  uint32_t offset = 0;
  explicit operator bool() const { return cta != nullptr; }
  BarrierInfo *info() const { return cta->barrier(offset); }
  uint64_t load() const;
  void store(uint64_t word) const;
};

/// A live mbarrier at a shared address; reports and gives none if there is none, or if the warp is
/// not ordered after its initialisation.
BarrierPlace liveBarrier(Warp &w, uint32_t address, bool anyCta, int lane);
/// Strict mode: an mbarrier that the asynchronous proxy or another CTA uses needs a fence after its
/// initialisation: fence.mbarrier_init or fence.proxy.async.
void needInitFence(Warp &w, const BarrierPlace &b, int lane);
/// The same offset in another CTA of the cluster (multicast).
BarrierPlace barrierOf(Warp &w, uint32_t rank, uint32_t offset);

/// What an asynchronous operation brings to the barrier that it completes on.
struct AsyncArrival {
  uint32_t actor = 0, epoch = 0; // 0, 0: the barrier's own stream
  bool proxied = true;
  bool tensor = false; // tcgen05.commit: an implicit fence::before_thread_sync
  uint64_t time = 0;
};
/// complete_tx of a finished copy. `line` is for reports.
void completeBytes(Cluster &c, BarrierPlace b, uint32_t bytes, const AsyncArrival &from,
                   const char *what, uint32_t line);
/// An arrive-on that an asynchronous operation triggers (tcgen05.commit, cp.async.mbarrier.arrive).
void arriveAsync(Cluster &c, BarrierPlace b, const AsyncArrival &from, const char *what,
                 uint32_t line);
/// Bookkeeping of a phase that has just completed.
void phaseDone(Cluster &c, BarrierInfo &info);
/// Epoch of the copies that complete in the current phase.
inline uint32_t barrierEpoch(const BarrierPlace &b) {
  return b.info() ? uint32_t(b.info()->phase + 1) : 1;
}

} // namespace sim
} // namespace tileloom

#endif
