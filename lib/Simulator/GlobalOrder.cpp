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

void GlobalOrder::release(Warp &w, uint64_t address, bool relaxed) {
  uint32_t cta = uint32_t(w.cta->linear);
  Word &word = words[address];
  if (relaxed) {
    auto it = fences.find(cta);
    if (it == fences.end())
      return;
    for (auto &[other, epoch] : it->second.ctas)
      word.ctas[other] = std::max(word.ctas[other], epoch);
    for (auto &[cluster, clocks] : it->second.clusters)
      word.clusters[cluster].join(clocks);
    return;
  }
  auto &mine = known[cta];
  ++mine[cta];
  for (auto &[other, epoch] : mine)
    word.ctas[other] = std::max(word.ctas[other], epoch);
  releaseInto(w, word.clusters[uint32_t(w.cluster->linear)]);
}

void GlobalOrder::fence(Warp &w) {
  uint32_t cta = uint32_t(w.cta->linear), cluster = uint32_t(w.cluster->linear);
  for (const auto &[address, word] : seen[cta])
    learn(w, word);
  auto &mine = known[cta];
  ++mine[cta];
  Word &mark = fences[cta];
  mark.ctas = mine;
  mark.clusters[cluster].join(w.clocks);
}

static uint64_t warpKey(uint64_t cta, uint32_t warp) { return cta << 16 | warp; }

void GlobalOrder::releaseMaps(const Warp &w) {
  mapReleases[warpKey(w.cta->linear, w.id)] = uint32_t(records.size());
  // The next write gets a record of its own.
  records.push_back(GlobalRecord());
}

bool GlobalOrder::mapReleased(const GlobalRecord &g, uint32_t id) const {
  auto it = mapReleases.find(warpKey(g.cta, g.warp));
  return it != mapReleases.end() && id < it->second;
}

void GlobalOrder::acquire(Warp &w, uint64_t address, bool relaxed) {
  auto it = words.find(address);
  if (it == words.end())
    return;
  if (relaxed)
    seen[uint32_t(w.cta->linear)][address] = it->second;
  else
    learn(w, it->second);
}

void GlobalOrder::learn(Warp &w, const Word &word) {
  auto &mine = known[uint32_t(w.cta->linear)];
  for (auto &[other, epoch] : word.ctas)
    if (other != w.cta->linear)
      mine[other] = std::max(mine[other], epoch);
  auto same = word.clusters.find(uint32_t(w.cluster->linear));
  if (same != word.clusters.end())
    acquireFrom(w, same->second);
}

} // namespace sim
} // namespace tileloom
