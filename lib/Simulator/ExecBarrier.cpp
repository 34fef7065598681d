//===- ExecBarrier.cpp - Named and cluster barriers, fences ---------------===//
//
// bar/barrier (PTX ISA 9.7.13.1), barrier.cluster (9.7.13.3), membar and fence (9.7.13.4). Named
// barriers count warps in units of 32 threads; a warp arrives when its live lanes have.
//
//===----------------------------------------------------------------------===//
#include "Access.h"
#include "GlobalOrder.h"
#include "Lanes.h"

namespace tileloom {
namespace sim {

void decodeMapFence(Decoder &d); // ExecTensorMap.cpp
namespace {

enum Kind : uint32_t { Sync, Arrive, RedPopc, RedAnd, RedOr };
// sub: bits 0-2 kind, bit 3 has count, bit 4 negated predicate; a id, b count, c predicate.

bool complete(Cta &cta, NamedBarrier &b) {
  uint32_t needed = b.counted ? b.expected : cta.liveWarps * 32;
  if (b.arrived < needed || !b.arrived)
    return false;
  ++b.generation;
  b.done = b.clocks;
  b.clocks = Clocks();
  b.lastArrivals = std::move(b.arrivals);
  b.arrivals.clear();
  b.doneTime = b.time;
  b.result = b.reduction;
  b.arrived = b.expected = b.arrivedWarps = 0;
  std::fill(b.arrivedLanes.begin(), b.arrivedLanes.end(), 0);
  madeEvent(*cta.cluster);
  return true;
}

/// A barrier counts warps, not which: one that arrives without knowing that all arrivals of the last completion have happened
/// could have been counted for that.
void noteArrival(Warp &w, NamedBarrier &b, uint32_t id) {
  if (!w.cluster->checking(CheckBarriers) || w.clocks.empty())
    return;
  for (const NamedBarrier::Arrival &a : b.lastArrivals) {
    if (a.warp == w.id || w.clocks.seen[warpActor(*w.cta, a.warp)] >= a.epoch)
      continue;
    report(w, "named-barrier",
           "barrier " + std::to_string(id) + " is used again by warp " + std::to_string(w.id) + ", which is not ordered after the arrival of warp " +
               std::to_string(a.warp) + " at line " + std::to_string(a.line) + " for the use before: it could have been counted for that one");
    b.lastArrivals.clear();
    break;
  }
  b.arrivals.push_back({w.id, w.clocks.seen[w.actor], w.current->line});
}

void arriveNamed(Warp &w, const Instr &in, NamedBarrier &b, uint32_t id) {
  uint32_t count = 0;
  bool counted = in.sub & 8;
  if (counted) {
    count = w.reg<uint32_t>(in.b)[w.firstLane()];
    if (!count || count % 32 || count > w.cta->warps.size() * 32)
      report(w, "named-barrier",
             "barrier " + std::to_string(id) + ": thread count " + std::to_string(count) +
                 "; a multiple of 32 from 32 to " + std::to_string(w.cta->warps.size() * 32) +
                 " is needed");
  } else {
    count = uint32_t(w.cta->warps.size()) * 32;
  }
  if (!b.expected) {
    b.expected = count;
    b.counted = counted;
    b.reduction = (in.sub & 7) == RedAnd ? 1 : 0;
  } else if (b.expected != count) {
    report(w, "named-barrier",
           "barrier " + std::to_string(id) + " is used with " + std::to_string(count) +
               " threads; the warps that have arrived wait for " + std::to_string(b.expected));
  }
  // PTX forbids a second arrival of a warp, but ping-pong kernels start by arriving at their own
  // barrier and the hardware counts both.
  if (b.arrivedWarps >> w.id & 1 && w.cluster->checking(CheckStrict))
    report(w, "named-barrier",
           "the warp arrives twice at barrier " + std::to_string(id) + " before it has completed");
  endLoads(w); // "prior memory accesses requested by this thread are performed", PTX ISA 9.7.13.1
  noteArrival(w, b, id);
  b.arrivedLanes[w.id] |= w.active;
  if ((b.arrivedLanes[w.id] & w.live) == w.live) {
    b.arrived += 32;
    b.arrivedLanes[w.id] = 0;
    b.arrivedWarps |= 1u << w.id;
  }
  if ((in.sub & 7) >= RedPopc) {
    uint32_t p = getPredicate(w, in.c, in.sub & 16) & w.active;
    if ((in.sub & 7) == RedPopc)
      b.reduction += uint32_t(__builtin_popcount(p));
    else if ((in.sub & 7) == RedAnd)
      b.reduction &= p == w.active;
    else
      b.reduction |= p != 0;
  }
  releaseInto(w, b.clocks, w.active);
  b.time = std::max(b.time, w.time);
  madeProgress(w);
}

Step named(Warp &w, const Instr &in) {
  uint32_t id = w.reg<uint32_t>(in.a)[w.firstLane()];
  if (id > 15) {
    report(w, "named-barrier", "barrier " + std::to_string(id) + "; 0 to 15 exist");
    w.cluster->failed = true;
    return Step::Next;
  }
  NamedBarrier &b = w.cta->named[id];
  Group &g = *w.group;
  if (!g.entered) {
    g.token = b.generation;
    arriveNamed(w, in, b, id);
    if (complete(*w.cta, b) || (in.sub & 7) == Arrive) {
      if ((in.sub & 7) == Arrive) {
        g.token = 0;
        return Step::Next;
      }
    } else {
      g.entered = true;
    }
  } else if (b.generation == g.token) {
    complete(*w.cta, b); // a warp may have exited meanwhile
  }
  if (b.generation == g.token) {
    w.block(WaitInfo::Named, 0, id);
    return Step::Blocked;
  }
  g.entered = false;
  g.token = 0;
  acquireFrom(w, b.done);
  ++w.syncs;
  g.wait.kind = WaitInfo::Named;
  g.wait.detail = id;
  finishWait(w, b.doneTime);
  if ((in.sub & 7) == RedPopc)
    eachLane(w.active, [&](unsigned i) { w.reg<uint32_t>(in.d)[i] = b.result; });
  else if ((in.sub & 7) > RedPopc)
    setPredicate(w, in.d, b.result ? ~0u : 0);
  return Step::Next;
}

//===----------------------------------------------------------------------===//
// barrier.cluster
//===----------------------------------------------------------------------===//

bool clusterComplete(Cluster &c) {
  uint32_t arrived = 0;
  for (auto &cta : c.ctas)
    for (auto &w : cta->warps) {
      if (w->done || !w->live)
        continue;
      if ((c.clusterLanes[cta->rank][w->id] & w->live) != w->live)
        return false;
      ++arrived;
    }
  if (!arrived)
    return false;
  ++c.clusterGeneration;
  c.clusterArrived = 0;
  c.clusterDone = c.clusterClocks;
  c.clusterDoneTime = c.clusterTime;
  for (auto &lanes : c.clusterLanes)
    std::fill(lanes.begin(), lanes.end(), 0);
  madeEvent(c);
  return true;
}

Step clusterArrive(Warp &w, const Instr &in) {
  Cluster &c = *w.cluster;
  uint32_t &lanes = c.clusterLanes[w.cta->rank][w.id];
  if (lanes & w.active)
    report(w, "cluster-barrier", "the thread arrives twice at barrier.cluster without waiting");
  if (!lanes)
    w.clusterToken = c.clusterGeneration;
  w.clusterArrived = true;
  lanes |= w.active;
  if ((lanes & w.live) == w.live)
    ++c.clusterArrived;
  if (in.sub) { // relaxed
    if (!w.fenced.empty())
      c.clusterClocks.join(w.fenced);
  } else {
    releaseInto(w, c.clusterClocks, w.active);
  }
  c.clusterTime = std::max(c.clusterTime, w.time);
  madeProgress(w);
  clusterComplete(c);
  return Step::Next;
}

Step clusterWait(Warp &w, const Instr &) {
  Cluster &c = *w.cluster;
  if (!w.clusterArrived || (c.clusterGeneration == w.clusterToken &&
                            (c.clusterLanes[w.cta->rank][w.id] & w.active) != w.active)) {
    report(w, "cluster-barrier", "barrier.cluster.wait without an arrive before it");
    return Step::Next;
  }
  if (c.clusterGeneration == w.clusterToken)
    clusterComplete(c);
  if (c.clusterGeneration == w.clusterToken) {
    w.block(WaitInfo::ClusterBarrier);
    return Step::Blocked;
  }
  // The lanes of a diverged warp wait one after the other; the next phase starts by an arrival.
  if ((w.clusterWaited |= w.active) == w.live) {
    w.clusterArrived = false;
    w.clusterWaited = 0;
  }
  acquireFrom(w, c.clusterDone);
  ++w.syncs;
  w.group->wait.kind = WaitInfo::ClusterBarrier;
  finishWait(w, c.clusterDoneTime);
  return Step::Next;
}

//===----------------------------------------------------------------------===//
// Fences
//===----------------------------------------------------------------------===//

void fenceInitialised(Warp &w) {
  for (auto &[cta, offset] : w.initialised)
    if (BarrierInfo *b = cta->barrier(offset))
      b->initFenced = true;
  w.initialised.clear();
}

// sub: bit 0 mbarrier_init, bits 1-2 scope.
Step threadFence(Warp &w, const Instr &in) {
  if (in.sub & 1)
    fenceInitialised(w);
  else
    endLoads(w);
  if (!w.clocks.empty()) {
    if (w.cluster->checking(CheckRaces))
      GlobalOrder::of(*w.cluster->grid).fence(w, Scope(in.sub >> 1 & 3));
    w.fenced = w.clocks;
    nextEpoch(w, w.active);
  }
  return Step::Next;
}
/// What is ordered before the fence becomes visible to the asynchronous proxy, of global memory
/// (sub: bit 0), of shared memory (bit 1) or of both.
Step proxyFence(Warp &w, const Instr &in) {
  if (in.sub & 2)
    fenceInitialised(w);
  if (!w.clocks.empty()) {
    if (in.sub & 1)
      joinInto(w.clocks.proxiedGlobal, w.clocks.seen);
    AccessTable &records = w.cluster->records;
    if (in.sub & 2) {
      joinInto(w.clocks.proxied, w.clocks.seen);
      records.fenced(w.actor, w.clocks.seen[w.actor], w.active | ~w.live, w.syncs);
      records.fencedByOther(w.actor, w.clocks.seen);
    }
    nextEpoch(w, 0); // later writes are not fenced
  }
  return Step::Next;
}
Step nothing(Warp &, const Instr &) { return Step::Next; }

void decodeClusterBarrier(Decoder &d) {
  int op = d.takeOneOf({"arrive", "wait"});
  d.in.sub = d.take("relaxed");
  d.take("release");
  d.take("acquire");
  bool aligned = d.take("aligned");
  d.needOperands(0, 0);
  if (op < 0)
    d.fail("barrier.cluster needs .arrive or .wait");
  d.emit(op ? clusterWait : clusterArrive, aligned ? FlagAligned : 0, 10);
}

void decodeBarrier(Decoder &d, bool isBar) {
  if (d.take("cluster"))
    return decodeClusterBarrier(d);
  if (d.has("warp"))
    return decodeTable().find("@bar.warp")->second(d);
  d.take("cta");
  bool aligned = d.take("aligned") || isBar;
  int op = d.takeOneOf({"sync", "arrive", "red"});
  if (op < 0)
    d.fail("barrier needs .sync, .arrive or .red");
  int red = op == 2 ? d.takeOneOf({"popc", "and", "or"}) : -1;
  d.takeType();
  size_t first = op == 2 ? 1 : 0;
  size_t n = d.operandCount() - (op == 2 ? 2 : 0); // id and maybe count
  if (n < 1 || n > 2)
    d.fail("found " + std::to_string(d.operandCount()) + " operands");
  if (op == 1 && n != 2)
    d.fail("barrier.arrive needs a thread count");
  d.in.sub = op == 2 ? uint32_t(RedPopc + red) : uint32_t(op);
  d.in.a = d.use(d.operand(first), Ty::B32);
  if (n == 2) {
    d.in.b = d.use(d.operand(first + 1), Ty::B32);
    d.in.sub |= 8;
  }
  if (op == 2) {
    bool negated;
    d.in.c = d.usePred(d.operand(first + n), negated);
    d.in.sub |= negated ? 16 : 0;
    d.in.d = red == 0 ? d.def(d.operand(0), Ty::B32) : d.defPred(d.operand(0));
  }
  d.emit(named, aligned ? FlagAligned : 0, 10);
}

void decodeFence(Decoder &d) {
  bool proxyAsync = false, proxyOther = false;
  if (d.take("proxy")) {
    std::string_view kind = d.takeAny();
    proxyAsync = kind == "async" || kind.substr(0, 7) == "async::";
    proxyOther = kind == "alias";
    if (kind == "tensormap::generic")
      return decodeMapFence(d);
    if (!proxyAsync && !proxyOther)
      d.fail("unknown proxy '" + std::string(kind) + "'");
    int space = d.takeOneOf({"global", "shared::cta", "shared::cluster"});
    if (proxyAsync)
      d.in.sub = space < 0 ? 3 : space ? 2 : 1;
  }
  if (d.take("mbarrier_init"))
    d.in.sub |= 1;
  d.takeOneOf({"sc", "acq_rel", "acquire", "release"});
  d.takeOneOf({"sync_restrict::shared::cluster", "sync_restrict::shared::cta"});
  Scope scope = takeScope(d);
  if (!proxyAsync)
    d.in.sub |= uint32_t(scope) << 1;
  d.needOperands(0, 0);
  d.emit(proxyAsync ? proxyFence : proxyOther ? nothing : threadFence, 0, 4);
}

} // namespace

void registerBarrier(DecodeTable &t) {
  t["bar"] = [](Decoder &d) { decodeBarrier(d, true); };
  t["barrier"] = [](Decoder &d) { decodeBarrier(d, false); };
  t["membar"] = [](Decoder &d) {
    if (d.has("proxy"))
      return decodeFence(d);
    int scope = d.takeOneOf({"cta", "gl", "sys"});
    d.in.sub |= uint32_t(scope ? Scope::Gpu : Scope::Cta) << 1;
    d.emit(threadFence, 0, 4);
  };
  t["fence"] = decodeFence;
}

} // namespace sim
} // namespace tileloom
