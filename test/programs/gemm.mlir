// REQUIRES: ptxas
// RUN: kernel-opt %s --target=sm_90a --emit=ptx --werror-ptxas -o %t.ptx
// RUN: kernel-opt %s --target=sm_100a --emit=ptx --werror-ptxas -o %t.100.ptx
//
// C[M, N] = A[M, K] * B[N, K]^T in bf16.

func.func @gemm(%A: !tile.desc<128x64xbf16>, %B: !tile.desc<256x64xbf16>, %C: !tile.desc<128x256xbf16>,
                %M: i32, %N: i32, %K: i32) attributes {tile.kernel} {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %c128 = arith.constant 128 : i32
  %c256 = arith.constant 256 : i32
  %zero = arith.constant dense<0.0> : tensor<128x256xf32>
  %m = arith.ceildivui %M, %c128 : i32
  %n = arith.ceildivui %N, %c256 : i32
  tile.for_each_tile (%i, %j) in (%m, %n) {
    %row = arith.muli %i, %c128 : i32
    %column = arith.muli %j, %c256 : i32
    %sum = scf.for %k = %c0 to %K step %c64 iter_args(%acc = %zero) -> tensor<128x256xf32> : i32 {
      %a = tile.load %A[%row, %k] : !tile.desc<128x64xbf16> -> tensor<128x64xbf16>
      %b = tile.load %B[%column, %k] : !tile.desc<256x64xbf16> -> tensor<256x64xbf16>
      %bt = tile.trans %b : tensor<256x64xbf16> -> tensor<64x256xbf16>
      %next = tile.dot %a, %bt acc(%acc) : tensor<128x64xbf16>, tensor<64x256xbf16> -> tensor<128x256xf32>
      scf.yield %next : tensor<128x256xf32>
    }
    %c = arith.truncf %sum : tensor<128x256xf32> to tensor<128x256xbf16>
    tile.store %c to %C[%row, %column] : tensor<128x256xbf16>, !tile.desc<128x256xbf16>
  }
  return
}
