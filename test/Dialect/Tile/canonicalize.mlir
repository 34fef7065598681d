// RUN: kernel-opt %s --canonicalize --cse | FileCheck %s

// A kernel keeps its attribute and the descriptors that it does not use: the host passes them.
// CHECK-LABEL: func.func @unused(
// CHECK-SAME: %{{.*}}: !tile.desc<128x64xbf16>, %{{.*}}: i32) attributes {tile.kernel}
func.func @unused(%a: !tile.desc<128x64xbf16>, %n: i32) attributes {tile.kernel} {
  return
}

// Orders one after the other are one; back to that of the source, none.
// CHECK-LABEL: func.func @orders
// CHECK-SAME: %[[X:.*]]: tensor<4x8x16xf32>
func.func @orders(%x: tensor<4x8x16xf32>) -> (tensor<8x4x16xf32>, tensor<4x8x16xf32>, tensor<16x4x8xf32>) {
  // CHECK: %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : tensor<16x4x8xf32>
  // CHECK: %[[ONE:.*]] = tile.trans %[[X]] [1, 0, 2] : tensor<4x8x16xf32> -> tensor<8x4x16xf32>
  %a = tile.trans %x [1, 2, 0] : tensor<4x8x16xf32> -> tensor<8x16x4xf32>
  %b = tile.trans %a : tensor<8x16x4xf32> -> tensor<8x4x16xf32>
  %c = tile.trans %a [2, 0, 1] : tensor<8x16x4xf32> -> tensor<4x8x16xf32>
  %zero = arith.constant dense<0.0> : tensor<4x8x16xf32>
  %z = tile.trans %zero [2, 0, 1] : tensor<4x8x16xf32> -> tensor<16x4x8xf32>
  // CHECK: return %[[ONE]], %[[X]], %[[ZERO]]
  return %b, %c, %z : tensor<8x4x16xf32>, tensor<4x8x16xf32>, tensor<16x4x8xf32>
}
