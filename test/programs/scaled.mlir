// REQUIRES: ptxas
// RUN: kernel-opt %s --target=sm_90a --emit=ptx --werror-ptxas -o %t.ptx
// RUN: kernel-opt %s --target=sm_100a --emit=ptx --werror-ptxas -o %t.100.ptx
//
// A product whose operand A is made in registers: Y = (X * s) W^T, s a row scale read through a pointer.
func.func @scaled(%X: !tile.desc<128x64xbf16>, %W: !tile.desc<128x64xbf16>, %S: i64 {tile.pointer = f32}, %Y: !tile.desc<128x128xf32>,
                  %rows: i32, %columns: i32, %K: i32) attributes {tile.kernel} {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %c128 = arith.constant 128 : i32
  %zero = arith.constant dense<0.0> : tensor<128x128xf32>
  %m = arith.ceildivui %rows, %c128 : i32
  %n = arith.ceildivui %columns, %c128 : i32
  tile.for_each_tile (%i, %j) in (%m, %n) {
    %row = arith.muli %i, %c128 : i32
    %column = arith.muli %j, %c128 : i32
    %index = tile.iota : tensor<128xi32>
    %first = tile.splat %row : i32 -> tensor<128xi32>
    %at = arith.addi %index, %first : tensor<128xi32>
    %end = tile.splat %rows : i32 -> tensor<128xi32>
    %inside = arith.cmpi slt, %at, %end : tensor<128xi32>
    %s = tile.gather %S[%at] mask(%inside : tensor<128xi1>) : tensor<128xi32> -> tensor<128xf32>
    %sc = tile.expand_dims %s dim(1) : tensor<128xf32> -> tensor<128x1xf32>
    %sb = tile.broadcast %sc : tensor<128x1xf32> -> tensor<128x64xf32>
    %y = scf.for %k = %c0 to %K step %c64 iter_args(%acc = %zero) -> tensor<128x128xf32> : i32 {
      %x = tile.load %X[%row, %k] : !tile.desc<128x64xbf16> -> tensor<128x64xbf16>
      %xf = arith.extf %x : tensor<128x64xbf16> to tensor<128x64xf32>
      %xs = arith.mulf %xf, %sb : tensor<128x64xf32>
      %x16 = arith.truncf %xs : tensor<128x64xf32> to tensor<128x64xbf16>
      %w = tile.load %W[%column, %k] : !tile.desc<128x64xbf16> -> tensor<128x64xbf16>
      %wt = tile.trans %w : tensor<128x64xbf16> -> tensor<64x128xbf16>
      %next = tile.dot %x16, %wt acc(%acc) : tensor<128x64xbf16>, tensor<64x128xbf16> -> tensor<128x128xf32>
      scf.yield %next : tensor<128x128xf32>
    }
    tile.store %y to %Y[%row, %column] : tensor<128x128xf32>, !tile.desc<128x128xf32>
  }
  return
}
