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

Scope takeScope(Decoder &d) {
  int scope = d.takeOneOf({"cta", "cluster", "gpu", "sys"});
  return scope == 0 ? Scope::Cta : scope == 1 ? Scope::Cluster : Scope::Gpu;
}

uint64_t GlobalOrder::keyOf(const Warp &w, Space space, uint64_t address) {
  if (spaceOf(space, address) != Space::Shared)
    return address;
  // Shared addresses carry the rank of the CTA.
  return (1 + w.cluster->linear) << 32 | (address & 0xFFFFFFFF) | uint64_t(1) << 63;
}

void GlobalOrder::release(Warp &w, Space space, uint64_t address, Scope scope, bool relaxed) {
  uint32_t cta = uint32_t(w.cta->linear), cluster = uint32_t(w.cluster->linear);
  auto marked = relaxed && scope == Scope::Gpu ? fences.find(cta) : fences.end();
  if (relaxed && w.fenced.empty() && marked == fences.end())
    return;
  Word &word = words[keyOf(w, space, address)];
  if (relaxed) {
    if (!w.fenced.empty()) {
      word.own[cta].join(w.fenced);
      if (scope >= Scope::Cluster)
        word.clusters[cluster].join(w.fenced);
    }
    if (marked == fences.end())
      return;
    for (auto &[other, epoch] : marked->second.ctas)
      word.ctas[other] = std::max(word.ctas[other], epoch);
    for (auto &[other, clocks] : marked->second.clusters)
      word.clusters[other].join(clocks);
    return;
  }
  if (scope == Scope::Gpu) {
    auto &mine = known[cta];
    ++mine[cta];
    for (auto &[other, epoch] : mine)
      word.ctas[other] = std::max(word.ctas[other], epoch);
  }
  if (scope >= Scope::Cluster)
    word.clusters[cluster].join(w.clocks);
  releaseInto(w, word.own[cta], w.active);
}

void GlobalOrder::fence(Warp &w, Scope scope) {
  acquireFrom(w, w.relaxedReads);
  w.relaxedReads = Clocks();
  if (scope != Scope::Gpu)
    return;
  uint32_t cta = uint32_t(w.cta->linear), cluster = uint32_t(w.cluster->linear);
  for (const auto &[address, word] : seen[cta])
    learn(w, word);
  auto &mine = known[cta];
  ++mine[cta];
  Word &mark = fences[cta];
  mark.ctas = mine;
  mark.clusters[cluster].join(w.clocks);
}

void GlobalOrder::acquire(Warp &w, Space space, uint64_t address, Scope scope, bool relaxed) {
  auto it = words.find(keyOf(w, space, address));
  if (it == words.end())
    return;
  const Word &word = it->second;
  auto clocks = [&](const std::unordered_map<uint32_t, Clocks> &map, uint64_t key) {
    auto at = map.find(uint32_t(key));
    if (at == map.end())
      return;
    if (relaxed)
      w.relaxedReads.join(at->second);
    else
      acquireFrom(w, at->second);
  };
  clocks(word.own, w.cta->linear);
  if (scope >= Scope::Cluster)
    clocks(word.clusters, w.cluster->linear);
  if (scope != Scope::Gpu)
    return;
  if (relaxed)
    seen[uint32_t(w.cta->linear)][it->first] = word;
  else
    learn(w, word);
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

} // namespace sim
} // namespace tileloom
