// As gemm_fp8_block_192x128.mlir, with 128 x 128 tiles over two math warpgroups and two products in flight: blocks of K are taken in
// pairs, and the sums of the first one's product overlap the second product. An odd last block is a product of its own.
// m, n: tiles along M and N; kb: blocks of 128 along K.

!slots = !warp.buffer<5 x [128x128xf8E4M3FN, 128x128xf8E4M3FN, 128xf32]>
!out = !warp.buffer<1 x [64x128xbf16]>
!a = !nv.memdesc<128x128xf8E4M3FN>
!ar = !nv.memdesc<64x128xf8E4M3FN>
!s = !nv.memdesc<128xf32>
!sr = !nv.memdesc<64xf32>
!acc = tensor<64x128xf32>
!f = tensor<64xf32>

func.func @gemm(%A: !tile.desc<128x128xf8E4M3FN>, %B: !tile.desc<128x128xf8E4M3FN>, %SA: !tile.desc<1x128xf32>,
                %C: !tile.desc<64x128xbf16>, %sb: i64 {tile.pointer = f32}, %m: i32, %n: i32, %kb: i32)
    attributes {tile.kernel, warp.launch = #warp.launch<persistent = true>} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %c64 = arith.constant 64 : i32
  %c128 = arith.constant 128 : i32
  %one = arith.constant 1 : i64
  %slots = warp.buffer : !slots
  %free = warp.ring released %slots : !slots
  %ready = warp.ring %slots : !slots
  %out = warp.buffer per_replica : !out
  %staged = warp.ring released %out : !out

  warp.specialize {
    warp.role @math warps(4) replicas(2) registers(232) {
      %r = warp.replica_index
      %row = arith.muli %r, %c64 : i32
      %odd = arith.andi %kb, %c1 : i32
      %even = arith.subi %kb, %odd : i32
      %rest = arith.cmpi ne, %odd, %c0 : i32
      warp.for_each_tile (%i, %j) in (%m, %n) group(16) {
        %zero = arith.constant dense<0.0> : !acc
        %j64 = arith.extui %j : i32 to i64
        %kb64 = arith.extui %kb : i32 to i64
        %scales = arith.muli %j64, %kb64 : i64
        %pairs = scf.for %k = %c0 to %even step %c2 iter_args(%c = %zero) -> !acc : i32 {
          %k64 = arith.extui %k : i32 to i64
          %at0 = arith.addi %scales, %k64 : i64
          %at1 = arith.addi %at0, %one : i64
          %fb0 = nv.global_load %sb[%at0] invariant : i64 -> f32
          %fb1 = nv.global_load %sb[%at1] invariant : i64 -> f32
          %t0 = warp.acquire %ready
          %a0, %b0, %s0 = warp.slot %t0 : !a, !a, !s
          %ar0 = nv.memdesc.slice %a0[%row, %c0] : !a -> !ar
          %bt0 = nv.memdesc.trans %b0 : !a -> !a
          %sr0 = nv.memdesc.slice %s0[%row] : !s -> !sr
          %fa0 = nv.local_load %sr0 : !sr -> !f
          %d0 = nv.wgmma %ar0, %bt0 : !ar, !a -> !acc
          %t1 = warp.acquire %ready
          %a1, %b1, %s1 = warp.slot %t1 : !a, !a, !s
          %ar1 = nv.memdesc.slice %a1[%row, %c0] : !a -> !ar
          %bt1 = nv.memdesc.trans %b1 : !a -> !a
          %sr1 = nv.memdesc.slice %s1[%row] : !s -> !sr
          %fa1 = nv.local_load %sr1 : !sr -> !f
          %d1 = nv.wgmma %ar1, %bt1 : !ar, !a -> !acc
          %w0 = nv.wgmma.wait %d0 pending(1) : !acc
          warp.release %t0 to %free generic
          %fbt0 = nv.splat %fb0 : f32 -> !f
          %f0 = arith.mulf %fa0, %fbt0 : !f
          %fx0 = nv.broadcast %f0 dim(1) : !f -> !acc
          %x0 = math.fma %w0, %fx0, %c : !acc
          %w1, %x1 = nv.wgmma.wait %d1, %x0 pending(0) : !acc, !acc
          warp.release %t1 to %free generic
          %soon = warp.peek %ready
          %fbt1 = nv.splat %fb1 : f32 -> !f
          %f1 = arith.mulf %fa1, %fbt1 : !f
          %fx1 = nv.broadcast %f1 dim(1) : !f -> !acc
          %x2 = math.fma %w1, %fx1, %x1 : !acc
          scf.yield %x2 : !acc
        }
        %acc = scf.if %rest -> !acc {
          %k64 = arith.extui %even : i32 to i64
          %at = arith.addi %scales, %k64 : i64
          %fb = nv.global_load %sb[%at] invariant : i64 -> f32
          %t = warp.acquire %ready
          %a, %b, %s = warp.slot %t : !a, !a, !s
          %ar = nv.memdesc.slice %a[%row, %c0] : !a -> !ar
          %bt = nv.memdesc.trans %b : !a -> !a
          %sr = nv.memdesc.slice %s[%row] : !s -> !sr
          %fa = nv.local_load %sr : !sr -> !f
          %d = nv.wgmma %ar, %bt : !ar, !a -> !acc
          %w = nv.wgmma.wait %d pending(0) : !acc
          warp.release %t to %free generic
          %fbt = nv.splat %fb : f32 -> !f
          %f = arith.mulf %fa, %fbt : !f
          %fx = nv.broadcast %f dim(1) : !f -> !acc
          %x = math.fma %w, %fx, %pairs : !acc
          scf.yield %x : !acc
        } else {
          scf.yield %pairs : !acc
        }
        %i0 = arith.muli %i, %c128 : i32
        %i1 = arith.addi %i0, %row : i32
        %j0 = arith.muli %j, %c128 : i32
        %c16 = arith.truncf %acc : !acc to tensor<64x128xbf16>
        warp.store %c16 to %C[%i1, %j0] through %staged : tensor<64x128xbf16>, !tile.desc<64x128xbf16>
      }
    }
    warp.role @load warps(1) registers(24) {
      warp.for_each_tile (%i, %j) in (%m, %n) group(16) {
        %i0 = arith.muli %i, %c128 : i32
        %j0 = arith.muli %j, %c128 : i32
        scf.for %k = %c0 to %kb step %c1 : i32 {
          %t = warp.acquire %free
          %a, %b, %sa = warp.slot %t : !a, !a, !s
          %k0 = arith.muli %k, %c128 : i32
          nv.tma.load %A[%i0, %k0] to %a : !tile.desc<128x128xf8E4M3FN>, !a
          nv.tma.load %B[%j0, %k0] to %b : !tile.desc<128x128xf8E4M3FN>, !a
          nv.tma.load %SA[%k, %i0] to %sa : !tile.desc<1x128xf32>, !s
          warp.release %t to %ready tma
        }
      }
    }
  }
  return
}
