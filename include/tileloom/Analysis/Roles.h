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

/// Attribute of a role: the first of its warps in the CTA (nv-assign-warps).
inline constexpr llvm::StringLiteral firstWarpAttrName = "nv.first_warp";
/// Unit attribute of an acquire whose replicas take the slots in turn: each slot is then used by
/// one replica only.
inline constexpr llvm::StringLiteral alternateAttrName = "warp.alternate";
/// Attribute of a role that uses nv.named_barrier: the hardware barrier of its first replica.
inline constexpr llvm::StringLiteral barrierAttrName = "nv.barrier";
/// Attribute of a function: threads of a CTA.
inline constexpr llvm::StringLiteral threadsAttrName = "nv.threads";
/// On roles of one warp, once nv-assign-warps has run: whether one thread runs it. What shows it is
/// gone after tiles have become scalars.
inline constexpr llvm::StringLiteral singleThreadAttrName = "nv.single_thread";
/// On accesses to global memory: the dimension along which elements are neighbours and how many of
/// them one thread may access together.
inline constexpr llvm::StringLiteral runAttrName = "nv.run";
/// On element-wise integer operations on tiles: how many elements along each dimension form aligned
/// groups of equal elements.
inline constexpr llvm::StringLiteral equalAttrName = "nv.equal";
/// On kernels: the extents of the grid, as recipe expressions (docs/recipe.md).
inline constexpr llvm::StringLiteral gridAttrName = "nv.grid";

/// On arguments that the runtime gives and not the user: bytes of a workspace, as a recipe expression. It
/// starts zeroed, and kernels leave it so, unless it has the unit attribute `nv.unset`.
inline constexpr llvm::StringLiteral workspaceAttrName = "nv.workspace";
inline constexpr llvm::StringLiteral unsetAttrName = "nv.unset";

/// CTAs that a kernel's launch wants on each SM at once (1 without a launch attribute).
int64_t ctasPerSm(mlir::Operation *function);

} // namespace tileloom

#endif // TILELOOM_ANALYSIS_ROLES_H
