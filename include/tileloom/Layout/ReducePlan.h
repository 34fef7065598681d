//===- ReducePlan.h - Reductions and broadcasts along a dimension -----------===//
//
// What a reduction of a register tile has to combine: registers of one thread, then lanes
// (butterfly shuffles), then warps (through shared memory); its inverse, the broadcast of a
// slice; and the fold of columns onto the first ones.
//
//===----------------------------------------------------------------------===//
#ifndef TILELOOM_LAYOUT_REDUCEPLAN_H
#define TILELOOM_LAYOUT_REDUCEPLAN_H

#include "tileloom/Layout/RegisterLayout.h"

namespace tileloom::layout {

struct ReducePlan {
  /// Layout of the result: slice(layout, dim).layout.
  RegisterLayout result;
  /// For each result register the registers to combine, in ascending order of their index along the
  /// dimension (as lane 0 of warp 0 sees it). No element occurs twice.
  llvm::SmallVector<llvm::SmallVector<unsigned, 16>, 4> sources;
  /// Then combine with lane ^ mask for each mask.
  llvm::SmallVector<unsigned, 5> laneMasks;
  /// Warps whose partial results have to be combined, one list per set; empty when every warp has
  /// its result already. A set lists all warps that end up with the same result: the first
  /// `distinct` hold different parts of it, the rest are copies of those and only need the result.
  struct WarpSet {
    llvm::SmallVector<unsigned, 8> warps;
    unsigned distinct = 0;
  };
  llvm::SmallVector<WarpSet, 4> warpSets;
};

llvm::Expected<ReducePlan> reducePlan(const RegisterLayout &layout, unsigned dim);

/// Register i of `layout` takes register result[i] of `source`, a tensor without `dim`. Fails when
/// a thread does not hold the elements that it needs: convert to slice(layout, dim) first.
llvm::Expected<llvm::SmallVector<unsigned, 16>>
broadcastPlan(const RegisterLayout &source, const RegisterLayout &layout, unsigned dim);

/// The register of `result` that register i of `source` folds onto: column c of the source belongs
/// to column c modulo the result's extent. Fails where a thread does not hold both.
llvm::Expected<llvm::SmallVector<unsigned, 16>> foldPlan(const RegisterLayout &source,
                                                         const RegisterLayout &result);

} // namespace tileloom::layout

#endif // TILELOOM_LAYOUT_REDUCEPLAN_H
