// RUN: kernel-opt %s --pass-pipeline='builtin.module(warp-pipeline-role{report=true})' --split-input-file 2>%t | FileCheck %s
// RUN: FileCheck %s --check-prefix=REPORT < %t
// RUN: kernel-opt %s --pass-pipeline='builtin.module(warp-pipeline-role,warp-verify-rings)' --split-input-file -o /dev/null
// RUN: kernel-opt %s --pass-pipeline='builtin.module(warp-pipeline-role{skew=false})' --split-input-file | FileCheck %s --check-prefix=OFF
// OFF-NOT: pending(1)
// RUN: kernel-opt %S/../../programs/sequential/gelu_chain.mlir --pass-pipeline='builtin.module(warp-pipeline-role)' | FileCheck %s --check-prefix=GELU

// A chain of products with an activation between: the second one runs an iteration late, beside the next first one. Whether there
// is an iteration at all is not known here.
// GELU: %[[ANY:.*]] = arith.cmpi slt, %c0_i32
// GELU: scf.if %[[ANY]] -> (tensor<64x64xf32>)
// GELU: %[[H0:.*]] = nv.wgmma
// GELU: nv.wgmma.wait %[[H0]] pending(0)
// GELU: math.exp2
// GELU: %[[FIRST:.*]] = arith.truncf
// GELU: scf.for {{.*}} iter_args(%[[G:.*]] = %[[FIRST]], %[[ACC:.*]] =
// GELU: %[[H:.*]] = nv.wgmma
// GELU-NOT: nv.wgmma.wait
// GELU: %[[D:.*]] = nv.wgmma %[[G]], {{.*}} acc(%[[ACC]])
// GELU: nv.wgmma.wait %[[H]] pending(1)
// GELU: warp.release
// GELU: math.exp2
// GELU: arith.divf
// GELU-NOT: arith.truncf
// GELU: nv.wgmma.wait %[[D]] pending(0)
// GELU: warp.release
// GELU: arith.truncf
// GELU: nv.wgmma
// GELU: nv.wgmma.wait {{.*}} pending(0)
// GELU: else
// GELU-NEXT: scf.yield %{{.*}} : tensor<64x64xf32>

!b = !warp.buffer<2 x [64x64xbf16]>
!v = !nv.memdesc<64x64xbf16>
!h = tensor<64x64xbf16>
!t = tensor<64x64xf32>

// Two products of one slot into two sums, known to run: issued together in one iteration, and the slot goes back when both have
// retired. Nothing is late.
// CHECK-LABEL: @independent
// CHECK-NOT: scf.if
// CHECK: scf.for
// CHECK: warp.acquire
// CHECK: %[[A:.*]] = nv.wgmma
// CHECK-NOT: nv.wgmma.wait
// CHECK: %[[B:.*]] = nv.wgmma
// CHECK: nv.wgmma.wait %[[A]], %[[B]] pending(0)
// CHECK-NEXT: warp.release
// CHECK-NOT: nv.wgmma
// REPORT: schedule of role 'math': in order:
func.func @independent(%n: i32, %p: i64) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %b = warp.buffer : !b
  %free = warp.ring released %b : !b
  %ready = warp.ring %b : !b
  warp.specialize {
    warp.role @math warps(4) {
      %z = arith.constant dense<0.0> : !t
      %s:2 = scf.for %i = %c0 to %n step %c1 iter_args(%x = %z, %y = %z) -> (!t, !t) : i32 {
        %t = warp.acquire %ready
        %a = warp.slot %t : !v
        %d0 = nv.wgmma %a, %a acc(%x) : !v, !v -> !t
        %d = nv.wgmma.wait %d0 pending(0) : !t
        %at = nv.memdesc.trans %a : !v -> !v
        %e0 = nv.wgmma %a, %at acc(%y) : !v, !v -> !t
        %e = nv.wgmma.wait %e0 pending(0) : !t
        warp.release %t to %free wgmma
        scf.yield %d, %e : !t, !t
      } {warp.min_trips = 1 : i64}
      %u = arith.addf %s#0, %s#1 : !t
      %o = nv.index dim(1) : tensor<64x64xi64>
      nv.global_store %u to %p[%o] : !t, tensor<64x64xi64>
    }
    warp.role @load warps(1) {
      scf.for %i = %c0 to %n step %c1 : i32 {
        %t = warp.acquire %free
        warp.release %t to %ready tma
      }
    }
  }
  return
}

// -----

!b = !warp.buffer<2 x [64x64xbf16]>
!v = !nv.memdesc<64x64xbf16>
!h = tensor<64x64xbf16>
!t = tensor<64x64xf32>

// One product feeds the next through the accumulator: both are in flight, the second one takes the first one's sum as it is.
// CHECK-LABEL: @accumulate
// CHECK: %[[D:.*]] = nv.wgmma
// CHECK-NOT: nv.wgmma.wait
// CHECK: %[[E:.*]] = nv.wgmma {{.*}} acc(%[[D]])
// CHECK: nv.wgmma.wait %[[E]] pending(0)
func.func @accumulate(%n: i32, %p: i64) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %b = warp.buffer : !b
  %free = warp.ring released %b : !b
  %ready = warp.ring %b : !b
  warp.specialize {
    warp.role @math warps(4) {
      %z = arith.constant dense<0.0> : !t
      %s = scf.for %i = %c0 to %n step %c1 iter_args(%x = %z) -> (!t) : i32 {
        %t = warp.acquire %ready
        %a = warp.slot %t : !v
        %d0 = nv.wgmma %a, %a acc(%x) : !v, !v -> !t
        %d = nv.wgmma.wait %d0 pending(0) : !t
        %at = nv.memdesc.trans %a : !v -> !v
        %e0 = nv.wgmma %a, %at acc(%d) : !v, !v -> !t
        %e = nv.wgmma.wait %e0 pending(0) : !t
        warp.release %t to %free wgmma
        scf.yield %e : !t
      }
      %o = nv.index dim(1) : tensor<64x64xi64>
      nv.global_store %s to %p[%o] : !t, tensor<64x64xi64>
    }
    warp.role @load warps(1) {
      scf.for %i = %c0 to %n step %c1 : i32 {
        %t = warp.acquire %free
        warp.release %t to %ready tma
      }
    }
  }
  return
}

// -----

!b = !warp.buffer<2 x [64x64xbf16]>
!v = !nv.memdesc<64x64xbf16>
!h = tensor<64x64xbf16>
!t = tensor<64x64xf32>

// The first product needs the second one's result of the iteration before: nothing is gained by a late one.
// CHECK-LABEL: @recurrence
// CHECK: scf.for
// CHECK: nv.wgmma
// CHECK-NEXT: nv.wgmma.wait {{.*}} pending(0)
// CHECK: nv.wgmma
// CHECK: nv.wgmma.wait {{.*}} pending(0)
// CHECK-NOT: nv.wgmma
// REPORT: in order: [[CLOCKS:[0-9]+]] clocks {{.*}}late from product level 1: [[CLOCKS]] clocks
func.func @recurrence(%n: i32, %p: i64) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %b = warp.buffer : !b
  %free = warp.ring released %b : !b
  %ready = warp.ring %b : !b
  warp.specialize {
    warp.role @math warps(4) {
      %z = arith.constant dense<0.0> : !t
      %s = scf.for %i = %c0 to %n step %c1 iter_args(%x = %z) -> (!t) : i32 {
        %t = warp.acquire %ready
        %a = warp.slot %t : !v
        %x16 = arith.truncf %x : !t to !h
        %d0 = nv.wgmma %x16, %a : !h, !v -> !t
        %d = nv.wgmma.wait %d0 pending(0) : !t
        %f = math.exp2 %d : !t
        %d16 = arith.truncf %f : !t to !h
        %e0 = nv.wgmma %d16, %a : !h, !v -> !t
        %e = nv.wgmma.wait %e0 pending(0) : !t
        warp.release %t to %free wgmma
        scf.yield %e : !t
      }
      %o = nv.index dim(1) : tensor<64x64xi64>
      nv.global_store %s to %p[%o] : !t, tensor<64x64xi64>
    }
    warp.role @load warps(1) {
      scf.for %i = %c0 to %n step %c1 : i32 {
        %t = warp.acquire %free
        warp.release %t to %ready tma
      }
    }
  }
  return
}

// -----

!b = !warp.buffer<3 x [64x64xbf16]>
!v = !nv.memdesc<64x64xbf16>
!h = tensor<64x64xbf16>
!t = tensor<64x64xf32>

// Both products read one slot: it is taken in the early stage, and its token carried to the late one, which gives it back.
// CHECK-LABEL: @one_ring
// CHECK: scf.for {{.*}} -> ({{.*}}!warp.token
// CHECK: warp.acquire
// CHECK: nv.wgmma
// CHECK: nv.wgmma
// CHECK: nv.wgmma.wait {{.*}} pending(1)
// CHECK: nv.wgmma.wait {{.*}} pending(0)
// CHECK: warp.release
func.func @one_ring(%n: i32, %p: i64) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %b = warp.buffer : !b
  %free = warp.ring released %b : !b
  %ready = warp.ring %b : !b
  warp.specialize {
    warp.role @math warps(4) {
      %z = arith.constant dense<0.0> : !t
      %s = scf.for %i = %c0 to %n step %c1 iter_args(%x = %z) -> (!t) : i32 {
        %t = warp.acquire %ready
        %a = warp.slot %t : !v
        %d0 = nv.wgmma %a, %a : !v, !v -> !t
        %d = nv.wgmma.wait %d0 pending(0) : !t
        %f = math.exp2 %d : !t
        %g = math.exp2 %f : !t
        %d16 = arith.truncf %g : !t to !h
        %e0 = nv.wgmma %d16, %a acc(%x) : !h, !v -> !t
        %e = nv.wgmma.wait %e0 pending(0) : !t
        warp.release %t to %free wgmma
        scf.yield %e : !t
      }
      %o = nv.index dim(1) : tensor<64x64xi64>
      nv.global_store %s to %p[%o] : !t, tensor<64x64xi64>
    }
    warp.role @load warps(1) {
      scf.for %i = %c0 to %n step %c1 : i32 {
        %t = warp.acquire %free
        warp.release %t to %ready tma
      }
    }
  }
  return
}

// -----

!b = !warp.buffer<4 x [64x64xbf16]>
!v = !nv.memdesc<64x64xbf16>
!t = tensor<64x64xf32>

// A loop that asks for one product in flight over its back edge: the slot goes back one iteration later, the turn of the replicas is
// handed over before the last wait.
// CHECK-LABEL: @pending
// CHECK: warp.await
// CHECK: %[[T0:.*]] = warp.acquire
// CHECK: %[[D0:.*]] = nv.wgmma {{.*}} acc(
// CHECK-NOT: nv.wgmma.wait
// CHECK: %[[ALL:.*]]:2 = scf.for {{.*}} iter_args(%[[C:.*]] = %[[D0]], %[[BEFORE:.*]] = %[[T0]])
// CHECK: %[[T:.*]] = warp.acquire
// CHECK: %[[D:.*]] = nv.wgmma {{.*}} acc(%[[C]])
// CHECK-NEXT: nv.wgmma.wait pending(1)
// CHECK-NEXT: warp.release %[[BEFORE]]
// CHECK-NEXT: scf.yield %[[D]], %[[T]]
// CHECK: warp.pass
// CHECK-NEXT: %[[SUM:.*]] = nv.wgmma.wait %[[ALL]]#0 pending(0)
// CHECK-NEXT: warp.release %[[ALL]]#1
// CHECK: nv.global_store %[[SUM]]
func.func @pending(%n: i32, %p: i64) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %b = warp.buffer : !b
  %free = warp.ring released %b : !b
  %ready = warp.ring %b : !b
  %turn = warp.order 2
  warp.specialize {
    warp.role @math warps(4) replicas(2) {
      %blocks = arith.maxsi %n, %c1 : i32
      %z = arith.constant dense<0.0> : !t
      %o = nv.index dim(1) : tensor<64x64xi64>
      warp.for_each_tile (%i, %j) in (%n, %n) step(replica) {
        warp.await %turn
        %s = scf.for %k = %c0 to %blocks step %c1 iter_args(%x = %z) -> (!t) : i32 {
          %t = warp.acquire %ready
          %a = warp.slot %t : !v
          %d0 = nv.wgmma %a, %a acc(%x) : !v, !v -> !t
          %d = nv.wgmma.wait %d0 pending(0) : !t
          warp.release %t to %free wgmma
          scf.yield %d : !t
        } {warp.pending = 1 : i64}
        warp.pass %turn
        nv.global_store %s to %p[%o] : !t, tensor<64x64xi64>
      }
    }
    warp.role @load warps(1) {
      %blocks = arith.maxsi %n, %c1 : i32
      warp.for_each_tile (%i, %j) in (%n, %n) {
        scf.for %k = %c0 to %blocks step %c1 : i32 {
          %t = warp.acquire %free
          warp.release %t to %ready tma
        }
      }
    }
  }
  return
}

// -----

!b = !warp.buffer<1 x [64x64xbf16]>
!v = !nv.memdesc<64x64xbf16>
!t = tensor<64x64xf32>

// A ring of one slot gives it back before it is taken again: nothing stays in flight.
// CHECK-LABEL: @one_slot
// CHECK: scf.for
// CHECK: nv.wgmma
// CHECK-NEXT: nv.wgmma.wait {{.*}}pending(0)
// CHECK-NEXT: warp.release
// CHECK-NEXT: scf.yield
// REPORT: nothing stays in flight: the only slot goes back before it is taken again
func.func @one_slot(%n: i32, %p: i64) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %b = warp.buffer : !b
  %free = warp.ring released %b : !b
  %ready = warp.ring %b : !b
  %turn = warp.order 2
  warp.specialize {
    warp.role @math warps(4) replicas(2) {
      %blocks = arith.maxsi %n, %c1 : i32
      %z = arith.constant dense<0.0> : !t
      %o = nv.index dim(1) : tensor<64x64xi64>
      warp.for_each_tile (%i, %j) in (%n, %n) step(replica) {
        warp.await %turn
        %s = scf.for %k = %c0 to %blocks step %c1 iter_args(%x = %z) -> (!t) : i32 {
          %t = warp.acquire %ready
          %a = warp.slot %t : !v
          %d0 = nv.wgmma %a, %a acc(%x) : !v, !v -> !t
          %d = nv.wgmma.wait %d0 pending(0) : !t
          warp.release %t to %free wgmma
          scf.yield %d : !t
        } {warp.pending = 1 : i64}
        warp.pass %turn
        nv.global_store %s to %p[%o] : !t, tensor<64x64xi64>
      }
    }
    warp.role @load warps(1) {
      %blocks = arith.maxsi %n, %c1 : i32
      warp.for_each_tile (%i, %j) in (%n, %n) {
        scf.for %k = %c0 to %blocks step %c1 : i32 {
          %t = warp.acquire %free
          warp.release %t to %ready tma
        }
      }
    }
  }
  return
}

// -----

!b = !warp.buffer<4 x [64x64xbf16]>
!v = !nv.memdesc<64x64xbf16>
!t = tensor<64x64xf32>

// What asks for the first iteration is decided: the peeled product overwrites its sum, those of the loop add to it.
// CHECK-LABEL: @pending_without_first
// CHECK: nv.wgmma {{.*}} use_c(%false)
// CHECK: scf.for
// CHECK-NOT: arith.cmpi
// CHECK: nv.wgmma {{.*}} use_c(%true)
func.func @pending_without_first(%n: i32, %p: i64) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %b = warp.buffer : !b
  %free = warp.ring released %b : !b
  %ready = warp.ring %b : !b
  warp.specialize {
    warp.role @math warps(4) {
      %blocks = arith.maxsi %n, %c1 : i32
      %none = ub.poison : !t
      %o = nv.index dim(1) : tensor<64x64xi64>
      %s = scf.for %k = %c0 to %blocks step %c1 iter_args(%x = %none) -> (!t) : i32 {
        %t = warp.acquire %ready
        %a = warp.slot %t : !v
        %later = arith.cmpi ne, %k, %c0 : i32
        %d0 = nv.wgmma %a, %a acc(%x) use_c(%later) : !v, !v -> !t
        %d = nv.wgmma.wait %d0 pending(0) : !t
        warp.release %t to %free wgmma
        scf.yield %d : !t
      } {warp.pending = 1 : i64}
      nv.global_store %s to %p[%o] : !t, tensor<64x64xi64>
    }
    warp.role @load warps(1) {
      %blocks = arith.maxsi %n, %c1 : i32
      scf.for %k = %c0 to %blocks step %c1 : i32 {
        %t = warp.acquire %free
        warp.release %t to %ready tma
      }
    }
  }
  return
}

// -----

!b = !warp.buffer<3 x [64x64xbf16]>
!v = !nv.memdesc<64x64xbf16>
!h = tensor<64x64xbf16>
!t = tensor<64x64xf32>

// A tile counted from the end has as many iterations as tiles before it, and one: there is at least one.
// CHECK-LABEL: @counted_from_the_end
// CHECK: warp.for_each_tile
// CHECK-NOT: scf.if
// CHECK: scf.for
// CHECK: nv.wgmma.wait {{.*}} pending(1)
func.func @counted_from_the_end(%n: i32, %p: i64) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %b = warp.buffer : !b
  %free = warp.ring released %b : !b
  %ready = warp.ring %b : !b
  warp.specialize {
    warp.role @math warps(4) {
      %z = arith.constant dense<0.0> : !t
      %last = arith.subi %n, %c1 : i32
      warp.for_each_tile (%i, %j) in (%c1, %n) {
        %m = arith.subi %last, %j : i32
        %trips = arith.addi %m, %c1 : i32
        %s = scf.for %k = %c0 to %trips step %c1 iter_args(%x = %z) -> (!t) : i32 {
          %t = warp.acquire %ready
          %a = warp.slot %t : !v
          %d0 = nv.wgmma %a, %a : !v, !v -> !t
          %d = nv.wgmma.wait %d0 pending(0) : !t
          %f = math.exp2 %d : !t
          %g = math.exp2 %f : !t
          %d16 = arith.truncf %g : !t to !h
          %e0 = nv.wgmma %d16, %a acc(%x) : !h, !v -> !t
          %e = nv.wgmma.wait %e0 pending(0) : !t
          warp.release %t to %free wgmma
          scf.yield %e : !t
        }
        %o = nv.index dim(1) : tensor<64x64xi64>
        nv.global_store %s to %p[%o] : !t, tensor<64x64xi64>
      }
    }
    warp.role @load warps(1) {
      warp.for_each_tile (%i, %j) in (%c1, %n) {
        %trips = arith.subi %n, %j : i32
        scf.for %k = %c0 to %trips step %c1 : i32 {
          %t = warp.acquire %free
          warp.release %t to %ready tma
        }
      }
    }
  }
  return
}

// -----

!b = !warp.buffer<2 x [64x64xbf16]>
!v = !nv.memdesc<64x64xbf16>
!t = tensor<64x64xf32>

// Nothing follows the loop in its role: the last wait and release end it.
// CHECK-LABEL: @pending_at_the_end
// CHECK: nv.wgmma.wait pending(1)
// CHECK: scf.yield
// CHECK: nv.wgmma.wait %{{.*}} pending(0)
// CHECK-NEXT: warp.release
// CHECK-NEXT: }
// CHECK-NEXT: warp.role @load
func.func @pending_at_the_end(%n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %b = warp.buffer : !b
  %free = warp.ring released %b : !b
  %ready = warp.ring %b : !b
  warp.specialize {
    warp.role @math warps(4) {
      %blocks = arith.maxsi %n, %c1 : i32
      %z = arith.constant dense<0.0> : !t
      %s = scf.for %k = %c0 to %blocks step %c1 iter_args(%x = %z) -> (!t) : i32 {
        %t = warp.acquire %ready
        %a = warp.slot %t : !v
        %d0 = nv.wgmma %a, %a acc(%x) : !v, !v -> !t
        %d = nv.wgmma.wait %d0 pending(0) : !t
        warp.release %t to %free wgmma
        scf.yield %d : !t
      } {warp.pending = 1 : i64}
    }
    warp.role @load warps(1) {
      %blocks = arith.maxsi %n, %c1 : i32
      scf.for %k = %c0 to %blocks step %c1 : i32 {
        %t = warp.acquire %free
        warp.release %t to %ready tma
      }
    }
  }
  return
}

// -----

!b = !warp.buffer<2 x [64x64xbf16]>
!w = !warp.buffer<1 x [64x64xbf16]>
!v = !nv.memdesc<64x64xbf16>
!h = tensor<64x64xbf16>
!t = tensor<64x64xf32>

// An operand that the role writes for itself is taken after it was given (warp-verify-rings above finds a deadlock otherwise).
// CHECK-LABEL: @own_operand
// CHECK: scf.for
// CHECK: nv.local_store
// CHECK-NEXT: warp.release %{{.*}} to %[[OWN:.*]] generic
// CHECK: warp.acquire %[[OWN]]
// CHECK: nv.wgmma
func.func @own_operand(%n: i32, %p: i64) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %b = warp.buffer : !b
  %free = warp.ring released %b : !b
  %ready = warp.ring %b : !b
  %w = warp.buffer : !w
  %w_free = warp.ring released %w : !w
  %w_ready = warp.ring %w : !w
  warp.specialize {
    warp.role @math warps(4) {
      %z = arith.constant dense<0.0> : !t
      %s:2 = scf.for %i = %c0 to %n step %c1 iter_args(%x = %z, %y = %z) -> (!t, !t) : i32 {
        %r = warp.acquire %ready
        %a = warp.slot %r : !v
        %l = nv.local_load %a : !v -> !h
        %m = arith.negf %l : !h
        %k = warp.acquire %w_free
        %q = warp.slot %k : !v
        nv.local_store %m to %q : !h, !v
        warp.release %k to %w_ready generic
        %d0 = nv.wgmma %a, %a acc(%x) : !v, !v -> !t
        %d = nv.wgmma.wait %d0 pending(0) : !t
        %o = warp.acquire %w_ready
        %v = warp.slot %o : !v
        %e0 = nv.wgmma %a, %v acc(%y) : !v, !v -> !t
        %e = nv.wgmma.wait %e0 pending(0) : !t
        warp.release %o to %w_free wgmma
        warp.release %r to %free generic
        scf.yield %d, %e : !t, !t
      } {warp.min_trips = 1 : i64}
      %u = arith.addf %s#0, %s#1 : !t
      %g = nv.index dim(1) : tensor<64x64xi64>
      nv.global_store %u to %p[%g] : !t, tensor<64x64xi64>
    }
    warp.role @load warps(1) {
      scf.for %i = %c0 to %n step %c1 : i32 {
        %t = warp.acquire %free
        warp.release %t to %ready tma
      }
    }
  }
  return
}
