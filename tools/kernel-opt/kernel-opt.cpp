//===- kernel-opt.cpp - The compiler and the opt tool of Tileloom -------------------------===//
//
// With --target or --emit: compiles a program (kernel-opt prog.mlir --target=sm_90a --emit=ptx).
// Otherwise an opt tool in the manner of mlir-opt, with the passes and pipelines of every stage.
//
//===--------------------------------------------------------------------------------------===//

#include "tileloom/Driver/Driver.h"
#include "tileloom/InitAll.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  tileloom::registerAllDialects(registry);
  tileloom::registerAllPasses();
  if (tileloom::isCompileMode(argc, argv))
    return tileloom::compileMain(argc, argv, registry);
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "Tileloom optimizer driver", registry));
}
