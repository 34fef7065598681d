//===- LoopSums.h - Sums of products that loops carry ------------------------------*- C++ -*-===//

#ifndef TILELOOM_PASSES_TILE_LOOPSUMS_H
#define TILELOOM_PASSES_TILE_LOOPSUMS_H

#include "dialects/Tile/Tile.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/PatternMatch.h"

namespace tileloom::tile {

/// The product whose sum, from zero, iteration argument `index` of `loop` carries and nothing else uses; null if it carries
/// something else.
DotOp productSummedBy(mlir::scf::ForOp loop, unsigned index);

/// Puts `result`, computed behind `loop`, in place of what iteration argument `index` carries; `product` goes.
void replaceSum(mlir::RewriterBase &rewriter, mlir::scf::ForOp loop, unsigned index, DotOp product, mlir::Value result);

/// Takes away iteration arguments whose sums were replaced.
mlir::LogicalResult removeReplacedSums(mlir::Operation *root);

} // namespace tileloom::tile

#endif // TILELOOM_PASSES_TILE_LOOPSUMS_H
