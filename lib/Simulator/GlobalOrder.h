//===- GlobalOrder.h - Ordering between clusters -----------------*- C++ -*-===//
//
// Each CTA counts its releases to global memory. A released word remembers, for every CTA that the
// releaser knows of, the count reached; whoever reads that word with a strong access learns them.
// Shared by all clusters of a launch; race checking runs them on one host thread.
//
//===----------------------------------------------------------------------===//
#ifndef TILELOOM_LIB_SIMULATOR_GLOBALORDER_H
#define TILELOOM_LIB_SIMULATOR_GLOBALORDER_H

#include "Machine.h"

namespace tileloom {
namespace sim {

struct GlobalRecord {
  uint32_t cta = 0, cluster = 0, epoch = 0, actor = 0, actorEpoch = 0, line = 0;
  uint16_t warp = 0;
  bool async = false, partial = false;
};

class GlobalOrder {
public:
  static GlobalOrder &of(Grid &grid);
  uint32_t epoch(uint32_t cta) { return 1 + known[cta][cta]; }
  uint32_t add(const GlobalRecord &g);
  const GlobalRecord &operator[](uint32_t id) const { return records[id]; }
  bool knows(uint32_t cta, uint32_t other, uint32_t epoch) {
    auto &k = known[cta];
    auto it = k.find(other);
    return it != k.end() && it->second >= epoch;
  }
  /// A strong write of a word: publishes what the CTA knows; if it is relaxed, what the CTA knew at
  /// its last fence of gpu scope (by whichever thread, which is lenient).
  void release(Warp &w, uint64_t address, bool relaxed = false);
  /// A strong read of a word; if it is relaxed, it counts for the CTA's later fences.
  void acquire(Warp &w, uint64_t address, bool relaxed = false);
  /// A fence of gpu scope.
  void fence(Warp &w);
  /// What the warp has written so far may be read as tensor maps.
  void releaseMaps(const Warp &w);
  bool mapReleased(const GlobalRecord &g, uint32_t id) const;

private:
  struct Word {
    std::unordered_map<uint32_t, uint32_t> ctas;
    std::unordered_map<uint32_t, Clocks> clusters; // clocks of warps of the same cluster
  };
  std::vector<GlobalRecord> records{1};
  std::unordered_map<uint32_t, std::unordered_map<uint32_t, uint32_t>> known;
  void learn(Warp &w, const Word &word);
  std::unordered_map<uint32_t, Word> fences; // by CTA: what it knew at its last fence
  /// By CTA: the words that it has read by relaxed loads, for its later fences.
  std::unordered_map<uint32_t, std::unordered_map<uint64_t, Word>> seen;
  std::unordered_map<uint64_t, Word> words;
  std::unordered_map<uint64_t, uint32_t> mapReleases; // by CTA and warp: records until then
};

} // namespace sim
} // namespace tileloom

#endif
