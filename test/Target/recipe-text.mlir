// A recipe may also be JSON text; it must then be JSON. Several kernels make an array.
// RUN: split-file %s %t
// RUN: kernel-opt %t/two.mlir --target=sm_90a --emit=recipe | FileCheck %s
// RUN: not kernel-opt %t/bad.mlir --target=sm_90a --emit=recipe 2>&1 | FileCheck %s --check-prefix=BAD

// CHECK:      [
// CHECK-NEXT:   {
// CHECK-NEXT:     "kernel": "a"
// CHECK-NEXT:   },
// CHECK-NEXT:   {
// CHECK-NEXT:     "kernel": "b"
// CHECK-NEXT:   }
// CHECK-NEXT: ]
// BAD: bad.mlir:1:1: error: 'tileloom.recipe' is not JSON: {{.+}}

//--- two.mlir
llvm.func @a() attributes {nvvm.kernel, tileloom.recipe = "{\22kernel\22: \22a\22}"} {
  llvm.return
}
llvm.func @b() attributes {nvvm.kernel, tileloom.recipe = {kernel = "b"}} {
  llvm.return
}

//--- bad.mlir
llvm.func @a() attributes {nvvm.kernel, tileloom.recipe = "{kernel: a}"} {
  llvm.return
}
