//===- ScheduleOption.h - A schedule from the command line ------------------------*- C++ -*-===//

#ifndef TILELOOM_LIB_DRIVER_SCHEDULEOPTION_H
#define TILELOOM_LIB_DRIVER_SCHEDULEOPTION_H

#include "mlir/IR/BuiltinOps.h"

namespace tileloom {

/// Gives the tile kernels of `module` the fields of `text`, `#tile.schedule<...>`: in the place of those
/// of the same name, beside the others. An error if `text` is none, or if no kernel is a tile kernel.
llvm::LogicalResult applySchedule(mlir::ModuleOp module, llvm::StringRef text);

} // namespace tileloom

#endif // TILELOOM_LIB_DRIVER_SCHEDULEOPTION_H
