// RUN: kernel-opt %s --tile-assign-schedule --split-input-file --verify-diagnostics | FileCheck %s
// RUN: kernel-opt %s --tile-assign-schedule=chip=sm_100a --split-input-file --verify-diagnostics | FileCheck %s --check-prefix=TMEM

// 128 rows are two warpgroups'; 16 such tiles are walked together; products stay in flight.
// CHECK-LABEL: func.func @cooperative
// CHECK-SAME: #tile.schedule<pending = 1, raster = 16, replicas = 2, scheduler = "static", specialize = "auto", use = "cooperative">
// TMEM-LABEL: func.func @cooperative
// TMEM-SAME: #tile.schedule<raster = 16, replicas = 1, scheduler = "static", specialize = "auto", use = "cooperative">
func.func @cooperative(%a: tensor<128x64xbf16>, %b: tensor<64x64xbf16>, %c: tensor<128x64xf32>) -> tensor<128x64xf32>
    attributes {tile.kernel} {
  %d = tile.dot %a, %b acc(%c) : tensor<128x64xbf16>, tensor<64x64xbf16> -> tensor<128x64xf32>
  return %d : tensor<128x64xf32>
}

// -----

// Tensor memory has 128 lanes: twice as many rows are two blocks.
// TMEM-LABEL: func.func @blocks
// TMEM-SAME: replicas = 2
func.func @blocks(%a: tensor<256x64xbf16>, %b: tensor<64x64xbf16>, %c: tensor<256x64xf32>) -> tensor<256x64xf32> attributes {tile.kernel} {
  %d = tile.dot %a, %b acc(%c) : tensor<256x64xbf16>, tensor<64x64xbf16> -> tensor<256x64xf32>
  return %d : tensor<256x64xf32>
}

// -----

// TMEM-LABEL: func.func @across
// TMEM-SAME: replicas = 1
func.func @across(%a: tensor<256x64xbf16>, %b: tensor<64x64xbf16>, %c: tensor<256x64xf32>) -> tensor<64xf32> attributes {tile.kernel} {
  %d = tile.dot %a, %b acc(%c) : tensor<256x64xbf16>, tensor<64x64xbf16> -> tensor<256x64xf32>
  %sums = tile.reduce add %d dim(0) : tensor<256x64xf32> -> tensor<64xf32>
  return %sums : tensor<64xf32>
}

// -----

// In turns: small pieces on the way out, unless the schedule says how.
// CHECK-LABEL: func.func @turns
// CHECK-SAME: #tile.schedule<buffers = 2, epilogue = 32, pending = 1, raster = 32, replicas = 2, scheduler = "static", specialize = "auto", use = "pingpong">
func.func @turns(%a: tensor<64x64xbf16>, %b: tensor<64x64xbf16>, %c: tensor<64x64xf32>) -> tensor<64x64xf32>
    attributes {tile.kernel, tile.schedule = #tile.schedule<use = "pingpong">} {
  %d = tile.dot %a, %b acc(%c) : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
  return %d : tensor<64x64xf32>
}

// -----

// A product of what is computed from a product: tiles that are loaded are drawn.
// CHECK-LABEL: func.func @chained
// CHECK-SAME: scheduler = "dynamic"
// TMEM-LABEL: func.func @chained
// TMEM-SAME: scheduler = "static"
func.func @chained(%x: !tile.desc<128x64xbf16>, %w: !tile.desc<64x64xbf16>, %y: !tile.desc<128x64xf32>, %m: i32, %n: i32) attributes {tile.kernel} {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %c128 = arith.constant 128 : i32
  %z = arith.constant dense<0.0> : tensor<128x64xf32>
  tile.for_each_tile (%i) in (%m) {
    %a = tile.load %x[%i, %c0] : !tile.desc<128x64xbf16> -> tensor<128x64xbf16>
    %sum = scf.for %k = %c0 to %n step %c64 iter_args(%s = %z) -> (tensor<128x64xf32>) : i32 {
      %b = tile.load %w[%k, %c0] : !tile.desc<64x64xbf16> -> tensor<64x64xbf16>
      %h = tile.dot %a, %b : tensor<128x64xbf16>, tensor<64x64xbf16> -> tensor<128x64xf32>
      %p = arith.truncf %h : tensor<128x64xf32> to tensor<128x64xbf16>
      %next = tile.dot %p, %b acc(%s) : tensor<128x64xbf16>, tensor<64x64xbf16> -> tensor<128x64xf32>
      scf.yield %next : tensor<128x64xf32>
    }
    tile.store %sum to %y[%i, %c0] : tensor<128x64xf32>, !tile.desc<128x64xf32>
  }
  return
}

// -----

// CHECK-LABEL: func.func @given
// CHECK-SAME: #tile.schedule<epilogue = 64, pending = 0, raster = 4, replicas = 2, scheduler = "static", specialize = "auto", use = "pingpong">
func.func @given(%a: tensor<64x64xbf16>, %b: tensor<64x64xbf16>, %c: tensor<64x64xf32>) -> tensor<64x64xf32>
    attributes {tile.kernel, tile.schedule = #tile.schedule<use = "pingpong", epilogue = 64, pending = 0, raster = 4>} {
  %d = tile.dot %a, %b acc(%c) : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
  return %d : tensor<64x64xf32>
}

// -----

func.func @uneven(%a: tensor<192x64xbf16>, %b: tensor<64x64xbf16>, %c: tensor<192x64xf32>) -> tensor<192x64xf32>
    attributes {tile.kernel, tile.schedule = #tile.schedule<replicas = 2>} {
  // expected-error @+1 {{rows: expected a multiple of 128 (64 for each of replicas = 2), found 192}}
  %d = tile.dot %a, %b acc(%c) : tensor<192x64xbf16>, tensor<64x64xbf16> -> tensor<192x64xf32>
  return %d : tensor<192x64xf32>
}
