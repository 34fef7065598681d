// RUN: kernel-opt %s --tile-join-products | FileCheck %s

// Two sums of products with one operand A: one product of twice the columns.
// CHECK-LABEL: func.func @gated
// CHECK: %[[SUMS:.*]] = scf.for {{.*}} iter_args(%[[C:.*]] = %{{.*}}) -> (tensor<128x128xf32>)
// CHECK-DAG: %[[A:.*]] = tile.load %{{.*}} -> tensor<128x64xbf16>
// CHECK-DAG: %[[G:.*]] = tile.load %{{.*}}[%{{.*}}, %c0{{.*}}, %{{.*}}] {{.*}} -> tensor<64x64xbf16>
// CHECK-DAG: %[[U:.*]] = tile.load %{{.*}}[%{{.*}}, %c1{{.*}}, %{{.*}}] {{.*}} -> tensor<64x64xbf16>
// CHECK: %[[B:.*]] = nv.concat %[[G]], %[[U]] dim(0) {{.*}} -> tensor<128x64xbf16>
// CHECK: %[[T:.*]] = tile.trans %[[B]]
// CHECK: %[[D:.*]] = tile.dot %[[A]], %[[T]] acc(%[[C]])
// CHECK-NEXT: scf.yield %[[D]] : tensor<128x128xf32>
// CHECK-DAG: %[[UP:.*]] = nv.extract %[[SUMS]][0, 64]
// CHECK-DAG: %[[GATE:.*]] = nv.extract %[[SUMS]][0, 0]
// CHECK: return %[[GATE]], %[[UP]]
func.func @gated(%A: !tile.desc<128x64xbf16>, %B: !tile.desc<64x1x64xbf16>, %k: i32) -> (tensor<128x64xf32>, tensor<128x64xf32>) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c64 = arith.constant 64 : i32
  %zero = arith.constant dense<0.0> : tensor<128x64xf32>
  %r:2 = scf.for %i = %c0 to %k step %c64 iter_args(%g = %zero, %u = %zero) -> (tensor<128x64xf32>, tensor<128x64xf32>) : i32 {
    %a = tile.load %A[%c0, %i] : !tile.desc<128x64xbf16> -> tensor<128x64xbf16>
    %b0 = tile.load %B[%c0, %c0, %i] : !tile.desc<64x1x64xbf16> -> tensor<64x64xbf16>
    %t0 = tile.trans %b0 : tensor<64x64xbf16> -> tensor<64x64xbf16>
    %d0 = tile.dot %a, %t0 acc(%g) : tensor<128x64xbf16>, tensor<64x64xbf16> -> tensor<128x64xf32>
    %b1 = tile.load %B[%c0, %c1, %i] : !tile.desc<64x1x64xbf16> -> tensor<64x64xbf16>
    %t1 = tile.trans %b1 : tensor<64x64xbf16> -> tensor<64x64xbf16>
    %d1 = tile.dot %a, %t1 acc(%u) : tensor<128x64xbf16>, tensor<64x64xbf16> -> tensor<128x64xf32>
    scf.yield %d0, %d1 : tensor<128x64xf32>, tensor<128x64xf32>
  }
  return %r#0, %r#1 : tensor<128x64xf32>, tensor<128x64xf32>
}

// Wider than the tensor core's products, and a first operand of their own: as they are.
// CHECK-LABEL: func.func @apart
// CHECK-NOT: nv.concat
// CHECK: return
func.func @apart(%A: !tile.desc<128x64xbf16>, %B: !tile.desc<160x64xbf16>, %C: !tile.desc<64x64xbf16>, %k: i32)
    -> (tensor<128x160xf32>, tensor<128x160xf32>, tensor<128x64xf32>, tensor<128x64xf32>) {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %wide = arith.constant dense<0.0> : tensor<128x160xf32>
  %zero = arith.constant dense<0.0> : tensor<128x64xf32>
  %r:4 = scf.for %i = %c0 to %k step %c64 iter_args(%g = %wide, %u = %wide, %v = %zero, %w = %zero)
      -> (tensor<128x160xf32>, tensor<128x160xf32>, tensor<128x64xf32>, tensor<128x64xf32>) : i32 {
    %a = tile.load %A[%c0, %i] : !tile.desc<128x64xbf16> -> tensor<128x64xbf16>
    %e = tile.load %A[%c64, %i] : !tile.desc<128x64xbf16> -> tensor<128x64xbf16>
    %b0 = tile.load %B[%c0, %i] : !tile.desc<160x64xbf16> -> tensor<160x64xbf16>
    %t0 = tile.trans %b0 : tensor<160x64xbf16> -> tensor<64x160xbf16>
    %d0 = tile.dot %a, %t0 acc(%g) : tensor<128x64xbf16>, tensor<64x160xbf16> -> tensor<128x160xf32>
    %b1 = tile.load %B[%c64, %i] : !tile.desc<160x64xbf16> -> tensor<160x64xbf16>
    %t1 = tile.trans %b1 : tensor<160x64xbf16> -> tensor<64x160xbf16>
    %d1 = tile.dot %a, %t1 acc(%u) : tensor<128x64xbf16>, tensor<64x160xbf16> -> tensor<128x160xf32>
    %b2 = tile.load %C[%c0, %i] : !tile.desc<64x64xbf16> -> tensor<64x64xbf16>
    %t2 = tile.trans %b2 : tensor<64x64xbf16> -> tensor<64x64xbf16>
    %d2 = tile.dot %a, %t2 acc(%v) : tensor<128x64xbf16>, tensor<64x64xbf16> -> tensor<128x64xf32>
    %b3 = tile.load %C[%c64, %i] : !tile.desc<64x64xbf16> -> tensor<64x64xbf16>
    %t3 = tile.trans %b3 : tensor<64x64xbf16> -> tensor<64x64xbf16>
    %d3 = tile.dot %e, %t3 acc(%w) : tensor<128x64xbf16>, tensor<64x64xbf16> -> tensor<128x64xf32>
    scf.yield %d0, %d1, %d2, %d3 : tensor<128x160xf32>, tensor<128x160xf32>, tensor<128x64xf32>, tensor<128x64xf32>
  }
  return %r#0, %r#1, %r#2, %r#3 : tensor<128x160xf32>, tensor<128x160xf32>, tensor<128x64xf32>, tensor<128x64xf32>
}
