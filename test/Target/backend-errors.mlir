// What LLVM and ptxas refuse is an error with a place, and never the end of the process.
// RUN: split-file %s %t
// RUN: not kernel-opt %t/undefined.mlir --target=sm_90a 2>&1 | FileCheck %s --check-prefix=UNDEFINED
// RUN: not kernel-opt %t/select.mlir --target=sm_90a 2>&1 | FileCheck %s --check-prefix=SELECT
// RUN: not kernel-opt %t/leftover.mlir --target=sm_90a 2>&1 | FileCheck %s --check-prefix=LEFTOVER

// UNDEFINED: error: call of 'g', which is not defined: a kernel must be complete in its module
// SELECT: error: LLVM could not generate PTX: {{.+}}
// LEFTOVER: leftover.mlir:2:8: error: cannot be converted to LLVM IR: missing `LLVMTranslationDialectInterface` registration for dialect for op: warp.replica_index

//--- undefined.mlir
llvm.func @g(i32) -> i32
llvm.func @k(%x: i32) attributes {nvvm.kernel} {
  %y = llvm.call @g(%x) : (i32) -> i32
  llvm.return
}

//--- select.mlir
llvm.func @k(%x: f32, %out: !llvm.ptr<1>) attributes {nvvm.kernel} {
  %y = llvm.intr.exp(%x) : (f32) -> f32
  llvm.store %y, %out : f32, !llvm.ptr<1>
  llvm.return
}

//--- leftover.mlir
llvm.func @k(%out: !llvm.ptr<1>) attributes {nvvm.kernel} {
  %x = warp.replica_index
  llvm.store %x, %out : i32, !llvm.ptr<1>
  llvm.return
}
