//===- RowCosts.h - What the rows of boxes cost beside their bytes ----------------*- C++ -*-===//

#ifndef TILELOOM_LIB_SCHEDULE_ROWCOSTS_H
#define TILELOOM_LIB_SCHEDULE_ROWCOSTS_H

#include "tileloom/Schedule/CostModel.h"
#include "tileloom/Schedule/ScalarValues.h"

#include "dialects/Tile/Tile.h"

namespace tileloom::schedule {

inline double rowBytes(mlir::RankedTensorType type) {
  return double(type.getShape().back()) * type.getElementTypeBitWidth() / 8;
}

/// Times what the bytes of a loaded box cost in whole lines of 128 bytes.
struct LoadedRows {
  bool split;    ///< whether rows begin at other places than lines
  double copy;   ///< on the way to one SM
  double fetch;  ///< in L2, where what neighbours read is counted once
  double narrow; ///< for rows of less than 128 bytes, on the way to one SM
  bool sectors;  ///< whether rows begin at other places than sectors of 32 bytes
};
LoadedRows loadedRows(tile::LoadOp load, ScalarValues &evaluate, const Machine &machine);

/// The same of a result that leaves in pieces of `columns`.
struct StoredRows {
  double leave; ///< on the way out of one SM
  double write; ///< in memory
};
StoredRows storedRows(mlir::Operation *store, int64_t columns, ScalarValues &evaluate, const Machine &machine);

} // namespace tileloom::schedule

#endif // TILELOOM_LIB_SCHEDULE_ROWCOSTS_H
