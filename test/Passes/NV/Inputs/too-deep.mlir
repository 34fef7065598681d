
!ab = !warp.buffer<6 x [128x64xbf16, 256x64xbf16]>
!out = !warp.buffer<1 x [64x128xbf16]>
!acc = tensor<64x256xf32>

func.func @gemm(%A: !tile.desc<128x64xbf16>, %B: !tile.desc<256x64xbf16>, %C: !tile.desc<64x128xbf16>,
                %m: i32, %n: i32, %kb: i32)
    attributes {tile.kernel, warp.launch = #warp.launch<persistent = true>} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c64 = arith.constant 64 : i32
  %c128 = arith.constant 128 : i32
  %c256 = arith.constant 256 : i32
  %ab = warp.buffer {name = "tiles"} : !ab
  %free = warp.ring released %ab : !ab
  %ready = warp.ring %ab : !ab
  %out = warp.buffer per_replica : !out
  %staged = warp.ring released %out : !out

  warp.specialize {
    warp.role @math warps(4) replicas(2) registers(232) {
      %r = warp.replica_index
      %row = arith.muli %r, %c64 : i32
      %blocks = arith.maxsi %kb, %c1 : i32
      warp.for_each_tile (%i, %j) in (%m, %n) group(16) {
        %undef = ub.poison : !acc
        %acc = scf.for %k = %c0 to %blocks step %c1 iter_args(%c = %undef) -> !acc : i32 {
          %t = warp.acquire %ready
          %a, %b = warp.slot %t : !nv.memdesc<128x64xbf16>, !nv.memdesc<256x64xbf16>
          %ar = nv.memdesc.slice %a[%row, %c0] : !nv.memdesc<128x64xbf16> -> !nv.memdesc<64x64xbf16>
          %bt = nv.memdesc.trans %b : !nv.memdesc<256x64xbf16> -> !nv.memdesc<64x256xbf16>
          %more = arith.cmpi ne, %k, %c0 : i32
          %d = nv.wgmma %ar, %bt acc(%c) use_c(%more) : !nv.memdesc<64x64xbf16>, !nv.memdesc<64x256xbf16> -> !acc
          %w = nv.wgmma.wait %d pending(0) : !acc
          warp.release %t to %free wgmma
          scf.yield %w : !acc
        }
        %i0 = arith.muli %i, %c128 : i32
        %i1 = arith.addi %i0, %row : i32
        %j0 = arith.muli %j, %c256 : i32
        %j1 = arith.addi %j0, %c128 : i32
        %c16 = arith.truncf %acc : !acc to tensor<64x256xbf16>
        %left = nv.extract %c16[0, 0] : tensor<64x256xbf16> -> tensor<64x128xbf16>
        %right = nv.extract %c16[0, 128] : tensor<64x256xbf16> -> tensor<64x128xbf16>
        warp.store %left to %C[%i1, %j0] through %staged : tensor<64x128xbf16>, !tile.desc<64x128xbf16>
        warp.store %right to %C[%i1, %j1] through %staged : tensor<64x128xbf16>, !tile.desc<64x128xbf16>
      }
    }
    warp.role @load warps(1) registers(40) {
      %blocks = arith.maxsi %kb, %c1 : i32
      warp.for_each_tile (%i, %j) in (%m, %n) group(16) {
        %i0 = arith.muli %i, %c128 : i32
        %j0 = arith.muli %j, %c256 : i32
        scf.for %k = %c0 to %blocks step %c1 : i32 {
          %t = warp.acquire %free
          %a, %b = warp.slot %t : !nv.memdesc<128x64xbf16>, !nv.memdesc<256x64xbf16>
          %k0 = arith.muli %k, %c64 : i32
          nv.tma.load %A[%i0, %k0] to %a : !tile.desc<128x64xbf16>, !nv.memdesc<128x64xbf16>
          nv.tma.load %B[%j0, %k0] to %b : !tile.desc<256x64xbf16>, !nv.memdesc<256x64xbf16>
          warp.release %t to %ready tma
        }
      }
    }
  }
  return
}
