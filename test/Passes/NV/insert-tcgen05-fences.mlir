// RUN: kernel-opt %s --nv-insert-tcgen05-fences --split-input-file --verify-diagnostics | FileCheck %s

!b = !warp.buffer<2 x [128x64xf32], tmem>
!d = !nv.memdesc<128x64xf32, tmem>
!p = !nv.memdesc<128x32xf32, tmem>

// Two loads share a wait; a slot that was written waits for its stores before the fence; a token without tensor memory gets nothing.
// CHECK-LABEL: func.func @roles
func.func @roles(%a: !nv.memdesc<128x64xbf16>, %bt: !nv.memdesc<64x64xbf16>) {
  %c0 = arith.constant 0 : i32
  %c32 = arith.constant 32 : i32
  %true = arith.constant true
  %buffer = warp.buffer : !b
  %free = warp.ring released %buffer : !b
  %full = warp.ring %buffer : !b
  %other = warp.buffer : !warp.buffer<1 x [32xf32]>
  %ring = warp.ring released %other : !warp.buffer<1 x [32xf32]>
  warp.specialize {
    // CHECK: warp.role @epilogue
    warp.role @epilogue warps(4) {
      // CHECK: warp.acquire
      // CHECK-NEXT: nv.tcgen05.fence after
      %t = warp.acquire %full
      %d = warp.slot %t : !d
      %l = nv.memdesc.slice %d[%c0, %c0] : !d -> !p
      %r = nv.memdesc.slice %d[%c0, %c32] : !d -> !p
      // CHECK: %[[X:.*]] = nv.tmem.load
      // CHECK-NEXT: %[[Y:.*]] = nv.tmem.load
      // CHECK-NEXT: %[[W:.*]]:2 = nv.tmem.wait_load %[[X]], %[[Y]]
      // CHECK-NEXT: arith.addf %[[W]]#0, %[[W]]#1
      %x = nv.tmem.load %l : !p -> tensor<128x32xf32>
      %y = nv.tmem.load %r : !p -> tensor<128x32xf32>
      %z = arith.addf %x, %y : tensor<128x32xf32>
      // CHECK-NEXT: nv.tmem.store
      // CHECK-NEXT: nv.tmem.wait_store
      // CHECK-NEXT: %[[V:.*]] = nv.tmem.load
      nv.tmem.store %z to %l : tensor<128x32xf32>, !p
      %v = nv.tmem.load %l : !p -> tensor<128x32xf32>
      // CHECK-NEXT: nv.tmem.wait_load %[[V]]
      // CHECK-NEXT: nv.tmem.store
      // CHECK-NEXT: nv.tmem.wait_store
      // CHECK-NEXT: nv.tcgen05.fence{{$}}
      // CHECK-NEXT: warp.release
      nv.tmem.store %v to %r : tensor<128x32xf32>, !p
      warp.release %t to %free generic
      // CHECK-NEXT: warp.acquire
      // CHECK-NEXT: warp.release
      %u = warp.acquire %ring
      warp.release %u to %ring generic
    }
    // A commit orders by itself.
    // CHECK: warp.role @mma
    warp.role @mma warps(1) {
      // CHECK: warp.acquire
      // CHECK-NEXT: nv.tcgen05.fence after
      // CHECK-NEXT: warp.slot
      // CHECK-NEXT: nv.tcgen05.mma
      // CHECK-NEXT: warp.release
      %t = warp.acquire %free
      %d = warp.slot %t : !d
      nv.tcgen05.mma %a, %bt, %d accumulate(%true) : !nv.memdesc<128x64xbf16>, !nv.memdesc<64x64xbf16>, !d
      warp.release %t to %full tcgen05
    }
  }
  return
}

// -----

!b = !warp.buffer<1 x [128x64xf32], tmem>
!d = !nv.memdesc<128x64xf32, tmem>
!p = !nv.memdesc<128x32xf32, tmem>

// A read of other columns, or of another slot, does not wait for a store; in a loop the columns are not known.
// CHECK-LABEL: func.func @apart
func.func @apart(%n: i32) {
  %c0 = arith.constant 0 : i32
  %c32 = arith.constant 32 : i32
  %buffer = warp.buffer : !b
  %free = warp.ring released %buffer : !b
  %other = warp.buffer : !b
  %ring = warp.ring released %other : !b
  warp.specialize {
    warp.role @math warps(4) {
      %t = warp.acquire %free
      %d = warp.slot %t : !d
      %u = warp.acquire %ring
      %e = warp.slot %u : !d
      %l = nv.memdesc.slice %d[%c0, %c0] : !d -> !p
      %r = nv.memdesc.slice %d[%c0, %c32] : !d -> !p
      // CHECK: %[[X:.*]] = nv.tmem.load
      // CHECK-NEXT: nv.tmem.wait_load %[[X]]
      // CHECK-NEXT: nv.tmem.store
      // CHECK-NEXT: %[[Y:.*]] = nv.tmem.load
      // CHECK-NEXT: nv.tmem.wait_load %[[Y]]
      // CHECK-NEXT: nv.tmem.store
      // CHECK-NEXT: %[[Z:.*]] = nv.tmem.load
      // CHECK-NEXT: nv.tmem.wait_load %[[Z]]
      // CHECK-NEXT: nv.tmem.store
      %x = nv.tmem.load %l : !p -> tensor<128x32xf32>
      nv.tmem.store %x to %l : tensor<128x32xf32>, !p
      %y = nv.tmem.load %r : !p -> tensor<128x32xf32>
      nv.tmem.store %y to %r : tensor<128x32xf32>, !p
      %z = nv.tmem.load %e : !d -> tensor<128x64xf32>
      nv.tmem.store %z to %e : tensor<128x64xf32>, !d
      // CHECK: scf.for
      // CHECK: nv.tmem.wait_store
      // CHECK-NEXT: nv.tmem.load
      scf.for %i = %c0 to %n step %c32 : i32 {
        %m = nv.memdesc.slice %d[%c0, %i] : !d -> !p
        %v = nv.tmem.load %m : !p -> tensor<128x32xf32>
        nv.tmem.store %v to %m : tensor<128x32xf32>, !p
      }
      warp.release %t to %free generic
      warp.release %u to %ring generic
    }
  }
  return
}

// -----

!b = !warp.buffer<2 x [128x64xf32], tmem>
!d = !nv.memdesc<128x64xf32, tmem>

func.func @wrong_kind(%a: !nv.memdesc<128x64xbf16>, %bt: !nv.memdesc<64x64xbf16>) {
  %true = arith.constant true
  %buffer = warp.buffer : !b
  %free = warp.ring released %buffer : !b
  %full = warp.ring %buffer : !b
  warp.specialize {
    warp.role @mma warps(1) {
      %t = warp.acquire %free
      %d = warp.slot %t : !d
      nv.tcgen05.mma %a, %bt, %d accumulate(%true) : !nv.memdesc<128x64xbf16>, !nv.memdesc<64x64xbf16>, !d
      // expected-error@+1 {{kind: expected 'tcgen05' for a slot that tcgen05 operations of this role use, found 'generic'}}
      warp.release %t to %full generic
    }
  }
  return
}
