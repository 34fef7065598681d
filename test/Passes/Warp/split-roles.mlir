// RUN: kernel-opt %s --warp-partition --warp-insert-rings --warp-split-roles --split-input-file --verify-diagnostics | FileCheck %s

// Each role keeps the loops around its operations, and of what they carry only what it needs.
// CHECK-LABEL: func.func @running
// CHECK: warp.role @math warps(4) {
// CHECK: warp.for_each_tile
// CHECK: scf.for {{.*}} iter_args(%{{.*}} = %{{.*}}) -> (tensor<64x64xf32>)
// CHECK-NOT: nv.tma.load
// CHECK: warp.role @load warps(1) {
// CHECK: warp.for_each_tile
// CHECK: scf.for {{.*}} iter_args(%[[AT:.*]] = %{{.*}}) -> (i32)
// CHECK: nv.tma.load %{{.*}}[%{{.*}}, %[[AT]]]
// CHECK-NOT: nv.local_load
func.func @running(%A: !tile.desc<64x64xf32>, %D: !tile.desc<64x64xf32>, %tiles: i32, %n: i32) attributes {tile.kernel} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c64 = arith.constant 64 : i32
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  tile.for_each_tile (%t) in (%tiles) {
    %row = arith.muli %t, %c64 : i32
    %last:2 = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %zero, %at = %c0) -> (tensor<64x64xf32>, i32) : i32 {
      %a = tile.load %A[%row, %at] : !tile.desc<64x64xf32> -> tensor<64x64xf32>
      %next = arith.addf %sum, %a : tensor<64x64xf32>
      %further = arith.addi %at, %c64 : i32
      scf.yield %next, %further : tensor<64x64xf32>, i32
    }
    tile.store %last#0 to %D[%row, %c0] : tensor<64x64xf32>, !tile.desc<64x64xf32>
  }
  return
}

// -----

// A branch around a load is taken by both roles; a scalar that is read through a pointer is read by both.
// CHECK-LABEL: func.func @some
// CHECK: warp.role @math
// CHECK: tile.gather
// CHECK: scf.if
// CHECK: warp.acquire
// CHECK: warp.role @load
// CHECK: tile.gather
// CHECK: scf.if
// CHECK: nv.tma.load
func.func @some(%A: !tile.desc<64x64xf32>, %D: !tile.desc<64x64xf32>, %flags: i64 {tile.pointer = i32}, %tiles: i32) attributes {tile.kernel} {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  tile.for_each_tile (%t) in (%tiles) {
    %flag = tile.gather %flags[%t] : i32 -> i32
    %wanted = arith.cmpi ne, %flag, %c0 : i32
    scf.if %wanted {
      %row = arith.muli %t, %c64 : i32
      %a = tile.load %A[%row, %c0] : !tile.desc<64x64xf32> -> tensor<64x64xf32>
      %y = math.absf %a : tensor<64x64xf32>
      tile.store %y to %D[%row, %c0] : tensor<64x64xf32>, !tile.desc<64x64xf32>
    }
  }
  return
}

// -----

// Extents fold into rows and columns.
// CHECK-LABEL: func.func @three
// CHECK: warp.for_each_tile (%[[R:.*]], %[[C:.*]]) in (%[[ROWS:.*]], %{{.*}})
// CHECK: arith.divui %[[R]]
func.func @three(%A: !tile.desc<1x64x64xf32>, %D: !tile.desc<1x64x64xf32>, %x: i32, %y: i32, %z: i32) attributes {tile.kernel} {
  tile.for_each_tile (%i, %j, %k) in (%x, %y, %z) {
    %a = tile.load %A[%i, %j, %k] : !tile.desc<1x64x64xf32> -> tensor<64x64xf32>
    tile.store %a to %D[%i, %j, %k] : tensor<64x64xf32>, !tile.desc<1x64x64xf32>
  }
  return
}

// -----

// What to load depends on what was loaded: the role that reduces it sends the value, the other one takes it.
// CHECK-LABEL: func.func @chased
func.func @chased(%A: !tile.desc<64x64xi32>, %D: !tile.desc<64x64xi32>, %n: i32) attributes {tile.kernel} {
  %c0 = arith.constant 0 : i32
  %a = tile.load %A[%c0, %c0] : !tile.desc<64x64xi32> -> tensor<64x64xi32>
  %p = nv.warp_any %a : tensor<64x64xi32>
  %at = arith.extui %p : i1 to i32
  %b = tile.load %A[%at, %c0] : !tile.desc<64x64xi32> -> tensor<64x64xi32>
  tile.store %b to %D[%c0, %c0] : tensor<64x64xi32>, !tile.desc<64x64xi32>
  return
}

// -----

// A while loop goes to each role with what the role needs of it: the place for the one that loads, the sum for the other.
// CHECK-LABEL: func.func @until
// CHECK: warp.role @math
// CHECK: scf.while (%{{.*}} = %{{.*}}, %{{.*}} = %{{.*}}) : (i32, tensor<64x64xf32>) -> (i32, tensor<64x64xf32>)
// CHECK: warp.role @load
// CHECK: scf.while (%{{.*}} = %{{.*}}) : (i32) -> i32
func.func @until(%A: !tile.desc<64x64xf32>, %D: !tile.desc<64x64xf32>, %list: i64 {tile.pointer = i32}, %start: i32) attributes {tile.kernel} {
  %c0 = arith.constant 0 : i32
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %end:2 = scf.while (%i = %start, %s = %zero) : (i32, tensor<64x64xf32>) -> (i32, tensor<64x64xf32>) {
    %more = arith.cmpi sge, %i, %c0 : i32
    scf.condition(%more) %i, %s : i32, tensor<64x64xf32>
  } do {
  ^bb0(%i: i32, %s: tensor<64x64xf32>):
    %x = tile.load %A[%i, %c0] : !tile.desc<64x64xf32> -> tensor<64x64xf32>
    %sum = arith.addf %s, %x : tensor<64x64xf32>
    %next = tile.gather %list[%i] : i32 -> i32
    scf.yield %next, %sum : i32, tensor<64x64xf32>
  }
  tile.store %end#1 to %D[%c0, %c0] : tensor<64x64xf32>, !tile.desc<64x64xf32>
  return
}

// -----

// The load role would read what the math role writes.
func.func @written_rows(%X: !tile.desc<64x64xf32>, %D: !tile.desc<64x64xf32>, %p: i64 {tile.pointer = i32}, %tiles: i32) attributes {tile.kernel} {
  %c0 = arith.constant 0 : i32
  tile.for_each_tile (%t) in (%tiles) {
    // expected-note@+1 {{written here, in no order with the read}}
    tile.scatter %t to %p[%t] : i32, i32
    // expected-error@+1 {{in role 'load': expected memory that no other role writes, found 'tile.scatter' in role 'math'}}
    %row = tile.gather %p[%t] : i32 -> i32
    %x = tile.load %X[%row, %c0] : !tile.desc<64x64xf32> -> tensor<64x64xf32>
    tile.store %x to %D[%row, %c0] : tensor<64x64xf32>, !tile.desc<64x64xf32>
  }
  return
}

// -----

// The same through an offset, in another order, by an atomic operation.
func.func @counted_rows(%X: !tile.desc<64x64xf32>, %D: !tile.desc<64x64xf32>, %p: i64 {tile.pointer = i32}, %n: i64, %tiles: i32) attributes {tile.kernel} {
  %c0 = arith.constant 0 : i32
  %further = arith.addi %p, %n : i64
  tile.for_each_tile (%t) in (%tiles) {
    // expected-error@+1 {{in role 'load': expected memory that no other role writes, found 'tile.atomic' in role 'math'}}
    %row = tile.gather %p[%t] : i32 -> i32
    %x = tile.load %X[%row, %c0] : !tile.desc<64x64xf32> -> tensor<64x64xf32>
    // expected-note@+1 {{written here, in no order with the read}}
    %old = tile.atomic max %t to %further[%t] : i32, i32 -> i32
    tile.store %x to %D[%row, %c0] : tensor<64x64xf32>, !tile.desc<64x64xf32>
  }
  return
}

// -----

// Different arguments are different memory; what the writing role alone reads, and what nothing writes while the kernel runs, it may read.
// CHECK-LABEL: func.func @other_rows
// CHECK: warp.role @math
// CHECK: tile.gather
// CHECK: tile.gather
// CHECK: tile.scatter
// CHECK: warp.role @load
// CHECK: tile.gather %{{.*}} : i32 -> i32
// CHECK: tile.gather %{{.*}} invariant : i32 -> i32
func.func @other_rows(%X: !tile.desc<64x64xf32>, %D: !tile.desc<64x64xf32>, %p: i64 {tile.pointer = i32}, %q: i64 {tile.pointer = i32}, %n: i64,
                      %tiles: i32) attributes {tile.kernel} {
  %c0 = arith.constant 0 : i32
  %from = arith.addi %p, %n : i64
  %to = arith.addi %q, %n : i64
  tile.for_each_tile (%t) in (%tiles) {
    %row = tile.gather %from[%t] : i32 -> i32
    %column = tile.gather %to[%t] invariant : i32 -> i32
    %x = tile.load %X[%row, %column] : !tile.desc<64x64xf32> -> tensor<64x64xf32>
    %own = tile.gather %to[%t] : i32 -> i32
    %next = arith.addi %own, %row : i32
    tile.scatter %next to %to[%t] : i32, i32
    tile.store %x to %D[%row, %column] : tensor<64x64xf32>, !tile.desc<64x64xf32>
  }
  return
}
