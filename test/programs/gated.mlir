// REQUIRES: ptxas
// RUN: kernel-opt %s --target=sm_90a --emit=ptx --werror-ptxas -o %t.ptx
// RUN: kernel-opt %s --target=sm_100a --emit=ptx --werror-ptxas -o %t.100.ptx
//
// A gated layer: Y = (sigmoid(X G^T) * (X U^T)) W^T, G and U [F, 64], W [64, F]. Two products of 128 columns make one operand.
func.func @gated(%X: !tile.desc<128x64xbf16>, %G: !tile.desc<128x64xbf16>, %U: !tile.desc<128x64xbf16>, %W: !tile.desc<64x128xbf16>,
                 %Y: !tile.desc<128x64xbf16>, %rows: i32, %F: i32) attributes {tile.kernel} {
  %c0 = arith.constant 0 : i32
  %c128 = arith.constant 128 : i32
  %zero = arith.constant dense<0.0> : tensor<128x64xf32>
  %one = arith.constant dense<1.0> : tensor<128x128xf32>
  %slope = arith.constant dense<-1.44269504> : tensor<128x128xf32>
  %tiles = arith.ceildivui %rows, %c128 : i32
  tile.for_each_tile (%i) in (%tiles) {
    %row = arith.muli %i, %c128 : i32
    %x = tile.load %X[%row, %c0] : !tile.desc<128x64xbf16> -> tensor<128x64xbf16>
    %y = scf.for %f = %c0 to %F step %c128 iter_args(%acc = %zero) -> tensor<128x64xf32> : i32 {
      %g = tile.load %G[%f, %c0] : !tile.desc<128x64xbf16> -> tensor<128x64xbf16>
      %gt = tile.trans %g : tensor<128x64xbf16> -> tensor<64x128xbf16>
      %gate = tile.dot %x, %gt : tensor<128x64xbf16>, tensor<64x128xbf16> -> tensor<128x128xf32>
      %u = tile.load %U[%f, %c0] : !tile.desc<128x64xbf16> -> tensor<128x64xbf16>
      %ut = tile.trans %u : tensor<128x64xbf16> -> tensor<64x128xbf16>
      %up = tile.dot %x, %ut : tensor<128x64xbf16>, tensor<64x128xbf16> -> tensor<128x128xf32>
      %s = arith.mulf %gate, %slope : tensor<128x128xf32>
      %e = math.exp2 %s : tensor<128x128xf32>
      %q = arith.addf %e, %one : tensor<128x128xf32>
      %h = arith.divf %up, %q fastmath<arcp> : tensor<128x128xf32>
      %h16 = arith.truncf %h : tensor<128x128xf32> to tensor<128x128xbf16>
      %w = tile.load %W[%c0, %f] : !tile.desc<64x128xbf16> -> tensor<64x128xbf16>
      %wt = tile.trans %w : tensor<64x128xbf16> -> tensor<128x64xbf16>
      %next = tile.dot %h16, %wt acc(%acc) : tensor<128x128xbf16>, tensor<128x64xbf16> -> tensor<128x64xf32>
      scf.yield %next : tensor<128x64xf32>
    }
    %out = arith.truncf %y : tensor<128x64xf32> to tensor<128x64xbf16>
    tile.store %out to %Y[%row, %c0] : tensor<128x64xbf16>, !tile.desc<128x64xbf16>
  }
  return
}
