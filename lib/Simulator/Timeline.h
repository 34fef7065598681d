//===- Timeline.h - When things happened, by a simple cost model --*- C++ -*-===//
//
// Every warp has a clock in cycles that instruction costs and waits move on; copies and tensor core
// work have intervals on tracks of their own. Good for seeing who waits for whom, not for
// predicting speed.
//
//===----------------------------------------------------------------------===//
#ifndef TILELOOM_LIB_SIMULATOR_TIMELINE_H
#define TILELOOM_LIB_SIMULATOR_TIMELINE_H

#include "Machine.h"

#include <map>
#include <set>

namespace tileloom {
namespace sim {

struct Timeline {
  struct Event {
    uint32_t cta;
    int track; // warp, or -1 - engine
    uint64_t from, to;
    std::string name;
    uint32_t line;
  };
  struct WarpTotal {
    uint32_t cta, warp;
    uint64_t end;
    uint64_t waited[16];
    std::map<std::string, uint64_t> byWhat;
  };
  std::vector<Event> events;
  std::vector<WarpTotal> warps;
  std::map<std::pair<uint32_t, int>, std::map<std::string, uint64_t>> waits, work;
  std::map<std::pair<uint32_t, int>, std::set<std::string>> issued; // by CTA and warp
  size_t limit = 400000;

  void finish(const Cta &cta);
  std::string json() const;
  std::string summary() const;

private:
  std::string roles() const;
};

} // namespace sim
} // namespace tileloom

#endif
