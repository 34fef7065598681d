//===- EmptyTiles.h - Tiles for which no role does anything ------------------------*- C++ -*-===//

#ifndef TILELOOM_PASSES_WARP_EMPTYTILES_H
#define TILELOOM_PASSES_WARP_EMPTYTILES_H

#include "dialects/Warp/Warp.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tileloom {

/// The branch without which a tile has no work, one for each of the loops: their bodies are scalars and loads, and then a branch without an else on the
/// same condition in all of them. Empty where that is not so.
llvm::SmallVector<mlir::scf::IfOp> branchesOverTiles(llvm::ArrayRef<warp::ForEachTileOp> loops);

} // namespace tileloom

#endif // TILELOOM_PASSES_WARP_EMPTYTILES_H
