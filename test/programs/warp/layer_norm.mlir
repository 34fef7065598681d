// y[row, :] = (x[row, :] - mean) / sqrt(variance + eps) * w + b: x and y in bf16, w and b in fp32, one row of up to 2048 columns (a multiple of 16) a CTA.

func.func @layer_norm(%x: i64 {tile.name = "x", tile.pointer = bf16, tile.divisibility = 16 : i32},
                      %y: i64 {tile.name = "y", tile.pointer = bf16, tile.divisibility = 16 : i32},
                      %w: i64 {tile.name = "w", tile.pointer = f32, tile.divisibility = 16 : i32},
                      %b: i64 {tile.name = "b", tile.pointer = f32, tile.divisibility = 16 : i32},
                      %rows: i32, %columns: i32 {tile.divisibility = 16 : i32}, %eps: f32)
    attributes {tile.kernel, warp.launch = #warp.launch<persistent = false>, nv.grid = [{argument = 4}]} {
  %zero = arith.constant dense<0.0> : tensor<2048xf32>
  warp.specialize {
    warp.role @main warps(4) {
      %row = nv.program_id 0
      %wide = arith.extsi %row : i32 to i64
      %n = arith.extsi %columns : i32 to i64
      %begin = arith.muli %wide, %n : i64
      %limit = nv.splat %columns : i32 -> tensor<2048xi32>
      %column = nv.index dim(0) : tensor<2048xi32>
      %inside = arith.cmpi slt, %column, %limit : tensor<2048xi32>
      %c64 = arith.extsi %column : tensor<2048xi32> to tensor<2048xi64>
      %begins = nv.splat %begin : i64 -> tensor<2048xi64>
      %at = arith.addi %begins, %c64 : tensor<2048xi64>
      %x16 = nv.global_load %x[%at] mask(%inside : tensor<2048xi1>) : tensor<2048xi64> -> tensor<2048xbf16>
      %v = arith.extf %x16 : tensor<2048xbf16> to tensor<2048xf32>
      %count = arith.sitofp %columns : i32 to f32
      %sum = nv.reduce add %v dim(0) : tensor<2048xf32> -> f32
      %mean = arith.divf %sum, %count fastmath<afn> : f32
      %means = nv.splat %mean : f32 -> tensor<2048xf32>
      %d0 = arith.subf %v, %means : tensor<2048xf32>
      %d = arith.select %inside, %d0, %zero : tensor<2048xi1>, tensor<2048xf32>
      %dd = arith.mulf %d, %d : tensor<2048xf32>
      %squares = nv.reduce add %dd dim(0) : tensor<2048xf32> -> f32
      %variance = arith.divf %squares, %count fastmath<afn> : f32
      %shifted = arith.addf %variance, %eps : f32
      %inverse = math.rsqrt %shifted : f32
      %scale = nv.splat %inverse : f32 -> tensor<2048xf32>
      %wt = nv.global_load %w[%column] mask(%inside : tensor<2048xi1>) invariant : tensor<2048xi32> -> tensor<2048xf32>
      %bt = nv.global_load %b[%column] mask(%inside : tensor<2048xi1>) invariant : tensor<2048xi32> -> tensor<2048xf32>
      %normal = arith.mulf %d, %scale : tensor<2048xf32>
      %scaled = arith.mulf %normal, %wt : tensor<2048xf32>
      %result = arith.addf %scaled, %bt : tensor<2048xf32>
      %o = arith.truncf %result : tensor<2048xf32> to tensor<2048xbf16>
      nv.global_store %o to %y[%at] mask(%inside : tensor<2048xi1>) : tensor<2048xbf16>, tensor<2048xi64>
    }
  }
  return
}
