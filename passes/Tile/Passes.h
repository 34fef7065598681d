//===- Passes.h - Passes of the tile stage ---------------------------------------*- C++ -*-===//

#ifndef TILELOOM_PASSES_TILE_PASSES_H
#define TILELOOM_PASSES_TILE_PASSES_H

#include "mlir/Pass/Pass.h"

namespace tileloom::tile {

#define GEN_PASS_DECL
#include "passes/Tile/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/Tile/Passes.h.inc"

} // namespace tileloom::tile

#endif // TILELOOM_PASSES_TILE_PASSES_H
