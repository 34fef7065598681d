//===- ConvertTiles.cpp - Expand tiles to registers and instructions ----------------------===//
//
// The pass around the pattern files: nothing of the nv dialect and no tensor is left after it.
// Dynamic shared memory is one external symbol whose size the launch gives.
//
//===--------------------------------------------------------------------------------------===//

#include "passes/Emit/Passes.h"

#include "passes/Emit/TileConversion.h"
#include "passes/Emit/UserPatterns.h"

#include "dialects/PTX/PTX.h"
#include "dialects/User/User.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Func/Transforms/FuncConversions.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Transforms/Patterns.h"
#include "mlir/Dialect/UB/IR/UBOps.h"

namespace tileloom::emit {
#define GEN_PASS_DEF_CONVERTTILES
#include "passes/Emit/Passes.h.inc"
} // namespace tileloom::emit

using namespace mlir;
using namespace tileloom;
using namespace tileloom::emit;

namespace {

struct ConvertTilesPass : tileloom::emit::impl::ConvertTilesBase<ConvertTilesPass> {
  void runOnOperation() override {
    Operation *module = getOperation();
    MLIRContext *context = &getContext();
    OpBuilder builder(context);
    builder.setInsertionPointToStart(&module->getRegion(0).front());
    LLVM::GlobalOp::create(builder, module->getLoc(),
                           LLVM::LLVMArrayType::get(builder.getI8Type(), 0), /*isConstant=*/false,
                           LLVM::Linkage::External, sharedSymbol, Attribute(), /*alignment=*/1024,
                           /*addrSpace=*/3);

    TileTypeConverter converter(context);
    RewritePatternSet patterns(context);
    populateElementwisePatterns(converter, patterns);
    populateInlineAsmPatterns(converter, patterns);
    populateDebugPatterns(converter, patterns);
    populateSplatPatterns(converter, patterns);
    populateShapePatterns(converter, patterns);
    populateReducePatterns(converter, patterns);
    populatePartialPatterns(converter, patterns, getOperation());
    populateScanPatterns(converter, patterns);
    populateExchangePatterns(converter, patterns);
    populateMmaPatterns(converter, patterns);
    populateCpAsyncPatterns(converter, patterns);
    populateMemoryPatterns(converter, patterns);
    populateTransposePatterns(converter, patterns);
    populateIndexedPatterns(converter, patterns);
    populateGlobalPatterns(converter, patterns);
    populateAsyncPatterns(converter, patterns);
    populateAtomicPatterns(converter, patterns);
    populateWgmmaPatterns(converter, patterns);
    populateClusterPatterns(converter, patterns);
    populateTcgen05Patterns(converter, patterns);
    populateTensorMemoryPatterns(converter, patterns);
    populateFunctionOpInterfaceTypeConversionPattern<func::FuncOp>(patterns, converter);

    ConversionTarget target(*context);
    scf::populateSCFStructuralTypeConversionsAndLegality(converter, patterns, target);
    target.addLegalDialect<LLVM::LLVMDialect, NVVM::NVVMDialect, ptx::PTXDialect,
                           warp::WarpDialect>();
    target.addIllegalDialect<nv::NVDialect, user::UserDialect>();
    target.addDynamicallyLegalOp<func::FuncOp>(
        [&](func::FuncOp op) { return converter.isSignatureLegal(op.getFunctionType()); });
    target.addLegalOp<func::ReturnOp, ModuleOp>();
    target.addDynamicallyLegalDialect<arith::ArithDialect, math::MathDialect, ub::UBDialect>(
        [&](Operation *op) { return converter.isLegal(op); });
    // LLVM folds what this leaves, in less time.
    ConversionConfig config;
    config.foldingMode = DialectConversionFoldingMode::Never;
    if (failed(applyFullConversion(module, target, std::move(patterns), config)))
      signalPassFailure();
  }
};

} // namespace
