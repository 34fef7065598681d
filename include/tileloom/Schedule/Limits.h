//===- Limits.h - What a CTA can have --------------------------------------------*- C++ -*-===//
//
// The limits that the planner of buffers spends and the cost model predicts with.
//
//===--------------------------------------------------------------------------------------===//

#ifndef TILELOOM_SCHEDULE_LIMITS_H
#define TILELOOM_SCHEDULE_LIMITS_H

#include "llvm/ADT/StringRef.h"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace tileloom::schedule {

/// Shared memory of a CTA (PTX ISA: 227 KB can be had dynamically), less room for barriers.
inline constexpr int64_t sharedBytes = 232448 - 1024;

/// More slots than this have never helped (docs/notes/lower-half.md): 13 for tiles of 16 KB.
inline constexpr int64_t deepestRing = 13;

/// Whether products of this chip (sm_100a, sm_103a) have their sums in tensor memory, not registers.
inline bool hasTensorMemory(llvm::StringRef chip) { return chip.starts_with("sm_10"); }

/// Columns of tensor memory of an SM.
inline constexpr int64_t tensorMemoryColumns = 512;

/// Registers of a thread in roles of one warp (the least that setmaxnreg sets).
inline constexpr int64_t narrowRegisters = 24;

/// Registers that each thread of `groups` warpgroups can have beside one of narrow roles:
/// setmaxnreg moves an SM's registers between them.
inline int64_t wideRegisters(int64_t groups) {
  constexpr int64_t pool = 65536, most = 240;
  return std::min(most, (pool - 128 * narrowRegisters) / (128 * groups) / 8 * 8);
}

/// Registers of a thread of `groups` warpgroups with products, and of one warpgroup that gathers
/// their operands; beside them perhaps narrow roles.
inline std::pair<int64_t, int64_t> gatherRegisters(int64_t groups, bool narrow) {
  constexpr int64_t most = 240, least = 96;
  // What the launch gives each thread (nv-assign-warps), for all warpgroups.
  int64_t all = groups + 1 + narrow;
  int64_t pool = std::min<int64_t>(255, 65536 / (128 * all)) / 8 * 8 * all;
  if (narrow)
    pool -= narrowRegisters;
  int64_t gather = std::clamp(pool - most * groups, least, most);
  return {std::min(most, (pool - gather) / groups / 8 * 8), gather / 8 * 8};
}

} // namespace tileloom::schedule

#endif // TILELOOM_SCHEDULE_LIMITS_H
