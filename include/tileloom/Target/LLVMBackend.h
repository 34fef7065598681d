//===- LLVMBackend.h - LLVM-dialect module to PTX --------------------------------*- C++ -*-===//
//
// The three steps after the MLIR pipelines: translate an LLVM/NVVM-dialect module to LLVM IR,
// optimise it for the chip, print PTX. Every step reports failures as MLIR diagnostics at the
// module's location; LLVM's own fatal errors ("Cannot select ...") are caught and reported in the
// same way.
//
//===--------------------------------------------------------------------------------------===//

#ifndef TILELOOM_TARGET_LLVMBACKEND_H
#define TILELOOM_TARGET_LLVMBACKEND_H

#include "tileloom/Target/Chip.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Support/LLVM.h"

#include <memory>
#include <string>

namespace llvm {
class LLVMContext;
class Module;
class TargetMachine;
} // namespace llvm

namespace tileloom {

struct BackendOptions {
  unsigned optLevel = 3; ///< 0..3, of both the LLVM IR pipeline and the code generator
  bool instrument =
      false; ///< LLVM's debugging options (--print-after-all, --time-passes) take effect
  bool verifyEach = false;   ///< run the LLVM verifier after translation and before code generation
  bool loopUnrolling = true; ///< `llvm.loop` metadata on single loops is respected either way
  unsigned maxUnrollCarried =
      32; ///< loops that carry more values are not unrolled unless their metadata asks for it
  bool vectorize =
      false; ///< loop and SLP vectorisers: they find nothing in warp-specialised code and cost time
};

/// The target machine of `chip` for this thread; made once per (thread, chip, level) and owned by
/// the thread. Null, with `error` set, if LLVM was built without NVPTX.
llvm::TargetMachine *getTargetMachine(const Chip &chip, unsigned optLevel, std::string &error);

/// Forgets this thread's target machines without freeing them (after a fatal error left one in an
/// unknown state).
void abandonTargetMachines();

/// Translates `module` (LLVM and NVVM dialects; kernels are llvm.func with nvvm.kernel). Sets
/// triple and data layout, marks inline assembly and `.sync`/`.aligned` intrinsics convergent, and
/// makes every other function internal and always inlined: a call in a kernel serialises wgmma
/// (ptxas C7509, C7510). Null after an error.
std::unique_ptr<llvm::Module> translateToLLVM(mlir::ModuleOp module, llvm::LLVMContext &context,
                                              llvm::TargetMachine &machine,
                                              const BackendOptions &options);

/// Runs the LLVM pipeline of the level.
mlir::LogicalResult optimizeLLVM(mlir::ModuleOp source, llvm::Module &module,
                                 llvm::TargetMachine &machine, const BackendOptions &options);

/// Prints PTX into `ptx`.
mlir::LogicalResult printPTX(mlir::ModuleOp source, llvm::Module &module,
                             llvm::TargetMachine &machine, const BackendOptions &options,
                             std::string &ptx);

} // namespace tileloom

#endif // TILELOOM_TARGET_LLVMBACKEND_H
