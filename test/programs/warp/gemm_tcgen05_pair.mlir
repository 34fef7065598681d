// C[M, N] = A[M, K] * B[N, K]^T in bf16 on pairs of CTAs: 256 x 256 tiles, each CTA with 128 rows of A and C and 128 rows of B. The
// even CTA issues the products of both; loads of both count on its mbarriers, its commits arrive in both.
// m, n: tiles of 256 x 256; kb >= 1: blocks of 64 along K.
//
// REQUIRES: ptxas
// RUN: kernel-opt %s --target=sm_100a --emit=ptx --werror-ptxas -o %t.ptx
// RUN: FileCheck %s < %t.ptx
// RUN: kernel-opt %s --target=sm_103a --emit=ptx --werror-ptxas -o %t.103.ptx
//
// CHECK: .reqnctapercluster 2
// CHECK: tcgen05.alloc.cta_group::2
// CHECK: barrier.cluster.arrive
// CHECK: barrier.cluster.wait
// CHECK-DAG: cp.async.bulk.tensor.2d.cta_group::2.shared::cluster.global
// CHECK-DAG: tcgen05.mma.cta_group::2.kind::f16
// CHECK-DAG: tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster
// CHECK-DAG: mbarrier.arrive.release.cta.shared::cluster.b64 _
// CHECK: barrier.cluster.wait
// CHECK: tcgen05.dealloc.cta_group::2

!ab = !warp.buffer<5 x [128x64xbf16, 128x64xbf16]>
!acc = !warp.buffer<2 x [128x256xf32], tmem>
!out = !warp.buffer<2 x [128x64xbf16]>
!a = !nv.memdesc<128x64xbf16>
!bt = !nv.memdesc<64x128xbf16>
!d = !nv.memdesc<128x256xf32, tmem>
!piece = !nv.memdesc<128x64xf32, tmem>

func.func @gemm(%A: !tile.desc<128x64xbf16>, %B: !tile.desc<128x64xbf16>, %C: !tile.desc<128x64xbf16>,
                %m: i32, %n: i32, %kb: i32)
    attributes {tile.kernel, warp.launch = #warp.launch<persistent = true, cluster = 2>} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c64 = arith.constant 64 : i32
  %c128 = arith.constant 128 : i32
  %c256 = arith.constant 256 : i32
  %ab = warp.buffer : !ab
  %free = warp.ring released %ab scope(pair) : !ab
  %ready = warp.ring %ab scope(pair) : !ab
  %acc = warp.buffer : !acc
  %empty = warp.ring released %acc scope(pair) : !acc
  %full = warp.ring %acc scope(pair) : !acc
  %out = warp.buffer : !out
  %staged = warp.ring released %out : !out

  warp.specialize {
    warp.role @epilogue warps(4) {
      %rank = nv.cta_rank
      %half = arith.muli %rank, %c128 : i32
      warp.for_each_tile (%i, %j) in (%m, %n) group(8) {
        %td = warp.acquire %full
        %d = warp.slot %td : !d
        %i0 = arith.muli %i, %c256 : i32
        %i1 = arith.addi %i0, %half : i32
        %j0 = arith.muli %j, %c256 : i32
        scf.for %col = %c0 to %c256 step %c64 : i32 {
          %part = nv.memdesc.slice %d[%c0, %col] : !d -> !piece
          %x = nv.tmem.load %part : !piece -> tensor<128x64xf32>
          %y = arith.truncf %x : tensor<128x64xf32> to tensor<128x64xbf16>
          %jc = arith.addi %j0, %col : i32
          warp.store %y to %C[%i1, %jc] through %staged : tensor<128x64xbf16>, !tile.desc<128x64xbf16>
        }
        warp.release %td to %empty generic
      }
    }
    warp.role @load warps(1) {
      %rank = nv.cta_rank
      %half = arith.muli %rank, %c128 : i32
      warp.for_each_tile (%i, %j) in (%m, %n) group(8) {
        %i0 = arith.muli %i, %c256 : i32
        %i1 = arith.addi %i0, %half : i32
        %j0 = arith.muli %j, %c256 : i32
        %j1 = arith.addi %j0, %half : i32
        scf.for %k = %c0 to %kb step %c1 : i32 {
          %t = warp.acquire %free
          %a, %b = warp.slot %t : !a, !a
          %k0 = arith.muli %k, %c64 : i32
          nv.tma.load %A[%i1, %k0] to %a : !tile.desc<128x64xbf16>, !a
          nv.tma.load %B[%j1, %k0] to %b : !tile.desc<128x64xbf16>, !a
          warp.release %t to %ready tma
        }
      }
    }
    warp.role @mma warps(1) leader {
      warp.for_each_tile (%i, %j) in (%m, %n) group(8) {
        %td = warp.acquire %empty
        %d = warp.slot %td : !d
        scf.for %k = %c0 to %kb step %c1 : i32 {
          %t = warp.acquire %ready
          %a, %b = warp.slot %t : !a, !a
          %bt = nv.memdesc.trans %b : !a -> !bt
          %more = arith.cmpi ne, %k, %c0 : i32
          nv.tcgen05.mma %a, %bt, %d accumulate(%more) cta_group(2) : !a, !bt, !d
          warp.release %t to %free tcgen05
        }
        warp.release %td to %full tcgen05
      }
    }
  }
  return
}
