//===- PrintPTX.cpp - LLVM IR to PTX text --------------------------------------------------===//
//
// LLVM's code generator, into memory. Errors that it reports to the LLVM context's handler are left
// to that handler.
//
//===--------------------------------------------------------------------------------------===//

#include "tileloom/Target/FatalErrors.h"
#include "tileloom/Target/LLVMBackend.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/OptBisect.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"

namespace {

/// Straight-line strength reduction takes an eighth of the code generator's time on code that is
/// unrolled already, and ptxas makes the same number of instructions with and without it. Early CSE
/// is scheduled behind it, behind nary-reassociate and behind all passes on IR: only the last one,
/// after consthoist, finds something that the others would leave to it. Freezes in loops and phis of
/// one value are not there any more, so that the passes that look for them only walk.
class Gate : public llvm::OptPassGate {
public:
  bool shouldRunPass(llvm::StringRef name, llvm::StringRef) const override {
    if (name == "separate-const-offset-from-gep" || name == "consthoist") // the first and the last before it, for each kernel
      last = name == "consthoist";
    return name != "slsr" && name != "Canonicalize Freeze Instructions in Loops" && name != "opt-phis" &&
           (name != "early-cse" || last);
  }
  bool isEnabled() const override { return true; }

private:
  mutable bool last = false;
};

} // namespace

namespace tileloom {

mlir::LogicalResult printPTX(mlir::ModuleOp source, llvm::Module &module,
                             llvm::TargetMachine &machine, const BackendOptions &options,
                             std::string &ptx) {
  llvm::SmallString<0> text;
  text.reserve(1 << 18);
  bool supported = true;
  static thread_local Gate gate;
  module.getContext().setOptPassGate(gate);
  auto generate = [&] {
    llvm::raw_svector_ostream stream(text);
    llvm::legacy::PassManager passes;
    supported = !machine.addPassesToEmitFile(passes, stream, /*DwoOut=*/nullptr,
                                             llvm::CodeGenFileType::AssemblyFile,
                                             /*DisableVerify=*/!options.verifyEach);
    if (supported)
      passes.run(module);
  };
  std::string error;
  if (!runCatchingFatalErrors(generate, error))
    return source.emitError("LLVM could not generate PTX: ") << error;
  if (!supported)
    return source.emitError("LLVM cannot print PTX for ") << machine.getTargetCPU();
  ptx = text.str().str();
  return mlir::success();
}

} // namespace tileloom
