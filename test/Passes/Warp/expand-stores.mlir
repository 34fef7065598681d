// RUN: kernel-opt %s --warp-expand-stores | FileCheck %s

// A store becomes one turn of a slot that the role hands to itself; the order of stores stays.
// CHECK-LABEL: func.func @store
// CHECK-SAME: %[[C:.*]]: !tile.desc<64x64xbf16>, %[[V:.*]]: tensor<64x64xbf16>, %[[W:.*]]: tensor<64x64xbf16>, %[[I:.*]]: i32, %[[J:.*]]: i32)
func.func @store(%C: !tile.desc<64x64xbf16>, %v: tensor<64x64xbf16>, %w: tensor<64x64xbf16>, %i: i32, %j: i32) {
  %b = warp.buffer per_replica : !warp.buffer<2 x [64x64xbf16]>
  // CHECK: %[[RING:.*]] = warp.ring released
  %staged = warp.ring released %b : !warp.buffer<2 x [64x64xbf16]>
  // CHECK-NOT: warp.store
  // CHECK: %[[T:.*]] = warp.acquire %[[RING]]
  // CHECK-NEXT: %[[S:.*]] = warp.slot %[[T]] : !nv.memdesc<64x64xbf16>
  // CHECK-NEXT: nv.local_store %[[V]] to %[[S]]
  // CHECK-NEXT: nv.tma.store %[[S]] to %[[C]][%[[I]], %[[J]]]
  // CHECK-NEXT: warp.release %[[T]] to %[[RING]] bulk_read
  warp.store %v to %C[%i, %j] through %staged : tensor<64x64xbf16>, !tile.desc<64x64xbf16>
  // CHECK-NEXT: %[[U:.*]] = warp.acquire %[[RING]]
  // CHECK-NEXT: %[[R:.*]] = warp.slot %[[U]]
  // CHECK-NEXT: nv.local_store %[[W]] to %[[R]]
  // CHECK-NEXT: nv.tma.store %[[R]] to %[[C]][%[[J]], %[[I]]]
  // CHECK-NEXT: warp.release %[[U]] to %[[RING]] bulk_read
  // CHECK-NEXT: return
  warp.store %w to %C[%j, %i] through %staged : tensor<64x64xbf16>, !tile.desc<64x64xbf16>
  return
}

// In control flow, and with a box that has unit dimensions.
// CHECK-LABEL: func.func @in_loop
func.func @in_loop(%C: !tile.desc<1x64x64xbf16>, %v: tensor<64x64xbf16>, %n: i32, %p: i1) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %b = warp.buffer : !warp.buffer<1 x [64x64xbf16]>
  %staged = warp.ring released %b : !warp.buffer<1 x [64x64xbf16]>
  // CHECK: scf.for %[[K:.*]] =
  scf.for %k = %c0 to %n step %c1 : i32 {
    // CHECK-NEXT: scf.if
    scf.if %p {
      // CHECK-NEXT: warp.acquire
      // CHECK: nv.tma.store %{{.*}} to %{{.*}}[%[[K]], %{{.*}}, %[[K]]] : <64x64xbf16>, !tile.desc<1x64x64xbf16>
      // CHECK-NEXT: warp.release
      // CHECK-NEXT: }
      warp.store %v to %C[%k, %c0, %k] through %staged : tensor<64x64xbf16>, !tile.desc<1x64x64xbf16>
    }
  }
  return
}
