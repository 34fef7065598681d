//===- Simulator.h - C API of the PTX simulator ---------------------------===//
//
// Runs emitted PTX on the CPU with all checks: load a module, register host memory, launch with raw
// parameter bytes, read the findings as text or JSON. No GPU, driver or LLVM is needed. One handle
// may be used by one thread at a time. No function throws or aborts on bad input.
//
//===----------------------------------------------------------------------===//
#ifndef TILELOOM_C_SIMULATOR_H
#define TILELOOM_C_SIMULATOR_H

#include "tileloom-c/Runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct TileloomSimulator TileloomSimulator;

typedef enum TileloomSimStatus {
  TILELOOM_SIM_OK = 0,       ///< ran, nothing found
  TILELOOM_SIM_FINDINGS = 1, ///< ran; something is wrong with the kernel
  TILELOOM_SIM_ERROR = 2     ///< did not run: tileloomSimError says why
} TileloomSimStatus;

/// One launch. Zero-initialise it: zero means "the default" wherever a number is optional.
typedef struct TileloomSimLaunch {
  const char *kernel; ///< entry name; null if the module has one
  uint32_t grid[3];
  uint32_t cluster[3]; ///< 0: 1, or what the kernel requires
  uint32_t block[3];   ///< 0: what the kernel requires
  uint32_t sharedBytes;
  uint32_t parameterBytes;
  const unsigned char *parameters; ///< as the kernel's .param space is laid out
  /// Offsets in `parameters` at which a TileloomTensorMap stands for a tensor map.
  const uint32_t *tensorMapOffsets;
  uint32_t tensorMapCount;
  const char *checks; ///< "all" (null), "none", or a list: uninit,race,inflight,barrier,strict
  uint64_t seed;      ///< 0: the deterministic schedule, else a random one
  uint64_t maxSteps;  ///< stop after so many warp instructions
  uint32_t threads;   ///< host threads
  uint32_t multiprocessors; ///< %nsmid; 132
  uint32_t timeline;        ///< keep a trace and a summary
  uint32_t fastMath;        ///< fp32 accumulation instead of the bit model of the tensor cores
} TileloomSimLaunch;

TILELOOM_API TileloomSimulator *tileloomSimCreate(void);
TILELOOM_API void tileloomSimRelease(TileloomSimulator *sim);
/// Text of the last call that returned TILELOOM_SIM_ERROR (or 0).
TILELOOM_API const char *tileloomSimError(TileloomSimulator *sim);

/// Parses, checks and decodes a PTX module.
TILELOOM_API TileloomSimStatus tileloomSimLoad(TileloomSimulator *sim, const char *ptx,
                                               size_t size);

/// Registers host memory as global memory. `address` 0 lets the simulator choose (addresses are
/// then the same in every run); otherwise it is the device address. Returns the address, 0 on
/// failure.
TILELOOM_API uint64_t tileloomSimAddBuffer(TileloomSimulator *sim, const char *name, void *host,
                                           uint64_t size, uint64_t address, int writable);
TILELOOM_API void tileloomSimRemoveBuffer(TileloomSimulator *sim, uint64_t address);

TILELOOM_API TileloomSimStatus tileloomSimRun(TileloomSimulator *sim,
                                              const TileloomSimLaunch *launch);

/// Results of the last run; valid until the next call on the handle.
TILELOOM_API const char *tileloomSimFindingsText(TileloomSimulator *sim);
TILELOOM_API const char *tileloomSimFindingsJson(TileloomSimulator *sim);
TILELOOM_API const char *tileloomSimTrace(TileloomSimulator *sim);
TILELOOM_API const char *tileloomSimSummary(TileloomSimulator *sim);
TILELOOM_API uint64_t tileloomSimInstructions(TileloomSimulator *sim);
TILELOOM_API uint64_t tileloomSimCycles(TileloomSimulator *sim);

#ifdef __cplusplus
}
#endif
#endif // TILELOOM_C_SIMULATOR_H
