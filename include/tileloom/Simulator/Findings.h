//===- Findings.h - What a simulated run found wrong ------------*- C++ -*-===//
//
// A Finding names what rule was broken and where: kernel, CTA, warp, lane, PTX line, address. Equal
// findings of one instruction are counted, not repeated. Findings are collected by one object that
// all host threads share.
//
//===----------------------------------------------------------------------===//
#ifndef TILELOOM_SIMULATOR_FINDINGS_H
#define TILELOOM_SIMULATOR_FINDINGS_H

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace tileloom {
namespace sim {

/// The checks that can be switched (--checks=...). Bounds and alignment are always checked: an
/// access outside registered memory is never carried out.
enum Check : uint32_t {
  CheckUninitialised = 1u << 0, // reads of shared, tensor memory and registers never written
  CheckRaces = 1u << 1,         // unordered accesses, missing proxy fences
  CheckInFlight = 1u << 2,      // registers of wgmma, tcgen05 in flight
  CheckBarriers = 1u << 3,      // laps, transaction counts at exit, pool of setmaxnreg
  CheckStrict = 1u << 4,        // also what is customary though PTX asks for more
  CheckAll = CheckUninitialised | CheckRaces | CheckInFlight | CheckBarriers,
  CheckNone = 0,
};

/// Parses "all", "none" or a list of "uninit,race,inflight,barrier,strict"; false if unknown.
bool parseChecks(const std::string &text, uint32_t &checks, std::string &error);

struct Finding {
  std::string kind;    // "out-of-bounds", "race", "deadlock", ...
  std::string message; // one sentence: what was found and what was needed
  std::string kernel;
  uint32_t cta[3] = {0, 0, 0};
  int warp = -1, lane = -1;
  uint32_t line = 0;
  std::string source;   // text of the PTX line
  std::string location; // "file:line" of the program that the PTX was made from, if it says so
  std::vector<std::string> notes;
  uint64_t count = 1;

  std::string text() const;
};

class Findings {
public:
  /// Adds a finding, or counts it if the same kind was found at the same line before.
  void add(Finding finding);
  /// Occurrences since the last take(), repeated ones included.
  uint64_t total() const;
  std::vector<Finding> take();
  /// Sorted by line and kind, so that host threads do not change the order.
  std::vector<Finding> list() const;
  bool empty() const;
  std::string json() const;
  size_t limit = 200;

private:
  mutable std::mutex mutex;
  std::map<std::string, Finding> byKey;
  uint64_t occurrences = 0;
};

/// Escapes a string for JSON.
std::string jsonEscape(const std::string &text);

} // namespace sim
} // namespace tileloom

#endif
