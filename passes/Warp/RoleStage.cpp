//===- RoleStage.cpp - Scheduling of the work within each role ----------------------------===//
//
// The order, and why: reductions and scales have their recurrences in the loop as written, which the
// skew spreads over two iterations; masks are split off the skewed loop, so that nothing drains
// between its parts; what is left of each body is then put in order.
//
//===--------------------------------------------------------------------------------------===//

#include "passes/Warp/RoleStage.h"

#include "passes/Warp/Passes.h"

#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

void tileloom::buildRoleStage(OpPassManager &pm) {
  pm.addPass(warp::createWarpDeferReductions());
  pm.addPass(warp::createWarpGuardScales());
  pm.addPass(warp::createWarpPipelineRole());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(warp::createWarpSplitMasks());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  pm.addPass(warp::createWarpBranchMasks());
  pm.addPass(warp::createWarpStartAtZero());
  pm.addPass(warp::createWarpTakeTurns());
  pm.addPass(warp::createWarpStageRole());
  pm.addPass(createCSEPass());
  pm.addPass(warp::createWarpSpeculate());
}

void tileloom::registerRolePipeline() {
  PassPipelineRegistration<>("tileloom-role",
                             "The role stage: overlap products with other work in each role",
                             [](OpPassManager &pm) { buildRoleStage(pm); });
}
