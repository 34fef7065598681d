// C[M, N] = (A[M, K] * SA) (B[N, K] * SB)^T with e4m3 operands and a ue8m0 scale for each 32 elements along K (OCP MX). Scales come in the
// blocks of 128 rows x 4 scales that tcgen05.cp spreads over tensor memory: block (row / 128, k / 128) has the scales of row r at byte
// (r % 32) * 16 + (r / 32) % 4 * 4.
// m, n: tiles of 128 x 256; kb >= 1: blocks of 128 along K.
//
// REQUIRES: ptxas
// RUN: kernel-opt %s --target=sm_100a --emit=ptx --werror-ptxas -o %t.ptx
// RUN: FileCheck %s < %t.ptx
// RUN: kernel-opt %s --target=sm_103a --emit=ptx --werror-ptxas -o %t.103.ptx
//
// CHECK-COUNT-3: tcgen05.cp.cta_group::1.32x128b.warpx4
// CHECK-COUNT-4: tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale
// CHECK-NOT: tcgen05.mma

!ab = !warp.buffer<4 x [128x128xf8E4M3FN, 256x128xf8E4M3FN, 32x16xi8, 64x16xi8]>
!acc = !warp.buffer<1 x [128x256xf32], tmem>
!sf = !warp.buffer<2 x [128x4xf8E8M0FNU, 256x4xf8E8M0FNU], tmem>
!out = !warp.buffer<1 x [128x64xbf16]>
!a = !nv.memdesc<128x128xf8E4M3FN>
!b = !nv.memdesc<256x128xf8E4M3FN>
!bt = !nv.memdesc<128x256xf8E4M3FN>
!sa = !nv.memdesc<32x16xi8>
!sb = !nv.memdesc<64x16xi8>
!ta = !nv.memdesc<128x4xf8E8M0FNU, tmem>
!tb = !nv.memdesc<256x4xf8E8M0FNU, tmem>
!d = !nv.memdesc<128x256xf32, tmem>
!piece = !nv.memdesc<128x64xf32, tmem>

func.func @gemm(%A: !tile.desc<128x128xf8E4M3FN>, %B: !tile.desc<256x128xf8E4M3FN>, %SA: !tile.desc<32x16xi8>,
                %SB: !tile.desc<32x16xi8>, %C: !tile.desc<128x64xbf16>, %m: i32, %n: i32, %kb: i32)
    attributes {tile.kernel, warp.launch = #warp.launch<persistent = true>} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %c32 = arith.constant 32 : i32
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
      warp.for_each_tile (%i, %j) in (%m, %n) {
        %i0 = arith.muli %i, %c128 : i32
        %j0 = arith.muli %j, %c256 : i32
        %ablock = arith.muli %i, %kb : i32
        %j2 = arith.muli %j, %c2 : i32
        %bblock = arith.muli %j2, %kb : i32
        scf.for %k = %c0 to %kb step %c1 : i32 {
          %t = warp.acquire %free
          %a, %b, %sa, %sb = warp.slot %t : !a, !b, !sa, !sb
          %k0 = arith.muli %k, %c128 : i32
          nv.tma.load %A[%i0, %k0] to %a : !tile.desc<128x128xf8E4M3FN>, !a
          nv.tma.load %B[%j0, %k0] to %b : !tile.desc<256x128xf8E4M3FN>, !b
          %ra = arith.addi %ablock, %k : i32
          %ra0 = arith.muli %ra, %c32 : i32
          nv.tma.load %SA[%ra0, %c0] to %sa : !tile.desc<32x16xi8>, !sa
          %rb = arith.addi %bblock, %k : i32
          %rb0 = arith.muli %rb, %c32 : i32
          %sb0 = nv.memdesc.slice %sb[%c0, %c0] : !sb -> !sa
          nv.tma.load %SB[%rb0, %c0] to %sb0 : !tile.desc<32x16xi8>, !sa
          %rb1 = arith.addi %rb, %kb : i32
          %rb2 = arith.muli %rb1, %c32 : i32
          %sb1 = nv.memdesc.slice %sb[%c32, %c0] : !sb -> !sa
          nv.tma.load %SB[%rb2, %c0] to %sb1 : !tile.desc<32x16xi8>, !sa
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
          %ta, %tb = warp.slot %ts : !ta, !tb
          %t = warp.acquire %ready
          %a, %b, %sa, %sb = warp.slot %t : !a, !b, !sa, !sb
          nv.tcgen05.cp %sa to %ta x32x128b : !sa, !ta
          nv.tcgen05.cp %sb to %tb x32x128b : !sb, !tb
          %bt = nv.memdesc.trans %b : !b -> !bt
          %more = arith.cmpi ne, %k, %c0 : i32
          nv.tcgen05.mma_scaled %a scale(%ta), %bt scale(%tb), %d accumulate(%more) block(32) : !a, !ta, !bt, !tb, !d
          warp.release %t to %free tcgen05
          warp.release %ts to %scales tcgen05
        }
        warp.release %td to %full tcgen05
      }
    }
  }
  return
}
