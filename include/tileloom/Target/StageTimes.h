//===- StageTimes.h - Wall time of each stage of one compilation -----------------*- C++ -*-===//
//
// A list of (stage, milliseconds) in the order in which the stages ran.
//
//===--------------------------------------------------------------------------------------===//

#ifndef TILELOOM_TARGET_STAGETIMES_H
#define TILELOOM_TARGET_STAGETIMES_H

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace tileloom {

struct StageTimes {
  std::vector<std::pair<std::string, double>> entries;

  double total() const {
    double sum = 0;
    for (const auto &entry : entries)
      sum += entry.second;
    return sum;
  }
};

/// Adds the time from its construction to its destruction.
class StageTimer {
public:
  StageTimer(StageTimes &times, const char *stage)
      : times(times), stage(stage), start(std::chrono::steady_clock::now()) {}
  StageTimer(const StageTimer &) = delete;
  StageTimer &operator=(const StageTimer &) = delete;
  ~StageTimer() {
    std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - start;
    times.entries.emplace_back(stage, elapsed.count());
  }

private:
  StageTimes &times;
  const char *stage;
  std::chrono::steady_clock::time_point start;
};

} // namespace tileloom

#endif // TILELOOM_TARGET_STAGETIMES_H
