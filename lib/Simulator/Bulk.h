//===- Bulk.h - Helpers of asynchronous copies -------------------*- C++ -*-===//
//
// What bulk copies, TMA tiles and cp.async share: sequence numbers for happens-before, queueing,
// cost.
//
//===----------------------------------------------------------------------===//
#ifndef TILELOOM_LIB_SIMULATOR_BULK_H
#define TILELOOM_LIB_SIMULATOR_BULK_H

#include "Barriers.h"
#include "Decoder.h"

namespace tileloom {
namespace sim {

/// Cycles: the copy engine of an SM moves 64 bytes a cycle and answers after 600 (rounded figures
/// of Hopper; only the shape of the timeline depends on them).
uint64_t chargeCopy(Warp &w, uint32_t bytes, const char *what);

/// Queues a copy. `grouped`: it belongs to the lane's open bulk group.
void queueCopy(Warp &w, unsigned lane, bool grouped, const char *what, uint64_t time,
               std::function<void()> complete);

/// The access by which a copy that completes on `b` writes shared memory.
Actor barrierStream(const BarrierPlace &b, const char *what);
/// The access of a copy of the lane's bulk group.
Actor bulkStream(Warp &w, const char *what);

/// Barriers that a load to `dst` with `mask` signals, and the CTAs that it writes.
struct LoadTarget {
  Cta *cta;
  BarrierPlace barrier;
};
/// 16-bit masks name cluster ranks; group is the cta_group (PTX ISA 9.7.9.25.5.2). Reports errors.
std::vector<LoadTarget> loadTargets(Warp &w, uint32_t dst, uint32_t bytes, uint32_t align,
                                    uint32_t mbar, bool multicast, uint32_t mask, unsigned group,
                                    int lane, const char *what);

/// An address operand of a lane: slot, offset, and whether the slot has 64 bits.
inline uint64_t addressAt(Warp &w, int32_t slot, int64_t offset, bool wide, unsigned lane) {
  return wide ? w.reg<uint64_t>(slot)[lane] + uint64_t(offset)
              : uint64_t(w.reg<uint32_t>(slot)[lane] + uint32_t(offset));
}

/// Skips modifiers without effect; used by every decoder of this family.
void takeCacheHints(Decoder &d);

} // namespace sim
} // namespace tileloom

#endif
