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

// In turns: small pieces on the way out, unless the schedule says how.
// CHECK-LABEL: func.func @turns
// CHECK-SAME: #tile.schedule<buffers = 2, epilogue = 32, pending = 1, raster = 32, replicas = 2, scheduler = "static", specialize = "auto", use = "pingpong">
func.func @turns(%a: tensor<64x64xbf16>, %b: tensor<64x64xbf16>, %c: tensor<64x64xf32>) -> tensor<64x64xf32>
    attributes {tile.kernel, tile.schedule = #tile.schedule<use = "pingpong">} {
  %d = tile.dot %a, %b acc(%c) : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
  return %d : tensor<64x64xf32>
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
