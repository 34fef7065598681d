// RUN: kernel-opt %s --warp-partition --split-input-file --verify-diagnostics | FileCheck %s
// RUN: kernel-opt %s --warp-partition=chip=sm_100a --split-input-file --verify-diagnostics | FileCheck %s --check-prefix=BLACKWELL

// Hopper's products belong to the warps that own the sums, Blackwell's to a thread of their own.
// CHECK-LABEL: func.func @product
// CHECK-SAME: warp.roles = ["math", "load"]
// BLACKWELL-LABEL: func.func @product
// BLACKWELL-SAME: warp.roles = ["math", "load", "mma"]
func.func @product(%A: !tile.desc<64x64xbf16>, %B: !tile.desc<64x64xbf16>, %D: !tile.desc<64x64xf32>, %i: i32) attributes {tile.kernel} {
  // CHECK-COUNT-2: tile.load {{.*}} {warp.in = "load"}
  %a = tile.load %A[%i, %i] : !tile.desc<64x64xbf16> -> tensor<64x64xbf16>
  %b = tile.load %B[%i, %i] : !tile.desc<64x64xbf16> -> tensor<64x64xbf16>
  // CHECK: tile.dot {{.*}} {warp.in = "math"}
  // BLACKWELL: tile.dot {{.*}} {warp.in = "mma"}
  %d = tile.dot %a, %b : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
  // CHECK: arith.mulf %{{.*}}, %{{.*}} : tensor<64x64xf32>
  %y = arith.mulf %d, %d : tensor<64x64xf32>
  // CHECK: tile.store {{.*}} {warp.in = "math"}
  tile.store %y to %D[%i, %i] : tensor<64x64xf32>, !tile.desc<64x64xf32>
  return
}

// -----

// Copies through descriptors without a product.
// CHECK-LABEL: func.func @copy
// CHECK-SAME: warp.roles = ["math", "load"]
// BLACKWELL-LABEL: func.func @copy
// BLACKWELL-SAME: warp.roles = ["math", "load"]
func.func @copy(%A: !tile.desc<64x64xf32>, %D: !tile.desc<64x64xf32>, %i: i32) attributes {tile.kernel} {
  %a = tile.load %A[%i, %i] : !tile.desc<64x64xf32> -> tensor<64x64xf32>
  %y = math.exp2 %a : tensor<64x64xf32>
  tile.store %y to %D[%i, %i] : tensor<64x64xf32>, !tile.desc<64x64xf32>
  return
}

// -----

// Nothing to run ahead of: one role.
// CHECK-LABEL: func.func @plain
// CHECK-SAME: warp.roles = ["main"]
func.func @plain(%x: i64 {tile.pointer = f32}, %y: i64 {tile.pointer = f32}) attributes {tile.kernel} {
  %i = tile.iota : tensor<256xi32>
  %v = tile.gather %x[%i] : tensor<256xi32> -> tensor<256xf32>
  // CHECK: tile.scatter {{.*}} {warp.in = "main"}
  tile.scatter %v to %y[%i] : tensor<256xf32>, tensor<256xi32>
  return
}

// -----

// Operands that are read through pointers are written to shared memory by threads that run ahead. A transposed one is stored as it was read.
// CHECK-LABEL: func.func @pointers
// CHECK-SAME: warp.roles = ["math", "gather"]
// BLACKWELL-LABEL: func.func @pointers
// BLACKWELL-SAME: warp.roles = ["math", "gather", "mma"]
func.func @pointers(%x: i64 {tile.pointer = bf16}, %y: i64 {tile.pointer = f32}, %at: tensor<64x64xi32>) attributes {tile.kernel} {
  // CHECK: %[[A:.*]] = tile.gather
  // CHECK: %[[S:.*]] = tile.to_shared %[[A]] {warp.in = "gather"}
  // CHECK: %[[T:.*]] = tile.trans %[[S]]
  // CHECK: tile.dot %[[S]], %[[T]] {warp.in = "math"}
  %a = tile.gather %x[%at] : tensor<64x64xi32> -> tensor<64x64xbf16>
  %t = tile.trans %a : tensor<64x64xbf16> -> tensor<64x64xbf16>
  %d = tile.dot %a, %t : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
  // CHECK: tile.scatter {{.*}} {warp.in = "math"}
  tile.scatter %d to %y[%at] : tensor<64x64xf32>, tensor<64x64xi32>
  return
}

// -----

// What depends on a product or a copy is written by math; A of it stays in registers. Elements of 8 bits are read with K last only: b is stored transposed.
// CHECK-LABEL: func.func @computed
// CHECK-SAME: warp.roles = ["math", "load"]
func.func @computed(%A: !tile.desc<64x64xf8E4M3FN>, %y: i64 {tile.pointer = f32}, %at: tensor<64x64xi32>, %i: i32) attributes {tile.kernel} {
  %a = tile.load %A[%i, %i] : !tile.desc<64x64xf8E4M3FN> -> tensor<64x64xf8E4M3FN>
  // CHECK: %[[H:.*]] = arith.extf
  %h = arith.extf %a : tensor<64x64xf8E4M3FN> to tensor<64x64xf16>
  // CHECK: %[[E:.*]] = arith.truncf
  // CHECK: %[[T:.*]] = tile.trans %[[E]]
  // CHECK: %[[S:.*]] = tile.to_shared %[[T]] {warp.in = "math"}
  // CHECK: %[[B:.*]] = tile.trans %[[S]]
  %e = arith.truncf %h : tensor<64x64xf16> to tensor<64x64xf8E4M3FN>
  // CHECK: tile.dot %[[E]], %[[B]]
  %d = tile.dot %e, %e : tensor<64x64xf8E4M3FN>, tensor<64x64xf8E4M3FN> -> tensor<64x64xf32>
  tile.scatter %d to %y[%at] : tensor<64x64xf32>, tensor<64x64xi32>
  return
}

// -----

// Fewer rows than a warpgroup multiplies: one role.
// CHECK-LABEL: func.func @small
// CHECK-SAME: warp.roles = ["main"]
func.func @small(%x: i64 {tile.pointer = bf16}, %y: i64 {tile.pointer = f32}, %at: tensor<16x16xi32>) attributes {tile.kernel} {
  %a = tile.gather %x[%at] : tensor<16x16xi32> -> tensor<16x16xbf16>
  // CHECK-NOT: to_shared
  // CHECK: tile.dot {{.*}} {warp.in = "main"}
  %d = tile.dot %a, %a : tensor<16x16xbf16>, tensor<16x16xbf16> -> tensor<16x16xf32>
  tile.scatter %d to %y[%at] : tensor<16x16xf32>, tensor<16x16xi32>
  return
}

// -----

// expected-error @+1 {{schedule: specialize = "on" expected a tile that is loaded through a descriptor, found none}}
func.func @forced(%x: i64 {tile.pointer = f32}) attributes {tile.kernel, tile.schedule = #tile.schedule<specialize = "on">} {
  %i = tile.iota : tensor<256xi32>
  %v = tile.gather %x[%i] : tensor<256xi32> -> tensor<256xf32>
  tile.scatter %v to %x[%i] : tensor<256xf32>, tensor<256xi32>
  return
}

// -----

// expected-error @+1 {{schedule: keep expected a loop over tiles that loads through descriptors, found none}}
func.func @nothing_to_keep(%x: i64 {tile.pointer = f32}) attributes {tile.kernel, tile.schedule = #tile.schedule<keep = "rows">} {
  %i = tile.iota : tensor<256xi32>
  %v = tile.gather %x[%i] : tensor<256xi32> -> tensor<256xf32>
  tile.scatter %v to %x[%i] : tensor<256xf32>, tensor<256xi32>
  return
}
