//===- RingScopes.h - Which CTAs wait for and signal a ring ----------------------*- C++ -*-===//
//
// A ring hands slots over inside a CTA, between the two CTAs of a pair, or in a cluster. Where its
// mbarriers are waited for, where a release arrives and how many arrivals that makes follow from
// the ring's scope and from which roles run in the even CTA only.
//
//===--------------------------------------------------------------------------------------===//

#ifndef TILELOOM_PASSES_NV_RINGSCOPES_H
#define TILELOOM_PASSES_NV_RINGSCOPES_H

#include "dialects/Warp/Warp.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tileloom {

/// CTAs of the kernel's clusters.
int64_t clusterSize(mlir::func::FuncOp function);

/// True if a leader role takes the ring's slots, for both CTAs of a pair.
bool waitsInLeader(warp::RingOp ring);

/// Where a release by `role` arrives.
nv::Targets releaseTargets(warp::RingOp ring, warp::RoleOp role);

/// How many CTAs run `role` and arrive on one and the same mbarrier of the ring.
int64_t releasingCtas(warp::RingOp ring, warp::RoleOp role, int64_t cluster);

/// The cta_group of the kernel's tcgen05 operations, 1 if it has none.
int64_t tcgen05Group(mlir::func::FuncOp function);

/// Scopes, leader roles, cta_groups and the cluster size fit together.
mlir::LogicalResult checkScopes(mlir::func::FuncOp function);

} // namespace tileloom

#endif // TILELOOM_PASSES_NV_RINGSCOPES_H
