//===- FinalizeKernels.cpp - What LLVM and ptxas need to know about kernels ---------------===//
//
// In: kernels as llvm.func. Out: the entry attribute, the exact number of threads, the cluster's
// CTAs, and tensor maps as constant parameters passed by value.
//
// Registers: with setmaxnreg one CTA an SM at least (it is ignored without, ptxas C7508). Otherwise
// a cap, because ptxas divides 65536 by the threads, while the hardware grants registers by
// sub-partition: 9 warps of 224 registers do not start (error 701). A smaller cap is taken if one is
// wanted.
//
//===--------------------------------------------------------------------------------------===//

#include "passes/Emit/Passes.h"

#include "dialects/NV/Packing.h"
#include "dialects/Warp/Warp.h"
#include "tileloom/Analysis/Roles.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace tileloom::emit {
#define GEN_PASS_DEF_FINALIZEKERNELS
#include "passes/Emit/Passes.h.inc"
} // namespace tileloom::emit

using namespace mlir;
using namespace tileloom;

namespace {

void finalize(LLVM::LLVMFuncOp function) {
  Builder builder(function.getContext());
  function->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(), builder.getUnitAttr());
  if (auto threads = function->getAttrOfType<IntegerAttr>(nv::threadsAttrName)) {
    auto packed = function->getAttrOfType<IntegerAttr>(nv::packedAttrName);
    int64_t most = threads.getInt() * (packed ? packed.getInt() : 1);
    function->setAttr(packed ? NVVM::NVVMDialect::getMaxntidAttrName() : NVVM::NVVMDialect::getReqntidAttrName(),
                      builder.getDenseI32ArrayAttr({static_cast<int32_t>(most), 1, 1}));
    auto cap = function->getAttrOfType<IntegerAttr>(nv::wantedRegistersAttrName);
    if (!cap)
      cap = function->getAttrOfType<IntegerAttr>(nv::registerLimitAttrName);
    bool budgets = function.walk([](NVVM::SetMaxRegisterOp) { return WalkResult::interrupt(); })
                       .wasInterrupted();
    if (budgets || !cap)
      function->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(),
                        builder.getI32IntegerAttr(ctasPerSm(function)));
    else
      function->setAttr(NVVM::NVVMDialect::getMaxnregAttrName(),
                        builder.getI32IntegerAttr(cap.getInt()));
  }
  auto launch = function->getAttrOfType<warp::LaunchAttr>(warp::launchAttrName);
  if (launch && launch.getCluster() > 1)
    function->setAttr(
        NVVM::NVVMDialect::getClusterDimAttrName(),
        builder.getDenseI32ArrayAttr({static_cast<int32_t>(launch.getCluster()), 1, 1}));
  for (unsigned index = 0; index < function.getNumArguments(); ++index) {
    bool tensorMap = function.getArgAttr(index, nv::tensorMapAttrName) != nullptr;
    // What the recipe has taken: the translation to LLVM IR warns of attributes that it does not
    // know.
    SmallVector<NamedAttribute> known;
    auto interface = cast<FunctionOpInterface>(function.getOperation());
    for (NamedAttribute attribute : interface.getArgAttrs(index))
      if (!isa_and_nonnull<tile::TileDialect, nv::NVDialect>(attribute.getNameDialect()))
        known.push_back(attribute);
    interface.setArgAttrs(index, known);
    if (!tensorMap)
      continue;
    function.setArgAttr(index, LLVM::LLVMDialect::getByValAttrName(),
                        TypeAttr::get(LLVM::LLVMArrayType::get(builder.getI8Type(), 128)));
    function.setArgAttr(index, LLVM::LLVMDialect::getAlignAttrName(),
                        builder.getI64IntegerAttr(64));
    function.setArgAttr(index, NVVM::NVVMDialect::getGridConstantAttrName(), builder.getUnitAttr());
  }
}

struct FinalizeKernelsPass : tileloom::emit::impl::FinalizeKernelsBase<FinalizeKernelsPass> {
  void runOnOperation() override {
    getOperation()->walk([](LLVM::LLVMFuncOp function) {
      if (function->hasAttr(tile::kernelAttrName))
        finalize(function);
    });
  }
};

} // namespace
