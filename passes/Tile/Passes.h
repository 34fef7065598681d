//===- Passes.h - Passes of the tile stage ---------------------------------------*- C++ -*-===//

#ifndef TILELOOM_PASSES_TILE_PASSES_H
#define TILELOOM_PASSES_TILE_PASSES_H

#include "mlir/Pass/Pass.h"

namespace tileloom::tile {

/// On a kernel whose schedule does not say how many replicas: the compiler may take fewer.
inline constexpr llvm::StringLiteral replicasChosenAttrName = "tile.replicas_chosen";

/// On a tile.last_arrival: what is handed over are rows of products, each replica's to the one with the same rows. Without it the
/// arrival is the whole program's, and replicas cannot share the tile.
inline constexpr llvm::StringLiteral byRowsAttrName = "tile.by_rows";

#define GEN_PASS_DECL
#include "passes/Tile/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/Tile/Passes.h.inc"

} // namespace tileloom::tile

#endif // TILELOOM_PASSES_TILE_PASSES_H
