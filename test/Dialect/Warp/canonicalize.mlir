// RUN: kernel-opt %s --canonicalize --cse --canonicalize | FileCheck %s

// Views that nothing uses go; waits and hand-overs stay, as do two waits that look alike.
// CHECK-LABEL: func.func @hand_overs_stay
func.func @hand_overs_stay() {
  %b = warp.buffer : !warp.buffer<2 x [64x64xbf16]>
  // CHECK: %[[RING:.*]] = warp.ring released
  %ring = warp.ring released %b : !warp.buffer<2 x [64x64xbf16]>
  warp.specialize {
    warp.role @a warps(4) {
      // CHECK: %[[T0:.*]] = warp.acquire %[[RING]]
      // CHECK-NEXT: %[[T1:.*]] = warp.acquire %[[RING]]
      // CHECK-NOT: warp.slot
      // CHECK-NEXT: warp.release %[[T0]] to %[[RING]] generic
      // CHECK-NEXT: warp.release %[[T1]] to %[[RING]] generic
      %t0 = warp.acquire %ring
      %v0 = warp.slot %t0 : !nv.memdesc<64x64xbf16>
      %t1 = warp.acquire %ring
      %v1 = warp.slot %t1 : !nv.memdesc<64x64xbf16>
      warp.release %t0 to %ring generic
      warp.release %t1 to %ring generic
    }
  }
  return
}

// Two buffers of the same type are two buffers, two rings two rings, two orders two orders.
// CHECK-LABEL: func.func @declarations_are_not_merged
func.func @declarations_are_not_merged() {
  // CHECK-COUNT-2: warp.buffer
  %a = warp.buffer : !warp.buffer<1 x [8x8xf32]>
  %b = warp.buffer : !warp.buffer<1 x [8x8xf32]>
  // CHECK-COUNT-2: warp.ring
  %r = warp.ring released %a : !warp.buffer<1 x [8x8xf32]>
  %s = warp.ring released %a : !warp.buffer<1 x [8x8xf32]>
  // CHECK-COUNT-2: warp.order
  %o = warp.order 2
  %p = warp.order 2
  return
}

// An empty tile loop without effects goes.
// CHECK-LABEL: func.func @empty_tile_loop
// CHECK-NOT: warp.for_each_tile
// CHECK: return
func.func @empty_tile_loop(%m: i32) {
  warp.for_each_tile (%i, %j) in (%m, %m) {
    %s = arith.addi %i, %j : i32
  }
  return
}
