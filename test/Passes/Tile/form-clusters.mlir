// RUN: kernel-opt %s --tile-form-clusters --split-input-file --verify-diagnostics | FileCheck %s

// Two CTAs have the tiles of one column, one below the other: B is theirs together. The one beyond the last tile stores outside of C.
// CHECK-LABEL: func.func @columns
// CHECK-SAME: %[[M:[a-z0-9]+]]: i32, %[[N:[a-z0-9]+]]: i32
// CHECK-SAME: raster = 8
func.func @columns(%A: !tile.desc<128x64xbf16>, %B: !tile.desc<64x64xbf16>, %C: !tile.desc<128x64xf32>, %m: i32, %n: i32, %k: i32)
    attributes {tile.kernel, tile.schedule = #tile.schedule<cluster = 2, multicast = "columns", raster = 16>} {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %c128 = arith.constant 128 : i32
  %zero = arith.constant dense<0.0> : tensor<128x64xf32>
  // CHECK: %[[GROUPS:.*]] = arith.ceildivsi %[[M]], %{{.*}} : i32
  // CHECK: tile.for_each_tile (%[[G:.*]], %[[J:.*]]) in (%[[GROUPS]], %[[N]])
  // CHECK: %[[FIRST:.*]] = arith.muli %[[G]], %{{.*}} : i32
  // CHECK: %[[RANK:.*]] = nv.cta_rank
  // CHECK: %[[I:.*]] = arith.addi %[[FIRST]], %[[RANK]] : i32
  // CHECK: %[[EXISTS:.*]] = arith.cmpi slt, %[[I]], %[[M]] : i32
  tile.for_each_tile (%i, %j) in (%m, %n) {
    // CHECK: %[[I0:.*]] = arith.muli %[[I]], %{{.*}} : i32
    // CHECK: %[[J0:.*]] = arith.muli %[[J]], %{{.*}} : i32
    %i0 = arith.muli %i, %c128 : i32
    %j0 = arith.muli %j, %c64 : i32
    %sum = scf.for %x = %c0 to %k step %c64 iter_args(%c = %zero) -> tensor<128x64xf32> : i32 {
      // CHECK: tile.load %{{.*}}[%[[I0]], %{{.*}}] : !tile.desc<128x64xbf16>
      // CHECK: tile.load %{{.*}}[%{{.*}}, %[[J0]]] {tile.multicast} : !tile.desc<64x64xbf16>
      %a = tile.load %A[%i0, %x] : !tile.desc<128x64xbf16> -> tensor<128x64xbf16>
      %b = tile.load %B[%x, %j0] : !tile.desc<64x64xbf16> -> tensor<64x64xbf16>
      %d = tile.dot %a, %b acc(%c) : tensor<128x64xbf16>, tensor<64x64xbf16> -> tensor<128x64xf32>
      scf.yield %d : tensor<128x64xf32>
    }
    // CHECK: %[[ROW:.*]] = arith.select %[[EXISTS]], %[[I0]], %c1073741824_i32
    // CHECK: tile.store %{{.*}} to %{{.*}}[%[[ROW]], %[[J0]]]
    tile.store %sum to %C[%i0, %j0] : tensor<128x64xf32>, !tile.desc<128x64xf32>
  }
  return
}

// -----

// Four CTAs along the last extent share the keys of a loop, but not what depends on the tile, or is used otherwise than by products. A known
// number of tiles needs no mask.
// CHECK-LABEL: func.func @rows
// CHECK-SAME: raster = 16
func.func @rows(%Q: !tile.desc<64x64xbf16>, %K: !tile.desc<64x64xbf16>, %V: !tile.desc<64x64xbf16>, %O: !tile.desc<64x64xf32>, %h: i32, %t: i32)
    attributes {tile.kernel, tile.schedule = #tile.schedule<cluster = 4, multicast = "rows", raster = 16>} {
  %c0 = arith.constant 0 : i32
  %c8 = arith.constant 8 : i32
  %c64 = arith.constant 64 : i32
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  // CHECK-NOT: arith.cmpi
  tile.for_each_tile (%b, %i) in (%h, %c8) {
    %q = tile.load %Q[%b, %i] : !tile.desc<64x64xbf16> -> tensor<64x64xbf16>
    %sum = scf.for %x = %c0 to %t step %c64 iter_args(%c = %zero) -> tensor<64x64xf32> : i32 {
      // CHECK: tile.load %{{.*}} {tile.multicast}
      %key = tile.load %K[%b, %x] : !tile.desc<64x64xbf16> -> tensor<64x64xbf16>
      %s = tile.dot %q, %key : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
      %p = arith.truncf %s : tensor<64x64xf32> to tensor<64x64xbf16>
      // CHECK: tile.load %{{[^ ]*}}[%{{[^ ]*}}, %{{[^ ]*}}] : !tile.desc<64x64xbf16>
      %v = tile.load %V[%b, %x] : !tile.desc<64x64xbf16> -> tensor<64x64xbf16>
      %w = arith.addf %v, %v : tensor<64x64xbf16>
      %d = tile.dot %p, %w acc(%c) : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
      scf.yield %d : tensor<64x64xf32>
    }
    // CHECK-NOT: arith.select
    tile.store %sum to %O[%b, %i] : tensor<64x64xf32>, !tile.desc<64x64xf32>
  }
  return
}

// -----

// Through pointers: what is read lies at the last tile that there is, what is written is masked.
// CHECK-LABEL: func.func @pointers
func.func @pointers(%A: !tile.desc<64x64xbf16>, %B: !tile.desc<64x64xbf16>, %p: i64 {tile.pointer = i32}, %D: i64 {tile.pointer = f32}, %m: i32,
                    %k: i32, %at: tensor<64x64xi32>) attributes {tile.kernel, tile.schedule = #tile.schedule<cluster = 2>} {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  // CHECK: %[[TILE:.*]] = arith.addi %{{.*}}, %{{.*}} : i32
  // CHECK: %[[EXISTS:.*]] = arith.cmpi slt, %[[TILE]]
  // CHECK: %[[LAST:.*]] = arith.subi
  // CHECK: %[[I:.*]] = arith.minsi %[[TILE]], %[[LAST]]
  tile.for_each_tile (%i) in (%m) {
    // CHECK: tile.gather %{{.*}}[%[[I]]]
    %row = tile.gather %p[%i] : i32 -> i32
    %sum = scf.for %x = %c0 to %k step %c64 iter_args(%c = %zero) -> tensor<64x64xf32> : i32 {
      %a = tile.load %A[%row, %x] : !tile.desc<64x64xbf16> -> tensor<64x64xbf16>
      // CHECK: tile.load %{{.*}} {tile.multicast}
      %b = tile.load %B[%x, %c0] : !tile.desc<64x64xbf16> -> tensor<64x64xbf16>
      %d = tile.dot %a, %b acc(%c) : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
      scf.yield %d : tensor<64x64xf32>
    }
    // CHECK: %[[MASK:.*]] = tile.splat %[[EXISTS]] : i1 -> tensor<64x64xi1>
    // CHECK: tile.scatter %{{.*}} mask(%[[MASK]] : tensor<64x64xi1>)
    tile.scatter %sum to %D[%at] : tensor<64x64xf32>, tensor<64x64xi32>
    // CHECK: tile.atomic add %{{.*}} mask(%[[EXISTS]] : i1)
    %old = tile.atomic add %row to %p[%i] : i32, i32 -> i32
  }
  return
}

// -----

// A loop that is as long as the tile says cannot share what it loads.
func.func @differ(%A: !tile.desc<64x64xbf16>, %B: !tile.desc<64x64xbf16>, %C: !tile.desc<64x64xf32>, %m: i32)
    attributes {tile.kernel, tile.schedule = #tile.schedule<cluster = 2, multicast = "columns">} {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  // expected-error@+1 {{schedule: cluster = 2 expected operands of products that are loaded in a loop, the same for all tiles along extent 0 (multicast = "columns"), in boxes of a multiple of 16 rows, found none}}
  tile.for_each_tile (%i) in (%m) {
    %sum = scf.for %x = %c0 to %i step %c64 iter_args(%c = %zero) -> tensor<64x64xf32> : i32 {
      %a = tile.load %A[%i, %x] : !tile.desc<64x64xbf16> -> tensor<64x64xbf16>
      %b = tile.load %B[%x, %c0] : !tile.desc<64x64xbf16> -> tensor<64x64xbf16>
      %d = tile.dot %a, %b acc(%c) : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
      scf.yield %d : tensor<64x64xf32>
    }
    tile.store %sum to %C[%i, %c0] : tensor<64x64xf32>, !tile.desc<64x64xf32>
  }
  return
}

// -----

// expected-error@+1 {{schedule: cluster = 2 expected scheduler = "static", found "dynamic": each CTA would draw tiles of its own}}
func.func @drawn(%m: i32) attributes {tile.kernel, tile.schedule = #tile.schedule<cluster = 2, scheduler = "dynamic">} {
  tile.for_each_tile (%i) in (%m) {
  }
  return
}

// -----

// expected-error@+1 {{schedule: cluster = 2 expected a loop over tiles, found none}}
func.func @grid() attributes {tile.kernel, tile.schedule = #tile.schedule<cluster = 2>} {
  return
}

// -----

func.func @one_extent(%m: i32) attributes {tile.kernel, tile.schedule = #tile.schedule<cluster = 2, multicast = "rows">} {
  // expected-error@+1 {{schedule: cluster = 2 expected tiles of two extents or more for multicast = "rows", found one}}
  tile.for_each_tile (%i) in (%m) {
  }
  return
}
