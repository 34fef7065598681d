// C[M, N] = A[M, K] * B[N, K]^T in bf16 on clusters of two CTAs that share a tile of B: each loads its 128 rows of A and one half of
// the 256 rows of B, which it sends to both. A slot is free when the math warps of both CTAs have released it.
// m, n: tiles of 256 x 256 along M and N; kb: blocks of 64 along K.
//
// REQUIRES: ptxas
// RUN: kernel-opt %s --target=sm_90a --emit=ptx --werror-ptxas -o %t.ptx
// RUN: FileCheck %s < %t.ptx
//
// CHECK: .reqnctapercluster 2
// CHECK: fence.mbarrier_init.release.cluster
// CHECK: barrier.cluster.arrive
// CHECK: barrier.cluster.wait
// CHECK-DAG: mapa.shared::cluster.u32
// CHECK-DAG: mbarrier.arrive.release.cta.shared::cluster.b64 _
// CHECK-DAG: cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster
// CHECK: barrier.cluster.wait

!ab = !warp.buffer<4 x [128x64xbf16, 256x64xbf16]>
!out = !warp.buffer<1 x [64x128xbf16]>
!acc = tensor<64x256xf32>

func.func @gemm(%A: !tile.desc<128x64xbf16>, %B: !tile.desc<128x64xbf16>, %C: !tile.desc<64x128xbf16>,
                %m: i32, %n: i32, %kb: i32)
    attributes {tile.kernel, warp.launch = #warp.launch<persistent = true, cluster = 2>} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c64 = arith.constant 64 : i32
  %c128 = arith.constant 128 : i32
  %c256 = arith.constant 256 : i32
  %ab = warp.buffer : !ab
  %free = warp.ring released %ab scope(cluster) : !ab
  %ready = warp.ring %ab scope(cluster) : !ab
  %out = warp.buffer per_replica : !out
  %staged = warp.ring released %out : !out

  warp.specialize {
    warp.role @math warps(4) replicas(2) registers(232) {
      %r = warp.replica_index
      %row = arith.muli %r, %c64 : i32
      %rank = nv.cta_rank
      %half = arith.muli %rank, %c128 : i32
      %blocks = arith.maxsi %kb, %c1 : i32
      warp.for_each_tile (%i, %j) in (%m, %n) group(16) {
        %undef = ub.poison : !acc
        %acc = scf.for %k = %c0 to %blocks step %c1 iter_args(%c = %undef) -> !acc : i32 {
          %t = warp.acquire %ready
          %a, %b = warp.slot %t : !nv.memdesc<128x64xbf16>, !nv.memdesc<256x64xbf16>
          %ar = nv.memdesc.slice %a[%row, %c0] : !nv.memdesc<128x64xbf16> -> !nv.memdesc<64x64xbf16>
          %bt = nv.memdesc.trans %b : !nv.memdesc<256x64xbf16> -> !nv.memdesc<64x256xbf16>
          %more = arith.cmpi ne, %k, %c0 : i32
          %d = nv.wgmma %ar, %bt acc(%c) use_c(%more) : !nv.memdesc<64x64xbf16>, !nv.memdesc<64x256xbf16> -> !acc
          %w = nv.wgmma.wait %d pending(0) : !acc
          warp.release %t to %free wgmma
          scf.yield %w : !acc
        }
        %i0 = arith.muli %i, %c256 : i32
        %i2 = arith.addi %i0, %half : i32
        %i1 = arith.addi %i2, %row : i32
        %j0 = arith.muli %j, %c256 : i32
        %j1 = arith.addi %j0, %c128 : i32
        %c16 = arith.truncf %acc : !acc to tensor<64x256xbf16>
        %left = nv.extract %c16[0, 0] : tensor<64x256xbf16> -> tensor<64x128xbf16>
        %right = nv.extract %c16[0, 128] : tensor<64x256xbf16> -> tensor<64x128xbf16>
        warp.store %left to %C[%i1, %j0] through %staged : tensor<64x128xbf16>, !tile.desc<64x128xbf16>
        warp.store %right to %C[%i1, %j1] through %staged : tensor<64x128xbf16>, !tile.desc<64x128xbf16>
      }
    }
    warp.role @load warps(1) registers(40) {
      %rank = nv.cta_rank
      %half = arith.muli %rank, %c128 : i32
      %both = arith.constant 3 : i16
      warp.for_each_tile (%i, %j) in (%m, %n) group(16) {
        %i0 = arith.muli %i, %c256 : i32
        %i1 = arith.addi %i0, %half : i32
        %j0 = arith.muli %j, %c256 : i32
        %j1 = arith.addi %j0, %half : i32
        scf.for %k = %c0 to %kb step %c1 : i32 {
          %t = warp.acquire %free
          %a, %b = warp.slot %t : !nv.memdesc<128x64xbf16>, !nv.memdesc<256x64xbf16>
          %k0 = arith.muli %k, %c64 : i32
          %bh = nv.memdesc.slice %b[%half, %c0] : !nv.memdesc<256x64xbf16> -> !nv.memdesc<128x64xbf16>
          nv.tma.load %A[%i1, %k0] to %a : !tile.desc<128x64xbf16>, !nv.memdesc<128x64xbf16>
          nv.tma.load %B[%j1, %k0] to %bh multicast(%both) : !tile.desc<128x64xbf16>, !nv.memdesc<128x64xbf16>
          warp.release %t to %ready tma
        }
      }
    }
  }
  return
}
