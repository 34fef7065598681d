//===- TileNames.h - Discardable attributes of the tile dialect -------------------*- C++ -*-===//

#ifndef TILELOOM_DIALECTS_TILE_TILENAMES_H
#define TILELOOM_DIALECTS_TILE_TILENAMES_H

#include "llvm/ADT/StringRef.h"

namespace tileloom::tile {

/// On functions: unit, a kernel; its #tile.schedule; unit, that the schedule did not say how many replicas, so that the
/// compiler may take fewer.
inline constexpr llvm::StringLiteral kernelAttrName = "tile.kernel";
inline constexpr llvm::StringLiteral scheduleAttrName = "tile.schedule";
inline constexpr llvm::StringLiteral replicasChosenAttrName = "tile.replicas_chosen";

/// On a tile.last_arrival: what is handed over are rows of products, each replica's to the one with the same rows. Without it the
/// arrival is the whole program's, and replicas cannot share the tile.
inline constexpr llvm::StringLiteral byRowsAttrName = "tile.by_rows";

/// On arguments of kernels: a string; the type of what an i64 points to; what the argument is a multiple of (pointers: in
/// bytes); the number of the descriptor whose tensor this one is a view of, with boxes of its own.
inline constexpr llvm::StringLiteral argumentNameAttrName = "tile.name";
inline constexpr llvm::StringLiteral pointerAttrName = "tile.pointer";
inline constexpr llvm::StringLiteral divisibilityAttrName = "tile.divisibility";
inline constexpr llvm::StringLiteral sameAsAttrName = "tile.same_as";

/// On loops: the depth of the rings that are filled in them.
inline constexpr llvm::StringLiteral stagesAttrName = "tile.num_stages";

} // namespace tileloom::tile

#endif // TILELOOM_DIALECTS_TILE_TILENAMES_H
