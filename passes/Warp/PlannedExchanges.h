//===- PlannedExchanges.h - Shared memory that exchanges will take --------------*- C++ -*-===//

#ifndef TILELOOM_PASSES_WARP_PLANNEDEXCHANGES_H
#define TILELOOM_PASSES_WARP_PLANNEDEXCHANGES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tileloom::warp {

/// Shared memory that exchanges between warps will take (nv-assign-scratch): tiles that change
/// their shape, and tiles that are written through pointers in other pieces than a thread holds of
/// them. A thread has a row of a tile from tensor memory, but pairs of columns of wgmma's sums:
/// these are rearranged where 16 bytes of narrow elements can be written at once, and bytes always
/// (nv-assign-layouts compares sectors). A scan wants all of a line in one thread. Reductions along
/// rows exchange parts.
struct Exchanges {
  llvm::SmallVector<mlir::Operation *> ops;
  int64_t bytes = 0;
};
Exchanges exchangesOf(mlir::func::FuncOp function);

} // namespace tileloom::warp

#endif // TILELOOM_PASSES_WARP_PLANNEDEXCHANGES_H
