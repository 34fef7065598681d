// RUN: kernel-opt %s --tile-fold-zero-init --split-input-file | FileCheck %s

// The sum starts undefined; without iterations the loop runs once, outside of all tensors.
// CHECK-LABEL: func.func @sum
// CHECK-SAME: %[[K:[a-z0-9]+]]: i32)
func.func @sum(%A: !tile.desc<64x64xbf16>, %B: !tile.desc<64x64xbf16>, %k: i32) -> tensor<64x64xf32> {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  // CHECK-DAG: %[[SOME:.*]] = arith.cmpi slt, %[[C0:.*]], %[[K]] : i32
  // CHECK-DAG: %[[FAR:.*]] = arith.constant 1073741824 : i32
  // CHECK: %[[START:.*]] = arith.select %[[SOME]], %[[C0]], %[[FAR]] : i32
  // CHECK: %[[END:.*]] = arith.select %[[SOME]], %[[K]], %{{.*}} : i32
  // CHECK: %[[UNDEFINED:.*]] = ub.poison
  // CHECK: scf.for %[[I:.*]] = %[[START]] to %[[END]] step %{{.*}} iter_args(%{{.*}} = %[[UNDEFINED]])
  %r = scf.for %i = %c0 to %k step %c64 iter_args(%c = %zero) -> tensor<64x64xf32> : i32 {
    %a = tile.load %A[%c0, %i] : !tile.desc<64x64xbf16> -> tensor<64x64xbf16>
    %b = tile.load %B[%i, %c0] : !tile.desc<64x64xbf16> -> tensor<64x64xbf16>
    // CHECK: %[[LATER:.*]] = arith.cmpi ne, %[[I]], %[[START]] : i32
    // CHECK: tile.dot {{.*}} use_acc(%[[LATER]])
    %d = tile.dot %a, %b acc(%c) : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
    scf.yield %d : tensor<64x64xf32>
  }
  return %r : tensor<64x64xf32>
}

// -----

// An operand that does not vanish outside: only a loop that surely runs may start undefined.
// CHECK-LABEL: func.func @other_operand
func.func @other_operand(%A: tensor<64x64xbf16>, %B: !tile.desc<64x64xbf16>, %k: i32) -> (tensor<64x64xf32>, tensor<64x64xf32>) {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  // CHECK: scf.for %{{.*}} = %{{.*}} to %{{.*}} step %{{.*}} iter_args(%{{.*}} = %cst)
  // CHECK-NOT: use_acc
  %r = scf.for %i = %c0 to %k step %c64 iter_args(%c = %zero) -> tensor<64x64xf32> : i32 {
    %b = tile.load %B[%i, %c0] : !tile.desc<64x64xbf16> -> tensor<64x64xbf16>
    %d = tile.dot %A, %b acc(%c) : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
    scf.yield %d : tensor<64x64xf32>
  }
  // CHECK: ub.poison
  // CHECK: scf.for
  // CHECK: use_acc
  %s = scf.for %i = %c0 to %c64 step %c64 iter_args(%c = %zero) -> tensor<64x64xf32> : i32 {
    %b = tile.load %B[%i, %c0] : !tile.desc<64x64xbf16> -> tensor<64x64xbf16>
    %d = tile.dot %A, %b acc(%c) : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
    scf.yield %d : tensor<64x64xf32>
  }
  return %r, %s : tensor<64x64xf32>, tensor<64x64xf32>
}

// -----

// A sum that something else touches keeps its zeros.
// CHECK-LABEL: func.func @rescaled
// CHECK-NOT: ub.poison
func.func @rescaled(%A: !tile.desc<64x64xbf16>, %B: !tile.desc<64x64xbf16>, %k: i32) -> tensor<64x64xf32> {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %half = arith.constant dense<0.5> : tensor<64x64xf32>
  %r = scf.for %i = %c0 to %k step %c64 iter_args(%c = %zero) -> tensor<64x64xf32> : i32 {
    %a = tile.load %A[%c0, %i] : !tile.desc<64x64xbf16> -> tensor<64x64xbf16>
    %b = tile.load %B[%i, %c0] : !tile.desc<64x64xbf16> -> tensor<64x64xbf16>
    %h = arith.mulf %c, %half : tensor<64x64xf32>
    %d = tile.dot %a, %b acc(%h) : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
    scf.yield %d : tensor<64x64xf32>
  }
  return %r : tensor<64x64xf32>
}
