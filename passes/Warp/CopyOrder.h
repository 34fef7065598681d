//===- CopyOrder.h - Copies in the order in which their slots are taken -----------*- C++ -*-===//

#ifndef TILELOOM_PASSES_WARP_COPYORDER_H
#define TILELOOM_PASSES_WARP_COPYORDER_H

#include "tileloom/Schedule/Skew.h"

#include "dialects/Warp/Warp.h"

#include "llvm/ADT/SetVector.h"

namespace tileloom::warp {

/// Buffers whose slots a kernel's loops take for the iteration at work, or for the one before.
struct SlotStages {
  llvm::SmallSetVector<mlir::Value, 4> early, late;

  void add(const schedule::RoleLoop &graph, const schedule::SkewPlan &plan);
  void addInOrder(mlir::scf::ForOp loop);
  /// Skews the loops of `specialize` that copy both to slots that are always taken late and to others.
  void skewCopies(SpecializeOp specialize);
};

} // namespace tileloom::warp

#endif // TILELOOM_PASSES_WARP_COPYORDER_H
