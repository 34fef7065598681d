//===- RowBlocks.h - Tiles of tensor memory as blocks of rows --------------------*- C++ -*-===//

#ifndef TILELOOM_PASSES_WARP_ROWBLOCKS_H
#define TILELOOM_PASSES_WARP_ROWBLOCKS_H

#include "dialects/Warp/Warp.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tileloom {

/// Whether a slot of `ring` lies in tensor memory.
bool liesInTensorMemory(mlir::Value ring);

/// Makes each slot of tensor memory `replicas` slots of as many rows, one for each replica of `owner`, whose tiles are split by rows
/// already (RowSplitter). The roles that issue products issue each once for every block.
mlir::LogicalResult splitBlocks(mlir::func::FuncOp function, warp::RoleOp owner, int64_t replicas);

} // namespace tileloom

#endif // TILELOOM_PASSES_WARP_ROWBLOCKS_H
