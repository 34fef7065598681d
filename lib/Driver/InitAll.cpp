//===- InitAll.cpp - Everything that Tileloom's tools and libraries register ----------------===//
//
// New dialects and passes are added here and nowhere else.
//
//===--------------------------------------------------------------------------------------===//

#include "tileloom/InitAll.h"

#include "dialects/PTX/PTX.h"
#include "dialects/User/User.h"
#include "dialects/Warp/Warp.h"
#include "passes/Emit/Passes.h"
#include "passes/NV/Passes.h"
#include "passes/Pipelines.h"
#include "passes/Tile/Passes.h"
#include "passes/Warp/Passes.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/DLTI/DLTI.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/LLVMIR/Transforms/Passes.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Transforms/Passes.h"

#include <mutex>

namespace tileloom {

void registerAllDialects(mlir::DialectRegistry &registry) {
  registry.insert<tile::TileDialect, warp::WarpDialect, nv::NVDialect, ptx::PTXDialect, user::UserDialect>();
  registry.insert<mlir::arith::ArithDialect, mlir::cf::ControlFlowDialect, mlir::DLTIDialect,
                  mlir::func::FuncDialect, mlir::LLVM::LLVMDialect, mlir::math::MathDialect,
                  mlir::NVVM::NVVMDialect, mlir::scf::SCFDialect, mlir::ub::UBDialect,
                  mlir::vector::VectorDialect>();
  mlir::registerBuiltinDialectTranslation(registry);
  mlir::registerLLVMDialectTranslation(registry);
  mlir::registerNVVMDialectTranslation(registry);
}

void registerAllPasses() {
  static std::once_flag once;
  std::call_once(once, [] {
    mlir::registerTransformsPasses();
    mlir::registerArithToLLVMConversionPass();
    mlir::registerConvertControlFlowToLLVMPass();
    mlir::registerConvertFuncToLLVMPass();
    mlir::registerConvertMathToLLVMPass();
    mlir::registerConvertNVVMToLLVMPass();
    mlir::registerReconcileUnrealizedCastsPass();
    mlir::registerSCFToControlFlowPass();
    mlir::registerUBToLLVMConversionPass();
    mlir::LLVM::registerDIScopeForLLVMFuncOpPass();
    emit::registerEmitPasses();
    nv::registerNVPasses();
    tile::registerTilePasses();
    warp::registerWarpPasses();
    registerPipelines();
  });
}

} // namespace tileloom
