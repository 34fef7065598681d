//===- Scheduler.cpp - Who runs next --------------------------------------===//
//
// Default schedule: warps in turn, 256 instructions each, then asynchronous operations that were
// issued in earlier rounds complete in order. With a seed: random order, random turns, random
// completion delays; for a while some warps hardly run, so that others get far ahead; equal seeds
// give equal runs. When nothing can run and nothing is under way,
// suspended try_waits return false once, then diverged threads stop waiting for each other; then it
// is a deadlock.
//
//===----------------------------------------------------------------------===//
#include "Access.h"

#include <algorithm>
#include <numeric>

namespace tileloom {
namespace sim {

void finishCta(Cta &cta); // Cluster.cpp
bool drainWgmma(Warp &w); // ExecWgmma.cpp: runs one pending wgmma

constexpr uint64_t StallSteps = 60000;

static bool wakeTryWaits(Cluster &c) {
  if (c.wokeAtProgress == c.progress)
    return false;
  c.wokeAtProgress = c.progress;
  bool any = false;
  for (auto &cta : c.ctas)
    for (auto &w : cta->warps)
      for (Group &g : w->groups)
        if (g.blocked && g.wait.kind == WaitInfo::TryWait)
          any = g.released = true;
  return any;
}

/// Threads that wait at a join for blocked fellows go ahead (independent thread scheduling).
static bool openOneJoin(Cluster &c) {
  for (auto &cta : c.ctas)
    for (auto &w : cta->warps)
      for (Join &j : w->joins) {
        if (!j.inUse || !j.arrived)
          continue;
        Group g;
        g.pc = j.pc;
        g.mask = j.arrived;
        g.join = j.parent;
        j.expected &= ~j.arrived;
        j.arrived = 0;
        w->groups.push_back(g);
        c.openedJoin = true;
        return true;
      }
  return false;
}

bool openJoins(Cluster &c) {
  bool any = false;
  while (openOneJoin(c))
    any = true;
  return any;
}

static void endWarp(Cluster &c, Cta &cta, Warp &w) {
  w.done = true;
  --c.liveWarps;
  madeEvent(c); // barriers without a count no longer wait for it
  if (--cta.liveWarps == 0)
    finishCta(cta);
}

/// How many of 64 turns a warp takes until the next draw.
static void drawPaces(Cluster &c, const std::vector<Warp *> &order) {
  static constexpr uint8_t paces[] = {1, 6, 43, 43, 43, 43, 64, 64};
  for (Warp *w : order)
    w->pace = paces[c.random() % 8];
}

RunStatus runCluster(Cluster &c) {
  uint64_t nextDraw = 0;
  std::vector<Warp *> order;
  for (auto &cta : c.ctas)
    for (auto &w : cta->warps)
      if (!w->done)
        order.push_back(w.get());
  uint64_t maxSteps = c.grid->launch.options.maxSteps;
  while (c.liveWarps) {
    bool ran = false;
    if (c.randomised) {
      std::shuffle(order.begin(), order.end(), c.random);
      if (nextDraw-- == 0) {
        drawPaces(c, order);
        nextDraw = c.random() % 256;
      }
    }
    bool ended = false;
    for (Warp *w : order) {
      uint32_t budget = 256;
      if (c.randomised) {
        uint64_t r = c.random();
        if (r % 64 >= w->pace && c.liveWarps > 1) {
          ran = true; // it could have run
          continue;
        }
        budget = 1 + uint32_t(r >> 8) % 96;
        if ((r >> 40) % 4 == 0)
          drainWgmma(*w);
      }
      ran |= runWarp(*w, budget);
      if (c.failed)
        return RunStatus::Failed;
      if (w->groups.empty()) {
        endWarp(c, *w->cta, *w);
        ended = true;
      }
    }
    if (ended)
      order.erase(std::remove_if(order.begin(), order.end(), [](Warp *w) { return w->done; }),
                  order.end());
    bool completed = c.async.tick();
    if (c.failed)
      return RunStatus::Failed;
    if (c.progress != c.lastProgress) {
      c.lastProgress = c.progress;
      c.lastProgressStep = c.steps;
    }
    if (maxSteps && c.steps > maxSteps) {
      reportDeadlock(c, "the limit of steps was reached");
      return RunStatus::Failed;
    }
    if (c.randomised && ran && !completed) {
      // Skipped warps count as running: look whether anything could.
      bool could = false;
      for (Warp *w : order)
        for (Group &g : w->groups)
          could |= !g.blocked || g.released || g.seenEvents != c.events;
      ran = could;
    }
    if (!ran && !completed && c.liveWarps) {
      if (c.async.completeOne() || wakeTryWaits(c) || openOneJoin(c))
        continue;
      reportDeadlock(c, "no warp can run and nothing is under way");
      return RunStatus::Failed;
    }
    if (c.steps - c.lastProgressStep > StallSteps) {
      if (c.async.completeOne())
        continue;
      c.lastProgressStep = c.steps;
      return RunStatus::Stalled;
    }
  }
  while (c.async.completeOne()) {
  }
  return RunStatus::Done;
}

void finishWait(Warp &w, uint64_t ready) {
  WaitInfo &info = w.group->wait;
  if (ready > w.time) {
    w.waited[info.kind] += ready - w.time;
    noteWait(w, w.time, ready, info);
    w.time = ready;
  }
  info.kind = WaitInfo::None;
}

} // namespace sim
} // namespace tileloom
