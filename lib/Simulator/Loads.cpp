//===- Loads.cpp - Loads from shared memory under way ---------------------===//
//
// An arrival at an mbarrier does not wait for loads: their values come when they come. What does wait is
// an instruction that uses or overwrites a loaded register (the hardware's scoreboard), a barrier of the
// CTA and a membar (PTX ISA 9.7.13.1, 9.7.13.4), and wgmma.fence (9.7.15.7.1). A copy of the
// asynchronous proxy that was let begin before that may overtake the load (SharedShadow::readEnded).
//
//===----------------------------------------------------------------------===//
#include "Access.h"

#include <utility>

namespace tileloom {
namespace sim {

/// A mov does not wait: the assembler removes it.
static bool isMove(const Instr &in) { return in.flags & FlagMove; }

static void end(Warp &w, uint32_t load) {
  if (load < w.firstLoad || !w.loads[load - w.firstLoad])
    return;
  uint32_t &record = w.loads[load - w.firstLoad];
  w.cluster->records.loadEnds(record, w.clocks.seen[w.actor]);
  record = 0;
  if (--w.loadsUnderWay)
    return;
  w.firstLoad += uint32_t(w.loads.size());
  w.loads.clear();
}

void noteLoad(Warp &w, const Instr &in) {
  uint32_t record = w.readRecord;
  w.readRecord = 0;
  if (w.loadOf.empty() || !in.defs)
    return;
  w.loads.push_back(record);
  w.cluster->records.loadBegins(record);
  ++w.loadsUnderWay;
  const uint32_t *defs = w.program->refs.data() + in.refs + in.uses;
  for (unsigned i = 0; i < in.defs; ++i)
    w.loadOf[defs[i]] = w.firstLoad + uint32_t(w.loads.size()) - 1;
}

void endLoadsOf(Warp &w, const Instr &in) {
  const uint32_t *refs = w.program->refs.data() + in.refs;
  uint32_t moved = 0;
  for (unsigned i = 0, n = in.uses + in.defs; i < n && w.loadsUnderWay; ++i) {
    uint32_t &load = w.loadOf[refs[i]];
    if (load && i < in.uses && isMove(in))
      moved = load;
    else if (load)
      end(w, std::exchange(load, 0));
  }
  if (w.loadsUnderWay && isMove(in) && moved)
    for (unsigned i = in.uses, n = in.uses + in.defs; i < n; ++i)
      w.loadOf[refs[i]] = moved;
}

void endLoads(Warp &w) {
  for (uint32_t load = w.firstLoad; w.loadsUnderWay; ++load)
    end(w, load);
}

} // namespace sim
} // namespace tileloom
