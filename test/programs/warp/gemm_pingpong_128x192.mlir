// As gemm_pingpong.mlir with 128 x 192 tiles: less traffic for each product, for problems whose tiles fill the last wave.
// Results leave in pieces of 8 KiB: copies of the other replica's operands wait behind a store as long as it is large.

!ab = !warp.buffer<5 x [128x64xbf16, 192x64xbf16]>
!out = !warp.buffer<1 x [64x64xbf16]>
!a = !nv.memdesc<128x64xbf16>
!b = !nv.memdesc<192x64xbf16>
!bt = !nv.memdesc<64x192xbf16>
!acc = tensor<128x192xf32>

func.func @gemm(%A: !tile.desc<128x64xbf16>, %B: !tile.desc<192x64xbf16>, %C: !tile.desc<64x64xbf16>,
                %m: i32, %n: i32, %kb: i32)
    attributes {tile.kernel, warp.launch = #warp.launch<persistent = true>} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c64 = arith.constant 64 : i32
  %c128 = arith.constant 128 : i32
  %c192 = arith.constant 192 : i32
  %ab = warp.buffer : !ab
  %free = warp.ring released %ab : !ab
  %ready = warp.ring %ab : !ab
  %out = warp.buffer per_replica : !out
  %staged = warp.ring released %out : !out
  %turn = warp.order 2

  warp.specialize {
    warp.role @math warps(4) replicas(2) registers(240) {
      %blocks = arith.maxsi %kb, %c1 : i32
      warp.for_each_tile (%i, %j) in (%m, %n) group(16) step(replica) {
        warp.await %turn
        %t0 = warp.acquire %ready
        %a0, %b0 = warp.slot %t0 : !a, !b
        %bt0 = nv.memdesc.trans %b0 : !b -> !bt
        %d0 = nv.wgmma %a0, %bt0 : !a, !bt -> !acc
        %d, %last = scf.for %k = %c1 to %blocks step %c1 iter_args(%c = %d0, %before = %t0) -> (!acc, !warp.token) : i32 {
          %t = warp.acquire %ready
          %a, %b = warp.slot %t : !a, !b
          %bt = nv.memdesc.trans %b : !b -> !bt
          %next = nv.wgmma %a, %bt acc(%c) : !a, !bt -> !acc
          nv.wgmma.wait pending(1)
          warp.release %before to %free wgmma
          scf.yield %next, %t : !acc, !warp.token
        }
        warp.pass %turn
        %acc = nv.wgmma.wait %d pending(0) : !acc
        warp.release %last to %free wgmma
        %i0 = arith.muli %i, %c128 : i32
        %j0 = arith.muli %j, %c192 : i32
        %c16 = arith.truncf %acc : !acc to tensor<128x192xbf16>
        %i1 = arith.addi %i0, %c64 : i32
        %j1 = arith.addi %j0, %c64 : i32
        %j2 = arith.addi %j0, %c128 : i32
        %p0 = nv.extract %c16[0, 0] : tensor<128x192xbf16> -> tensor<64x64xbf16>
        warp.store %p0 to %C[%i0, %j0] through %staged : tensor<64x64xbf16>, !tile.desc<64x64xbf16>
        %p1 = nv.extract %c16[64, 0] : tensor<128x192xbf16> -> tensor<64x64xbf16>
        warp.store %p1 to %C[%i1, %j0] through %staged : tensor<64x64xbf16>, !tile.desc<64x64xbf16>
        %p2 = nv.extract %c16[0, 64] : tensor<128x192xbf16> -> tensor<64x64xbf16>
        warp.store %p2 to %C[%i0, %j1] through %staged : tensor<64x64xbf16>, !tile.desc<64x64xbf16>
        %p3 = nv.extract %c16[64, 64] : tensor<128x192xbf16> -> tensor<64x64xbf16>
        warp.store %p3 to %C[%i1, %j1] through %staged : tensor<64x64xbf16>, !tile.desc<64x64xbf16>
        %p4 = nv.extract %c16[0, 128] : tensor<128x192xbf16> -> tensor<64x64xbf16>
        warp.store %p4 to %C[%i0, %j2] through %staged : tensor<64x64xbf16>, !tile.desc<64x64xbf16>
        %p5 = nv.extract %c16[64, 128] : tensor<128x192xbf16> -> tensor<64x64xbf16>
        warp.store %p5 to %C[%i1, %j2] through %staged : tensor<64x64xbf16>, !tile.desc<64x64xbf16>
      }
    }
    warp.role @load warps(1) registers(24) {
      %blocks = arith.maxsi %kb, %c1 : i32
      warp.for_each_tile (%i, %j) in (%m, %n) group(16) {
        %i0 = arith.muli %i, %c128 : i32
        %j0 = arith.muli %j, %c192 : i32
        scf.for %k = %c0 to %blocks step %c1 : i32 {
          %t = warp.acquire %free
          %a, %b = warp.slot %t : !a, !b
          %k0 = arith.muli %k, %c64 : i32
          nv.tma.load %A[%i0, %k0] to %a : !tile.desc<128x64xbf16>, !a
          nv.tma.load %B[%j0, %k0] to %b : !tile.desc<192x64xbf16>, !b
          warp.release %t to %ready tma
        }
      }
    }
  }
  return
}
