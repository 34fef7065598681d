// Debugging options of MLIR and LLVM, and expected diagnostics, in compile mode.
// RUN: kernel-opt %s --target=sm_90a --mlir-print-ir-after=convert-scf-to-cf 2>&1 | FileCheck %s --check-prefix=MLIR
// RUN: kernel-opt %s --target=sm_90a --mlir-timing 2>&1 | FileCheck %s --check-prefix=TIMING
// RUN: kernel-opt %s --target=sm_90a --print-after=instcombine 2>&1 | FileCheck %s --check-prefix=LLVM
// RUN: sed 's/nvvm.read.ptx.sreg.tid.x : i32/warp.replica_index/' %s | kernel-opt --target=sm_90a --verify-diagnostics | count 0
// RUN: not kernel-opt %s --target=sm_90a --verify-diagnostics 2>&1 | FileCheck %s --check-prefix=EXPECTED

// MLIR: IR Dump After SCFToControlFlowPass
// TIMING: Execution time report
// EXPECTED: error: expected error "cannot be converted to LLVM IR" was not produced
// LLVM: IR Dump After InstCombinePass

llvm.func @k(%out: !llvm.ptr<1>) attributes {nvvm.kernel} {
  // expected-error @below {{cannot be converted to LLVM IR}}
  %x = nvvm.read.ptx.sreg.tid.x : i32
  llvm.store %x, %out : i32, !llvm.ptr<1>
  llvm.return
}
