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

// Operands from memory that the kernel writes: the warps that write read them, too.
// CHECK-LABEL: func.func @in_place
// CHECK-SAME: warp.roles = ["math"]
func.func @in_place(%x: i64 {tile.pointer = bf16}, %at: tensor<64x64xi32>) attributes {tile.kernel} {
  // CHECK: %[[A:.*]] = tile.gather
  // CHECK: %[[S:.*]] = tile.to_shared %[[A]] {warp.in = "math"}
  // CHECK: tile.dot %[[A]], %[[S]] {warp.in = "math"}
  %a = tile.gather %x[%at] : tensor<64x64xi32> -> tensor<64x64xbf16>
  %d = tile.dot %a, %a : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
  %h = arith.truncf %d : tensor<64x64xf32> to tensor<64x64xbf16>
  tile.scatter %h to %x[%at] : tensor<64x64xbf16>, tensor<64x64xi32>
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

// -----

// B comes narrow and is widened. Each of two warpgroups would widen all of it between its products: a role of its own is shorter. On Blackwell the
// warps that do not issue products do it in any case.
// CHECK-LABEL: func.func @widened
// CHECK-SAME: warp.roles = ["math", "load", "gather"]
// CHECK: tile.to_shared {{.*}} {warp.in = "gather"}
// BLACKWELL-LABEL: func.func @widened
// BLACKWELL-SAME: warp.roles = ["math", "load", "mma"]
// BLACKWELL: tile.to_shared {{.*}} {warp.in = "math"}
func.func @widened(%A: !tile.desc<128x64xbf16>, %B: !tile.desc<64x64xf8E4M3FN>, %D: !tile.desc<128x64xf32>, %k: i32, %i: i32)
    attributes {tile.kernel, tile.schedule = #tile.schedule<replicas = 2>} {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %zero = arith.constant dense<0.0> : tensor<128x64xf32>
  %d = scf.for %j = %c0 to %k step %c64 iter_args(%acc = %zero) -> tensor<128x64xf32> : i32 {
    %a = tile.load %A[%i, %j] : !tile.desc<128x64xbf16> -> tensor<128x64xbf16>
    %b8 = tile.load %B[%i, %j] : !tile.desc<64x64xf8E4M3FN> -> tensor<64x64xf8E4M3FN>
    %b = arith.extf %b8 : tensor<64x64xf8E4M3FN> to tensor<64x64xbf16>
    %t = tile.trans %b : tensor<64x64xbf16> -> tensor<64x64xbf16>
    %next = tile.dot %a, %t acc(%acc) : tensor<128x64xbf16>, tensor<64x64xbf16> -> tensor<128x64xf32>
    scf.yield %next : tensor<128x64xf32>
  }
  tile.store %d to %D[%i, %i] : tensor<128x64xf32>, !tile.desc<128x64xf32>
  return
}

// -----

// What the caller says.
// CHECK-LABEL: func.func @widened_in_turn
// CHECK-SAME: warp.roles = ["math", "load"]
func.func @widened_in_turn(%A: !tile.desc<128x64xbf16>, %B: !tile.desc<64x64xf8E4M3FN>, %D: !tile.desc<128x64xf32>, %k: i32, %i: i32)
    attributes {tile.kernel, tile.schedule = #tile.schedule<replicas = 2, operands = "math">} {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %zero = arith.constant dense<0.0> : tensor<128x64xf32>
  %d = scf.for %j = %c0 to %k step %c64 iter_args(%acc = %zero) -> tensor<128x64xf32> : i32 {
    %a = tile.load %A[%i, %j] : !tile.desc<128x64xbf16> -> tensor<128x64xbf16>
    %b8 = tile.load %B[%i, %j] : !tile.desc<64x64xf8E4M3FN> -> tensor<64x64xf8E4M3FN>
    %b = arith.extf %b8 : tensor<64x64xf8E4M3FN> to tensor<64x64xbf16>
    %t = tile.trans %b : tensor<64x64xbf16> -> tensor<64x64xbf16>
    %next = tile.dot %a, %t acc(%acc) : tensor<128x64xbf16>, tensor<64x64xbf16> -> tensor<128x64xf32>
    scf.yield %next : tensor<128x64xf32>
  }
  tile.store %d to %D[%i, %i] : tensor<128x64xf32>, !tile.desc<128x64xf32>
  return
}

// -----

// A sum of 128 registers leaves none for warps of another role.
// CHECK-LABEL: func.func @wide_sum
// CHECK-SAME: warp.roles = ["math", "load"]
// CHECK: tile.to_shared {{.*}} {warp.in = "math"}
func.func @wide_sum(%A: !tile.desc<128x64xbf16>, %B: !tile.desc<256x64xf8E4M3FN>, %D: !tile.desc<128x256xf32>, %k: i32, %i: i32)
    attributes {tile.kernel, tile.schedule = #tile.schedule<replicas = 2>} {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %zero = arith.constant dense<0.0> : tensor<128x256xf32>
  %d = scf.for %j = %c0 to %k step %c64 iter_args(%acc = %zero) -> tensor<128x256xf32> : i32 {
    %a = tile.load %A[%i, %j] : !tile.desc<128x64xbf16> -> tensor<128x64xbf16>
    %b8 = tile.load %B[%i, %j] : !tile.desc<256x64xf8E4M3FN> -> tensor<256x64xf8E4M3FN>
    %b = arith.extf %b8 : tensor<256x64xf8E4M3FN> to tensor<256x64xbf16>
    %t = tile.trans %b : tensor<256x64xbf16> -> tensor<64x256xbf16>
    %next = tile.dot %a, %t acc(%acc) : tensor<128x64xbf16>, tensor<64x256xbf16> -> tensor<128x256xf32>
    scf.yield %next : tensor<128x256xf32>
  }
  tile.store %d to %D[%i, %i] : tensor<128x256xf32>, !tile.desc<128x256xf32>
  return
}

// -----

// What else needs the widened tile has it where it is computed.
// CHECK-LABEL: func.func @also_stored
// CHECK-SAME: warp.roles = ["math", "load"]
// CHECK: tile.to_shared {{.*}} {warp.in = "math"}
func.func @also_stored(%A: !tile.desc<128x64xbf16>, %B: !tile.desc<64x64xf8E4M3FN>, %D: !tile.desc<128x64xf32>, %k: i32, %i: i32,
    %p: i64 {tile.pointer = f32})
    attributes {tile.kernel, tile.schedule = #tile.schedule<replicas = 2>} {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %zero = arith.constant dense<0.0> : tensor<128x64xf32>
  %d = scf.for %j = %c0 to %k step %c64 iter_args(%acc = %zero) -> tensor<128x64xf32> : i32 {
    %a = tile.load %A[%i, %j] : !tile.desc<128x64xbf16> -> tensor<128x64xbf16>
    %b8 = tile.load %B[%i, %j] : !tile.desc<64x64xf8E4M3FN> -> tensor<64x64xf8E4M3FN>
    %b = arith.extf %b8 : tensor<64x64xf8E4M3FN> to tensor<64x64xbf16>
    %f = arith.extf %b : tensor<64x64xbf16> to tensor<64x64xf32>
    %e = tile.reduce add %f dim(0) : tensor<64x64xf32> -> tensor<64xf32>
    %all = tile.reduce add %e dim(0) : tensor<64xf32> -> f32
    tile.scatter %all to %p[%j] : f32, i32
    %t = tile.trans %b : tensor<64x64xbf16> -> tensor<64x64xbf16>
    %next = tile.dot %a, %t acc(%acc) : tensor<128x64xbf16>, tensor<64x64xbf16> -> tensor<128x64xf32>
    scf.yield %next : tensor<128x64xf32>
  }
  tile.store %d to %D[%i, %i] : tensor<128x64xf32>, !tile.desc<128x64xf32>
  return
}

// -----

// expected-error @+1 {{schedule: operands = "gather" expected an operand of a product that is computed, but not from products, found none}}
func.func @nothing_computed(%x: i64 {tile.pointer = f32}) attributes {tile.kernel, tile.schedule = #tile.schedule<operands = "gather">} {
  return
}

// -----

// Elements of 8 bits are read along K only: rows of B are written once more, as columns, by a role of their own.
// CHECK-LABEL: func.func @rows_of_bytes
// CHECK-SAME: warp.roles = ["math", "load", "gather"]
func.func @rows_of_bytes(%A: !tile.desc<64x64xf8E4M3FN>, %B: !tile.desc<64x64xf8E4M3FN>, %D: !tile.desc<64x64xf32>, %i: i32) attributes {tile.kernel} {
  %a = tile.load %A[%i, %i] : !tile.desc<64x64xf8E4M3FN> -> tensor<64x64xf8E4M3FN>
  // CHECK: %[[B:.*]] = tile.load %arg1
  %b = tile.load %B[%i, %i] : !tile.desc<64x64xf8E4M3FN> -> tensor<64x64xf8E4M3FN>
  // CHECK: %[[T:.*]] = tile.trans %[[B]]
  // CHECK: %[[S:.*]] = tile.to_shared %[[T]] {warp.in = "gather"}
  // CHECK: %[[U:.*]] = tile.trans %[[S]]
  // CHECK: tile.dot %{{.*}}, %[[U]]
  %d = tile.dot %a, %b : tensor<64x64xf8E4M3FN>, tensor<64x64xf8E4M3FN> -> tensor<64x64xf32>
  tile.store %d to %D[%i, %i] : tensor<64x64xf32>, !tile.desc<64x64xf32>
  return
}

// -----

// A barrier of the program is of the warps that compute.
// CHECK-LABEL: func.func @meets
// CHECK: nv.named_barrier {warp.in = "main"}
func.func @meets(%x: i64 {tile.pointer = f32}, %i: i32, %v: f32) attributes {tile.kernel} {
  tile.scatter %v to %x[%i] : f32, i32
  nv.named_barrier
  return
}
