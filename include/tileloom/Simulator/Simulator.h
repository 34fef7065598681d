//===- Simulator.h - Runs emitted PTX on the CPU ----------------*- C++ -*-===//
//
// The public interface: load a PTX module, register memory, launch a kernel with raw parameter
// bytes, read the findings. See docs/simulator.md for what is modelled.
//
//===----------------------------------------------------------------------===//
#ifndef TILELOOM_SIMULATOR_SIMULATOR_H
#define TILELOOM_SIMULATOR_SIMULATOR_H

#include "tileloom/Simulator/Error.h"
#include "tileloom/Simulator/Findings.h"
#include "tileloom/Simulator/Memory.h"

#include <memory>
#include <string>
#include <vector>

namespace tileloom {
namespace sim {

struct Dim3 {
  uint32_t x = 1, y = 1, z = 1;
  uint64_t count() const { return uint64_t(x) * y * z; }
};

struct LaunchOptions {
  uint32_t checks = CheckAll;
  uint64_t seed = 0;      // 0: the deterministic default schedule; else random interleavings
  unsigned threads = 0;   // host threads; 0: chosen, 1: never more than one
  unsigned smCount = 132; // %nsmid
  uint64_t maxSteps = 0;  // give up after this many warp instructions (0: no limit)
  bool fastMath = false;  // fp32 accumulation in the matrix units instead of the bit model
  bool timeline = false;  // keep what traceJson and summary need
};

struct Launch {
  std::string kernel; // may be empty if the module has one entry
  Dim3 grid, cluster, block;
  uint32_t dynamicShared = 0;
  std::vector<uint8_t> parameters; // laid out as the kernel's .param declarations
  LaunchOptions options;
};

struct Parameter {
  std::string name;
  uint32_t offset, size;
};

struct KernelInfo {
  std::string name;
  std::vector<Parameter> parameters;
  uint32_t parameterBytes = 0, staticShared = 0, registers = 0;
  Dim3 requiredBlock, cluster;
  bool hasRequiredBlock = false, hasCluster = false;
};

struct RunStatistics {
  uint64_t instructions = 0; // warp instructions
  uint64_t cycles = 0;       // of the simple cost model: the longest CTA chain
  double seconds = 0;        // host time
};

struct LoadedModule;

class Simulator {
public:
  Simulator();
  ~Simulator();
  /// Parses, checks and decodes a module; throws LoadError. Replaces the one loaded before.
  void load(const std::string &ptx);
  std::vector<KernelInfo> kernels() const;
  const KernelInfo &kernel(const std::string &name) const; // throws LoadError if unknown
  Memory &memory() { return deviceMemory; }
  /// Runs a launch to its end. Throws LoadError if the launch itself is impossible (block size,
  /// shared memory, parameter bytes); what the kernel does wrong is in findings().
  RunStatistics launch(const Launch &launch);
  Findings &findings() { return found; }
  /// After a launch with options.timeline: Chrome trace events, and a table of who waited for what.
  std::string traceJson() const { return trace; }
  std::string summary() const { return summaryText; }

private:
  std::unique_ptr<LoadedModule> module;
  Memory deviceMemory;
  Findings found;
  std::string trace, summaryText;
};

} // namespace sim
} // namespace tileloom

#endif
