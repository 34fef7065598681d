// RUN: kernel-opt %s --warp-drain-rings --split-input-file | FileCheck %s

// The loads wait at their end for the last arrivals from the other CTA: once for each slot. A role that takes slots of a ring that does
// not start released needs no wait.
// CHECK-LABEL: @multicast
// CHECK: %[[FREE:.*]] = warp.ring released {{.*}}scope(cluster)
// CHECK: warp.role @load
// CHECK: scf.for
// CHECK: }
// CHECK-COUNT-2: warp.acquire %[[FREE]] {warp.drain}
// CHECK-NOT: warp.drain
func.func @multicast(%n: i32) attributes {warp.launch = #warp.launch<cluster = 2>} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %b = warp.buffer : !warp.buffer<2 x [64x64xbf16]>
  %free = warp.ring released %b scope(cluster) : !warp.buffer<2 x [64x64xbf16]>
  %ready = warp.ring %b scope(cluster) : !warp.buffer<2 x [64x64xbf16]>
  warp.specialize {
    warp.role @load warps(1) {
      scf.for %k = %c0 to %n step %c1 : i32 {
        %t = warp.acquire %free
        warp.release %t to %ready tma
      }
    }
    warp.role @math warps(4) replicas(2) {
      scf.for %k = %c0 to %n step %c1 : i32 {
        %t = warp.acquire %ready
        warp.release %t to %free wgmma
      }
    }
  }
  return
}

// -----

// Commits of tcgen05 arrive late too, and threads of the same CTA do not.
// CHECK-LABEL: @commits
// CHECK: %[[FREE:.*]] = warp.ring released
// CHECK: warp.role @load
// CHECK-COUNT-3: warp.acquire %[[FREE]] {warp.drain}
// CHECK-LABEL: @threads
// CHECK-NOT: warp.drain
func.func @commits(%n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %b = warp.buffer : !warp.buffer<3 x [64x64xbf16]>
  %free = warp.ring released %b : !warp.buffer<3 x [64x64xbf16]>
  %ready = warp.ring %b : !warp.buffer<3 x [64x64xbf16]>
  warp.specialize {
    warp.role @load warps(1) {
      scf.for %k = %c0 to %n step %c1 : i32 {
        %t = warp.acquire %free
        warp.release %t to %ready tma
      }
    }
    warp.role @mma warps(1) {
      scf.for %k = %c0 to %n step %c1 : i32 {
        %t = warp.acquire %ready
        warp.release %t to %free tcgen05
      }
    }
  }
  return
}

func.func @threads(%n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %b = warp.buffer : !warp.buffer<3 x [64x64xbf16]>
  %free = warp.ring released %b : !warp.buffer<3 x [64x64xbf16]>
  %ready = warp.ring %b : !warp.buffer<3 x [64x64xbf16]>
  warp.specialize {
    warp.role @load warps(1) {
      scf.for %k = %c0 to %n step %c1 : i32 {
        %t = warp.acquire %free
        warp.release %t to %ready tma
      }
    }
    warp.role @math warps(4) {
      scf.for %k = %c0 to %n step %c1 : i32 {
        %t = warp.acquire %ready
        warp.release %t to %free generic
      }
    }
  }
  return
}
