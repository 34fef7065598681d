// RUN: kernel-opt %s --warp-partition --warp-insert-rings --split-input-file --verify-diagnostics | FileCheck %s
// RUN: kernel-opt %s --warp-partition=chip=sm_100a --warp-insert-rings=chip=sm_100a --split-input-file --verify-diagnostics | FileCheck %s --check-prefix=TMEM

// Operands with the same users share a buffer and its barriers; the slot goes back once the product has retired.
// CHECK-LABEL: func.func @product
// CHECK: %[[AB:.*]] = warp.buffer : <1 x [64x64xbf16, 64x32xbf16]>
// CHECK: %[[FREE:.*]] = warp.ring released %[[AB]]
// CHECK: %[[READY:.*]] = warp.ring %[[AB]]
// CHECK: scf.for
// CHECK: %[[T:.*]] = warp.acquire %[[FREE]] {warp.in = "load"}
// CHECK: %[[S:.*]]:2 = warp.slot %[[T]] {warp.in = "load"}
// CHECK: nv.tma.load %{{.*}} to %[[S]]#0 {warp.in = "load"}
// CHECK: nv.tma.load %{{.*}} to %[[S]]#1 {warp.in = "load"}
// CHECK: warp.release %[[T]] to %[[READY]] tma {warp.in = "load"}
// CHECK: %[[U:.*]] = warp.acquire %[[READY]] {warp.in = "math"}
// CHECK: %[[V:.*]]:2 = warp.slot %[[U]]
// CHECK: %[[D:.*]] = nv.wgmma %[[V]]#0, %[[V]]#1
// CHECK: nv.wgmma.wait %[[D]] pending(0)
// CHECK: warp.release %[[U]] to %[[FREE]] wgmma {warp.in = "math"}
//
// In tensor memory a sum that the loop only adds to is owned by mma for the whole loop.
// TMEM-LABEL: func.func @product
// TMEM: %[[ACC:.*]] = warp.buffer : <1 x [64x32xf32], tmem>
// TMEM: %[[FREE:.*]] = warp.ring released %[[ACC]]
// TMEM: %[[FULL:.*]] = warp.ring %[[ACC]]
// TMEM: %[[T:.*]] = warp.acquire %[[FREE]] {warp.in = "mma"}
// TMEM: scf.for
// TMEM: nv.tcgen05.mma {{.*}} accumulate(%{{.*}}) {warp.in = "mma"}
// TMEM: warp.release %{{.*}} to %{{.*}} tcgen05 {warp.in = "mma"}
// TMEM: }
// TMEM: warp.release %[[T]] to %[[FULL]] tcgen05 {warp.in = "mma"}
// TMEM: %[[U:.*]] = warp.acquire %[[FULL]] {warp.in = "math"}
// TMEM: nv.tmem.load
// TMEM: warp.release %[[U]] to %[[FREE]] generic {warp.in = "math"}
func.func @product(%A: !tile.desc<64x64xbf16>, %B: !tile.desc<64x32xbf16>, %D: i64 {tile.pointer = f32}, %k: i32, %p: tensor<64x32xi32>)
    attributes {tile.kernel} {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %none = ub.poison : tensor<64x32xf32>
  %sum = scf.for %i = %c0 to %k step %c64 iter_args(%acc = %none) -> tensor<64x32xf32> : i32 {
    %a = tile.load %A[%c0, %i] : !tile.desc<64x64xbf16> -> tensor<64x64xbf16>
    %b = tile.load %B[%i, %c0] : !tile.desc<64x32xbf16> -> tensor<64x32xbf16>
    %later = arith.cmpi ne, %i, %c0 : i32
    %d = tile.dot %a, %b acc(%acc) use_acc(%later) : tensor<64x64xbf16>, tensor<64x32xbf16> -> tensor<64x32xf32>
    scf.yield %d : tensor<64x32xf32>
  }
  tile.scatter %sum to %D[%p] : tensor<64x32xf32>, tensor<64x32xi32>
  return
}

// -----

// A tile that only element-wise code reads goes to registers, and its slot goes back at once.
// CHECK-LABEL: func.func @copy
// CHECK: %[[U:.*]] = warp.acquire %{{.*}} {warp.in = "math"}
// CHECK: %[[V:.*]] = warp.slot %[[U]]
// CHECK: %[[X:.*]] = nv.local_load %[[V]]
// CHECK: warp.release %[[U]] to %{{.*}} generic {warp.in = "math"}
// CHECK: math.exp2 %[[X]]
// CHECK: warp.store
func.func @copy(%A: !tile.desc<64x64xf32>, %D: !tile.desc<64x64xf32>, %i: i32) attributes {tile.kernel} {
  %a = tile.load %A[%i, %i] : !tile.desc<64x64xf32> -> tensor<64x64xf32>
  %y = math.exp2 %a : tensor<64x64xf32>
  tile.store %y to %D[%i, %i] : tensor<64x64xf32>, !tile.desc<64x64xf32>
  return
}

// -----

// Two products with different lifetimes of their operands: two buffers. The first operand serves the whole loop from registers on
// Hopper; on Blackwell its slot is held until the loop ends, and what is made in registers goes to tensor memory.
// CHECK-LABEL: func.func @chain
// CHECK-COUNT-3: warp.buffer : <1 x [64x64xbf16]>
// CHECK-NOT: warp.buffer
// CHECK: %[[Q:.*]] = nv.local_load
// CHECK: warp.release %{{.*}} generic {warp.in = "math"}
// CHECK: scf.for
// CHECK: nv.wgmma %[[Q]]
// CHECK: nv.wgmma.wait
// CHECK: warp.release %{{.*}} wgmma
// CHECK: arith.truncf
// CHECK: nv.wgmma %{{.*}} acc(
// CHECK: warp.release %{{.*}} wgmma
// TMEM-LABEL: func.func @chain
// TMEM-DAG: warp.buffer : <1 x [64x64xf32], tmem>
// TMEM-DAG: warp.buffer : <1 x [64x64xbf16], tmem>
// TMEM: scf.for
// TMEM: nv.tcgen05.mma
// TMEM: nv.tmem.load
// TMEM: nv.tmem.store %{{.*}} to %{{.*}} {warp.in = "math"}
// TMEM: nv.tcgen05.mma
// TMEM: }
// TMEM: warp.release %{{.*}} tcgen05 {warp.in = "mma"}
func.func @chain(%Q: !tile.desc<64x64xbf16>, %K: !tile.desc<64x64xbf16>, %V: !tile.desc<64x64xbf16>, %D: i64 {tile.pointer = f32}, %n: i32,
                 %p: tensor<64x64xi32>) attributes {tile.kernel} {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %none = ub.poison : tensor<64x64xf32>
  %q = tile.load %Q[%c0, %c0] : !tile.desc<64x64xbf16> -> tensor<64x64xbf16>
  %sum = scf.for %i = %c0 to %n step %c64 iter_args(%acc = %none) -> tensor<64x64xf32> : i32 {
    %k = tile.load %K[%c0, %i] : !tile.desc<64x64xbf16> -> tensor<64x64xbf16>
    %s = tile.dot %q, %k : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
    %g = math.absf %s : tensor<64x64xf32>
    %g16 = arith.truncf %g : tensor<64x64xf32> to tensor<64x64xbf16>
    %v = tile.load %V[%i, %c0] : !tile.desc<64x64xbf16> -> tensor<64x64xbf16>
    %later = arith.cmpi ne, %i, %c0 : i32
    %d = tile.dot %g16, %v acc(%acc) use_acc(%later) : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
    scf.yield %d : tensor<64x64xf32>
  }
  tile.scatter %sum to %D[%p] : tensor<64x64xf32>, tensor<64x64xi32>
  return
}

// -----

// A tile that goes to another iteration does so in registers.
// CHECK-LABEL: func.func @carried
// CHECK: scf.for
// CHECK: nv.tma.load
// CHECK: %[[A:.*]] = nv.local_load
// CHECK-NEXT: warp.release
// CHECK-NEXT: scf.yield %[[A]]
func.func @carried(%A: !tile.desc<64x64xf32>, %D: !tile.desc<64x64xf32>, %n: i32) attributes {tile.kernel} {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %last = scf.for %i = %c0 to %n step %c64 iter_args(%before = %zero) -> tensor<64x64xf32> : i32 {
    %a = tile.load %A[%i, %i] : !tile.desc<64x64xf32> -> tensor<64x64xf32>
    scf.yield %a : tensor<64x64xf32>
  }
  tile.store %last to %D[%c0, %c0] : tensor<64x64xf32>, !tile.desc<64x64xf32>
  return
}

// -----

// A transposed tile is code in registers for the store, and a view for the product; the sum's first value is read to
// registers, although the product uses it.
// CHECK-LABEL: func.func @two_uses
// CHECK: %[[SLOT:.*]] = warp.slot {{.*}}warp.in = "math"
// CHECK: %[[TILE:.*]] = nv.local_load %[[SLOT]]
// CHECK: %[[T:.*]] = tile.trans %[[TILE]]
// CHECK: %[[SLOTS:.*]]:2 = warp.slot {{.*}}warp.in = "math"
// CHECK: %[[C:.*]] = nv.local_load %[[SLOTS]]#1
// CHECK: %[[VIEW:.*]] = nv.memdesc.trans %[[SLOT]]
// CHECK: nv.wgmma %[[SLOTS]]#0, %[[VIEW]] acc(%[[C]])
// CHECK: warp.store %[[T]]
//
// Where the product is another role's, what both use is loaded for each.
// TMEM-LABEL: func.func @two_uses
// TMEM-COUNT-4: nv.tma.load
// TMEM: nv.tcgen05.mma
func.func @two_uses(%A: !tile.desc<64x64xbf16>, %C: !tile.desc<64x64xf32>, %D: !tile.desc<64x64xf32>, %E: !tile.desc<64x64xbf16>)
    attributes {tile.kernel} {
  %c0 = arith.constant 0 : i32
  %a = tile.load %A[%c0, %c0] : !tile.desc<64x64xbf16> -> tensor<64x64xbf16>
  %b = tile.load %A[%c0, %c0] : !tile.desc<64x64xbf16> -> tensor<64x64xbf16>
  %t = tile.trans %b : tensor<64x64xbf16> -> tensor<64x64xbf16>
  %c = tile.load %C[%c0, %c0] : !tile.desc<64x64xf32> -> tensor<64x64xf32>
  %d = tile.dot %a, %t acc(%c) : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
  tile.store %d to %D[%c0, %c0] : tensor<64x64xf32>, !tile.desc<64x64xf32>
  tile.store %t to %E[%c0, %c0] : tensor<64x64xbf16>, !tile.desc<64x64xbf16>
  return
}

// -----

// A sum that may have no products starts from what math writes, and is the mma role's for the loop.
// TMEM-LABEL: func.func @from_start
// TMEM: %[[ACC:.*]] = warp.buffer : <1 x [64x32xf32], tmem>
// TMEM: %[[FREE:.*]] = warp.ring released %[[ACC]]
// TMEM: %[[READY:.*]] = warp.ring %[[ACC]]
// TMEM: %[[FULL:.*]] = warp.ring %[[ACC]]
// TMEM: %[[W:.*]] = warp.acquire %[[FREE]] {warp.in = "math"}
// TMEM: nv.tmem.store %{{.*}} {warp.in = "math"}
// TMEM: warp.release %[[W]] to %[[READY]] generic {warp.in = "math"}
// TMEM: %[[T:.*]] = warp.acquire %[[READY]] {warp.in = "mma"}
// TMEM: scf.for
// TMEM-NOT: warp.in = "math"
// TMEM: nv.tcgen05.mma
// TMEM-NOT: warp.in = "math"
// TMEM: warp.release %[[T]] to %[[FULL]] tcgen05 {warp.in = "mma"}
// TMEM: %[[R:.*]] = warp.acquire %[[FULL]] {warp.in = "math"}
// TMEM: nv.tmem.load
// TMEM: warp.release %[[R]] to %[[FREE]] generic {warp.in = "math"}
func.func @from_start(%A: !tile.desc<64x64xbf16>, %B: !tile.desc<64x32xbf16>, %D: i64 {tile.pointer = f32}, %k: i32, %p: tensor<64x32xi32>)
    attributes {tile.kernel} {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %zero = arith.constant dense<0.0> : tensor<64x32xf32>
  %sum = scf.for %i = %c0 to %k step %c64 iter_args(%acc = %zero) -> tensor<64x32xf32> : i32 {
    %a = tile.load %A[%c0, %i] : !tile.desc<64x64xbf16> -> tensor<64x64xbf16>
    %b = tile.load %B[%i, %c0] : !tile.desc<64x32xbf16> -> tensor<64x32xbf16>
    %d = tile.dot %a, %b acc(%acc) : tensor<64x64xbf16>, tensor<64x32xbf16> -> tensor<64x32xf32>
    scf.yield %d : tensor<64x32xf32>
  }
  tile.scatter %sum to %D[%p] : tensor<64x32xf32>, tensor<64x32xi32>
  return
}

// -----

// A sum that element-wise code changes between products stays in tensor memory: math has its turn each iteration, and every
// ring is passed once a round; the first round passes the start through mma.
// TMEM-LABEL: func.func @decayed
// TMEM: %[[ACC:.*]] = warp.buffer : <1 x [64x32xf32], tmem>
// TMEM: %[[FREE:.*]] = warp.ring released %[[ACC]]
// TMEM: %[[READY:.*]] = warp.ring %[[ACC]]
// TMEM: %[[FULL:.*]] = warp.ring %[[ACC]]
// TMEM: %[[W:.*]] = warp.acquire %[[FREE]] {warp.in = "math"}
// TMEM: nv.tmem.store
// TMEM: warp.release %[[W]] to %[[READY]] generic {warp.in = "math"}
// TMEM: %[[P:.*]] = warp.acquire %[[READY]] {warp.in = "mma"}
// TMEM-NEXT: warp.release %[[P]] to %[[FULL]] tcgen05 {warp.in = "mma"}
// TMEM: scf.for
// TMEM: %[[H:.*]] = warp.acquire %[[FULL]] {warp.in = "math"}
// TMEM-NEXT: warp.release %[[H]] to %[[FREE]] generic {warp.in = "math"}
// TMEM-NEXT: %[[O:.*]] = warp.acquire %[[FREE]] {warp.in = "math"}
// TMEM-NEXT: %[[S:.*]] = warp.slot %[[O]]
// TMEM-NEXT: %[[X:.*]] = nv.tmem.load %[[S]]
// TMEM-NEXT: %[[Y:.*]] = arith.mulf %[[X]]
// TMEM-NEXT: nv.tmem.store %[[Y]] to %[[S]]
// TMEM-NEXT: warp.release %[[O]] to %[[READY]] generic {warp.in = "math"}
// TMEM-NEXT: %[[M:.*]] = warp.acquire %[[READY]] {warp.in = "mma"}
// TMEM: nv.tcgen05.mma
// TMEM: warp.release %[[M]] to %[[FULL]] tcgen05 {warp.in = "mma"}
// TMEM: }
// TMEM: warp.acquire %[[FULL]] {warp.in = "math"}
// TMEM: nv.tmem.load
func.func @decayed(%A: !tile.desc<64x64xbf16>, %B: !tile.desc<64x32xbf16>, %D: i64 {tile.pointer = f32}, %k: i32, %p: tensor<64x32xi32>,
                   %decay: f32) attributes {tile.kernel} {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %zero = arith.constant dense<0.0> : tensor<64x32xf32>
  %sum = scf.for %i = %c0 to %k step %c64 iter_args(%acc = %zero) -> tensor<64x32xf32> : i32 {
    %f = nv.splat %decay : f32 -> tensor<64x32xf32>
    %less = arith.mulf %acc, %f : tensor<64x32xf32>
    %a = tile.load %A[%c0, %i] : !tile.desc<64x64xbf16> -> tensor<64x64xbf16>
    %b = tile.load %B[%i, %c0] : !tile.desc<64x32xbf16> -> tensor<64x32xbf16>
    %d = tile.dot %a, %b acc(%less) : tensor<64x64xbf16>, tensor<64x32xbf16> -> tensor<64x32xf32>
    scf.yield %d : tensor<64x32xf32>
  }
  tile.scatter %sum to %D[%p] : tensor<64x32xf32>, tensor<64x32xi32>
  return
}

// -----

// What something else reads between products goes through registers.
// TMEM-LABEL: func.func @watched
// TMEM: scf.for
// TMEM: nv.tmem.store
// TMEM: nv.tcgen05.mma
// TMEM: nv.tmem.load
// TMEM: scf.yield
func.func @watched(%A: !tile.desc<64x64xbf16>, %B: !tile.desc<64x32xbf16>, %D: i64 {tile.pointer = f32}, %k: i32, %p: tensor<64x32xi32>,
                   %q: tensor<64xi32>) attributes {tile.kernel} {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %zero = arith.constant dense<0.0> : tensor<64x32xf32>
  %sum = scf.for %i = %c0 to %k step %c64 iter_args(%acc = %zero) -> tensor<64x32xf32> : i32 {
    %a = tile.load %A[%c0, %i] : !tile.desc<64x64xbf16> -> tensor<64x64xbf16>
    %b = tile.load %B[%i, %c0] : !tile.desc<64x32xbf16> -> tensor<64x32xbf16>
    %row = nv.reduce add %acc dim(1) : tensor<64x32xf32> -> tensor<64xf32>
    tile.scatter %row to %D[%q] : tensor<64xf32>, tensor<64xi32>
    %d = tile.dot %a, %b acc(%acc) : tensor<64x64xbf16>, tensor<64x32xbf16> -> tensor<64x32xf32>
    scf.yield %d : tensor<64x32xf32>
  }
  tile.scatter %sum to %D[%p] : tensor<64x32xf32>, tensor<64x32xi32>
  return
}

// -----

// A result leaves in pieces of `epilogue` columns through a ring of `buffers` slots. What all tiles of a row read again is evicted
// last under `keep = "rows"`; what changes from tile to tile of the row streams through.
// CHECK-LABEL: func.func @schedule_fields
// CHECK: warp.buffer per_replica : <2 x [64x32xbf16]>
// CHECK: nv.tma.load %arg0[{{.*}}] to %{{.*}} cache(evict_last)
// CHECK: nv.tma.load %arg1[{{.*}}] to %{{.*}} cache(evict_first)
// CHECK-COUNT-2: warp.store {{.*}} : tensor<64x32xbf16>
// CHECK-NOT: warp.store
func.func @schedule_fields(%A: !tile.desc<64x64xbf16>, %B: !tile.desc<64x64xbf16>, %D: !tile.desc<64x64xbf16>, %n: i32)
    attributes {tile.kernel, tile.schedule = #tile.schedule<keep = "rows", buffers = 2, epilogue = 32>} {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  tile.for_each_tile (%i, %j) in (%n, %n) {
    %row = arith.muli %i, %c64 : i32
    %column = arith.muli %j, %c64 : i32
    %sum = scf.for %k = %c0 to %n step %c64 iter_args(%acc = %zero) -> tensor<64x64xf32> : i32 {
      %a = tile.load %A[%row, %k] : !tile.desc<64x64xbf16> -> tensor<64x64xbf16>
      %b = tile.load %B[%k, %column] : !tile.desc<64x64xbf16> -> tensor<64x64xbf16>
      %d = tile.dot %a, %b acc(%acc) : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
      scf.yield %d : tensor<64x64xf32>
    }
    %c = arith.truncf %sum : tensor<64x64xf32> to tensor<64x64xbf16>
    tile.store %c to %D[%row, %column] : tensor<64x64xbf16>, !tile.desc<64x64xbf16>
  }
  return
}

// -----

// Sums of tiles that replicas take in turn leave in pieces of 64 rows, here through a box of one batch.
// CHECK-LABEL: func.func @rows_in_turn
// CHECK: warp.buffer per_replica : <2 x [64x32xbf16]>
// CHECK: %[[ROW:.*]] = arith.muli
// CHECK: %[[BOX:.*]] = tile.rebox %arg2 : !tile.desc<1x128x64xbf16> -> !tile.desc<1x64x32xbf16>
// CHECK: nv.extract %{{.*}}[0, 0] : tensor<128x64xbf16> -> tensor<64x32xbf16>
// CHECK: warp.store %{{.*}} to %[[BOX]][%{{.*}}, %[[ROW]], %{{.*}}] through
// CHECK: nv.extract %{{.*}}[64, 0]
// CHECK: %[[C64:.*]] = arith.constant 64 : i32
// CHECK: %[[NEXT:.*]] = arith.addi %[[ROW]], %[[C64]]
// CHECK: warp.store %{{.*}} to %[[BOX]][%{{.*}}, %[[NEXT]], %{{.*}}] through
// CHECK: nv.extract %{{.*}}[0, 32]
// CHECK: nv.extract %{{.*}}[64, 32]
// CHECK: warp.store
// CHECK-NOT: warp.store
func.func @rows_in_turn(%A: !tile.desc<128x64xbf16>, %B: !tile.desc<64x64xbf16>, %D: !tile.desc<1x128x64xbf16>, %n: i32)
    attributes {tile.kernel, tile.schedule = #tile.schedule<use = "pingpong", replicas = 2, buffers = 2, epilogue = 32>} {
  %c0 = arith.constant 0 : i32
  %c128 = arith.constant 128 : i32
  %zero = arith.constant dense<0.0> : tensor<128x64xf32>
  tile.for_each_tile (%i, %j) in (%n, %n) {
    %row = arith.muli %i, %c128 : i32
    %a = tile.load %A[%row, %c0] : !tile.desc<128x64xbf16> -> tensor<128x64xbf16>
    %b = tile.load %B[%c0, %j] : !tile.desc<64x64xbf16> -> tensor<64x64xbf16>
    %d = tile.dot %a, %b acc(%zero) : tensor<128x64xbf16>, tensor<64x64xbf16> -> tensor<128x64xf32>
    %c = arith.truncf %d : tensor<128x64xf32> to tensor<128x64xbf16>
    tile.store %c to %D[%c0, %row, %j] : tensor<128x64xbf16>, !tile.desc<1x128x64xbf16>
  }
  return
}

// -----

// Not where the sum is worked on before it leaves, ...
// CHECK-LABEL: func.func @work_in_turn
// CHECK: warp.buffer per_replica : <2 x [128x32xbf16]>
// CHECK-COUNT-2: warp.store {{.*}} : tensor<128x32xbf16>
// CHECK-NOT: warp.store
func.func @work_in_turn(%A: !tile.desc<128x64xbf16>, %B: !tile.desc<64x64xbf16>, %D: !tile.desc<128x64xbf16>, %n: i32)
    attributes {tile.kernel, tile.schedule = #tile.schedule<use = "pingpong", replicas = 2, buffers = 2, epilogue = 32>} {
  %c0 = arith.constant 0 : i32
  %zero = arith.constant dense<0.0> : tensor<128x64xf32>
  tile.for_each_tile (%i, %j) in (%n, %n) {
    %a = tile.load %A[%i, %c0] : !tile.desc<128x64xbf16> -> tensor<128x64xbf16>
    %b = tile.load %B[%c0, %j] : !tile.desc<64x64xbf16> -> tensor<64x64xbf16>
    %d = tile.dot %a, %b acc(%zero) : tensor<128x64xbf16>, tensor<64x64xbf16> -> tensor<128x64xf32>
    %e = math.exp2 %d : tensor<128x64xf32>
    %c = arith.truncf %e : tensor<128x64xf32> to tensor<128x64xbf16>
    tile.store %c to %D[%i, %j] : tensor<128x64xbf16>, !tile.desc<128x64xbf16>
  }
  return
}

// -----

// Transposed sums leave in pieces of rows; of what is taken in turn they have the columns of one instruction.
// CHECK-LABEL: func.func @transposed_in_turn
// CHECK: warp.buffer per_replica : <2 x [80x64xbf16]>
// CHECK: nv.extract %{{.*}}[0, 0] : tensor<160x128xbf16> -> tensor<80x64xbf16>
// CHECK: nv.extract %{{.*}}[80, 0]
// CHECK: nv.extract %{{.*}}[0, 64]
// CHECK: nv.extract %{{.*}}[80, 64]
// CHECK: warp.store
// CHECK-NOT: warp.store
func.func @transposed_in_turn(%A: !tile.desc<128x64xbf16>, %B: !tile.desc<64x160xbf16>, %D: !tile.desc<160x128xbf16>, %n: i32)
    attributes {tile.kernel, tile.schedule = #tile.schedule<use = "pingpong", replicas = 2, buffers = 2, epilogue = 32>} {
  %c0 = arith.constant 0 : i32
  %zero = arith.constant dense<0.0> : tensor<128x160xf32>
  tile.for_each_tile (%i, %j) in (%n, %n) {
    %a = tile.load %A[%i, %c0] : !tile.desc<128x64xbf16> -> tensor<128x64xbf16>
    %b = tile.load %B[%c0, %j] : !tile.desc<64x160xbf16> -> tensor<64x160xbf16>
    %d = tile.dot %a, %b acc(%zero) : tensor<128x64xbf16>, tensor<64x160xbf16> -> tensor<128x160xf32>
    %t = tile.trans %d : tensor<128x160xf32> -> tensor<160x128xf32>
    %c = arith.truncf %t : tensor<160x128xf32> to tensor<160x128xbf16>
    tile.store %c to %D[%j, %i] : tensor<160x128xbf16>, !tile.desc<160x128xbf16>
  }
  return
}

// -----

// ... and not where a piece would be less than 4 KiB.
// CHECK-LABEL: func.func @narrow_in_turn
// CHECK: warp.buffer per_replica : <2 x [128x16xbf16]>
// CHECK-COUNT-4: warp.store {{.*}} : tensor<128x16xbf16>
// CHECK-NOT: warp.store
func.func @narrow_in_turn(%A: !tile.desc<128x64xbf16>, %B: !tile.desc<64x64xbf16>, %D: !tile.desc<128x64xbf16>, %n: i32)
    attributes {tile.kernel, tile.schedule = #tile.schedule<use = "pingpong", replicas = 2, buffers = 2, epilogue = 16>} {
  %c0 = arith.constant 0 : i32
  %zero = arith.constant dense<0.0> : tensor<128x64xf32>
  tile.for_each_tile (%i, %j) in (%n, %n) {
    %a = tile.load %A[%i, %c0] : !tile.desc<128x64xbf16> -> tensor<128x64xbf16>
    %b = tile.load %B[%c0, %j] : !tile.desc<64x64xbf16> -> tensor<64x64xbf16>
    %d = tile.dot %a, %b acc(%zero) : tensor<128x64xbf16>, tensor<64x64xbf16> -> tensor<128x64xf32>
    %c = arith.truncf %d : tensor<128x64xf32> to tensor<128x64xbf16>
    tile.store %c to %D[%i, %j] : tensor<128x64xbf16>, !tile.desc<128x64xbf16>
  }
  return
}

// -----

// By columns it is the other operand.
// CHECK-LABEL: func.func @keep_columns
// CHECK: nv.tma.load %arg0[{{.*}}] to %{{.*}} cache(evict_first)
// CHECK: nv.tma.load %arg1[{{.*}}] to %{{.*}} cache(evict_last)
func.func @keep_columns(%A: !tile.desc<64x64xbf16>, %B: !tile.desc<64x64xbf16>, %D: !tile.desc<64x64xf32>, %n: i32)
    attributes {tile.kernel, tile.schedule = #tile.schedule<keep = "columns">} {
  %c0 = arith.constant 0 : i32
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  tile.for_each_tile (%i, %j) in (%n, %n) {
    %a = tile.load %A[%i, %c0] : !tile.desc<64x64xbf16> -> tensor<64x64xbf16>
    %b = tile.load %B[%c0, %j] : !tile.desc<64x64xbf16> -> tensor<64x64xbf16>
    %d = tile.dot %a, %b acc(%zero) : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
    tile.store %d to %D[%i, %j] : tensor<64x64xf32>, !tile.desc<64x64xf32>
  }
  return
}

// -----

// What threads write for a product travels as a copy does; the ring's release is generic.
// CHECK-LABEL: func.func @pointers
// CHECK: %[[AB:.*]] = warp.buffer : <1 x [64x64xbf16, 64x32xbf16]>
// CHECK: %[[FREE:.*]] = warp.ring released %[[AB]]
// CHECK: %[[READY:.*]] = warp.ring %[[AB]]
// CHECK: %[[X:.*]] = tile.gather
// CHECK: %[[T:.*]] = warp.acquire %[[FREE]] {warp.in = "gather"}
// CHECK: %[[S:.*]]:2 = warp.slot %[[T]]
// CHECK: nv.local_store %[[X]] to %[[S]]#0 {warp.in = "gather"}
// CHECK: %[[Y:.*]] = tile.gather
// CHECK: nv.local_store %[[Y]] to %[[S]]#1 {warp.in = "gather"}
// CHECK: warp.release %[[T]] to %[[READY]] generic {warp.in = "gather"}
// CHECK: %[[U:.*]] = warp.acquire %[[READY]] {warp.in = "math"}
// CHECK: nv.wgmma
// CHECK: warp.release %[[U]] to %[[FREE]] wgmma {warp.in = "math"}
// TMEM-LABEL: func.func @pointers
func.func @pointers(%p: i64 {tile.pointer = bf16}, %d: i64 {tile.pointer = f32}, %a: tensor<64x64xi32>, %b: tensor<64x32xi32>) attributes {tile.kernel} {
  %x = tile.gather %p[%a] : tensor<64x64xi32> -> tensor<64x64xbf16>
  %y = tile.gather %p[%b] : tensor<64x32xi32> -> tensor<64x32xbf16>
  %s = tile.dot %x, %y : tensor<64x64xbf16>, tensor<64x32xbf16> -> tensor<64x32xf32>
  tile.scatter %s to %d[%b] : tensor<64x32xf32>, tensor<64x32xi32>
  return
}

// -----

// Places that are known to be neighbours are copied without registers, and the barrier counts the copies.
// CHECK-LABEL: func.func @copies
// CHECK: %[[S:.*]]:2 = warp.slot
// CHECK: nv.cp_async %{{.*}}[%{{.*}}] to %[[S]]#0 {warp.in = "gather"}
// CHECK: nv.cp_async %{{.*}}[%{{.*}}] mask(%{{.*}} : tensor<64x32xi1>) to %[[S]]#1 {warp.in = "gather"}
// CHECK-NOT: nv.local_store
// CHECK: warp.release %{{.*}} to %{{.*}} cp_async {warp.in = "gather"}
// TMEM-LABEL: func.func @copies
// TMEM: warp.release %{{.*}} to %{{.*}} cp_async {warp.in = "gather"}
func.func @copies(%p: i64 {tile.pointer = bf16, tile.divisibility = 16 : i32}, %d: i64 {tile.pointer = f32}) attributes {tile.kernel} {
  %c64 = arith.constant dense<64> : tensor<64x64xi32>
  %row = nv.index dim(0) : tensor<64x64xi32>
  %column = nv.index dim(1) : tensor<64x64xi32>
  %start = arith.muli %row, %c64 overflow<nsw> : tensor<64x64xi32>
  %a = arith.addi %start, %column overflow<nsw> : tensor<64x64xi32>
  %c32 = arith.constant dense<32> : tensor<64x32xi32>
  %row2 = nv.index dim(0) : tensor<64x32xi32>
  %column2 = nv.index dim(1) : tensor<64x32xi32>
  %start2 = arith.muli %row2, %c32 overflow<nsw> : tensor<64x32xi32>
  %b = arith.addi %start2, %column2 overflow<nsw> : tensor<64x32xi32>
  %inside = arith.cmpi slt, %row2, %c32 : tensor<64x32xi32>
  %zero = arith.constant dense<0.0> : tensor<64x32xbf16>
  %x = tile.gather %p[%a] : tensor<64x64xi32> -> tensor<64x64xbf16>
  %y = tile.gather %p[%b] mask(%inside : tensor<64x32xi1>) other(%zero : tensor<64x32xbf16>) : tensor<64x32xi32> -> tensor<64x32xbf16>
  %s = tile.dot %x, %y : tensor<64x64xbf16>, tensor<64x32xbf16> -> tensor<64x32xf32>
  tile.scatter %s to %d[%b] : tensor<64x32xf32>, tensor<64x32xi32>
  return
}

// -----

// Where a masked-off element is not zero it is read and stored.
// CHECK-LABEL: func.func @filled
// CHECK-NOT: nv.cp_async
// CHECK: warp.release %{{.*}} to %{{.*}} generic {warp.in = "gather"}
// TMEM-LABEL: func.func @filled
func.func @filled(%p: i64 {tile.pointer = bf16, tile.divisibility = 16 : i32}, %d: i64 {tile.pointer = f32}) attributes {tile.kernel} {
  %c64 = arith.constant dense<64> : tensor<64x64xi32>
  %row = nv.index dim(0) : tensor<64x64xi32>
  %column = nv.index dim(1) : tensor<64x64xi32>
  %start = arith.muli %row, %c64 overflow<nsw> : tensor<64x64xi32>
  %a = arith.addi %start, %column overflow<nsw> : tensor<64x64xi32>
  %inside = arith.cmpi slt, %row, %c64 : tensor<64x64xi32>
  %one = arith.constant dense<1.0> : tensor<64x64xbf16>
  %x = tile.gather %p[%a] mask(%inside : tensor<64x64xi1>) other(%one : tensor<64x64xbf16>) : tensor<64x64xi32> -> tensor<64x64xbf16>
  %s = tile.dot %x, %x : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
  tile.scatter %s to %d[%a] : tensor<64x64xf32>, tensor<64x64xi32>
  return
}

// -----

// A role that writes an operand for itself: replicas would each have their own.
// CHECK-LABEL: func.func @computed
// CHECK: %[[B:.*]] = warp.buffer {{.*}}per_replica
// CHECK: nv.local_store {{.*}} {warp.in = "math"}
// CHECK: warp.release {{.*}} generic {warp.in = "math"}
// CHECK: warp.acquire {{.*}} {warp.in = "math"}
// CHECK: nv.wgmma
// TMEM-LABEL: func.func @computed
// TMEM-NOT: per_replica
func.func @computed(%A: !tile.desc<64x64xbf16>, %d: i64 {tile.pointer = f32}, %b: tensor<64x64xi32>, %i: i32) attributes {tile.kernel} {
  %x = tile.load %A[%i, %i] : !tile.desc<64x64xbf16> -> tensor<64x64xbf16>
  %y = arith.negf %x : tensor<64x64xbf16>
  %s = tile.dot %y, %y : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
  tile.scatter %s to %d[%b] : tensor<64x64xf32>, tensor<64x64xi32>
  return
}

// -----

// Boxes that are combined with memory are staged as stores are.
// CHECK-LABEL: func.func @combined
// CHECK: warp.store {{.*}} reduce(add) through {{.*}} {warp.in = "math"}
// TMEM-LABEL: func.func @combined
func.func @combined(%A: !tile.desc<64x64xf32>, %D: !tile.desc<64x64xf32>, %i: i32) attributes {tile.kernel} {
  %x = tile.load %A[%i, %i] : !tile.desc<64x64xf32> -> tensor<64x64xf32>
  tile.store_reduce add %x to %D[%i, %i] : tensor<64x64xf32>, !tile.desc<64x64xf32>
  return
}

// -----

// Boxes one above the other: a copy for each, into its rows of the slot.
// CHECK-LABEL: func.func @boxes
// CHECK: %[[S:.*]]:2 = warp.slot %{{.*}} {warp.in = "load"}
// CHECK: %[[UPPER:.*]] = nv.memdesc.slice %[[S]]#0[%c0_i32{{.*}}, %c0_i32{{.*}}] {warp.in = "load"} : <64x64xbf16> -> <32x64xbf16>
// CHECK: nv.tma.load %{{.*}}[%[[I:.*]], %{{.*}}] to %[[UPPER]]
// CHECK: %[[LOWER:.*]] = nv.memdesc.slice %[[S]]#0[%c32_i32, %{{.*}}] {warp.in = "load"} : <64x64xbf16> -> <32x64xbf16>
// CHECK: nv.tma.load %{{.*}}[%[[J:.*]], %{{.*}}] to %[[LOWER]]
// CHECK: warp.release
// TMEM-LABEL: func.func @boxes
func.func @boxes(%A: !tile.desc<32x64xbf16>, %B: !tile.desc<64x64xbf16>, %D: !tile.desc<64x64xf32>, %i: i32, %j: i32) attributes {tile.kernel} {
  %a = tile.load %A[%i, %i, %j, %i] : !tile.desc<32x64xbf16> -> tensor<64x64xbf16>
  %b = tile.load %B[%i, %i] : !tile.desc<64x64xbf16> -> tensor<64x64xbf16>
  %d = tile.dot %a, %b : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
  tile.store %d to %D[%i, %i] : tensor<64x64xf32>, !tile.desc<64x64xf32>
  return
}

// -----

// An operand made by a role of its own out of a tile that the product reads as well: it is copied for each of the two, whose slots are free at
// different times. The role's reads go to registers, and what it writes is handed to the product.
// CHECK-LABEL: func.func @halved
// CHECK: warp.ring released %[[OWN:.*]] :
// CHECK: warp.buffer : <1 x [64x64xbf16]>
// CHECK: warp.buffer : <1 x [64x64xbf16]>
// CHECK: scf.for
// CHECK-COUNT-2: nv.tma.load {{.*}} {warp.in = "load"}
// CHECK: %[[T:.*]] = warp.acquire {{.*}} {warp.in = "gather"}
// CHECK: %[[X:.*]] = nv.local_load {{.*}} {warp.in = "gather"}
// CHECK-NEXT: warp.release %[[T]] to {{.*}} generic {warp.in = "gather"}
// CHECK: %[[H:.*]] = arith.mulf %[[X]]
// CHECK: nv.local_store %[[H]] to {{.*}} {warp.in = "gather"}
// CHECK: warp.release {{.*}} generic {warp.in = "gather"}
// CHECK: nv.wgmma {{.*}} {warp.in = "math"}
// TMEM-LABEL: func.func @halved
func.func @halved(%A: !tile.desc<64x64xbf16>, %D: !tile.desc<64x64xf32>, %n: i32, %i: i32)
    attributes {tile.kernel, tile.schedule = #tile.schedule<replicas = 1, operands = "gather">} {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %half = arith.constant dense<0.5> : tensor<64x64xbf16>
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %d = scf.for %k = %c0 to %n step %c64 iter_args(%acc = %zero) -> tensor<64x64xf32> : i32 {
    %x = tile.load %A[%i, %k] : !tile.desc<64x64xbf16> -> tensor<64x64xbf16>
    %h = arith.mulf %x, %half : tensor<64x64xbf16>
    %t = tile.trans %h : tensor<64x64xbf16> -> tensor<64x64xbf16>
    %next = tile.dot %x, %t acc(%acc) : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
    scf.yield %next : tensor<64x64xf32>
  }
  tile.store %d to %D[%i, %i] : tensor<64x64xf32>, !tile.desc<64x64xf32>
  return
}

// -----

// Loaded tiles that a product reads one below the other: one view of a slot, a copy into rows of it for each, and one ring with operand A.
// CHECK-LABEL: func.func @stacked
// CHECK: warp.buffer : <1 x [128x64xbf16, 128x64xbf16]>
// CHECK-NOT: warp.buffer
// CHECK: %[[VIEWS:.*]]:2 = warp.slot
// CHECK: nv.tma.load %{{.*}} to %[[VIEWS]]#0
// CHECK: %[[UPPER:.*]] = nv.memdesc.slice %[[VIEWS]]#1
// CHECK: nv.tma.load %{{.*}} to %[[UPPER]]
// CHECK: %[[LOWER:.*]] = nv.memdesc.slice %[[VIEWS]]#1
// CHECK: nv.tma.load %{{.*}} to %[[LOWER]]
// CHECK: nv.wgmma {{.*}} -> tensor<128x128xf32>
func.func @stacked(%A: !tile.desc<128x64xbf16>, %B: !tile.desc<64x64xbf16>, %m: i32, %k: i32, %zero: tensor<128x128xf32>)
    attributes {tile.kernel, warp.roles = ["math", "load"]} {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  tile.for_each_tile (%i) in (%m) {
    %sum = scf.for %x = %c0 to %k step %c64 iter_args(%c = %zero) -> tensor<128x128xf32> : i32 {
      %a = tile.load %A[%i, %x] {warp.in = "load"} : !tile.desc<128x64xbf16> -> tensor<128x64xbf16>
      %g = tile.load %B[%c0, %x] {warp.in = "load"} : !tile.desc<64x64xbf16> -> tensor<64x64xbf16>
      %u = tile.load %B[%c64, %x] {warp.in = "load"} : !tile.desc<64x64xbf16> -> tensor<64x64xbf16>
      %b = nv.concat %g, %u dim(0) : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<128x64xbf16>
      %t = tile.trans %b : tensor<128x64xbf16> -> tensor<64x128xbf16>
      %d = tile.dot %a, %t acc(%c) {warp.in = "math"} : tensor<128x64xbf16>, tensor<64x128xbf16> -> tensor<128x128xf32>
      scf.yield %d : tensor<128x128xf32>
    }
  }
  return
}

// -----

// A slot that a product reads and the warps too: its lanes meet before one of them gives it back. On Blackwell the sum that a store reads
// between products is written before the first of them, from zeros.
// CHECK-LABEL: func.func @read_twice
// CHECK: nv.local_load %{{.*}} {warp.in = "math"}
// CHECK: nv.wgmma.wait
// CHECK: warp.release %{{.*}} to %{{.*}} generic {warp.in = "math"}
//
// TMEM-LABEL: func.func @read_twice
// TMEM: %[[ZEROS:.*]] = arith.constant dense<0.000000e+00> : tensor<64x32xf32>
// TMEM: scf.for {{.*}} iter_args(%[[ACC:.*]] = %[[ZEROS]])
// TMEM: nv.tmem.store %[[ACC]]
func.func @read_twice(%A: !tile.desc<64x64xbf16>, %B: !tile.desc<64x32xbf16>, %C: !tile.desc<64x64xbf16>, %D: !tile.desc<64x32xf32>, %k: i32)
    attributes {tile.kernel} {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %none = ub.poison : tensor<64x32xf32>
  %sum = scf.for %i = %c0 to %k step %c64 iter_args(%acc = %none) -> tensor<64x32xf32> : i32 {
    %a = tile.load %A[%c0, %i] : !tile.desc<64x64xbf16> -> tensor<64x64xbf16>
    %b = tile.load %B[%i, %c0] : !tile.desc<64x32xbf16> -> tensor<64x32xbf16>
    %later = arith.cmpi ne, %i, %c0 : i32
    %d = tile.dot %a, %b acc(%acc) use_acc(%later) : tensor<64x64xbf16>, tensor<64x32xbf16> -> tensor<64x32xf32>
    %n = arith.negf %a : tensor<64x64xbf16>
    tile.store %n to %C[%c0, %i] : tensor<64x64xbf16>, !tile.desc<64x64xbf16>
    tile.store %d to %D[%c0, %i] : tensor<64x32xf32>, !tile.desc<64x32xf32>
    scf.yield %d : tensor<64x32xf32>
  }
  return
}
