// REQUIRES: ptxas
// RUN: kernel-opt %s --target=sm_90a --emit=ptx --werror-ptxas -o %t.ptx
// RUN: kernel-opt %s --target=sm_100a --emit=ptx --werror-ptxas -o %t.100.ptx
//
// Two independent sums over one pass: D1 = A B^T and D2 = A C^T (shared loads of A).
func.func @twice(%A: !tile.desc<128x64xbf16>, %B: !tile.desc<64x64xbf16>, %C: !tile.desc<64x64xbf16>, %D1: !tile.desc<128x64xf32>,
                 %D2: !tile.desc<128x64xf32>, %rows: i32, %K: i32) attributes {tile.kernel} {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %c128 = arith.constant 128 : i32
  %zero = arith.constant dense<0.0> : tensor<128x64xf32>
  %tiles = arith.ceildivui %rows, %c128 : i32
  tile.for_each_tile (%i) in (%tiles) {
    %row = arith.muli %i, %c128 : i32
    %d:2 = scf.for %k = %c0 to %K step %c64 iter_args(%d1 = %zero, %d2 = %zero) -> (tensor<128x64xf32>, tensor<128x64xf32>) : i32 {
      %a = tile.load %A[%row, %k] : !tile.desc<128x64xbf16> -> tensor<128x64xbf16>
      %b = tile.load %B[%c0, %k] : !tile.desc<64x64xbf16> -> tensor<64x64xbf16>
      %bt = tile.trans %b : tensor<64x64xbf16> -> tensor<64x64xbf16>
      %n1 = tile.dot %a, %bt acc(%d1) : tensor<128x64xbf16>, tensor<64x64xbf16> -> tensor<128x64xf32>
      %c = tile.load %C[%c0, %k] : !tile.desc<64x64xbf16> -> tensor<64x64xbf16>
      %ct = tile.trans %c : tensor<64x64xbf16> -> tensor<64x64xbf16>
      %n2 = tile.dot %a, %ct acc(%d2) : tensor<128x64xbf16>, tensor<64x64xbf16> -> tensor<128x64xf32>
      scf.yield %n1, %n2 : tensor<128x64xf32>, tensor<128x64xf32>
    }
    tile.store %d#0 to %D1[%row, %c0] : tensor<128x64xf32>, !tile.desc<128x64xf32>
    tile.store %d#1 to %D2[%row, %c0] : tensor<128x64xf32>, !tile.desc<128x64xf32>
  }
  return
}
