// RUN: kernel-opt %s | kernel-opt | FileCheck %s
// RUN: kernel-opt %s --mlir-print-op-generic | kernel-opt | FileCheck %s

// CHECK-LABEL: func.func private @layouts
// CHECK-SAME: tensor<64x256xf32, #nv.wgmma_acc>
// CHECK-SAME: tensor<64x64xbf16, #nv.wgmma_a<warps = 8>>
// CHECK-SAME: tensor<64x64xi8, #nv.wgmma_a<paired = true>>
// CHECK-SAME: tensor<64x64xf32, #nv.blocked<[1, 4], [8, 4], [4, 1], [1, 0]>>
// CHECK-SAME: tensor<128x64xf32, #nv.tmem_load>
// CHECK-SAME: tensor<64xf32, #nv.slice<1, #nv.wgmma_acc>>
// CHECK-SAME: tensor<32x64xf32, #nv.row_slot<0 of 2, #nv.wgmma_acc>>
// CHECK-SAME: tensor<40x64xf32, #nv.transposed<#nv.wgmma_acc>>
// CHECK-SAME: !nv.memdesc<128x64xbf16, #nv.smem<swizzle = 64, transposed = true, rows = 256>>
// CHECK-SAME: !nv.memdesc<128x256xf32, tmem>, !nv.barrier
func.func private @layouts(
    tensor<64x256xf32, #nv.wgmma_acc<warps = 4>>, tensor<64x64xbf16, #nv.wgmma_a<warps = 8>>,
    tensor<64x64xi8, #nv.wgmma_a<paired = true>>,
    tensor<64x64xf32, #nv.blocked<[1, 4], [8, 4], [4, 1], [1, 0]>>, tensor<128x64xf32, #nv.tmem_load>,
    tensor<64xf32, #nv.slice<1, #nv.wgmma_acc>>, tensor<32x64xf32, #nv.row_slot<0 of 2, #nv.wgmma_acc>>,
    tensor<40x64xf32, #nv.transposed<#nv.wgmma_acc>>,
    !nv.memdesc<128x64xbf16, #nv.smem<swizzle = 64, transposed = true, rows = 256>>, !nv.memdesc<128x256xf32, tmem>,
    !nv.barrier)

// CHECK-LABEL: func.func @views
func.func @views(%a: !nv.memdesc<128x64xbf16>, %i: i32) {
  // CHECK: nv.memdesc.slice %{{.*}}[%{{.*}}, %{{.*}}] : <128x64xbf16> -> <64x64xbf16>
  %s = nv.memdesc.slice %a[%i, %i] : !nv.memdesc<128x64xbf16> -> !nv.memdesc<64x64xbf16>
  // CHECK: nv.memdesc.trans %{{.*}} : <128x64xbf16> -> <64x128xbf16>
  %t = nv.memdesc.trans %a : !nv.memdesc<128x64xbf16> -> !nv.memdesc<64x128xbf16>
  return
}

// CHECK-LABEL: func.func @tma
func.func @tma(%A: !tile.desc<1x64x64xbf16>, %a: !nv.memdesc<64x64xbf16>, %i: i32, %b: !nv.barrier, %mask: i16) {
  // CHECK: nv.tma.load %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}] to %{{.*}} : !tile.desc<1x64x64xbf16>, <64x64xbf16>
  nv.tma.load %A[%i, %i, %i] to %a : !tile.desc<1x64x64xbf16>, !nv.memdesc<64x64xbf16>
  // CHECK: nv.tma.load %{{.*}} to %{{.*}} barrier(%{{.*}}) multicast(%{{.*}}) cache(evict_last)
  nv.tma.load %A[%i, %i, %i] to %a barrier(%b) multicast(%mask) cache(evict_last)
    : !tile.desc<1x64x64xbf16>, !nv.memdesc<64x64xbf16>
  // CHECK: nv.tma.store %{{.*}} to %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}] cache(evict_first) : <64x64xbf16>, !tile.desc<1x64x64xbf16>
  nv.tma.store %a to %A[%i, %i, %i] cache(evict_first) : !nv.memdesc<64x64xbf16>, !tile.desc<1x64x64xbf16>
  // CHECK: nv.bulk.commit
  nv.bulk.commit
  // CHECK: nv.bulk.wait 1 read
  nv.bulk.wait 1 read
  // CHECK: nv.bulk.wait 0{{$}}
  nv.bulk.wait 0
  return
}

// CHECK-LABEL: func.func @wgmma_sums
func.func @wgmma_sums(%a: !nv.memdesc<64x64xi8>, %b: !nv.memdesc<64x96xi8>, %c: tensor<64x96xi32>, %x: tensor<64x64xf16>, %y: !nv.memdesc<64x8xf16>) {
  // CHECK: nv.wgmma %{{.*}}, %{{.*}} acc(%{{.*}}) satfinite : !nv.memdesc<64x64xi8>, <64x96xi8> -> tensor<64x96xi32>
  %d = nv.wgmma %a, %b acc(%c) satfinite : !nv.memdesc<64x64xi8>, !nv.memdesc<64x96xi8> -> tensor<64x96xi32>
  // CHECK: nv.wgmma %{{.*}}, %{{.*}} : tensor<64x64xf16>, <64x8xf16> -> tensor<64x8xf16>
  %e = nv.wgmma %x, %y : tensor<64x64xf16>, !nv.memdesc<64x8xf16> -> tensor<64x8xf16>
  return
}

// CHECK-LABEL: func.func @wgmma
func.func @wgmma(%a: !nv.memdesc<64x64xbf16>, %r: tensor<64x64xbf16>, %b: !nv.memdesc<64x256xbf16>,
                 %c: tensor<64x256xf32>, %p: i1, %x: f32) {
  // CHECK: nv.wgmma %{{.*}}, %{{.*}} : !nv.memdesc<64x64xbf16>, <64x256xbf16> -> tensor<64x256xf32>
  %d = nv.wgmma %a, %b : !nv.memdesc<64x64xbf16>, !nv.memdesc<64x256xbf16> -> tensor<64x256xf32>
  // CHECK: nv.wgmma %{{.*}}, %{{.*}} acc(%{{.*}}) use_c(%{{.*}}) : tensor<64x64xbf16>, <64x256xbf16> -> tensor<64x256xf32>
  %e = nv.wgmma %r, %b acc(%c) use_c(%p) : tensor<64x64xbf16>, !nv.memdesc<64x256xbf16> -> tensor<64x256xf32>
  // CHECK: nv.wgmma.wait %{{.*}}, %{{.*}} pending(1) after(%{{.*}} : f32) : tensor<64x256xf32>, tensor<64x256xf32>
  %w:2 = nv.wgmma.wait %d, %e pending(1) after(%x : f32) : tensor<64x256xf32>, tensor<64x256xf32>
  // CHECK: nv.wgmma.wait %{{.*}} pending(0) : tensor<64x256xf32>
  %v = nv.wgmma.wait %w#1 pending(0) : tensor<64x256xf32>
  return
}

// CHECK-LABEL: func.func @registers
func.func @registers(%t: tensor<64x128xf32>, %x: f32, %q: tensor<64xi1>) {
  // CHECK: nv.extract %{{.*}}[0, 64] : tensor<64x128xf32> -> tensor<64x64xf32>
  %h = nv.extract %t[0, 64] : tensor<64x128xf32> -> tensor<64x64xf32>
  // CHECK: nv.concat %{{.*}}, %{{.*}} dim(1) : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x128xf32>
  %c = nv.concat %h, %h dim(1) : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x128xf32>
  // CHECK: nv.row_slot %{{.*}} 1 of 2 : tensor<64x128xf32> -> tensor<32x128xf32>
  %s = nv.row_slot %t 1 of 2 : tensor<64x128xf32> -> tensor<32x128xf32>
  // CHECK: nv.join_row_slots %{{.*}}, %{{.*}} : tensor<32x128xf32>, tensor<32x128xf32> -> tensor<64x128xf32>
  %j = nv.join_row_slots %s, %s : tensor<32x128xf32>, tensor<32x128xf32> -> tensor<64x128xf32>
  // CHECK: %[[M:.*]] = nv.reduce max %{{.*}} dim(1) : tensor<64x128xf32> -> tensor<64xf32>
  %m = nv.reduce max %t dim(1) : tensor<64x128xf32> -> tensor<64xf32>
  // CHECK: nv.reduce add %{{.*}} dim(0) {chains = 4 : i64} : tensor<64x128xf32> -> tensor<128xf32>
  %n = nv.reduce add %t dim(0) {chains = 4 : i64} : tensor<64x128xf32> -> tensor<128xf32>
  // CHECK: nv.fold add %{{.*}} : tensor<64x128xf32> -> tensor<64x8xf32>
  %fold = nv.fold add %t : tensor<64x128xf32> -> tensor<64x8xf32>
  // CHECK: nv.broadcast %[[M]] dim(1) : tensor<64xf32> -> tensor<64x128xf32>
  %b = nv.broadcast %m dim(1) : tensor<64xf32> -> tensor<64x128xf32>
  // CHECK: nv.splat %{{.*}} : f32 -> tensor<64x128xf32>
  %f = nv.splat %x : f32 -> tensor<64x128xf32>
  // CHECK: nv.index dim(1) : tensor<64x128xi32>
  %i = nv.index dim(1) : tensor<64x128xi32>
  // CHECK: nv.convert_layout %{{.*}} : tensor<64x128xf32> -> tensor<64x128xf32, #nv.wgmma_acc>
  %l = nv.convert_layout %t : tensor<64x128xf32> -> tensor<64x128xf32, #nv.wgmma_acc>
  // CHECK: nv.warp_any %{{.*}} : tensor<64xi1>
  %p = nv.warp_any %q : tensor<64xi1>
  return
}

// CHECK-LABEL: func.func @memory
func.func @memory(%t: tensor<64x64xbf16>, %s: !nv.memdesc<64x64xbf16>, %v: !nv.memdesc<4xi32>, %i: i32,
                  %g: i64, %o: tensor<64xi64>, %m: tensor<64xi1>, %r: !nv.memdesc<128x64xf8E4M3FN>,
                  %c: !nv.memdesc<64x128xf8E4M3FN, #nv.smem<paired = true>>) {
  // CHECK: nv.local_store %{{.*}} to %{{.*}} : tensor<64x64xbf16>, <64x64xbf16>
  nv.local_store %t to %s : tensor<64x64xbf16>, !nv.memdesc<64x64xbf16>
  // CHECK: nv.local_load %{{.*}} : <64x64xbf16> -> tensor<64x64xbf16>
  %l = nv.local_load %s : !nv.memdesc<64x64xbf16> -> tensor<64x64xbf16>
  // CHECK: nv.local_transpose %{{.*}} to %{{.*}} : <128x64xf8E4M3FN>, <64x128xf8E4M3FN, #nv.smem<paired = true>>
  nv.local_transpose %r to %c : !nv.memdesc<128x64xf8E4M3FN>, !nv.memdesc<64x128xf8E4M3FN, #nv.smem<paired = true>>
  // CHECK: nv.scalar_load %{{.*}}[%{{.*}}] : <4xi32> -> i32
  %x = nv.scalar_load %v[%i] : !nv.memdesc<4xi32> -> i32
  // CHECK: nv.scalar_store %{{.*}} to %{{.*}}[%{{.*}}] : i32, <4xi32>
  nv.scalar_store %x to %v[%i] : i32, !nv.memdesc<4xi32>
  // CHECK: nv.global_load %{{.*}}[%{{.*}}] : i64 -> f32
  %e = nv.global_load %g[%g] : i64 -> f32
  // CHECK: nv.global_load %{{.*}}[%{{.*}}] mask(%{{.*}} : tensor<64xi1>) : tensor<64xi64> -> tensor<64xf32>
  %f = nv.global_load %g[%o] mask(%m : tensor<64xi1>) : tensor<64xi64> -> tensor<64xf32>
  // CHECK: nv.global_store %{{.*}} to %{{.*}}[%{{.*}}] mask(%{{.*}} : tensor<64xi1>) : tensor<64xf32>, tensor<64xi64>
  nv.global_store %f to %g[%o] mask(%m : tensor<64xi1>) : tensor<64xf32>, tensor<64xi64>
  // CHECK: nv.global_store %{{.*}} to %{{.*}}[%{{.*}}] : f32, i64
  nv.global_store %e to %g[%g] : f32, i64
  // CHECK: nv.atomic_add %{{.*}}[%{{.*}}], %{{.*}} : i32
  %old = nv.atomic_add %g[%g], %i : i32
  return
}

// CHECK-LABEL: func.func @lowered
func.func @lowered(%i: i32, %phase: i32) {
  // CHECK: %[[S:.*]] = nv.alloc 4 x 16384 align 1024 at 0 : i32
  %s = nv.alloc 4 x 16384 align 1024 at 0 : i32
  // CHECK: nv.view %[[S]][%{{.*}}] stride 16384 offset 8192 : i32 -> <64x64xbf16>
  %v = nv.view %s[%i] stride 16384 offset 8192 : i32 -> !nv.memdesc<64x64xbf16>
  // CHECK: %[[B:.*]] = nv.alloc 4 x 8 align 8 {name = "full"} : !nv.barrier
  %b = nv.alloc 4 x 8 align 8 {name = "full"} : !nv.barrier
  // CHECK: %[[B1:.*]] = nv.barrier_at %[[B]][%{{.*}}]
  %b1 = nv.barrier_at %b[%i]
  // CHECK: nv.mbarrier.init %[[B]] stages 4 arrivals 1
  nv.mbarrier.init %b stages 4 arrivals 1
  // CHECK: nv.mbarrier.wait %[[B1]], %{{.*}}
  nv.mbarrier.wait %b1, %phase
  // CHECK: %[[DONE:.*]] = nv.mbarrier.test %[[B1]], %{{.*}}
  %done = nv.mbarrier.test %b1, %phase
  // CHECK: nv.mbarrier.wait %[[B1]], %{{.*}} known(%[[DONE]])
  nv.mbarrier.wait %b1, %phase known(%done)
  // CHECK: nv.mbarrier.arrive %[[B1]] by role expect 16384
  nv.mbarrier.arrive %b1 by role expect 16384
  // CHECK: nv.mbarrier.arrive %[[B1]] by warp{{$}}
  nv.mbarrier.arrive %b1 by warp
  // CHECK: nv.named_barrier
  nv.named_barrier
  // CHECK: nv.warp_sync
  nv.warp_sync
  // CHECK: nv.fence.proxy
  nv.fence.proxy
  // CHECK: nv.setmaxreg 240 increase
  nv.setmaxreg 240 increase
  // CHECK: nv.setmaxreg 24{{$}}
  nv.setmaxreg 24
  return
}

// CHECK-LABEL: func.func @scales
func.func @scales(%s: !nv.memdesc<192xf32>, %i: i32, %p: i64) -> tensor<64xf32> {
  // CHECK: nv.memdesc.slice %{{.*}}[%{{.*}}] : <192xf32> -> <64xf32>
  %part = nv.memdesc.slice %s[%i] : !nv.memdesc<192xf32> -> !nv.memdesc<64xf32>
  %x = nv.local_load %part : !nv.memdesc<64xf32> -> tensor<64xf32>
  // CHECK: nv.global_load %{{.*}}[%{{.*}}] invariant : i64 -> f32
  %y = nv.global_load %p[%p] invariant : i64 -> f32
  // CHECK: nv.keep %{{.*}} : tensor<64xf32>
  %z = nv.keep %x : tensor<64xf32>
  return %z : tensor<64xf32>
}

// CHECK-LABEL: func.func private @plain
// CHECK-SAME: tensor<16x8xf32, #nv.mma_acc<rows = 1, columns = 4>>
// CHECK-SAME: tensor<16x16xbf16, #nv.mma_a<rows = 1, columns = 4>>
// CHECK-SAME: tensor<16x32xbf16, #nv.mma_b<rows = 2, columns = 2>>
func.func private @plain(tensor<16x8xf32, #nv.mma_acc<rows = 1, columns = 4>>, tensor<16x16xbf16, #nv.mma_a<rows = 1, columns = 4>>,
                         tensor<16x32xbf16, #nv.mma_b<rows = 2, columns = 2>>)

// CHECK-LABEL: func.func @tiles
func.func @tiles(%t: tensor<1024xf32>, %u: tensor<64x32xf32>, %a: tensor<16x32xbf16>, %b: tensor<32x8xbf16>, %c: tensor<16x8xf32>,
                 %scratch: !nv.memdesc<64xi8>) {
  // CHECK: nv.reduce add %{{.*}} dim(0) : tensor<1024xf32> -> f32
  %s = nv.reduce add %t dim(0) : tensor<1024xf32> -> f32
  // CHECK: nv.reduce max %{{.*}} dim(0) scratch(%{{.*}} : !nv.memdesc<64xi8>) : tensor<64x32xf32> -> tensor<32xf32>
  %m = nv.reduce max %u dim(0) scratch(%scratch : !nv.memdesc<64xi8>) : tensor<64x32xf32> -> tensor<32xf32>
  // CHECK: nv.scan add %{{.*}} dim(0) : tensor<1024xf32>
  %p = nv.scan add %t dim(0) : tensor<1024xf32>
  // CHECK: nv.scan min %{{.*}} dim(1) reverse scratch(%{{.*}} : !nv.memdesc<64xi8>) : tensor<64x32xf32>
  %q = nv.scan min %u dim(1) reverse scratch(%scratch : !nv.memdesc<64xi8>) : tensor<64x32xf32>
  // CHECK: nv.trans %{{.*}} [1, 0] : tensor<64x32xf32> -> tensor<32x64xf32>
  %v = nv.trans %u [1, 0] : tensor<64x32xf32> -> tensor<32x64xf32>
  // CHECK: nv.reshape %{{.*}} : tensor<64x32xf32> -> tensor<2048xf32>
  %w = nv.reshape %u : tensor<64x32xf32> -> tensor<2048xf32>
  %at = nv.index dim(0) : tensor<16xi32>
  // CHECK: nv.take %{{.*}}[%{{.*}}] dim(0) : tensor<1024xf32>, tensor<16xi32> -> tensor<16xf32>
  %x = nv.take %t[%at] dim(0) : tensor<1024xf32>, tensor<16xi32> -> tensor<16xf32>
  // CHECK: nv.histogram %{{.*}} scratch(%{{.*}} : !nv.memdesc<64xi8>) : tensor<16xi32> -> tensor<8xi32>
  %y = nv.histogram %at scratch(%scratch : !nv.memdesc<64xi8>) : tensor<16xi32> -> tensor<8xi32>
  // CHECK: nv.mma %{{.*}}, %{{.*}}, %{{.*}} : tensor<16x32xbf16>, tensor<32x8xbf16>, tensor<16x8xf32>
  %d = nv.mma %a, %b, %c : tensor<16x32xbf16>, tensor<32x8xbf16>, tensor<16x8xf32>
  // CHECK: nv.program_id 1
  %i = nv.program_id 1
  // CHECK: nv.num_programs 2
  %n = nv.num_programs 2
  return
}

// CHECK-LABEL: func.func @places
func.func @places(%p: i64, %o: tensor<64x64xi32>, %m: tensor<64x64xi1>, %z: tensor<64x64xbf16>, %s: !nv.memdesc<64x64xbf16>, %b: !nv.barrier) {
  // CHECK: nv.global_load %{{.*}}[%{{.*}}] mask(%{{.*}} : tensor<64x64xi1>) other(%{{.*}} : tensor<64x64xbf16>) cache(evict_first) : tensor<64x64xi32> -> tensor<64x64xbf16>
  %x = nv.global_load %p[%o] mask(%m : tensor<64x64xi1>) other(%z : tensor<64x64xbf16>) cache(evict_first) : tensor<64x64xi32> -> tensor<64x64xbf16>
  // CHECK: nv.global_store %{{.*}} to %{{.*}}[%{{.*}}] cache(evict_first) : tensor<64x64xbf16>, tensor<64x64xi32>
  nv.global_store %x to %p[%o] cache(evict_first) : tensor<64x64xbf16>, tensor<64x64xi32>
  // CHECK: nv.global_reduce add %{{.*}} to %{{.*}}[%{{.*}}] mask(%{{.*}} : tensor<64x64xi1>) : tensor<64x64xbf16>, tensor<64x64xi32>
  nv.global_reduce add %x to %p[%o] mask(%m : tensor<64x64xi1>) : tensor<64x64xbf16>, tensor<64x64xi32>
  // CHECK: nv.global_atomic add %{{.*}} to %{{.*}}[%{{.*}}] mask(%{{.*}} : tensor<64x64xi1>) scope(sys) : tensor<64x64xbf16>, tensor<64x64xi32>
  %before = nv.global_atomic add %x to %p[%o] mask(%m : tensor<64x64xi1>) scope(sys) : tensor<64x64xbf16>, tensor<64x64xi32>
  // CHECK: nv.global_atomic cas %{{.*}} to %{{.*}}[%{{.*}}] compare(%{{.*}} : tensor<64x64xi32>) : tensor<64x64xi32>, tensor<64x64xi32>
  %swapped = nv.global_atomic cas %o to %p[%o] compare(%o : tensor<64x64xi32>) : tensor<64x64xi32>, tensor<64x64xi32>
  // CHECK: nv.store_partial %{{.*}} to %{{.*}} : tensor<64x64xi32>
  nv.store_partial %o to %p : tensor<64x64xi32>
  // CHECK: nv.sum_partials %{{.*}} like %{{.*}} count 4 stride 16384 : tensor<64x64xi32>
  %sum = nv.sum_partials %p like %o count 4 stride 16384 : tensor<64x64xi32>
  // CHECK: nv.memory_fence gpu
  nv.memory_fence gpu
  // CHECK: nv.cp_async %{{.*}}[%{{.*}}] mask(%{{.*}} : tensor<64x64xi1>) to %{{.*}} : tensor<64x64xi32>, <64x64xbf16>
  nv.cp_async %p[%o] mask(%m : tensor<64x64xi1>) to %s : tensor<64x64xi32>, !nv.memdesc<64x64xbf16>
  // CHECK: nv.cp_async.commit
  nv.cp_async.commit
  // CHECK: nv.cp_async.wait 1
  nv.cp_async.wait 1
  // CHECK: nv.cp_async.arrive %{{.*}}
  nv.cp_async.arrive %b
  return
}
