// REQUIRES: ptxas
// RUN: kernel-opt %s --target=sm_90a --emit=ptx --werror-ptxas -o %t.ptx
//
// Two products with squares between them, each row over the sum of its squares: y = (s . s) w2 / sum(s . s), s = x w1^T. No special functions, and a sum
// that only the end needs.
// x [rows, 64], w1 [blocks * 64, 64], w2 [blocks * 64, 64], y [rows, 64] in bf16; tiles of 128 rows over two math warpgroups.

!w = !nv.memdesc<64x64xbf16>
!x = !nv.memdesc<128x64xbf16>
!acc = tensor<64x64xf32>
!row = tensor<64xf32>
!xbuf = !warp.buffer<1 x [128x64xbf16]>
!wbuf = !warp.buffer<2 x [64x64xbf16]>
!out = !warp.buffer<1 x [64x64xbf16]>

func.func @squared_chain(%X: !tile.desc<128x64xbf16>, %W1: !tile.desc<64x64xbf16>, %W2: !tile.desc<64x64xbf16>, %Y: !tile.desc<64x64xbf16>,
                  %tiles: i32, %blocks: i32)
    attributes {tile.kernel, warp.launch = #warp.launch<persistent = true>} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c64 = arith.constant 64 : i32
  %c128 = arith.constant 128 : i32
  %xbuf = warp.buffer : !xbuf
  %x_free = warp.ring released %xbuf : !xbuf
  %x_ready = warp.ring %xbuf : !xbuf
  %abuf = warp.buffer : !wbuf
  %a_free = warp.ring released %abuf : !wbuf
  %a_ready = warp.ring %abuf : !wbuf
  %bbuf = warp.buffer : !wbuf
  %b_free = warp.ring released %bbuf : !wbuf
  %b_ready = warp.ring %bbuf : !wbuf
  %obuf = warp.buffer per_replica : !out
  %staged = warp.ring released %obuf : !out
  warp.specialize {
    warp.role @math warps(4) replicas(2) registers(232) {
      %r = warp.replica_index
      %row = arith.muli %r, %c64 : i32
      %zero = arith.constant dense<0.0> : !acc
      %none = arith.constant dense<0.0> : !row
      %one = arith.constant dense<1.0> : !row
      warp.for_each_tile (%i, %j) in (%tiles, %c1) {
        %tx = warp.acquire %x_ready
        %xs = warp.slot %tx : !x
        %xr = nv.memdesc.slice %xs[%row, %c0] : !x -> !w
        %x = nv.local_load %xr : !w -> tensor<64x64xbf16>
        warp.release %tx to %x_free generic
        %y:2 = scf.for %f = %c0 to %blocks step %c1 iter_args(%acc = %zero, %old0 = %none) -> (!acc, !row) : i32 {
          %ta = warp.acquire %a_ready
          %a = warp.slot %ta : !w
          %at = nv.memdesc.trans %a : !w -> !w
          %h0 = nv.wgmma %x, %at : tensor<64x64xbf16>, !w -> !acc
          %h = nv.wgmma.wait %h0 pending(0) : !acc
          warp.release %ta to %a_free wgmma
          %g = arith.mulf %h, %h : !acc
          %sum = nv.reduce add %g dim(1) : !acc -> !row
          %new = arith.addf %old0, %sum : !row
          %g16 = arith.truncf %g : !acc to tensor<64x64xbf16>
          %tb = warp.acquire %b_ready
          %b = warp.slot %tb : !w
          %d0 = nv.wgmma %g16, %b acc(%acc) : tensor<64x64xbf16>, !w -> !acc
          %d = nv.wgmma.wait %d0 pending(0) : !acc
          warp.release %tb to %b_free wgmma
          scf.yield %d, %new : !acc, !row
        }
        %inverse = arith.divf %one, %y#1 fastmath<arcp> : !row
        %spread = nv.broadcast %inverse dim(1) : !row -> !acc
        %out = arith.mulf %y#0, %spread : !acc
        %i0 = arith.muli %i, %c128 : i32
        %i1 = arith.addi %i0, %row : i32
        %o = arith.truncf %out : !acc to tensor<64x64xbf16>
        warp.store %o to %Y[%i1, %c0] through %staged : tensor<64x64xbf16>, !tile.desc<64x64xbf16>
      }
    }
    warp.role @load warps(1) registers(24) {
      warp.for_each_tile (%i, %j) in (%tiles, %c1) {
        %i0 = arith.muli %i, %c128 : i32
        %tx = warp.acquire %x_free
        %x = warp.slot %tx : !x
        nv.tma.load %X[%i0, %c0] to %x : !tile.desc<128x64xbf16>, !x
        warp.release %tx to %x_ready tma
        scf.for %f = %c0 to %blocks step %c1 : i32 {
          %f0 = arith.muli %f, %c64 : i32
          %ta = warp.acquire %a_free
          %a = warp.slot %ta : !w
          nv.tma.load %W1[%f0, %c0] to %a : !tile.desc<64x64xbf16>, !w
          warp.release %ta to %a_ready tma
          %tb = warp.acquire %b_free
          %b = warp.slot %tb : !w
          nv.tma.load %W2[%f0, %c0] to %b : !tile.desc<64x64xbf16>, !w
          warp.release %tb to %b_ready tma
        }
      }
    }
  }
  return
}
