// Attention forward, head dimension 128: O = softmax(scale * Q K^T) V and its log-sum-exp. q, k, v, o are [B, S, H, 128] in bf16, lse [B, H, S]
// in fp32. Tiles of 128 query rows over two math warpgroups of 64; key tiles of 128, last first, so that only the first one taken
// can be ragged. While the softmax of S(j+1) runs, PV(j) is in flight: QK(j+1) and PV(j) are issued together, the softmax starts
// with the rows that each thread holds first, and the wait for PV(j) is pinned behind the first 24 columns of the second rows'.
// O is rescaled only where a row maximum of the warp grew; the vote on it is taken before that wait. Warpgroups issue products in turn.
// pairs: B * H; tiles: query tiles of a sequence; scale includes log2(e).

!tile = !nv.memdesc<128x128xbf16>
!rows = !nv.memdesc<64x128xbf16>
!box = !tile.desc<1x128x1x128xbf16>
!kv = !warp.buffer<2 x [128x128xbf16]>
!s = tensor<64x128xf32>
!half = tensor<32x128xf32>
!part = tensor<32x24xf32>
!rest = tensor<32x104xf32>
!row = tensor<32xf32>
!sum = tensor<32x8xf32>

func.func @attention(%Q: !box, %K: !box, %V: !box, %O: !tile.desc<1x64x1x128xbf16>, %lse: i64 {tile.pointer = f32},
                     %heads: i32, %length: i32, %pairs: i32, %tiles: i32, %scale: f32)
    attributes {tile.kernel, warp.launch = #warp.launch<persistent = true>} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c64 = arith.constant 64 : i32
  %c127 = arith.constant 127 : i32
  %c128 = arith.constant 128 : i32
  %zero = arith.constant 0.0 : f32
  %one = arith.constant dense<1.0> : tensor<64xf32>
  %ln2 = arith.constant dense<0.693147181> : tensor<64xf32>
  %qbuf = warp.buffer : !warp.buffer<1 x [128x128xbf16]>
  %q_free = warp.ring released %qbuf : !warp.buffer<1 x [128x128xbf16]>
  %q_ready = warp.ring %qbuf : !warp.buffer<1 x [128x128xbf16]>
  %kbuf = warp.buffer : !kv
  %k_free = warp.ring released %kbuf : !kv
  %k_ready = warp.ring %kbuf : !kv
  %vbuf = warp.buffer : !kv
  %v_free = warp.ring released %vbuf : !kv
  %v_ready = warp.ring %vbuf : !kv
  %obuf = warp.buffer per_replica : !warp.buffer<1 x [64x128xbf16]>
  %staged = warp.ring released %obuf : !warp.buffer<1 x [64x128xbf16]>
  %turns = warp.order 2

  warp.specialize {
    warp.role @math warps(4) replicas(2) registers(240) {
      %r = warp.replica_index
      %row = arith.muli %r, %c64 : i32
      %blocks0 = arith.addi %length, %c127 : i32
      %blocks = arith.divui %blocks0, %c128 : i32
      %last = arith.subi %blocks, %c1 : i32
      %scale_h = nv.splat %scale : f32 -> !half
      %scale_p = nv.splat %scale : f32 -> !part
      %scale_r = nv.splat %scale : f32 -> !rest
      %scale_1 = nv.splat %scale : f32 -> !row
      %scale_m = nv.splat %scale : f32 -> tensor<64xf32>
      %minus = arith.negf %scale : f32
      %minus_1 = nv.splat %minus : f32 -> !row
      warp.for_each_tile (%bh, %m) in (%pairs, %tiles) attributes {warp.scheduler = "dynamic"} {
        %b = arith.divui %bh, %heads : i32
        %bheads = arith.muli %b, %heads : i32
        %h = arith.subi %bh, %bheads : i32
        %m0 = arith.muli %m, %c128 : i32
        %m1 = arith.addi %m0, %row : i32

        // The first key tile: columns past the end do not count.
        %tq = warp.acquire %q_ready
        %qs = warp.slot %tq : !tile
        %qr = nv.memdesc.slice %qs[%row, %c0] : !tile -> !rows
        %q = nv.local_load %qr : !rows -> tensor<64x128xbf16>
        warp.release %tq to %q_free generic
        %tk0 = warp.acquire %k_ready
        %k0 = warp.slot %tk0 : !tile
        %kt0 = nv.memdesc.trans %k0 : !tile -> !tile
        %s0 = nv.wgmma %q, %kt0 : tensor<64x128xbf16>, !tile -> !s
        %s1 = nv.wgmma.wait %s0 pending(0) : !s
        warp.release %tk0 to %k_free wgmma
        %column = nv.index dim(1) : tensor<64x128xi32>
        %past = arith.muli %last, %c128 : i32
        %left = arith.subi %length, %past : i32
        %limit = nv.splat %left : i32 -> tensor<64x128xi32>
        %valid = arith.cmpi slt, %column, %limit : tensor<64x128xi32>
        %none = arith.constant dense<0xFF800000> : !s
        %s2 = arith.select %valid, %s1, %none : tensor<64x128xi1>, !s
        %a0 = nv.row_slot %s2 0 of 2 : !s -> !half
        %a1 = nv.row_slot %s2 1 of 2 : !s -> !half
        %top0 = nv.reduce max %a0 dim(1) : !half -> !row
        %top1 = nv.reduce max %a1 dim(1) : !half -> !row
        %n0 = arith.mulf %top0, %minus_1 : !row
        %n1 = arith.mulf %top1, %minus_1 : !row
        %nb0 = nv.broadcast %n0 dim(1) : !row -> !half
        %nb1 = nv.broadcast %n1 dim(1) : !row -> !half
        %x0 = math.fma %a0, %scale_h, %nb0 : !half
        %x1 = math.fma %a1, %scale_h, %nb1 : !half
        %e0 = math.exp2 %x0 : !half
        %e1 = math.exp2 %x1 : !half
        %sum0 = nv.fold add %e0 : !half -> !sum
        %sum1 = nv.fold add %e1 : !half -> !sum
        %e = nv.join_row_slots %e0, %e1 : !half, !half -> !s
        %p0 = arith.truncf %e : !s to tensor<64x128xbf16>
        %o0 = arith.constant dense<0.0> : !s

        %o, %p, %t0, %t1, %u0, %u1 = scf.for %j = %c0 to %last step %c1
            iter_args(%oc = %o0, %pc = %p0, %topa = %top0, %topb = %top1, %suma = %sum0, %sumb = %sum1)
            -> (!s, tensor<64x128xbf16>, !row, !row, !sum, !sum) : i32 {
          %tk = warp.acquire %k_ready
          %k = warp.slot %tk : !tile
          %kt = nv.memdesc.trans %k : !tile -> !tile
          warp.await %turns
          %sn0 = nv.wgmma %q, %kt : tensor<64x128xbf16>, !tile -> !s
          %tv = warp.acquire %v_ready
          %v = warp.slot %tv : !tile
          %on0 = nv.wgmma %pc, %v acc(%oc) : tensor<64x128xbf16>, !tile -> !s
          warp.pass %turns
          %sn = nv.wgmma.wait %sn0 pending(1) : !s
          warp.release %tk to %k_free wgmma
          %sa = nv.row_slot %sn 0 of 2 : !s -> !half
          %sb = nv.row_slot %sn 1 of 2 : !s -> !half

          // First rows: maximum, exponentials (beside the second rows' maximum), sum.
          %ma0 = nv.reduce max %sa dim(1) : !half -> !row
          %ma = arith.maxnumf %ma0, %topa : !row
          %grewa = arith.cmpf ogt, %ma, %topa : !row
          %da0 = arith.subf %topa, %ma : !row
          %da = arith.mulf %da0, %scale_1 : !row
          %fa = math.exp2 %da : !row
          %na = arith.mulf %ma, %minus_1 : !row
          %nba = nv.broadcast %na dim(1) : !row -> !half
          %xa = math.fma %sa, %scale_h, %nba : !half
          %ea = math.exp2 %xa : !half
          %mb0 = nv.reduce max %sb dim(1) : !half -> !row
          %mb = arith.maxnumf %mb0, %topb : !row
          %grewb = arith.cmpf ogt, %mb, %topb : !row
          %db0 = arith.subf %topb, %mb : !row
          %db = arith.mulf %db0, %scale_1 : !row
          %fb = math.exp2 %db : !row
          %nb = arith.mulf %mb, %minus_1 : !row
          %fba = nv.broadcast %fa dim(1) : !row -> !sum
          %ra = arith.mulf %suma, %fba : !sum
          %ya = nv.fold add %ea : !half -> !sum
          %sumna = arith.addf %ra, %ya : !sum

          // The first 24 columns of the second rows' exponentials and their factor, then the wait for PV(j).
          %sb0 = nv.extract %sb[0, 0] : !half -> !part
          %nbp = nv.broadcast %nb dim(1) : !row -> !part
          %xb0 = math.fma %sb0, %scale_p, %nbp : !part
          %eb0 = math.exp2 %xb0 : !part
          %yb0 = nv.fold add %eb0 : !part -> !sum
          %grew = nv.join_row_slots %grewa, %grewb : tensor<32xi1>, tensor<32xi1> -> tensor<64xi1>
          %any = nv.warp_any %grew : tensor<64xi1>
          %fbb = nv.broadcast %fb dim(1) : !row -> !sum
          %rb = arith.mulf %sumb, %fbb : !sum
          %rb1 = arith.addf %rb, %yb0 : !sum
          %lastb = nv.extract %eb0[0, 16] : !part -> !sum
          %started = arith.addf %sumna, %lastb : !sum
          %on1 = nv.wgmma.wait %on0 pending(0) after(%started : !sum) : !s
          warp.release %tv to %v_free wgmma
          %soon = warp.peek %k_ready
          %on = scf.if %any -> !s {
            %f = nv.join_row_slots %fa, %fb : !row, !row -> tensor<64xf32>
            %fx = nv.broadcast %f dim(1) : tensor<64xf32> -> !s
            %scaled = arith.mulf %on1, %fx : !s
            scf.yield %scaled : !s
          } else {
            scf.yield %on1 : !s
          }
          %sb1 = nv.extract %sb[0, 24] : !half -> !rest
          %nbr = nv.broadcast %nb dim(1) : !row -> !rest
          %xb1 = math.fma %sb1, %scale_r, %nbr : !rest
          %eb1 = math.exp2 %xb1 : !rest
          %yb1 = nv.fold add %eb1 : !rest -> !sum
          %sumnb = arith.addf %rb1, %yb1 : !sum
          %ea0 = nv.extract %ea[0, 0] : !half -> !part
          %ea1 = nv.extract %ea[0, 24] : !half -> !rest
          %en0 = nv.join_row_slots %ea0, %eb0 : !part, !part -> tensor<64x24xf32>
          %en1 = nv.join_row_slots %ea1, %eb1 : !rest, !rest -> tensor<64x104xf32>
          %pn0 = arith.truncf %en0 : tensor<64x24xf32> to tensor<64x24xbf16>
          %pn1 = arith.truncf %en1 : tensor<64x104xf32> to tensor<64x104xbf16>
          %pn = nv.concat %pn0, %pn1 dim(1) : tensor<64x24xbf16>, tensor<64x104xbf16> -> tensor<64x128xbf16>
          scf.yield %on, %pn, %ma, %mb, %sumna, %sumnb : !s, tensor<64x128xbf16>, !row, !row, !sum, !sum
        }

        %tv1 = warp.acquire %v_ready
        %v1 = warp.slot %tv1 : !tile
        %of0 = nv.wgmma %p, %v1 acc(%o) : tensor<64x128xbf16>, !tile -> !s
        %r0 = nv.reduce add %u0 dim(1) : !sum -> !row
        %r1 = nv.reduce add %u1 dim(1) : !sum -> !row
        %total = nv.join_row_slots %r0, %r1 : !row, !row -> tensor<64xf32>
        %top = nv.join_row_slots %t0, %t1 : !row, !row -> tensor<64xf32>
        %inverse = arith.divf %one, %total fastmath<arcp> : tensor<64xf32>
        %of1 = nv.wgmma.wait %of0 pending(0) : !s
        warp.release %tv1 to %v_free wgmma
        %ib = nv.broadcast %inverse dim(1) : tensor<64xf32> -> !s
        %of = arith.mulf %of1, %ib : !s
        %o16 = arith.truncf %of : !s to tensor<64x128xbf16>
        warp.store %o16 to %O[%b, %m1, %h, %c0] through %staged : tensor<64x128xbf16>, !tile.desc<1x64x1x128xbf16>

        %lg = math.log2 %total : tensor<64xf32>
        %l0 = math.fma %top, %scale_m, %lg : tensor<64xf32>
        %l1 = arith.mulf %l0, %ln2 : tensor<64xf32>
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
      %blocks0 = arith.addi %length, %c127 : i32
      %blocks = arith.divui %blocks0, %c128 : i32
      %last = arith.subi %blocks, %c1 : i32
      warp.for_each_tile (%bh, %m) in (%pairs, %tiles) attributes {warp.scheduler = "dynamic"} {
        %b = arith.divui %bh, %heads : i32
        %bheads = arith.muli %b, %heads : i32
        %h = arith.subi %bh, %bheads : i32
        %m0 = arith.muli %m, %c128 : i32
        %n0 = arith.muli %last, %c128 : i32
        %tk0 = warp.acquire %k_free
        %k0 = warp.slot %tk0 : !tile
        nv.tma.load %K[%b, %n0, %h, %c0] to %k0 : !box, !tile
        warp.release %tk0 to %k_ready tma
        %tq = warp.acquire %q_free
        %q = warp.slot %tq : !tile
        nv.tma.load %Q[%b, %m0, %h, %c0] to %q : !box, !tile
        warp.release %tq to %q_ready tma
        %n = scf.for %j = %c0 to %last step %c1 iter_args(%nv = %n0) -> i32 : i32 {
          %nk = arith.subi %nv, %c128 : i32
          %tk = warp.acquire %k_free
          %k = warp.slot %tk : !tile
          nv.tma.load %K[%b, %nk, %h, %c0] to %k : !box, !tile
          warp.release %tk to %k_ready tma
          %tv = warp.acquire %v_free
          %v = warp.slot %tv : !tile
          nv.tma.load %V[%b, %nv, %h, %c0] to %v : !box, !tile
          warp.release %tv to %v_ready tma
          scf.yield %nk : i32
        }
        %tv1 = warp.acquire %v_free
        %v1 = warp.slot %tv1 : !tile
        nv.tma.load %V[%b, %n, %h, %c0] to %v1 : !box, !tile
        warp.release %tv1 to %v_ready tma
      }
    }
  }
  return
}
