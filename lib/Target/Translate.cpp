//===- Translate.cpp - LLVM/NVVM dialects to LLVM IR ---------------------------------------===//
//
// MLIR's own translation, then what MLIR cannot say: which calls are convergent (llvm.inline_asm
// never is), and that a kernel has no calls. Expects the translation interfaces to be registered in
// the context (tileloom/InitAll.h).
//
//===--------------------------------------------------------------------------------------===//

#include "tileloom/Target/LLVMBackend.h"

#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"

/// What every thread of a warp or warpgroup must execute together must not be duplicated, sunk into
/// a branch or made control dependent on more. Side effects alone do not say that. Pure assembly (a
/// conversion) stays free to move.
static bool mustConverge(const llvm::CallBase &call) {
  if (auto *assembly = llvm::dyn_cast<llvm::InlineAsm>(call.getCalledOperand()))
    return assembly->hasSideEffects() || assembly->getAsmString().contains(".sync") ||
           assembly->getAsmString().contains(".aligned");
  const llvm::Function *callee = call.getCalledFunction();
  if (!callee || !callee->isIntrinsic())
    return true; // functions: their bodies may synchronise
  llvm::StringRef name = callee->getName();
  return name.starts_with("llvm.nvvm.") && (name.contains(".sync") || name.contains(".aligned"));
}

/// Functions of the device run-time that ptxas resolves itself.
static bool isDeviceRuntime(llvm::StringRef name) {
  return name == "vprintf" || name == "malloc" || name == "free" || name == "__assertfail";
}

namespace tileloom {

std::unique_ptr<llvm::Module> translateToLLVM(mlir::ModuleOp source, llvm::LLVMContext &context,
                                              llvm::TargetMachine &machine,
                                              const BackendOptions &options) {
  llvm::StringRef name = source.getName().value_or("tileloom");
  // Verification is left to optimizeLLVM: MLIR's prints to stderr.
  std::unique_ptr<llvm::Module> module =
      mlir::translateModuleToLLVMIR(source, context, name, /*disableVerification=*/true);
  if (!module)
    return nullptr;
  module->setTargetTriple(machine.getTargetTriple());
  module->setDataLayout(machine.createDataLayout());

  for (llvm::Function &function : *module) {
    if (function.isDeclaration()) {
      if (function.isIntrinsic() || function.use_empty() || isDeviceRuntime(function.getName()))
        continue;
      source.emitError("call of '")
          << function.getName()
          << "', which is not defined: a kernel must be complete in its module";
      return nullptr;
    }
    function.setConvergent();
    if (function.getCallingConv() != llvm::CallingConv::PTX_Kernel) {
      function.setLinkage(llvm::GlobalValue::InternalLinkage);
      if (!function.hasFnAttribute(llvm::Attribute::NoInline))
        function.addFnAttr(llvm::Attribute::AlwaysInline);
    }
    for (llvm::Instruction &instruction : llvm::instructions(function))
      if (auto *call = llvm::dyn_cast<llvm::CallBase>(&instruction))
        if (!call->isConvergent() && mustConverge(*call))
          call->setConvergent();
  }
  return module;
}

} // namespace tileloom
