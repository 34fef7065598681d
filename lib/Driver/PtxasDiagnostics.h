//===- PtxasDiagnostics.h - ptxas's findings as MLIR diagnostics ------------------*- C++ -*-===//

#ifndef TILELOOM_LIB_DRIVER_PTXASDIAGNOSTICS_H
#define TILELOOM_LIB_DRIVER_PTXASDIAGNOSTICS_H

#include "tileloom/Target/Ptxas.h"

#include "mlir/IR/BuiltinOps.h"

namespace tileloom {

/// Emits errors and warnings of ptxas, C75xx/C76xx messages and spills. Fails if ptxas failed, or
/// if `strict` and one of the last two was found.
mlir::LogicalResult reportPtxas(mlir::ModuleOp module, const PtxasResult &ptxas,
                                llvm::StringRef ptx, bool strict);

} // namespace tileloom

#endif // TILELOOM_LIB_DRIVER_PTXASDIAGNOSTICS_H
