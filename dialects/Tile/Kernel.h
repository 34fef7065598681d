//===- Kernel.h - Functions that are kernels --------------------------------------*- C++ -*-===//

#ifndef TILELOOM_DIALECTS_TILE_KERNEL_H
#define TILELOOM_DIALECTS_TILE_KERNEL_H

#include "dialects/Tile/Tile.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

namespace tileloom::tile {

/// Whether `kernel`, a function with `tile.kernel`, is one that the passes can take.
llvm::LogicalResult verifyKernel(mlir::FunctionOpInterface kernel);

} // namespace tileloom::tile

#endif // TILELOOM_DIALECTS_TILE_KERNEL_H
