// RUN: kernel-opt %s | kernel-opt | FileCheck %s
// RUN: kernel-opt %s --mlir-print-op-generic | kernel-opt | FileCheck %s

// CHECK-LABEL: func.func @storage
func.func @storage() {
  // CHECK: %[[AB:.*]] = warp.buffer : <4 x [128x64xbf16, 256x64xbf16]>
  %ab = warp.buffer : !warp.buffer<4 x [128x64xbf16, 256x64xbf16]>
  // CHECK: %[[ACC:.*]] = warp.buffer : <2 x [128x256xf32], tmem>
  %acc = warp.buffer : !warp.buffer<2 x [128x256xf32], tmem>
  // CHECK: warp.buffer per_replica : <1 x [64x128xbf16]>
  %out = warp.buffer per_replica : !warp.buffer<1 x [64x128xbf16]>
  // CHECK: warp.buffer : <3 x []>
  %turns = warp.buffer : !warp.buffer<3 x []>
  // CHECK: warp.ring released %[[AB]] : <4 x [128x64xbf16, 256x64xbf16]>
  %free = warp.ring released %ab : !warp.buffer<4 x [128x64xbf16, 256x64xbf16]>
  // CHECK: warp.ring %[[ACC]] scope(pair)
  %pair = warp.ring %acc scope(pair) : !warp.buffer<2 x [128x256xf32], tmem>
  // CHECK: warp.order 2
  %turn = warp.order 2
  return
}

// CHECK-LABEL: func.func @launch() attributes {warp.launch = #warp.launch<persistent = false, cluster = 2, perSm = 3>}
func.func @launch() attributes {warp.launch = #warp.launch<persistent = false, cluster = 2, perSm = 3>} {
  return
}

// CHECK-LABEL: func.func @roles
func.func @roles(%m: i32, %n: i32, %C: !tile.desc<64x64xbf16>, %v: tensor<64x64xbf16>) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %b = warp.buffer : !warp.buffer<2 x [64x64xbf16]>
  // CHECK: %[[FREE:.*]] = warp.ring released
  %free = warp.ring released %b : !warp.buffer<2 x [64x64xbf16]>
  // CHECK: %[[READY:.*]] = warp.ring %
  %ready = warp.ring %b : !warp.buffer<2 x [64x64xbf16]>
  %s = warp.buffer per_replica : !warp.buffer<2 x [64x64xbf16]>
  // CHECK: %[[STAGED:.*]] = warp.ring released
  %staged = warp.ring released %s : !warp.buffer<2 x [64x64xbf16]>
  // CHECK: %[[TURN:.*]] = warp.order 2
  %turn = warp.order 2
  // CHECK: warp.specialize {
  warp.specialize {
    // CHECK: warp.role @load warps(1) registers(24) {
    warp.role @load warps(1) registers(24) {
      // CHECK: warp.for_each_tile (%{{.*}}, %{{.*}}) in (%{{.*}}, %{{.*}}) group(16) {
      warp.for_each_tile (%i, %j) in (%m, %n) group(16) {
        // CHECK: %[[T:.*]] = warp.acquire %[[FREE]]
        %t = warp.acquire %free
        // CHECK: warp.release %[[T]] to %[[READY]] tma
        warp.release %t to %ready tma
      }
    }
    // CHECK: warp.role @math warps(4) replicas(2) registers(240) {
    warp.role @math warps(4) replicas(2) registers(240) {
      // CHECK: warp.replica_index
      %r = warp.replica_index
      // CHECK: warp.skip %[[READY]] by %
      warp.skip %ready by %r
      // CHECK: warp.for_each_tile (%{{.*}}, %{{.*}}) in (%{{.*}}, %{{.*}}) step(replica) {
      warp.for_each_tile (%i, %j) in (%m, %n) step(replica) {
        // CHECK: warp.await %[[TURN]]
        warp.await %turn
        // CHECK: %[[U:.*]] = warp.acquire %[[READY]]
        %t = warp.acquire %ready
        // CHECK: warp.slot %[[U]] : !nv.memdesc<64x64xbf16>
        %view = warp.slot %t : !nv.memdesc<64x64xbf16>
        // CHECK: warp.pass %[[TURN]]
        warp.pass %turn
        // CHECK: warp.release %[[U]] to %[[FREE]] wgmma
        warp.release %t to %free wgmma
        // CHECK: warp.store %{{.*}} to %{{.*}}[%{{.*}}, %{{.*}}] through %[[STAGED]] : tensor<64x64xbf16>, !tile.desc<64x64xbf16>
        warp.store %v to %C[%i, %j] through %staged : tensor<64x64xbf16>, !tile.desc<64x64xbf16>
      }
    }
  }
  return
}

// With stages assigned.
// CHECK-LABEL: func.func @placed
func.func @placed(%stage: i32, %phase: i32) {
  %b = warp.buffer : !warp.buffer<2 x [64x64xbf16]>
  %ring = warp.ring released %b : !warp.buffer<2 x [64x64xbf16]>
  %turn = warp.order 4
  // CHECK: warp.acquire %{{.*}} at(%{{.*}}, %{{.*}})
  %t = warp.acquire %ring at(%stage, %phase)
  // CHECK: warp.await %{{.*}} at(%{{.*}})
  warp.await %turn at(%phase)
  return
}

// Every kind of release.
// CHECK-LABEL: func.func @kinds
func.func @kinds() {
  %b = warp.buffer : !warp.buffer<2 x [64x64xbf16]>
  %ring = warp.ring released %b : !warp.buffer<2 x [64x64xbf16]>
  %t = warp.acquire %ring
  // CHECK: generic
  warp.release %t to %ring generic
  // CHECK: tma
  warp.release %t to %ring tma
  // CHECK: cp_async
  warp.release %t to %ring cp_async
  // CHECK: bulk_read
  warp.release %t to %ring bulk_read
  // CHECK: wgmma
  warp.release %t to %ring wgmma
  // CHECK: tcgen05
  warp.release %t to %ring tcgen05
  return
}

// CHECK-LABEL: func.func @peek_and_hold
func.func @peek_and_hold(%i: i32, %p: i1) {
  %b = warp.buffer : !warp.buffer<2 x [64x64xbf16]>
  %free = warp.ring released %b : !warp.buffer<2 x [64x64xbf16]>
  // CHECK: warp.ring released
  // CHECK: %[[READY:.*]] = warp.ring %
  %ready = warp.ring %b : !warp.buffer<2 x [64x64xbf16]>
  warp.specialize {
    warp.role @math warps(4) {
      %x = arith.constant dense<0.0> : tensor<64x64xf32>
      // CHECK: %[[T:.*]] = warp.acquire %[[READY]] at(%{{.*}}, %{{.*}}) known(%{{.*}})
      %t = warp.acquire %ready at(%i, %i) known(%p)
      // CHECK: warp.hold %[[T]], %{{.*}} : tensor<64x64xf32>
      %y = warp.hold %t, %x : tensor<64x64xf32>
      warp.release %t to %free generic
      // CHECK: warp.peek %[[READY]]{{$}}
      %soon = warp.peek %ready
      // CHECK: warp.peek %[[READY]] at(%{{.*}}, %{{.*}})
      %later = warp.peek %ready at(%i, %i)
    }
  }
  return
}

// CHECK-LABEL: func.func @shorthand
func.func @shorthand(%D: !tile.desc<64x64xbf16>, %i: i32, %n: i32) {
  // CHECK: %[[C:.*]]:2 = warp.channel : !warp.buffer<2 x [64x64xbf16]>
  %free, %ready = warp.channel : !warp.buffer<2 x [64x64xbf16]>
  // CHECK: warp.channel per_replica : !warp.buffer<1 x [64x64xbf16]>
  %staged = warp.channel per_replica : !warp.buffer<1 x [64x64xbf16]>
  warp.specialize {
    warp.role @load warps(1) {
      // CHECK: warp.for_each_tile (%{{.*}}, %{{.*}}) in (%{{.*}}, %{{.*}}) group(%{{.*}}) attributes {warp.scheduler = "dynamic"} {
      warp.for_each_tile (%m, %k) in (%n, %n) group(%i) attributes {warp.scheduler = "dynamic"} {
        // CHECK: warp.load %{{.*}}[%{{.*}}, %{{.*}}] through %[[C]]#0 to %[[C]]#1 : !tile.desc<64x64xbf16>
        warp.load %D[%i, %i] through %free to %ready : !tile.desc<64x64xbf16>
      }
    }
    warp.role @math warps(4) replicas(2) {
      // CHECK: %[[V:.*]] = warp.get %[[C]]#1 to %[[C]]#0 : tensor<64x64xbf16>
      %v = warp.get %ready to %free : tensor<64x64xbf16>
      // CHECK: warp.put %[[V]] through %[[C]]#0 to %[[C]]#1 alternate : tensor<64x64xbf16>
      warp.put %v through %free to %ready alternate : tensor<64x64xbf16>
      // CHECK: warp.take %[[C]]#1 : !nv.memdesc<64x64xbf16>
      %t, %s = warp.take %ready : !nv.memdesc<64x64xbf16>
      // CHECK: warp.take %[[C]]#1 alternate : !nv.memdesc<64x64xbf16>
      %u, %w = warp.take %ready alternate : !nv.memdesc<64x64xbf16>
    }
  }
  return
}
