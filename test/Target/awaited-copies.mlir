// REQUIRES: ptxas
// RUN: kernel-opt %s --target=sm_90a --emit=ptx --werror-ptxas -o %t.ptx
// RUN: FileCheck %s < %t.ptx

// A sum that its loop changes for the next product, and that is used behind the loop as it was: the copy that takes is not made between the
// product and the wait, where the product owns its registers.
// CHECK: wgmma.commit_group
// CHECK-NOT: mov.b32
// CHECK: wgmma.wait_group
func.func @changed(%A: !tile.desc<64x64xbf16>, %B: !tile.desc<32x64xbf16>, %C: !tile.desc<64x32xf32>, %m: i32, %n: i32, %k: i32) attributes {tile.kernel} {
  %c0 = arith.constant 0 : i32
  %c32 = arith.constant 32 : i32
  %c64 = arith.constant 64 : i32
  %zero = arith.constant dense<0.0> : tensor<64x32xf32>
  %low = arith.constant dense<-5.0> : tensor<64x32xf32>
  %high = arith.constant dense<4.0> : tensor<64x32xf32>
  %mt = arith.ceildivsi %m, %c64 : i32
  %nt = arith.ceildivsi %n, %c32 : i32
  tile.for_each_tile (%i, %j) in (%mt, %nt) {
    %row = arith.muli %i, %c64 : i32
    %column = arith.muli %j, %c32 : i32
    %sum = scf.for %q = %c0 to %k step %c64 iter_args(%acc = %zero) -> tensor<64x32xf32> : i32 {
      %a = tile.load %A[%row, %q] : !tile.desc<64x64xbf16> -> tensor<64x64xbf16>
      %b = tile.load %B[%column, %q] : !tile.desc<32x64xbf16> -> tensor<32x64xbf16>
      %bt = tile.trans %b : tensor<32x64xbf16> -> tensor<64x32xbf16>
      %d = tile.dot %a, %bt acc(%acc) : tensor<64x64xbf16>, tensor<64x32xbf16> -> tensor<64x32xf32>
      %next = arith.maxnumf %d, %low : tensor<64x32xf32>
      scf.yield %next : tensor<64x32xf32>
    }
    %r = arith.maxnumf %sum, %high : tensor<64x32xf32>
    tile.store %r to %C[%row, %column] : tensor<64x32xf32>, !tile.desc<64x32xf32>
  }
  return
}
