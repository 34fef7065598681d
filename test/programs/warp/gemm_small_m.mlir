// C[M, N] = A[M, K] * B[N, K]^T in bf16 for few rows (M <= 128): ping-pong over 64 x 64 tiles with 13 stages, so that many bytes of B are
// in flight. A is kept in L2, B streams through it. Without register budgets: 288 threads of at most 168 registers.

!ab = !warp.buffer<13 x [64x64xbf16, 64x64xbf16]>
!out = !warp.buffer<1 x [64x64xbf16]>
!a = !nv.memdesc<64x64xbf16>
!b = !nv.memdesc<64x64xbf16>
!bt = !nv.memdesc<64x64xbf16>
!acc = tensor<64x64xf32>

func.func @gemm(%A: !tile.desc<64x64xbf16>, %B: !tile.desc<64x64xbf16>, %C: !tile.desc<64x64xbf16>,
                %m: i32, %n: i32, %kb: i32)
    attributes {tile.kernel, warp.launch = #warp.launch<persistent = true>} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c64 = arith.constant 64 : i32
  %ab = warp.buffer : !ab
  %free = warp.ring released %ab : !ab
  %ready = warp.ring %ab : !ab
  %out = warp.buffer per_replica : !out
  %staged = warp.ring released %out : !out
  %turn = warp.order 2

  warp.specialize {
    warp.role @math warps(4) replicas(2) {
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
        %i0 = arith.muli %i, %c64 : i32
        %j0 = arith.muli %j, %c64 : i32
        %c16 = arith.truncf %acc : !acc to tensor<64x64xbf16>
        warp.store %c16 to %C[%i0, %j0] through %staged : tensor<64x64xbf16>, !tile.desc<64x64xbf16>
      }
    }
    warp.role @load warps(1) {
      %blocks = arith.maxsi %kb, %c1 : i32
      warp.for_each_tile (%i, %j) in (%m, %n) group(16) {
        %i0 = arith.muli %i, %c64 : i32
        %j0 = arith.muli %j, %c64 : i32
        scf.for %k = %c0 to %blocks step %c1 : i32 {
          %t = warp.acquire %free
          %a, %b = warp.slot %t : !a, !b
          %k0 = arith.muli %k, %c64 : i32
          nv.tma.load %A[%i0, %k0] to %a cache(evict_last) : !tile.desc<64x64xbf16>, !a
          nv.tma.load %B[%j0, %k0] to %b cache(evict_first) : !tile.desc<64x64xbf16>, !b
          warp.release %t to %ready tma
        }
      }
    }
  }
  return
}
