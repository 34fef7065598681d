//===- RowSplitter.h - The tiles of a role over its replicas ----------------------*- C++ -*-===//

#ifndef TILELOOM_PASSES_WARP_ROWSPLITTER_H
#define TILELOOM_PASSES_WARP_ROWSPLITTER_H

#include "dialects/Warp/Warp.h"

#include <optional>
#include <string>

namespace tileloom {

/// What keeps the rows (or columns) of a role together.
struct RowsRefused {
  mlir::Operation *op;
  std::string reason;
};

/// Gives each of `replicas` its share of the rows (dimension 0 of products) or columns (1) of every tile. Changes nothing but copies of
/// constants and positions if they cannot be told apart.
std::optional<RowsRefused> splitTiles(warp::RoleOp role, int64_t replicas, int64_t dimension);

} // namespace tileloom

#endif // TILELOOM_PASSES_WARP_ROWSPLITTER_H
