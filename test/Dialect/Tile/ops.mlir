// RUN: kernel-opt %s | kernel-opt | FileCheck %s
// RUN: kernel-opt %s --mlir-print-op-generic | kernel-opt | FileCheck %s

// CHECK-LABEL: func.func @kernel
// CHECK-SAME: !tile.desc<128x64xbf16>, %{{.*}}: !tile.desc<1x128x1x64xf8E4M3FN>, %{{.*}}: !tile.desc<16xi32>
// CHECK-SAME: attributes {tile.kernel}
func.func @kernel(%a: !tile.desc<128x64xbf16>, %b: !tile.desc<1x128x1x64xf8E4M3FN>, %c: !tile.desc<16xi32>)
    attributes {tile.kernel} {
  return
}

// CHECK-LABEL: func.func private @rank5(!tile.desc<1x2x3x4x5xf32>)
func.func private @rank5(!tile.desc<1x2x3x4x5xf32>)
// CHECK-LABEL: func.func @gemm
// CHECK-SAME: tile.schedule = #tile.schedule<replicas = 2, stages = 4, use = "cooperative">
func.func @gemm(%A: !tile.desc<128x64xbf16>, %B: !tile.desc<256x64xbf16>, %C: !tile.desc<128x256xbf16>,
                %m: i32, %n: i32, %k: i32)
    attributes {tile.kernel, tile.schedule = #tile.schedule<replicas = 2, use = "cooperative", stages = 4>} {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %zero = arith.constant dense<0.0> : tensor<128x256xf32>
  // CHECK: tile.for_each_tile (%{{.*}}, %{{.*}}) in (%{{.*}}, %{{.*}}) {
  tile.for_each_tile (%i, %j) in (%m, %n) {
    %acc = scf.for %kk = %c0 to %k step %c64 iter_args(%c = %zero) -> tensor<128x256xf32> : i32 {
      // CHECK: tile.load %{{.*}}[%{{.*}}, %{{.*}}] : !tile.desc<128x64xbf16> -> tensor<128x64xbf16>
      %a = tile.load %A[%i, %kk] : !tile.desc<128x64xbf16> -> tensor<128x64xbf16>
      %b = tile.load %B[%j, %kk] : !tile.desc<256x64xbf16> -> tensor<256x64xbf16>
      // CHECK: tile.trans
      %bt = tile.trans %b : tensor<256x64xbf16> -> tensor<64x256xbf16>
      // CHECK: tile.dot %{{.*}}, %{{.*}} acc(%{{.*}}) : tensor<128x64xbf16>, tensor<64x256xbf16> -> tensor<128x256xf32>
      %d = tile.dot %a, %bt acc(%c) : tensor<128x64xbf16>, tensor<64x256xbf16> -> tensor<128x256xf32>
      scf.yield %d : tensor<128x256xf32>
    }
    %out = arith.truncf %acc : tensor<128x256xf32> to tensor<128x256xbf16>
    // CHECK: tile.store %{{.*}} to %{{.*}}[%{{.*}}, %{{.*}}] : tensor<128x256xbf16>, !tile.desc<128x256xbf16>
    tile.store %out to %C[%i, %j] : tensor<128x256xbf16>, !tile.desc<128x256xbf16>
  }
  return
}

// CHECK-LABEL: func.func @pointers
func.func @pointers(%p: i64 {tile.pointer = f32}, %q: i64 {tile.pointer = f32}, %n: i32, %at: i64) attributes {tile.kernel} {
  // CHECK: tile.program_id dim(0)
  %pid = tile.program_id dim(0)
  // CHECK: tile.num_programs dim(1)
  %np = tile.num_programs dim(1)
  // CHECK: tile.iota : tensor<256xi32>
  %i = tile.iota : tensor<256xi32>
  // CHECK: tile.splat %{{.*}} : i32 -> tensor<256xi32>
  %limit = tile.splat %n : i32 -> tensor<256xi32>
  %mask = arith.cmpi slt, %i, %limit : tensor<256xi32>
  %other = arith.constant dense<1.0> : tensor<256xf32>
  // CHECK: tile.gather %{{.*}}[%{{.*}}] mask(%{{.*}} : tensor<256xi1>) other(%{{.*}} : tensor<256xf32>) invariant : tensor<256xi32> -> tensor<256xf32>
  %x = tile.gather %p[%i] mask(%mask : tensor<256xi1>) other(%other : tensor<256xf32>) invariant : tensor<256xi32> -> tensor<256xf32>
  // CHECK: tile.gather %{{.*}}[%{{.*}}] : i64 -> f32
  %s = tile.gather %p[%at] : i64 -> f32
  // CHECK: tile.reduce max %{{.*}} dim(0) : tensor<256xf32> -> f32
  %m = tile.reduce max %x dim(0) : tensor<256xf32> -> f32
  // CHECK: tile.scan add %{{.*}} dim(0) : tensor<256xf32>
  %c = tile.scan add %x dim(0) : tensor<256xf32>
  // CHECK: tile.expand_dims %{{.*}} dim(1) : tensor<256xf32> -> tensor<256x1xf32>
  %e = tile.expand_dims %c dim(1) : tensor<256xf32> -> tensor<256x1xf32>
  // CHECK: tile.broadcast %{{.*}} : tensor<256x1xf32> -> tensor<256x4xf32>
  %b = tile.broadcast %e : tensor<256x1xf32> -> tensor<256x4xf32>
  // CHECK: tile.reshape %{{.*}} : tensor<256x4xf32> -> tensor<4x256xf32>
  %r = tile.reshape %b : tensor<256x4xf32> -> tensor<4x256xf32>
  %y = tile.reduce add %r dim(0) : tensor<4x256xf32> -> tensor<256xf32>
  // CHECK: tile.scatter %{{.*}} to %{{.*}}[%{{.*}}] mask(%{{.*}} : tensor<256xi1>) : tensor<256xf32>, tensor<256xi32>
  tile.scatter %y to %q[%i] mask(%mask : tensor<256xi1>) : tensor<256xf32>, tensor<256xi32>
  // CHECK: tile.atomic add %{{.*}} to %{{.*}}[%{{.*}}] : f32, i64 -> f32
  %old = tile.atomic add %m to %q[%at] : f32, i64 -> f32
  // CHECK: tile.atomic max %{{.*}} to %{{.*}}[%{{.*}}] mask(%{{.*}} : tensor<256xi1>) order(acq_rel) scope(sys) : tensor<256xi32>, tensor<256xi32> -> tensor<256xi32>
  %most = tile.atomic max %i to %q[%i] mask(%mask : tensor<256xi1>) order(acq_rel) scope(sys) : tensor<256xi32>, tensor<256xi32> -> tensor<256xi32>
  // CHECK: tile.atomic cas %{{.*}} to %{{.*}}[%{{.*}}] compare(%{{.*}} : i32) : i32, i64 -> i32
  %won = tile.atomic cas %n to %q[%at] compare(%pid : i32) : i32, i64 -> i32
  // CHECK: %[[SUMS:.*]] = tile.workspace %{{.*}} of f32
  %sums = tile.workspace %at of f32
  // CHECK: %[[COUNTERS:.*]] = tile.workspace %{{.*}} zero of i32
  %counters = tile.workspace %at zero of i32
  // CHECK: tile.last_arrival %[[COUNTERS]][%{{.*}}] of %{{.*}}
  %last = tile.last_arrival %counters[%pid] of %n
  // CHECK: tile.scan mul %{{.*}} dim(0) reverse : tensor<256xf32>
  %products = tile.scan mul %x dim(0) reverse : tensor<256xf32>
  return
}

// CHECK-LABEL: func.func @boxes
func.func @boxes(%Q: !tile.desc<1x128x1x64xbf16>, %i: i32) attributes {tile.kernel} {
  // CHECK: tile.rebox %{{.*}} : !tile.desc<1x128x1x64xbf16> -> !tile.desc<1x64x1x64xbf16>
  %h = tile.rebox %Q : !tile.desc<1x128x1x64xbf16> -> !tile.desc<1x64x1x64xbf16>
  // CHECK: tile.load %{{.*}}[{{.*}}] : !tile.desc<1x64x1x64xbf16> -> tensor<64x64xbf16>
  %q = tile.load %h[%i, %i, %i, %i] : !tile.desc<1x64x1x64xbf16> -> tensor<64x64xbf16>
  tile.store %q to %h[%i, %i, %i, %i] : tensor<64x64xbf16>, !tile.desc<1x64x1x64xbf16>
  // CHECK: tile.rebox
  %g = tile.rebox %Q : !tile.desc<1x128x1x64xbf16> -> !tile.desc<8x4x2x64xbf16>
  // CHECK: tile.load %{{.*}}[{{.*}}] : !tile.desc<8x4x2x64xbf16> -> tensor<64x64xbf16>
  %merged = tile.load %g[%i, %i, %i, %i] : !tile.desc<8x4x2x64xbf16> -> tensor<64x64xbf16>
  // CHECK: tile.store %{{.*}} to %{{.*}} : tensor<64x64xbf16>, !tile.desc<8x4x2x64xbf16>
  tile.store %merged to %g[%i, %i, %i, %i] : tensor<64x64xbf16>, !tile.desc<8x4x2x64xbf16>
  // CHECK: tile.load %{{.*}}[%[[I:.*]], %[[I]], %[[I]], %[[I]], %[[I]], %[[I]], %[[I]], %[[I]]] : !tile.desc<8x4x2x64xbf16> -> tensor<128x64xbf16>
  %two = tile.load %g[%i, %i, %i, %i, %i, %i, %i, %i] : !tile.desc<8x4x2x64xbf16> -> tensor<128x64xbf16>
  // CHECK: tile.store_reduce add %{{.*}} to %{{.*}}[%{{.*}}] : tensor<64x64xbf16>, !tile.desc<1x64x1x64xbf16>
  tile.store_reduce add %q to %h[%i, %i, %i, %i] : tensor<64x64xbf16>, !tile.desc<1x64x1x64xbf16>
  // CHECK: %[[S:.*]] = tile.to_shared %{{.*}} : tensor<64x64xbf16>
  %s = tile.to_shared %q : tensor<64x64xbf16>
  // CHECK: tile.dot %{{.*}}, %[[S]]
  %d = tile.dot %q, %s : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
  return
}

// CHECK-LABEL: func.func @scaled
func.func @scaled(%a: tensor<128x64xf8E4M3FN>, %sa: tensor<128x2xi8>, %b: tensor<64x32xbf16>, %sb: tensor<32x2xi8>, %c: tensor<128x32xf32>) {
  // CHECK: tile.dot_scaled %{{.*}} scale(%{{.*}}), %{{.*}} scale(%{{.*}}) acc(%{{.*}}) : tensor<128x64xf8E4M3FN> scale tensor<128x2xi8>, tensor<64x32xbf16> scale tensor<32x2xi8> -> tensor<128x32xf32>
  %d = tile.dot_scaled %a scale(%sa), %b scale(%sb) acc(%c) : tensor<128x64xf8E4M3FN> scale tensor<128x2xi8>, tensor<64x32xbf16> scale tensor<32x2xi8> -> tensor<128x32xf32>
  // CHECK: tile.dot_scaled %{{.*}}, %{{.*}} scale(%{{.*}}) fast : tensor<128x64xf8E4M3FN>, tensor<64x32xbf16> scale tensor<32x2xi8> -> tensor<128x32xf32>
  %e = tile.dot_scaled %a, %b scale(%sb) fast : tensor<128x64xf8E4M3FN>, tensor<64x32xbf16> scale tensor<32x2xi8> -> tensor<128x32xf32>
  return
}

// CHECK-LABEL: func.func @orders
func.func @orders(%x: tensor<4x16x8xf32>, %i: tensor<4x2x8xi32>, %y: tensor<64xi32>) -> tensor<8x4x16xf32> {
  // CHECK: tile.trans %{{.*}} : tensor<4x16x8xf32> -> tensor<4x8x16xf32>
  %t = tile.trans %x : tensor<4x16x8xf32> -> tensor<4x8x16xf32>
  // CHECK: tile.trans %{{.*}} [2, 0, 1] : tensor<4x16x8xf32> -> tensor<8x4x16xf32>
  %p = tile.trans %x [2, 0, 1] : tensor<4x16x8xf32> -> tensor<8x4x16xf32>
  // CHECK: tile.take %{{.*}}[%{{.*}}] dim(1) : tensor<4x16x8xf32>, tensor<4x2x8xi32> -> tensor<4x2x8xf32>
  %g = tile.take %x[%i] dim(1) : tensor<4x16x8xf32>, tensor<4x2x8xi32> -> tensor<4x2x8xf32>
  // CHECK: tile.histogram %{{.*}} : tensor<64xi32> -> tensor<16xi32>
  %h = tile.histogram %y : tensor<64xi32> -> tensor<16xi32>
  return %p : tensor<8x4x16xf32>
}
