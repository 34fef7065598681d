//===- SkewExpansion.h - A role's loop, rewritten to a plan -----------------------*- C++ -*-===//
//
// What warp-pipeline-role does once the schedule is decided.
//
//===--------------------------------------------------------------------------------------===//

#ifndef TILELOOM_PASSES_WARP_SKEWEXPANSION_H
#define TILELOOM_PASSES_WARP_SKEWEXPANSION_H

#include "tileloom/Schedule/Skew.h"

namespace tileloom::warp {

/// Replaces the loop by prologue, steady loop and epilogue of `plan` (the steady loop alone if nothing
/// is skewed). Gives back the steady loop.
mlir::scf::ForOp expandSkew(const schedule::RoleLoop &graph, const schedule::SkewPlan &plan);

} // namespace tileloom::warp

#endif // TILELOOM_PASSES_WARP_SKEWEXPANSION_H
