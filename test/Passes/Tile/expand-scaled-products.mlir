// RUN: kernel-opt %s --tile-expand-scaled-products --split-input-file | FileCheck %s

// Each operand in f32 times the powers of two of its blocks, rounded to bf16. The scales of b lie by its columns.
// CHECK-LABEL: func.func @both
// CHECK-SAME: (%[[A:.*]]: tensor<64x64xf8E4M3FN>, %[[SA:.*]]: tensor<64x2xi8>, %[[B:.*]]: tensor<64x32xf16>, %[[SB:.*]]: tensor<32x2xi8>, %[[C:.*]]: tensor<64x32xf32>)
// CHECK: %[[X:.*]] = arith.extf %[[A]] : tensor<64x64xf8E4M3FN> to tensor<64x64xf32>
// CHECK: %[[E:.*]] = tile.expand_dims %[[SA]] dim(2) : tensor<64x2xi8> -> tensor<64x2x1xi8>
// CHECK: %[[S:.*]] = tile.broadcast %[[E]] : tensor<64x2x1xi8> -> tensor<64x2x32xi8>
// CHECK: %[[R:.*]] = tile.reshape %[[S]] : tensor<64x2x32xi8> -> tensor<64x64xi8>
// CHECK: %[[W:.*]] = arith.extui %[[R]] : tensor<64x64xi8> to tensor<64x64xi32>
// CHECK: %[[BITS:.*]] = arith.shli %[[W]], %{{.*}}
// CHECK: arith.cmpi eq, %[[W]]
// CHECK: %[[SMALL:.*]] = arith.select %{{.*}}, %{{.*}}, %[[BITS]]
// CHECK: arith.cmpi eq, %[[W]]
// CHECK: %[[ALL:.*]] = arith.select %{{.*}}, %{{.*}}, %[[SMALL]]
// CHECK: %[[F:.*]] = arith.bitcast %[[ALL]] : tensor<64x64xi32> to tensor<64x64xf32>
// CHECK: %[[P:.*]] = arith.mulf %[[X]], %[[F]]
// CHECK: %[[L:.*]] = arith.truncf %[[P]] : tensor<64x64xf32> to tensor<64x64xbf16>
// CHECK: tile.trans %[[SB]] : tensor<32x2xi8> -> tensor<2x32xi8>
// CHECK: tile.expand_dims %{{.*}} dim(1) : tensor<2x32xi8> -> tensor<2x1x32xi8>
// CHECK: tile.reshape %{{.*}} : tensor<2x32x32xi8> -> tensor<64x32xi8>
// CHECK: %[[Y:.*]] = arith.truncf %{{.*}} : tensor<64x32xf32> to tensor<64x32xbf16>
// CHECK: tile.dot %[[L]], %[[Y]] acc(%[[C]]) : tensor<64x64xbf16>, tensor<64x32xbf16> -> tensor<64x32xf32>
// CHECK-NOT: dot_scaled
func.func @both(%a: tensor<64x64xf8E4M3FN>, %sa: tensor<64x2xi8>, %b: tensor<64x32xf16>, %sb: tensor<32x2xi8>, %c: tensor<64x32xf32>) -> tensor<64x32xf32> {
  %d = tile.dot_scaled %a scale(%sa), %b scale(%sb) acc(%c) : tensor<64x64xf8E4M3FN> scale tensor<64x2xi8>, tensor<64x32xf16> scale tensor<32x2xi8> -> tensor<64x32xf32>
  return %d : tensor<64x32xf32>
}

// -----

// What has no scale is converted alone, or nothing at all; fast: 255 is whatever comes.
// CHECK-LABEL: func.func @one
// CHECK-SAME: (%[[A:.*]]: tensor<64x32xbf16>
// CHECK-COUNT-1: arith.cmpi
// CHECK-NOT: arith.cmpi
// CHECK: tile.dot %[[A]], %{{.*}} : tensor<64x32xbf16>, tensor<32x32xbf16> -> tensor<64x32xf32>
func.func @one(%a: tensor<64x32xbf16>, %b: tensor<32x32xf8E5M2>, %sb: tensor<32x1xi8>) -> tensor<64x32xf32> {
  %d = tile.dot_scaled %a, %b scale(%sb) fast : tensor<64x32xbf16>, tensor<32x32xf8E5M2> scale tensor<32x1xi8> -> tensor<64x32xf32>
  return %d : tensor<64x32xf32>
}
