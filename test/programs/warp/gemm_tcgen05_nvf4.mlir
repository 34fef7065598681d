// C[M, N] = (A[M, K] * SA) (B[N, K] * SB)^T with e2m1 operands, two in a byte, and an e4m3 scale for each 16 elements along K (NVFP4). Scales
// come in blocks as in gemm_tcgen05_mxf8.mlir, four of them for 256 elements along K.
// m, n: tiles of 128 x 128; kb >= 1: blocks of 256 along K.
//
// REQUIRES: ptxas
// RUN: kernel-opt %s --target=sm_100a --emit=ptx --werror-ptxas -o %t.ptx
// RUN: FileCheck %s < %t.ptx
// RUN: kernel-opt %s --target=sm_103a --emit=ptx --werror-ptxas -o %t.103.ptx
// RUN: FileCheck %s < %t.103.ptx
// RUN: kernel-opt %s --target=sm_100a --emit=recipe -o - | FileCheck %s --check-prefix=RECIPE
//
// CHECK-COUNT-8: tcgen05.cp.cta_group::1.32x128b.warpx4
// CHECK-COUNT-4: tcgen05.mma.cta_group::1.kind::mxf4nvf4.block_scale.block16
// CHECK-NOT: tcgen05.mma
// RECIPE: "box": [
// RECIPE-NEXT: 256,
// RECIPE-NEXT: 128
// RECIPE: "element": "e2m1"
// RECIPE: "swizzle": 128

!ab = !warp.buffer<4 x [128x256xf4E2M1FN, 128x256xf4E2M1FN, 128x16xi8, 128x16xi8]>
!acc = !warp.buffer<2 x [128x128xf32], tmem>
!sf = !warp.buffer<2 x [128x16xf8E4M3FN, 128x16xf8E4M3FN], tmem>
!out = !warp.buffer<1 x [128x64xbf16]>
!a = !nv.memdesc<128x256xf4E2M1FN>
!b = !nv.memdesc<128x256xf4E2M1FN>
!bt = !nv.memdesc<256x128xf4E2M1FN>
!s = !nv.memdesc<128x16xi8>
!t = !nv.memdesc<128x16xf8E4M3FN, tmem>
!d = !nv.memdesc<128x128xf32, tmem>
!piece = !nv.memdesc<128x64xf32, tmem>

func.func @gemm(%A: !tile.desc<128x256xf4E2M1FN>, %B: !tile.desc<128x256xf4E2M1FN>, %SA: !tile.desc<128x16xi8>,
                %SB: !tile.desc<128x16xi8>, %C: !tile.desc<128x64xbf16>, %m: i32, %n: i32, %kb: i32)
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
  %sf = warp.buffer : !sf
  %scales = warp.ring released %sf : !sf
  %out = warp.buffer : !out
  %staged = warp.ring released %out : !out

  warp.specialize {
    warp.role @epilogue warps(4) {
      warp.for_each_tile (%i, %j) in (%m, %n) {
        %td = warp.acquire %full
        %d = warp.slot %td : !d
        %i0 = arith.muli %i, %c128 : i32
        %j0 = arith.muli %j, %c128 : i32
        scf.for %col = %c0 to %c128 step %c64 : i32 {
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
      warp.for_each_tile (%i, %j) in (%m, %n) {
        %i0 = arith.muli %i, %c128 : i32
        %j0 = arith.muli %j, %c128 : i32
        %ablock = arith.muli %i, %kb : i32
        %bblock = arith.muli %j, %kb : i32
        scf.for %k = %c0 to %kb step %c1 : i32 {
          %t = warp.acquire %free
          %a, %b, %sa, %sb = warp.slot %t : !a, !b, !s, !s
          %k0 = arith.muli %k, %c256 : i32
          nv.tma.load %A[%i0, %k0] to %a : !tile.desc<128x256xf4E2M1FN>, !a
          nv.tma.load %B[%j0, %k0] to %b : !tile.desc<128x256xf4E2M1FN>, !b
          %ra = arith.addi %ablock, %k : i32
          %ra0 = arith.muli %ra, %c128 : i32
          nv.tma.load %SA[%ra0, %c0] to %sa : !tile.desc<128x16xi8>, !s
          %rb = arith.addi %bblock, %k : i32
          %rb0 = arith.muli %rb, %c128 : i32
          nv.tma.load %SB[%rb0, %c0] to %sb : !tile.desc<128x16xi8>, !s
          warp.release %t to %ready tma
        }
      }
    }
    warp.role @mma warps(1) {
      warp.for_each_tile (%i, %j) in (%m, %n) {
        %td = warp.acquire %empty
        %d = warp.slot %td : !d
        scf.for %k = %c0 to %kb step %c1 : i32 {
          %ts = warp.acquire %scales
          %ta, %tb = warp.slot %ts : !t, !t
          %t = warp.acquire %ready
          %a, %b, %sa, %sb = warp.slot %t : !a, !b, !s, !s
          nv.tcgen05.cp %sa to %ta x32x128b : !s, !t
          nv.tcgen05.cp %sb to %tb x32x128b : !s, !t
          %bt = nv.memdesc.trans %b : !b -> !bt
          %more = arith.cmpi ne, %k, %c0 : i32
          nv.tcgen05.mma_scaled %a scale(%ta), %bt scale(%tb), %d accumulate(%more) block(16) : !a, !t, !bt, !t, !d
          warp.release %t to %free tcgen05
          warp.release %ts to %scales tcgen05
        }
        warp.release %td to %full tcgen05
      }
    }
  }
  return
}
