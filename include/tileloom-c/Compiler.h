//===- Compiler.h - C API of the Tileloom compiler ------------------------===//
//
// Compile a program (MLIR text at any level) into PTX, a cubin, a launch recipe and a report. Needs
// no GPU and no CUDA toolkit; only a cubin needs ptxas.
//
// All functions may be called from any thread, and threads compile in parallel. Each thread keeps
// its compiler warm between calls. No function throws or aborts on bad input; what went wrong is
// text in the handle, with source locations. (An LLVM fatal error, "Cannot select ...", is caught
// as well; the memory of that one compilation is then lost.)
//
//===----------------------------------------------------------------------===//
#ifndef TILELOOM_C_COMPILER_H
#define TILELOOM_C_COMPILER_H

#include "tileloom-c/Runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

/// What a compilation yields. The first eight are also bits of TileloomCompileOptions.emit:
/// 1 << kind.
typedef enum TileloomArtifactKind {
  TILELOOM_ARTIFACT_TILE = 0, ///< the program as it was read
  TILELOOM_ARTIFACT_WARP = 1, ///< IR after each stage
  TILELOOM_ARTIFACT_NV = 2,
  TILELOOM_ARTIFACT_LLVM = 3,
  TILELOOM_ARTIFACT_RECIPE = 4, ///< JSON, docs/recipe.md
  TILELOOM_ARTIFACT_LLVMIR = 5, ///< LLVM IR after optimisation
  TILELOOM_ARTIFACT_PTX = 6,
  TILELOOM_ARTIFACT_CUBIN = 7,
  TILELOOM_ARTIFACT_REPORT = 8,      ///< JSON, docs/report.md; with TILELOOM_COMPILE_REPORT
  TILELOOM_ARTIFACT_REPORT_TEXT = 9, ///< the same as tables
  TILELOOM_ARTIFACT_DIAGNOSTICS = 10 ///< errors, warnings and notes; "" if there are none
} TileloomArtifactKind;

typedef enum TileloomCompileFlags {
  TILELOOM_COMPILE_REPORT = 1,            ///< make the report; runs ptxas if there is one
  TILELOOM_COMPILE_CUBIN_IF_POSSIBLE = 2, ///< make a cubin too, unless there is no ptxas
  TILELOOM_COMPILE_WERROR_PTXAS = 4,      ///< spills and C75xx/C76xx messages are errors
  TILELOOM_COMPILE_LINE_INFO = 8,         ///< source lines in PTX and cubin
  TILELOOM_COMPILE_VERIFY = 16, ///< verify the IR after every pass, not only after every stage
  TILELOOM_COMPILE_SAVE_PASSES = 32 ///< also put the IR after every pass into saveTemps/passes
} TileloomCompileFlags;

/// Set `size` to sizeof(TileloomCompileOptions) and the rest to zero, then what is needed.
typedef struct TileloomCompileOptions {
  size_t size;
  const char *target;     ///< "sm_90a", "sm_100a" or "sm_103a"
  const char *name;       ///< file name of `source` in diagnostics; null: "<source>"
  uint32_t emit;          ///< bits 1 << TileloomArtifactKind; 0: PTX
  uint32_t flags;         ///< TileloomCompileFlags
  const char *ptxas;      ///< path; null: $TILELOOM_PTXAS, $CUDA_HOME/bin, $PATH, nvidia-cuda-nvcc
  const char *saveTemps;  ///< directory for everything made on the way; null: none
  uint32_t ptxasTimeout;  ///< seconds; 0: 300
  uint32_t lowerOptLevel; ///< 0: O3, 1: O2, 2: O1, 3: O0
} TileloomCompileOptions;

typedef struct TileloomArtifacts TileloomArtifacts;

/// Compiles `source` (need not end in a null byte). 0 on success, 1 on failure. `*artifacts` is set
/// in either case (it holds the diagnostics) and must be released.
TILELOOM_API int32_t tileloomCompile(const char *source, size_t sourceSize,
                                     const TileloomCompileOptions *options,
                                     TileloomArtifacts **artifacts);

/// One artifact, or null if it was not made. Valid until the release. Text is null-terminated;
/// `*size` does not count that null byte.
TILELOOM_API const char *tileloomArtifactsGet(TileloomArtifacts *artifacts, uint32_t kind,
                                              size_t *size);

TILELOOM_API void tileloomArtifactsRelease(TileloomArtifacts *artifacts);

/// How long a tile program will take with a schedule. Times of one tile are in clocks of an SM.
typedef struct TileloomPrediction {
  double microseconds;
  double tiles, waves;
  double productClocks, copyClocks, otherClocks, turnClocks;
  double bytes; ///< through L2
  int64_t stages;
  int64_t raster; ///< a better `raster` than the default, or 0
  int64_t keep;   ///< a better `keep` than none: 1 for rows, 2 for columns; or 0
  int64_t split;  ///< slices of the loop: the schedule's, or what is best
  int64_t cluster;   ///< CTAs that load for each other, in the same way
  int64_t multicast; ///< what they share: 1 for rows, 2 for columns
  double learned;    ///< factor in `microseconds` that was learned for plain products, or 1
  int64_t termCount; ///< of the following, or 0
  double terms[64];  ///< what the time is made of (tileloom/Schedule/Terms.h)
  char reason[160]; ///< why the schedule cannot be used; "" if it can
} TileloomPrediction;

/// Predicts the time of the kernel in `source` (a tile program) on `target`. `schedule`: the text
/// of a #tile.schedule to use instead of the program's (`#tile.schedule<...>`), or null. `values`:
/// one for each argument of the kernel, INT64_MIN where it is not known; of a descriptor the bytes
/// from row to row. Returns 0; or 1 if the program or the schedule is wrong, with the start of the
/// message in `reason`.
TILELOOM_API int32_t tileloomPredict(const char *source, size_t size, const char *target,
                                     const char *schedule, const int64_t *values, size_t count,
                                     TileloomPrediction *prediction);

#ifdef __cplusplus
}
#endif
#endif // TILELOOM_C_COMPILER_H
