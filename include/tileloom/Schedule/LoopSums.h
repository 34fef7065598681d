//===- LoopSums.h - Sums that loops carry -----------------------------------------*- C++ -*-===//

#ifndef TILELOOM_SCHEDULE_LOOPSUMS_H
#define TILELOOM_SCHEDULE_LOOPSUMS_H

#include "dialects/Tile/Tile.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tileloom::schedule {

/// What adds to the sum that iteration argument `index` of `loop` carries from zero: a product that accumulates in
/// it, or an addition. Null if it is no such sum, or something else in the loop uses it.
mlir::Operation *additionTo(mlir::scf::ForOp loop, unsigned index);

/// The same if it is a product.
tile::DotOp productSummedBy(mlir::scf::ForOp loop, unsigned index);

} // namespace tileloom::schedule

#endif // TILELOOM_SCHEDULE_LOOPSUMS_H
