// Attention forward, head dimension 128: O = softmax(scale * Q K^T) V and its log-sum-exp. q, k, v, o are [B, S, H, 128] in bf16, lse [B, H, S]
// in fp32. Tiles of 128 query rows over two math warpgroups of 64; key tiles of 128, last first, so that only the first one taken can be
// ragged. Written in source order: the role stage issues QK of the next key tile beside PV, starts the softmax with the rows that each thread
// holds first, pins the wait for PV behind a quarter of the second rows' exponentials, and rescales O only where a row maximum of the warp grew.
// pairs: B * H; tiles: query tiles of a sequence; scale includes log2(e).

!tile = !nv.memdesc<128x128xbf16>
!rows = !nv.memdesc<64x128xbf16>
!box = !tile.desc<1x128x1x128xbf16>
!q = !warp.buffer<1 x [128x128xbf16]>
!kv = !warp.buffer<2 x [128x128xbf16]>
!out = !warp.buffer<1 x [64x128xbf16]>
!s = tensor<64x128xf32>
!p = tensor<64x128xbf16>
!row = tensor<64xf32>

func.func @attention(%Q: !box, %K: !box, %V: !box, %O: !tile.desc<1x64x1x128xbf16>, %lse: i64 {tile.pointer = f32},
                     %heads: i32, %length: i32, %pairs: i32, %tiles: i32, %scale: f32)
    attributes {tile.kernel, warp.launch = #warp.launch<persistent = true>} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c64 = arith.constant 64 : i32
  %c128 = arith.constant 128 : i32
  %q_free, %q_ready = warp.channel : !q
  %k_free, %k_ready = warp.channel : !kv
  %v_free, %v_ready = warp.channel : !kv
  %staged = warp.channel per_replica : !out

  warp.specialize {
    warp.role @math warps(4) replicas(2) registers(240) {
      %r = warp.replica_index
      %row = arith.muli %r, %c64 : i32
      %some = arith.ceildivui %length, %c128 : i32
      %blocks = arith.maxsi %some, %c1 : i32
      %last = arith.subi %blocks, %c1 : i32
      %scale_s = nv.splat %scale : f32 -> !s
      %scale_1 = nv.splat %scale : f32 -> !row
      %one = arith.constant dense<1.0> : !row
      %ln2 = arith.constant dense<0.693147181> : !row
      %none = arith.constant dense<0xFF800000> : !s
      %top0 = arith.constant dense<0xFF800000> : !row
      %total0 = arith.constant dense<0.0> : !row
      %o0 = arith.constant dense<0.0> : !s
      warp.for_each_tile (%bh, %m) in (%pairs, %tiles) attributes {warp.scheduler = "dynamic"} {
        %b = arith.divui %bh, %heads : i32
        %bheads = arith.muli %b, %heads : i32
        %h = arith.subi %bh, %bheads : i32
        %m0 = arith.muli %m, %c128 : i32
        %m1 = arith.addi %m0, %row : i32
        %tq, %qs = warp.take %q_ready : !tile
        %qr = nv.memdesc.slice %qs[%row, %c0] : !tile -> !rows
        %q = nv.local_load %qr : !rows -> !p
        warp.release %tq to %q_free generic
        %o, %top, %total = scf.for %j = %c0 to %blocks step %c1
            iter_args(%acc = %o0, %topb = %top0, %totalb = %total0) -> (!s, !row, !row) : i32 {
          %tk, %k = warp.take %k_ready : !tile
          %kt = nv.memdesc.trans %k : !tile -> !tile
          %s0 = nv.wgmma %q, %kt : !p, !tile -> !s
          %s1 = nv.wgmma.wait %s0 pending(0) : !s
          warp.release %tk to %k_free wgmma
          %before = arith.subi %last, %j : i32
          %n0 = arith.muli %before, %c128 : i32
          %iota = nv.index dim(1) : tensor<64x128xi32>
          %first = nv.splat %n0 : i32 -> tensor<64x128xi32>
          %column = arith.addi %iota, %first : tensor<64x128xi32>
          %limit = nv.splat %length : i32 -> tensor<64x128xi32>
          %valid = arith.cmpi slt, %column, %limit : tensor<64x128xi32>
          %s2 = arith.select %valid, %s1, %none : tensor<64x128xi1>, !s
          %most = nv.reduce max %s2 dim(1) : !s -> !row
          %new = arith.maxnumf %topb, %most : !row
          %below = arith.subf %topb, %new : !row
          %power = arith.mulf %below, %scale_1 : !row
          %factor = math.exp2 %power : !row
          %shift = arith.mulf %new, %scale_1 : !row
          %shifts = nv.broadcast %shift dim(1) : !row -> !s
          %scaled = arith.mulf %s2, %scale_s fastmath<contract> : !s
          %x = arith.subf %scaled, %shifts fastmath<contract> : !s
          %e = math.exp2 %x : !s
          %sum = nv.reduce add %e dim(1) : !s -> !row
          %less = arith.mulf %totalb, %factor fastmath<contract> : !row
          %more = arith.addf %less, %sum fastmath<contract> : !row
          %factors = nv.broadcast %factor dim(1) : !row -> !s
          %acc1 = arith.mulf %acc, %factors fastmath<nnan, nsz> : !s
          %e16 = arith.truncf %e : !s to !p
          %tv, %v = warp.take %v_ready : !tile
          %on0 = nv.wgmma %e16, %v acc(%acc1) : !p, !tile -> !s
          %on = nv.wgmma.wait %on0 pending(0) : !s
          warp.release %tv to %v_free wgmma
          scf.yield %on, %new, %more : !s, !row, !row
        }
        %inverse = arith.divf %one, %total fastmath<arcp> : !row
        %ib = nv.broadcast %inverse dim(1) : !row -> !s
        %of = arith.mulf %o, %ib : !s
        %o16 = arith.truncf %of : !s to !p
        warp.store %o16 to %O[%b, %m1, %h, %c0] through %staged : !p, !tile.desc<1x64x1x128xbf16>

        %lg = math.log2 %total : !row
        %l0 = math.fma %top, %scale_1, %lg : !row
        %l1 = arith.mulf %l0, %ln2 : !row
        %ri = nv.index dim(0) : tensor<64xi32>
        %base = nv.splat %m1 : i32 -> tensor<64xi32>
        %at = arith.addi %ri, %base : tensor<64xi32>
        %end = nv.splat %length : i32 -> tensor<64xi32>
        %inside = arith.cmpi slt, %at, %end : tensor<64xi32>
        %bh64 = arith.extui %bh : i32 to i64
        %length64 = arith.extui %length : i32 to i64
        %head64 = arith.muli %bh64, %length64 : i64
        %headt = nv.splat %head64 : i64 -> tensor<64xi64>
        %at64 = arith.extui %at : tensor<64xi32> to tensor<64xi64>
        %offset = arith.addi %headt, %at64 : tensor<64xi64>
        nv.global_store %l1 to %lse[%offset] mask(%inside : tensor<64xi1>) : tensor<64xf32>, tensor<64xi64>
      }
    }
    warp.role @load warps(1) registers(24) {
      %some = arith.ceildivui %length, %c128 : i32
      %blocks = arith.maxsi %some, %c1 : i32
      %last = arith.subi %blocks, %c1 : i32
      warp.for_each_tile (%bh, %m) in (%pairs, %tiles) attributes {warp.scheduler = "dynamic"} {
        %b = arith.divui %bh, %heads : i32
        %bheads = arith.muli %b, %heads : i32
        %h = arith.subi %bh, %bheads : i32
        %m0 = arith.muli %m, %c128 : i32
        warp.load %Q[%b, %m0, %h, %c0] through %q_free to %q_ready : !box
        scf.for %j = %c0 to %blocks step %c1 : i32 {
          %before = arith.subi %last, %j : i32
          %n0 = arith.muli %before, %c128 : i32
          warp.load %K[%b, %n0, %h, %c0] through %k_free to %k_ready : !box
          warp.load %V[%b, %n0, %h, %c0] through %v_free to %v_ready : !box
        }
      }
    }
  }
  return
}
