// RUN: kernel-opt %s --tile-lower-to-nv | FileCheck %s

// Values before that nobody asks for: a reduction.
// CHECK-LABEL: func.func @relaxed
// CHECK-NOT: fence
// CHECK: nv.global_reduce add
// CHECK-NOT: fence
func.func @relaxed(%p: i64, %x: tensor<64xf32>, %o: tensor<64xi64>) {
  %old = tile.atomic add %x to %p[%o] : tensor<64xf32>, tensor<64xi64> -> tensor<64xf32>
  return
}

// All threads are behind the fence of a release; of an acquire the fence comes first.
// CHECK-LABEL: func.func @ordered
// CHECK: nv.named_barrier
// CHECK-NEXT: nv.memory_fence sys
// CHECK: nv.global_atomic add {{.*}} scope(sys)
// CHECK-NEXT: nv.memory_fence sys
// CHECK-NEXT: nv.named_barrier
func.func @ordered(%p: i64, %x: i32, %o: i64) -> i32 {
  %old = tile.atomic add %x to %p[%o] order(acq_rel) scope(sys) : i32, i64 -> i32
  return %old : i32
}

// What nobody asks for acquires nothing; exchanges have no reduction.
// CHECK-LABEL: func.func @released
// CHECK: nv.named_barrier
// CHECK-NEXT: nv.memory_fence gpu
// CHECK: nv.global_atomic xchg
// CHECK-NEXT: return
func.func @released(%p: i64, %x: i32, %o: i64) {
  %old = tile.atomic xchg %x to %p[%o] order(acq_rel) : i32, i64 -> i32
  return
}

// CHECK-LABEL: func.func @scan
// CHECK: nv.scan mul {{.*}} dim(0) reverse
func.func @scan(%x: tensor<64xf32>) -> tensor<64xf32> {
  %y = tile.scan mul %x dim(0) reverse : tensor<64xf32>
  return %y : tensor<64xf32>
}

// An arrival comes after all that the threads did, and what follows the last one after all arrivals. The last leaves the counter at zero.
// CHECK-LABEL: func.func @arrival
// CHECK-SAME: %{{.*}}: i64, %{{.*}}: i32, %[[COUNT:.*]]: i32
// CHECK-NOT: nv.bulk.wait
// CHECK: nv.named_barrier
// CHECK-NEXT: nv.memory_fence gpu
// CHECK-NEXT: %[[BEFORE:.*]] = nv.global_atomic add
// CHECK-NEXT: nv.memory_fence gpu
// CHECK-NEXT: nv.named_barrier
// CHECK: %[[OTHERS:.*]] = arith.subi %[[COUNT]], %c1
// CHECK: %[[LAST:.*]] = arith.cmpi eq, %[[BEFORE]], %[[OTHERS]]
// CHECK: scf.if %[[LAST]] {
// CHECK-NEXT: nv.global_store %c0
// CHECK: return %[[LAST]]
func.func @arrival(%p: i64, %i: i32, %count: i32) -> i1 {
  %last = tile.last_arrival %p[%i] of %count
  return %last : i1
}

// What the store engine has under way arrives, too; what is stored afterwards is not waited for.
// CHECK-LABEL: func.func @stored_before
// CHECK: warp.store
// CHECK: nv.bulk.wait 0
// CHECK-NEXT: nv.named_barrier
// CHECK-NOT: nv.bulk.wait
// CHECK: warp.store
func.func @stored_before(%C: !tile.desc<64x64xf32>, %x: tensor<64x64xf32>, %p: i64, %i: i32, %n: i32) {
  %b = warp.buffer : !warp.buffer<2 x [64x64xf32]>
  %staged = warp.ring released %b : !warp.buffer<2 x [64x64xf32]>
  warp.store %x to %C[%i, %i] through %staged : tensor<64x64xf32>, !tile.desc<64x64xf32>
  %last = tile.last_arrival %p[%i] of %n
  scf.if %last {
    warp.store %x to %C[%i, %n] through %staged : tensor<64x64xf32>, !tile.desc<64x64xf32>
  }
  return
}

// CHECK-LABEL: func.func @orders
// CHECK: nv.trans {{.*}} [1, 0] : tensor<64x32xf32>
// CHECK: nv.trans {{.*}} [0, 2, 1] : tensor<4x8x16xf32>
// CHECK: nv.trans {{.*}} [2, 0, 1] : tensor<4x8x16xf32>
func.func @orders(%x: tensor<64x32xf32>, %y: tensor<4x8x16xf32>) -> (tensor<32x64xf32>, tensor<4x16x8xf32>, tensor<16x4x8xf32>) {
  %a = tile.trans %x : tensor<64x32xf32> -> tensor<32x64xf32>
  %b = tile.trans %y : tensor<4x8x16xf32> -> tensor<4x16x8xf32>
  %c = tile.trans %y [2, 0, 1] : tensor<4x8x16xf32> -> tensor<16x4x8xf32>
  return %a, %b, %c : tensor<32x64xf32>, tensor<4x16x8xf32>, tensor<16x4x8xf32>
}

// CHECK-LABEL: func.func @indexed
// CHECK: nv.take %{{.*}}[%{{.*}}] dim(1) : tensor<64x32xf32>, tensor<64x8xi32> -> tensor<64x8xf32>
// CHECK: nv.histogram %{{.*}} : tensor<64xi32> -> tensor<16xi32>
func.func @indexed(%x: tensor<64x32xf32>, %i: tensor<64x8xi32>, %y: tensor<64xi32>) -> (tensor<64x8xf32>, tensor<16xi32>) {
  %a = tile.take %x[%i] dim(1) : tensor<64x32xf32>, tensor<64x8xi32> -> tensor<64x8xf32>
  %b = tile.histogram %y : tensor<64xi32> -> tensor<16xi32>
  return %a, %b : tensor<64x8xf32>, tensor<16xi32>
}

// A row of one element grows behind a dimension that is taken out again.
// CHECK-LABEL: func.func @one_element
// CHECK-SAME: (%[[X:.*]]: tensor<1xi1>)
// CHECK: %[[B:.*]] = nv.broadcast %[[X]] dim(0) : tensor<1xi1> -> tensor<64x1xi1>
// CHECK: nv.reshape %[[B]] : tensor<64x1xi1> -> tensor<64xi1>
func.func @one_element(%x: tensor<1xi1>) -> tensor<64xi1> {
  %y = tile.broadcast %x : tensor<1xi1> -> tensor<64xi1>
  return %y : tensor<64xi1>
}
