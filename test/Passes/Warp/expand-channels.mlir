// RUN: kernel-opt %s --warp-expand-channels | FileCheck %s

// CHECK-LABEL: func.func @channels
// CHECK-SAME: %[[D:.*]]: !tile.desc<64x64xbf16>, %[[I:.*]]: i32)
func.func @channels(%D: !tile.desc<64x64xbf16>, %i: i32) {
  // CHECK: %[[B:.*]] = warp.buffer : <3 x [64x64xbf16]>
  // CHECK-NEXT: %[[FREE:.*]] = warp.ring released %[[B]]
  // CHECK-NEXT: %[[READY:.*]] = warp.ring %[[B]]
  // CHECK-NEXT: %[[DONE:.*]] = warp.ring %[[B]]
  %free, %ready, %done = warp.channel : !warp.buffer<3 x [64x64xbf16]>
  // CHECK-NEXT: %[[R:.*]] = warp.buffer per_replica : <1 x [64xf32]>
  // CHECK-NEXT: warp.ring released %[[R]]
  %row_free, %row_ready = warp.channel per_replica : !warp.buffer<1 x [64xf32]>
  // CHECK-NOT: warp.channel
  // CHECK: warp.specialize
  warp.specialize {
    // CHECK: warp.role @load
    warp.role @load warps(1) {
      // CHECK-NEXT: %[[T:.*]] = warp.acquire %[[FREE]]
      // CHECK-NEXT: %[[S:.*]] = warp.slot %[[T]] : !nv.memdesc<64x64xbf16>
      // CHECK-NEXT: nv.tma.load %[[D]][%[[I]], %[[I]]] to %[[S]]
      // CHECK-NEXT: warp.release %[[T]] to %[[READY]] tma
      warp.load %D[%i, %i] through %free to %ready : !tile.desc<64x64xbf16>
    }
    // CHECK: warp.role @math
    warp.role @math warps(4) {
      // CHECK-NEXT: %[[T:.*]] = warp.acquire %[[READY]]
      // CHECK-NEXT: %[[S:.*]] = warp.slot %[[T]]
      // CHECK-NEXT: %[[V:.*]] = nv.local_load %[[S]]
      // CHECK-NEXT: warp.release %[[T]] to %[[DONE]] generic
      %v = warp.get %ready to %done : tensor<64x64xbf16>
      // CHECK-NEXT: %[[T:.*]] = warp.acquire %[[DONE]]
      // CHECK-NEXT: %[[S:.*]] = warp.slot %[[T]]
      // CHECK-NEXT: nv.local_store %[[V]] to %[[S]]
      // CHECK-NEXT: warp.release %[[T]] to %[[FREE]] generic
      warp.put %v through %done to %free : tensor<64x64xbf16>
    }
  }
  return
}

// Replicas that take slots in turn start apart and pass over the slots of the others; a single one takes all.
// CHECK-LABEL: func.func @alternate
func.func @alternate(%v: i32) {
  // CHECK: %[[FREE:.*]] = warp.ring released
  // CHECK: %[[READY:.*]] = warp.ring %
  %free, %ready = warp.channel : !warp.buffer<4 x [64x64xbf16]>
  warp.specialize {
    // CHECK: warp.role @pairs warps(4) replicas(2) {
    // CHECK-NEXT: %[[R:.*]] = warp.replica_index
    // CHECK-NEXT: warp.skip %[[FREE]] by %[[R]]
    warp.role @pairs warps(4) replicas(2) {
      // CHECK: %[[T:.*]] = warp.acquire %[[FREE]]
      // CHECK-NEXT: %[[C1:.*]] = arith.constant 1 : i32
      // CHECK-NEXT: warp.skip %[[FREE]] by %[[C1]]
      // CHECK: warp.release %[[T]] to %[[READY]] generic
      %zero = arith.constant dense<0.0> : tensor<64x64xbf16>
      warp.put %zero through %free to %ready alternate : tensor<64x64xbf16>
    }
    // CHECK: warp.role @single
    // CHECK-NEXT: %[[T:.*]] = warp.acquire %[[READY]]
    // CHECK-NEXT: warp.slot %[[T]]
    // CHECK-NEXT: warp.release %[[T]] to %[[FREE]] generic
    warp.role @single warps(4) {
      %t, %s = warp.take %ready alternate : !nv.memdesc<64x64xbf16>
      warp.release %t to %free generic
    }
  }
  return
}
