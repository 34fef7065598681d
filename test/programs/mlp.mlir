// REQUIRES: ptxas
// RUN: kernel-opt %s --target=sm_90a --emit=ptx --werror-ptxas -o %t.ptx
// RUN: kernel-opt %s --target=sm_100a --emit=ptx --werror-ptxas -o %t.100.ptx
//
// Two chained products with an activation between: Y = gelu(X W1^T) W2^T, W1 [F, 64], W2 [64, F].
func.func @mlp(%X: !tile.desc<128x64xbf16>, %W1: !tile.desc<64x64xbf16>, %W2: !tile.desc<64x64xbf16>, %Y: !tile.desc<128x64xbf16>,
               %rows: i32, %F: i32) attributes {tile.kernel} {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %c128 = arith.constant 128 : i32
  %zero = arith.constant dense<0.0> : tensor<128x64xf32>
  %half = arith.constant dense<0.5> : tensor<128x64xf32>
  %one = arith.constant dense<1.0> : tensor<128x64xf32>
  %slope = arith.constant dense<0.7978845608> : tensor<128x64xf32>
  %cubic = arith.constant dense<0.044715> : tensor<128x64xf32>
  %tiles = arith.ceildivui %rows, %c128 : i32
  tile.for_each_tile (%i) in (%tiles) {
    %row = arith.muli %i, %c128 : i32
    %x = tile.load %X[%row, %c0] : !tile.desc<128x64xbf16> -> tensor<128x64xbf16>
    %y = scf.for %f = %c0 to %F step %c64 iter_args(%acc = %zero) -> tensor<128x64xf32> : i32 {
      %w1 = tile.load %W1[%f, %c0] : !tile.desc<64x64xbf16> -> tensor<64x64xbf16>
      %w1t = tile.trans %w1 : tensor<64x64xbf16> -> tensor<64x64xbf16>
      %h = tile.dot %x, %w1t : tensor<128x64xbf16>, tensor<64x64xbf16> -> tensor<128x64xf32>
      %h2 = arith.mulf %h, %h : tensor<128x64xf32>
      %h3 = arith.mulf %h2, %h : tensor<128x64xf32>
      %c = arith.mulf %h3, %cubic : tensor<128x64xf32>
      %s = arith.addf %h, %c : tensor<128x64xf32>
      %u = arith.mulf %s, %slope : tensor<128x64xf32>
      %t = math.tanh %u : tensor<128x64xf32>
      %p = arith.addf %t, %one : tensor<128x64xf32>
      %q = arith.mulf %h, %half : tensor<128x64xf32>
      %g = arith.mulf %p, %q : tensor<128x64xf32>
      %g16 = arith.truncf %g : tensor<128x64xf32> to tensor<128x64xbf16>
      %w2 = tile.load %W2[%c0, %f] : !tile.desc<64x64xbf16> -> tensor<64x64xbf16>
      %w2t = tile.trans %w2 : tensor<64x64xbf16> -> tensor<64x64xbf16>
      %next = tile.dot %g16, %w2t acc(%acc) : tensor<128x64xbf16>, tensor<64x64xbf16> -> tensor<128x64xf32>
      scf.yield %next : tensor<128x64xf32>
    }
    %out = arith.truncf %y : tensor<128x64xf32> to tensor<128x64xbf16>
    tile.store %out to %Y[%row, %c0] : tensor<128x64xbf16>, !tile.desc<128x64xbf16>
  }
  return
}
