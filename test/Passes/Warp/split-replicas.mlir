// RUN: kernel-opt %s --warp-partition --warp-insert-rings --warp-split-roles --warp-split-replicas --split-input-file --verify-diagnostics | FileCheck %s

// Rows of a product, of what is made from it, of row numbers and of the store; operand B stays whole.
// CHECK-LABEL: func.func @rows
// CHECK: warp.buffer per_replica : <1 x [64x64xf32]>
// CHECK: warp.role @math warps(4) replicas(2) {
// CHECK: %[[R:.*]] = warp.replica_index
// CHECK: %[[FIRST:.*]] = arith.muli %[[R]], %{{.*}} : i32
// CHECK: nv.memdesc.slice %{{.*}}[%[[FIRST]], %{{.*}}] : <128x64xbf16> -> <64x64xbf16>
// CHECK: nv.wgmma {{.*}} -> tensor<64x64xf32>
// CHECK: nv.index dim(0) : tensor<64xi32>
// CHECK: nv.splat %[[FIRST]] : i32 -> tensor<64xi32>
// CHECK: nv.reduce max {{.*}} : tensor<64x64xf32> -> tensor<64xf32>
// CHECK: tile.rebox %{{.*}} : !tile.desc<128x64xf32> -> !tile.desc<64x64xf32>
// CHECK: arith.addi %{{.*}}, %[[FIRST]]
// CHECK: warp.store
func.func @rows(%A: !tile.desc<128x64xbf16>, %B: !tile.desc<64x64xbf16>, %D: !tile.desc<128x64xf32>, %i: i32)
    attributes {tile.kernel, tile.schedule = #tile.schedule<replicas = 2, use = "cooperative">} {
  %a = tile.load %A[%i, %i] : !tile.desc<128x64xbf16> -> tensor<128x64xbf16>
  %b = tile.load %B[%i, %i] : !tile.desc<64x64xbf16> -> tensor<64x64xbf16>
  %d = tile.dot %a, %b : tensor<128x64xbf16>, tensor<64x64xbf16> -> tensor<128x64xf32>
  %row = nv.index dim(0) : tensor<128xi32>
  %rowf = arith.sitofp %row : tensor<128xi32> to tensor<128xf32>
  %top = nv.reduce max %d dim(1) : tensor<128x64xf32> -> tensor<128xf32>
  %both = arith.addf %top, %rowf : tensor<128xf32>
  %wide = nv.broadcast %both dim(1) : tensor<128xf32> -> tensor<128x64xf32>
  %y = arith.subf %d, %wide : tensor<128x64xf32>
  tile.store %y to %D[%i, %i] : tensor<128x64xf32>, !tile.desc<128x64xf32>
  return
}

// -----

// Rows that the box counts by two indices: the first of them is divided.
// CHECK-LABEL: func.func @rows_of_two_indices
// CHECK: %[[R:.*]] = warp.replica_index
// CHECK: %[[FIRST:.*]] = arith.muli %[[R]], %c8{{.*}} : i32
// CHECK: tile.rebox %{{.*}} : !tile.desc<1x16x1x8x64xf32> -> !tile.desc<1x8x1x8x64xf32>
// CHECK: %[[PLACE:.*]] = arith.addi %{{.*}}, %[[FIRST]]
// CHECK: warp.store %{{.*}} to %{{.*}}[%{{[^,]*}}, %[[PLACE]], %{{.*}}] {{.*}}: tensor<64x64xf32>
func.func @rows_of_two_indices(%A: !tile.desc<128x64xbf16>, %B: !tile.desc<64x64xbf16>, %D: !tile.desc<1x16x1x8x64xf32>, %i: i32)
    attributes {tile.kernel, tile.schedule = #tile.schedule<replicas = 2, use = "cooperative">} {
  %a = tile.load %A[%i, %i] : !tile.desc<128x64xbf16> -> tensor<128x64xbf16>
  %b = tile.load %B[%i, %i] : !tile.desc<64x64xbf16> -> tensor<64x64xbf16>
  %d = tile.dot %a, %b : tensor<128x64xbf16>, tensor<64x64xbf16> -> tensor<128x64xf32>
  tile.store %d to %D[%i, %i, %i, %i, %i] : tensor<128x64xf32>, !tile.desc<1x16x1x8x64xf32>
  return
}

// -----

// Turns: the products of a tile stay together, the epilogue is beside the other replica's.
// CHECK-LABEL: func.func @turns
// CHECK: %[[ORDER:.*]] = warp.order 2
// CHECK: warp.for_each_tile {{.*}} step(replica)
// CHECK: warp.await %[[ORDER]]
// CHECK: scf.for
// CHECK: nv.wgmma
// CHECK: }
// CHECK: warp.pass %[[ORDER]]
// CHECK: warp.store
func.func @turns(%A: !tile.desc<64x64xbf16>, %B: !tile.desc<64x64xbf16>, %D: !tile.desc<64x64xf32>, %tiles: i32, %k: i32)
    attributes {tile.kernel, tile.schedule = #tile.schedule<replicas = 2, use = "pingpong">} {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  tile.for_each_tile (%i) in (%tiles) {
    %row = arith.muli %i, %c64 : i32
    %sum = scf.for %kk = %c0 to %k step %c64 iter_args(%acc = %zero) -> tensor<64x64xf32> : i32 {
      %a = tile.load %A[%row, %kk] : !tile.desc<64x64xbf16> -> tensor<64x64xbf16>
      %b = tile.load %B[%kk, %c0] : !tile.desc<64x64xbf16> -> tensor<64x64xbf16>
      %d = tile.dot %a, %b acc(%acc) : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
      scf.yield %d : tensor<64x64xf32>
    }
    tile.store %sum to %D[%row, %c0] : tensor<64x64xf32>, !tile.desc<64x64xf32>
  }
  return
}

// -----

func.func @across(%A: !tile.desc<128x64xbf16>, %B: !tile.desc<64x64xbf16>, %D: i64 {tile.pointer = f32}, %i: i32)
    attributes {tile.kernel, tile.schedule = #tile.schedule<replicas = 2, use = "cooperative">} {
  %a = tile.load %A[%i, %i] : !tile.desc<128x64xbf16> -> tensor<128x64xbf16>
  %b = tile.load %B[%i, %i] : !tile.desc<64x64xbf16> -> tensor<64x64xbf16>
  %d = tile.dot %a, %b : tensor<128x64xbf16>, tensor<64x64xbf16> -> tensor<128x64xf32>
  // expected-error @+1 {{cannot be split over 2 replicas by rows: a reduction along the rows crosses replicas}}
  %sums = nv.reduce add %d dim(0) : tensor<128x64xf32> -> tensor<64xf32>
  %at = nv.index dim(0) : tensor<64xi32>
  tile.scatter %sums to %D[%at] : tensor<64xf32>, tensor<64xi32>
  return
}

// -----

// One warpgroup does everything where the compiler chose the replicas.
// CHECK-LABEL: func.func @across_chosen
// CHECK: warp.role @math warps(4) {
// CHECK: nv.reduce add {{.*}} : tensor<128x64xf32> -> tensor<64xf32>
func.func @across_chosen(%A: !tile.desc<128x64xbf16>, %B: !tile.desc<64x64xbf16>, %D: i64 {tile.pointer = f32}, %i: i32)
    attributes {tile.kernel, tile.replicas_chosen, tile.schedule = #tile.schedule<replicas = 2, use = "cooperative">} {
  %a = tile.load %A[%i, %i] : !tile.desc<128x64xbf16> -> tensor<128x64xbf16>
  %b = tile.load %B[%i, %i] : !tile.desc<64x64xbf16> -> tensor<64x64xbf16>
  %d = tile.dot %a, %b : tensor<128x64xbf16>, tensor<64x64xbf16> -> tensor<128x64xf32>
  // expected-remark @+1 {{one warpgroup for all rows: they cannot be split over 2: a reduction along the rows crosses replicas}}
  %sums = nv.reduce add %d dim(0) : tensor<128x64xf32> -> tensor<64xf32>
  %at = nv.index dim(0) : tensor<64xi32>
  tile.scatter %sums to %D[%at] : tensor<64xf32>, tensor<64xi32>
  return
}

// -----

// What has nothing to do with the products is shared by rows as well; a transposed sum is split by columns.
// CHECK-LABEL: func.func @others
// CHECK: %[[T:.*]] = tile.trans %{{.*}} : tensor<64x64xf32> -> tensor<64x64xf32>
// CHECK: warp.store %[[T]] to %{{.*}} : tensor<64x64xf32>
// CHECK: %[[AT:.*]] = nv.index dim(0) : tensor<32xi32>
// CHECK: tile.scatter %{{.*}} : tensor<32xi32>, tensor<32xi32>
func.func @others(%A: !tile.desc<128x64xbf16>, %B: !tile.desc<64x64xbf16>, %D: !tile.desc<64x128xf32>, %E: i64 {tile.pointer = i32}, %i: i32)
    attributes {tile.kernel, tile.schedule = #tile.schedule<replicas = 2, use = "cooperative">} {
  %a = tile.load %A[%i, %i] : !tile.desc<128x64xbf16> -> tensor<128x64xbf16>
  %b = tile.load %B[%i, %i] : !tile.desc<64x64xbf16> -> tensor<64x64xbf16>
  %d = tile.dot %a, %b : tensor<128x64xbf16>, tensor<64x64xbf16> -> tensor<128x64xf32>
  %t = tile.trans %d : tensor<128x64xf32> -> tensor<64x128xf32>
  tile.store %t to %D[%i, %i] : tensor<64x128xf32>, !tile.desc<64x128xf32>
  %at = nv.index dim(0) : tensor<64xi32>
  tile.scatter %at to %E[%at] : tensor<64xi32>, tensor<64xi32>
  return
}

// -----

func.func @shared(%A: !tile.desc<128x64xbf16>, %B: !tile.desc<64x64xbf16>, %D: !tile.desc<128x64xf32>, %E: i64 {tile.pointer = i32}, %i: i32)
    attributes {tile.kernel, tile.schedule = #tile.schedule<replicas = 2, use = "cooperative">} {
  %a = tile.load %A[%i, %i] : !tile.desc<128x64xbf16> -> tensor<128x64xbf16>
  %b = tile.load %B[%i, %i] : !tile.desc<64x64xbf16> -> tensor<64x64xbf16>
  %d = tile.dot %a, %b : tensor<128x64xbf16>, tensor<64x64xbf16> -> tensor<128x64xf32>
  tile.store %d to %D[%i, %i] : tensor<128x64xf32>, !tile.desc<128x64xf32>
  // expected-error @+1 {{every replica would write the same element}}
  tile.scatter %i to %E[%i] : i32, i32
  return
}

// -----

// Numbers that are read for each row and each column, with dimensions of extent one: the rows' are divided.
// CHECK-LABEL: func.func @labels_of_rows
// CHECK: warp.role @math warps(4) replicas(2) {
// CHECK: nv.global_load {{.*}} -> tensor<64x1xi32>
// CHECK: nv.global_load {{.*}} -> tensor<1x64xi32>
// CHECK: arith.cmpi eq, {{.*}} : tensor<64x64xi32>
func.func @labels_of_rows(%A: !tile.desc<128x64xbf16>, %B: !tile.desc<64x64xbf16>, %D: !tile.desc<128x64xf32>, %labels: i64, %i: i32)
    attributes {tile.kernel, tile.schedule = #tile.schedule<replicas = 2, use = "cooperative">} {
  %zero = arith.constant dense<0.0> : tensor<128x64xf32>
  %a = tile.load %A[%i, %i] : !tile.desc<128x64xbf16> -> tensor<128x64xbf16>
  %b = tile.load %B[%i, %i] : !tile.desc<64x64xbf16> -> tensor<64x64xbf16>
  %d = tile.dot %a, %b : tensor<128x64xbf16>, tensor<64x64xbf16> -> tensor<128x64xf32>
  %r = nv.index dim(0) : tensor<128xi64>
  %c = nv.index dim(0) : tensor<64xi64>
  %row = tile.expand_dims %r dim(1) : tensor<128xi64> -> tensor<128x1xi64>
  %column = tile.expand_dims %c dim(0) : tensor<64xi64> -> tensor<1x64xi64>
  %of_row = nv.global_load %labels[%row] : tensor<128x1xi64> -> tensor<128x1xi32>
  %of_column = nv.global_load %labels[%column] : tensor<1x64xi64> -> tensor<1x64xi32>
  %left = tile.broadcast %of_row : tensor<128x1xi32> -> tensor<128x64xi32>
  %right = tile.broadcast %of_column : tensor<1x64xi32> -> tensor<128x64xi32>
  %same = arith.cmpi eq, %left, %right : tensor<128x64xi32>
  %y = arith.select %same, %d, %zero : tensor<128x64xi1>, tensor<128x64xf32>
  tile.store %y to %D[%i, %i] : tensor<128x64xf32>, !tile.desc<128x64xf32>
  return
}

// -----

func.func @meets(%A: !tile.desc<128x64xbf16>, %B: !tile.desc<64x64xbf16>, %D: !tile.desc<128x64xf32>, %i: i32)
    attributes {tile.kernel, tile.schedule = #tile.schedule<replicas = 2, use = "cooperative">} {
  %a = tile.load %A[%i, %i] : !tile.desc<128x64xbf16> -> tensor<128x64xbf16>
  %b = tile.load %B[%i, %i] : !tile.desc<64x64xbf16> -> tensor<64x64xbf16>
  %d = tile.dot %a, %b : tensor<128x64xbf16>, tensor<64x64xbf16> -> tensor<128x64xf32>
  tile.store %d to %D[%i, %i] : tensor<128x64xf32>, !tile.desc<128x64xf32>
  // expected-error @+1 {{all warps of the program meet there}}
  nv.named_barrier
  return
}

// -----

// Rows keep their place in another order of dimensions, and where elements are taken along the columns.
// CHECK-LABEL: func.func @orders
// CHECK: warp.role @math warps(4) replicas(2) {
// CHECK: tile.trans %{{.*}} [2, 0, 1] : tensor<64x64x1xf32> -> tensor<1x64x64xf32>
// CHECK: tile.take %{{.*}}[%{{.*}}] dim(1) : tensor<64x64xf32>, tensor<64x64xi32> -> tensor<64x64xf32>
func.func @orders(%A: !tile.desc<128x64xbf16>, %B: !tile.desc<64x64xbf16>, %D: !tile.desc<128x64xf32>, %i: i32)
    attributes {tile.kernel, tile.schedule = #tile.schedule<replicas = 2, use = "cooperative">} {
  %a = tile.load %A[%i, %i] : !tile.desc<128x64xbf16> -> tensor<128x64xbf16>
  %b = tile.load %B[%i, %i] : !tile.desc<64x64xbf16> -> tensor<64x64xbf16>
  %d = tile.dot %a, %b : tensor<128x64xbf16>, tensor<64x64xbf16> -> tensor<128x64xf32>
  %e = tile.expand_dims %d dim(2) : tensor<128x64xf32> -> tensor<128x64x1xf32>
  %t = tile.trans %e [2, 0, 1] : tensor<128x64x1xf32> -> tensor<1x128x64xf32>
  %s = nv.reduce add %t dim(0) : tensor<1x128x64xf32> -> tensor<128x64xf32>
  %at = nv.index dim(1) : tensor<128x64xi32>
  %y = tile.take %s[%at] dim(1) : tensor<128x64xf32>, tensor<128x64xi32> -> tensor<128x64xf32>
  tile.store %y to %D[%i, %i] : tensor<128x64xf32>, !tile.desc<128x64xf32>
  return
}

// -----

func.func @along_rows(%A: !tile.desc<128x64xbf16>, %B: !tile.desc<64x64xbf16>, %D: !tile.desc<128x64xf32>, %i: i32)
    attributes {tile.kernel, tile.schedule = #tile.schedule<replicas = 2, use = "cooperative">} {
  %a = tile.load %A[%i, %i] : !tile.desc<128x64xbf16> -> tensor<128x64xbf16>
  %b = tile.load %B[%i, %i] : !tile.desc<64x64xbf16> -> tensor<64x64xbf16>
  %d = tile.dot %a, %b : tensor<128x64xbf16>, tensor<64x64xbf16> -> tensor<128x64xf32>
  %at = nv.index dim(0) : tensor<128x64xi32>
  // expected-error @+1 {{elements taken along the rows cross replicas}}
  %y = tile.take %d[%at] dim(0) : tensor<128x64xf32>, tensor<128x64xi32> -> tensor<128x64xf32>
  tile.store %y to %D[%i, %i] : tensor<128x64xf32>, !tile.desc<128x64xf32>
  return
}

// -----

// Columns of a product, of what is made from it, of a bias read from shared memory, of numbers of columns and of the store, by blocks
// of 64 rows; operand A stays whole.
// CHECK-LABEL: func.func @columns(
// CHECK: warp.buffer per_replica : <1 x [64x104xf32]>
// CHECK: warp.role @math warps(4) replicas(2) {
// CHECK: %[[R:.*]] = warp.replica_index
// CHECK: %[[FIRST:.*]] = arith.muli %[[R]], %c104{{.*}} : i32
// CHECK: nv.memdesc.slice %{{.*}}[%{{.*}}, %[[FIRST]]] : <64x208xbf16> -> <64x104xbf16>
// CHECK: nv.wgmma {{.*}} : !nv.memdesc<192x64xbf16>, <64x104xbf16> -> tensor<192x104xf32>
// CHECK: %[[NUMBER:.*]] = nv.index dim(0) : tensor<104xi32>
// CHECK: %[[SPLAT:.*]] = nv.splat %[[FIRST]] : i32 -> tensor<104xi32>
// CHECK: arith.addi %[[NUMBER]], %[[SPLAT]]
// CHECK: nv.extract %{{.*}}[64, 0] : tensor<192x104xf32> -> tensor<64x104xf32>
// CHECK: tile.rebox %{{.*}} : !tile.desc<64x208xf32> -> !tile.desc<64x104xf32>
// CHECK: %[[COLUMN:.*]] = arith.addi %{{.*}}, %[[FIRST]]
// CHECK: warp.store %{{.*}} to %{{.*}}[%{{.*}}, %[[COLUMN]]]
func.func @columns(%A: !tile.desc<192x64xbf16>, %B: !tile.desc<208x64xbf16>, %D: !tile.desc<192x208xf32>, %E: !tile.desc<192x208xf32>, %i: i32)
    attributes {tile.kernel, tile.schedule = #tile.schedule<replicas = 2, use = "cooperative", divide = "columns">} {
  %a = tile.load %A[%i, %i] : !tile.desc<192x64xbf16> -> tensor<192x64xbf16>
  %b = tile.load %B[%i, %i] : !tile.desc<208x64xbf16> -> tensor<208x64xbf16>
  %bt = tile.trans %b : tensor<208x64xbf16> -> tensor<64x208xbf16>
  %d = tile.dot %a, %bt : tensor<192x64xbf16>, tensor<64x208xbf16> -> tensor<192x208xf32>
  %column = nv.index dim(0) : tensor<208xi32>
  %columnf = arith.sitofp %column : tensor<208xi32> to tensor<208xf32>
  %wide = nv.broadcast %columnf dim(0) : tensor<208xf32> -> tensor<192x208xf32>
  %y = arith.subf %d, %wide : tensor<192x208xf32>
  tile.store %y to %E[%i, %i] : tensor<192x208xf32>, !tile.desc<192x208xf32>
  tile.store %d to %D[%i, %i] : tensor<192x208xf32>, !tile.desc<192x208xf32>
  return
}

// -----

func.func @reduced_columns(%A: !tile.desc<128x64xbf16>, %B: !tile.desc<64x128xbf16>, %D: !tile.desc<128xf32>, %i: i32)
    attributes {tile.kernel, tile.schedule = #tile.schedule<replicas = 2, use = "cooperative", divide = "columns">} {
  %a = tile.load %A[%i, %i] : !tile.desc<128x64xbf16> -> tensor<128x64xbf16>
  %b = tile.load %B[%i, %i] : !tile.desc<64x128xbf16> -> tensor<64x128xbf16>
  %d = tile.dot %a, %b : tensor<128x64xbf16>, tensor<64x128xbf16> -> tensor<128x128xf32>
  // expected-error @+1 {{cannot be split over 2 replicas by columns: a reduction along the columns crosses replicas}}
  %top = nv.reduce max %d dim(1) : tensor<128x128xf32> -> tensor<128xf32>
  tile.store %top to %D[%i] : tensor<128xf32>, !tile.desc<128xf32>
  return
}

// -----

// The first half of a sum's columns and the second would each be in one replica.
func.func @halves(%A: !tile.desc<64x64xbf16>, %B: !tile.desc<64x128xbf16>, %D: !tile.desc<64x64xf32>, %i: i32)
    attributes {tile.kernel, tile.schedule = #tile.schedule<replicas = 2, use = "cooperative", divide = "columns">} {
  %a = tile.load %A[%i, %i] : !tile.desc<64x64xbf16> -> tensor<64x64xbf16>
  %b = tile.load %B[%i, %i] : !tile.desc<64x128xbf16> -> tensor<64x128xbf16>
  %d = tile.dot %a, %b : tensor<64x64xbf16>, tensor<64x128xbf16> -> tensor<64x128xf32>
  %gate = nv.extract %d[0, 0] : tensor<64x128xf32> -> tensor<64x64xf32>
  %up = nv.extract %d[0, 64] : tensor<64x128xf32> -> tensor<64x64xf32>
  // expected-error @+1 {{cannot be split over 2 replicas by columns: expected elements from 64 on of 128, found those from 0 on of 128}}
  %y = arith.mulf %gate, %up : tensor<64x64xf32>
  tile.store %y to %D[%i, %i] : tensor<64x64xf32>, !tile.desc<64x64xf32>
  return
}

// -----

// The operand of a second product would be summed over what replicas share.
func.func @chained(%A: !tile.desc<64x64xbf16>, %B: !tile.desc<64x64xbf16>, %D: !tile.desc<64x64xf32>, %i: i32)
    attributes {tile.kernel, tile.schedule = #tile.schedule<replicas = 2, use = "cooperative", divide = "columns">} {
  %a = tile.load %A[%i, %i] : !tile.desc<64x64xbf16> -> tensor<64x64xbf16>
  %b = tile.load %B[%i, %i] : !tile.desc<64x64xbf16> -> tensor<64x64xbf16>
  %d = tile.dot %a, %b : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
  %p = arith.truncf %d : tensor<64x64xf32> to tensor<64x64xbf16>
  // expected-error @+1 {{cannot be split over 2 replicas by columns: only the columns of a product can be shared}}
  %y = tile.dot %p, %b : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
  tile.store %y to %D[%i, %i] : tensor<64x64xf32>, !tile.desc<64x64xf32>
  return
}
