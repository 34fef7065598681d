// Debugging options of MLIR and LLVM, and expected diagnostics, in compile mode.
// RUN: kernel-opt %s --target=sm_90a --mlir-print-ir-after=convert-scf-to-cf 2>&1 | FileCheck %s --check-prefix=MLIR
// RUN: kernel-opt %s --target=sm_90a --mlir-timing 2>&1 | FileCheck %s --check-prefix=TIMING
// RUN: kernel-opt %s --target=sm_90a --print-after=instcombine 2>&1 | FileCheck %s --check-prefix=LLVM
// RUN: sed 's/nvvm.read.ptx.sreg.tid.x : i32/warp.replica_index/' %s | kernel-opt --target=sm_90a --verify-diagnostics | count 0
// RUN: not kernel-opt %s --target=sm_90a --verify-diagnostics 2>&1 | FileCheck %s --check-prefix=EXPECTED
// A pass that fails leaves a file from which it fails again.
// RUN: not kernel-opt %S/../Passes/NV/Inputs/too-deep.mlir --target=sm_90a --emit=ptx --mlir-pass-pipeline-crash-reproducer=%t.mlir 2>&1 | FileCheck %s --check-prefix=CRASH
// RUN: not kernel-opt %t.mlir --run-reproducer 2>&1 | FileCheck %s --check-prefix=AGAIN
// RUN: not kernel-opt %S/../Passes/NV/Inputs/too-deep.mlir --tileloom-warp --tileloom-nv --mlir-pass-pipeline-crash-reproducer=%t.mlir -o /dev/null 2>&1 | FileCheck %s --check-prefix=CRASH
// RUN: not kernel-opt %t.mlir --run-reproducer 2>&1 | FileCheck %s --check-prefix=AGAIN

// CRASH: error: shared memory: need 327776 bytes, have 232448
// CRASH: note: Pipeline failed while executing [`NVAllocateShared` on 'builtin.module' operation]: reproducer generated at `{{.*}}.mlir`
// AGAIN: error: shared memory: need 327776 bytes, have 232448
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
