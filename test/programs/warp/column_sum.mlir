// sums[j] += sum over i of x[i, j] in fp32: tiles of 64 x 128, the reduction crosses warps, the results are added atomically. Columns are not contiguous with
// anything but their row; `columns` is a multiple of 4.

func.func @column_sum(%x: i64 {tile.name = "x", tile.pointer = f32, tile.divisibility = 16 : i32},
                      %sums: i64 {tile.name = "sums", tile.pointer = f32, tile.divisibility = 16 : i32},
                      %rows: i32, %columns: i32 {tile.divisibility = 4 : i32})
    attributes {tile.kernel, warp.launch = #warp.launch<persistent = false>,
                nv.grid = [{op = "ceildiv", of = [{argument = 3}, 128]}, 2]} {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %c128 = arith.constant 128 : i32
  %none = arith.constant dense<0.0> : tensor<128xf32>
  warp.specialize {
    warp.role @main warps(4) {
      %p = nv.program_id 0
      %q = nv.program_id 1
      %parts = nv.num_programs 1
      %j0 = arith.muli %p, %c128 : i32
      %first = arith.muli %q, %c64 : i32
      %step = arith.muli %parts, %c64 : i32
      %jj = nv.index dim(0) : tensor<128xi32>
      %j0s = nv.splat %j0 : i32 -> tensor<128xi32>
      %j = arith.addi %j0s, %jj overflow<nsw> : tensor<128xi32>
      %jEnd = nv.splat %columns : i32 -> tensor<128xi32>
      %jIn = arith.cmpi slt, %j, %jEnd : tensor<128xi32>
      %n = arith.extsi %columns : i32 to i64
      %total = scf.for %i0 = %first to %rows step %step iter_args(%sum = %none) -> (tensor<128xf32>) : i32 {
        %ii = nv.index dim(0) : tensor<64xi32>
        %i0s = nv.splat %i0 : i32 -> tensor<64xi32>
        %i = arith.addi %i0s, %ii overflow<nsw> : tensor<64xi32>
        %iEnd = nv.splat %rows : i32 -> tensor<64xi32>
        %iIn = arith.cmpi slt, %i, %iEnd : tensor<64xi32>
        %iIn2 = nv.broadcast %iIn dim(1) : tensor<64xi1> -> tensor<64x128xi1>
        %jIn2 = nv.broadcast %jIn dim(0) : tensor<128xi1> -> tensor<64x128xi1>
        %inside = arith.andi %iIn2, %jIn2 : tensor<64x128xi1>
        %i64 = arith.extsi %i : tensor<64xi32> to tensor<64xi64>
        %ns = nv.splat %n : i64 -> tensor<64xi64>
        %rowAt = arith.muli %i64, %ns : tensor<64xi64>
        %j64 = arith.extsi %j : tensor<128xi32> to tensor<128xi64>
        %rowAt2 = nv.broadcast %rowAt dim(1) : tensor<64xi64> -> tensor<64x128xi64>
        %j2 = nv.broadcast %j64 dim(0) : tensor<128xi64> -> tensor<64x128xi64>
        %at = arith.addi %rowAt2, %j2 : tensor<64x128xi64>
        %v = nv.global_load %x[%at] mask(%inside : tensor<64x128xi1>) : tensor<64x128xi64> -> tensor<64x128xf32>
        %part = nv.reduce add %v dim(0) : tensor<64x128xf32> -> tensor<128xf32>
        %next = arith.addf %sum, %part : tensor<128xf32>
        scf.yield %next : tensor<128xf32>
      }
      nv.global_reduce add %total to %sums[%j] mask(%jIn : tensor<128xi1>) : tensor<128xf32>, tensor<128xi32>
    }
  }
  return
}
