// REQUIRES: ptxas
// RUN: kernel-opt %s --target=sm_90a --emit=ptx --werror-ptxas -o %t.ptx
// RUN: kernel-opt %s --target=sm_100a --emit=ptx --werror-ptxas -o %t.100.ptx
//
// A copy loop with element-wise work: Y = X * X + 1.
func.func @square(%X: !tile.desc<64x64xf32>, %Y: !tile.desc<64x64xf32>, %rows: i32, %columns: i32) attributes {tile.kernel} {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %one = arith.constant dense<1.0> : tensor<64x64xf32>
  %tiles = arith.ceildivui %rows, %c64 : i32
  tile.for_each_tile (%i) in (%tiles) {
    %row = arith.muli %i, %c64 : i32
    scf.for %column = %c0 to %columns step %c64 : i32 {
      %x = tile.load %X[%row, %column] : !tile.desc<64x64xf32> -> tensor<64x64xf32>
      %x2 = arith.mulf %x, %x : tensor<64x64xf32>
      %y = arith.addf %x2, %one : tensor<64x64xf32>
      tile.store %y to %Y[%row, %column] : tensor<64x64xf32>, !tile.desc<64x64xf32>
    }
  }
  return
}
