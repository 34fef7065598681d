// REQUIRES: ptxas
// RUN: kernel-opt %s --target=sm_90a --emit=ptx --werror-ptxas -o %t.ptx
// RUN: kernel-opt %s --target=sm_100a --emit=ptx --werror-ptxas -o %t.ptx
//
// Grouped product of an MoE layer, rows sorted by expert: C[i, :] = A[i, :] * B[label[i]]^T in bf16. A is [M, K], B is [experts, N, K], C is
// [M, N]. The rows of a block of 128 belong to one expert; behind the last of them labels are -1 (padding), and C keeps what it has there.

func.func @moe(%A: !tile.desc<128x64xbf16>, %B: !tile.desc<1x128x64xbf16>, %C: !tile.desc<128x128xbf16>,
               %c: i64 {tile.pointer = bf16, tile.divisibility = 16 : i32}, %labels: i64 {tile.pointer = i32},
               %M: i32, %N: i32 {tile.divisibility = 8 : i32}, %K: i32) attributes {tile.kernel} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c64 = arith.constant 64 : i32
  %c128 = arith.constant 128 : i32
  %zero = arith.constant dense<0.0> : tensor<128x128xf32>
  %padding = arith.constant dense<-1> : tensor<128xi32>
  %first = arith.constant dense<0> : tensor<128xi32>
  %m = arith.ceildivui %M, %c128 : i32
  %n = arith.ceildivui %N, %c128 : i32
  tile.for_each_tile (%i, %j) in (%m, %n) {
    %row = arith.muli %i, %c128 : i32
    %column = arith.muli %j, %c128 : i32
    %expert = tile.gather %labels[%row] : i32 -> i32
    %used = arith.cmpi sge, %expert, %c0 : i32
    scf.if %used {
      %sum = scf.for %k = %c0 to %K step %c64 iter_args(%acc = %zero) -> tensor<128x128xf32> : i32 {
        %a = tile.load %A[%row, %k] : !tile.desc<128x64xbf16> -> tensor<128x64xbf16>
        %b = tile.load %B[%expert, %column, %k] : !tile.desc<1x128x64xbf16> -> tensor<128x64xbf16>
        %bt = tile.trans %b : tensor<128x64xbf16> -> tensor<64x128xbf16>
        %next = tile.dot %a, %bt acc(%acc) : tensor<128x64xbf16>, tensor<64x128xbf16> -> tensor<128x128xf32>
        scf.yield %next : tensor<128x128xf32>
      }
      %product = arith.truncf %sum : tensor<128x128xf32> to tensor<128x128xbf16>
      %behind = arith.addi %row, %c128 : i32
      %inside = arith.minsi %behind, %M : i32
      %last = arith.subi %inside, %c1 : i32
      %lastLabel = tile.gather %labels[%last] : i32 -> i32
      %full = arith.cmpi sge, %lastLabel, %c0 : i32
      scf.if %full {
        tile.store %product to %C[%row, %column] : tensor<128x128xbf16>, !tile.desc<128x128xbf16>
      } else {
        %index = tile.iota : tensor<128xi32>
        %rowAll = tile.splat %row : i32 -> tensor<128xi32>
        %rows = arith.addi %index, %rowAll : tensor<128xi32>
        %end = tile.splat %M : i32 -> tensor<128xi32>
        %there = arith.cmpi slt, %rows, %end : tensor<128xi32>
        %label = tile.gather %labels[%rows] mask(%there : tensor<128xi1>) other(%padding : tensor<128xi32>) : tensor<128xi32> -> tensor<128xi32>
        %own = arith.cmpi sge, %label, %first : tensor<128xi32>
        %columnAll = tile.splat %column : i32 -> tensor<128xi32>
        %columns = arith.addi %index, %columnAll : tensor<128xi32>
        %width = tile.splat %N : i32 -> tensor<128xi32>
        %within = arith.cmpi slt, %columns, %width : tensor<128xi32>
        %ownColumn = tile.expand_dims %own dim(1) : tensor<128xi1> -> tensor<128x1xi1>
        %withinRow = tile.expand_dims %within dim(0) : tensor<128xi1> -> tensor<1x128xi1>
        %owns = tile.broadcast %ownColumn : tensor<128x1xi1> -> tensor<128x128xi1>
        %withins = tile.broadcast %withinRow : tensor<1x128xi1> -> tensor<128x128xi1>
        %mask = arith.andi %owns, %withins : tensor<128x128xi1>
        %rows64 = arith.extsi %rows : tensor<128xi32> to tensor<128xi64>
        %N64 = arith.extsi %N : i32 to i64
        %stride = tile.splat %N64 : i64 -> tensor<128xi64>
        %begin = arith.muli %rows64, %stride : tensor<128xi64>
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
