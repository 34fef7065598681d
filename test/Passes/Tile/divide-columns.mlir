// RUN: kernel-opt %s --tile-assign-schedule --split-input-file --verify-diagnostics | FileCheck %s

// The sums of three warpgroups would take more registers than a launch of four can give: two share the columns.
// CHECK-LABEL: func.func @wide_rows
// CHECK-SAME: #tile.schedule<divide = "columns", pending = 1, raster = 10, replicas = 2, scheduler = "static", specialize = "auto", use = "cooperative">
func.func @wide_rows(%a: tensor<192x64xbf16>, %b: tensor<64x224xbf16>, %c: tensor<192x224xf32>) -> tensor<192x224xf32> attributes {tile.kernel} {
  %d = tile.dot %a, %b acc(%c) : tensor<192x64xbf16>, tensor<64x224xbf16> -> tensor<192x224xf32>
  return %d : tensor<192x224xf32>
}

// -----

// Not where something goes across them.
// CHECK-LABEL: func.func @wide_rows_reduced
// CHECK-SAME: #tile.schedule<pending = 1, raster = 10, replicas = 3, scheduler = "static", specialize = "auto", use = "cooperative">
func.func @wide_rows_reduced(%a: tensor<192x64xbf16>, %b: tensor<64x208xbf16>, %c: tensor<192x208xf32>) -> tensor<192xf32> attributes {tile.kernel} {
  %d = tile.dot %a, %b acc(%c) : tensor<192x64xbf16>, tensor<64x208xbf16> -> tensor<192x208xf32>
  %top = tile.reduce max %d dim(1) : tensor<192x208xf32> -> tensor<192xf32>
  return %top : tensor<192xf32>
}

// -----

func.func @uneven_columns(%a: tensor<64x64xbf16>, %b: tensor<64x72xbf16>, %c: tensor<64x72xf32>) -> tensor<64x72xf32>
    attributes {tile.kernel, tile.schedule = #tile.schedule<divide = "columns">} {
  // expected-error @+1 {{columns: expected a multiple of 32 (16 for each of replicas = 2), found 72}}
  %d = tile.dot %a, %b acc(%c) : tensor<64x64xbf16>, tensor<64x72xbf16> -> tensor<64x72xf32>
  return %d : tensor<64x72xf32>
}

// -----

// expected-error @+1 {{schedule: divide = "columns" expected use = "cooperative": replicas that share each tile, found none}}
func.func @columns_in_turns(%a: tensor<64x64xbf16>, %b: tensor<64x64xbf16>, %c: tensor<64x64xf32>) -> tensor<64x64xf32>
    attributes {tile.kernel, tile.schedule = #tile.schedule<divide = "columns", use = "pingpong">} {
  %d = tile.dot %a, %b acc(%c) : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
  return %d : tensor<64x64xf32>
}

// -----

// Rows of B in memory may begin at multiples of eight.
// CHECK-LABEL: func.func @loaded
// CHECK-SAME: divide = "columns"
func.func @loaded(%a: tensor<192x64xbf16>, %b: !tile.desc<208x64xbf16>, %c: tensor<192x208xf32>, %i: i32) -> tensor<192x208xf32> attributes {tile.kernel} {
  %y = tile.load %b[%i, %i] : !tile.desc<208x64xbf16> -> tensor<208x64xbf16>
  %t = tile.trans %y : tensor<208x64xbf16> -> tensor<64x208xbf16>
  %d = tile.dot %a, %t acc(%c) : tensor<192x64xbf16>, tensor<64x208xbf16> -> tensor<192x208xf32>
  return %d : tensor<192x208xf32>
}
