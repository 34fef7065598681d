//===- Bulk.cpp - Helpers of asynchronous copies --------------------------===//
//
// See Bulk.h.
//
//===----------------------------------------------------------------------===//
#include "Bulk.h"

namespace tileloom {
namespace sim {

uint64_t chargeCopy(Warp &w, uint32_t bytes, const char *what) {
  uint64_t start = std::max(w.time, w.cta->engineTime), busy = bytes / 64 + 8;
  w.cta->engineTime = start + busy;
  noteWork(*w.cta, "TMA", int(w.id), start, start + busy, what, w.current->line);
  return start + busy + 600;
}

void queueCopy(Warp &w, unsigned lane, bool grouped, const char *what, uint64_t time,
               std::function<void()> complete) {
  Cluster *c = w.cluster;
  AsyncOp op;
  op.what = what;
  op.line = w.current->line;
  op.cta = w.cta->rank;
  op.time = time;
  op.complete = [c, run = std::move(complete)] {
    run();
    madeEvent(*c);
  };
  uint64_t id = c->async.push(std::move(op), c->randomised ? &c->random : nullptr);
  if (grouped)
    w.bulk[lane].open.push_back({id, w.bulkSequence, time, w.current->line});
  madeProgress(w);
}

Actor barrierStream(const BarrierPlace &b, const char *what) {
  Actor a;
  a.id = b.info()->actor;
  a.epoch = barrierEpoch(b);
  a.async = true;
  a.what = what;
  return a;
}

/// Notes that a copy completes on the barrier in its current phase.
static void noteCopy(Warp &w, const BarrierPlace &b, int lane) {
  BarrierInfo &info = *b.info();
  info.copiesPhase = info.phase + 1;
  info.copyLine = w.current->line;
  needInitFence(w, b, lane);
}

Actor bulkStream(Warp &w, const char *what) {
  Actor a;
  a.id = bulkActor(w);
  a.epoch = w.bulkSequence;
  a.async = true;
  a.what = what;
  return a;
}

std::vector<LoadTarget> loadTargets(Warp &w, uint32_t dst, uint32_t bytes, uint32_t align,
                                    uint32_t mbar, bool multicast, uint32_t mask, unsigned group,
                                    int lane, const char *what) {
  std::vector<LoadTarget> targets;
  if (!multicast) {
    SharedPlace p = sharedPlace(w, dst, bytes, align, true, lane, what);
    BarrierPlace b = liveBarrier(w, mbar, true, lane);
    if (!p || !b)
      return targets;
    bool pair = group == 2 && (p.cta->rank ^ 1) == b.cta->rank;
    if (b.cta != p.cta && !pair) {
      report(w, "bad-mbarrier",
             std::string(what) + " to CTA rank " + std::to_string(p.cta->rank) +
                 " with an mbarrier in CTA rank " + std::to_string(b.cta->rank),
             lane);
      return targets;
    }
    targets.push_back({p.cta, b});
    noteCopy(w, b, lane);
    return targets;
  }
  uint32_t all = uint32_t(w.cluster->ctas.size());
  if (mask >> all)
    report(w, "bad-multicast",
           std::string(what) + ": multicast mask " + hex(mask) + " names CTAs past the cluster's " +
               std::to_string(all),
           lane);
  uint32_t barrierRank = mbar >> 24;
  for (uint32_t r = 0; r < all; ++r) {
    if (!(mask >> r & 1))
      continue;
    SharedPlace p = sharedPlace(w, r << 24 | (dst & 0xFFFFFF), bytes, align, true, lane, what);
    // cta_group::2: the CTA of the pair whose rank parity is that of the mbarrier's CTA.
    uint32_t signal = group == 2 ? (r & ~1u) | (barrierRank & 1) : r;
    BarrierPlace b = barrierOf(w, signal, mbar & 0xFFFFFF);
    if (!p || !b)
      return {};
    targets.push_back({p.cta, b});
    noteCopy(w, b, lane);
  }
  return targets;
}

void takeCacheHints(Decoder &d) {
  while (d.takeOneOf({"L2::cache_hint", "L2::64B", "L2::128B", "L2::256B", "L1::evict_last"}) >=
         0) {
  }
}

} // namespace sim
} // namespace tileloom
