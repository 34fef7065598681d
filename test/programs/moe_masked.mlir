// REQUIRES: ptxas
// RUN: kernel-opt %s --target=sm_90a --emit=ptx --werror-ptxas -o %t.ptx
// RUN: kernel-opt %s --target=sm_100a --emit=ptx --werror-ptxas -o %t.ptx
//
// Grouped product of an MoE layer, a count of rows for each expert: C[e, i, :] = A[e, i, :] * B[e]^T for i < count[e], in bf16. A is
// [experts, M, K], B is [experts, N, K], C is [experts, M, N] and keeps what it has in other rows.

func.func @moe_masked(%A: !tile.desc<1x128x64xbf16>, %B: !tile.desc<1x128x64xbf16>, %C: !tile.desc<1x128x128xbf16>,
                      %c: i64 {tile.pointer = bf16, tile.divisibility = 16 : i32}, %counts: i64 {tile.pointer = i32},
                      %experts: i32, %M: i32, %N: i32 {tile.divisibility = 8 : i32}, %K: i32) attributes {tile.kernel} {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %c128 = arith.constant 128 : i32
  %zero = arith.constant dense<0.0> : tensor<128x128xf32>
  %m = arith.ceildivui %M, %c128 : i32
  %n = arith.ceildivui %N, %c128 : i32
  tile.for_each_tile (%e, %i, %j) in (%experts, %m, %n) {
    %row = arith.muli %i, %c128 : i32
    %column = arith.muli %j, %c128 : i32
    %given = tile.gather %counts[%e] : i32 -> i32
    %count = arith.minsi %given, %M : i32
    %used = arith.cmpi slt, %row, %count : i32
    scf.if %used {
      %sum = scf.for %k = %c0 to %K step %c64 iter_args(%acc = %zero) -> tensor<128x128xf32> : i32 {
        %a = tile.load %A[%e, %row, %k] : !tile.desc<1x128x64xbf16> -> tensor<128x64xbf16>
        %b = tile.load %B[%e, %column, %k] : !tile.desc<1x128x64xbf16> -> tensor<128x64xbf16>
        %bt = tile.trans %b : tensor<128x64xbf16> -> tensor<64x128xbf16>
        %next = tile.dot %a, %bt acc(%acc) : tensor<128x64xbf16>, tensor<64x128xbf16> -> tensor<128x128xf32>
        scf.yield %next : tensor<128x128xf32>
      }
      %product = arith.truncf %sum : tensor<128x128xf32> to tensor<128x128xbf16>
      %behind = arith.addi %row, %c128 : i32
      %full = arith.cmpi sle, %behind, %count : i32
      scf.if %full {
        tile.store %product to %C[%e, %row, %column] : tensor<128x128xbf16>, !tile.desc<1x128x128xbf16>
      } else {
        %index = tile.iota : tensor<128xi32>
        %rowAll = tile.splat %row : i32 -> tensor<128xi32>
        %rows = arith.addi %index, %rowAll : tensor<128xi32>
        %end = tile.splat %count : i32 -> tensor<128xi32>
        %own = arith.cmpi slt, %rows, %end : tensor<128xi32>
        %columnAll = tile.splat %column : i32 -> tensor<128xi32>
        %columns = arith.addi %index, %columnAll : tensor<128xi32>
        %width = tile.splat %N : i32 -> tensor<128xi32>
        %within = arith.cmpi slt, %columns, %width : tensor<128xi32>
        %ownColumn = tile.expand_dims %own dim(1) : tensor<128xi1> -> tensor<128x1xi1>
        %withinRow = tile.expand_dims %within dim(0) : tensor<128xi1> -> tensor<1x128xi1>
        %owns = tile.broadcast %ownColumn : tensor<128x1xi1> -> tensor<128x128xi1>
        %withins = tile.broadcast %withinRow : tensor<1x128xi1> -> tensor<128x128xi1>
        %mask = arith.andi %owns, %withins : tensor<128x128xi1>
        %e64 = arith.extsi %e : i32 to i64
        %M64 = arith.extsi %M : i32 to i64
        %N64 = arith.extsi %N : i32 to i64
        %before = arith.muli %e64, %M64 : i64
        %befores = tile.splat %before : i64 -> tensor<128xi64>
        %rows64 = arith.extsi %rows : tensor<128xi32> to tensor<128xi64>
        %rowOf = arith.addi %befores, %rows64 : tensor<128xi64>
        %stride = tile.splat %N64 : i64 -> tensor<128xi64>
        %begin = arith.muli %rowOf, %stride : tensor<128xi64>
        %beginColumn = tile.expand_dims %begin dim(1) : tensor<128xi64> -> tensor<128x1xi64>
        %begins = tile.broadcast %beginColumn : tensor<128x1xi64> -> tensor<128x128xi64>
        %columns64 = arith.extsi %columns : tensor<128xi32> to tensor<128xi64>
        %columnRow = tile.expand_dims %columns64 dim(0) : tensor<128xi64> -> tensor<1x128xi64>
        %columnsAll = tile.broadcast %columnRow : tensor<1x128xi64> -> tensor<128x128xi64>
        %at = arith.addi %begins, %columnsAll : tensor<128x128xi64>
        tile.scatter %product to %c[%at] mask(%mask : tensor<128x128xi1>) : tensor<128x128xbf16>, tensor<128x128xi64>
      }
    }
  }
  return
}
