//===- SplitLoop.h - Loops whose iterations may be shared out --------------------*- C++ -*-===//
//
// A loop that only adds to sums may run in slices, each an item of work of its own: the sums of all
// slices together are those of the loop.
//
//===--------------------------------------------------------------------------------------===//

#ifndef TILELOOM_SCHEDULE_SPLITLOOP_H
#define TILELOOM_SCHEDULE_SPLITLOOP_H

#include "dialects/Tile/Tile.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace tileloom::schedule {

struct SplitLoop {
  tile::ForEachTileOp tiles;
  mlir::scf::ForOp loop;          ///< null if there is none
  mlir::Operation *at = nullptr;  ///< then: what stands in the way,
  const char *expected = nullptr; ///< and what is expected there
};

/// The loop of a tile program that can be shared out over items of work.
SplitLoop findSplitLoop(mlir::FunctionOpInterface kernel);

} // namespace tileloom::schedule

#endif // TILELOOM_SCHEDULE_SPLITLOOP_H
