//===- TileWork.h - What the tiles of a kernel have to do -------------------------*- C++ -*-===//

#ifndef TILELOOM_SCHEDULE_TILEWORK_H
#define TILELOOM_SCHEDULE_TILEWORK_H

#include "dialects/Tile/Tile.h"

namespace tileloom::schedule {

/// Whether tiles may take different times: how often a loop with copies or products in the body
/// runs, or whether a branch around some is taken, depends on the tile's coordinates or on memory.
bool tilesDiffer(tile::ForEachTileOp tiles);

/// Whether the place of a load comes from memory: neighbouring tiles may then load different ones.
bool placesAreRead(tile::ForEachTileOp tiles);

/// Whether what is stored is a sum, or a conversion of one: no work to do before it leaves.
bool isPlainResult(mlir::Value stored);

/// Whether what is stored is computed from transposes of sums (tile-swap-operands), and from no sum as it is.
bool isTransposed(mlir::Value stored);

/// Whether tiles may load differently many boxes, each by what is known of it as it runs.
bool loadsDiffer(mlir::Operation *kernel);

} // namespace tileloom::schedule

#endif // TILELOOM_SCHEDULE_TILEWORK_H
