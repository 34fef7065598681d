// y[row, :] = softmax(x[row, :]) in bf16, one row of up to 4096 columns a CTA; rows are `stride` elements apart.

func.func @softmax(%x: i64 {tile.name = "x", tile.pointer = bf16, tile.divisibility = 16 : i32},
                   %y: i64 {tile.name = "y", tile.pointer = bf16, tile.divisibility = 16 : i32},
                   %rows: i32, %columns: i32, %stride: i32 {tile.divisibility = 8 : i32})
    attributes {tile.kernel, warp.launch = #warp.launch<persistent = false>, nv.grid = [{argument = 2}]} {
  %lowest = arith.constant dense<0xFF80> : tensor<4096xbf16>
  warp.specialize {
    warp.role @main warps(8) {
      %row = nv.program_id 0
      %wide = arith.extsi %row : i32 to i64
      %s = arith.extsi %stride : i32 to i64
      %begin = arith.muli %wide, %s : i64
      %limit = nv.splat %columns : i32 -> tensor<4096xi32>
      %column = nv.index dim(0) : tensor<4096xi32>
      %inside = arith.cmpi slt, %column, %limit : tensor<4096xi32>
      %c64 = arith.extsi %column : tensor<4096xi32> to tensor<4096xi64>
      %begins = nv.splat %begin : i64 -> tensor<4096xi64>
      %at = arith.addi %begins, %c64 : tensor<4096xi64>
      %b = nv.global_load %x[%at] mask(%inside : tensor<4096xi1>) other(%lowest : tensor<4096xbf16>) : tensor<4096xi64> -> tensor<4096xbf16>
      %v = arith.extf %b : tensor<4096xbf16> to tensor<4096xf32>
      %top = nv.reduce max %v dim(0) : tensor<4096xf32> -> f32
      %tops = nv.splat %top : f32 -> tensor<4096xf32>
      %d = arith.subf %v, %tops : tensor<4096xf32>
      %e = math.exp %d : tensor<4096xf32>
      %sum = nv.reduce add %e dim(0) : tensor<4096xf32> -> f32
      %sums = nv.splat %sum : f32 -> tensor<4096xf32>
      %p = arith.divf %e, %sums fastmath<arcp> : tensor<4096xf32>
      %o = arith.truncf %p : tensor<4096xf32> to tensor<4096xbf16>
      nv.global_store %o to %y[%at] mask(%inside : tensor<4096xi1>) : tensor<4096xbf16>, tensor<4096xi64>
    }
  }
  return
}
