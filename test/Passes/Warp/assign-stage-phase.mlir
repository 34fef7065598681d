// RUN: kernel-opt %s --warp-assign-stage-phase --canonicalize --split-input-file --verify-diagnostics | FileCheck %s

// A loop carries stage and phase; a ring that starts released is first waited for with phase 1.
// CHECK-LABEL: func.func @loop
func.func @loop(%n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %b = warp.buffer : !warp.buffer<3 x [64x64xbf16]>
  // CHECK: %[[FREE:.*]] = warp.ring released
  %free = warp.ring released %b : !warp.buffer<3 x [64x64xbf16]>
  // CHECK: %[[READY:.*]] = warp.ring %
  %ready = warp.ring %b : !warp.buffer<3 x [64x64xbf16]>
  warp.specialize {
    // CHECK: warp.role @load
    warp.role @load warps(1) {
      // CHECK: scf.for {{.*}} iter_args(%[[S:.*]] = %c0_i32, %[[P:.*]] = %c1_i32)
      scf.for %k = %c0 to %n step %c1 : i32 {
        // CHECK-NEXT: %[[T:.*]] = warp.acquire %[[FREE]] at(%[[S]], %[[P]])
        // CHECK-NEXT: %[[S1:.*]] = arith.addi %[[S]], %c1_i32
        // CHECK-NEXT: %[[WRAP:.*]] = arith.cmpi eq, %[[S1]], %c3_i32
        // CHECK-NEXT: %[[S2:.*]] = arith.select %[[WRAP]], %c0_i32, %[[S1]]
        // CHECK-NEXT: %[[FLIP:.*]] = arith.extui %[[WRAP]]
        // CHECK-NEXT: %[[P2:.*]] = arith.xori %[[P]], %[[FLIP]]
        // CHECK: warp.release %[[T]] to %[[READY]] tma
        // CHECK-NEXT: scf.yield %[[S2]], %[[P2]]
        %t = warp.acquire %free
        warp.release %t to %ready tma
      }
    }
    // CHECK: warp.role @math
    warp.role @math warps(4) {
      // CHECK: scf.for {{.*}} iter_args(%{{.*}} = %c0_i32, %{{.*}} = %c0_i32)
      scf.for %k = %c0 to %n step %c1 : i32 {
        %t = warp.acquire %ready
        warp.release %t to %free generic
      }
    }
  }
  return
}

// -----

// With one slot there is only a phase; the state goes through nested loops and on to what follows.
// CHECK-LABEL: func.func @nested
func.func @nested(%n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %b = warp.buffer : !warp.buffer<1 x [64x64xbf16]>
  %ring = warp.ring released %b : !warp.buffer<1 x [64x64xbf16]>
  warp.specialize {
    warp.role @math warps(4) {
      // CHECK: %[[OUT:.*]] = scf.for {{.*}} iter_args(%[[P:.*]] = %c1_i32) -> (i32)
      scf.for %i = %c0 to %n step %c1 : i32 {
        // CHECK-NEXT: %[[IN:.*]] = scf.for {{.*}} iter_args(%[[Q:.*]] = %[[P]]) -> (i32)
        scf.for %j = %c0 to %n step %c1 : i32 {
          // CHECK-NEXT: warp.acquire %{{.*}} at(%c0_i32, %[[Q]])
          // CHECK-NEXT: %[[NEXT:.*]] = arith.xori %[[Q]], %c1_i32
          // CHECK: scf.yield %[[NEXT]]
          %t = warp.acquire %ring
          warp.release %t to %ring generic
        }
        // CHECK: scf.yield %[[IN]]
      }
      // CHECK: warp.acquire %{{.*}} at(%c0_i32, %[[OUT]])
      %last = warp.acquire %ring
      warp.release %last to %ring generic
    }
  }
  return
}

// -----

// A branch hands on the state of the side taken; the results that it had stay first.
// CHECK-LABEL: func.func @branch
func.func @branch(%p: i1, %x: f32, %q: i64, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %b = warp.buffer : !warp.buffer<1 x [64x64xbf16]>
  %ring = warp.ring released %b : !warp.buffer<1 x [64x64xbf16]>
  warp.specialize {
    warp.role @math warps(4) {
      // CHECK: scf.for {{.*}} iter_args(%[[P:.*]] = %c1_i32)
      scf.for %k = %c0 to %n step %c1 : i32 {
        // CHECK-NEXT: %[[R:.*]]:2 = scf.if %{{.*}} -> (f32, i32)
        %y = scf.if %p -> f32 {
          // CHECK-NEXT: %[[T:.*]] = warp.acquire %{{.*}} at(%c0_i32, %[[P]])
          // CHECK-NEXT: %[[NEXT:.*]] = arith.xori %[[P]], %c1_i32
          // CHECK: scf.yield %{{.*}}, %[[NEXT]]
          %t = warp.acquire %ring
          warp.release %t to %ring generic
          %z = arith.addf %x, %x : f32
          scf.yield %z : f32
        } else {
          // CHECK: scf.yield %{{.*}}, %[[P]]
          scf.yield %x : f32
        }
        // CHECK: nv.global_store %[[R]]#0
        // CHECK-NEXT: scf.yield %[[R]]#1
        nv.global_store %y to %q[%q] : f32, i64
      }
    }
  }
  return
}

// -----

// A branch without an else gets one that keeps the state; branches without acquires are left alone.
// CHECK-LABEL: func.func @branch_without_else
func.func @branch_without_else(%p: i1, %r: i1, %q: i64, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %b = warp.buffer : !warp.buffer<5 x [64x64xbf16]>
  %ring = warp.ring released %b : !warp.buffer<5 x [64x64xbf16]>
  warp.specialize {
    warp.role @math warps(4) {
      // CHECK: scf.for {{.*}} iter_args(%[[S:.*]] = %c0_i32, %[[P:.*]] = %c1_i32)
      scf.for %k = %c0 to %n step %c1 : i32 {
        // CHECK-NEXT: scf.if %{{.*}} {
        scf.if %r {
          %old = nv.atomic_add %q[%q], %k : i32
        }
        // CHECK: %[[R:.*]]:2 = scf.if %{{.*}} -> (i32, i32)
        scf.if %p {
          %t = warp.acquire %ring
          warp.release %t to %ring generic
        }
        // CHECK: else
        // CHECK-NEXT: scf.yield %[[S]], %[[P]]
        // CHECK: scf.yield %[[R]]#0, %[[R]]#1
      }
    }
  }
  return
}

// -----

// A while carries the state through both of its regions; what was acquired in the condition counts too.
// CHECK-LABEL: func.func @while
func.func @while(%q: i64, %n: i32) {
  %c1 = arith.constant 1 : i32
  %b = warp.buffer : !warp.buffer<1 x [64x64xbf16]>
  %ring = warp.ring released %b : !warp.buffer<1 x [64x64xbf16]>
  warp.specialize {
    warp.role @math warps(4) {
      // CHECK: %[[R:.*]] = scf.while (%[[P:.*]] = %c1_i32) : (i32) -> i32
      scf.while : () -> () {
        // CHECK-NEXT: warp.acquire %{{.*}} at(%c0_i32, %[[P]])
        // CHECK-NEXT: %[[P1:.*]] = arith.xori %[[P]], %c1_i32
        // CHECK: scf.condition(%{{.*}}) %[[P1]]
        %t = warp.acquire %ring
        warp.release %t to %ring generic
        %old = nv.atomic_add %q[%q], %c1 : i32
        %more = arith.cmpi slt, %old, %n : i32
        scf.condition(%more)
      } do {
        // CHECK: ^bb0(%[[P2:.*]]: i32):
        // CHECK-NEXT: warp.acquire %{{.*}} at(%c0_i32, %[[P2]])
        // CHECK-NEXT: %[[P3:.*]] = arith.xori %[[P2]], %c1_i32
        // CHECK: scf.yield %[[P3]]
        %t = warp.acquire %ring
        warp.release %t to %ring generic
        scf.yield
      }
      // CHECK: warp.acquire %{{.*}} at(%c0_i32, %[[R]])
      %u = warp.acquire %ring
      warp.release %u to %ring generic
    }
  }
  return
}

// -----

// A skip goes any number of slots on: 5 slots are not a power of two.
// CHECK-LABEL: func.func @skip
// CHECK-SAME: %[[COUNT:.*]]: i32)
func.func @skip(%count: i32) {
  %b = warp.buffer : !warp.buffer<5 x [64x64xbf16]>
  %free = warp.ring released %b : !warp.buffer<5 x [64x64xbf16]>
  %ready = warp.ring %b : !warp.buffer<5 x [64x64xbf16]>
  warp.specialize {
    warp.role @math warps(4) replicas(2) {
      // CHECK: warp.acquire %{{.*}} at(%c0_i32, %c0_i32)
      %t = warp.acquire %ready
      warp.release %t to %free generic
      // CHECK: %[[AT:.*]] = arith.addi %[[COUNT]], %c1_i32
      // CHECK-NEXT: %[[ROUNDS:.*]] = arith.divui %[[AT]], %c5_i32
      // CHECK-NEXT: %[[BACK:.*]] = arith.muli %[[ROUNDS]], %c5_i32
      // CHECK-NEXT: %[[STAGE:.*]] = arith.subi %[[AT]], %[[BACK]]
      // CHECK-NEXT: %[[PHASE:.*]] = arith.andi %[[ROUNDS]], %c1_i32
      // CHECK-NOT: warp.skip
      warp.skip %ready by %count
      // CHECK: warp.acquire %{{.*}} at(%[[STAGE]], %[[PHASE]])
      %u = warp.acquire %ready
      warp.release %u to %free generic
    }
  }
  return
}

// -----

// Turns: the first wait of replica 0 passes, those of the others do not; each wait flips the phase.
// CHECK-LABEL: func.func @order
func.func @order(%n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %turn = warp.order 2
  warp.specialize {
    warp.role @math warps(4) replicas(2) {
      // CHECK: %[[R:.*]] = warp.replica_index
      // CHECK-NEXT: %[[FIRST:.*]] = arith.cmpi eq, %[[R]], %c0_i32
      // CHECK-NEXT: %[[P0:.*]] = arith.extui %[[FIRST]]
      // CHECK: scf.for {{.*}} iter_args(%[[P:.*]] = %[[P0]])
      scf.for %k = %c0 to %n step %c1 : i32 {
        // CHECK-NEXT: warp.await %{{.*}} at(%[[P]])
        // CHECK-NEXT: %[[P1:.*]] = arith.xori %[[P]], %c1_i32
        // CHECK-NEXT: warp.pass
        // CHECK-NEXT: scf.yield %[[P1]]
        warp.await %turn
        warp.pass %turn
      }
    }
  }
  return
}

// -----

func.func @other_control_flow(%x: index) {
  %b = warp.buffer : !warp.buffer<2 x [64x64xbf16]>
  %ring = warp.ring released %b : !warp.buffer<2 x [64x64xbf16]>
  warp.specialize {
    warp.role @math warps(4) {
      // expected-error@+1 {{around warp.acquire: expected scf.for, scf.if or scf.while}}
      scf.index_switch %x
      case 0 {
        %t = warp.acquire %ring
        warp.release %t to %ring generic
        scf.yield
      }
      default {
      }
    }
  }
  return
}

// -----

// A token that the loop carries stays first; the number of slots taken follows it, whose bits are stage and phase of a ring of four.
// CHECK-LABEL: func.func @carried_token
func.func @carried_token(%n: i32) {
  %c1 = arith.constant 1 : i32
  %b = warp.buffer : !warp.buffer<4 x [64x64xbf16]>
  %free = warp.ring released %b : !warp.buffer<4 x [64x64xbf16]>
  // CHECK: %[[READY:.*]] = warp.ring %
  %ready = warp.ring %b : !warp.buffer<4 x [64x64xbf16]>
  warp.specialize {
    warp.role @math warps(4) {
      // CHECK: %[[T0:.*]] = warp.acquire %[[READY]] at(%c0_i32, %c0_i32)
      %t0 = warp.acquire %ready
      // CHECK: %[[R:.*]]:2 = scf.for {{.*}} iter_args(%[[BEFORE:.*]] = %[[T0]], %[[N:.*]] = %c1_i32) -> (!warp.token, i32)
      %last = scf.for %k = %c1 to %n step %c1 iter_args(%before = %t0) -> (!warp.token) : i32 {
        // CHECK-NEXT: %[[S:.*]] = arith.andi %[[N]], %c3_i32
        // CHECK-NEXT: %[[ROUNDS:.*]] = arith.shrui %[[N]], %c2_i32
        // CHECK-NEXT: %[[P:.*]] = arith.andi %[[ROUNDS]], %c1_i32
        // CHECK-NEXT: %[[T:.*]] = warp.acquire %[[READY]] at(%[[S]], %[[P]])
        // CHECK-NEXT: %[[N1:.*]] = arith.addi %[[N]], %c1_i32
        %t = warp.acquire %ready
        // CHECK: warp.release %[[BEFORE]]
        warp.release %before to %free generic
        // CHECK-NEXT: scf.yield %[[T]], %[[N1]] : !warp.token, i32
        scf.yield %t : !warp.token
      }
      // CHECK: warp.release %[[R]]#0
      warp.release %last to %free generic
      // CHECK: %[[LAST:.*]] = arith.andi %[[R]]#1, %c3_i32
      // CHECK: warp.acquire %[[READY]] at(%[[LAST]], %{{.*}})
      %u = warp.acquire %ready
      warp.release %u to %free generic
    }
  }
  return
}

// -----

// A branch that yields a token gives its place along with it. The ring starts released: two slots on, so that the parity is that of the phase before.
// CHECK-LABEL: func.func @yielded_token
func.func @yielded_token(%p: i1) {
  %b = warp.buffer : !warp.buffer<2 x [64x64xbf16]>
  %ring = warp.ring released %b : !warp.buffer<2 x [64x64xbf16]>
  warp.specialize {
    warp.role @math warps(4) {
      // CHECK: %[[N:.*]] = arith.select %{{.*}}, %c4_i32, %c3_i32
      // CHECK: %[[R:.*]] = scf.if %{{.*}} -> (!warp.token)
      %t = scf.if %p -> !warp.token {
        // CHECK: warp.acquire %{{.*}} at(%c0_i32, %c1_i32)
        %a = warp.acquire %ring
        warp.release %a to %ring generic
        // CHECK: %[[T:.*]] = warp.acquire %{{.*}} at(%c1_i32, %c1_i32)
        // CHECK: scf.yield %[[T]]
        %u = warp.acquire %ring
        scf.yield %u : !warp.token
      } else {
        // CHECK: %[[U:.*]] = warp.acquire %{{.*}} at(%c0_i32, %c1_i32)
        // CHECK: scf.yield %[[U]]
        %u = warp.acquire %ring
        scf.yield %u : !warp.token
      }
      // CHECK: warp.release %[[R]] to
      warp.release %t to %ring generic
      // CHECK: %[[STAGE:.*]] = arith.andi %[[N]], %c1_i32
      // CHECK: %[[ROUNDS:.*]] = arith.shrui %[[N]], %c1_i32
      // CHECK: %[[PHASE:.*]] = arith.andi %[[ROUNDS]], %c1_i32
      // CHECK: warp.acquire %{{.*}} at(%[[STAGE]], %[[PHASE]])
      %v = warp.acquire %ring
      warp.release %v to %ring generic
    }
  }
  return
}

// -----

// What a peek finds is carried to the next acquire of the ring and forgotten there; a role that does not peek carries nothing.
// CHECK-LABEL: func.func @peek
func.func @peek(%n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %b = warp.buffer : !warp.buffer<3 x [64x64xbf16]>
  // CHECK: %[[FREE:.*]] = warp.ring released
  %free = warp.ring released %b : !warp.buffer<3 x [64x64xbf16]>
  // CHECK: %[[READY:.*]] = warp.ring %
  %ready = warp.ring %b : !warp.buffer<3 x [64x64xbf16]>
  warp.specialize {
    // CHECK: warp.role @load
    warp.role @load warps(1) {
      // CHECK: warp.acquire %[[FREE]] at(%{{.*}}, %{{.*}}){{$}}
      scf.for %k = %c0 to %n step %c1 : i32 {
        %t = warp.acquire %free
        warp.release %t to %ready tma
      }
    }
    // CHECK: warp.role @math
    warp.role @math warps(4) {
      // CHECK: %[[LOOP:.*]]:3 = scf.for {{.*}} iter_args(%[[S:.*]] = %c0_i32, %[[P:.*]] = %c0_i32, %[[KNOWN:.*]] = %false)
      scf.for %k = %c0 to %n step %c1 : i32 {
        // CHECK-NEXT: %[[T:.*]] = warp.acquire %[[READY]] at(%[[S]], %[[P]]) known(%[[KNOWN]])
        // CHECK: %[[S2:.*]] = arith.select
        // CHECK: %[[P2:.*]] = arith.xori
        // CHECK: %[[SOON:.*]] = warp.peek %[[READY]] at(%[[S2]], %[[P2]])
        // CHECK: scf.yield %[[S2]], %[[P2]], %[[SOON]]
        %t = warp.acquire %ready
        warp.release %t to %free generic
        %soon = warp.peek %ready
      }
      // CHECK: warp.acquire %[[READY]] at(%[[LOOP]]#0, %[[LOOP]]#1) known(%[[LOOP]]#2)
      // CHECK: warp.acquire %[[READY]] {{.*}} known(%false)
      %t1 = warp.acquire %ready
      warp.release %t1 to %free generic
      %t2 = warp.acquire %ready
      warp.release %t2 to %free generic
    }
  }
  return
}
