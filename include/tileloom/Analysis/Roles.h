//===- Roles.h - Facts about the roles of a kernel -------------------------------*- C++ -*-===//
//
// Which roles run in a single thread, which warps a role gets, and which CTA-wide arrival counts
// follow.
//
//===--------------------------------------------------------------------------------------===//

#ifndef TILELOOM_ANALYSIS_ROLES_H
#define TILELOOM_ANALYSIS_ROLES_H

#include "dialects/Warp/Warp.h"

namespace tileloom {

/// True if one elected thread can run the whole role: one warp, and nothing but scalar code, ring
/// operations and operations marked nv::SingleThread.
bool isSingleThreadRole(warp::RoleOp role);

/// How many arrivals complete one hand-over of a slot by this release: threads, warps or replicas,
/// by its kind.
int64_t arrivalsOf(warp::ReleaseOp release);

/// Whether a ring needs no mbarrier: one role alone acquires and releases it, by `bulk_read` only, so
/// that the store engine's own groups count its slots.
bool countedByStoreEngine(warp::RingOp ring);

/// CTAs that a kernel's launch wants on each SM at once (1 without a launch attribute).
int64_t ctasPerSm(mlir::Operation *function);

} // namespace tileloom

#endif // TILELOOM_ANALYSIS_ROLES_H
