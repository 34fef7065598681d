//===- GlobalOrder.h - Ordering through words of memory ----------*- C++ -*-===//
//
// A released word remembers what its releaser knew; whoever reads the word by a strong access
// learns it, as far as the scopes of both reach (PTX ISA 8.5, 8.8): inside a CTA and a cluster
// clocks of warps, beyond it, for every CTA, the number of its releases to global memory. Shared by
// all clusters of a launch; race checking runs them on one host thread.
//
//===----------------------------------------------------------------------===//
#ifndef TILELOOM_LIB_SIMULATOR_GLOBALORDER_H
#define TILELOOM_LIB_SIMULATOR_GLOBALORDER_H

#include "Decoder.h"
#include "Machine.h"

namespace tileloom {
namespace sim {

enum class Scope : uint8_t { Cta, Cluster, Gpu };
/// Takes .cta, .cluster, .gpu or .sys off an instruction; .gpu if there is none.
Scope takeScope(Decoder &d);

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
  /// A strong write of a word: publishes what the warp knows; if it is relaxed, what the warp, and
  /// beyond its cluster the CTA (by whichever thread, which is lenient), knew at its last fence.
  void release(Warp &w, Space space, uint64_t address, Scope scope, bool relaxed);
  /// A strong read of a word; if it is relaxed, it counts for later fences.
  void acquire(Warp &w, Space space, uint64_t address, Scope scope, bool relaxed);
  /// A fence of a thread.
  void fence(Warp &w, Scope scope);
  /// What the warp has written so far may be read as tensor maps.
  void releaseMaps(const Warp &w);
  bool mapReleased(const GlobalRecord &g, uint32_t id) const;

private:
  struct Word {
    std::unordered_map<uint32_t, uint32_t> ctas;
    std::unordered_map<uint32_t, Clocks> clusters, own; // by cluster, by CTA
  };
  std::vector<GlobalRecord> records{1};
  std::unordered_map<uint32_t, std::unordered_map<uint32_t, uint32_t>> known;
  void learn(Warp &w, const Word &word);
  /// A word of global or shared memory; shared words of all clusters are told apart.
  static uint64_t keyOf(const Warp &w, Space space, uint64_t address);
  std::unordered_map<uint32_t, Word> fences; // by CTA: what it knew at its last fence
  /// By CTA: the words that it has read by relaxed loads, for its later fences.
  std::unordered_map<uint32_t, std::unordered_map<uint64_t, Word>> seen;
  std::unordered_map<uint64_t, Word> words;
  std::unordered_map<uint64_t, uint32_t> mapReleases; // by CTA and warp: records until then
};

} // namespace sim
} // namespace tileloom

#endif
