// RUN: kernel-opt %s --warp-expand-tile-loops --canonicalize --cse --split-input-file --verify-diagnostics | FileCheck %s

// Row by row.
// CHECK-LABEL: func.func @rows
// CHECK-SAME: %[[M:.*]]: i32, %[[N:.*]]: i32, %[[P:.*]]: i64)
func.func @rows(%m: i32, %n: i32, %p: i64) {
  warp.specialize {
    warp.role @load warps(1) {
      // CHECK-DAG: %[[CTA:.*]] = nvvm.read.ptx.sreg.ctaid.x
      // CHECK-DAG: %[[CTAS:.*]] = nvvm.read.ptx.sreg.nctaid.x
      // CHECK-DAG: %[[TOTAL:.*]] = arith.muli %[[M]], %[[N]]
      // CHECK: scf.for %[[T:.*]] = %[[CTA]] to %[[TOTAL]] step %[[CTAS]]
      warp.for_each_tile (%i, %j) in (%m, %n) {
        // CHECK-NEXT: %[[I:.*]] = arith.divui %[[T]], %[[N]]
        // CHECK-NEXT: %[[IN:.*]] = arith.muli %[[I]], %[[N]]
        // CHECK-NEXT: %[[J:.*]] = arith.subi %[[T]], %[[IN]]
        // CHECK: nv.atomic_add %{{.*}}[%{{.*}}], %[[I]]
        // CHECK: nv.atomic_add %{{.*}}[%{{.*}}], %[[J]]
        %x = nv.atomic_add %p[%p], %i : i32
        %y = nv.atomic_add %p[%p], %j : i32
      }
    }
  }
  return
}

// -----

// Groups of 4 rows, walked column by column; the last group may have fewer rows.
// CHECK-LABEL: func.func @grouped
// CHECK-SAME: %[[M:.*]]: i32, %[[N:.*]]: i32, %[[P:.*]]: i64)
func.func @grouped(%m: i32, %n: i32, %p: i64) {
  warp.specialize {
    warp.role @load warps(1) {
      // CHECK: scf.for %[[T:.*]] =
      warp.for_each_tile (%i, %j) in (%m, %n) group(4) {
        // CHECK-NEXT: %[[PER:.*]] = arith.muli %[[N]], %c4_i32
        // CHECK-NEXT: %[[GROUP:.*]] = arith.divui %[[T]], %[[PER]]
        // CHECK-NEXT: %[[FIRST:.*]] = arith.muli %[[GROUP]], %c4_i32
        // CHECK-NEXT: %[[BEFORE:.*]] = arith.muli %[[GROUP]], %[[PER]]
        // CHECK-NEXT: %[[REST:.*]] = arith.subi %[[T]], %[[BEFORE]]
        // CHECK-NEXT: %[[END:.*]] = arith.addi %[[FIRST]], %c4_i32
        // CHECK-NEXT: %[[WHOLE:.*]] = arith.cmpi ule, %[[END]], %[[M]]
        // CHECK-NEXT: %[[LAST:.*]] = arith.remui %[[M]], %c4_i32
        // CHECK-NEXT: %[[ROWS:.*]] = arith.select %[[WHOLE]], %c4_i32, %[[LAST]]
        // CHECK-NEXT: %[[J:.*]] = arith.divui %[[REST]], %[[ROWS]]
        // CHECK-NEXT: %[[JR:.*]] = arith.muli %[[J]], %[[ROWS]]
        // CHECK-NEXT: %[[ROW:.*]] = arith.subi %[[REST]], %[[JR]]
        // CHECK-NEXT: %[[I:.*]] = arith.addi %[[FIRST]], %[[ROW]]
        // CHECK: nv.atomic_add %{{.*}}[%{{.*}}], %[[I]]
        // CHECK: nv.atomic_add %{{.*}}[%{{.*}}], %[[J]]
        %x = nv.atomic_add %p[%p], %i : i32
        %y = nv.atomic_add %p[%p], %j : i32
      }
    }
  }
  return
}

// -----

// In clusters the tiles belong to the cluster.
// CHECK-LABEL: func.func @clusters
func.func @clusters(%m: i32, %n: i32, %p: i64) attributes {warp.launch = #warp.launch<cluster = 2>} {
  warp.specialize {
    warp.role @load warps(1) {
      // CHECK-DAG: %[[ID:.*]] = nvvm.read.ptx.sreg.clusterid.x
      // CHECK-DAG: %[[COUNT:.*]] = nvvm.read.ptx.sreg.nclusterid.x
      // CHECK: scf.for %{{.*}} = %[[ID]] to %{{.*}} step %[[COUNT]]
      warp.for_each_tile (%i, %j) in (%m, %n) {
        %x = nv.atomic_add %p[%p], %i : i32
      }
    }
  }
  return
}

// -----

// Replicas take alternate tiles: each starts at its own, strides over all, and skips what the others use of shared
// rings, but not of its own staging slots.
// CHECK-LABEL: func.func @alternate
// CHECK-SAME: %[[M:.*]]: i32, %[[N:.*]]: i32, %[[K:.*]]: i32)
func.func @alternate(%m: i32, %n: i32, %k: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %b = warp.buffer : !warp.buffer<5 x [64x64xbf16]>
  %free = warp.ring released %b : !warp.buffer<5 x [64x64xbf16]>
  // CHECK: %[[READY:.*]] = warp.ring %
  %ready = warp.ring %b : !warp.buffer<5 x [64x64xbf16]>
  %s = warp.buffer per_replica : !warp.buffer<1 x [64x64xbf16]>
  %own = warp.ring released %s : !warp.buffer<1 x [64x64xbf16]>
  warp.specialize {
    warp.role @math warps(4) replicas(3) {
      // CHECK-DAG: %[[CTA:.*]] = nvvm.read.ptx.sreg.ctaid.x
      // CHECK-DAG: %[[CTAS:.*]] = nvvm.read.ptx.sreg.nctaid.x
      // CHECK-DAG: %[[R:.*]] = warp.replica_index
      // CHECK-DAG: %[[AHEAD:.*]] = arith.muli %[[R]], %[[CTAS]]
      // CHECK-DAG: %[[START:.*]] = arith.addi %[[CTA]], %[[AHEAD]]
      // CHECK-DAG: %[[STRIDE:.*]] = arith.muli %[[CTAS]], %c3_i32
      // CHECK-DAG: %[[TRIPS:.*]] = arith.maxsi %[[K]], %c0_i32
      // CHECK: %[[FIRST:.*]] = arith.muli %{{.*}}, %[[R]]
      // CHECK-NEXT: warp.skip %[[READY]] by %[[FIRST]]
      // CHECK-NOT: warp.skip
      // CHECK: scf.for %{{.*}} = %[[START]] to %{{.*}} step %[[STRIDE]]
      warp.for_each_tile (%i, %j) in (%m, %n) step(replica) {
        // CHECK: scf.for
        scf.for %kk = %c0 to %k step %c1 : i32 {
          %t = warp.acquire %ready
          warp.release %t to %free wgmma
        }
        %o = warp.acquire %own
        warp.release %o to %own bulk_read
        // CHECK: warp.release %{{.*}} bulk_read
        // CHECK: %[[OTHERS:.*]] = arith.muli %{{.*}}, %c2_i32
        // CHECK-NEXT: warp.skip %[[READY]] by %[[OTHERS]]
        // CHECK-NEXT: }
      }
    }
  }
  return
}

// -----

// Two acquires a tile outside of loops: four slots for the two tiles of the others.
// CHECK-LABEL: func.func @alternate_constant
func.func @alternate_constant(%m: i32, %n: i32) {
  %b = warp.buffer : !warp.buffer<5 x [64x64xbf16]>
  %ring = warp.ring released %b : !warp.buffer<5 x [64x64xbf16]>
  warp.specialize {
    warp.role @math warps(4) replicas(3) {
      // CHECK: scf.for
      warp.for_each_tile (%i, %j) in (%m, %n) step(replica) {
        // CHECK-COUNT-2: warp.acquire
        // CHECK: warp.skip %{{.*}} by %c4_i32
        %t = warp.acquire %ring
        %u = warp.acquire %ring
        warp.release %t to %ring generic
        warp.release %u to %ring generic
      }
    }
  }
  return
}

// -----

// One replica has nobody to take turns with.
// CHECK-LABEL: func.func @alone
// CHECK-NOT: warp.skip
func.func @alone(%m: i32, %n: i32) {
  %b = warp.buffer : !warp.buffer<2 x [64x64xbf16]>
  %ring = warp.ring released %b : !warp.buffer<2 x [64x64xbf16]>
  warp.specialize {
    warp.role @math warps(4) {
      warp.for_each_tile (%i, %j) in (%m, %n) step(replica) {
        %t = warp.acquire %ring
        warp.release %t to %ring generic
      }
    }
  }
  return
}

// -----

func.func @bound_of_the_tile(%m: i32, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %b = warp.buffer : !warp.buffer<2 x [64x64xbf16]>
  %ring = warp.ring released %b : !warp.buffer<2 x [64x64xbf16]>
  warp.specialize {
    warp.role @math warps(4) replicas(2) {
      warp.for_each_tile (%i, %j) in (%m, %n) step(replica) {
        %k = arith.addi %i, %c1 : i32
        scf.for %kk = %c0 to %k step %c1 : i32 {
          // expected-error@+1 {{in warp.for_each_tile step(replica): expected loop bounds that are the same for all tiles, found one computed in the tile loop}}
          %t = warp.acquire %ring
          warp.release %t to %ring generic
        }
      }
    }
  }
  return
}

// -----

func.func @while_in_the_tile(%m: i32, %n: i32, %p: i1) {
  %b = warp.buffer : !warp.buffer<2 x [64x64xbf16]>
  %ring = warp.ring released %b : !warp.buffer<2 x [64x64xbf16]>
  warp.specialize {
    warp.role @math warps(4) replicas(2) {
      warp.for_each_tile (%i, %j) in (%m, %n) step(replica) {
        scf.while : () -> () {
          scf.condition(%p)
        } do {
          // expected-error@+1 {{in warp.for_each_tile step(replica): expected to be nested in scf.for only, found 'scf.while'}}
          %t = warp.acquire %ring
          warp.release %t to %ring generic
          scf.yield
        }
      }
    }
  }
  return
}
