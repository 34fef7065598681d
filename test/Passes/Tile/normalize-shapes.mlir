// RUN: kernel-opt %s --tile-normalize-shapes --split-input-file | FileCheck %s

// A row value stays one-dimensional until it meets the tile.
// CHECK-LABEL: func.func @rows
// CHECK-SAME: (%[[X:.*]]: tensor<128x64xf32>, %[[S:.*]]: f32)
func.func @rows(%x: tensor<128x64xf32>, %s: f32) -> tensor<128x64xf32> {
  // CHECK: %[[MAX:.*]] = nv.reduce max %[[X]] dim(1) : tensor<128x64xf32> -> tensor<128xf32>
  %m = tile.reduce max %x dim(1) : tensor<128x64xf32> -> tensor<128xf32>
  %e = tile.expand_dims %m dim(1) : tensor<128xf32> -> tensor<128x1xf32>
  %ss = tile.splat %s : f32 -> tensor<128x1xf32>
  // CHECK-DAG: %[[SPLAT:.*]] = nv.splat %[[S]] : f32 -> tensor<128xf32>
  // CHECK-DAG: %[[SCALED:.*]] = arith.mulf %[[MAX]], %[[SPLAT]] : tensor<128xf32>
  %scaled = arith.mulf %e, %ss : tensor<128x1xf32>
  // CHECK: %[[B:.*]] = nv.broadcast %[[SCALED]] dim(1) : tensor<128xf32> -> tensor<128x64xf32>
  %b = tile.broadcast %scaled : tensor<128x1xf32> -> tensor<128x64xf32>
  // CHECK: arith.subf %[[X]], %[[B]]
  %y = arith.subf %x, %b : tensor<128x64xf32>
  return %y : tensor<128x64xf32>
}

// -----

// Row and column numbers become indices of the tile.
// CHECK-LABEL: func.func @triangle
func.func @triangle() -> tensor<128x64xi1> {
  %r = tile.iota : tensor<128xi32>
  %c = tile.iota : tensor<64xi32>
  %re = tile.expand_dims %r dim(1) : tensor<128xi32> -> tensor<128x1xi32>
  %ce = tile.expand_dims %c dim(0) : tensor<64xi32> -> tensor<1x64xi32>
  %rb = tile.broadcast %re : tensor<128x1xi32> -> tensor<128x64xi32>
  %cb = tile.broadcast %ce : tensor<1x64xi32> -> tensor<128x64xi32>
  // CHECK-DAG: %[[R:.*]] = nv.index dim(0) : tensor<128x64xi32>
  // CHECK-DAG: %[[C:.*]] = nv.index dim(1) : tensor<128x64xi32>
  // CHECK: arith.cmpi sle, %[[C]], %[[R]]
  %m = arith.cmpi sle, %cb, %rb : tensor<128x64xi32>
  return %m : tensor<128x64xi1>
}
