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
        // expected-error@+1 {{deadlock with %arg0 = 0: role @math waits for ring %2 slot 0, completion 1, 0 of 1 arrivals there}}
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

// -----

// Deadlock by a zero-trip loop: the consumer takes the last slot after its loop, whether or not there was one.
func.func @zero_trip(%n: i32) {
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
      scf.for %k = %c1 to %n step %c1 : i32 {
        %t = warp.acquire %ready
        warp.release %t to %free generic
      }
      // expected-error@+1 {{deadlock with %arg0 = 0: role @math waits for ring}}
      %last = warp.acquire %ready
      warp.release %last to %free generic
    }
  }
  return
}

// -----

// Slots that are handed over and never taken: the producer fills one more than the consumer takes.
func.func @undrained(%n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %b = warp.buffer : !warp.buffer<2 x [64x64xbf16]>
  %free = warp.ring released %b : !warp.buffer<2 x [64x64xbf16]>
  // expected-note@+1 {{the ring is here}}
  %ready = warp.ring %b : !warp.buffer<2 x [64x64xbf16]>
  warp.specialize {
    warp.role @load warps(1) {
      %m = arith.addi %n, %c1 : i32
      scf.for %k = %c0 to %m step %c1 : i32 {
        %t = warp.acquire %free
        // expected-error@+1 {{hands over a slot that is never taken with %arg0 = 0: completion 1 of ring %2 slot 0 is not acquired by every replica of role @math}}
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

// -----

// Alternate tiles without an order: the second consumer waits two phases ahead.
func.func @ping_pong_without_order(%n: i32, %tiles: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %b = warp.buffer : !warp.buffer<2 x [64x64xbf16]>
  %free = warp.ring released %b : !warp.buffer<2 x [64x64xbf16]>
  // expected-note@+1 {{the ring is here}}
  %ready = warp.ring %b : !warp.buffer<2 x [64x64xbf16]>
  warp.specialize {
    warp.role @load warps(1) {
      %all = arith.muli %n, %tiles : i32
      scf.for %k = %c0 to %all step %c1 : i32 {
        %t = warp.acquire %free
        warp.release %t to %ready tma
      }
    }
    warp.role @math warps(4) replicas(2) {
      %r = warp.replica_index
      %c2 = arith.constant 2 : i32
      %first = arith.muli %n, %r : i32
      warp.skip %ready by %first
      scf.for %t = %r to %tiles step %c2 : i32 {
        scf.for %k = %c0 to %n step %c1 : i32 {
          // expected-error@+1 {{runs two phases ahead with %arg0 = 2, %arg1 = 2: role @math replica 1 can wait for completion 2 of ring %2 slot 0 before completion 1}}
          %t0 = warp.acquire %ready
          warp.release %t0 to %free generic
        }
        warp.skip %ready by %n
      }
    }
  }
  return
}

// -----

// Alternate tiles without a skip: each replica waits for every slot, but takes only half of the tiles.
func.func @ping_pong_without_skip(%n: i32, %tiles: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %b = warp.buffer : !warp.buffer<2 x [64x64xbf16]>
  %free = warp.ring released %b : !warp.buffer<2 x [64x64xbf16]>
  // expected-note@+1 {{the ring is here}}
  %ready = warp.ring %b : !warp.buffer<2 x [64x64xbf16]>
  warp.specialize {
    warp.role @load warps(1) {
      %all = arith.muli %n, %tiles : i32
      scf.for %k = %c0 to %all step %c1 : i32 {
        %t = warp.acquire %free
        // expected-error@+1 {{hands over a slot that is never taken with %arg0 = 1, %arg1 = 1: completion 1 of ring %2 slot 0 is not acquired by every replica of role @math}}
        warp.release %t to %ready tma
      }
    }
    warp.role @math warps(4) replicas(2) {
      %r = warp.replica_index
      %c2 = arith.constant 2 : i32
      scf.for %t = %r to %tiles step %c2 : i32 {
        scf.for %k = %c0 to %n step %c1 : i32 {
          %t0 = warp.acquire %ready
          warp.release %t0 to %free generic
        }
      }
    }
  }
  return
}

// -----

// The same with for_each_tile and turns that are never passed on.
func.func @turn_not_passed(%n: i32, %tiles: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %b = warp.buffer : !warp.buffer<2 x [64x64xbf16]>
  %free = warp.ring released %b : !warp.buffer<2 x [64x64xbf16]>
  %ready = warp.ring %b : !warp.buffer<2 x [64x64xbf16]>
  // expected-note@+1 {{the order is here}}
  %turn = warp.order 2
  warp.specialize {
    warp.role @load warps(1) {
      warp.for_each_tile (%i, %j) in (%tiles, %c1) {
        scf.for %k = %c0 to %n step %c1 : i32 {
          %t = warp.acquire %free
          warp.release %t to %ready tma
        }
      }
    }
    // expected-note@+1 {{role @math makes no further release to it}}
    warp.role @math warps(4) replicas(2) {
      warp.for_each_tile (%i, %j) in (%tiles, %c1) step(replica) {
        // expected-error@+1 {{deadlock with %arg0 = 0, %arg1 = 2: role @math replica 1 waits for order %3, completion 1, 0 of 1 arrivals there}}
        warp.await %turn
        scf.for %k = %c0 to %n step %c1 : i32 {
          %t0 = warp.acquire %ready
          warp.release %t0 to %free generic
        }
        %last = arith.cmpi eq, %i, %c1 : i32
        scf.if %last {
          // Replica 1 passes its turn on, replica 0 never does.
          warp.pass %turn
        }
      }
    }
  }
  return
}

// -----

// A turn is passed on twice.
func.func @turn_passed_twice(%n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  // expected-note@+1 {{the order is here}}
  %turn = warp.order 2
  warp.specialize {
    warp.role @math warps(4) replicas(2) {
      scf.for %k = %c0 to %n step %c1 : i32 {
        // expected-error@+1 {{falls two phases behind with %arg0 = 1: order %0 can complete 2 times while role @math replica 1 still waits for completion 1}}
        warp.await %turn
        warp.pass %turn
        warp.pass %turn
      }
    }
  }
  return
}

// -----

// A turn is taken for another number of replicas than the role has.
func.func @turn_of_others(%n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %turn = warp.order 2
  warp.specialize {
    warp.role @math warps(4) replicas(3) {
      // expected-error@+1 {{expected an order for the 3 replicas of role @math, found one for 2}}
      warp.await %turn
      warp.pass %turn
    }
  }
  return
}

// -----

// A token is released twice.
func.func @released_twice(%n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %b = warp.buffer : !warp.buffer<2 x [64x64xbf16]>
  // expected-note@+1 0-1 {{the ring is here}}
  %free = warp.ring released %b : !warp.buffer<2 x [64x64xbf16]>
  // expected-note@+1 0-1 {{the ring is here}}
  %ready = warp.ring %b : !warp.buffer<2 x [64x64xbf16]>
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
        // expected-note@+1 {{first released here}}
        warp.release %t to %free generic
        // expected-error@+1 {{releases a token a second time with %arg0 = 1}}
        warp.release %t to %free generic
      }
    }
  }
  return
}

// -----

// A token is released on one path only.
func.func @released_never(%n: i32, %p: i1) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %b = warp.buffer : !warp.buffer<2 x [64x64xbf16]>
  // expected-note@+1 0-1 {{the ring is here}}
  %free = warp.ring released %b : !warp.buffer<2 x [64x64xbf16]>
  // expected-note@+1 0-1 {{the ring is here}}
  %ready = warp.ring %b : !warp.buffer<2 x [64x64xbf16]>
  warp.specialize {
    warp.role @load warps(1) {
      scf.for %k = %c0 to %n step %c1 : i32 {
        // expected-error@+1 {{its token is never released on a path that role @load takes with %arg1 = 0, %arg0 = 1}}
        %t = warp.acquire %free
        scf.if %p {
          warp.release %t to %ready tma
        }
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

// -----

// A token of an earlier acquire is released again in each iteration.
func.func @released_in_loop(%n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %b = warp.buffer : !warp.buffer<2 x [64x64xbf16]>
  // expected-note@+1 0-1 {{the ring is here}}
  %free = warp.ring released %b : !warp.buffer<2 x [64x64xbf16]>
  // expected-note@+1 0-1 {{the ring is here}}
  %ready = warp.ring %b : !warp.buffer<2 x [64x64xbf16]>
  warp.specialize {
    warp.role @load warps(1) {
      scf.for %k = %c0 to %c1 step %c1 : i32 {
        %t = warp.acquire %free
        warp.release %t to %ready tma
      }
    }
    warp.role @math warps(4) {
      %t = warp.acquire %ready
      // expected-note@+1 {{first released here}}
      warp.release %t to %free generic
      scf.for %k = %c0 to %n step %c1 : i32 {
        // expected-error@+1 {{releases a token a second time with %arg0 = 1}}
        warp.release %t to %free generic
      }
    }
  }
  return
}

// -----

// Nobody acquires the ring that slots are released to.
func.func @never_acquired(%n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %b = warp.buffer : !warp.buffer<2 x [64x64xbf16]>
  // expected-error@+1 {{is never released to: its slots are not used again}}
  %free = warp.ring released %b : !warp.buffer<2 x [64x64xbf16]>
  %ready = warp.ring %b : !warp.buffer<2 x [64x64xbf16]>
  warp.specialize {
    warp.role @load warps(1) {
      scf.for %k = %c0 to %n step %c1 : i32 {
        %t = warp.acquire %free
        warp.release %t to %ready tma
      }
    }
    warp.role @math warps(4) {
    }
  }
  return
}

// -----

// Slots go to a ring that is not waited for.
func.func @lost(%n: i32, %p: i1) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %b = warp.buffer : !warp.buffer<2 x [64x64xbf16]>
  %free = warp.ring released %b : !warp.buffer<2 x [64x64xbf16]>
  // expected-error@+1 {{is never acquired: slots released to it are lost}}
  %ready = warp.ring %b : !warp.buffer<2 x [64x64xbf16]>
  warp.specialize {
    warp.role @load warps(1) {
      scf.for %k = %c0 to %n step %c1 : i32 {
        %t = warp.acquire %free
        scf.if %p {
          warp.release %t to %ready tma
        } else {
          warp.release %t to %free generic
        }
      }
    }
  }
  return
}

// -----

// Two rings of a cycle start released.
func.func @two_starts(%n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %b = warp.buffer : !warp.buffer<2 x [64x64xbf16]>
  // expected-note@+1 {{the other one is here}}
  %free = warp.ring released %b : !warp.buffer<2 x [64x64xbf16]>
  // expected-error@+1 {{expected one ring of a buffer to start released, found two}}
  %ready = warp.ring released %b : !warp.buffer<2 x [64x64xbf16]>
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

// -----

// None starts released.
func.func @no_start(%n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  // expected-error@+1 {{expected one of its rings to start released, found none: nothing ever starts}}
  %b = warp.buffer : !warp.buffer<2 x [64x64xbf16]>
  %free = warp.ring %b : !warp.buffer<2 x [64x64xbf16]>
  %ready = warp.ring %b : !warp.buffer<2 x [64x64xbf16]>
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

// -----

// One of two readers leaves out a slot.
func.func @one_reader_less(%n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %b = warp.buffer : !warp.buffer<2 x [64x64xbf16]>
  %free = warp.ring released %b : !warp.buffer<2 x [64x64xbf16]>
  // expected-note@+1 {{the ring is here}}
  %ready = warp.ring %b : !warp.buffer<2 x [64x64xbf16]>
  warp.specialize {
    warp.role @load warps(1) {
      scf.for %k = %c0 to %n step %c1 : i32 {
        %t = warp.acquire %free
        // expected-error@+1 {{hands over a slot that is never taken with %arg0 = 1}}
        warp.release %t to %ready tma
      }
    }
    warp.role @math warps(4) {
      scf.for %k = %c0 to %n step %c1 : i32 {
        %t = warp.acquire %ready
        warp.release %t to %free generic
      }
    }
    warp.role @check warps(4) {
      scf.for %k = %c1 to %n step %c1 : i32 {
        %t = warp.acquire %ready
        warp.release %t to %free generic
      }
    }
  }
  return
}

// -----

// Arrival counts differ: a branch that depends on the replica's own data.
func.func @data_branch(%n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %b = warp.buffer : !warp.buffer<2 x [64x64xbf16]>
  %free = warp.ring released %b : !warp.buffer<2 x [64x64xbf16]>
  // expected-note@+1 {{the ring is here}}
  %ready = warp.ring %b : !warp.buffer<2 x [64x64xbf16]>
  warp.specialize {
    warp.role @load warps(1) {
      scf.for %k = %c0 to %n step %c1 : i32 {
        %t = warp.acquire %free
        // expected-error@+1 {{hands over a slot that is never taken with %arg0 = 1}}
        warp.release %t to %ready tma
      }
    }
    warp.role @math warps(4) replicas(2) {
      scf.for %k = %c0 to %n step %c1 : i32 {
        %x = nv.index dim(0) : tensor<64xi1>
        %p = nv.warp_any %x : tensor<64xi1>
        scf.if %p {
          %t = warp.acquire %ready
          warp.release %t to %free generic
        }
      }
    }
  }
  return
}

// -----

// A slot bypasses a ring of its cycle.
func.func @bypass(%n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %b = warp.buffer : !warp.buffer<2 x [64x64xbf16]>
  // expected-note@+1 0-1 {{the ring is here}}
  // expected-note@+1 {{the ring is here}}
  %free = warp.ring released %b : !warp.buffer<2 x [64x64xbf16]>
  // expected-note@+1 0-1 {{the ring is here}}
  %ready = warp.ring %b : !warp.buffer<2 x [64x64xbf16]>
  warp.specialize {
    warp.role @load warps(1) {
      scf.for %k = %c0 to %n step %c1 : i32 {
        %odd = arith.andi %k, %c1 : i32
        %p = arith.trunci %odd : i32 to i1
        %t = warp.acquire %free
        scf.if %p {
          warp.release %t to %free generic
        } else {
          warp.release %t to %ready tma
        }
      }
    }
    warp.role @math warps(4) {
      scf.for %k = %c0 to %n step %c1 : i32 {
        %t = warp.acquire %ready
        // expected-error@+1 {{arrival counts differ between paths with %arg0 = 1: the program ends with 1 of 2 arrivals on ring %1 slot 0}}
        warp.release %t to %free generic
      }
    }
  }
  return
}

// -----

// A pair of CTAs fills slots for one MMA role, but the ring that gives them back stays within a CTA: the second CTA waits
// forever.
func.func @pair_one_side(%n: i32) attributes {warp.launch = #warp.launch<cluster = 2>} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %b = warp.buffer : !warp.buffer<2 x [64x64xbf16]>
  // expected-note@+1 {{the ring is here}}
  %free = warp.ring released %b : !warp.buffer<2 x [64x64xbf16]>
  %ready = warp.ring %b scope(pair) : !warp.buffer<2 x [64x64xbf16]>
  warp.specialize {
    warp.role @load warps(1) {
      scf.for %k = %c0 to %n step %c1 : i32 {
        // expected-error@+1 {{deadlock with %arg0 = 3: role @load of CTA 1 waits for ring %1 slot 0 in CTA 1, completion 1, 0 of 1 arrivals there}}
        %t = warp.acquire %free
        warp.release %t to %ready tma
      }
    }
    // expected-note@+1 {{role @mma makes no further release to it}}
    warp.role @mma warps(1) attributes {leader} {
      scf.for %k = %c0 to %n step %c1 : i32 {
        // expected-note@+1 {{role @mma of CTA 0 waits for ring %2 slot 0 in CTA 0, completion 2}}
        %t = warp.acquire %ready
        warp.release %t to %free tcgen05
      }
    }
  }
  return
}

// -----

// Multicast loads over a cluster whose free slots are counted for one CTA only.
func.func @cluster_one_side(%n: i32) attributes {warp.launch = #warp.launch<cluster = 2>} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %b = warp.buffer : !warp.buffer<2 x [64x64xbf16]>
  %free = warp.ring released %b : !warp.buffer<2 x [64x64xbf16]>
  // expected-note@+1 {{the ring is here}}
  %ready = warp.ring %b scope(cluster) : !warp.buffer<2 x [64x64xbf16]>
  warp.specialize {
    warp.role @load warps(1) {
      scf.for %k = %c0 to %n step %c1 : i32 {
        %t = warp.acquire %free
        // expected-error@+1 {{can arrive too early with %arg0 = 3: role @load of CTA 0 can pass on round 1 of ring %2 slot 0 in CTA 1 before round 0 is complete}}
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

// -----

// A ring over a cluster in a launch without clusters.
func.func @no_cluster(%n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %b = warp.buffer : !warp.buffer<2 x [64x64xbf16]>
  // expected-error@+1 {{scope cluster: expected a launch in clusters of at least 2 CTAs, found 1}}
  %free = warp.ring released %b scope(cluster) : !warp.buffer<2 x [64x64xbf16]>
  %ready = warp.ring %b : !warp.buffer<2 x [64x64xbf16]>
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

// -----

// A wgmma that reads the slot is still in flight at the release.
func.func @wgmma_in_flight(%n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %b = warp.buffer : !warp.buffer<2 x [64x64xbf16]>
  // expected-note@+1 0-1 {{the ring is here}}
  %free = warp.ring released %b : !warp.buffer<2 x [64x64xbf16]>
  // expected-note@+1 0-1 {{the ring is here}}
  %ready = warp.ring %b : !warp.buffer<2 x [64x64xbf16]>
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
        %v = warp.slot %t : !nv.memdesc<64x64xbf16>
        %w = nv.memdesc.trans %v : !nv.memdesc<64x64xbf16> -> !nv.memdesc<64x64xbf16>
        // expected-note@+1 {{still in flight}}
        %d = nv.wgmma %v, %w : !nv.memdesc<64x64xbf16>, !nv.memdesc<64x64xbf16> -> tensor<64x64xf32>
        %x = nv.wgmma.wait %d pending(1) : tensor<64x64xf32>
        // expected-error@+1 {{expected an nv.wgmma.wait that covers the last nv.wgmma that reads the slot, found none before the release}}
        warp.release %t to %free wgmma
      }
    }
  }
  return
}

// -----

// A slot that TMA fills, released without waiting for the bytes.
func.func @bytes_not_awaited(%n: i32, %A: !tile.desc<64x64xbf16>) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %b = warp.buffer : !warp.buffer<2 x [64x64xbf16]>
  // expected-note@+1 0-1 {{the ring is here}}
  %free = warp.ring released %b : !warp.buffer<2 x [64x64xbf16]>
  // expected-note@+1 0-1 {{the ring is here}}
  %ready = warp.ring %b : !warp.buffer<2 x [64x64xbf16]>
  warp.specialize {
    warp.role @load warps(1) {
      scf.for %k = %c0 to %n step %c1 : i32 {
        %t = warp.acquire %free
        %v = warp.slot %t : !nv.memdesc<64x64xbf16>
        // expected-note@+1 {{filled here}}
        nv.tma.load %A[%k, %c0] to %v : !tile.desc<64x64xbf16>, !nv.memdesc<64x64xbf16>
        // expected-error@+1 {{kind: expected tma for a slot that nv.tma.load fills, found generic: nothing waits for the bytes}}
        warp.release %t to %ready generic
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

// -----

// A slot that the store engine reads, released at once.
func.func @store_not_awaited(%n: i32, %A: !tile.desc<64x64xbf16>) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %b = warp.buffer : !warp.buffer<2 x [64x64xbf16]>
  %staged = warp.ring released %b : !warp.buffer<2 x [64x64xbf16]>
  warp.specialize {
    warp.role @store warps(4) {
      scf.for %k = %c0 to %n step %c1 : i32 {
        %t = warp.acquire %staged
        %v = warp.slot %t : !nv.memdesc<64x64xbf16>
        // expected-note@+1 {{read here}}
        nv.tma.store %v to %A[%k, %c0] : !nv.memdesc<64x64xbf16>, !tile.desc<64x64xbf16>
        // expected-error@+1 {{kind: expected bulk_read for a slot that nv.tma.store reads, found generic: nothing waits for the store engine}}
        warp.release %t to %staged generic
      }
    }
  }
  return
}

// -----

// Two tokens of a ring of one slot held at once.
func.func @too_shallow(%n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %b = warp.buffer : !warp.buffer<1 x [64x64xbf16]>
  // expected-note@+1 {{the ring is here}}
  %free = warp.ring released %b : !warp.buffer<1 x [64x64xbf16]>
  %ready = warp.ring %b : !warp.buffer<1 x [64x64xbf16]>
  warp.specialize {
    warp.role @load warps(1) {
      %m = arith.muli %n, %c2 : i32
      scf.for %k = %c0 to %m step %c1 : i32 {
        // expected-error@+1 {{deadlock with %arg0 = 1: role @load waits for ring %1 slot 0, completion 1, 0 of 1 arrivals there}}
        %t = warp.acquire %free
        warp.release %t to %ready tma
      }
    }
    warp.role @math warps(4) {
      scf.for %k = %c0 to %n step %c1 : i32 {
        %t0 = warp.acquire %ready
        // expected-note@+1 {{role @math waits for ring %2 slot 0, completion 2}}
        %t1 = warp.acquire %ready
        // expected-note@+1 {{released only here, by role @math after what it waits for}}
        warp.release %t0 to %free generic
        warp.release %t1 to %free generic
      }
    }
  }
  return
}

// -----

// Blackwell attention: issuing QK(j + 1) before PV(j) deadlocks where S and P share one slot.
func.func @qk_before_pv(%n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %b = warp.buffer : !warp.buffer<1 x [128x128xf32], tmem>
  // expected-note@+1 {{the ring is here}}
  %sfree = warp.ring released %b : !warp.buffer<1 x [128x128xf32], tmem>
  %sready = warp.ring %b : !warp.buffer<1 x [128x128xf32], tmem>
  %pready = warp.ring %b : !warp.buffer<1 x [128x128xf32], tmem>
  warp.specialize {
    warp.role @mma warps(1) {
      %s0 = warp.acquire %sfree
      warp.release %s0 to %sready tcgen05
      scf.for %k = %c1 to %n step %c1 : i32 {
        // expected-error@+1 {{deadlock with %arg0 = 2: role @mma waits for ring}}
        %s = warp.acquire %sfree
        warp.release %s to %sready tcgen05
        %p = warp.acquire %pready
        // expected-note@+1 {{released only here, by role @mma after what it waits for}}
        warp.release %p to %sfree tcgen05
      }
      %p = warp.acquire %pready
      warp.release %p to %sfree tcgen05
    }
    warp.role @softmax warps(4) {
      %one = arith.maxsi %n, %c1 : i32
      scf.for %k = %c0 to %one step %c1 : i32 {
        // expected-note@+1 {{role @softmax waits for ring %2 slot 0, completion 2}}
        %s = warp.acquire %sready
        warp.release %s to %pready generic
      }
    }
  }
  return
}

// -----

// A slot is changed in place and passed on while another reader may still hold it.
func.func @in_place_beside_a_reader(%n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %b = warp.buffer : !warp.buffer<2 x [64x64xbf16]>
  %free = warp.ring released %b : !warp.buffer<2 x [64x64xbf16]>
  // expected-note@+1 {{the ring is here}}
  %ready = warp.ring %b : !warp.buffer<2 x [64x64xbf16]>
  %scaled = warp.ring %b : !warp.buffer<2 x [64x64xbf16]>
  warp.specialize {
    warp.role @load warps(1) {
      scf.for %k = %c0 to %n step %c1 : i32 {
        %t = warp.acquire %free
        warp.release %t to %ready tma
      }
    }
    warp.role @scale warps(4) {
      scf.for %k = %c0 to %n step %c1 : i32 {
        %t = warp.acquire %ready
        warp.release %t to %scaled generic
      }
    }
    warp.role @math warps(4) {
      scf.for %k = %c0 to %n step %c1 : i32 {
        // expected-note@+1 {{held from here}}
        %t = warp.acquire %scaled
        warp.release %t to %free wgmma
      }
    }
    warp.role @look warps(4) {
      scf.for %k = %c0 to %n step %c1 : i32 {
        // expected-error@+1 {{overwrites a live slot with %arg0 = 1: role @look can take ring %2 slot 0 while role @math holds the slot}}
        %t = warp.acquire %ready
        warp.release %t to %free generic
      }
    }
  }
  return
}

// -----

// Multicast fills the slots of all CTAs, but the ring hands over within one.
func.func @multicast_in_a_cta(%n: i32, %A: !tile.desc<64x64xbf16>, %mask: i16)
    attributes {warp.launch = #warp.launch<cluster = 2>} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %b = warp.buffer : !warp.buffer<2 x [64x64xbf16]>
  %free = warp.ring released %b scope(cluster) : !warp.buffer<2 x [64x64xbf16]>
  %ready = warp.ring %b : !warp.buffer<2 x [64x64xbf16]>
  warp.specialize {
    warp.role @load warps(1) {
      scf.for %k = %c0 to %n step %c1 : i32 {
        %t = warp.acquire %free
        %v = warp.slot %t : !nv.memdesc<64x64xbf16>
        // expected-error@+1 {{multicast: expected the slot to be released to a ring of scope cluster, found scope cta}}
        nv.tma.load %A[%k, %c0] to %v multicast(%mask) : !tile.desc<64x64xbf16>, !nv.memdesc<64x64xbf16>
        // expected-note@+1 {{released here}}
        warp.release %t to %ready tma
      }
    }
    warp.role @math warps(4) {
      scf.for %k = %c0 to %n step %c1 : i32 {
        %t = warp.acquire %ready
        warp.release %t to %free wgmma
      }
    }
  }
  return
}

// -----

// Two replicas stage their stores in the same slot.
func.func @staging_shared(%n: i32, %C: !tile.desc<64x64xbf16>, %v: tensor<64x64xbf16>) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %b = warp.buffer : !warp.buffer<2 x [64x64xbf16]>
  %staged = warp.ring released %b : !warp.buffer<2 x [64x64xbf16]>
  warp.specialize {
    warp.role @math warps(4) replicas(2) {
      scf.for %k = %c0 to %n step %c1 : i32 {
        // expected-error@+1 {{in role @math: expected a buffer per_replica or a part of the slot, found 2 replicas that write all of the same slot}}
        warp.store %v to %C[%k, %c0] through %staged : tensor<64x64xbf16>, !tile.desc<64x64xbf16>
      }
    }
  }
  return
}

// -----

// One product stays in flight: it is the newest one whose slot has to stay.
func.func @carried_newest(%n: i32, %A: !tile.desc<64x64xbf16>) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %b = warp.buffer : !warp.buffer<3 x [64x64xbf16]>
  // expected-note@+1 0-1 {{the ring is here}}
  %free = warp.ring released %b : !warp.buffer<3 x [64x64xbf16]>
  // expected-note@+1 0-1 {{the ring is here}}
  %ready = warp.ring %b : !warp.buffer<3 x [64x64xbf16]>
  warp.specialize {
    warp.role @load warps(1) {
      scf.for %k = %c0 to %n step %c1 : i32 {
        %t = warp.acquire %free
        %v = warp.slot %t : !nv.memdesc<64x64xbf16>
        nv.tma.load %A[%k, %c0] to %v : !tile.desc<64x64xbf16>, !nv.memdesc<64x64xbf16>
        warp.release %t to %ready tma
      }
    }
    warp.role @math warps(4) {
      %some = arith.cmpi sgt, %n, %c0 : i32
      scf.if %some {
        %t0 = warp.acquire %ready
        %v0 = warp.slot %t0 : !nv.memdesc<64x64xbf16>
        %w0 = nv.memdesc.trans %v0 : !nv.memdesc<64x64xbf16> -> !nv.memdesc<64x64xbf16>
        %d0 = nv.wgmma %v0, %w0 : !nv.memdesc<64x64xbf16>, !nv.memdesc<64x64xbf16> -> tensor<64x64xf32>
        %d, %last = scf.for %k = %c1 to %n step %c1 iter_args(%c = %d0, %before = %t0)
            -> (tensor<64x64xf32>, !warp.token) : i32 {
          %t = warp.acquire %ready
          %v = warp.slot %t : !nv.memdesc<64x64xbf16>
          %w = nv.memdesc.trans %v : !nv.memdesc<64x64xbf16> -> !nv.memdesc<64x64xbf16>
          // expected-note@+1 {{still in flight}}
          %e = nv.wgmma %v, %w acc(%c) : !nv.memdesc<64x64xbf16>, !nv.memdesc<64x64xbf16> -> tensor<64x64xf32>
          nv.wgmma.wait pending(1)
          // expected-error@+1 {{expected an nv.wgmma.wait that covers the last nv.wgmma that reads the slot, found none before the release}}
          warp.release %t to %free wgmma
          scf.yield %e, %before : tensor<64x64xf32>, !warp.token
        }
        nv.wgmma.wait pending(0)
        warp.release %last to %free wgmma
      }
    }
  }
  return
}

// -----

// Two products stay in flight, but only one slot is kept.
func.func @carried_too_many_pending(%n: i32, %A: !tile.desc<64x64xbf16>) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %b = warp.buffer : !warp.buffer<3 x [64x64xbf16]>
  // expected-note@+1 0-1 {{the ring is here}}
  %free = warp.ring released %b : !warp.buffer<3 x [64x64xbf16]>
  // expected-note@+1 0-1 {{the ring is here}}
  %ready = warp.ring %b : !warp.buffer<3 x [64x64xbf16]>
  warp.specialize {
    warp.role @load warps(1) {
      scf.for %k = %c0 to %n step %c1 : i32 {
        %t = warp.acquire %free
        %v = warp.slot %t : !nv.memdesc<64x64xbf16>
        nv.tma.load %A[%k, %c0] to %v : !tile.desc<64x64xbf16>, !nv.memdesc<64x64xbf16>
        warp.release %t to %ready tma
      }
    }
    warp.role @math warps(4) {
      %some = arith.cmpi sgt, %n, %c0 : i32
      scf.if %some {
        %t0 = warp.acquire %ready
        %v0 = warp.slot %t0 : !nv.memdesc<64x64xbf16>
        %w0 = nv.memdesc.trans %v0 : !nv.memdesc<64x64xbf16> -> !nv.memdesc<64x64xbf16>
        // expected-note@+1 {{still in flight}}
        %d0 = nv.wgmma %v0, %w0 : !nv.memdesc<64x64xbf16>, !nv.memdesc<64x64xbf16> -> tensor<64x64xf32>
        %d, %last = scf.for %k = %c1 to %n step %c1 iter_args(%c = %d0, %before = %t0)
            -> (tensor<64x64xf32>, !warp.token) : i32 {
          %t = warp.acquire %ready
          %v = warp.slot %t : !nv.memdesc<64x64xbf16>
          %w = nv.memdesc.trans %v : !nv.memdesc<64x64xbf16> -> !nv.memdesc<64x64xbf16>
          %e = nv.wgmma %v, %w acc(%c) : !nv.memdesc<64x64xbf16>, !nv.memdesc<64x64xbf16> -> tensor<64x64xf32>
          nv.wgmma.wait pending(2)
          // expected-error@+1 {{expected an nv.wgmma.wait that covers the last nv.wgmma that reads the slot, found none before the release}}
          warp.release %before to %free wgmma
          scf.yield %e, %t : tensor<64x64xf32>, !warp.token
        }
        nv.wgmma.wait pending(0)
        warp.release %last to %free wgmma
      }
    }
  }
  return
}

// -----

// The slot of the last product is forgotten after the loop.
func.func @carried_last_forgotten(%n: i32, %A: !tile.desc<64x64xbf16>) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %b = warp.buffer : !warp.buffer<3 x [64x64xbf16]>
  // expected-note@+1 0-1 {{the ring is here}}
  %free = warp.ring released %b : !warp.buffer<3 x [64x64xbf16]>
  // expected-note@+1 0-1 {{the ring is here}}
  %ready = warp.ring %b : !warp.buffer<3 x [64x64xbf16]>
  warp.specialize {
    warp.role @load warps(1) {
      scf.for %k = %c0 to %n step %c1 : i32 {
        %t = warp.acquire %free
        %v = warp.slot %t : !nv.memdesc<64x64xbf16>
        nv.tma.load %A[%k, %c0] to %v : !tile.desc<64x64xbf16>, !nv.memdesc<64x64xbf16>
        warp.release %t to %ready tma
      }
    }
    warp.role @math warps(4) {
      %some = arith.cmpi sgt, %n, %c0 : i32
      scf.if %some {
        // expected-error@+1 {{its token is never released on a path that role @math takes}}
        %t0 = warp.acquire %ready
        %v0 = warp.slot %t0 : !nv.memdesc<64x64xbf16>
        %w0 = nv.memdesc.trans %v0 : !nv.memdesc<64x64xbf16> -> !nv.memdesc<64x64xbf16>
        %d0 = nv.wgmma %v0, %w0 : !nv.memdesc<64x64xbf16>, !nv.memdesc<64x64xbf16> -> tensor<64x64xf32>
        %d, %last = scf.for %k = %c1 to %n step %c1 iter_args(%c = %d0, %before = %t0)
            -> (tensor<64x64xf32>, !warp.token) : i32 {
          %t = warp.acquire %ready
          %v = warp.slot %t : !nv.memdesc<64x64xbf16>
          %w = nv.memdesc.trans %v : !nv.memdesc<64x64xbf16> -> !nv.memdesc<64x64xbf16>
          %e = nv.wgmma %v, %w acc(%c) : !nv.memdesc<64x64xbf16>, !nv.memdesc<64x64xbf16> -> tensor<64x64xf32>
          nv.wgmma.wait pending(1)
          warp.release %before to %free wgmma
          scf.yield %e, %t : tensor<64x64xf32>, !warp.token
        }
        nv.wgmma.wait pending(0)
      }
    }
  }
  return
}

// -----

// The loop drops a token where it takes the next one.
func.func @carried_dropped(%n: i32, %A: !tile.desc<64x64xbf16>) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %b = warp.buffer : !warp.buffer<4 x [64x64xbf16]>
  // expected-note@+1 0-1 {{the ring is here}}
  %free = warp.ring released %b : !warp.buffer<4 x [64x64xbf16]>
  // expected-note@+1 0-1 {{the ring is here}}
  %ready = warp.ring %b : !warp.buffer<4 x [64x64xbf16]>
  warp.specialize {
    warp.role @load warps(1) {
      scf.for %k = %c0 to %n step %c1 : i32 {
        %t = warp.acquire %free
        %v = warp.slot %t : !nv.memdesc<64x64xbf16>
        nv.tma.load %A[%k, %c0] to %v : !tile.desc<64x64xbf16>, !nv.memdesc<64x64xbf16>
        warp.release %t to %ready tma
      }
    }
    warp.role @math warps(4) {
      %some = arith.cmpi sgt, %n, %c0 : i32
      scf.if %some {
        // expected-error@+1 {{its token is never released on a path that role @math takes with %arg0 = 2}}
        %t0 = warp.acquire %ready
        %v0 = warp.slot %t0 : !nv.memdesc<64x64xbf16>
        %w0 = nv.memdesc.trans %v0 : !nv.memdesc<64x64xbf16> -> !nv.memdesc<64x64xbf16>
        %d0 = nv.wgmma %v0, %w0 : !nv.memdesc<64x64xbf16>, !nv.memdesc<64x64xbf16> -> tensor<64x64xf32>
        %d, %last = scf.for %k = %c1 to %n step %c1 iter_args(%c = %d0, %before = %t0)
            -> (tensor<64x64xf32>, !warp.token) : i32 {
          %t = warp.acquire %ready
          %v = warp.slot %t : !nv.memdesc<64x64xbf16>
          %w = nv.memdesc.trans %v : !nv.memdesc<64x64xbf16> -> !nv.memdesc<64x64xbf16>
          %e = nv.wgmma %v, %w acc(%c) : !nv.memdesc<64x64xbf16>, !nv.memdesc<64x64xbf16> -> tensor<64x64xf32>
          nv.wgmma.wait pending(1)
          scf.yield %e, %t : tensor<64x64xf32>, !warp.token
        }
        nv.wgmma.wait pending(0)
        warp.release %last to %free wgmma
      }
    }
  }
  return
}

// -----

// A loop that yields the token it has released gives it to the next iteration.
func.func @carried_twice(%n: i32, %A: !tile.desc<64x64xbf16>) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %b = warp.buffer : !warp.buffer<4 x [64x64xbf16]>
  // expected-note@+1 0-1 {{the ring is here}}
  %free = warp.ring released %b : !warp.buffer<4 x [64x64xbf16]>
  // expected-note@+1 0-1 {{the ring is here}}
  %ready = warp.ring %b : !warp.buffer<4 x [64x64xbf16]>
  warp.specialize {
    warp.role @load warps(1) {
      scf.for %k = %c0 to %n step %c1 : i32 {
        %t = warp.acquire %free
        %v = warp.slot %t : !nv.memdesc<64x64xbf16>
        nv.tma.load %A[%k, %c0] to %v : !tile.desc<64x64xbf16>, !nv.memdesc<64x64xbf16>
        warp.release %t to %ready tma
      }
    }
    warp.role @math warps(4) {
      %some = arith.cmpi sgt, %n, %c0 : i32
      scf.if %some {
        %t0 = warp.acquire %ready
        %v0 = warp.slot %t0 : !nv.memdesc<64x64xbf16>
        %w0 = nv.memdesc.trans %v0 : !nv.memdesc<64x64xbf16> -> !nv.memdesc<64x64xbf16>
        %d0 = nv.wgmma %v0, %w0 : !nv.memdesc<64x64xbf16>, !nv.memdesc<64x64xbf16> -> tensor<64x64xf32>
        %d, %last = scf.for %k = %c1 to %n step %c1 iter_args(%c = %d0, %before = %t0)
            -> (tensor<64x64xf32>, !warp.token) : i32 {
          %t = warp.acquire %ready
          %v = warp.slot %t : !nv.memdesc<64x64xbf16>
          %w = nv.memdesc.trans %v : !nv.memdesc<64x64xbf16> -> !nv.memdesc<64x64xbf16>
          %e = nv.wgmma %v, %w acc(%c) : !nv.memdesc<64x64xbf16>, !nv.memdesc<64x64xbf16> -> tensor<64x64xf32>
          nv.wgmma.wait pending(1)
          // expected-note@+1 {{first released here}}
          warp.release %before to %free wgmma
          nv.wgmma.wait pending(0)
          warp.release %t to %free wgmma
          scf.yield %e, %before : tensor<64x64xf32>, !warp.token
        }
        nv.wgmma.wait pending(0)
        // expected-error@+1 {{releases a token a second time}}
        warp.release %last to %free wgmma
      }
    }
  }
  return
}

// -----

// The last slot is released before the last product has retired.
func.func @carried_last_in_flight(%n: i32, %A: !tile.desc<64x64xbf16>) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %b = warp.buffer : !warp.buffer<3 x [64x64xbf16]>
  // expected-note@+1 0-1 {{the ring is here}}
  %free = warp.ring released %b : !warp.buffer<3 x [64x64xbf16]>
  // expected-note@+1 0-1 {{the ring is here}}
  %ready = warp.ring %b : !warp.buffer<3 x [64x64xbf16]>
  warp.specialize {
    warp.role @load warps(1) {
      scf.for %k = %c0 to %n step %c1 : i32 {
        %t = warp.acquire %free
        %v = warp.slot %t : !nv.memdesc<64x64xbf16>
        nv.tma.load %A[%k, %c0] to %v : !tile.desc<64x64xbf16>, !nv.memdesc<64x64xbf16>
        warp.release %t to %ready tma
      }
    }
    warp.role @math warps(4) {
      %some = arith.cmpi sgt, %n, %c0 : i32
      scf.if %some {
        %t0 = warp.acquire %ready
        %v0 = warp.slot %t0 : !nv.memdesc<64x64xbf16>
        %w0 = nv.memdesc.trans %v0 : !nv.memdesc<64x64xbf16> -> !nv.memdesc<64x64xbf16>
        // expected-note@+1 {{still in flight}}
        %d0 = nv.wgmma %v0, %w0 : !nv.memdesc<64x64xbf16>, !nv.memdesc<64x64xbf16> -> tensor<64x64xf32>
        %d, %last = scf.for %k = %c1 to %n step %c1 iter_args(%c = %d0, %before = %t0)
            -> (tensor<64x64xf32>, !warp.token) : i32 {
          %t = warp.acquire %ready
          %v = warp.slot %t : !nv.memdesc<64x64xbf16>
          %w = nv.memdesc.trans %v : !nv.memdesc<64x64xbf16> -> !nv.memdesc<64x64xbf16>
          %e = nv.wgmma %v, %w acc(%c) : !nv.memdesc<64x64xbf16>, !nv.memdesc<64x64xbf16> -> tensor<64x64xf32>
          nv.wgmma.wait pending(1)
          warp.release %before to %free wgmma
          scf.yield %e, %t : tensor<64x64xf32>, !warp.token
        }
        // expected-error@+1 {{expected an nv.wgmma.wait that covers the last nv.wgmma that reads the slot, found none before the release}}
        warp.release %last to %free wgmma
        nv.wgmma.wait pending(0)
      }
    }
  }
  return
}

// -----

// A slot that stays for one more iteration needs a second one.
func.func @carried_one_slot(%n: i32, %A: !tile.desc<64x64xbf16>) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %b = warp.buffer : !warp.buffer<1 x [64x64xbf16]>
  // expected-note@+1 {{the ring is here}}
  %free = warp.ring released %b : !warp.buffer<1 x [64x64xbf16]>
  // expected-note@+1 0-1 {{the ring is here}}
  %ready = warp.ring %b : !warp.buffer<1 x [64x64xbf16]>
  warp.specialize {
    warp.role @load warps(1) {
      scf.for %k = %c0 to %n step %c1 : i32 {
        // expected-error@+1 {{deadlock with %arg0 = 2: role @load waits for ring}}
        %t = warp.acquire %free
        %v = warp.slot %t : !nv.memdesc<64x64xbf16>
        nv.tma.load %A[%k, %c0] to %v : !tile.desc<64x64xbf16>, !nv.memdesc<64x64xbf16>
        warp.release %t to %ready tma
      }
    }
    warp.role @math warps(4) {
      %some = arith.cmpi sgt, %n, %c0 : i32
      scf.if %some {
        %t0 = warp.acquire %ready
        %v0 = warp.slot %t0 : !nv.memdesc<64x64xbf16>
        %w0 = nv.memdesc.trans %v0 : !nv.memdesc<64x64xbf16> -> !nv.memdesc<64x64xbf16>
        %d0 = nv.wgmma %v0, %w0 : !nv.memdesc<64x64xbf16>, !nv.memdesc<64x64xbf16> -> tensor<64x64xf32>
        %d, %last = scf.for %k = %c1 to %n step %c1 iter_args(%c = %d0, %before = %t0)
            -> (tensor<64x64xf32>, !warp.token) : i32 {
          // expected-note@+1 {{role @math waits for ring}}
          %t = warp.acquire %ready
          %v = warp.slot %t : !nv.memdesc<64x64xbf16>
          %w = nv.memdesc.trans %v : !nv.memdesc<64x64xbf16> -> !nv.memdesc<64x64xbf16>
          %e = nv.wgmma %v, %w acc(%c) : !nv.memdesc<64x64xbf16>, !nv.memdesc<64x64xbf16> -> tensor<64x64xf32>
          nv.wgmma.wait pending(1)
          // expected-note@+1 {{released only here, by role @math after what it waits for}}
          warp.release %before to %free wgmma
          scf.yield %e, %t : tensor<64x64xf32>, !warp.token
        }
        nv.wgmma.wait pending(0)
        warp.release %last to %free wgmma
      }
    }
  }
  return
}

// -----

// Nothing may read a slot that has gone back.
func.func @read_after_release(%n: i32, %A: !tile.desc<64x64xbf16>) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %b = warp.buffer : !warp.buffer<2 x [64x64xbf16]>
  // expected-note@+1 0-1 {{the ring is here}}
  %free = warp.ring released %b : !warp.buffer<2 x [64x64xbf16]>
  // expected-note@+1 0-1 {{the ring is here}}
  %ready = warp.ring %b : !warp.buffer<2 x [64x64xbf16]>
  warp.specialize {
    warp.role @load warps(1) {
      scf.for %k = %c0 to %n step %c1 : i32 {
        %t = warp.acquire %free
        %v = warp.slot %t : !nv.memdesc<64x64xbf16>
        nv.tma.load %A[%k, %c0] to %v : !tile.desc<64x64xbf16>, !nv.memdesc<64x64xbf16>
        warp.release %t to %ready tma
      }
    }
    warp.role @math warps(4) {
      scf.for %k = %c0 to %n step %c1 : i32 {
        %t = warp.acquire %ready
        %v = warp.slot %t : !nv.memdesc<64x64xbf16>
        // expected-note@+1 {{released here}}
        warp.release %t to %free generic
        // expected-error@+1 {{touches a slot that has been released}}
        %x = nv.local_load %v : !nv.memdesc<64x64xbf16> -> tensor<64x64xbf16>
      }
    }
  }
  return
}

// -----

// The store engine counts slots from the oldest: they go back in order.
func.func @bulk_read_order(%n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %b = warp.buffer : !warp.buffer<2 x [64x64xbf16]>
  %staged = warp.ring released %b : !warp.buffer<2 x [64x64xbf16]>
  warp.specialize {
    warp.role @math warps(4) {
      scf.for %k = %c0 to %n step %c1 : i32 {
        %t = warp.acquire %staged
        %u = warp.acquire %staged
        warp.release %u to %staged bulk_read
        // expected-error@+1 {{bulk_read: expected releases in the order of the acquires, found that of an older slot after that of a newer one}}
        warp.release %t to %staged bulk_read
      }
    }
  }
  return
}

// -----

// The loop may issue no product: then the newest one in flight is that of the slot.
func.func @other_products(%n: i32, %q: !nv.memdesc<64x64xbf16>) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c3 = arith.constant 3 : i32
  %b = warp.buffer : !warp.buffer<2 x [64x64xbf16]>
  %ring = warp.ring released %b : !warp.buffer<2 x [64x64xbf16]>
  warp.specialize {
    warp.role @math warps(4) {
      scf.for %k = %c0 to %c3 step %c1 : i32 {
        %t = warp.acquire %ring
        %v = warp.slot %t : !nv.memdesc<64x64xbf16>
        // expected-note@+1 {{still in flight}}
        %d = nv.wgmma %v, %v : !nv.memdesc<64x64xbf16>, !nv.memdesc<64x64xbf16> -> tensor<64x64xf32>
        scf.for %j = %c0 to %n step %c1 : i32 {
          %e = nv.wgmma %q, %q : !nv.memdesc<64x64xbf16>, !nv.memdesc<64x64xbf16> -> tensor<64x64xf32>
        }
        nv.wgmma.wait pending(1)
        // expected-error@+1 {{expected an nv.wgmma.wait that covers the last nv.wgmma that reads the slot, found none before the release with %arg0 = 0}}
        warp.release %t to %ring wgmma
        nv.wgmma.wait pending(0)
      }
    }
  }
  return
}

// -----

// A branch may issue it or not.
func.func @other_branch(%p: i1, %q: !nv.memdesc<64x64xbf16>) {
  %b = warp.buffer : !warp.buffer<2 x [64x64xbf16]>
  %ring = warp.ring released %b : !warp.buffer<2 x [64x64xbf16]>
  warp.specialize {
    warp.role @math warps(4) {
      %t = warp.acquire %ring
      %v = warp.slot %t : !nv.memdesc<64x64xbf16>
      // expected-note@+1 {{still in flight}}
      %d = nv.wgmma %v, %v : !nv.memdesc<64x64xbf16>, !nv.memdesc<64x64xbf16> -> tensor<64x64xf32>
      scf.if %p {
        %e = nv.wgmma %q, %q : !nv.memdesc<64x64xbf16>, !nv.memdesc<64x64xbf16> -> tensor<64x64xf32>
      }
      nv.wgmma.wait pending(1)
      // expected-error@+1 {{found none before the release with %arg0 = 0}}
      warp.release %t to %ring wgmma
    }
  }
  return
}

// -----

// The steps of a loop count by its stride also where its lower bound is no constant: with two of them the only slot is taken twice.
func.func @one_slot_in_flight(%k: i32) {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %c65 = arith.constant 65 : i32
  %b = warp.buffer : !warp.buffer<1 x [64x64xbf16]>
  // expected-note@+1 {{the ring is here}}
  %free = warp.ring released %b : !warp.buffer<1 x [64x64xbf16]>
  %ready = warp.ring %b : !warp.buffer<1 x [64x64xbf16]>
  warp.specialize {
    warp.role @load warps(1) {
      %any = arith.cmpi sgt, %k, %c0 : i32
      %first = arith.select %any, %c0, %c64 : i32
      %end = arith.select %any, %k, %c65 : i32
      scf.for %i = %first to %end step %c64 : i32 {
        // expected-error@+1 {{deadlock with %arg0 = 65}}
        %t = warp.acquire %free
        warp.release %t to %ready tma
      }
    }
    warp.role @math warps(4) {
      %any = arith.cmpi sgt, %k, %c0 : i32
      %first = arith.select %any, %c0, %c64 : i32
      %end = arith.select %any, %k, %c65 : i32
      %t0 = warp.acquire %ready
      %next = arith.addi %first, %c64 : i32
      %last = scf.for %i = %next to %end step %c64 iter_args(%before = %t0) -> (!warp.token) : i32 {
        // expected-note@+1 {{waits for ring}}
        %t = warp.acquire %ready
        // expected-note@+1 {{released only here}}
        warp.release %before to %free generic
        scf.yield %t : !warp.token
      }
      warp.release %last to %free generic
    }
  }
  return
}
