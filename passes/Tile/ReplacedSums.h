//===- ReplacedSums.h - Sums of loops, computed another way ------------------------*- C++ -*-===//

#ifndef TILELOOM_PASSES_TILE_REPLACEDSUMS_H
#define TILELOOM_PASSES_TILE_REPLACEDSUMS_H

#include "dialects/Tile/Tile.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/PatternMatch.h"

namespace tileloom::tile {

/// The product whose sum iteration argument `index` of `loop` carries from zero, if that sum is its only use; else null.
DotOp replaceableProduct(mlir::scf::ForOp loop, unsigned index);

/// Puts `result`, computed behind `loop`, in place of what iteration argument `index` carries; `product` goes.
void replaceSum(mlir::RewriterBase &rewriter, mlir::scf::ForOp loop, unsigned index, DotOp product, mlir::Value result);

/// Takes away iteration arguments whose sums were replaced.
mlir::LogicalResult removeReplacedSums(mlir::Operation *root);

} // namespace tileloom::tile

#endif // TILELOOM_PASSES_TILE_REPLACEDSUMS_H
