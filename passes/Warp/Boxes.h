//===- Boxes.h - Boxes of global tensors, and the tiles that are copied ------------*- C++ -*-===//

#ifndef TILELOOM_PASSES_WARP_BOXES_H
#define TILELOOM_PASSES_WARP_BOXES_H

#include "dialects/NV/NV.h"
#include "dialects/Tile/Tile.h"

namespace tileloom {

/// The copies of a load: one into all of the view or, for several boxes, one for each into its rows of the
/// view. Gives all operations that are made, in order.
llvm::SmallVector<mlir::Operation *> copyBoxes(mlir::OpBuilder &builder, tile::LoadOp load,
                                               mlir::Value view, nv::CacheHintAttr hint);

/// The executing CTA's part of a load that the `ctas` CTAs of a cluster do for each other: as many rows of the view as
/// each of them, sent to all.
llvm::SmallVector<mlir::Operation *> copyShare(mlir::OpBuilder &builder, tile::LoadOp load, mlir::Value view,
                                               nv::CacheHintAttr hint, int64_t ctas);

/// The dimension of a box that dimension `dim` of a tile is, or the first of those that are one in the
/// tile (which counts rows by fewer indices).
size_t placeInBox(llvm::ArrayRef<int64_t> box, llvm::ArrayRef<int64_t> tile, int64_t dim);

} // namespace tileloom

#endif // TILELOOM_PASSES_WARP_BOXES_H
