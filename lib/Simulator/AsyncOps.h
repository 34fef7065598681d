//===- AsyncOps.h - Operations that complete later ---------------*- C++ -*-===//
//
// TMA and bulk copies, cp.async, remote stores and tcgen05 operations are queued here and completed
// by the scheduler: in issue order after the other warps had a turn, or, with a seed, after random
// delays.
//
//===----------------------------------------------------------------------===//
#ifndef TILELOOM_LIB_SIMULATOR_ASYNCOPS_H
#define TILELOOM_LIB_SIMULATOR_ASYNCOPS_H

#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <unordered_set>
#include <vector>

namespace tileloom {
namespace sim {

struct AsyncOp {
  uint64_t id = 0;
  uint64_t due = 0;            // scheduler round
  std::vector<uint64_t> after; // not before any of these operations
  uint64_t time = 0;           // cycles at which it completes in the cost model
  uint32_t cta = 0, line = 0;
  const char *what = "";
  std::function<void()> complete;
};

class AsyncQueue {
public:
  uint64_t push(AsyncOp op, std::mt19937_64 *random);
  bool pending(uint64_t id) const { return ids.count(id) != 0; }
  bool empty() const { return ops.empty(); }
  /// Completes what is due; true if anything was.
  bool tick();
  /// Completes the oldest operation; false if there is none.
  bool completeOne();
  /// Operations of a CTA that are still under way.
  const AsyncOp *findOfCta(uint32_t cta) const;
  uint64_t round = 0;

private:
  void finish(size_t index);
  bool waits(const AsyncOp &op) const;
  std::vector<AsyncOp> ops;
  std::unordered_set<uint64_t> ids;
  uint64_t next = 1;
};

} // namespace sim
} // namespace tileloom

#endif
