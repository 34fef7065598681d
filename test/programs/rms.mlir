// REQUIRES: ptxas
// RUN: kernel-opt %s --target=sm_90a --emit=ptx --werror-ptxas -o %t.ptx
// RUN: kernel-opt %s --target=sm_100a --emit=ptx --werror-ptxas -o %t.100.ptx
//
// A product whose rows are normalised: Y = D / sqrt(mean(D^2)), D = A B^T, B [256, K]; all columns of a row are one tile's.
func.func @rms(%A: !tile.desc<128x64xbf16>, %B: !tile.desc<256x64xbf16>, %Y: !tile.desc<128x256xbf16>, %rows: i32, %K: i32)
    attributes {tile.kernel} {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %c128 = arith.constant 128 : i32
  %zero = arith.constant dense<0.0> : tensor<128x256xf32>
  %least = arith.constant dense<1.0e-12> : tensor<128xf32>
  %share = arith.constant dense<0.00390625> : tensor<128xf32>
  %tiles = arith.ceildivui %rows, %c128 : i32
  tile.for_each_tile (%i) in (%tiles) {
    %row = arith.muli %i, %c128 : i32
    %d = scf.for %k = %c0 to %K step %c64 iter_args(%sum = %zero) -> tensor<128x256xf32> : i32 {
      %a = tile.load %A[%row, %k] : !tile.desc<128x64xbf16> -> tensor<128x64xbf16>
      %b = tile.load %B[%c0, %k] : !tile.desc<256x64xbf16> -> tensor<256x64xbf16>
      %bt = tile.trans %b : tensor<256x64xbf16> -> tensor<64x256xbf16>
      %next = tile.dot %a, %bt acc(%sum) : tensor<128x64xbf16>, tensor<64x256xbf16> -> tensor<128x256xf32>
      scf.yield %next : tensor<128x256xf32>
    }
    %squares = arith.mulf %d, %d : tensor<128x256xf32>
    %total = tile.reduce add %squares dim(1) : tensor<128x256xf32> -> tensor<128xf32>
    %mean = arith.mulf %total, %share : tensor<128xf32>
    %some = arith.addf %mean, %least : tensor<128xf32>
    %scale = math.rsqrt %some : tensor<128xf32>
    %column = tile.expand_dims %scale dim(1) : tensor<128xf32> -> tensor<128x1xf32>
    %scales = tile.broadcast %column : tensor<128x1xf32> -> tensor<128x256xf32>
    %y = arith.mulf %d, %scales : tensor<128x256xf32>
    %out = arith.truncf %y : tensor<128x256xf32> to tensor<128x256xbf16>
    tile.store %out to %Y[%row, %c0] : tensor<128x256xbf16>, !tile.desc<128x256xbf16>
  }
  return
}
