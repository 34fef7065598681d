// RUN: kernel-opt %s --warp-order-handovers --split-input-file | FileCheck %s

// A slot that was read into registers goes back behind the product that is issued next; a slot for results is taken in front of the last wait.
// CHECK-LABEL: func.func @both
// CHECK: warp.role @math
// CHECK: %[[Q:.*]] = warp.acquire %[[Q_READY:.*]]
// CHECK: nv.local_load
// CHECK-NOT: warp.release
// CHECK: %[[K:.*]] = warp.acquire
// CHECK: %[[S:.*]] = nv.wgmma
// CHECK-NEXT: warp.release %[[Q]]
// CHECK-NEXT: %[[O:.*]] = warp.acquire %[[STAGE:.*]]
// CHECK-NEXT: nv.wgmma.wait %[[S]]
// CHECK-NEXT: warp.release %[[K]]
// CHECK-NEXT: warp.slot %[[O]]
// CHECK: warp.release %[[O]]
// The second slot stays where it is: it is the first one, given back.
// CHECK: warp.acquire %[[STAGE]]
func.func @both(%A: !tile.desc<64x64xbf16>, %m: i32) {
  %c0 = arith.constant 0 : i32
  %qb = warp.buffer : !warp.buffer<1 x [64x64xbf16]>
  %q_free = warp.ring released %qb : !warp.buffer<1 x [64x64xbf16]>
  %q_ready = warp.ring %qb : !warp.buffer<1 x [64x64xbf16]>
  %kb = warp.buffer : !warp.buffer<2 x [64x64xbf16]>
  %k_free = warp.ring released %kb : !warp.buffer<2 x [64x64xbf16]>
  %k_ready = warp.ring %kb : !warp.buffer<2 x [64x64xbf16]>
  %ob = warp.buffer : !warp.buffer<1 x [64x64xf32]>
  %stage = warp.ring released %ob : !warp.buffer<1 x [64x64xf32]>
  warp.specialize {
    warp.role @math warps(4) {
      warp.for_each_tile (%i, %j) in (%m, %m) {
        %q = warp.acquire %q_ready
        %qs = warp.slot %q : !nv.memdesc<64x64xbf16>
        %a = nv.local_load %qs : <64x64xbf16> -> tensor<64x64xbf16>
        warp.release %q to %q_free generic
        %k = warp.acquire %k_ready
        %ks = warp.slot %k : !nv.memdesc<64x64xbf16>
        %s = nv.wgmma %a, %ks : tensor<64x64xbf16>, <64x64xbf16> -> tensor<64x64xf32>
        %r = nv.wgmma.wait %s pending(0) : tensor<64x64xf32>
        warp.release %k to %k_free wgmma
        %o = warp.acquire %stage
        %os = warp.slot %o : !nv.memdesc<64x64xf32>
        nv.local_store %r to %os : tensor<64x64xf32>, !nv.memdesc<64x64xf32>
        warp.release %o to %stage bulk_read
        %o2 = warp.acquire %stage
        %os2 = warp.slot %o2 : !nv.memdesc<64x64xf32>
        nv.local_store %r to %os2 : tensor<64x64xf32>, !nv.memdesc<64x64xf32>
        warp.release %o2 to %stage bulk_read
      }
    }
    warp.role @load warps(1) {
      warp.for_each_tile (%i, %j) in (%m, %m) {
        %q = warp.acquire %q_free
        %qs = warp.slot %q : !nv.memdesc<64x64xbf16>
        nv.tma.load %A[%i, %c0] to %qs : !tile.desc<64x64xbf16>, !nv.memdesc<64x64xbf16>
        warp.release %q to %q_ready tma
        %k = warp.acquire %k_free
        %ks = warp.slot %k : !nv.memdesc<64x64xbf16>
        nv.tma.load %A[%j, %c0] to %ks : !tile.desc<64x64xbf16>, !nv.memdesc<64x64xbf16>
        warp.release %k to %k_ready tma
      }
    }
  }
  return
}

// -----

// What is taken twice a tile goes back at once: the role that sends may need this slot for what is taken next. So does a slot that a product reads, and
// nothing moves outside of loops over tiles.
// CHECK-LABEL: func.func @neither
// CHECK: nv.local_load
// CHECK-NEXT: warp.release
// CHECK: nv.local_load
// CHECK-NEXT: warp.release
// CHECK: nv.wgmma
// CHECK: warp.role @plain
// CHECK: nv.local_load
// CHECK-NEXT: warp.release
func.func @neither(%A: !tile.desc<64x64xbf16>, %m: i32) {
  %c0 = arith.constant 0 : i32
  %qb = warp.buffer : !warp.buffer<1 x [64x64xbf16]>
  %q_free = warp.ring released %qb : !warp.buffer<1 x [64x64xbf16]>
  %q_ready = warp.ring %qb : !warp.buffer<1 x [64x64xbf16]>
  %pb = warp.buffer : !warp.buffer<1 x [64x64xbf16]>
  %p_free = warp.ring released %pb : !warp.buffer<1 x [64x64xbf16]>
  %p_ready = warp.ring %pb : !warp.buffer<1 x [64x64xbf16]>
  warp.specialize {
    warp.role @math warps(4) {
      warp.for_each_tile (%i, %j) in (%m, %m) {
        %q = warp.acquire %q_ready
        %qs = warp.slot %q : !nv.memdesc<64x64xbf16>
        %a = nv.local_load %qs : <64x64xbf16> -> tensor<64x64xbf16>
        warp.release %q to %q_free generic
        %k = warp.acquire %q_ready
        %ks = warp.slot %k : !nv.memdesc<64x64xbf16>
        %b = nv.local_load %ks : <64x64xbf16> -> tensor<64x64xbf16>
        warp.release %k to %q_free generic
        %c = arith.addf %a, %b : tensor<64x64xbf16>
        %s = nv.wgmma %c, %ks : tensor<64x64xbf16>, <64x64xbf16> -> tensor<64x64xf32>
        %r = nv.wgmma.wait %s pending(0) : tensor<64x64xf32>
      }
    }
    warp.role @plain warps(4) {
      %p = warp.acquire %p_ready
      %ps = warp.slot %p : !nv.memdesc<64x64xbf16>
      %a = nv.local_load %ps : <64x64xbf16> -> tensor<64x64xbf16>
      warp.release %p to %p_free generic
      %s = nv.wgmma %a, %ps : tensor<64x64xbf16>, <64x64xbf16> -> tensor<64x64xf32>
      %r = nv.wgmma.wait %s pending(0) : tensor<64x64xf32>
    }
    warp.role @load warps(1) {
      warp.for_each_tile (%i, %j) in (%m, %m) {
        %q = warp.acquire %q_free
        %qs = warp.slot %q : !nv.memdesc<64x64xbf16>
        nv.tma.load %A[%i, %c0] to %qs : !tile.desc<64x64xbf16>, !nv.memdesc<64x64xbf16>
        warp.release %q to %q_ready tma
        %p = warp.acquire %p_free
        %ps = warp.slot %p : !nv.memdesc<64x64xbf16>
        nv.tma.load %A[%i, %c0] to %ps : !tile.desc<64x64xbf16>, !nv.memdesc<64x64xbf16>
        warp.release %p to %p_ready tma
      }
    }
  }
  return
}
