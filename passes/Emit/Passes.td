//===- Passes.td - Passes of the emit stage --------------------------*- tablegen -*-===//

#ifndef TILELOOM_PASSES_EMIT_PASSES_TD
#define TILELOOM_PASSES_EMIT_PASSES_TD

include "mlir/Pass/PassBase.td"

def ConvertTiles : Pass<"convert-tiles"> {
  let summary = "Expand register tiles to scalars and nv operations to instructions";
  let description = [{
    Every tensor becomes one scalar for each 32-bit register that it takes in a thread (16-bit elements in pairs, 8-bit in fours), also
    where loops and branches carry it; every nv operation becomes NVVM, LLVM or ptx operations. Control flow stays structured and roles stay,
    since the operations of a role depend on which warps run it.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::NVVM::NVVMDialect", "::mlir::arith::ArithDialect",
                           "::mlir::scf::SCFDialect", "::tileloom::ptx::PTXDialect"];
}

def ExpandMath : Pass<"expand-math"> {
  let summary = "Turn functions of fp32 scalars into the hardware's approximations and polynomials";
  let description = [{
    No device library is linked: exp, log, sqrt and their kin are single instructions with a factor, sin and cos reduce their argument
    first, and the rest (tanh, erf, atan, …) are polynomials. Divisions that may be approximate become a reciprocal (`arcp`)
    or `div.full` (`afn`).
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

def OrderStores : Pass<"order-stores"> {
  let summary = "Compute what each store of a plain kernel writes just after what the one before it writes";
}

def LowerRoles : Pass<"lower-roles"> {
  let summary = "Turn roles into branches on the warp index, and add the kernel's head and tail";
  let dependentDialects = ["::mlir::NVVM::NVVMDialect", "::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

def ConvertPTX : Pass<"convert-ptx"> {
  let summary = "Turn ptx operations into inline assembly";
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

def ConvertToLLVM : Pass<"emit-to-llvm"> {
  let summary = "Turn scalars, control flow and functions into the LLVM dialect";
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::NVVM::NVVMDialect"];
}

def FinalizeKernels : Pass<"finalize-kernels"> {
  let summary = "Set what LLVM and ptxas need to know about kernels";
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::NVVM::NVVMDialect"];
}

#endif // TILELOOM_PASSES_EMIT_PASSES_TD
