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
