// RUN: kernel-opt %s --tile-split-loops --split-input-file --verify-diagnostics | FileCheck %s

// The sums of an item go to its slot; the last of a tile adds those of all and stores. What is loaded after the loop is loaded by every item.
// CHECK-LABEL: func.func @product
// CHECK-SAME: %[[M:[a-z0-9]+]]: i32, %[[K:[a-z0-9]+]]: i32,
// CHECK-SAME: %[[SUMS:[a-z0-9]+]]: i64 {nv.unset, nv.workspace = {of = [{of = [{argument = 4 : i64}, 2], op = "mul"}, 98304], op = "mul"}, tile.pointer = f32}
// CHECK-SAME: %[[COUNTERS:[a-z0-9]+]]: i64 {nv.workspace = {of = [{{.*}}, 8], op = "mul"}, tile.pointer = i32}
// CHECK-SAME: tile.schedule = #tile.schedule<raster = 48, replicas = 2, use = "cooperative">
func.func @product(%A: !tile.desc<128x64xbf16>, %B: !tile.desc<64x64xbf16>, %C: !tile.desc<128x64xbf16>, %R: !tile.desc<128x64xbf16>, %m: i32,
                   %k: i32) attributes {tile.kernel, tile.schedule = #tile.schedule<replicas = 2, use = "cooperative", raster = 16, split = 3>} {
  %c0 = arith.constant 0 : i32
  %c2 = arith.constant 2 : i32
  %c64 = arith.constant 64 : i32
  %zero = arith.constant dense<0.0> : tensor<128x64xf32>
  // CHECK: tile.for_each_tile (%[[I:.*]], %[[S:.*]], %[[J:.*]]) in (%[[M]], %{{.*}}, %{{.*}})
  tile.for_each_tile (%i, %j) in (%m, %c2) {
    // The first slices have an iteration more.
    // CHECK: %[[LONGER:.*]] = arith.cmpi slt, %[[S]], %{{.*}} : i32
    // CHECK: %[[TRIPS:.*]] = arith.select %[[LONGER]]
    // CHECK: %[[OWN:.*]] = scf.for
    %sum = scf.for %x = %c0 to %k step %c64 iter_args(%c = %zero) -> tensor<128x64xf32> : i32 {
      %a = tile.load %A[%i, %x] : !tile.desc<128x64xbf16> -> tensor<128x64xbf16>
      %b = tile.load %B[%x, %j] : !tile.desc<64x64xbf16> -> tensor<64x64xbf16>
      %d = tile.dot %a, %b acc(%c) : tensor<128x64xbf16>, tensor<64x64xbf16> -> tensor<128x64xf32>
      scf.yield %d : tensor<128x64xf32>
    }
    // CHECK: scf.yield
    // CHECK: %[[R:.*]] = tile.load
    // CHECK: nv.store_partial %[[OWN]] to %{{.*}} : tensor<128x64xf32>
    // CHECK: %[[LAST:.*]] = tile.last_arrival %[[COUNTERS]][%{{.*}}] of %{{.*}} {tile.by_rows}
    // CHECK: scf.if %[[LAST]] {
    // CHECK: %[[ALL:.*]] = nv.sum_partials %{{.*}} like %[[OWN]] count 3 stride 32768 : tensor<128x64xf32>
    // CHECK: arith.truncf %[[ALL]]
    // CHECK: arith.addf %{{.*}}, %[[R]]
    // CHECK: tile.store
    // CHECK: }
    %out = arith.truncf %sum : tensor<128x64xf32> to tensor<128x64xbf16>
    %r = tile.load %R[%i, %j] : !tile.desc<128x64xbf16> -> tensor<128x64xbf16>
    %both = arith.addf %out, %r : tensor<128x64xbf16>
    tile.store %both to %C[%i, %j] : tensor<128x64xbf16>, !tile.desc<128x64xbf16>
  }
  return
}

// -----

// A wide sum leaves in pieces of 32 registers of a thread. With one extent the slices still come before the columns.
// CHECK-LABEL: func.func @pieces
func.func @pieces(%A: !tile.desc<128x64xbf16>, %B: !tile.desc<64x96xbf16>, %C: !tile.desc<128x96xf32>, %m: i32, %k: i32)
    attributes {tile.kernel, tile.schedule = #tile.schedule<replicas = 2, split = 2>} {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %zero = arith.constant dense<0.0> : tensor<128x96xf32>
  // CHECK: tile.for_each_tile (%{{.*}}, %{{.*}}, %{{.*}}) in
  tile.for_each_tile (%i) in (%m) {
    %sum = scf.for %x = %c0 to %k step %c64 iter_args(%c = %zero) -> tensor<128x96xf32> : i32 {
      %a = tile.load %A[%i, %x] : !tile.desc<128x64xbf16> -> tensor<128x64xbf16>
      %b = tile.load %B[%x, %c0] : !tile.desc<64x96xbf16> -> tensor<64x96xbf16>
      %d = tile.dot %a, %b acc(%c) : tensor<128x64xbf16>, tensor<64x96xbf16> -> tensor<128x96xf32>
      scf.yield %d : tensor<128x96xf32>
    }
    // CHECK: %[[FIRST:.*]] = nv.extract %{{.*}}[0, 0] : tensor<128x96xf32> -> tensor<128x64xf32>
    // CHECK: nv.store_partial %[[FIRST]]
    // CHECK: %[[SECOND:.*]] = nv.extract %{{.*}}[0, 64] : tensor<128x96xf32> -> tensor<128x32xf32>
    // CHECK: nv.store_partial %[[SECOND]]
    // CHECK: nv.sum_partials %{{.*}} like %[[FIRST]] count 2 stride 49152
    // CHECK: nv.sum_partials %{{.*}} like %[[SECOND]] count 2 stride 49152
    // CHECK: nv.concat
    tile.store %sum to %C[%i, %c0] : tensor<128x96xf32>, !tile.desc<128x96xf32>
  }
  return
}

// -----

func.func @no_sum(%A: !tile.desc<128x64xbf16>, %B: !tile.desc<64x64xbf16>, %C: !tile.desc<128x64xf32>, %m: i32, %k: i32)
    attributes {tile.kernel, tile.schedule = #tile.schedule<split = 2>} {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %one = arith.constant dense<1.0> : tensor<128x64xf32>
  tile.for_each_tile (%i) in (%m) {
    // expected-error@+1 {{schedule: split = 2 expected a loop that carries sums of 32-bit elements from zero, and nothing else}}
    %sum = scf.for %x = %c0 to %k step %c64 iter_args(%c = %one) -> tensor<128x64xf32> : i32 {
      %a = tile.load %A[%i, %x] : !tile.desc<128x64xbf16> -> tensor<128x64xbf16>
      %b = tile.load %B[%x, %c0] : !tile.desc<64x64xbf16> -> tensor<64x64xbf16>
      %d = tile.dot %a, %b acc(%c) : tensor<128x64xbf16>, tensor<64x64xbf16> -> tensor<128x64xf32>
      scf.yield %d : tensor<128x64xf32>
    }
    tile.store %sum to %C[%i, %c0] : tensor<128x64xf32>, !tile.desc<128x64xf32>
  }
  return
}

// -----

func.func @unknown_extent(%A: !tile.desc<128x64xbf16>, %B: !tile.desc<64x64xbf16>, %C: !tile.desc<128x64xf32>, %p: i64 {tile.pointer = i32}, %k: i32)
    attributes {tile.kernel, tile.schedule = #tile.schedule<split = 2>} {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %zero = arith.constant dense<0.0> : tensor<128x64xf32>
  %m = tile.gather %p[%c0] : i32 -> i32
  // expected-error@+1 {{expected extents that the host can compute from the kernel's arguments, found one that it cannot}}
  tile.for_each_tile (%i) in (%m) {
    %sum = scf.for %x = %c0 to %k step %c64 iter_args(%c = %zero) -> tensor<128x64xf32> : i32 {
      %a = tile.load %A[%i, %x] : !tile.desc<128x64xbf16> -> tensor<128x64xbf16>
      %b = tile.load %B[%x, %c0] : !tile.desc<64x64xbf16> -> tensor<64x64xbf16>
      %d = tile.dot %a, %b acc(%c) : tensor<128x64xbf16>, tensor<64x64xbf16> -> tensor<128x64xf32>
      scf.yield %d : tensor<128x64xf32>
    }
    tile.store %sum to %C[%i, %c0] : tensor<128x64xf32>, !tile.desc<128x64xf32>
  }
  return
}

// -----

// As many rows of tiles together as a schedule takes.
// CHECK-LABEL: func.func @many_rows
// CHECK-SAME: raster = 16384
func.func @many_rows(%A: !tile.desc<128x64xbf16>, %B: !tile.desc<64x64xbf16>, %C: !tile.desc<128x64xf32>, %m: i32, %k: i32)
    attributes {tile.kernel, tile.schedule = #tile.schedule<replicas = 2, raster = 1024, split = 64>} {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %zero = arith.constant dense<0.0> : tensor<128x64xf32>
  tile.for_each_tile (%i) in (%m) {
    %sum = scf.for %x = %c0 to %k step %c64 iter_args(%c = %zero) -> tensor<128x64xf32> : i32 {
      %a = tile.load %A[%i, %x] : !tile.desc<128x64xbf16> -> tensor<128x64xbf16>
      %b = tile.load %B[%x, %c0] : !tile.desc<64x64xbf16> -> tensor<64x64xbf16>
      %d = tile.dot %a, %b acc(%c) : tensor<128x64xbf16>, tensor<64x64xbf16> -> tensor<128x64xf32>
      scf.yield %d : tensor<128x64xf32>
    }
    tile.store %sum to %C[%i, %c0] : tensor<128x64xf32>, !tile.desc<128x64xf32>
  }
  return
}

// -----

// Items of a cluster: its CTAs have a tile each, with a slot and a counter of its own.
// CHECK-LABEL: func.func @clusters
// CHECK-SAME: nv.workspace = {of = [{of = [{of = [{argument = 3 : i64}, {argument = 4 : i64}], op = "mul"}, 2], op = "mul"}, 65536], op = "mul"}
func.func @clusters(%A: !tile.desc<128x64xbf16>, %B: !tile.desc<64x64xbf16>, %C: !tile.desc<128x64xf32>, %m: i32, %n: i32, %k: i32)
    attributes {tile.kernel, tile.schedule = #tile.schedule<cluster = 2, multicast = "columns", replicas = 2, split = 2>} {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %zero = arith.constant dense<0.0> : tensor<128x64xf32>
  // CHECK: tile.for_each_tile
  tile.for_each_tile (%i, %j) in (%m, %n) {
    // CHECK: %[[FIRST:.*]] = arith.muli %{{.*}}, %c2_i32{{.*}} : i32
    // CHECK: %[[RANK:.*]] = nv.cta_rank
    // CHECK: %[[TILE:.*]] = arith.addi %[[FIRST]], %[[RANK]] : i32
    %sum = scf.for %x = %c0 to %k step %c64 iter_args(%c = %zero) -> tensor<128x64xf32> : i32 {
      %a = tile.load %A[%i, %x] : !tile.desc<128x64xbf16> -> tensor<128x64xbf16>
      %b = tile.load %B[%x, %j] : !tile.desc<64x64xbf16> -> tensor<64x64xbf16>
      %d = tile.dot %a, %b acc(%c) : tensor<128x64xbf16>, tensor<64x64xbf16> -> tensor<128x64xf32>
      scf.yield %d : tensor<128x64xf32>
    }
    // CHECK: arith.extsi %[[TILE]]
    // CHECK: nv.store_partial
    // CHECK: %[[COUNTER:.*]] = arith.muli %[[TILE]]
    // CHECK: tile.last_arrival %{{.*}}[%[[COUNTER]]]
    tile.store %sum to %C[%i, %j] : tensor<128x64xf32>, !tile.desc<128x64xf32>
  }
  return
}
