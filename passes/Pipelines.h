//===- Pipelines.h - The stages of the compiler as pass pipelines -----------------*- C++ -*-===//
//
// Each stage is one function that adds its passes, in order. kernel-opt runs them one after the
// other in compile mode, and offers each by its name (tileloom-warp, ...) as an opt tool.
//
//===--------------------------------------------------------------------------------------===//

#ifndef TILELOOM_PASSES_PIPELINES_H
#define TILELOOM_PASSES_PIPELINES_H

#include "mlir/Pass/PassManager.h"

#include <string>

namespace tileloom {

struct PipelineOptions {
  std::string chip = "sm_90a"; ///< a name of Target/Chip.h
  bool lineInfo = false;       ///< give every function a debug scope, so that PTX has .loc lines
};

/// The part of the tile stage after which the cost model can look at a program: products as they will be, and
/// the whole schedule.
void buildPredictionStage(mlir::OpPassManager &pm, const PipelineOptions &options);

/// Tile programs: the schedule, shapes and sums in the form that the warp stage starts from.
void buildTileStage(mlir::OpPassManager &pm, const PipelineOptions &options);

/// From tiles to roles: who does what, with which buffers and rings, in which order.
void buildWarpStage(mlir::OpPassManager &pm, const PipelineOptions &options);

/// Roles, buffers and rings: expand what is shorthand, verify the rings, assign stage and phase.
void buildRingStage(mlir::OpPassManager &pm, const PipelineOptions &options);

/// warp and nv operations to the mechanisms of one chip.
void buildNVStage(mlir::OpPassManager &pm, const PipelineOptions &options);

/// Everything to the LLVM and NVVM dialects.
void buildEmitStage(mlir::OpPassManager &pm, const PipelineOptions &options);

/// Registers tileloom-tile, tileloom-warp, tileloom-nv and tileloom-emit, each with the options of
/// PipelineOptions.
void registerPipelines();

} // namespace tileloom

#endif // TILELOOM_PASSES_PIPELINES_H
