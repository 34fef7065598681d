// RUN: kernel-opt %S/../../programs/sequential/gelu_chain.mlir --pass-pipeline='builtin.module(warp-pipeline-role,warp-take-turns)' \
// RUN:   | FileCheck %s --check-prefix=GELU
// RUN: kernel-opt %S/../../programs/sequential/squared_chain.mlir \
// RUN:   --pass-pipeline='builtin.module(warp-defer-reductions,warp-pipeline-role,warp-take-turns)' | FileCheck %s --check-prefix=SQUARES
// RUN: kernel-opt %S/../../programs/sequential/running_scale.mlir \
// RUN:   --pass-pipeline='builtin.module(warp-guard-scales{min-registers=16},warp-pipeline-role,warp-split-masks,warp-take-turns)' \
// RUN:   | FileCheck %s --check-prefix=SCALE
// RUN: kernel-opt %s --pass-pipeline='builtin.module(warp-pipeline-role,warp-take-turns)' | FileCheck %s

// What an iteration issues is in a turn; the waits are not, nor the products before and after the loop. The slot of the first product is waited
// for before the turn.
// GELU: %[[TURN:.*]] = warp.order 2
// GELU-NEXT: warp.specialize
// GELU: nv.wgmma
// GELU-NOT: warp.await
// GELU: scf.for
// GELU-NEXT: warp.acquire
// GELU: warp.await %[[TURN]]
// GELU-NEXT: nv.wgmma
// GELU-NEXT: warp.acquire
// GELU: nv.wgmma
// GELU-NEXT: warp.pass %[[TURN]]
// GELU-NEXT: nv.wgmma.wait {{.*}} pending(1)
// GELU-NOT: warp.await

// SQUARES: warp.order
// SQUARES: warp.await
// SQUARES: warp.pass
// SQUARES-NEXT: nv.wgmma.wait {{.*}} pending(1)

// The loops that masks were split into share the turns.
// SCALE: %[[TURN:.*]] = warp.order
// SCALE-NOT: warp.order
// SCALE: scf.for
// SCALE: warp.await %[[TURN]]
// SCALE: warp.pass %[[TURN]]
// SCALE: scf.for
// SCALE: warp.await %[[TURN]]
// SCALE: warp.pass %[[TURN]]

!v = !nv.memdesc<64x64xbf16>
!t = tensor<64x64xf32>
!ab = !warp.buffer<2 x [64x64xbf16]>

// One replica, one product, or a schedule that says so: no turns.
// CHECK-LABEL: func.func @alone
// CHECK-NOT: warp.order
// CHECK: return
func.func @alone(%x: tensor<64x64xbf16>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zero = arith.constant dense<0.0> : !t
  %b = warp.buffer : !ab
  %free = warp.ring released %b : !ab
  %ready = warp.ring %b : !ab
  warp.specialize {
    warp.role @math warps(4) registers(232) {
      %y = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (!t) : i32 {
        %s = warp.acquire %ready
        %v = warp.slot %s : !v
        %h0 = nv.wgmma %x, %v : tensor<64x64xbf16>, !v -> !t
        %h = nv.wgmma.wait %h0 pending(0) : !t
        %e = math.exp2 %h : !t
        %p = arith.truncf %e : !t to tensor<64x64xbf16>
        %d0 = nv.wgmma %p, %v acc(%acc) : tensor<64x64xbf16>, !v -> !t
        %d = nv.wgmma.wait %d0 pending(0) : !t
        warp.release %s to %free wgmma
        scf.yield %d : !t
      }
    }
  }
  return
}

// CHECK-LABEL: func.func @off
// CHECK-NOT: warp.order
// CHECK: return
func.func @off(%x: tensor<64x64xbf16>, %n: i32) attributes {tile.schedule = #tile.schedule<turns = "off">} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zero = arith.constant dense<0.0> : !t
  %b = warp.buffer : !ab
  %free = warp.ring released %b : !ab
  %ready = warp.ring %b : !ab
  warp.specialize {
    warp.role @math warps(4) replicas(2) registers(232) {
      %y = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (!t) : i32 {
        %s = warp.acquire %ready
        %v = warp.slot %s : !v
        %h0 = nv.wgmma %x, %v : tensor<64x64xbf16>, !v -> !t
        %h = nv.wgmma.wait %h0 pending(0) : !t
        %e = math.exp2 %h : !t
        %p = arith.truncf %e : !t to tensor<64x64xbf16>
        %d0 = nv.wgmma %p, %v acc(%acc) : tensor<64x64xbf16>, !v -> !t
        %d = nv.wgmma.wait %d0 pending(0) : !t
        warp.release %s to %free wgmma
        scf.yield %d : !t
      }
    }
  }
  return
}

// CHECK-LABEL: func.func @loop_off
// CHECK-NOT: warp.order
// CHECK: return
func.func @loop_off(%x: tensor<64x64xbf16>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zero = arith.constant dense<0.0> : !t
  %b = warp.buffer : !ab
  %free = warp.ring released %b : !ab
  %ready = warp.ring %b : !ab
  warp.specialize {
    warp.role @math warps(4) replicas(2) registers(232) {
      %y = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (!t) : i32 {
        %s = warp.acquire %ready
        %v = warp.slot %s : !v
        %h0 = nv.wgmma %x, %v : tensor<64x64xbf16>, !v -> !t
        %h = nv.wgmma.wait %h0 pending(0) : !t
        %e = math.exp2 %h : !t
        %p = arith.truncf %e : !t to tensor<64x64xbf16>
        %d0 = nv.wgmma %p, %v acc(%acc) : tensor<64x64xbf16>, !v -> !t
        %d = nv.wgmma.wait %d0 pending(0) : !t
        warp.release %s to %free wgmma
        scf.yield %d : !t
      } {warp.turns = "off"}
    }
  }
  return
}

// One replica takes 1.2 times what the tensor core does for both: they do not compete for it.
// CHECK-LABEL: func.func @idle
// CHECK-NOT: warp.order
// CHECK: return
func.func @idle(%x: tensor<64x64xbf16>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zero = arith.constant dense<0.0> : !t
  %b = warp.buffer : !ab
  %free = warp.ring released %b : !ab
  %ready = warp.ring %b : !ab
  warp.specialize {
    warp.role @math warps(4) replicas(2) registers(232) {
      %y = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (!t) : i32 {
        %s = warp.acquire %ready
        %v = warp.slot %s : !v
        %h0 = nv.wgmma %x, %v : tensor<64x64xbf16>, !v -> !t
        %h = nv.wgmma.wait %h0 pending(0) : !t
        %e = math.exp2 %h : !t
        %f = arith.mulf %e, %e : !t
        %g = arith.addf %f, %e : !t
        %p = arith.truncf %g : !t to tensor<64x64xbf16>
        %d0 = nv.wgmma %p, %v acc(%acc) : tensor<64x64xbf16>, !v -> !t
        %d = nv.wgmma.wait %d0 pending(0) : !t
        warp.release %s to %free wgmma
        scf.yield %d : !t
      }
    }
  }
  return
}
