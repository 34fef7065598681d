// Without --target and --emit, kernel-opt is an opt tool with the stages as pipelines.
// RUN: kernel-opt %s --pass-pipeline='builtin.module(tileloom-warp{chip=sm_100a},tileloom-nv,tileloom-emit)' --split-input-file --verify-diagnostics | FileCheck %s
// RUN: kernel-opt %s --tileloom-emit --split-input-file --mlir-print-ir-after-all 2>&1 | FileCheck %s --check-prefix=AFTER
// RUN: kernel-opt --help-list | FileCheck %s --check-prefix=HELP
// RUN: kernel-opt --help | FileCheck %s --check-prefix=COMPILE-HELP

// HELP-DAG: --tileloom-warp
// HELP-DAG: --warp-assign-stage-phase
// HELP-DAG: --split-input-file
// HELP-DAG: --mlir-pass-pipeline-crash-reproducer
// COMPILE-HELP: --emit=<string>
// COMPILE-HELP: --target=<string>
// AFTER: IR Dump After {{.*}}convert-scf-to-cf

// CHECK: llvm.func @loop
// CHECK: llvm.cond_br
func.func @loop(%n: i32) -> i32 {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %sum = scf.for %i = %c0 to %n step %c1 iter_args(%s = %c0) -> i32 : i32 {
    %t = arith.addi %s, %i : i32
    scf.yield %t : i32
  }
  return %sum : i32
}

// -----

// CHECK: llvm.func @second
func.func @second() {
  return
}
