// RUN: kernel-opt %s --nv-assign-layouts --split-input-file | FileCheck %s

// What is known of pointer, stride and limit decides how many neighbours an access moves: rows of bf16 whose stride and length are
// multiples of 8 go 16 bytes at a time. All of one kernel's accesses to tiles of a shape agree on one layout.
// CHECK-LABEL: func.func @rows
func.func @rows(%x: i64 {tile.divisibility = 16 : i32}, %w: i64 {tile.divisibility = 16 : i32}, %n: i32 {tile.divisibility = 8 : i32}) {
  warp.specialize {
    warp.role @main warps(4) {
      %i = nv.program_id 0
      %begin = arith.muli %i, %n : i32
      %b = nv.splat %begin : i32 -> tensor<2048xi32>
      %c = nv.index dim(0) : tensor<2048xi32>
      %at = arith.addi %b, %c overflow<nsw> : tensor<2048xi32>
      %l = nv.splat %n : i32 -> tensor<2048xi32>
      %m = arith.cmpi slt, %c, %l : tensor<2048xi32>
      // CHECK: nv.global_load {{.*}} {nv.run = array<i64: 0, 8>} : {{.*}} -> tensor<2048xbf16, #nv.blocked<[8], [32], [4], [0]>>
      %v = nv.global_load %x[%at] mask(%m : tensor<2048xi1>) : tensor<2048xi32> -> tensor<2048xbf16>
      // CHECK: nv.global_load {{.*}} {nv.run = array<i64: 0, 4>} : {{.*}} -> tensor<2048xf32, #nv.blocked<[8], [32], [4], [0]>>
      %s = nv.global_load %w[%c] mask(%m : tensor<2048xi1>) : tensor<2048xi32> -> tensor<2048xf32>
      %f = arith.extf %v : tensor<2048xbf16> to tensor<2048xf32>
      %y = arith.mulf %f, %s : tensor<2048xf32>
      // CHECK-NOT: nv.convert_layout
      // CHECK: nv.global_store {{.*}} {nv.run = array<i64: 0, 4>}
      nv.global_store %y to %w[%c] mask(%m : tensor<2048xi1>) : tensor<2048xf32>, tensor<2048xi32>
    }
  }
  return
}

// -----

// A limit of which nothing is known cuts anywhere; an odd pointer allows single elements only.
// CHECK-LABEL: func.func @unknown
func.func @unknown(%x: i64 {tile.divisibility = 16 : i32}, %y: i64, %n: i32) {
  warp.specialize {
    warp.role @main warps(4) {
      %c = nv.index dim(0) : tensor<1024xi32>
      %l = nv.splat %n : i32 -> tensor<1024xi32>
      %m = arith.cmpi slt, %c, %l : tensor<1024xi32>
      // CHECK: nv.global_load {{.*}} {nv.run = array<i64: 0, 1>}
      %v = nv.global_load %x[%c] mask(%m : tensor<1024xi1>) : tensor<1024xi32> -> tensor<1024xf32>
      // CHECK: nv.global_store {{.*}} {nv.run = array<i64: 0, 1>}
      nv.global_store %v to %y[%c] : tensor<1024xf32>, tensor<1024xi32>
    }
  }
  return
}

// -----

// Offsets that a loop carries keep what start and step have in common.
// CHECK-LABEL: func.func @carried
func.func @carried(%x: i64 {tile.divisibility = 16 : i32}, %n: i32, %step: i32 {tile.divisibility = 4 : i32}) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  warp.specialize {
    warp.role @main warps(4) {
      %c = nv.index dim(0) : tensor<512xi32>
      %s = nv.splat %step : i32 -> tensor<512xi32>
      %end = scf.for %i = %c0 to %n step %c1 iter_args(%at = %c) -> (tensor<512xi32>) : i32 {
        // CHECK: nv.global_load {{.*}} {nv.run = array<i64: 0, 4>} : {{.*}} -> tensor<512xf32, #nv.blocked<[4], [32], [4], [0]>>
        %v = nv.global_load %x[%at] : tensor<512xi32> -> tensor<512xf32>
        nv.global_store %v to %x[%at] : tensor<512xf32>, tensor<512xi32>
        %next = arith.addi %at, %s : tensor<512xi32>
        scf.yield %next : tensor<512xi32>
      }
    }
  }
  return
}

// -----

// Read by rows, written by columns: each in its own order, with a conversion between. The offsets are made twice.
// CHECK-LABEL: func.func @transpose
func.func @transpose(%x: i64 {tile.divisibility = 16 : i32}, %y: i64 {tile.divisibility = 16 : i32}) {
  %c64 = arith.constant dense<64> : tensor<64x64xi32>
  warp.specialize {
    warp.role @main warps(4) {
      %i = nv.index dim(0) : tensor<64x64xi32>
      %j = nv.index dim(1) : tensor<64x64xi32>
      %i64 = arith.muli %i, %c64 : tensor<64x64xi32>
      %j64 = arith.muli %j, %c64 : tensor<64x64xi32>
      %rows = arith.addi %i64, %j : tensor<64x64xi32>
      %columns = arith.addi %j64, %i : tensor<64x64xi32>
      // CHECK: %[[V:.*]] = nv.global_load {{.*}} {nv.run = array<i64: 1, 4>} : {{.*}} -> tensor<64x64xf32, #[[ROWS:.*]]>
      %v = nv.global_load %x[%rows] : tensor<64x64xi32> -> tensor<64x64xf32>
      // CHECK: %[[C:.*]] = nv.convert_layout %[[V]] : {{.*}} -> tensor<64x64xf32, #nv.blocked<[4, 1], [16, 2], [1, 4], [0, 1]>>
      // CHECK: nv.global_store %[[C]] {{.*}} {nv.run = array<i64: 0, 4>}
      nv.global_store %v to %y[%columns] : tensor<64x64xf32>, tensor<64x64xi32>
    }
  }
  return
}

// -----

// Warps go where nothing is reduced; products of a warp fix their operands.
// CHECK-LABEL: func.func @anchors
func.func @anchors(%x: i64 {tile.divisibility = 16 : i32}) {
  %c256 = arith.constant dense<256> : tensor<16x256xi32>
  %zero = arith.constant dense<0.0> : tensor<16x32xf32>
  warp.specialize {
    warp.role @main warps(4) {
      %i = nv.index dim(0) : tensor<16x256xi32>
      %j = nv.index dim(1) : tensor<16x256xi32>
      %i256 = arith.muli %i, %c256 : tensor<16x256xi32>
      %at = arith.addi %i256, %j : tensor<16x256xi32>
      // CHECK: nv.global_load {{.*}} -> tensor<16x256xf32, #nv.blocked<[1, 4], [1, 32], [4, 1], [1, 0]>>
      %v = nv.global_load %x[%at] : tensor<16x256xi32> -> tensor<16x256xf32>
      %s = nv.reduce add %v dim(1) : tensor<16x256xf32> -> tensor<16xf32>
      %a = ub.poison : tensor<16x16xbf16>
      %b = ub.poison : tensor<16x32xbf16>
      // CHECK: nv.mma {{.*}} : tensor<16x16xbf16, #nv.mma_a<rows = 1, columns = 4>>, tensor<16x32xbf16, #nv.mma_b<rows = 1, columns = 4>>, tensor<16x32xf32, #nv.mma_acc<rows = 1, columns = 4>>
      %d = nv.mma %a, %b, %zero : tensor<16x16xbf16>, tensor<16x32xbf16>, tensor<16x32xf32>
      // CHECK: nv.scan add {{.*}} : tensor<16x32xf32, #nv.blocked<[1, 1], [1, 32], [4, 1], [1, 0]>>
      %p = nv.scan add %d dim(1) : tensor<16x32xf32>
      %k = nv.index dim(1) : tensor<16x32xi32>
      nv.global_store %p to %x[%k] : tensor<16x32xf32>, tensor<16x32xi32>
    }
  }
  return
}

// -----

// Fragments of mma.sync are in another order at every width of elements: conversions and choices work in another layout.
// CHECK-LABEL: func.func @computed_operands
func.func @computed_operands(%x: i64 {tile.divisibility = 16 : i32}) {
  %zero = arith.constant dense<0.0> : tensor<16x16xf32>
  warp.specialize {
    warp.role @main warps(1) {
      %c16 = arith.constant dense<16> : tensor<16x16xi32>
      %i = nv.index dim(0) : tensor<16x16xi32>
      %j = nv.index dim(1) : tensor<16x16xi32>
      %i16 = arith.muli %i, %c16 : tensor<16x16xi32>
      %at = arith.addi %i16, %j : tensor<16x16xi32>
      %v = nv.global_load %x[%at] : tensor<16x16xi32> -> tensor<16x16xf32>
      // CHECK: %[[A:.*]] = arith.truncf %{{.*}} : tensor<16x16xf32, #nv.blocked<{{.*}}>> to tensor<16x16xbf16, #nv.blocked<{{.*}}>>
      %a = arith.truncf %v : tensor<16x16xf32> to tensor<16x16xbf16>
      %diagonal = arith.cmpi eq, %i, %j : tensor<16x16xi32>
      %none = arith.constant dense<0.0> : tensor<16x16xbf16>
      // CHECK: %[[B:.*]] = arith.select %{{.*}} : tensor<16x16xi1, #nv.blocked<{{.*}}>>, tensor<16x16xbf16, #nv.blocked<{{.*}}>>
      %b = arith.select %diagonal, %a, %none : tensor<16x16xi1>, tensor<16x16xbf16>
      // CHECK-DAG: %[[FA:.*]] = nv.convert_layout %[[A]] : {{.*}} -> tensor<16x16xbf16, #nv.mma_a<rows = 1, columns = 1>>
      // CHECK-DAG: %[[FB:.*]] = nv.convert_layout %[[B]] : {{.*}} -> tensor<16x16xbf16, #nv.mma_b<rows = 1, columns = 1>>
      // CHECK: nv.mma %[[FA]], %[[FB]],
      %d = nv.mma %a, %b, %zero : tensor<16x16xbf16>, tensor<16x16xbf16>, tensor<16x16xf32>
      nv.global_store %d to %x[%at] : tensor<16x16xf32>, tensor<16x16xi32>
    }
  }
  return
}

// -----

// A scan keeps its own layout where element-wise code joins its result with a sum.
// CHECK-LABEL: func.func @scan_beside_sum
func.func @scan_beside_sum(%x: i64 {tile.divisibility = 16 : i32}) {
  %zero = arith.constant dense<0.0> : tensor<16x16xf32>
  warp.specialize {
    warp.role @main warps(1) {
      %c16 = arith.constant dense<16> : tensor<16x16xi32>
      %i = nv.index dim(0) : tensor<16x16xi32>
      %j = nv.index dim(1) : tensor<16x16xi32>
      %i16 = arith.muli %i, %c16 : tensor<16x16xi32>
      %at = arith.addi %i16, %j : tensor<16x16xi32>
      %a = nv.global_load %x[%at] : tensor<16x16xi32> -> tensor<16x16xbf16>
      %d = nv.mma %a, %a, %zero : tensor<16x16xbf16>, tensor<16x16xbf16>, tensor<16x16xf32>
      // CHECK: %[[S:.*]] = nv.scan add {{.*}} : tensor<16x16xf32, #nv.blocked<{{.*}}>>
      // CHECK: %[[C:.*]] = nv.convert_layout %[[S]] : {{.*}} -> tensor<16x16xf32, #nv.mma_acc<rows = 1, columns = 1>>
      // CHECK: arith.addf %{{.*}} : tensor<16x16xf32, #nv.mma_acc<rows = 1, columns = 1>>
      %p = nv.scan add %d dim(0) : tensor<16x16xf32>
      %sum = arith.addf %p, %d : tensor<16x16xf32>
      nv.global_store %sum to %x[%at] : tensor<16x16xf32>, tensor<16x16xi32>
    }
  }
  return
}

// -----

// A line of a scan whose length is no power of two is one thread's.
// CHECK-LABEL: func.func @odd_lines
func.func @odd_lines(%x: i64 {tile.divisibility = 16 : i32}) {
  warp.specialize {
    warp.role @main warps(2) {
      %i = nv.index dim(0) : tensor<64x24xi32>
      %v = nv.global_load %x[%i] : tensor<64x24xi32> -> tensor<64x24xf32>
      // CHECK: nv.scan add {{.*}} : tensor<64x24xf32, #nv.blocked<[1, 8], [32, 1], [2, 1], [1, 0]>>
      %p = nv.scan add %v dim(1) : tensor<64x24xf32>
      nv.global_store %p to %x[%i] : tensor<64x24xf32>, tensor<64x24xi32>
    }
  }
  return
}
