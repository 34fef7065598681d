// O = softmax(Q K^T * scale) V in bf16, head dimension 128, without a mask. A CTA takes 256 rows of Q as two halves, which two softmax
// warpgroups work on in turn while the tensor core multiplies for the other.
//
// S and P share tensor memory: @mma writes S, @softmax reads it and writes P over it, @mma reads P. As rings over one buffer:
// s_free -> (mma) -> s_ready -> (softmax) -> p_ready -> (mma) -> s_free. O stays in tensor memory: @correction rescales it between
// two products (o_turn -> (mma) -> o_done -> (correction) -> o_turn) by what @softmax sends it, and at the end divides by the sum.
// m: blocks of 256 rows a head; heads: batch * heads; kb: blocks of 128 keys (none count as one of zeros); scale includes log2(e).

!half = !nv.memdesc<128x128xbf16>
!s = !nv.memdesc<128x128xf32, tmem>
!p = !nv.memdesc<128x128xbf16, tmem>
!quarter = !nv.memdesc<128x32xf32, tmem>
!piece = !nv.memdesc<128x64xf32, tmem>
!row = tensor<128xf32>
!tile = tensor<128x128xf32>
!ptile = tensor<128x128xbf16>
!box = !tile.desc<128x128xbf16>
!bs = !warp.buffer<2 x [128x128xf32], tmem>

func.func @attention(%Q: !box, %K: !box, %V: !box, %O: !tile.desc<128x64xbf16>, %m: i32, %heads: i32, %kb: i32, %scale: f32)
    attributes {tile.kernel, warp.launch = #warp.launch<persistent = true>} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %c32 = arith.constant 32 : i32
  %c64 = arith.constant 64 : i32
  %c128 = arith.constant 128 : i32
  %c256 = arith.constant 256 : i32
  %false = arith.constant false
  %lowest = arith.constant dense<0xFF800000> : !row
  %zero = arith.constant dense<0.0> : !row
  %one = arith.constant dense<1.0> : !row
  %q_free, %q_ready = warp.channel : !warp.buffer<2 x [128x128xbf16]>
  %kv_free, %kv_ready = warp.channel : !warp.buffer<3 x [128x128xbf16]>
  %s_free, %s_ready, %p_ready = warp.channel : !bs
  %o_turn, %o_done = warp.channel : !bs
  %f_free, %f_ready = warp.channel : !warp.buffer<2 x [128xf32]>
  %out_free, %out_ready = warp.channel : !warp.buffer<2 x [128x64xbf16]>

  warp.specialize {
    warp.role @softmax warps(4) replicas(2) registers(168) {
      %blocks = arith.maxsi %kb, %c1 : i32
      %scale_1 = nv.splat %scale : f32 -> !row
      %scale_s = nv.splat %scale : f32 -> !tile
      warp.for_each_tile (%i, %h) in (%m, %heads) {
        %top, %total = scf.for %j = %c0 to %blocks step %c1 iter_args(%top0 = %lowest, %total0 = %zero) -> (!row, !row) : i32 {
          %ts, %s = warp.take %s_ready alternate : !s
          %x = nv.tmem.load %s : !s -> !tile
          %most = nv.reduce max %x dim(1) : !tile -> !row
          %top1 = arith.maxnumf %top0, %most : !row
          %below = arith.subf %top0, %top1 : !row
          %power = arith.mulf %below, %scale_1 : !row
          %alpha = math.exp2 %power : !row
          %later = arith.cmpi ne, %j, %c0 : i32
          scf.if %later {
            warp.put %alpha through %f_free to %f_ready alternate : !row
          }
          %shift = arith.mulf %top1, %scale_1 : !row
          %shifts = nv.broadcast %shift dim(1) : !row -> !tile
          %scaled = arith.mulf %x, %scale_s fastmath<contract> : !tile
          %y = arith.subf %scaled, %shifts fastmath<contract> : !tile
          %e = math.exp2 %y : !tile
          %e16 = arith.truncf %e : !tile to !ptile
          %p = nv.memdesc.reinterpret %s at 0 : !s -> !p
          nv.tmem.store %e16 to %p : !ptile, !p
          warp.release %ts to %p_ready generic
          %sum = nv.reduce add %e dim(1) : !tile -> !row
          %less = arith.mulf %total0, %alpha : !row
          %total1 = arith.addf %less, %sum : !row
          scf.yield %top1, %total1 : !row, !row
        }
        %inverse = arith.divf %one, %total : !row
        warp.put %inverse through %f_free to %f_ready alternate : !row
      }
    }
    warp.role @correction warps(4) registers(96) {
      %blocks = arith.maxsi %kb, %c1 : i32
      warp.for_each_tile (%i, %h) in (%m, %heads) {
        scf.for %j = %c1 to %blocks step %c1 : i32 {
          scf.for %half = %c0 to %c2 step %c1 : i32 {
            %alpha = warp.get %f_ready to %f_free : !row
            %to, %o = warp.take %o_done : !s
            scf.for %col = %c0 to %c128 step %c32 : i32 {
              %part = nv.memdesc.slice %o[%c0, %col] : !s -> !quarter
              %x = nv.tmem.load %part : !quarter -> tensor<128x32xf32>
              %factors = nv.broadcast %alpha dim(1) : !row -> tensor<128x32xf32>
              %y = arith.mulf %x, %factors : tensor<128x32xf32>
              nv.tmem.store %y to %part : tensor<128x32xf32>, !quarter
            }
            warp.release %to to %o_turn generic
          }
        }
        scf.for %half = %c0 to %c2 step %c1 : i32 {
          %inverse = warp.get %f_ready to %f_free : !row
          %to, %o = warp.take %o_done : !s
          scf.for %col = %c0 to %c128 step %c64 : i32 {
            %part = nv.memdesc.slice %o[%c0, %col] : !s -> !piece
            %x = nv.tmem.load %part : !piece -> tensor<128x64xf32>
            %factors = nv.broadcast %inverse dim(1) : !row -> tensor<128x64xf32>
            %y = arith.mulf %x, %factors : tensor<128x64xf32>
            %y16 = arith.truncf %y : tensor<128x64xf32> to tensor<128x64xbf16>
            warp.put %y16 through %out_free to %out_ready : tensor<128x64xbf16>
          }
          warp.release %to to %o_turn generic
        }
      }
    }
    warp.role @mma warps(1) registers(80) {
      %blocks = arith.maxsi %kb, %c1 : i32
      warp.for_each_tile (%i, %h) in (%m, %heads) {
        %tq0, %q0 = warp.take %q_ready : !half
        %tq1, %q1 = warp.take %q_ready : !half
        scf.for %j = %c0 to %blocks step %c1 : i32 {
          %tk, %k = warp.take %kv_ready : !half
          %kt = nv.memdesc.trans %k : !half -> !half
          %ts0, %s0 = warp.take %s_free : !s
          nv.tcgen05.mma %q0, %kt, %s0 accumulate(%false) : !half, !half, !s
          warp.release %ts0 to %s_ready tcgen05
          %ts1, %s1 = warp.take %s_free : !s
          nv.tcgen05.mma %q1, %kt, %s1 accumulate(%false) : !half, !half, !s
          warp.release %ts1 to %s_ready tcgen05
          warp.release %tk to %kv_free tcgen05
          %tv, %v = warp.take %kv_ready : !half
          %more = arith.cmpi ne, %j, %c0 : i32
          scf.for %half = %c0 to %c2 step %c1 : i32 {
            %tp, %s = warp.take %p_ready : !s
            %p = nv.memdesc.reinterpret %s at 0 : !s -> !p
            %to, %o = warp.take %o_turn : !s
            nv.tcgen05.mma %p, %v, %o accumulate(%more) : !p, !half, !s
            warp.release %tp to %s_free tcgen05
            warp.release %to to %o_done tcgen05
          }
          warp.release %tv to %kv_free tcgen05
        }
        warp.release %tq0 to %q_free tcgen05
        warp.release %tq1 to %q_free tcgen05
      }
    }
    warp.role @load warps(1) registers(80) {
      %blocks = arith.maxsi %kb, %c1 : i32
      warp.for_each_tile (%i, %h) in (%m, %heads) {
        %first = arith.muli %h, %m : i32
        %block = arith.addi %first, %i : i32
        %row = arith.muli %block, %c256 : i32
        %end = arith.addi %row, %c256 : i32
        scf.for %at = %row to %end step %c128 : i32 {
          warp.load %Q[%at, %c0] through %q_free to %q_ready : !box
        }
        %keys = arith.muli %h, %kb : i32
        scf.for %j = %c0 to %blocks step %c1 : i32 {
          %j1 = arith.addi %keys, %j : i32
          %key = arith.muli %j1, %c128 : i32
          warp.load %K[%key, %c0] through %kv_free to %kv_ready : !box
          warp.load %V[%key, %c0] through %kv_free to %kv_ready : !box
        }
      }
    }
    warp.role @epilogue warps(1) registers(80) {
      warp.for_each_tile (%i, %h) in (%m, %heads) {
        %first = arith.muli %h, %m : i32
        %block = arith.addi %first, %i : i32
        %row = arith.muli %block, %c256 : i32
        %end = arith.addi %row, %c256 : i32
        scf.for %at = %row to %end step %c128 : i32 {
          scf.for %col = %c0 to %c128 step %c64 : i32 {
            %t, %piece = warp.take %out_ready : !nv.memdesc<128x64xbf16>
            nv.tma.store %piece to %O[%at, %col] : !nv.memdesc<128x64xbf16>, !tile.desc<128x64xbf16>
            warp.release %t to %out_free bulk_read
          }
        }
      }
    }
  }
  return
}
