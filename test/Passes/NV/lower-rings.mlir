// RUN: kernel-opt %s --nv-lower-rings --canonicalize --cse --split-input-file --verify-diagnostics | FileCheck %s

!smem = !nv.memdesc<64x64xbf16, #nv.smem<swizzle = 128>>
!wide = !nv.memdesc<128x64xbf16, #nv.smem<swizzle = 128>>

// A channel: one barrier a slot on each ring. The load's side arrives once and expects the bytes of both loads before the first of them;
// the other side counts one arrival for each of the 2 x 4 warps, after the warp's threads have met.
// CHECK-LABEL: func.func @channel
func.func @channel(%A: !tile.desc<64x64xbf16>, %B: !tile.desc<128x64xbf16>, %i: i32, %stage: i32, %phase: i32) {
  // CHECK: %[[AB:.*]] = nv.alloc 3 x 24576 align 1024
  // CHECK: %[[FREE:.*]] = nv.alloc 3 x 8 align 8 {{.*}} : !nv.barrier
  // CHECK-NEXT: nv.mbarrier.init %[[FREE]] stages 3 arrivals 8
  // CHECK-NEXT: %[[READY:.*]] = nv.alloc 3 x 8 align 8 {{.*}} : !nv.barrier
  // CHECK-NEXT: nv.mbarrier.init %[[READY]] stages 3 arrivals 1
  %b = warp.buffer : !warp.buffer<3 x [64x64xbf16, 128x64xbf16]>
  %free = warp.ring released %b : !warp.buffer<3 x [64x64xbf16, 128x64xbf16]>
  %ready = warp.ring %b : !warp.buffer<3 x [64x64xbf16, 128x64xbf16]>
  warp.specialize {
    // CHECK: warp.role @load
    warp.role @load warps(1) {
      // CHECK-NEXT: %[[EMPTY:.*]] = nv.barrier_at %[[FREE]][%[[S:.*]]]
      // CHECK-NEXT: nv.mbarrier.wait %[[EMPTY]], %[[P:.*]]
      // CHECK-NEXT: %[[VA:.*]] = nv.view %[[AB]][%[[S]]] stride 24576 offset 0
      // CHECK-NEXT: %[[VB:.*]] = nv.view %[[AB]][%[[S]]] stride 24576 offset 8192
      // CHECK-NEXT: %[[FULL:.*]] = nv.barrier_at %[[READY]][%[[S]]]
      // CHECK-NEXT: nv.mbarrier.arrive %[[FULL]] by all expect 24576
      // CHECK-NEXT: nv.tma.load {{.*}} to %[[VA]] barrier(%[[FULL]])
      // CHECK-NEXT: nv.tma.load {{.*}} to %[[VB]] barrier(%[[FULL]])
      // CHECK-NEXT: }
      %t = warp.acquire %free at(%stage, %phase)
      %a, %c = warp.slot %t : !smem, !wide
      nv.tma.load %A[%i, %i] to %a : !tile.desc<64x64xbf16>, !smem
      nv.tma.load %B[%i, %i] to %c : !tile.desc<128x64xbf16>, !wide
      warp.release %t to %ready tma
    }
    // CHECK: warp.role @math
    warp.role @math warps(4) replicas(2) {
      // CHECK-NEXT: %[[FULL:.*]] = nv.barrier_at %[[READY]][%[[S]]]
      // CHECK-NEXT: nv.mbarrier.wait %[[FULL]], %[[P]]
      // CHECK: nv.local_load
      // CHECK: nv.warp_sync
      // CHECK-NEXT: %[[EMPTY:.*]] = nv.barrier_at %[[FREE]][%[[S]]]
      // CHECK-NEXT: nv.mbarrier.arrive %[[EMPTY]] by warp{{$}}
      %t = warp.acquire %ready at(%stage, %phase)
      %a, %c = warp.slot %t : !smem, !wide
      %x = nv.local_load %a : !smem -> tensor<64x64xbf16>
      warp.release %t to %free generic
    }
  }
  return
}

// -----

!smem = !nv.memdesc<64x64xbf16, #nv.smem<swizzle = 128>>

// Replicas that take alternate tiles release each slot once, not once each.
// CHECK-LABEL: func.func @alternate
func.func @alternate(%A: !tile.desc<64x64xbf16>, %i: i32, %stage: i32, %phase: i32) {
  // CHECK: nv.mbarrier.init %{{.*}} stages 2 arrivals 4
  // CHECK: nv.mbarrier.init %{{.*}} stages 2 arrivals 1
  %b = warp.buffer : !warp.buffer<2 x [64x64xbf16]>
  %free = warp.ring released %b : !warp.buffer<2 x [64x64xbf16]>
  %ready = warp.ring %b : !warp.buffer<2 x [64x64xbf16]>
  warp.specialize {
    warp.role @load warps(1) {
      %t = warp.acquire %free at(%stage, %phase)
      %a = warp.slot %t : !smem
      nv.tma.load %A[%i, %i] to %a : !tile.desc<64x64xbf16>, !smem
      warp.release %t to %ready tma
    }
    warp.role @math warps(4) replicas(2) {
      %t = warp.acquire %ready at(%stage, %phase) {warp.alternate}
      warp.release %t to %free wgmma
    }
  }
  return
}

// -----

!smem = !nv.memdesc<64x64xbf16, #nv.smem<swizzle = 128>>

// Arrivals of all releasing roles add up: four warps, and one thread.
// CHECK-LABEL: func.func @two_releasers
func.func @two_releasers(%A: !tile.desc<64x64xbf16>, %i: i32, %stage: i32, %phase: i32) {
  // CHECK: nv.mbarrier.init %{{.*}} stages 2 arrivals 5
  %b = warp.buffer : !warp.buffer<2 x [64x64xbf16]>
  %free = warp.ring released %b : !warp.buffer<2 x [64x64xbf16]>
  %ready = warp.ring %b : !warp.buffer<2 x [64x64xbf16]>
  warp.specialize {
    warp.role @load warps(1) {
      %t = warp.acquire %free at(%stage, %phase)
      %a = warp.slot %t : !smem
      nv.tma.load %A[%i, %i] to %a : !tile.desc<64x64xbf16>, !smem
      warp.release %t to %ready tma
    }
    warp.role @math warps(4) {
      %t = warp.acquire %ready at(%stage, %phase)
      %a = warp.slot %t : !smem
      %x = nv.local_load %a : !smem -> tensor<64x64xbf16>
      warp.release %t to %free generic
    }
    // CHECK: warp.role @copy
    warp.role @copy warps(1) {
      // CHECK: nv.mbarrier.arrive %{{.*}} by all
      %t = warp.acquire %ready at(%stage, %phase)
      warp.release %t to %free generic
    }
  }
  return
}

// -----

!smem = !nv.memdesc<64x64xbf16, #nv.smem<swizzle = 128>>

// A role that stages its own stores needs no barrier: the store engine's groups count the slots. Slots of each replica lie one after the
// other, and its threads meet after the wait of the one that issued the stores.
// CHECK-LABEL: func.func @self_ring
func.func @self_ring(%C: !tile.desc<64x64xbf16>, %i: i32, %stage: i32, %phase: i32) {
  // CHECK: %[[OUT:.*]] = nv.alloc 6 x 8192 align 1024
  // CHECK-NOT: !nv.barrier
  %b = warp.buffer per_replica : !warp.buffer<3 x [64x64xbf16]>
  %staged = warp.ring released %b : !warp.buffer<3 x [64x64xbf16]>
  warp.specialize {
    warp.role @math warps(4) replicas(2) {
      // CHECK: nv.bulk.wait 2 read
      // CHECK-NEXT: nv.named_barrier
      // CHECK-NEXT: %[[R:.*]] = warp.replica_index
      // CHECK-NEXT: %[[BASE:.*]] = arith.muli %[[R]], %c3_i32
      // CHECK-NEXT: %[[SLOT:.*]] = arith.addi %[[BASE]], %{{.*}} : i32
      // CHECK-NEXT: nv.view %[[OUT]][%[[SLOT]]] stride 8192 offset 0
      // CHECK-NEXT: nv.tma.store
      // CHECK-NEXT: nv.bulk.commit
      %t = warp.acquire %staged at(%stage, %phase)
      %v = warp.slot %t : !smem
      nv.tma.store %v to %C[%i, %i] : !smem, !tile.desc<64x64xbf16>
      warp.release %t to %staged bulk_read
    }
  }
  return
}

// -----

!smem = !nv.memdesc<64x64xbf16, #nv.smem<swizzle = 128>>

// Slots and barriers of each replica, with the arrivals of one replica.
// CHECK-LABEL: func.func @per_replica
func.func @per_replica(%stage: i32, %phase: i32) {
  // CHECK: %[[B:.*]] = nv.alloc 2 x 8192
  // CHECK: %[[GIVEN:.*]] = nv.alloc 2 x 8 align 8
  // CHECK-NEXT: nv.mbarrier.init %[[GIVEN]] stages 2 arrivals 4
  %b = warp.buffer per_replica : !warp.buffer<1 x [64x64xbf16]>
  %ring = warp.ring released %b : !warp.buffer<1 x [64x64xbf16]>
  warp.specialize {
    warp.role @math warps(4) replicas(2) {
      // CHECK: %[[R:.*]] = warp.replica_index
      // CHECK-NEXT: %[[MINE:.*]] = nv.barrier_at %[[GIVEN]][%[[R]]]
      // CHECK-NEXT: nv.mbarrier.wait %[[MINE]]
      %t = warp.acquire %ring at(%stage, %phase)
      %v = warp.slot %t : !smem
      %x = nv.local_load %v : !smem -> tensor<64x64xbf16>
      nv.local_store %x to %v : tensor<64x64xbf16>, !smem
      warp.release %t to %ring generic
    }
  }
  return
}

// -----

// Turns of whole warps are hardware barriers: replica r waits in its own, where the threads of replica r - 1 count too; the last replica
// gives the first turn.
// CHECK-LABEL: func.func @order
// CHECK-SAME: attributes {nv.order_barriers = 3 : i64}
func.func @order(%phase: i32) {
  // CHECK-NOT: nv.mbarrier
  // CHECK: warp.role @math
  %turn = warp.order 3
  warp.specialize {
    warp.role @math warps(4) replicas(3) {
      // CHECK: %[[R:.*]] = warp.replica_index
      // CHECK-NEXT: %[[LAST:.*]] = arith.cmpi eq, %[[R]], %c2_i32
      // CHECK-NEXT: scf.if %[[LAST]] {
      // CHECK-NEXT: nvvm.barrier.arrive id = %c13_i32 number_of_threads = %c256_i32
      // CHECK-NEXT: }
      // CHECK: %[[MINE:.*]] = arith.addi %[[R]], %c13_i32
      // CHECK-NEXT: nvvm.barrier id = %[[MINE]] number_of_threads = %c256_i32
      warp.await %turn at(%phase)
      // CHECK-NEXT: %[[NEXT:.*]] = arith.addi %[[R]], %c14_i32
      // CHECK-NEXT: %[[THEIRS:.*]] = arith.select %[[LAST]], %c13_i32, %[[NEXT]]
      // CHECK-NEXT: nvvm.barrier.arrive id = %[[THEIRS]] number_of_threads = %c256_i32
      warp.pass %turn
    }
  }
  return
}

// -----

// Turns of single threads are mbarriers: the one of replica r completes when replica r - 1 passes.
// CHECK-LABEL: func.func @order_of_threads
func.func @order_of_threads(%phase: i32) {
  // CHECK: %[[TURN:.*]] = nv.alloc 3 x 8 align 8
  // CHECK-NEXT: nv.mbarrier.init %[[TURN]] stages 3 arrivals 1
  %turn = warp.order 3
  warp.specialize {
    warp.role @copy warps(1) replicas(3) {
      // CHECK: %[[R:.*]] = warp.replica_index
      // CHECK-NEXT: %[[MINE:.*]] = nv.barrier_at %[[TURN]][%[[R]]]
      // CHECK-NEXT: nv.mbarrier.wait %[[MINE]], %{{.*}}
      warp.await %turn at(%phase)
      // CHECK-NEXT: %[[NEXT:.*]] = arith.addi %[[R]], %c1_i32
      // CHECK-NEXT: %[[WRAP:.*]] = arith.cmpi eq, %[[NEXT]], %c3_i32
      // CHECK-NEXT: %[[OTHER:.*]] = arith.select %[[WRAP]], %c0_i32, %[[NEXT]]
      // CHECK-NEXT: %[[THEIRS:.*]] = nv.barrier_at %[[TURN]][%[[OTHER]]]
      // CHECK-NEXT: nv.mbarrier.arrive %[[THEIRS]] by warp
      warp.pass %turn
    }
  }
  return
}

// -----

!smem = !nv.memdesc<64x64xbf16, #nv.smem<swizzle = 128>>

// What a loop carries of a token is its stage: the slot of the iteration before is released by the stage that came in.
// CHECK-LABEL: func.func @carried
func.func @carried(%A: !tile.desc<64x64xbf16>, %n: i32, %stage: i32, %phase: i32) {
  %c1 = arith.constant 1 : i32
  %b = warp.buffer : !warp.buffer<2 x [64x64xbf16]>
  // CHECK: %[[FREE:.*]] = nv.alloc 2 x 8 align 8
  %free = warp.ring released %b : !warp.buffer<2 x [64x64xbf16]>
  %ready = warp.ring %b : !warp.buffer<2 x [64x64xbf16]>
  warp.specialize {
    warp.role @load warps(1) {
      %t = warp.acquire %free at(%stage, %phase)
      %a = warp.slot %t : !smem
      nv.tma.load %A[%n, %n] to %a : !tile.desc<64x64xbf16>, !smem
      warp.release %t to %ready tma
    }
    // CHECK: warp.role @math
    warp.role @math warps(4) {
      %t0 = warp.acquire %ready at(%stage, %phase)
      // CHECK: %[[LAST:.*]] = scf.for {{.*}} iter_args(%[[BEFORE:.*]] = %[[S0:.*]]) -> (i32)
      %last = scf.for %k = %c1 to %n step %c1 iter_args(%before = %t0) -> (!warp.token) : i32 {
        // CHECK-NEXT: %[[S:.*]] = arith.subi %[[N:.*]], %[[K:.*]] : i32
        // CHECK: nv.mbarrier.wait
        // CHECK: %[[EMPTY:.*]] = nv.barrier_at %[[FREE]][%[[BEFORE]]]
        // CHECK-NEXT: nv.mbarrier.arrive %[[EMPTY]] by warp
        // CHECK-NEXT: scf.yield %[[S]]
        %s = arith.subi %n, %k : i32
        %t = warp.acquire %ready at(%s, %phase)
        warp.release %before to %free wgmma
        scf.yield %t : !warp.token
      }
      // CHECK: %[[EMPTY:.*]] = nv.barrier_at %[[FREE]][%[[LAST]]]
      // CHECK-NEXT: nv.mbarrier.arrive %[[EMPTY]] by warp
      warp.release %last to %free wgmma
    }
  }
  return
}

// -----

!smem = !nv.memdesc<64x64xbf16, #nv.smem<swizzle = 128>>

// A branch yields the stage of the slot that it has taken; views of the result are at that stage.
// CHECK-LABEL: func.func @yielded
func.func @yielded(%p: i1, %stage: i32, %other: i32, %phase: i32) {
  // CHECK: %[[B:.*]] = nv.alloc 2 x 8192
  %b = warp.buffer : !warp.buffer<2 x [64x64xbf16]>
  %ring = warp.ring released %b : !warp.buffer<2 x [64x64xbf16]>
  warp.specialize {
    warp.role @math warps(4) {
      // CHECK: %[[S:.*]] = arith.select
      // CHECK: nv.view %[[B]][%[[S]]]
      // CHECK: nv.barrier_at %{{.*}}[%[[S]]]
      %t = scf.if %p -> !warp.token {
        %u = warp.acquire %ring at(%stage, %phase)
        scf.yield %u : !warp.token
      } else {
        %u = warp.acquire %ring at(%other, %phase)
        scf.yield %u : !warp.token
      }
      %v = warp.slot %t : !smem
      %x = nv.local_load %v : !smem -> tensor<64x64xbf16>
      warp.release %t to %ring generic
      %t2 = warp.acquire %ring at(%stage, %phase)
      %v2 = warp.slot %t2 : !smem
      nv.local_store %x to %v2 : tensor<64x64xbf16>, !smem
      warp.release %t2 to %ring generic
    }
  }
  return
}

// -----

func.func @no_stage() {
  %b = warp.buffer : !warp.buffer<2 x []>
  %ring = warp.ring released %b : !warp.buffer<2 x []>
  warp.specialize {
    warp.role @math warps(4) {
      // expected-error@+1 {{expected a stage and phase: run warp-assign-stage-phase first}}
      %t = warp.acquire %ring
      warp.release %t to %ring generic
    }
  }
  return
}

// -----

func.func @unused() {
  // expected-error@+1 {{expected a role that uses its slots}}
  %b = warp.buffer : !warp.buffer<2 x [64x64xbf16]>
  warp.specialize {
  }
  return
}

// -----

!smem = !nv.memdesc<64x64xbf16, #nv.smem<swizzle = 128>>

func.func @load_in_branch(%A: !tile.desc<64x64xbf16>, %p: i1, %stage: i32, %phase: i32) {
  %b = warp.buffer : !warp.buffer<2 x [64x64xbf16]>
  %free = warp.ring released %b : !warp.buffer<2 x [64x64xbf16]>
  warp.specialize {
    warp.role @load warps(1) {
      %t = warp.acquire %free at(%stage, %phase)
      %a = warp.slot %t : !smem
      scf.if %p {
        // expected-error@+1 {{into a slot: expected in the same block as its release, found under 'scf.if'}}
        nv.tma.load %A[%stage, %stage] to %a : !tile.desc<64x64xbf16>, !smem
      }
      warp.release %t to %free tma
    }
  }
  return
}

// -----

!scales = !nv.memdesc<64xf32, #nv.smem<swizzle = 0>>

// A peek tests the barrier of the next slot, a hold waits again for the slot that the role has, once the values are computed.
// CHECK-LABEL: func.func @peek_and_hold
func.func @peek_and_hold(%A: !tile.desc<64xf32>, %i: i32, %stage: i32, %phase: i32, %known: i1) {
  %b = warp.buffer : !warp.buffer<3 x [64xf32]>
  // CHECK: nv.alloc 3 x 256 align 128
  // CHECK: %[[FREE:.*]] = nv.alloc 3 x 8
  // CHECK: %[[READY:.*]] = nv.alloc 3 x 8
  %free = warp.ring released %b : !warp.buffer<3 x [64xf32]>
  %ready = warp.ring %b : !warp.buffer<3 x [64xf32]>
  warp.specialize {
    warp.role @load warps(1) {
      %t = warp.acquire %free at(%stage, %phase)
      %s = warp.slot %t : !scales
      nv.tma.load %A[%i] to %s : !tile.desc<64xf32>, !scales
      warp.release %t to %ready tma
    }
    // CHECK: warp.role @math
    warp.role @math warps(4) {
      // CHECK: %[[FULL:.*]] = nv.barrier_at %[[READY]][%[[S:.*]]]
      // CHECK-NEXT: nv.mbarrier.wait %[[FULL]], %[[P:.*]] known(%{{.*}})
      // CHECK: %[[X:.*]] = nv.local_load
      // CHECK: %[[K:.*]] = nv.keep %[[X]]
      // CHECK: nv.mbarrier.wait %[[FULL]], %[[P]]{{$}}
      // CHECK: nv.mbarrier.arrive
      // CHECK: nv.mbarrier.test %[[FULL]], %[[P]]
      // CHECK: nv.global_store %[[K]]
      %t = warp.acquire %ready at(%stage, %phase) known(%known)
      %s = warp.slot %t : !scales
      %x = nv.local_load %s : !scales -> tensor<64xf32>
      %y = warp.hold %t, %x : tensor<64xf32>
      warp.release %t to %free generic
      %soon = warp.peek %ready at(%stage, %phase)
      %p = arith.extui %soon : i1 to i64
      %at = nv.splat %p : i64 -> tensor<64xi64>
      nv.global_store %y to %p[%at] : tensor<64xf32>, tensor<64xi64>
    }
  }
  return
}
