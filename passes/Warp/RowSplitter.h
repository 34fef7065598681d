//===- RowSplitter.h - The rows of a role's tiles over its replicas --------------*- C++ -*-===//

#ifndef TILELOOM_PASSES_WARP_ROWSPLITTER_H
#define TILELOOM_PASSES_WARP_ROWSPLITTER_H

#include "dialects/Warp/Warp.h"

#include <optional>
#include <string>

namespace tileloom {

/// What keeps the rows of a role together.
struct RowsRefused {
  mlir::Operation *op;
  std::string reason;
};

/// Gives each of `replicas` its share of the rows of every tile. Changes nothing but copies of
/// constants and positions if the rows cannot be told apart.
std::optional<RowsRefused> splitRows(warp::RoleOp role, int64_t replicas);

} // namespace tileloom

#endif // TILELOOM_PASSES_WARP_ROWSPLITTER_H
