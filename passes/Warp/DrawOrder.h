//===- DrawOrder.h - In which order tiles are drawn ------------------------------*- C++ -*-===//
//
// What comes last decides how evenly a launch ends. Where a row's tiles get shorter, the shortest of
// many rows are held back until the others of these rows are drawn, so that no CTA starts a long tile
// late (`warp.hold_back`); where rows are short, of the last rows only.
//
//===--------------------------------------------------------------------------------------===//

#ifndef TILELOOM_PASSES_WARP_DRAWORDER_H
#define TILELOOM_PASSES_WARP_DRAWORDER_H

#include "passes/Warp/TileLoops.h"

namespace tileloom {

/// From the number of a draw to the number of a tile, as for_each_tile counts them.
class DrawOrder {
public:
  /// Computes before `tiles` what is the same for all draws of `ctas` CTAs.
  DrawOrder(warp::ForEachTileOp tiles, mlir::Value ctas);

  /// The tile of a draw, or the draw itself at the end of the tiles.
  mlir::Value tileOf(mlir::Value draw, TileMath &math) const;

  mlir::Value total() const { return tiles; }

private:
  void holdLast(TileMath &math, mlir::Value ctas);
  mlir::Value placeIn(mlir::Value rest, mlir::Value own, mlir::Value divisor, TileMath &math) const;

  bool lastOnly = false;
  mlir::Value tiles, columns, group, rows;
  mlir::Value early, late;              // columns; none where nothing is held back
  mlir::Value together, tilesTogether;  // rows whose tiles are held back together, in each part or the last rows
  mlir::Value before;                   // tiles in front of the last rows
};

} // namespace tileloom

#endif // TILELOOM_PASSES_WARP_DRAWORDER_H
