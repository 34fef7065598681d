// REQUIRES: ptxas
// RUN: kernel-opt %s --target=sm_90a --emit=ptx --werror-ptxas -o %t.ptx
// RUN: kernel-opt %s --target=sm_100a --emit=ptx --werror-ptxas -o %t.100.ptx
//
// A sum that decays by a factor for each row before every block is added: D_i = D_(i-1) * f + A_i B_i^T, from D_0 = 1; A [rows, K],
// B [256, K] in bf16, i counts blocks of 64 columns, f [rows] in fp32.
func.func @decay(%A: !tile.desc<128x64xbf16>, %B: !tile.desc<256x64xbf16>, %F: i64 {tile.pointer = f32}, %D: !tile.desc<128x256xf32>,
                 %rows: i32, %K: i32) attributes {tile.kernel} {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %c128 = arith.constant 128 : i32
  %start = arith.constant dense<1.0> : tensor<128x256xf32>
  %tiles = arith.ceildivui %rows, %c128 : i32
  tile.for_each_tile (%i) in (%tiles) {
    %row = arith.muli %i, %c128 : i32
    %iota = tile.iota : tensor<128xi32>
    %first = tile.splat %row : i32 -> tensor<128xi32>
    %at = arith.addi %iota, %first : tensor<128xi32>
    %end = tile.splat %rows : i32 -> tensor<128xi32>
    %inside = arith.cmpi slt, %at, %end : tensor<128xi32>
    %offset = arith.extsi %at : tensor<128xi32> to tensor<128xi64>
    %f = tile.gather %F[%offset] mask(%inside : tensor<128xi1>) : tensor<128xi64> -> tensor<128xf32>
    %column = tile.expand_dims %f dim(1) : tensor<128xf32> -> tensor<128x1xf32>
    %factors = tile.broadcast %column : tensor<128x1xf32> -> tensor<128x256xf32>
    %d = scf.for %k = %c0 to %K step %c64 iter_args(%before = %start) -> tensor<128x256xf32> : i32 {
      %less = arith.mulf %before, %factors : tensor<128x256xf32>
      %a = tile.load %A[%row, %k] : !tile.desc<128x64xbf16> -> tensor<128x64xbf16>
      %b = tile.load %B[%c0, %k] : !tile.desc<256x64xbf16> -> tensor<256x64xbf16>
      %bt = tile.trans %b : tensor<256x64xbf16> -> tensor<64x256xbf16>
      %next = tile.dot %a, %bt acc(%less) : tensor<128x64xbf16>, tensor<64x256xbf16> -> tensor<128x256xf32>
      scf.yield %next : tensor<128x256xf32>
    }
    tile.store %d to %D[%row, %c0] : tensor<128x256xf32>, !tile.desc<128x256xf32>
  }
  return
}
