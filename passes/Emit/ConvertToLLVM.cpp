//===- ConvertToLLVM.cpp - Scalars and control flow to the LLVM dialect ---------------------===//
//
// In: arith, math, ub, cf and func on scalars and short vectors, NVVM operations. Out: LLVM and
// NVVM operations that translate to LLVM IR. MLIR's own patterns, all in one conversion: apart,
// each walks and rebuilds thousands of operations for itself, which took half of the emit stage's
// time.
//
//===--------------------------------------------------------------------------------------===//

#include "passes/Emit/Passes.h"

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/NVVMToLLVM/NVVMToLLVM.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Transforms/DialectConversion.h"

namespace tileloom::emit {
#define GEN_PASS_DEF_CONVERTTOLLVM
#include "passes/Emit/Passes.h.inc"
} // namespace tileloom::emit

using namespace mlir;

namespace {

struct ConvertToLLVMPass : tileloom::emit::impl::ConvertToLLVMBase<ConvertToLLVMPass> {
  void runOnOperation() override {
    LLVMTypeConverter converter(&getContext());
    RewritePatternSet patterns(&getContext());
    arith::populateArithToLLVMConversionPatterns(converter, patterns);
    populateMathToLLVMConversionPatterns(converter, patterns);
    ub::populateUBToLLVMConversionPatterns(converter, patterns);
    cf::populateControlFlowToLLVMConversionPatterns(converter, patterns);
    populateFuncToLLVMConversionPatterns(converter, patterns);
    populateNVVMToLLVMConversionPatterns(patterns);
    LLVMConversionTarget target(getContext());
    // LLVM folds what this leaves, in less time.
    ConversionConfig config;
    config.foldingMode = DialectConversionFoldingMode::Never;
    if (failed(applyPartialConversion(getOperation(), target, std::move(patterns), config)))
      signalPassFailure();
  }
};

} // namespace
