//===- Pipelines.cpp - The stages of the compiler as pass pipelines ------------------------===//
//
// The order of the passes, and nothing else.
//
//===--------------------------------------------------------------------------------------===//

#include "passes/Pipelines.h"

#include "passes/Emit/Passes.h"
#include "passes/NV/Passes.h"
#include "passes/Tile/Passes.h"
#include "passes/Warp/Passes.h"
#include "passes/Warp/RoleStage.h"

#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/Transforms/Passes.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

namespace tileloom {

void buildPredictionStage(OpPassManager &pm, const PipelineOptions &options) {
  pm.addPass(tile::createTileExpandScaledProducts());
  pm.addPass(tile::createTileSwapOperands({options.chip}));
  pm.addPass(tile::createTileJoinProducts());
  pm.addPass(tile::createTileAssignSchedule({options.chip}));
}

void buildTileStage(OpPassManager &pm, const PipelineOptions &options) {
  pm.addPass(createInlinerPass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  pm.addPass(tile::createTilePlaceWorkspaces());
  pm.addPass(tile::createTileCheckCopies());
  buildPredictionStage(pm, options);
  pm.addPass(tile::createTileFormClusters());
  pm.addPass(tile::createTileSplitLoops());
  pm.addPass(tile::createTileFoldZeroInit());
  pm.addPass(tile::createTileNormalizeShapes());
  pm.addPass(createLoopInvariantCodeMotionPass());
  pm.addPass(createCSEPass());
}

void buildWarpStage(OpPassManager &pm, const PipelineOptions &options) {
  pm.addPass(warp::createWarpExpandChannels());
  pm.addPass(warp::createWarpPartition({options.chip}));
  pm.addPass(warp::createWarpInsertRings({options.chip}));
  pm.addPass(warp::createWarpSplitRoles());
  pm.addPass(warp::createWarpSplitReplicas());
  pm.addPass(warp::createWarpNarrowTensorMemory());
  pm.addPass(warp::createWarpPlanBuffers());
  buildRoleStage(pm);
  pm.addPass(tile::createTileLowerToNV());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  pm.addPass(warp::createWarpFormTransposes());
  pm.addPass(warp::createWarpSliceColumns());
  pm.addPass(warp::createWarpSliceResults());
}

void buildRingStage(OpPassManager &pm, const PipelineOptions &options) {
  pm.addPass(warp::createWarpExpandDivisions());
  pm.addPass(warp::createWarpExpandStores());
  pm.addPass(warp::createWarpOrderHandovers());
  pm.addPass(warp::createWarpExpandTileLoops());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  pm.addPass(warp::createWarpVerifyRings());
  pm.addPass(warp::createWarpDrainRings());
  pm.addPass(warp::createWarpAssignStagePhase());
  pm.addPass(createLoopInvariantCodeMotionPass());
  pm.addPass(warp::createWarpInvariantDivisions());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
}

void buildNVStage(OpPassManager &pm, const PipelineOptions &options) {
  pm.addPass(nv::createNVCheckTarget({options.chip}));
  pm.addPass(nv::createNVResolveBoxes());
  pm.addPass(nv::createNVAssignTensorMemory());
  pm.addPass(nv::createNVMarkEqual());
  pm.addPass(nv::createNVAssignLayouts());
  pm.addPass(nv::createNVInsertFences());
  pm.addPass(nv::createNVInsertTcgen05Fences());
  pm.addPass(nv::createNVFindLifetimes());
  pm.addPass(nv::createNVLowerRings());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  pm.addPass(nv::createNVAssignScratch());
  pm.addPass(nv::createNVAssignWarps());
  pm.addPass(nv::createNVAllocateTensorMemory());
  pm.addPass(nv::createNVAllocateShared());
  pm.addPass(nv::createNVPlanRegisters());
  pm.addPass(nv::createNVHoistDescriptors({options.chip}));
  pm.addPass(nv::createNVWriteReport());
}

void buildEmitStage(OpPassManager &pm, const PipelineOptions &options) {
  pm.addPass(emit::createConvertTiles());
  pm.addPass(emit::createExpandMath());
  pm.addPass(emit::createOrderStores());
  pm.addPass(emit::createLowerRoles());
  pm.addPass(emit::createConvertPTX());
  pm.addPass(createCSEPass());
  pm.addPass(createSCFToControlFlowPass());
  pm.addPass(emit::createConvertToLLVM());
  pm.addPass(emit::createFinalizeKernels());
  pm.addPass(createReconcileUnrealizedCastsPass());
  if (options.lineInfo) {
    // Only .loc and .file, as nvcc -lineinfo: any other kind prints `.target ..., debug`, which
    // turns ptxas's optimiser down.
    LLVM::DIScopeForLLVMFuncOpPassOptions scopes;
    scopes.emissionKind = LLVM::DIEmissionKind::DebugDirectivesOnly;
    pm.addPass(LLVM::createDIScopeForLLVMFuncOpPass(scopes));
  }
}

namespace {
struct CommandLineOptions : PassPipelineOptions<CommandLineOptions> {
  Option<std::string> chip{*this, "chip", llvm::cl::desc("target, such as sm_90a"),
                           llvm::cl::init("sm_90a")};
  Option<bool> lineInfo{*this, "line-info", llvm::cl::desc("debug scopes for .loc lines"),
                        llvm::cl::init(false)};

  PipelineOptions get() const { return {chip, lineInfo}; }
};
} // namespace

void registerPipelines() {
  registerRolePipeline();
  PassPipelineRegistration<CommandLineOptions>(
      "tileloom-tile", "The tile stage: decide the schedule, normalise",
      [](OpPassManager &pm, const CommandLineOptions &options) {
        buildTileStage(pm, options.get());
      });
  PassPipelineRegistration<CommandLineOptions>(
      "tileloom-warp", "The warp stage: expand, verify the rings, assign stage and phase",
      [](OpPassManager &pm, const CommandLineOptions &options) {
        buildWarpStage(pm, options.get());
        buildRingStage(pm, options.get());
      });
  PassPipelineRegistration<CommandLineOptions>(
      "tileloom-nv", "The nv stage: to the mechanisms of one chip",
      [](OpPassManager &pm, const CommandLineOptions &options) {
        buildNVStage(pm, options.get());
      });
  PassPipelineRegistration<CommandLineOptions>(
      "tileloom-emit", "The emit stage: to the LLVM and NVVM dialects",
      [](OpPassManager &pm, const CommandLineOptions &options) {
        buildEmitStage(pm, options.get());
      });
}

} // namespace tileloom
