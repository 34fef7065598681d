//===- TileWork.h - Whether all tiles have the same work -------------------------*- C++ -*-===//

#ifndef TILELOOM_SCHEDULE_TILEWORK_H
#define TILELOOM_SCHEDULE_TILEWORK_H

#include "dialects/Tile/Tile.h"

namespace tileloom::schedule {

/// Whether tiles may take different times: how often a loop with copies or products in the body
/// runs, or whether a branch around some is taken, depends on the tile's coordinates or on memory.
bool tilesDiffer(tile::ForEachTileOp tiles);

/// Whether the place of a load comes from memory: neighbouring tiles may then load different ones.
bool placesAreRead(tile::ForEachTileOp tiles);

/// Whether tiles may load differently many boxes, each by what is known of it as it runs.
bool loadsDiffer(mlir::Operation *kernel);

} // namespace tileloom::schedule

#endif // TILELOOM_SCHEDULE_TILEWORK_H
