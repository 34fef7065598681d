// RUN: kernel-opt %s --tile-place-workspaces --split-input-file --verify-diagnostics | FileCheck %s

// Each becomes an argument of its own, with its size out of the kernel's arguments.
// CHECK-LABEL: func.func @two
// CHECK-SAME: %[[N:[a-z0-9]+]]: i32, %[[SUMS:[a-z0-9]+]]: i64 {nv.unset, nv.workspace = {of = [4, {argument = 0 : i64}], op = "mul"}, tile.divisibility = 256 : i32, tile.pointer = f32}
// CHECK-SAME: %[[COUNTERS:[a-z0-9]+]]: i64 {nv.workspace = {of = [4, {argument = 0 : i64}], op = "mul"}, tile.divisibility = 256 : i32, tile.pointer = i32}
func.func @two(%n: i32) attributes {tile.kernel} {
  %c0 = arith.constant 0 : i64
  %c4 = arith.constant 4 : i64
  %one = arith.constant 1.0 : f32
  tile.for_each_tile (%i) in (%n) {
    %wide = arith.extsi %n : i32 to i64
    %bytes = arith.muli %c4, %wide : i64
    %sums = tile.workspace %bytes of f32
    %counters = tile.workspace %bytes zero of i32
    // CHECK-NOT: tile.workspace
    // CHECK: tile.scatter %{{.*}} to %[[SUMS]]
    tile.scatter %one to %sums[%c0] : f32, i64
    // CHECK: tile.last_arrival %[[COUNTERS]]
    %last = tile.last_arrival %counters[%i] of %n
  }
  return
}

// -----

func.func @of_a_tile(%n: i32) attributes {tile.kernel} {
  tile.for_each_tile (%i) in (%n) {
    %bytes = arith.extsi %i : i32 to i64
    // expected-error@+1 {{bytes: expected a number that the host can compute from the kernel's arguments, found one that it cannot}}
    %sums = tile.workspace %bytes of f32
  }
  return
}

// -----

func.func @function(%bytes: i64) {
  // expected-error@+1 {{expected to be in a kernel (a function with 'tile.kernel')}}
  %sums = tile.workspace %bytes of f32
  return
}
