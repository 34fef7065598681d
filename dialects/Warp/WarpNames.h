//===- WarpNames.h - Discardable attributes of the warp dialect -------------------*- C++ -*-===//

#ifndef TILELOOM_DIALECTS_WARP_WARPNAMES_H
#define TILELOOM_DIALECTS_WARP_WARPNAMES_H

#include "llvm/ADT/StringRef.h"

namespace tileloom::warp {

/// On functions: a #warp.launch; between warp-partition and warp-split-roles an array of strings, the roles in order.
inline constexpr llvm::StringLiteral launchAttrName = "warp.launch";
inline constexpr llvm::StringLiteral rolesAttrName = "warp.roles";

/// On operations of a kernel that is not split yet: a string, the role that performs it.
inline constexpr llvm::StringLiteral inAttrName = "warp.in";

/// On warp.for_each_tile of all roles: "dynamic" where CTAs draw tiles from a counter.
inline constexpr llvm::StringLiteral schedulerAttrName = "warp.scheduler";
/// On for_each_tile whose tiles are drawn and get shorter along a row: 4 holds the last quarter of each
/// row back, see DrawOrder.
inline constexpr llvm::StringLiteral holdBackAttrName = "warp.hold_back";

/// On loops, what a program may ask for. "off": the order of the products, of the work beside them, the turns of
/// replicas are the program's. Then: products that stay in flight from one iteration to the next (0 or 1), and a number of
/// iterations that there are at least.
inline constexpr llvm::StringLiteral pipelineAttrName = "warp.pipeline";
inline constexpr llvm::StringLiteral stageAttrName = "warp.stage";
inline constexpr llvm::StringLiteral turnsAttrName = "warp.turns";
/// Unit attribute of a skewed loop in which one replica's chain of work takes longer than what the busiest unit does for all.
inline constexpr llvm::StringLiteral longChainAttrName = "warp.long_chain";
inline constexpr llvm::StringLiteral pendingAttrName = "warp.pending";
inline constexpr llvm::StringLiteral minTripsAttrName = "warp.min_trips";

/// Unit, on loops whose products this compiler has overlapped with other work, as opposed to those that their program has
/// scheduled.
inline constexpr llvm::StringLiteral overlapAttrName = "warp.overlap";

/// Unit, on acquires: replicas take the slots in turn, so that each slot is used by one of them only; nothing follows but
/// the end of the role (warp-drain-rings).
inline constexpr llvm::StringLiteral alternateAttrName = "warp.alternate";
inline constexpr llvm::StringLiteral drainAttrName = "warp.drain";

} // namespace tileloom::warp

#endif // TILELOOM_DIALECTS_WARP_WARPNAMES_H
