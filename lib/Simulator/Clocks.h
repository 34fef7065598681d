//===- Clocks.h - Happens-before ---------------------------------*- C++ -*-===//
//
// Vector clocks over the actors of a cluster. An actor is a warp, or one of the asynchronous
// streams that belong to it or to an mbarrier:
//   warp         its own (generic proxy) accesses; epoch = number of its releases
//   bulk(warp)   accesses of its bulk-group copies; epoch = sequence number of the copy
//   wgmma(warp)  shared memory reads of its wgmmas; epoch = wgmma group
//   tensor(warp) accesses of the tcgen05 operations that it issued; epoch = sequence number
//   barrier(i)   accesses of the copies that complete on mbarrier i; epoch = phase + 1
// A warp knows epoch e of an actor when its clock says so; `proxied` is the same restricted to what
// a proxy fence has made visible to the asynchronous proxy in shared memory, `proxiedGlobal` in
// global memory (PTX ISA 8.9.5).
//
//===----------------------------------------------------------------------===//
#ifndef TILELOOM_LIB_SIMULATOR_CLOCKS_H
#define TILELOOM_LIB_SIMULATOR_CLOCKS_H

#include <algorithm>
#include <cstdint>
#include <vector>

namespace tileloom {
namespace sim {

using Clock = std::vector<uint32_t>;

inline void joinInto(Clock &to, const Clock &from) {
  if (to.size() < from.size())
    to.resize(from.size(), 0);
  for (size_t i = 0, n = from.size(); i < n; ++i)
    to[i] = std::max(to[i], from[i]);
}

struct Clocks {
  Clock seen, proxied, proxiedGlobal;
  Clock tensor; // what tcgen05.fence::before_thread_sync has ordered; empty without tensor memory
  void join(const Clocks &other) {
    joinInto(seen, other.seen);
    joinInto(proxied, other.proxied);
    joinInto(proxiedGlobal, other.proxiedGlobal);
    joinInto(tensor, other.tensor);
  }
  bool empty() const { return seen.empty(); }
};

/// Who made an access, for the next one to the same bytes, and for the report.
struct AccessRecord {
  uint32_t actor = 0, epoch = 0, line = 0;
  uint16_t cta = 0, warp = 0; // rank in the cluster, warp of the CTA
  uint32_t globalCta = 0;
  bool async = false;     // by the asynchronous proxy
  bool update = false;    // a reduction: two of them need no order
  bool byWarp = false;    // tcgen05.ld and st: by all lanes, each of which must have released it
  uint32_t warpEpoch = 0; // Warp::syncs at the access
  uint8_t layout = 0;     // TMA load: 1 + its swizzle; 0: nothing is known
  const char *what = "";  // "st.shared", "TMA load", ...
  // An ordinary read: loads whose results nobody has waited for, and the warp's epoch at the last wait.
  uint32_t loadsUnderWay = 0, loadedAt = 0;
};

} // namespace sim
} // namespace tileloom

#endif
