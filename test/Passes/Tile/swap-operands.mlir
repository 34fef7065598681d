// RUN: kernel-opt %s --tile-swap-operands | FileCheck %s
// RUN: kernel-opt %s --tile-swap-operands=chip=sm_100a | FileCheck %s --check-prefix=WIDE

// 16 rows and 64 columns: the tensor core sums the transposed tile. B, loaded by rows of K, is operand A as it is.
// CHECK-LABEL: func.func @few_rows
// CHECK: %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : tensor<64x16xf32>
// CHECK: %[[SUM:.*]] = scf.for {{.*}} iter_args(%[[C:.*]] = %[[ZERO]]) -> (tensor<64x16xf32>)
// CHECK-DAG: %[[A:.*]] = tile.load %{{.*}} -> tensor<16x64xbf16>
// CHECK-DAG: %[[B:.*]] = tile.load %{{.*}} -> tensor<64x64xbf16>
// CHECK: %[[T:.*]] = tile.trans %[[A]] : tensor<16x64xbf16> -> tensor<64x16xbf16>
// CHECK: %[[D:.*]] = tile.dot %[[B]], %[[T]] acc(%[[C]])
// CHECK-NEXT: scf.yield %[[D]] : tensor<64x16xf32>
// CHECK: %[[R:.*]] = tile.trans %[[SUM]] : tensor<64x16xf32> -> tensor<16x64xf32>
// CHECK: return %[[R]]
// Sums in tensor memory have 128 rows.
// WIDE-LABEL: func.func @few_rows
// WIDE: tile.dot {{.*}} -> tensor<16x64xf32>
// WIDE-LABEL: func.func @by_columns
// WIDE: tile.dot {{.*}} -> tensor<128x8xf32>
func.func @few_rows(%A: !tile.desc<16x64xbf16>, %B: !tile.desc<64x64xbf16>, %k: i32) -> tensor<16x64xf32> {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %zero = arith.constant dense<0.0> : tensor<16x64xf32>
  %r = scf.for %i = %c0 to %k step %c64 iter_args(%s = %zero) -> (tensor<16x64xf32>) : i32 {
    %a = tile.load %A[%c0, %i] : !tile.desc<16x64xbf16> -> tensor<16x64xbf16>
    %b = tile.load %B[%c0, %i] : !tile.desc<64x64xbf16> -> tensor<64x64xbf16>
    %t = tile.trans %b : tensor<64x64xbf16> -> tensor<64x64xbf16>
    %d = tile.dot %a, %t acc(%s) : tensor<16x64xbf16>, tensor<64x64xbf16> -> tensor<16x64xf32>
    scf.yield %d : tensor<16x64xf32>
  }
  return %r : tensor<16x64xf32>
}

// Two sums, and operands stored the other way: transposes in front of the products.
// CHECK-LABEL: func.func @by_columns
// CHECK: scf.for {{.*}} -> (tensor<128x8xf32>, tensor<128x8xf32>)
// CHECK-COUNT-2: tile.dot {{.*}} : tensor<128x64xbf16>, tensor<64x8xbf16> -> tensor<128x8xf32>
// CHECK-NOT: tile.dot
// CHECK: return
func.func @by_columns(%A: !tile.desc<64x8xbf16>, %B: !tile.desc<64x128xbf16>, %k: i32) -> (tensor<8x128xf32>, tensor<8x128xf32>) {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %zero = arith.constant dense<0.0> : tensor<8x128xf32>
  %r:2 = scf.for %i = %c0 to %k step %c64 iter_args(%s = %zero, %u = %zero) -> (tensor<8x128xf32>, tensor<8x128xf32>) : i32 {
    %a = tile.load %A[%i, %c0] : !tile.desc<64x8xbf16> -> tensor<64x8xbf16>
    %t = tile.trans %a : tensor<64x8xbf16> -> tensor<8x64xbf16>
    %b = tile.load %B[%i, %c0] : !tile.desc<64x128xbf16> -> tensor<64x128xbf16>
    %e = tile.load %B[%i, %c64] : !tile.desc<64x128xbf16> -> tensor<64x128xbf16>
    %d = tile.dot %t, %b acc(%s) : tensor<8x64xbf16>, tensor<64x128xbf16> -> tensor<8x128xf32>
    %f = tile.dot %t, %e acc(%u) : tensor<8x64xbf16>, tensor<64x128xbf16> -> tensor<8x128xf32>
    scf.yield %d, %f : tensor<8x128xf32>, tensor<8x128xf32>
  }
  return %r#0, %r#1 : tensor<8x128xf32>, tensor<8x128xf32>
}

// More rows than the tensor core's, but no multiple of them.
// CHECK-LABEL: func.func @tall
// CHECK: scf.for {{.*}} -> (tensor<128x160xf32>)
// CHECK: tile.dot {{.*}} : tensor<128x64xbf16>, tensor<64x160xbf16> -> tensor<128x160xf32>
// CHECK: tile.trans {{.*}} : tensor<128x160xf32> -> tensor<160x128xf32>
// WIDE-LABEL: func.func @tall
// WIDE: tile.dot {{.*}} -> tensor<160x128xf32>
func.func @tall(%A: !tile.desc<160x64xbf16>, %B: !tile.desc<64x128xbf16>, %k: i32) -> tensor<160x128xf32> {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %zero = arith.constant dense<0.0> : tensor<160x128xf32>
  %r = scf.for %i = %c0 to %k step %c64 iter_args(%s = %zero) -> (tensor<160x128xf32>) : i32 {
    %a = tile.load %A[%c0, %i] : !tile.desc<160x64xbf16> -> tensor<160x64xbf16>
    %b = tile.load %B[%i, %c0] : !tile.desc<64x128xbf16> -> tensor<64x128xbf16>
    %d = tile.dot %a, %b acc(%s) : tensor<160x64xbf16>, tensor<64x128xbf16> -> tensor<160x128xf32>
    scf.yield %d : tensor<160x128xf32>
  }
  return %r : tensor<160x128xf32>
}

// Enough rows; columns that are not rows of a product; a sum that is used on its way: as they are.
// CHECK-LABEL: func.func @others
// CHECK: tile.dot {{.*}} -> tensor<64x64xf32>
// CHECK: tile.dot {{.*}} -> tensor<16x32xf32>
// CHECK: tile.dot {{.*}} -> tensor<16x64xf32>
// CHECK: return
func.func @others(%A: !tile.desc<64x64xbf16>, %B: !tile.desc<64x64xbf16>, %C: !tile.desc<16x64xbf16>, %D: !tile.desc<64x32xbf16>, %k: i32)
    -> (tensor<64x64xf32>, tensor<16x32xf32>, tensor<16x64xf32>) {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %z0 = arith.constant dense<0.0> : tensor<64x64xf32>
  %z1 = arith.constant dense<0.0> : tensor<16x32xf32>
  %z2 = arith.constant dense<0.0> : tensor<16x64xf32>
  %r:3 = scf.for %i = %c0 to %k step %c64 iter_args(%s = %z0, %u = %z1, %v = %z2) -> (tensor<64x64xf32>, tensor<16x32xf32>, tensor<16x64xf32>) : i32 {
    %a = tile.load %A[%c0, %i] : !tile.desc<64x64xbf16> -> tensor<64x64xbf16>
    %b = tile.load %B[%i, %c0] : !tile.desc<64x64xbf16> -> tensor<64x64xbf16>
    %c = tile.load %C[%c0, %i] : !tile.desc<16x64xbf16> -> tensor<16x64xbf16>
    %e = tile.load %D[%i, %c0] : !tile.desc<64x32xbf16> -> tensor<64x32xbf16>
    %d0 = tile.dot %a, %b acc(%s) : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
    %d1 = tile.dot %c, %e acc(%u) : tensor<16x64xbf16>, tensor<64x32xbf16> -> tensor<16x32xf32>
    %half = arith.mulf %v, %v : tensor<16x64xf32>
    %d2 = tile.dot %c, %b acc(%half) : tensor<16x64xbf16>, tensor<64x64xbf16> -> tensor<16x64xf32>
    scf.yield %d0, %d1, %d2 : tensor<64x64xf32>, tensor<16x32xf32>, tensor<16x64xf32>
  }
  return %r#0, %r#1, %r#2 : tensor<64x64xf32>, tensor<16x32xf32>, tensor<16x64xf32>
}
