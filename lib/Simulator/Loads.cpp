//===- Loads.cpp - Loads from shared memory under way ---------------------===//
//
// An arrival at an mbarrier does not wait for loads: their values come when they come, and the assembler
// moves additions and products that use them behind the arrival (on an H200, with 64 products between the
// loads and the arrival, 1438 of 10000 launches got the values of a later copy). What does wait: a fence, a
// barrier of the CTA (PTX ISA 9.7.13.1, 9.7.13.4), wgmma.fence (9.7.15.7.1), and an instruction with an
// effect, a store or a branch, that depends on a loaded value. Loads of a warp come in order. A copy of the
// asynchronous proxy that was let begin before that may overtake the load (SharedShadow::readEnded).
//
//===----------------------------------------------------------------------===//
#include "Access.h"

namespace tileloom {
namespace sim {

/// The loads up to one have ended.
static void endUpTo(Warp &w, uint32_t load) {
  if (load < w.firstLoad)
    return;
  size_t n = load - w.firstLoad + 1;
  for (size_t i = 0; i < n; ++i)
    w.cluster->records.loadEnds(w.loads[i], w.clocks.seen[w.actor]);
  w.loads.erase(w.loads.begin(), w.loads.begin() + long(n));
  w.firstLoad = load + 1;
}

void noteLoad(Warp &w, const Instr &in) {
  uint32_t record = w.readRecord;
  w.readRecord = 0;
  if (w.loadOf.empty() || !in.defs)
    return;
  w.loads.push_back(record);
  w.cluster->records.loadBegins(record);
  const uint32_t *defs = w.program->refs.data() + in.refs + in.uses;
  for (unsigned i = 0; i < in.defs; ++i)
    w.loadOf[defs[i]] = w.firstLoad + uint32_t(w.loads.size()) - 1;
}

void useLoads(Warp &w, const Instr &in) {
  const uint32_t *refs = w.program->refs.data() + in.refs;
  uint32_t youngest = 0;
  for (unsigned i = 0; i < in.uses; ++i)
    youngest = std::max(youngest, w.loadOf[refs[i]]);
  if (!in.defs)
    endUpTo(w, youngest);
  for (unsigned i = in.uses, n = in.uses + in.defs; i < n; ++i)
    w.loadOf[refs[i]] = youngest;
}

void endLoads(Warp &w) {
  endUpTo(w, w.firstLoad + uint32_t(w.loads.size()) - 1);
}

} // namespace sim
} // namespace tileloom
