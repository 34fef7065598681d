// RUN: kernel-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(warp-verify-rings{report=true})' -o /dev/null

// A count that one role reads and hands to the other is no second choice: as many combinations as it has values.
func.func @received(%p: i64) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zero = arith.constant 0 : i64
  %b = warp.buffer : !warp.buffer<2 x [64x64xbf16]>
  %free = warp.ring released %b : !warp.buffer<2 x [64x64xbf16]>
  %ready = warp.ring %b : !warp.buffer<2 x [64x64xbf16]>
  %n = warp.buffer : !warp.buffer<2 x [4xi32]>
  %n_free = warp.ring released %n : !warp.buffer<2 x [4xi32]>
  %n_ready = warp.ring %n : !warp.buffer<2 x [4xi32]>
  // expected-remark @+1 {{rings: 5 combinations of scalars}}
  warp.specialize {
    warp.role @math warps(4) {
      %t = warp.acquire %n_ready
      %v = warp.slot %t : !nv.memdesc<4xi32>
      %count = nv.scalar_load %v[%c1] : !nv.memdesc<4xi32> -> i32
      warp.release %t to %n_free generic
      scf.for %k = %c0 to %count step %c1 : i32 {
        %x = warp.acquire %ready
        warp.release %x to %free wgmma
      }
    }
    warp.role @load warps(1) {
      %count = nv.global_load %p[%zero] : i64 -> i32
      %t = warp.acquire %n_free
      %v = warp.slot %t : !nv.memdesc<4xi32>
      nv.scalar_store %count to %v[%c1] : i32, !nv.memdesc<4xi32>
      warp.release %t to %n_ready generic
      scf.for %k = %c0 to %count step %c1 : i32 {
        %x = warp.acquire %free
        warp.release %x to %ready tma
      }
    }
  }
  return
}

// -----

// The values to try are those of what was sent: one more than the other role fills is a deadlock.
func.func @one_more(%p: i64) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zero = arith.constant 0 : i64
  %b = warp.buffer : !warp.buffer<2 x [64x64xbf16]>
  %free = warp.ring released %b : !warp.buffer<2 x [64x64xbf16]>
  // expected-note @+1 {{the ring is here}}
  %ready = warp.ring %b : !warp.buffer<2 x [64x64xbf16]>
  %n = warp.buffer : !warp.buffer<2 x [4xi32]>
  %n_free = warp.ring released %n : !warp.buffer<2 x [4xi32]>
  %n_ready = warp.ring %n : !warp.buffer<2 x [4xi32]>
  warp.specialize {
    warp.role @math warps(4) {
      %t = warp.acquire %n_ready
      %v = warp.slot %t : !nv.memdesc<4xi32>
      %count = nv.scalar_load %v[%c0] : !nv.memdesc<4xi32> -> i32
      warp.release %t to %n_free generic
      scf.for %k = %c0 to %count step %c1 : i32 {
        // expected-error @+1 {{deadlock with %6 = 0 first: role @math waits for ring %2}}
        %x = warp.acquire %ready
        warp.release %x to %free wgmma
      }
    }
    // expected-note @+1 {{role @load makes no further release to it}}
    warp.role @load warps(1) {
      %count = nv.global_load %p[%zero] : i64 -> i32
      %more = arith.addi %count, %c1 : i32
      %t = warp.acquire %n_free
      %v = warp.slot %t : !nv.memdesc<4xi32>
      nv.scalar_store %more to %v[%c0] : i32, !nv.memdesc<4xi32>
      warp.release %t to %n_ready generic
      scf.for %k = %c0 to %count step %c1 : i32 {
        %x = warp.acquire %free
        warp.release %x to %ready tma
      }
    }
  }
  return
}
