// c[M, N] = (a * sfa) (b * sfb)^T in bf16 for e4m3 operands with block scales: sfa, one scale for each row and 128 columns of a, is stored
// transposed [K / 128, M]; sfb, one for each 128 x 128 block of b, is [N / 128, K / 128] and read by pointer. Three math warpgroups
// share the rows of a 192 x 128 tile. Each block of 128 along K is a product of its own, scaled and added to the sums in fp32: the
// promotion of one warpgroup overlaps the products of the others. The scales are read while the product is in flight.
// m, n: tiles along M and N; kb: blocks of 128 along K.

!slots = !warp.buffer<4 x [192x128xf8E4M3FN, 128x128xf8E4M3FN, 192xf32]>
!out = !warp.buffer<1 x [64x128xbf16]>
!a = !nv.memdesc<192x128xf8E4M3FN>
!b = !nv.memdesc<128x128xf8E4M3FN>
!s = !nv.memdesc<192xf32>
!acc = tensor<64x128xf32>

func.func @gemm(%A: !tile.desc<192x128xf8E4M3FN>, %B: !tile.desc<128x128xf8E4M3FN>, %SA: !tile.desc<1x192xf32>,
                %C: !tile.desc<64x128xbf16>, %sb: i64 {tile.pointer = f32}, %m: i32, %n: i32, %kb: i32)
    attributes {tile.kernel, warp.launch = #warp.launch<persistent = true>} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c64 = arith.constant 64 : i32
  %c128 = arith.constant 128 : i32
  %c192 = arith.constant 192 : i32
  %slots = warp.buffer : !slots
  %free = warp.ring released %slots : !slots
  %ready = warp.ring %slots : !slots
  %out = warp.buffer per_replica : !out
  %staged = warp.ring released %out : !out

  warp.specialize {
    warp.role @math warps(4) replicas(3) registers(160) {
      %r = warp.replica_index
      %row = arith.muli %r, %c64 : i32
      warp.for_each_tile (%i, %j) in (%m, %n) group(10) {
        %zero = arith.constant dense<0.0> : !acc
        %j64 = arith.extui %j : i32 to i64
        %kb64 = arith.extui %kb : i32 to i64
        %scales = arith.muli %j64, %kb64 : i64
        %acc = scf.for %k = %c0 to %kb step %c1 iter_args(%c = %zero) -> !acc : i32 {
          %k64 = arith.extui %k : i32 to i64
          %at = arith.addi %scales, %k64 : i64
          %t = warp.acquire %ready
          %a, %b, %sa = warp.slot %t : !a, !b, !s
          %ar = nv.memdesc.slice %a[%row, %c0] : !a -> !nv.memdesc<64x128xf8E4M3FN>
          %bt = nv.memdesc.trans %b : !b -> !b
          %sr = nv.memdesc.slice %sa[%row] : !s -> !nv.memdesc<64xf32>
          %d = nv.wgmma %ar, %bt : !nv.memdesc<64x128xf8E4M3FN>, !b -> !acc
          %fb = nv.global_load %sb[%at] invariant : i64 -> f32
          %fa = nv.local_load %sr : !nv.memdesc<64xf32> -> tensor<64xf32>
          %w = nv.wgmma.wait %d pending(0) : !acc
          warp.release %t to %free generic
          %soon = warp.peek %ready
          %fbt = nv.splat %fb : f32 -> tensor<64xf32>
          %f = arith.mulf %fa, %fbt : tensor<64xf32>
          %fx = nv.broadcast %f dim(1) : tensor<64xf32> -> !acc
          %next = math.fma %w, %fx, %c : !acc
          scf.yield %next : !acc
        }
        %i0 = arith.muli %i, %c192 : i32
        %i1 = arith.addi %i0, %row : i32
        %j0 = arith.muli %j, %c128 : i32
        %c16 = arith.truncf %acc : !acc to tensor<64x128xbf16>
        warp.store %c16 to %C[%i1, %j0] through %staged : tensor<64x128xbf16>, !tile.desc<64x128xbf16>
      }
    }
    warp.role @load warps(1) registers(24) {
      warp.for_each_tile (%i, %j) in (%m, %n) group(10) {
        %i0 = arith.muli %i, %c192 : i32
        %j0 = arith.muli %j, %c128 : i32
        scf.for %k = %c0 to %kb step %c1 : i32 {
          %t = warp.acquire %free
          %a, %b, %sa = warp.slot %t : !a, !b, !s
          %k0 = arith.muli %k, %c128 : i32
          nv.tma.load %A[%i0, %k0] to %a : !tile.desc<192x128xf8E4M3FN>, !a
          nv.tma.load %B[%j0, %k0] to %b : !tile.desc<128x128xf8E4M3FN>, !b
          nv.tma.load %SA[%k, %i0] to %sa : !tile.desc<1x192xf32>, !s
          warp.release %t to %ready tma
        }
      }
    }
  }
  return
}
