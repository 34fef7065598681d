//===- FinalizeKernels.cpp - What LLVM and ptxas need to know about kernels ---------------===//
//
// In: kernels as llvm.func. Out: the entry attribute, the exact number of threads, the cluster's CTAs, and tensor maps as constant parameters passed by value.
// Registers: with setmaxnreg one CTA an SM at least (it is ignored without, ptxas C7508). Otherwise a cap, because ptxas
// divides 65536 by the threads, while the hardware grants registers by sub-partition: 9 warps of 224 registers do not start (error 701).
//
//===--------------------------------------------------------------------------------------===//

#include "passes/Emit/Passes.h"

#include "dialects/Warp/Warp.h"
#include "tileloom/Analysis/Roles.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/Builders.h"

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
  if (auto threads = function->getAttrOfType<IntegerAttr>(threadsAttrName)) {
    function->setAttr(NVVM::NVVMDialect::getReqntidAttrName(),
                      builder.getDenseI32ArrayAttr({static_cast<int32_t>(threads.getInt()), 1, 1}));
    auto cap = function->getAttrOfType<IntegerAttr>("nv.max_registers");
    bool budgets = function.walk([](NVVM::SetMaxRegisterOp) { return WalkResult::interrupt(); }).wasInterrupted();
    if (budgets || !cap)
      function->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(), builder.getI32IntegerAttr(1));
    else
      function->setAttr(NVVM::NVVMDialect::getMaxnregAttrName(), builder.getI32IntegerAttr(cap.getInt()));
  }
  auto launch = function->getAttrOfType<warp::LaunchAttr>(warp::launchAttrName);
  if (launch && launch.getCluster() > 1)
    function->setAttr(NVVM::NVVMDialect::getClusterDimAttrName(),
                      builder.getDenseI32ArrayAttr({static_cast<int32_t>(launch.getCluster()), 1, 1}));
  for (unsigned index = 0; index < function.getNumArguments(); ++index) {
    function.removeArgAttr(index, "tile.pointer");
    function.removeArgAttr(index, "tile.name");
    if (!function.getArgAttr(index, nv::tensorMapAttrName))
      continue;
    function.removeArgAttr(index, nv::tensorMapAttrName);
    function.setArgAttr(index, LLVM::LLVMDialect::getByValAttrName(),
                        TypeAttr::get(LLVM::LLVMArrayType::get(builder.getI8Type(), 128)));
    function.setArgAttr(index, LLVM::LLVMDialect::getAlignAttrName(), builder.getI64IntegerAttr(64));
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
