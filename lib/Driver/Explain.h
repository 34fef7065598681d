//===- Explain.h - Schedules of a program and what the cost model says of them ---*- C++ -*-===//

#ifndef TILELOOM_LIB_DRIVER_EXPLAIN_H
#define TILELOOM_LIB_DRIVER_EXPLAIN_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/raw_ostream.h"

namespace tileloom {

/// The first kernel of a module, or null.
mlir::func::FuncOp explainedKernel(mlir::ModuleOp module);

/// Writes a table of schedules, the fastest first, those that cannot be used last. `numbers`:
/// values of the kernel's scalar arguments with commas between, '?' for what is not known. Gives
/// what is wrong, or "".
std::string explainSchedule(mlir::ModuleOp module, llvm::StringRef chip, llvm::StringRef numbers,
                            llvm::raw_ostream &os);

} // namespace tileloom

#endif // TILELOOM_LIB_DRIVER_EXPLAIN_H
