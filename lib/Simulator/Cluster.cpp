//===- Cluster.cpp - Building and ending clusters -------------------------===//
//
// Lays out a cluster of CTAs: shared memory with its shadow, warps with their register files,
// values of the special registers, clocks; and checks what a CTA leaves behind when it ends.
//
//===----------------------------------------------------------------------===//
#include "Access.h"
#include "Tensor.h"
#include "tileloom/Simulator/Mbarrier.h"

#include <cstring>

namespace tileloom {
namespace sim {

std::string Cta::name() const {
  return "CTA (" + std::to_string(id[0]) + "," + std::to_string(id[1]) + "," +
         std::to_string(id[2]) + ")";
}

static uint32_t initialValue(const InitialSlot &s, const Warp &w, uint32_t lane) {
  const Grid &g = *w.cluster->grid;
  const Dim3 &b = g.launch.block, &n = g.launch.grid, &c = g.launch.cluster;
  const Cta &cta = *w.cta;
  uint32_t t = w.id * 32 + lane;
  switch (s.kind) {
  case InitialSlot::TidX:
    return t % b.x;
  case InitialSlot::TidY:
    return t / b.x % b.y;
  case InitialSlot::TidZ:
    return t / (b.x * b.y);
  case InitialSlot::NtidX:
    return b.x;
  case InitialSlot::NtidY:
    return b.y;
  case InitialSlot::NtidZ:
    return b.z;
  case InitialSlot::CtaidX:
    return cta.id[0];
  case InitialSlot::CtaidY:
    return cta.id[1];
  case InitialSlot::CtaidZ:
    return cta.id[2];
  case InitialSlot::NctaidX:
    return n.x;
  case InitialSlot::NctaidY:
    return n.y;
  case InitialSlot::NctaidZ:
    return n.z;
  case InitialSlot::LaneId:
    return lane;
  case InitialSlot::WarpId:
    return w.id;
  case InitialSlot::NwarpId:
    return g.warpsPerCta;
  case InitialSlot::SmId:
    return uint32_t(cta.linear % g.launch.options.smCount);
  case InitialSlot::NsmId:
    return g.launch.options.smCount;
  case InitialSlot::GridId:
    return 1;
  case InitialSlot::MaskEq:
    return 1u << lane;
  case InitialSlot::MaskLe:
    return lane == 31 ? ~0u : (2u << lane) - 1;
  case InitialSlot::MaskLt:
    return (1u << lane) - 1;
  case InitialSlot::MaskGe:
    return ~((1u << lane) - 1);
  case InitialSlot::MaskGt:
    return lane == 31 ? 0 : ~((2u << lane) - 1);
  case InitialSlot::ClusterIdX:
    return cta.id[0] / c.x;
  case InitialSlot::ClusterIdY:
    return cta.id[1] / c.y;
  case InitialSlot::ClusterIdZ:
    return cta.id[2] / c.z;
  case InitialSlot::NclusterIdX:
    return n.x / c.x;
  case InitialSlot::NclusterIdY:
    return n.y / c.y;
  case InitialSlot::NclusterIdZ:
    return n.z / c.z;
  case InitialSlot::ClusterCtaX:
    return cta.id[0] % c.x;
  case InitialSlot::ClusterCtaY:
    return cta.id[1] % c.y;
  case InitialSlot::ClusterCtaZ:
    return cta.id[2] % c.z;
  case InitialSlot::ClusterNctaX:
    return c.x;
  case InitialSlot::ClusterNctaY:
    return c.y;
  case InitialSlot::ClusterNctaZ:
    return c.z;
  case InitialSlot::ClusterRank:
    return cta.rank;
  case InitialSlot::ClusterSize:
    return g.clusterSize;
  case InitialSlot::IsExplicitCluster:
    return g.clusterSize > 1 ? ~0u : 0;
  case InitialSlot::DynamicShared:
    return g.launch.dynamicShared;
  case InitialSlot::TotalShared:
    return g.sharedBytes - SharedBase;
  case InitialSlot::SharedSymbol:
    return cta.rank << 24 | uint32_t(s.value);
  }
  return 0;
}

static void fillInitialSlots(Warp &w) {
  for (const InitialSlot &s : w.program->initial) {
    if (s.bytes == 0) {
      *w.reg<uint32_t>(s.slot) = initialValue(s, w, 0);
      continue;
    }
    for (uint32_t lane = 0; lane < 32; ++lane) {
      uint64_t v = initialValue(s, w, lane);
      std::memcpy(w.regs + s.slot + lane * std::max<uint32_t>(s.bytes, 2), &v,
                  std::max<uint32_t>(s.bytes, 2));
    }
  }
}

static uint32_t launchRegisters(const Program &p, uint32_t threads) {
  uint32_t most = std::min(65536u / std::max(threads, 32u), 256u) & ~7u;
  return p.maxRegisters ? std::min(p.maxRegisters & ~7u, most) : most;
}

static std::unique_ptr<Cta> makeCta(Cluster &cluster, uint32_t rank, const uint32_t id[3]) {
  Grid &g = *cluster.grid;
  const Program &p = *g.program;
  auto cta = std::make_unique<Cta>();
  cta->cluster = &cluster;
  cta->rank = rank;
  for (int i = 0; i < 3; ++i)
    cta->id[i] = id[i];
  cta->linear = id[0] + uint64_t(g.launch.grid.x) * (id[1] + uint64_t(g.launch.grid.y) * id[2]);
  cta->shared.assign(g.sharedBytes, 0xFF); // NaNs: unwritten data should show
  cta->barrierAt.assign(g.sharedBytes / 8 + 1, 0);
  if (g.checks & (CheckRaces | CheckUninitialised))
    cta->shadow = std::make_unique<SharedShadow>(g.sharedBytes, cluster.records);
  size_t file = p.constants.size() + p.registerBytes;
  cta->registerFiles.assign(file * g.warpsPerCta + 64, 0);
  cta->locals.assign(size_t(p.localBytes) * 32 * g.warpsPerCta, 0);
  size_t base = size_t(-reinterpret_cast<intptr_t>(cta->registerFiles.data()) & 63);
  uint32_t registers = launchRegisters(p, g.blockThreads);
  for (uint32_t i = 0; i < g.warpsPerCta; ++i) {
    auto w = std::make_unique<Warp>();
    w->id = i;
    w->cta = cta.get();
    w->cluster = &cluster;
    w->program = &p;
    uint8_t *start = cta->registerFiles.data() + base + file * i;
    std::copy(p.constants.begin(), p.constants.end(), start);
    w->regs = start + p.constants.size();
    w->local = cta->locals.data() + size_t(p.localBytes) * 32 * i;
    uint32_t lanes = std::min(32u, g.blockThreads - 32 * i);
    w->live = lanes == 32 ? ~0u : (1u << lanes) - 1;
    Group start0;
    start0.mask = w->live;
    w->groups.push_back(start0);
    w->maxRegisters = registers;
    w->cpAsync.resize(32);
    w->actor = rank * g.actorsPerCta + i;
    if (g.checks & (CheckInFlight | CheckUninitialised)) {
      w->written.assign(p.registerCount + 1, 0);
      w->inFlight.assign(p.registerCount + 1, 0);
      w->inFlightGroup.assign(p.registerCount + 1, 0);
      w->fenceMark.assign(p.registerCount + 1, 0);
      w->loadOf.assign(p.registerCount + 1, 0);
      w->readMark.assign(p.registerCount + 1, 0);
    }
    if (g.checks & CheckRaces) {
      w->clocks.seen.assign(size_t(g.actorsPerCta) * g.clusterSize, 0);
      w->clocks.proxied = w->clocks.proxiedGlobal = w->clocks.seen;
      w->clocks.seen[w->actor] = 1;
      if (p.usesTensorMemory)
        w->clocks.tensor = w->tensorSeen.seen = w->clocks.proxied;
    }
    fillInitialSlots(*w);
    cta->warps.push_back(std::move(w));
  }
  cta->liveWarps = g.warpsPerCta;
  cta->warpgroups.resize((g.warpsPerCta + 3) / 4);
  for (NamedBarrier &b : cta->named)
    b.arrivedLanes.assign(g.warpsPerCta, 0);
  return cta;
}

std::unique_ptr<Cluster> makeCluster(Grid &grid, uint64_t linear) {
  auto c = std::make_unique<Cluster>();
  c->grid = &grid;
  c->linear = linear;
  const Dim3 &n = grid.launch.grid, &s = grid.launch.cluster;
  uint64_t nx = n.x / s.x, ny = n.y / s.y;
  c->id[0] = uint32_t(linear % nx);
  c->id[1] = uint32_t(linear / nx % ny);
  c->id[2] = uint32_t(linear / (nx * ny));
  c->randomised = grid.launch.options.seed != 0;
  c->random.seed(grid.launch.options.seed * 0x9E3779B97F4A7C15ull + linear);
  for (uint32_t r = 0; r < grid.clusterSize; ++r) {
    uint32_t id[3] = {c->id[0] * s.x + r % s.x, c->id[1] * s.y + r / s.x % s.y,
                      c->id[2] * s.z + r / (s.x * s.y)};
    c->ctas.push_back(makeCta(*c, r, id));
    c->clusterLanes.emplace_back(grid.warpsPerCta, 0);
  }
  c->liveWarps = grid.warpsPerCta * grid.clusterSize;
  return c;
}

/// What is wrong with a CTA's state when its last warp has ended.
void finishCta(Cta &cta) {
  cta.done = true;
  Cluster &c = *cta.cluster;
  Warp &w = *cta.warps[0];
  auto add = [&](const char *kind, const std::string &message, uint32_t line) {
    Finding f = findingAt(w, kind, message);
    f.warp = -1;
    moveTo(f, *w.program, line);
    c.report(f);
  };
  if (c.checking(CheckBarriers)) {
    if (const AsyncOp *op = c.async.findOfCta(cta.rank))
      add("exit-pending",
          std::string("the CTA ends while a ") + op->what + " issued at line " +
              std::to_string(op->line) + " still uses its shared memory",
          op->line);
    for (auto &warp : cta.warps)
      for (auto &[lane, state] : warp->bulk)
        if (!state.open.empty() || !state.groups.empty()) {
          const Warp::Copy &copy =
              state.open.empty()
                  ? state.groups.back().empty() ? Warp::Copy{} : state.groups.back()[0]
                  : state.open[0];
          if (copy.line)
            add("exit-pending",
                "the CTA ends without having waited for the copy of warp " +
                    std::to_string(warp->id) + " lane " + std::to_string(lane) + " at line " +
                    std::to_string(copy.line) + ", which reads its shared memory" +
                    (state.open.empty() ? "" : " (the copy was never committed)"),
                copy.line);
        }
    for (const BarrierInfo &b : cta.barriers) {
      if (b.copiesPhase > b.waitedPhase)
        add("exit-pending",
            "the CTA ends and nobody has waited for the copy of line " +
                std::to_string(b.copyLine) + ", which completes on mbarrier " + hex(b.address),
            b.copyLine);
      if (!b.live)
        continue;
      if (b.remotePhase > b.waitedPhase && c.clusterGeneration <= b.remoteGeneration &&
          std::none_of(cta.warps.begin(), cta.warps.end(), [&](const std::unique_ptr<Warp> &warp) {
            const Clock &seen = warp->clocks.seen;
            return b.remoteActor < seen.size() && seen[b.remoteActor] >= b.remoteEpoch;
          }))
        add("exit-pending",
            "the CTA ends without being ordered after the arrival of another CTA at line " +
                std::to_string(b.remoteLine) + " at its mbarrier " + hex(b.address) +
                ", which might have found it gone",
            b.remoteLine);
      uint64_t word;
      std::memcpy(&word, cta.shared.data() + b.address, 8);
      MbarrierState s;
      if (!unpackMbarrier(word, s))
        continue;
      if (c.checking(CheckStrict) && s.pending != s.expected)
        add("mbarrier",
            "mbarrier at " + hex(b.address) + " ends in the middle of a phase: " +
                describeMbarrier(word),
            b.initLine);
      if (s.tx != 0)
        add("transaction-count",
            "mbarrier at " + hex(b.address) + " ends with a transaction count of " +
                std::to_string(s.tx) + " bytes: " + describeMbarrier(word) +
                "; the bytes expected and the bytes copied differ",
            b.initLine);
    }
  }
  if (cta.tensor)
    checkTensorLeaks(cta);
  checkRegisterChanges(cta);
}

} // namespace sim
} // namespace tileloom
