//===- GlobalOrder.cpp - Ordering between clusters ------------------------===//
//
// See GlobalOrder.h.
//
//===----------------------------------------------------------------------===//
#include "GlobalOrder.h"
#include "Access.h"

namespace tileloom {
namespace sim {

GlobalOrder &GlobalOrder::of(Grid &grid) {
  if (!grid.order)
    grid.order = std::make_shared<GlobalOrder>();
  return *grid.order;
}

uint32_t GlobalOrder::add(const GlobalRecord &g) {
  const GlobalRecord &last = records.back();
  if (last.cta == g.cta && last.epoch == g.epoch && last.actor == g.actor &&
      last.actorEpoch == g.actorEpoch && last.line == g.line && last.partial == g.partial)
    return uint32_t(records.size() - 1);
  records.push_back(g);
  return uint32_t(records.size() - 1);
}

void GlobalOrder::release(Warp &w, uint64_t address) {
  uint32_t cta = uint32_t(w.cta->linear);
  auto &mine = known[cta];
  ++mine[cta];
  Word &word = words[address];
  for (auto &[other, epoch] : mine)
    word.ctas[other] = std::max(word.ctas[other], epoch);
  releaseInto(w, word.clusters[uint32_t(w.cluster->linear)]);
}

void GlobalOrder::acquire(Warp &w, uint64_t address) {
  auto it = words.find(address);
  if (it == words.end())
    return;
  auto &mine = known[uint32_t(w.cta->linear)];
  for (auto &[other, epoch] : it->second.ctas)
    if (other != w.cta->linear)
      mine[other] = std::max(mine[other], epoch);
  auto same = it->second.clusters.find(uint32_t(w.cluster->linear));
  if (same != it->second.clusters.end())
    acquireFrom(w, same->second);
}

} // namespace sim
} // namespace tileloom
