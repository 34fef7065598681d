//===- RowCopies.h - Copies for values that are wanted in several slices ---------*- C++ -*-===//

#ifndef TILELOOM_PASSES_WARP_ROWCOPIES_H
#define TILELOOM_PASSES_WARP_ROWCOPIES_H

#include "dialects/Warp/Warp.h"

namespace tileloom {

/// Whether an operation's result is the same whatever slice of it is wanted: each use can have a
/// copy of its own.
bool isAdaptable(mlir::Operation *op);

/// Gives each use of such a result, and each reduction of what every replica computes whole, a copy.
void separateRows(warp::RoleOp role);

} // namespace tileloom

#endif // TILELOOM_PASSES_WARP_ROWCOPIES_H
