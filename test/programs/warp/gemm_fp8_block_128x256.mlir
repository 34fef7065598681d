// As gemm_fp8_block_192x128.mlir, with 128 x 256 tiles: each of two math warpgroups takes 64 rows, 128 columns at a time, so that the
// sums (128 registers) and one product (64) fit. The sums of the first half are complete before the products of the second begin.
// m, n: tiles along M and N; kb: blocks of 128 along K. sfb has 2 * n rows.

!slots = !warp.buffer<3 x [128x128xf8E4M3FN, 256x128xf8E4M3FN, 128xf32]>
!out = !warp.buffer<2 x [64x128xbf16]>
!a = !nv.memdesc<128x128xf8E4M3FN>
!b = !nv.memdesc<256x128xf8E4M3FN>
!s = !nv.memdesc<128xf32>
!half = !nv.memdesc<128x128xf8E4M3FN>
!acc = tensor<64x128xf32>

func.func @gemm(%A: !tile.desc<128x128xf8E4M3FN>, %B: !tile.desc<256x128xf8E4M3FN>, %SA: !tile.desc<1x128xf32>,
                %C: !tile.desc<64x128xbf16>, %sb: i64 {tile.pointer = f32}, %m: i32, %n: i32, %kb: i32)
    attributes {tile.kernel, warp.launch = #warp.launch<persistent = true>} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c64 = arith.constant 64 : i32
  %c128 = arith.constant 128 : i32
  %c256 = arith.constant 256 : i32
  %slots = warp.buffer : !slots
  %free = warp.ring released %slots : !slots
  %ready = warp.ring %slots : !slots
  %out = warp.buffer per_replica : !out
  %staged = warp.ring released %out : !out

  warp.specialize {
    warp.role @math warps(4) replicas(2) registers(232) {
      %r = warp.replica_index
      %row = arith.muli %r, %c64 : i32
      warp.for_each_tile (%i, %j) in (%m, %n) group(16) {
        %zero = arith.constant dense<0.0> : !acc
        %two = arith.constant 2 : i64
        %j64 = arith.extui %j : i32 to i64
        %kb64 = arith.extui %kb : i32 to i64
        %jj = arith.muli %j64, %two : i64
        %scales = arith.muli %jj, %kb64 : i64
        %acc0, %acc1 = scf.for %k = %c0 to %kb step %c1 iter_args(%x = %zero, %y = %zero) -> (!acc, !acc) : i32 {
          %k64 = arith.extui %k : i32 to i64
          %at0 = arith.addi %scales, %k64 : i64
          %at1 = arith.addi %at0, %kb64 : i64
          %t = warp.acquire %ready
          %a, %b, %sa = warp.slot %t : !a, !b, !s
          %ar = nv.memdesc.slice %a[%row, %c0] : !a -> !nv.memdesc<64x128xf8E4M3FN>
          %b0 = nv.memdesc.slice %b[%c0, %c0] : !b -> !half
          %b1 = nv.memdesc.slice %b[%c128, %c0] : !b -> !half
          %bt0 = nv.memdesc.trans %b0 : !half -> !half
          %bt1 = nv.memdesc.trans %b1 : !half -> !half
          %sr = nv.memdesc.slice %sa[%row] : !s -> !nv.memdesc<64xf32>
          %d0 = nv.wgmma %ar, %bt0 : !nv.memdesc<64x128xf8E4M3FN>, !half -> !acc
          %fb0 = nv.global_load %sb[%at0] invariant : i64 -> f32
          %fb1 = nv.global_load %sb[%at1] invariant : i64 -> f32
          %fa = nv.local_load %sr : !nv.memdesc<64xf32> -> tensor<64xf32>
          %fbt0 = nv.splat %fb0 : f32 -> tensor<64xf32>
          %f0 = arith.mulf %fa, %fbt0 : tensor<64xf32>
          %fbt1 = nv.splat %fb1 : f32 -> tensor<64xf32>
          %f1 = arith.mulf %fa, %fbt1 : tensor<64xf32>
          %w0 = nv.wgmma.wait %d0 pending(0) : !acc
          %fx0 = nv.broadcast %f0 dim(1) : tensor<64xf32> -> !acc
          %x0 = math.fma %w0, %fx0, %x : !acc
          %x1 = warp.hold %t, %x0 : !acc
          %d1 = nv.wgmma %ar, %bt1 : !nv.memdesc<64x128xf8E4M3FN>, !half -> !acc
          %w1 = nv.wgmma.wait %d1 pending(0) : !acc
          warp.release %t to %free generic
          %fx1 = nv.broadcast %f1 dim(1) : tensor<64xf32> -> !acc
          %y0 = math.fma %w1, %fx1, %y : !acc
          scf.yield %x1, %y0 : !acc, !acc
        }
        %i0 = arith.muli %i, %c128 : i32
        %i1 = arith.addi %i0, %row : i32
        %j0 = arith.muli %j, %c256 : i32
        %j1 = arith.addi %j0, %c128 : i32
        %left = arith.truncf %acc0 : !acc to tensor<64x128xbf16>
        warp.store %left to %C[%i1, %j0] through %staged : tensor<64x128xbf16>, !tile.desc<64x128xbf16>
        %right = arith.truncf %acc1 : !acc to tensor<64x128xbf16>
        warp.store %right to %C[%i1, %j1] through %staged : tensor<64x128xbf16>, !tile.desc<64x128xbf16>
      }
    }
    warp.role @load warps(1) registers(24) {
      warp.for_each_tile (%i, %j) in (%m, %n) group(16) {
        %i0 = arith.muli %i, %c128 : i32
        %j0 = arith.muli %j, %c256 : i32
        scf.for %k = %c0 to %kb step %c1 : i32 {
          %t = warp.acquire %free
          %a, %b, %sa = warp.slot %t : !a, !b, !s
          %k0 = arith.muli %k, %c128 : i32
          nv.tma.load %A[%i0, %k0] to %a : !tile.desc<128x128xf8E4M3FN>, !a
          nv.tma.load %B[%j0, %k0] to %b : !tile.desc<256x128xf8E4M3FN>, !b
          nv.tma.load %SA[%k, %i0] to %sa : !tile.desc<1x128xf32>, !s
          warp.release %t to %ready tma
        }
      }
    }
  }
  return
}
