// RUN: kernel-opt %s --convert-tiles --canonicalize --cse --split-input-file --verify-diagnostics | FileCheck %s

!buffer = !warp.buffer<2 x [64x64xbf16]>
!smem = !nv.memdesc<64x64xbf16, #nv.smem<swizzle = 128>>

// Accumulator fragments to swizzled rows: one thread-dependent address (16-byte chunk of the row: lane bits 0-2 under the swizzle and
// bits 3-4 beside; row: lane bits 0-2, 16 a warp), one XOR for the other half of the row, immediates for 8 rows further.
// CHECK-LABEL: func.func @stmatrix
func.func @stmatrix(%x: i32, %f: bf16) {
  // CHECK: %[[SHARED:.*]] = llvm.mlir.addressof @tileloom_shared
  // CHECK-NEXT: %[[BASE:.*]] = llvm.getelementptr inbounds %[[SHARED]][1024]
  %0 = nv.alloc 2 x 8192 align 1024 at 1024 : !buffer
  warp.specialize {
    warp.role @math warps(4) attributes {nv.first_warp = 4 : i64} {
      // CHECK: %[[OFFSET:.*]] = arith.muli %{{.*}}, %c8192_i32
      // CHECK: %[[SLOT:.*]] = llvm.getelementptr inbounds %[[BASE]][%[[OFFSET]]]
      %v = nv.view %0[%x] stride 8192 offset 0 : !buffer -> !smem
      %t = nv.splat %f : bf16 -> tensor<64x64xbf16, #nv.wgmma_acc>
      // CHECK: %[[LANE:.*]] = arith.andi %{{.*}}, %c31_i32
      // CHECK: %[[WARP:.*]] = arith.shrui %{{.*}}, %c5_i32
      // CHECK: %[[ROW:.*]] = arith.andi %[[LANE]], %c7_i32
      // CHECK: %[[CHUNK:.*]] = arith.shli %[[ROW]], %c4_i32
      // CHECK: %[[LINE:.*]] = arith.shli %[[ROW]], %c7_i32
      // CHECK: arith.xori %[[CHUNK]], %[[LINE]]
      // CHECK: %[[MATRIX:.*]] = arith.andi %[[LANE]], %c24_i32
      // CHECK: arith.shli %[[MATRIX]], %c1_i32
      // CHECK: arith.shli %{{.*}}, %c11_i32
      // CHECK: %[[A:.*]] = llvm.getelementptr inbounds %[[SLOT]][%[[AT:.*]]]
      // CHECK: nvvm.stmatrix %[[A]], {{.*}}shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>{{.*}} : !llvm.ptr<3>, i32, i32, i32, i32
      // CHECK: %[[HALF:.*]] = arith.xori %[[AT]], %c64_i32
      // CHECK: %[[B:.*]] = llvm.getelementptr inbounds %[[SLOT]][%[[HALF]]]
      // CHECK: nvvm.stmatrix %[[B]]
      // CHECK: %[[C:.*]] = llvm.getelementptr inbounds %[[A]][1024]
      // CHECK: nvvm.stmatrix %[[C]]
      // CHECK: %[[D:.*]] = llvm.getelementptr inbounds %[[B]][1024]
      // CHECK: nvvm.stmatrix %[[D]]
      // CHECK-NOT: nvvm.stmatrix
      nv.local_store %t to %v : tensor<64x64xbf16, #nv.wgmma_acc>, !smem
    }
  }
  return
}

// -----

!buffer = !warp.buffer<1 x [64x32xf32]>
!smem = !nv.memdesc<64x32xf32, #nv.smem<swizzle = 128>>

// stmatrix moves 16-bit elements: pairs of f32 are stored as vectors.
// CHECK-LABEL: func.func @vectors
func.func @vectors(%x: i32, %f: f32) {
  %0 = nv.alloc 1 x 8192 align 1024 at 0 : !buffer
  warp.specialize {
    warp.role @math warps(4) attributes {nv.first_warp = 0 : i64} {
      %v = nv.view %0[%x] stride 8192 offset 0 : !buffer -> !smem
      %t = nv.splat %f : f32 -> tensor<64x32xf32, #nv.wgmma_acc>
      // CHECK-NOT: nvvm.stmatrix
      // CHECK-COUNT-8: llvm.store %{{.*}} : {{(vector<2xf32>|i64)}}, !llvm.ptr<3>
      // CHECK-NOT: llvm.store
      nv.local_store %t to %v : tensor<64x32xf32, #nv.wgmma_acc>, !smem
    }
  }
  return
}

// -----

!buffer = !warp.buffer<2 x [64x64xbf16]>
!smem = !nv.memdesc<64x64xbf16, #nv.smem<swizzle = 128>>
!trans = !nv.memdesc<64x64xbf16, #nv.smem<swizzle = 128, transposed = true>>

// A product: fence, one instruction for each 32 bytes of K, commit. Descriptors: low word from the address (16-byte units) with the
// leading offset in bit 16, what depends on the stage added last; high word constant (swizzle 128 in bits 62-63, 1024 bytes between groups of 8 rows) and out of LLVM's sight; each
// step is 2 further.
// The first instruction starts from zero, the next ones go on.
// CHECK-LABEL: func.func @product
// CHECK-SAME: %[[X:.*]]: i32
// CHECK: %[[BASE:.*]] = llvm.mlir.addressof
func.func @product(%x: i32) {
  %0 = nv.alloc 2 x 8192 align 1024 at 1024 : !buffer
  warp.specialize {
    warp.role @math warps(4) attributes {nv.first_warp = 0 : i64} {
      %v = nv.view %0[%x] stride 8192 offset 0 : !buffer -> !smem
      %t = nv.memdesc.trans %v : !smem -> !trans
      // CHECK: nvvm.wgmma.fence.aligned
      // CHECK: %[[BITS:.*]] = llvm.ptrtoint %[[BASE]]
      // CHECK: %[[UNITS:.*]] = arith.shrui %[[BITS]], %c4_i32
      // CHECK: %[[FIXED:.*]] = arith.addi %[[UNITS]], %c65600_i32
      // CHECK: %[[FIRST:.*]] = llvm.inline_asm asm_dialect = att "mov.b64 $0, {$1, 1073741888};", "=l,r" %[[FIXED]]
      // CHECK: %[[WIDE:.*]] = arith.extui %[[X]] : i32 to i64
      // CHECK: %[[STAGE:.*]] = arith.muli %[[WIDE]], %c512_i64
      // CHECK: %[[D0:.*]] = arith.addi %[[FIRST]], %[[STAGE]]
      // CHECK: %[[P0:.*]]:32 = ptx.wgmma n 64 k 16 bf16 bf16 f32 a(%[[D0]] : i64) b(%[[D0]]) -> f32
      // CHECK: arith.addi %[[D0]], %c2_i64
      // CHECK: %[[P1:.*]]:32 = ptx.wgmma {{.*}} acc(%[[P0]]#0,
      // CHECK: arith.addi %[[D0]], %c4_i64
      // CHECK: %[[P2:.*]]:32 = ptx.wgmma {{.*}} acc(%[[P1]]#0,
      // CHECK: arith.addi %[[D0]], %c6_i64
      // CHECK: %[[P3:.*]]:32 = ptx.wgmma {{.*}} acc(%[[P2]]#0,
      // CHECK-NEXT: nvvm.wgmma.commit.group
      %d = nv.wgmma %v, %t : !smem, !trans -> tensor<64x64xf32, #nv.wgmma_acc>
      // CHECK-NEXT: ptx.wgmma_wait 1{{$}}
      nv.wgmma.wait pending(1)
      // CHECK-NEXT: ptx.wgmma_wait 0, %[[P3]]#0
      %w = nv.wgmma.wait %d pending(0) : tensor<64x64xf32, #nv.wgmma_acc>
    }
  }
  return
}

// -----

!buffer = !warp.buffer<1 x [128x64xbf16, 64x16xbf16]>
!a = !nv.memdesc<128x64xbf16, #nv.smem<swizzle = 128>>
!b = !nv.memdesc<64x16xbf16, #nv.smem<swizzle = 32>>

// Two blocks of 64 rows, 8192 bytes (512 units) apart; b with N contiguous is marked as such; the run-time choice acts on the first step of each.
// CHECK-LABEL: func.func @two_blocks
func.func @two_blocks(%x: i32, %f: f32, %p: i1) {
  %0 = nv.alloc 1 x 18432 align 1024 at 0 : !buffer
  warp.specialize {
    warp.role @math warps(4) attributes {nv.first_warp = 0 : i64} {
      %v = nv.view %0[%x] stride 18432 offset 0 : !buffer -> !a
      %w = nv.view %0[%x] stride 18432 offset 16384 : !buffer -> !b
      %c = nv.splat %f : f32 -> tensor<128x16xf32, #nv.wgmma_acc>
      // CHECK: ptx.wgmma n 16 {{.*}} scale_d(%{{.*}}) {trans_b} -> f32, f32, f32, f32, f32, f32, f32, f32{{$}}
      // CHECK-COUNT-3: ptx.wgmma n 16 {{.*}}) {trans_b} ->
      // CHECK: arith.addi %{{.*}}, %c512_i64
      // CHECK: ptx.wgmma n 16 {{.*}} scale_d(%{{.*}})
      // CHECK-COUNT-3: ptx.wgmma n 16
      // CHECK-NOT: ptx.wgmma n
      %d = nv.wgmma %v, %w acc(%c) use_c(%p) : !a, !b -> tensor<128x16xf32, #nv.wgmma_acc>
      nv.wgmma.wait pending(0)
    }
  }
  return
}

// -----

!buffer = !warp.buffer<2 x [64x128xbf16]>
!smem = !nv.memdesc<64x128xbf16, #nv.smem<swizzle = 128>>

// A role of one thread: nothing asks who executes. A tile two atoms wide takes two copies, 8192 bytes and 64 columns apart; both complete
// on the barrier.
// CHECK-LABEL: func.func @one_thread
func.func @one_thread(%A: !tile.desc<64x128xbf16> {nv.tensor_map = {}}, %x: i32) {
  %0 = nv.alloc 2 x 16384 align 1024 at 0 : !buffer
  // CHECK: %[[FULL:.*]] = llvm.getelementptr inbounds %{{.*}}[32768]
  // CHECK: nvvm.mbarrier.init %[[FULL]], %c3_i32
  // CHECK: %[[NEXT:.*]] = llvm.getelementptr inbounds %[[FULL]][8]
  // CHECK: nvvm.mbarrier.init %[[NEXT]], %c3_i32
  %1 = nv.alloc 2 x 8 align 8 at 32768 : !nv.barrier
  nv.mbarrier.init %1 stages 2 arrivals 3
  warp.specialize {
    // CHECK: warp.role @load
    // CHECK-NOT: nvvm.read.ptx.sreg.tid
    warp.role @load warps(1) attributes {nv.first_warp = 4 : i64} {
      %v = nv.view %0[%x] stride 16384 offset 0 : !buffer -> !smem
      // CHECK: %[[B:.*]] = llvm.getelementptr inbounds %[[FULL]]
      %b = nv.barrier_at %1[%x]
      // CHECK: scf.while
      // CHECK-NEXT: %[[DONE:.*]] = nvvm.mbarrier.try_wait %[[B]], %[[X:.*]] :
      // CHECK-NEXT: %[[AGAIN:.*]] = arith.xori %[[DONE]], %true
      // CHECK-NEXT: scf.condition(%[[AGAIN]])
      nv.mbarrier.wait %b, %x
      // CHECK: nvvm.mbarrier.arrive.expect_tx %[[B]], %c16384_i32
      nv.mbarrier.arrive %b by all expect 16384
      // CHECK-NEXT: nvvm.cp.async.bulk.tensor.shared.cluster.global %[[V:.*]], %{{.*}}, %[[B]], box[%[[X]], %[[X]]] l2_cache_hint = %c1364590687093260288_i64
      // CHECK-NEXT: %[[V1:.*]] = llvm.getelementptr inbounds %[[V]][8192]
      // CHECK-NEXT: %[[X1:.*]] = arith.addi %[[X]], %c64_i32
      // CHECK-NEXT: nvvm.cp.async.bulk.tensor.shared.cluster.global %[[V1]], %{{.*}}, %[[B]], box[%[[X1]], %[[X]]]
      nv.tma.load %A[%x, %x] to %v barrier(%b) cache(evict_first) : !tile.desc<64x128xbf16>, !smem
    }
  }
  return
}

// -----

!buffer = !warp.buffer<2 x [64x64xbf16]>
!smem = !nv.memdesc<64x64xbf16, #nv.smem<swizzle = 128>>

// In a role of many threads: fences in all, the replica's own hardware barrier, the stores and their groups always in the first thread,
// arrivals in the first lane of each warp.
// CHECK-LABEL: func.func @many_threads
func.func @many_threads(%A: !tile.desc<64x64xbf16> {nv.tensor_map = {}}, %x: i32) {
  %0 = nv.alloc 2 x 8192 align 1024 at 0 : !buffer
  %1 = nv.alloc 2 x 8 align 8 at 16384 : !nv.barrier
  warp.specialize {
    warp.role @math warps(4) replicas(2) attributes {nv.first_warp = 0 : i64, nv.barrier = 1 : i64} {
      %v = nv.view %0[%x] stride 8192 offset 0 : !buffer -> !smem
      %b = nv.barrier_at %1[%x]
      // CHECK: nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
      nv.fence.proxy
      // CHECK: %[[R:.*]] = warp.replica_index
      // CHECK: %[[ID:.*]] = arith.addi %[[R]], %c1_i32
      // CHECK: nvvm.barrier id = %[[ID]] number_of_threads = %c128_i32
      nv.named_barrier
      // CHECK: %[[TID:.*]] = nvvm.read.ptx.sreg.tid.x
      // CHECK: %[[THREAD:.*]] = arith.andi %[[TID]], %c127_i32
      // CHECK: %[[FIRST:.*]] = arith.cmpi eq, %[[THREAD]], %c0_i32
      // CHECK-NEXT: scf.if %[[FIRST]] {
      // CHECK-NEXT: nvvm.cp.async.bulk.tensor.global.shared.cta
      nv.tma.store %v to %A[%x, %x] : !smem, !tile.desc<64x64xbf16>
      // CHECK: scf.if %[[FIRST]] {
      // CHECK-NEXT: nvvm.cp.async.bulk.commit.group
      nv.bulk.commit
      // CHECK: scf.if %[[FIRST]] {
      // CHECK-NEXT: nvvm.cp.async.bulk.wait_group 1 {read}
      nv.bulk.wait 1 read
      // CHECK: scf.if %[[FIRST]] {
      // CHECK-NEXT: nvvm.cp.async.bulk.wait_group 0{{$}}
      nv.bulk.wait 0
      // CHECK: nvvm.bar.warp.sync %c-1_i32
      nv.warp_sync
      // CHECK: %[[LANE:.*]] = arith.andi %[[TID]], %c31_i32
      // CHECK: %[[LANE0:.*]] = arith.cmpi eq, %[[LANE]], %c0_i32
      // CHECK-NEXT: scf.if %[[LANE0]] {
      // CHECK-NEXT: nvvm.mbarrier.arrive
      nv.mbarrier.arrive %b by warp
    }
  }
  return
}

// -----

// Elements of 16 bits travel in pairs, also where a loop carries them.
// CHECK-LABEL: func.func @packed
func.func @packed(%n: i32, %f: bf16) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  warp.specialize {
    warp.role @math warps(4) attributes {nv.first_warp = 0 : i64} {
      %t = nv.splat %f : bf16 -> tensor<64x8xbf16, #nv.wgmma_acc>
      // CHECK: scf.for {{.*}} iter_args(%[[A:.*]] = %{{.*}}, %[[B:.*]] = %{{.*}}) -> (vector<2xbf16>, vector<2xbf16>)
      // CHECK: arith.addf %[[A]], %{{.*}} : vector<2xbf16>
      // CHECK: arith.addf %[[B]], %{{.*}} : vector<2xbf16>
      %s = scf.for %k = %c0 to %n step %c1 iter_args(%a = %t) -> (tensor<64x8xbf16, #nv.wgmma_acc>) : i32 {
        %b = arith.addf %a, %t : tensor<64x8xbf16, #nv.wgmma_acc>
        scf.yield %b : tensor<64x8xbf16, #nv.wgmma_acc>
      }
      %x = arith.cmpf ogt, %s, %t : tensor<64x8xbf16, #nv.wgmma_acc>
      %any = nv.warp_any %x : tensor<64x8xi1, #nv.wgmma_acc>
    }
  }
  return
}

// -----

func.func @no_offset() {
  // expected-error@+2 {{failed to legalize}}
  // expected-error@+1 {{expected an offset: run nv-allocate-shared first}}
  %0 = nv.alloc 2 x 8192 align 1024 : !nv.barrier
  nv.mbarrier.init %0 stages 2 arrivals 3
  return
}

// -----

!smem = !nv.memdesc<64x64xbf16, #nv.smem<swizzle = 128>>

func.func @no_barrier(%A: !tile.desc<64x64xbf16>, %v: !smem, %x: i32) {
  warp.specialize {
    warp.role @load warps(1) attributes {nv.first_warp = 0 : i64} {
      // expected-error@+2 {{failed to legalize}}
      // expected-error@+1 {{expected a barrier: the slot's release of kind tma names it}}
      nv.tma.load %A[%x, %x] to %v : !tile.desc<64x64xbf16>, !smem
    }
  }
  return
}

// -----

// A place and a value are converted once for each thread, constants are added as floats; not where the sum may wrap.
// CHECK-LABEL: func.func @convert_places
func.func @convert_places(%n: i32, %p: i64) {
  warp.specialize {
    warp.role @math warps(4) attributes {nv.first_warp = 0 : i64} {
      // CHECK: arith.sitofp
      // CHECK: %[[FIRST:.*]] = arith.sitofp
      // CHECK-NEXT: arith.addf %[[FIRST]], %cst
      // CHECK-NEXT: arith.addf %[[FIRST]], %cst
      // CHECK-NEXT: arith.addf %[[FIRST]], %cst
      // CHECK-NOT: arith.addf
      // CHECK: arith.sitofp
      // CHECK-NOT: arith.addf
      // CHECK-COUNT-2: arith.sitofp
      %i = nv.index dim(1) : tensor<64x16xi32, #nv.wgmma_acc>
      %m = nv.splat %n : i32 -> tensor<64x16xi32, #nv.wgmma_acc>
      %s = arith.addi %i, %m overflow<nsw> : tensor<64x16xi32, #nv.wgmma_acc>
      %x = arith.sitofp %s : tensor<64x16xi32, #nv.wgmma_acc> to tensor<64x16xf32, #nv.wgmma_acc>
      %t = arith.addi %i, %m : tensor<64x16xi32, #nv.wgmma_acc>
      %y = arith.sitofp %t : tensor<64x16xi32, #nv.wgmma_acc> to tensor<64x16xf32, #nv.wgmma_acc>
      %c = arith.cmpf olt, %x, %y : tensor<64x16xf32, #nv.wgmma_acc>
      %any = nv.warp_any %c : tensor<64x16xi1, #nv.wgmma_acc>
      scf.if %any {
        nvvm.barrier
      }
    }
  }
  return
}

// -----

// Places are compared as constants with what the other side is beyond the thread's part: one subtraction a row, no register a column.
// CHECK-LABEL: func.func @compare_places
func.func @compare_places(%n: i32) {
  warp.specialize {
    warp.role @math warps(4) attributes {nv.first_warp = 0 : i64} {
      // CHECK: %[[OWN:.*]] = arith.shli %{{.*}}, %c1_i32
      // CHECK: arith.cmpi slt, %[[OWN]], %arg0
      // CHECK-NEXT: %[[BEYOND:.*]] = llvm.intr.ssub.sat(%arg0, %[[OWN]])
      // CHECK-NEXT: arith.cmpi sgt, %[[BEYOND]], %c1_i32
      // CHECK-NEXT: arith.cmpi sgt, %[[BEYOND]], %c8_i32
      // CHECK-NEXT: arith.cmpi sgt, %[[BEYOND]], %c9_i32
      %i = nv.index dim(1) : tensor<64x16xi32, #nv.wgmma_acc>
      %m = nv.splat %n : i32 -> tensor<64x16xi32, #nv.wgmma_acc>
      %c = arith.cmpi slt, %i, %m : tensor<64x16xi32, #nv.wgmma_acc>
      // CHECK: nvvm.vote.sync
      %any = nv.warp_any %c : tensor<64x16xi1, #nv.wgmma_acc>
      // Unsigned comparisons have no such form.
      // CHECK-NOT: llvm.intr.ssub.sat
      %u = arith.cmpi ult, %i, %m : tensor<64x16xi32, #nv.wgmma_acc>
      %all = nv.warp_any %u : tensor<64x16xi1, #nv.wgmma_acc>
      scf.if %any {
        nvvm.barrier
      }
      scf.if %all {
        nvvm.barrier
      }
    }
  }
  return
}
