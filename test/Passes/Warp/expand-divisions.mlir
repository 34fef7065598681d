// RUN: kernel-opt %s --warp-expand-divisions | FileCheck %s

// Divisions that round up or down, of scalars and of tensors.
// CHECK-LABEL: func.func @divisions
func.func @divisions(%a: i32, %b: i32, %t: tensor<8xi32>) -> (i32, i32, i32, tensor<8xi32>) {
  // CHECK-NOT: ceildiv
  // CHECK-NOT: floordiv
  // CHECK: arith.divui
  // CHECK: return
  %0 = arith.ceildivui %a, %b : i32
  %1 = arith.ceildivsi %a, %b : i32
  %2 = arith.floordivsi %a, %b : i32
  %3 = arith.ceildivsi %t, %t : tensor<8xi32>
  return %0, %1, %2, %3 : i32, i32, i32, tensor<8xi32>
}

// Minimum and maximum are one instruction each and stay.
// CHECK-LABEL: func.func @extrema
func.func @extrema(%a: tensor<8xf32>, %b: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  // CHECK-NEXT: arith.maxnumf
  // CHECK-NEXT: arith.minnumf
  // CHECK-NEXT: return
  %0 = arith.maxnumf %a, %b : tensor<8xf32>
  %1 = arith.minnumf %a, %b : tensor<8xf32>
  return %0, %1 : tensor<8xf32>, tensor<8xf32>
}
