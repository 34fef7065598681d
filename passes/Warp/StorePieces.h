//===- StorePieces.h - Results on their way out ----------------------------------*- C++ -*-===//

#ifndef TILELOOM_PASSES_WARP_STOREPIECES_H
#define TILELOOM_PASSES_WARP_STOREPIECES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tileloom {

/// Stores of what element-wise code makes of products: the layouts of sums are known to come apart by
/// columns without an exchange.
llvm::DenseSet<mlir::Operation *> storesOfProducts(mlir::func::FuncOp function);

/// Makes warp.store of all stores through descriptors; those of `fromProduct` in pieces of columns.
void storeInPieces(mlir::func::FuncOp function, const llvm::DenseSet<mlir::Operation *> &fromProduct,
                   bool tensorMemory);

} // namespace tileloom

#endif // TILELOOM_PASSES_WARP_STOREPIECES_H
