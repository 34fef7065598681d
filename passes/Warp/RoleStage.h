//===- RoleStage.h - Scheduling of the work within each role ----------------------*- C++ -*-===//
//
// The passes that turn sequential roles into scheduled ones, as one pipeline.
//
//===--------------------------------------------------------------------------------------===//

#ifndef TILELOOM_PASSES_WARP_ROLESTAGE_H
#define TILELOOM_PASSES_WARP_ROLESTAGE_H

#include "mlir/Pass/PassManager.h"

namespace tileloom {

/// Appends the role stage: in, roles in program order that await each product at once; out, roles
/// whose products and synchronous work overlap. Comes after roles are split over replicas, and before
/// buildWarpStage.
void buildRoleStage(mlir::OpPassManager &pm);

/// Registers it as the pipeline `tileloom-role`.
void registerRolePipeline();

} // namespace tileloom

#endif // TILELOOM_PASSES_WARP_ROLESTAGE_H
