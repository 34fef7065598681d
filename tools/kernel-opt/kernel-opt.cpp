//===- kernel-opt.cpp - The compiler and the opt tool of Tileloom -------------------------===//

#include "dialects/PTX/PTX.h"
#include "dialects/Warp/Warp.h"
#include "passes/Emit/Passes.h"
#include "passes/NV/Passes.h"
#include "passes/Warp/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Transforms/Passes.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  registry.insert<tileloom::tile::TileDialect, tileloom::nv::NVDialect, tileloom::warp::WarpDialect, tileloom::ptx::PTXDialect,
                  mlir::arith::ArithDialect, mlir::func::FuncDialect, mlir::math::MathDialect, mlir::scf::SCFDialect, mlir::ub::UBDialect>();
  mlir::registerTransformsPasses();
  tileloom::emit::registerEmitPasses();
  tileloom::nv::registerNVPasses();
  tileloom::warp::registerWarpPasses();
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "Tileloom", registry));
}
