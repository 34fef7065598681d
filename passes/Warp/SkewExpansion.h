//===- SkewExpansion.h - A role's loop, rewritten to a plan -----------------------*- C++ -*-===//
//
// What warp-pipeline-role does once the schedule is decided.
//
//===--------------------------------------------------------------------------------------===//

#ifndef TILELOOM_PASSES_WARP_SKEWEXPANSION_H
#define TILELOOM_PASSES_WARP_SKEWEXPANSION_H

#include "tileloom/Schedule/Skew.h"

namespace tileloom::warp {

/// Unit attribute of a loop whose products this compiler has overlapped with other work, as opposed to
/// one that its program has scheduled.
inline constexpr llvm::StringLiteral overlapAttrName = "warp.overlap";

/// Attribute of a loop: "off" lets replicas issue its products without turns.
inline constexpr llvm::StringLiteral turnsAttrName = "warp.turns";

/// Unit attribute of such a loop in which one replica's chain of work takes longer than what the busiest unit does for all.
inline constexpr llvm::StringLiteral longChainAttrName = "warp.long_chain";

/// Replaces the loop by prologue, steady loop and epilogue of `plan` (the steady loop alone if nothing
/// is skewed). Gives back the steady loop.
mlir::scf::ForOp expandSkew(const schedule::RoleLoop &graph, const schedule::SkewPlan &plan);

} // namespace tileloom::warp

#endif // TILELOOM_PASSES_WARP_SKEWEXPANSION_H
