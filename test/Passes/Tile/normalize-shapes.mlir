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

// -----

// What is computed of the one element that a row was reduced to is computed as a scalar.
// CHECK-LABEL: func.func @one_element
// CHECK-SAME: %[[X:.*]]: tensor<128xf32>, %[[S:.*]]: f32
func.func @one_element(%x: tensor<128xf32>, %s: f32) -> tensor<128xf32> {
  %half = arith.constant dense<0.5> : tensor<1xf32>
  %one = tile.splat %s : f32 -> tensor<1xf32>
  // CHECK: %[[HALF:.*]] = arith.mulf %[[S]], %{{.*}} : f32
  %scaled = arith.mulf %one, %half : tensor<1xf32>
  // CHECK: %[[ROOT:.*]] = math.sqrt %[[HALF]] : f32
  %root = math.sqrt %scaled : tensor<1xf32>
  // CHECK: %[[ALL:.*]] = nv.splat %[[ROOT]] : f32 -> tensor<128xf32>
  %all = tile.broadcast %root : tensor<1xf32> -> tensor<128xf32>
  // CHECK: arith.addf %[[X]], %[[ALL]]
  %y = arith.addf %x, %all : tensor<128xf32>
  return %y : tensor<128xf32>
}

// -----

// One element of which not all operands are splats stays a tile.
// CHECK-LABEL: func.func @one_place
func.func @one_place(%s: i32) -> tensor<1xi32> {
  %place = tile.iota : tensor<1xi32>
  %two = arith.constant dense<2> : tensor<1xi32>
  // CHECK: arith.muli {{.*}} : tensor<1xi32>
  %y = arith.muli %two, %place : tensor<1xi32>
  return %y : tensor<1xi32>
}

// -----

// A reduction along another dimension than the one that was inserted is one of what it was inserted into; of a row it is a scalar.
// CHECK-LABEL: func.func @beside_unit
// CHECK-SAME: (%[[X:.*]]: tensor<16x8xf32>, %[[Y:.*]]: tensor<4xi32>)
func.func @beside_unit(%x: tensor<16x8xf32>, %y: tensor<4xi32>) -> (tensor<16x1xf32>, tensor<4x128xi32>) {
  // CHECK-DAG: %[[R:.*]] = nv.reduce add %[[X]] dim(1) : tensor<16x8xf32> -> tensor<16xf32>
  // CHECK-DAG: tile.expand_dims %[[R]] dim(1)
  %e = tile.expand_dims %x dim(1) : tensor<16x8xf32> -> tensor<16x1x8xf32>
  %r = tile.reduce add %e dim(2) : tensor<16x1x8xf32> -> tensor<16x1xf32>
  // CHECK-DAG: %[[M:.*]] = nv.reduce max %[[Y]] dim(0) : tensor<4xi32> -> i32
  // CHECK-DAG: %[[S:.*]] = nv.splat %[[M]] : i32 -> tensor<4x128xi32>
  // CHECK: return {{.*}}, %[[S]]
  %f = tile.expand_dims %y dim(1) : tensor<4xi32> -> tensor<4x1xi32>
  %m = tile.reduce max %f dim(0) : tensor<4x1xi32> -> tensor<1xi32>
  %g = tile.expand_dims %m dim(0) : tensor<1xi32> -> tensor<1x1xi32>
  %h = tile.broadcast %g : tensor<1x1xi32> -> tensor<4x1xi32>
  %b = tile.broadcast %h : tensor<4x1xi32> -> tensor<4x128xi32>
  return %r, %b : tensor<16x1xf32>, tensor<4x128xi32>
}

// -----

// An operation that keeps the dimension, as one operand has it of its own, is left alone; nothing is made for it again and again.
// CHECK-LABEL: func.func @own_dimension
func.func @own_dimension(%x: tensor<16x1xf32>, %m: tensor<16xi1>) -> tensor<16x1xf32> {
  %e = tile.expand_dims %m dim(1) : tensor<16xi1> -> tensor<16x1xi1>
  %z = arith.constant dense<0.0> : tensor<16x1xf32>
  // CHECK: arith.select {{.*}} : tensor<16x1xi1>, tensor<16x1xf32>
  %y = arith.select %e, %z, %x : tensor<16x1xi1>, tensor<16x1xf32>
  return %y : tensor<16x1xf32>
}
