//===- Report.h - What the compiler decided, for people and programs --------------*- C++ -*-===//
//
// The report of docs/report.md: roles, rings, memory maps and launch of each kernel as the passes
// recorded them in `tileloom.report`, the resources that ptxas found, and the time of each stage.
//
//===--------------------------------------------------------------------------------------===//

#ifndef TILELOOM_DRIVER_REPORT_H
#define TILELOOM_DRIVER_REPORT_H

#include "tileloom/Target/Ptxas.h"
#include "tileloom/Target/StageTimes.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/Support/JSON.h"

namespace tileloom {

/// The kernels of a module at any stage: functions with tile.kernel or nvvm.kernel.
std::vector<mlir::FunctionOpInterface> findKernels(mlir::ModuleOp module);

/// An attribute as JSON: dictionaries, arrays, dense arrays, integers, floats, booleans, strings
/// and unit; anything else as the string that MLIR prints.
llvm::json::Value attributeToJson(mlir::Attribute attribute);

/// The launch recipes of the module as JSON: one object, or an array if there are several kernels.
/// Null with a diagnostic if there is none, or one is not JSON.
mlir::FailureOr<std::string> recipeJson(mlir::ModuleOp module);

/// The report as JSON. `ptxas` is null if it was not run.
llvm::json::Value makeReport(mlir::ModuleOp module, llvm::StringRef target,
                             const PtxasResult *ptxas, const StageTimes &times);

/// The report as aligned tables. Takes any JSON of that shape; missing parts are left out.
std::string formatReport(const llvm::json::Value &report);

} // namespace tileloom

#endif // TILELOOM_DRIVER_REPORT_H
