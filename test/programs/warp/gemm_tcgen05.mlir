// C[M, N] = A[M, K] * B[N, K]^T in bf16 on one CTA's tensor core: a load warp, an MMA warp, and an epilogue warpgroup. The accumulator is
// double-buffered in tensor memory: the epilogue of a tile overlaps the products of the next.
// m, n: tiles of 128 x 256; kb >= 1: blocks of 64 along K.
//
// REQUIRES: ptxas
// RUN: kernel-opt %s --target=sm_100a --emit=ptx --werror-ptxas --report -o %t.ptx 2>&1 | FileCheck %s --check-prefix=REPORT
// RUN: FileCheck %s < %t.ptx
// RUN: kernel-opt %s --target=sm_103a --emit=ptx --werror-ptxas -o %t.103.ptx
// RUN: FileCheck %s < %t.103.ptx
// RUN: not kernel-opt %s --target=sm_90a --emit=ptx 2>&1 | FileCheck %s --check-prefix=HOPPER
//
// CHECK: tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [tileloom_shared
// CHECK: tcgen05.relinquish_alloc_permit.cta_group::1
// CHECK-COUNT-4: tcgen05.mma.cta_group::1.kind::f16
// CHECK-NOT: tcgen05.mma
// CHECK: tcgen05.commit.cta_group::1.mbarrier::arrive::one
// CHECK: tcgen05.dealloc.cta_group::1.sync.aligned.b32
// REPORT: tcgen05.f16  m128n256k16  bf16  bf16  f32  shared
// REPORT-NOT: C75
// REPORT-NOT: C76
// HOPPER: error: 'warp.buffer' op needs tensor memory, which target 'sm_90a' does not have

!ab = !warp.buffer<4 x [128x64xbf16, 256x64xbf16]>
!acc = !warp.buffer<2 x [128x256xf32], tmem>
!out = !warp.buffer<2 x [128x64xbf16]>
!a = !nv.memdesc<128x64xbf16>
!b = !nv.memdesc<256x64xbf16>
!bt = !nv.memdesc<64x256xbf16>
!d = !nv.memdesc<128x256xf32, tmem>
!piece = !nv.memdesc<128x64xf32, tmem>

func.func @gemm(%A: !tile.desc<128x64xbf16>, %B: !tile.desc<256x64xbf16>, %C: !tile.desc<128x64xbf16>,
                %m: i32, %n: i32, %kb: i32)
    attributes {tile.kernel, warp.launch = #warp.launch<persistent = true>} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c64 = arith.constant 64 : i32
  %c128 = arith.constant 128 : i32
  %c256 = arith.constant 256 : i32
  %ab = warp.buffer : !ab
  %free = warp.ring released %ab : !ab
  %ready = warp.ring %ab : !ab
  %acc = warp.buffer : !acc
  %empty = warp.ring released %acc : !acc
  %full = warp.ring %acc : !acc
  %out = warp.buffer : !out
  %staged = warp.ring released %out : !out

  warp.specialize {
    warp.role @epilogue warps(4) {
      warp.for_each_tile (%i, %j) in (%m, %n) group(16) {
        %td = warp.acquire %full
        %d = warp.slot %td : !d
        %i0 = arith.muli %i, %c128 : i32
        %j0 = arith.muli %j, %c256 : i32
        scf.for %col = %c0 to %c256 step %c64 : i32 {
          %part = nv.memdesc.slice %d[%c0, %col] : !d -> !piece
          %x = nv.tmem.load %part : !piece -> tensor<128x64xf32>
          %y = arith.truncf %x : tensor<128x64xf32> to tensor<128x64xbf16>
          %jc = arith.addi %j0, %col : i32
          warp.store %y to %C[%i0, %jc] through %staged : tensor<128x64xbf16>, !tile.desc<128x64xbf16>
        }
        warp.release %td to %empty generic
      }
    }
    warp.role @load warps(1) {
      warp.for_each_tile (%i, %j) in (%m, %n) group(16) {
        %i0 = arith.muli %i, %c128 : i32
        %j0 = arith.muli %j, %c256 : i32
        scf.for %k = %c0 to %kb step %c1 : i32 {
          %t = warp.acquire %free
          %a, %b = warp.slot %t : !a, !b
          %k0 = arith.muli %k, %c64 : i32
          nv.tma.load %A[%i0, %k0] to %a : !tile.desc<128x64xbf16>, !a
          nv.tma.load %B[%j0, %k0] to %b : !tile.desc<256x64xbf16>, !b
          warp.release %t to %ready tma
        }
      }
    }
    warp.role @mma warps(1) {
      warp.for_each_tile (%i, %j) in (%m, %n) group(16) {
        %td = warp.acquire %empty
        %d = warp.slot %td : !d
        scf.for %k = %c0 to %kb step %c1 : i32 {
          %t = warp.acquire %ready
          %a, %b = warp.slot %t : !a, !b
          %bt = nv.memdesc.trans %b : !b -> !bt
          %more = arith.cmpi ne, %k, %c0 : i32
          nv.tcgen05.mma %a, %bt, %d accumulate(%more) : !a, !bt, !d
          warp.release %t to %free tcgen05
        }
        warp.release %td to %full tcgen05
      }
    }
  }
  return
}
