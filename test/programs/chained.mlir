// One tile, read four ways without a loop: D = (A A^T) in bf16 times A, added to A A^T. The caller gives the grid; nothing uses %Z.
//
// RUN: kernel-opt %s --target=sm_90a --emit=ptx | FileCheck %s --check-prefix=HOPPER
// RUN: kernel-opt %s --target=sm_100a --emit=ptx | FileCheck %s --check-prefix=BLACKWELL
//
// The unused tensor is no parameter of the kernel.
// HOPPER: .entry chained(
// HOPPER: .param {{.*}}chained_param_1
// HOPPER-NOT: chained_param_2
// HOPPER-COUNT-8: wgmma.mma_async
// BLACKWELL: .entry chained(
// BLACKWELL-NOT: chained_param_2
// BLACKWELL: tcgen05.mma
func.func @chained(%A: !tile.desc<64x64xbf16>, %Z: !tile.desc<32x512xbf16>, %D: !tile.desc<64x64xbf16>) attributes {tile.kernel} {
  %c0 = arith.constant 0 : i32
  %a = tile.load %A[%c0, %c0] : !tile.desc<64x64xbf16> -> tensor<64x64xbf16>
  %t = tile.trans %a : tensor<64x64xbf16> -> tensor<64x64xbf16>
  %u = tile.trans %t : tensor<64x64xbf16> -> tensor<64x64xbf16>
  %d = tile.dot %u, %t : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
  %e = arith.truncf %d : tensor<64x64xf32> to tensor<64x64xbf16>
  %f = tile.dot %e, %a acc(%d) : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
  %g = arith.truncf %f : tensor<64x64xf32> to tensor<64x64xbf16>
  tile.store %g to %D[%c0, %c0] : tensor<64x64xbf16>, !tile.desc<64x64xbf16>
  return
}
