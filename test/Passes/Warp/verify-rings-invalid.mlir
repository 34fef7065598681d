// RUN: kernel-opt %s --warp-verify-rings --split-input-file --verify-diagnostics

// One wrong hand-over a block. %n is always the trip count of the inner loops.

// Deadlock by count: the consumer takes one slot more than the producer fills.
func.func @count(%n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %b = warp.buffer : !warp.buffer<2 x [64x64xbf16]>
  %free = warp.ring released %b : !warp.buffer<2 x [64x64xbf16]>
  // expected-note@+1 {{the ring is here}}
  %ready = warp.ring %b : !warp.buffer<2 x [64x64xbf16]>
  warp.specialize {
    // expected-note@+1 {{role @load makes no further release to it}}
    warp.role @load warps(1) {
      scf.for %k = %c0 to %n step %c1 : i32 {
        %t = warp.acquire %free
        warp.release %t to %ready tma
      }
    }
    warp.role @math warps(4) {
      %m = arith.addi %n, %c1 : i32
      scf.for %k = %c0 to %m step %c1 : i32 {
        // expected-error@+1 {{deadlock with %arg0 = 0: role @math waits for ring %4 slot 0, completion 1, 0 of 1 arrivals there}}
        %t = warp.acquire %ready
        warp.release %t to %free generic
      }
    }
  }
  return
}

// -----

// Deadlock by order: both roles wait for the other one's ring first.
func.func @order(%n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %a = warp.buffer : !warp.buffer<1 x [64x64xbf16]>
  %afree = warp.ring released %a : !warp.buffer<1 x [64x64xbf16]>
  // expected-note@+1 {{the ring is here}}
  %aready = warp.ring %a : !warp.buffer<1 x [64x64xbf16]>
  %b = warp.buffer : !warp.buffer<1 x [64x64xbf16]>
  %bfree = warp.ring released %b : !warp.buffer<1 x [64x64xbf16]>
  %bready = warp.ring %b : !warp.buffer<1 x [64x64xbf16]>
  warp.specialize {
    warp.role @left warps(4) {
      scf.for %k = %c0 to %n step %c1 : i32 {
        // expected-error@+1 {{deadlock with %arg0 = 1: role @left waits for ring}}
        %in = warp.acquire %aready
        %out = warp.acquire %bfree
        warp.release %out to %bready generic
        warp.release %in to %afree generic
      }
    }
    warp.role @right warps(4) {
      scf.for %k = %c0 to %n step %c1 : i32 {
        // expected-note@+1 {{role @right waits for ring}}
        %in = warp.acquire %bready
        %out = warp.acquire %afree
        // expected-note@+1 {{released only here, by role @right after what it waits for}}
        warp.release %out to %aready generic
        warp.release %in to %bfree generic
      }
    }
  }
  return
}
