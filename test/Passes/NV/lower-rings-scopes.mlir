// RUN: kernel-opt %s --pass-pipeline='builtin.module(warp-assign-stage-phase,nv-assign-tensor-memory,nv-assign-layouts,nv-lower-rings)' --split-input-file | FileCheck %s

// A pair: the even CTA waits for the bytes of both and for the readers of both; its commits arrive in both.
// CHECK-LABEL: func.func @pair
// CHECK: nv.tmem.alloc 1 x 256
// free: one commit; ready: one arrival that expects all bytes
// CHECK: nv.mbarrier.init %{{.*}} stages 2 arrivals 1
// CHECK: nv.mbarrier.init %{{.*}} stages 2 arrivals 1
// empty: four warps in each CTA; full: one commit
// CHECK: nv.mbarrier.init %{{.*}} stages 1 arrivals 8
// CHECK: nv.mbarrier.init %{{.*}} stages 1 arrivals 1
!ab = !warp.buffer<2 x [128x64xbf16, 128x64xbf16]>
!acc = !warp.buffer<1 x [128x256xf32], tmem>
!a = !nv.memdesc<128x64xbf16>
!bt = !nv.memdesc<64x128xbf16>
!d = !nv.memdesc<128x256xf32, tmem>
func.func @pair(%A: !tile.desc<128x64xbf16>) attributes {warp.launch = #warp.launch<cluster = 2>} {
  %c0 = arith.constant 0 : i32
  %true = arith.constant true
  %ab = warp.buffer : !ab
  %acc = warp.buffer : !acc
  %free = warp.ring released %ab scope(pair) : !ab
  %ready = warp.ring %ab scope(pair) : !ab
  %empty = warp.ring released %acc scope(pair) : !acc
  %full = warp.ring %acc scope(pair) : !acc
  warp.specialize {
    // CHECK: warp.role @epilogue
    warp.role @epilogue warps(4) {
      %t = warp.acquire %full
      %d = warp.slot %t : !d
      // CHECK: nv.warp_sync
      // CHECK: nv.mbarrier.arrive_at %{{.*}} by warp to leader
      warp.release %t to %empty generic
    }
    // CHECK: warp.role @load
    warp.role @load warps(1) {
      %t = warp.acquire %free
      %a, %b = warp.slot %t : !a, !a
      // CHECK: %[[RANK:.*]] = nv.cta_rank
      // CHECK: %[[ODD:.*]] = arith.andi %[[RANK]]
      // CHECK: %[[EVEN:.*]] = arith.cmpi eq, %[[ODD]]
      // CHECK: scf.if %[[EVEN]] {
      // CHECK-NEXT: nv.mbarrier.arrive %{{.*}} by all expect 65536
      // CHECK: nv.tma.load {{.*}} pair
      // CHECK: nv.tma.load {{.*}} pair
      nv.tma.load %A[%c0, %c0] to %a : !tile.desc<128x64xbf16>, !a
      nv.tma.load %A[%c0, %c0] to %b : !tile.desc<128x64xbf16>, !a
      warp.release %t to %ready tma
    }
    // CHECK: warp.role @mma warps(1) leader
    warp.role @mma warps(1) leader {
      %td = warp.acquire %empty
      %d = warp.slot %td : !d
      %t = warp.acquire %ready
      %a, %b = warp.slot %t : !a, !a
      %bt = nv.memdesc.trans %b : !a -> !bt
      nv.tcgen05.mma %a, %bt, %d accumulate(%true) cta_group(2) : !a, !bt, !d
      // CHECK: nv.tcgen05.commit %{{.*}} to pair cta_group(2)
      warp.release %t to %free tcgen05
      // CHECK: nv.tcgen05.commit %{{.*}} to pair cta_group(2)
      warp.release %td to %full tcgen05
    }
  }
  return
}

// -----

// A cluster: who reads a slot frees it in all CTAs; a multicast fills its view together with those of the others.
// CHECK-LABEL: func.func @cluster
// CHECK: nv.mbarrier.init %{{.*}} stages 2 arrivals 32
// CHECK: nv.mbarrier.init %{{.*}} stages 2 arrivals 1
!b = !warp.buffer<2 x [128x64xbf16]>
func.func @cluster(%A: !tile.desc<32x64xbf16>, %mask: i16) attributes {warp.launch = #warp.launch<cluster = 4>} {
  %c0 = arith.constant 0 : i32
  %buffer = warp.buffer : !b
  %free = warp.ring released %buffer scope(cluster) : !b
  %ready = warp.ring %buffer scope(cluster) : !b
  warp.specialize {
    warp.role @math warps(4) replicas(2) {
      %t = warp.acquire %ready
      %a = warp.slot %t : !nv.memdesc<128x64xbf16>
      // CHECK: nv.mbarrier.arrive_at %{{.*}} by warp to cluster
      warp.release %t to %free wgmma
    }
    warp.role @load warps(1) {
      %t = warp.acquire %free
      %a = warp.slot %t : !nv.memdesc<128x64xbf16>
      %s = nv.memdesc.slice %a[%c0, %c0] : !nv.memdesc<128x64xbf16> -> !nv.memdesc<32x64xbf16>
      // CHECK: nv.mbarrier.arrive %{{.*}} by all expect 16384
      nv.tma.load %A[%c0, %c0] to %s multicast(%mask) : !tile.desc<32x64xbf16>, !nv.memdesc<32x64xbf16>
      warp.release %t to %ready tma
    }
  }
  return
}

// -----

// What stores have read goes to another role: the releasing thread waits, then arrives.
// CHECK-LABEL: func.func @handed_on
!b = !warp.buffer<1 x [64x64xbf16]>
func.func @handed_on(%A: !tile.desc<64x64xbf16>) {
  %c0 = arith.constant 0 : i32
  %buffer = warp.buffer : !b
  %free = warp.ring released %buffer : !b
  %ready = warp.ring %buffer : !b
  warp.specialize {
    warp.role @math warps(4) {
      // CHECK: nv.mbarrier.wait
      %t = warp.acquire %free
      warp.release %t to %ready generic
    }
    warp.role @store warps(1) {
      // CHECK: nv.tma.store
      // CHECK-NEXT: nv.bulk.commit
      // CHECK-NEXT: nv.bulk.wait 0 read
      // CHECK-NEXT: nv.barrier_at
      // CHECK-NEXT: nv.mbarrier.arrive %{{.*}} by role
      %t = warp.acquire %ready
      %a = warp.slot %t : !nv.memdesc<64x64xbf16>
      nv.tma.store %a to %A[%c0, %c0] : !nv.memdesc<64x64xbf16>, !tile.desc<64x64xbf16>
      warp.release %t to %free bulk_read
    }
  }
  return
}
