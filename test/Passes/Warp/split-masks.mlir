// RUN: kernel-opt %s --pass-pipeline='builtin.module(warp-split-masks,canonicalize)' --split-input-file | FileCheck %s

!t = tensor<64x32xf32>
!i = tensor<64x32xi32>
!b = tensor<64x32xi1>

// A ragged row: all tiles but the last are whole. Two loops, the first one without the mask.
// CHECK-LABEL: @ragged
// CHECK: arith.shrsi
// CHECK: %[[END:.*]] = arith.minsi
// CHECK: %[[SUM:.*]] = scf.for %{{.*}} = %c0_i32 to %[[END]] step
// CHECK-NOT: arith.select
// CHECK: scf.yield
// CHECK: scf.for %{{.*}} = %[[END]] to %{{.*}} iter_args(%{{.*}} = %[[SUM]])
// CHECK: %[[IOTA:.*]] = nv.index dim(1)
// CHECK: arith.cmpi slt, %[[IOTA]], %{{.*}}
// CHECK: arith.select
func.func @ragged(%columns: i32, %p: i64, %q: i64) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c32 = arith.constant 32 : i32
  warp.specialize {
    warp.role @sum warps(4) {
      %z = arith.constant dense<0.0> : !t
      %o = nv.index dim(1) : tensor<64x32xi64>
      %tiles = arith.ceildivui %columns, %c32 : i32
      %all = scf.for %j = %c0 to %tiles step %c1 iter_args(%s = %z) -> (!t) : i32 {
        %x = nv.global_load %p[%o] : tensor<64x32xi64> -> !t
        %j0 = arith.muli %j, %c32 : i32
        %first = nv.splat %j0 : i32 -> !i
        %iota = nv.index dim(1) : !i
        %column = arith.addi %iota, %first : !i
        %end = nv.splat %columns : i32 -> !i
        %inside = arith.cmpi slt, %column, %end : !i
        %y = arith.select %inside, %x, %z : !b, !t
        %next = arith.addf %s, %y : !t
        scf.yield %next : !t
      }
      nv.global_store %all to %q[%o] : !t, tensor<64x32xi64>
    }
  }
  return
}

// -----

!t = tensor<64x32xf32>
!i = tensor<64x32xi32>
!b = tensor<64x32xi1>

// The same, last tile first and taken out of the loop: no mask is left in it, and no second loop.
// CHECK-LABEL: @ragged_last_first
// CHECK: scf.for
// CHECK-NOT: arith.select
// CHECK: nv.global_store
// CHECK-NOT: scf.for
func.func @ragged_last_first(%columns: i32, %p: i64, %q: i64) {
  %c1 = arith.constant 1 : i32
  %c31 = arith.constant 31 : i32
  %c32 = arith.constant 32 : i32
  warp.specialize {
    warp.role @sum warps(4) {
      %z = arith.constant dense<0.0> : !t
      %o = nv.index dim(1) : tensor<64x32xi64>
      %up = arith.addi %columns, %c31 : i32
      %tiles = arith.divui %up, %c32 : i32
      %last = arith.subi %tiles, %c1 : i32
      %all = scf.for %j = %c1 to %tiles step %c1 iter_args(%s = %z) -> (!t) : i32 {
        %x = nv.global_load %p[%o] : tensor<64x32xi64> -> !t
        %before = arith.subi %last, %j : i32
        %j0 = arith.muli %before, %c32 : i32
        %first = nv.splat %j0 : i32 -> !i
        %iota = nv.index dim(1) : !i
        %column = arith.addi %iota, %first : !i
        %end = nv.splat %columns : i32 -> !i
        %inside = arith.cmpi sgt, %end, %column : !i
        %y = arith.select %inside, %x, %z : !b, !t
        %next = arith.addf %s, %y : !t
        scf.yield %next : !t
      }
      nv.global_store %all to %q[%o] : !t, tensor<64x32xi64>
    }
  }
  return
}

// -----

!t = tensor<64x32xf32>
!i = tensor<64x32xi32>
!b = tensor<64x32xi1>

// A band around the diagonal: enters, is whole, leaves. Three loops, with both comparisons in the first one and the one that
// fails at the end in the last.
// CHECK-LABEL: @band
// CHECK: %[[FIRST:.*]] = scf.for
// CHECK-DAG: arith.cmpi sge
// CHECK-DAG: arith.cmpi sle
// CHECK: arith.andi
// CHECK: arith.select
// CHECK: %[[SECOND:.*]] = scf.for {{.*}} iter_args(%{{.*}} = %[[FIRST]])
// CHECK-NOT: arith.select
// CHECK: scf.for {{.*}} iter_args(%{{.*}} = %[[SECOND]])
// CHECK-NOT: arith.cmpi sge
// CHECK: arith.cmpi sle
// CHECK-NOT: arith.andi
// CHECK: arith.select
func.func @band(%n: i32, %row: i32, %width: i32, %p: i64, %q: i64) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c32 = arith.constant 32 : i32
  warp.specialize {
    warp.role @sum warps(4) {
      %z = arith.constant dense<0.0> : !t
      %o = nv.index dim(1) : tensor<64x32xi64>
      %all = scf.for %j = %c0 to %n step %c1 iter_args(%s = %z) -> (!t) : i32 {
        %x = nv.global_load %p[%o] : tensor<64x32xi64> -> !t
        %j0 = arith.muli %j, %c32 : i32
        %first = nv.splat %j0 : i32 -> !i
        %iota = nv.index dim(1) : !i
        %column = arith.addi %iota, %first : !i
        %line0 = nv.index dim(0) : !i
        %rows = nv.splat %row : i32 -> !i
        %line = arith.addi %line0, %rows : !i
        %w = nv.splat %width : i32 -> !i
        %low = arith.subi %line, %w : !i
        %high = arith.addi %line, %w : !i
        %above = arith.cmpi sge, %column, %low : !i
        %below = arith.cmpi sle, %column, %high : !i
        %inside = arith.andi %above, %below : !b
        %y = arith.select %inside, %x, %z : !b, !t
        %next = arith.addf %s, %y : !t
        scf.yield %next : !t
      }
      nv.global_store %all to %q[%o] : !t, tensor<64x32xi64>
    }
  }
  return
}

// -----

!t = tensor<64x32xf32>
!i = tensor<64x32xi32>
!b = tensor<64x32xi1>

// Not affine, or by values of a tile: one loop, with its masks.
// CHECK-LABEL: @other
// CHECK: scf.for
// CHECK-COUNT-2: arith.select
// CHECK-NOT: scf.for
func.func @other(%n: i32, %p: i64, %q: i64) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  warp.specialize {
    warp.role @sum warps(4) {
      %z = arith.constant dense<0.0> : !t
      %o = nv.index dim(1) : tensor<64x32xi64>
      %all = scf.for %j = %c0 to %n step %c1 iter_args(%s = %z) -> (!t) : i32 {
        %x = nv.global_load %p[%o] : tensor<64x32xi64> -> !t
        %k = nv.global_load %q[%o] : tensor<64x32xi64> -> !i
        %square = arith.muli %j, %j : i32
        %first = nv.splat %square : i32 -> !i
        %iota = nv.index dim(1) : !i
        %end = nv.splat %n : i32 -> !i
        %a = arith.cmpi slt, %iota, %k : !i
        %y = arith.select %a, %x, %z : !b, !t
        %b = arith.cmpi slt, %first, %k : !i
        %w = arith.select %b, %y, %z : !b, !t
        %next = arith.addf %s, %w : !t
        scf.yield %next : !t
      }
      nv.global_store %all to %q[%o] : !t, tensor<64x32xi64>
    }
  }
  return
}

// -----

!t = tensor<64x64xf32>
!v = tensor<64xi32>
!i = tensor<64x64xi32>
!b = tensor<64x64xi1>

// The triangle of a square tile, whose rows and columns come from one vector of positions: they are not the same. The tile on the
// diagonal comes first; the others are whole.
// CHECK-LABEL: @triangle
// CHECK: %[[END:.*]] = arith.minsi
// CHECK: scf.for %{{.*}} = %c0_i32 to %[[END]]
// CHECK: %[[COLUMNS:.*]] = nv.index dim(1) : tensor<64x64xi32>
// CHECK: %[[ROWS:.*]] = nv.index dim(0) : tensor<64x64xi32>
// CHECK: arith.addi %[[ROWS]]
// CHECK: arith.cmpi sle, %[[COLUMNS]]
// CHECK: arith.select
// CHECK: scf.for %{{.*}} = %[[END]]
// CHECK-NOT: arith.select
// CHECK: nv.global_store
func.func @triangle(%m: i32, %p: i64, %q: i64) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c64 = arith.constant 64 : i32
  warp.specialize {
    warp.role @sum warps(4) {
      %z = arith.constant dense<0.0> : !t
      %o = nv.index dim(1) : tensor<64x64xi64>
      %iota = nv.index dim(0) : !v
      %m0 = arith.muli %m, %c64 : i32
      %end = arith.addi %m, %c1 : i32
      %all = scf.for %j = %c0 to %end step %c1 iter_args(%s = %z) -> (!t) : i32 {
        %x = nv.global_load %p[%o] : tensor<64x64xi64> -> !t
        %before = arith.subi %m, %j : i32
        %j0 = arith.muli %before, %c64 : i32
        %first = nv.splat %j0 : i32 -> !v
        %column1 = arith.addi %iota, %first : !v
        %column = nv.broadcast %column1 dim(0) : !v -> !i
        %firstRow = nv.splat %m0 : i32 -> !v
        %line1 = arith.addi %iota, %firstRow : !v
        %line = nv.broadcast %line1 dim(1) : !v -> !i
        %inside = arith.cmpi sle, %column, %line : !i
        %y = arith.select %inside, %x, %z : !b, !t
        %next = arith.addf %s, %y : !t
        scf.yield %next : !t
      }
      nv.global_store %all to %q[%o] : !t, tensor<64x64xi64>
    }
  }
  return
}

// -----

!t = tensor<64x32xf32>
!v = tensor<32xi32>
!i = tensor<64x32xi32>
!b = tensor<64x32xi1>

// Signed arithmetic, as programs write it: tiles from the end of columns rounded up, in a loop that may not run. All but the first are whole.
// CHECK-LABEL: @signed
// CHECK: scf.for
// CHECK-NOT: arith.select
// CHECK: nv.global_store
// CHECK-NOT: scf.for
func.func @signed(%columns: i32, %p: i64, %q: i64) {
  %c1 = arith.constant 1 : i32
  %c31 = arith.constant 31 : i32
  %c32 = arith.constant 32 : i32
  warp.specialize {
    warp.role @sum warps(4) {
      %z = arith.constant dense<0.0> : !t
      %o = nv.index dim(1) : tensor<64x32xi64>
      %iota = nv.index dim(0) : !v
      %up = arith.addi %columns, %c31 : i32
      %tiles = arith.divsi %up, %c32 : i32
      %last = arith.subi %tiles, %c1 : i32
      %start = arith.muli %last, %c32 : i32
      %stop = arith.addi %start, %c32 : i32
      %trips = arith.divsi %stop, %c32 : i32
      %all = scf.for %j = %c1 to %trips step %c1 iter_args(%s = %z) -> (!t) : i32 {
        %x = nv.global_load %p[%o] : tensor<64x32xi64> -> !t
        %back = arith.muli %j, %c32 : i32
        %n = arith.subi %start, %back : i32
        %first = nv.splat %n : i32 -> !v
        %column1 = arith.addi %iota, %first : !v
        %limit = nv.splat %columns : i32 -> !v
        %inside1 = arith.cmpi slt, %column1, %limit : !v
        %inside = nv.broadcast %inside1 dim(0) : tensor<32xi1> -> !b
        %y = arith.select %inside, %x, %z : !b, !t
        %next = arith.addf %s, %y : !t
        scf.yield %next : !t
      }
      nv.global_store %all to %q[%o] : !t, tensor<64x32xi64>
    }
  }
  return
}

// -----

!t = tensor<64x32xf32>
!i = tensor<64x32xi32>
!b = tensor<64x32xi1>

// Rows of pairs (row / 8 positions), a length that is the smaller one of two, and the last tile taken out of the loop: what cancels is proved
// before the minimum is taken apart. One loop without its mask; the band of the quotients has a loop with and one without.
// CHECK-LABEL: @quotients
// CHECK: scf.for
// CHECK: arith.select
// CHECK: scf.for
// CHECK-NOT: arith.select
// CHECK: nv.global_store
// CHECK-NOT: scf.for
func.func @quotients(%length: i32, %most: i32, %m: i32, %p: i64, %q: i64) {
  %c1 = arith.constant 1 : i32
  %c32 = arith.constant 32 : i32
  warp.specialize {
    warp.role @sum warps(4) {
      %z = arith.constant dense<0.0> : !t
      %eight = arith.constant dense<8> : tensor<64xi32>
      %o = nv.index dim(1) : tensor<64x32xi64>
      %end = arith.minsi %length, %most : i32
      %tiles = arith.ceildivsi %end, %c32 : i32
      %last = arith.subi %tiles, %c1 : i32
      %row = nv.index dim(0) : tensor<64xi32>
      %query = arith.divsi %row, %eight : tensor<64xi32>
      %ms = nv.splat %m : i32 -> tensor<64xi32>
      %place = arith.addi %query, %ms : tensor<64xi32>
      %places = nv.broadcast %place dim(1) : tensor<64xi32> -> !i
      %all = scf.for %j = %c1 to %tiles step %c1 iter_args(%s = %z) -> (!t) : i32 {
        %x = nv.global_load %p[%o] : tensor<64x32xi64> -> !t
        %before = arith.subi %last, %j : i32
        %j0 = arith.muli %before, %c32 : i32
        %first = nv.splat %j0 : i32 -> !i
        %iota = nv.index dim(1) : !i
        %column = arith.addi %iota, %first : !i
        %ends = nv.splat %end : i32 -> !i
        %there = arith.cmpi slt, %column, %ends : !i
        %seen = arith.cmpi sle, %column, %places : !i
        %inside = arith.andi %there, %seen : !b
        %y = arith.select %inside, %x, %z : !b, !t
        %next = arith.addf %s, %y : !t
        scf.yield %next : !t
      }
      nv.global_store %all to %q[%o] : !t, tensor<64x32xi64>
    }
  }
  return
}

// -----

!t = tensor<64x32xf32>
!i = tensor<64x32xi32>
!b = tensor<64x32xi1>

// A limit for each row that grows along them, though not evenly (the chunk that a row is in): from the last row's on there is no mask.
// CHECK-LABEL: @chunks
// CHECK: %[[LAST:.*]] = arith.addi %{{.*}}, %c63_i32
// CHECK: arith.divsi %[[LAST]]
// CHECK: %[[SUM:.*]] = scf.for
// CHECK: arith.select
// CHECK: scf.for {{.*}} iter_args(%{{.*}} = %[[SUM]])
// CHECK-NOT: arith.select
// CHECK: nv.global_store
func.func @chunks(%m: i32, %chunk: i32, %tiles: i32, %p: i64, %q: i64) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c32 = arith.constant 32 : i32
  warp.specialize {
    warp.role @sum warps(4) {
      %z = arith.constant dense<0.0> : !t
      %o = nv.index dim(1) : tensor<64x32xi64>
      %row = nv.index dim(0) : tensor<64xi32>
      %ms = nv.splat %m : i32 -> tensor<64xi32>
      %place = arith.addi %row, %ms : tensor<64xi32>
      %sizes = nv.splat %chunk : i32 -> tensor<64xi32>
      %number = arith.divsi %place, %sizes : tensor<64xi32>
      %begin = arith.muli %number, %sizes : tensor<64xi32>
      %begins = nv.broadcast %begin dim(1) : tensor<64xi32> -> !i
      %all = scf.for %j = %c0 to %tiles step %c1 iter_args(%s = %z) -> (!t) : i32 {
        %x = nv.global_load %p[%o] : tensor<64x32xi64> -> !t
        %j0 = arith.muli %j, %c32 : i32
        %first = nv.splat %j0 : i32 -> !i
        %iota = nv.index dim(1) : !i
        %column = arith.addi %iota, %first : !i
        %inside = arith.cmpi sge, %column, %begins : !i
        %y = arith.select %inside, %x, %z : !b, !t
        %next = arith.addf %s, %y : !t
        scf.yield %next : !t
      }
      nv.global_store %all to %q[%o] : !t, tensor<64x32xi64>
    }
  }
  return
}

// -----

!t = tensor<64x32xf32>
!i = tensor<64x32xi32>

// A sum of positions that is converted: the column, and what is beside it.
// CHECK-LABEL: @converted
// CHECK: %[[COLUMN:.*]] = nv.index dim(1) : tensor<64x32xi32>
// CHECK: %[[ROW:.*]] = nv.index dim(0) : tensor<64x32xi32>
// CHECK: %[[REST:.*]] = arith.subi %{{.*}}, %[[ROW]]
// CHECK: %[[SUM:.*]] = arith.addi %[[COLUMN]], %[[REST]] overflow<nsw>
// CHECK: arith.sitofp %[[SUM]]
func.func @converted(%m: i32, %n: i32, %q: i64) {
  warp.specialize {
    warp.role @sum warps(4) {
      %o = nv.index dim(1) : tensor<64x32xi64>
      %c = nv.index dim(1) : !i
      %r = nv.index dim(0) : !i
      %n0 = nv.splat %n : i32 -> !i
      %m0 = nv.splat %m : i32 -> !i
      %column = arith.addi %n0, %c : !i
      %row = arith.addi %m0, %r : !i
      %distance = arith.subi %column, %row : !i
      %x = arith.sitofp %distance : !i to !t
      nv.global_store %x to %q[%o] : !t, tensor<64x32xi64>
    }
  }
  return
}
