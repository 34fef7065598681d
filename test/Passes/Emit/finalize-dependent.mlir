// RUN: kernel-opt %s --finalize-kernels | FileCheck %s

// CHECK-LABEL: llvm.func @second
// CHECK-NEXT: nvvm.griddepcontrol wait
// CHECK-NEXT: llvm.return
llvm.func @second() attributes {tile.kernel, tile.schedule = #tile.schedule<dependent = true>} {
  llvm.return
}

// CHECK-LABEL: llvm.func @first
// CHECK-NEXT: nvvm.griddepcontrol launch_dependents
// CHECK-NEXT: llvm.return
llvm.func @first() attributes {tile.kernel, tile.schedule = #tile.schedule<launch_dependents = true>} {
  llvm.return
}

// CHECK-LABEL: llvm.func @neither
// CHECK-NEXT: llvm.return
llvm.func @neither() attributes {tile.kernel, tile.schedule = #tile.schedule<dependent = false>} {
  llvm.return
}
