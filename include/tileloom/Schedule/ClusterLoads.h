//===- ClusterLoads.h - What neighbouring tiles load alike -----------------------*- C++ -*-===//
//
// CTAs of a cluster work on tiles that differ in one extent of the loop over tiles. What all of these
// load at the same places, as often, each CTA may load a part of and send to all.
//
//===--------------------------------------------------------------------------------------===//

#ifndef TILELOOM_SCHEDULE_CLUSTERLOADS_H
#define TILELOOM_SCHEDULE_CLUSTERLOADS_H

#include "dialects/Tile/Tile.h"

namespace tileloom::schedule {

/// Unit attribute of a tile.load: the CTAs of a cluster load a part of the box each, for all of them.
inline constexpr llvm::StringLiteral multicastAttrName = "tile.multicast";

/// The extent along which the tiles of a cluster are neighbours: the last one if they share what belongs to
/// rows of tiles ("rows"), else the one before. None if there is no such extent.
std::optional<unsigned> clusterExtent(tile::ForEachTileOp tiles, llvm::StringRef multicast);

/// Whether `value`, in the body of `tiles`, may be another one for another index along `extent`. Two reads of one
/// place are taken to be alike, other effects are not.
bool variesAlong(tile::ForEachTileOp tiles, unsigned extent, mlir::Value value);

/// Loads in inner loops that the tiles of `ctas` neighbours along `extent` have in common. Only products
/// read them, where they lie: a remote arrival orders no ordinary reads. Each CTA's part is a multiple of 8
/// rows, after which a swizzle repeats.
llvm::SmallVector<tile::LoadOp> sharedLoads(tile::ForEachTileOp tiles, unsigned extent, int64_t ctas);

} // namespace tileloom::schedule

#endif // TILELOOM_SCHEDULE_CLUSTERLOADS_H
