// As gemm_tcgen05.mlir with tiles of 64 x 256: 64 rows take the first 16 lanes of each quadrant of tensor memory, and are read as the
// fragments of a wgmma accumulator, which stmatrix writes on.
//
// REQUIRES: ptxas
// RUN: kernel-opt %s --target=sm_100a --emit=ptx --werror-ptxas -o %t.ptx
// RUN: FileCheck %s < %t.ptx
// RUN: kernel-opt %s --target=sm_103a --emit=ptx --werror-ptxas -o %t.103.ptx
// RUN: FileCheck %s < %t.103.ptx
//
// CHECK: tcgen05.ld.sync.aligned.16x256b.x8.b32
// CHECK: tcgen05.wait::ld.sync.aligned
// CHECK: stmatrix.sync.aligned
// CHECK: tcgen05.mma.cta_group::1.kind::f16

!ab = !warp.buffer<4 x [64x64xbf16, 256x64xbf16]>
!acc = !warp.buffer<2 x [64x256xf32], tmem>
!out = !warp.buffer<2 x [64x64xbf16]>
!a = !nv.memdesc<64x64xbf16>
!b = !nv.memdesc<256x64xbf16>
!bt = !nv.memdesc<64x256xbf16>
!d = !nv.memdesc<64x256xf32, tmem>
!piece = !nv.memdesc<64x64xf32, tmem>

func.func @gemm(%A: !tile.desc<64x64xbf16>, %B: !tile.desc<256x64xbf16>, %C: !tile.desc<64x64xbf16>,
                %m: i32, %n: i32, %kb: i32)
    attributes {tile.kernel, warp.launch = #warp.launch<persistent = true>} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c64 = arith.constant 64 : i32
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
        %i0 = arith.muli %i, %c64 : i32
        %j0 = arith.muli %j, %c256 : i32
        scf.for %col = %c0 to %c256 step %c64 : i32 {
          %part = nv.memdesc.slice %d[%c0, %col] : !d -> !piece
          %x = nv.tmem.load %part : !piece -> tensor<64x64xf32>
          %y = arith.truncf %x : tensor<64x64xf32> to tensor<64x64xbf16>
          %jc = arith.addi %j0, %col : i32
          warp.store %y to %C[%i0, %jc] through %staged : tensor<64x64xbf16>, !tile.desc<64x64xbf16>
        }
        warp.release %td to %empty generic
      }
    }
    warp.role @load warps(1) {
      warp.for_each_tile (%i, %j) in (%m, %n) group(16) {
        %i0 = arith.muli %i, %c64 : i32
        %j0 = arith.muli %j, %c256 : i32
        scf.for %k = %c0 to %kb step %c1 : i32 {
          %t = warp.acquire %free
          %a, %b = warp.slot %t : !a, !b
          %k0 = arith.muli %k, %c64 : i32
          nv.tma.load %A[%i0, %k0] to %a : !tile.desc<64x64xbf16>, !a
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
