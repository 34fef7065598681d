// REQUIRES: ptxas
// RUN: kernel-opt %s --target=sm_90a --emit=ptx --werror-ptxas -o %t.ptx
//
// Causal attention forward without overlap: attention_d128_causal.mlir of ../warp as attention_d128.mlir of this folder is to
// the one there. Query tile m meets key tiles m, m - 1, ..., 0, all under the mask. Arguments as there.

!tile = !nv.memdesc<128x128xbf16>
!rows = !nv.memdesc<64x128xbf16>
!box = !tile.desc<1x128x1x128xbf16>
!q = !warp.buffer<1 x [128x128xbf16]>
!kv = !warp.buffer<2 x [128x128xbf16]>
!out = !warp.buffer<1 x [64x128xbf16]>
!s = tensor<64x128xf32>
!p = tensor<64x128xbf16>
!row = tensor<64xf32>
!ticket = !warp.buffer<1 x [4xi32]>

func.func @attention_causal(%Q: !box, %K: !box, %V: !box, %O: !tile.desc<1x64x1x128xbf16>, %lse: i64 {tile.pointer = f32},
                            %counter: i64 {tile.pointer = i32}, %heads: i32, %length: i32, %pairs: i32, %tiles: i32,
                            %section: i32, %scale: f32)
    attributes {tile.kernel, warp.launch = #warp.launch<persistent = true>} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c64 = arith.constant 64 : i32
  %c127 = arith.constant 127 : i32
  %c128 = arith.constant 128 : i32
  %qbuf = warp.buffer : !q
  %q_free = warp.ring released %qbuf : !q
  %q_ready = warp.ring %qbuf : !q
  %kbuf = warp.buffer : !kv
  %k_free = warp.ring released %kbuf : !kv
  %k_ready = warp.ring %kbuf : !kv
  %vbuf = warp.buffer : !kv
  %v_free = warp.ring released %vbuf : !kv
  %v_ready = warp.ring %vbuf : !kv
  %obuf = warp.buffer per_replica : !out
  %staged = warp.ring released %obuf : !out
  %tbuf = warp.buffer : !ticket
  %t_free = warp.ring released %tbuf : !ticket
  %t_ready = warp.ring %tbuf : !ticket

  warp.specialize {
    warp.role @math warps(4) replicas(2) registers(240) {
      %r = warp.replica_index
      %row = arith.muli %r, %c64 : i32
      %scale_s = nv.splat %scale : f32 -> !s
      %scale_1 = nv.splat %scale : f32 -> !row
      %one = arith.constant dense<1.0> : !row
      %ln2 = arith.constant dense<0.693147181> : !row
      %none = arith.constant dense<0xFF800000> : !s
      %top0 = arith.constant dense<0xFF800000> : !row
      %total0 = arith.constant dense<0.0> : !row
      %o0 = arith.constant dense<0.0> : !s
      %tickets = arith.muli %pairs, %tiles : i32
      %per = arith.muli %section, %tiles : i32
      %tiles1 = arith.subi %tiles, %c1 : i32
      %done = scf.while : () -> i32 {
        %tt = warp.acquire %t_ready
        %ts = warp.slot %tt : !nv.memdesc<4xi32>
        %t = nv.scalar_load %ts[%c0] : !nv.memdesc<4xi32> -> i32
        warp.release %tt to %t_free generic
        %go = arith.cmpi slt, %t, %tickets : i32
        scf.condition(%go) %t : i32
      } do {
      ^bb0(%t: i32):
        %bh0 = arith.divui %t, %per : i32
        %base_bh = arith.muli %bh0, %section : i32
        %within0 = arith.muli %bh0, %per : i32
        %within = arith.subi %t, %within0 : i32
        %left_bh = arith.subi %pairs, %base_bh : i32
        %width = arith.minui %left_bh, %section : i32
        %turn = arith.divui %within, %width : i32
        %within1 = arith.muli %turn, %width : i32
        %in_section = arith.subi %within, %within1 : i32
        %bh = arith.addi %base_bh, %in_section : i32
        %m2 = arith.subi %tiles1, %turn : i32
        %m = arith.maxsi %m2, %c0 : i32
        %b = arith.divui %bh, %heads : i32
        %bheads = arith.muli %b, %heads : i32
        %h = arith.subi %bh, %bheads : i32
        %m0 = arith.muli %m, %c128 : i32
        %m1 = arith.addi %m0, %row : i32
        %trips = arith.addi %m, %c1 : i32
        %tq = warp.acquire %q_ready
        %qs = warp.slot %tq : !tile
        %qr = nv.memdesc.slice %qs[%row, %c0] : !tile -> !rows
        %q = nv.local_load %qr : !rows -> !p
        warp.release %tq to %q_free generic
        %o, %top, %total = scf.for %j = %c0 to %trips step %c1
            iter_args(%acc = %o0, %topb = %top0, %totalb = %total0) -> (!s, !row, !row) : i32 {
          %tk = warp.acquire %k_ready
          %k = warp.slot %tk : !tile
          %kt = nv.memdesc.trans %k : !tile -> !tile
          %s0 = nv.wgmma %q, %kt : !p, !tile -> !s
          %s1 = nv.wgmma.wait %s0 pending(0) : !s
          warp.release %tk to %k_free wgmma
          %before = arith.subi %m, %j : i32
          %n0 = arith.muli %before, %c128 : i32
          %iota = nv.index dim(1) : tensor<64x128xi32>
          %first = nv.splat %n0 : i32 -> tensor<64x128xi32>
          %column = arith.addi %iota, %first : tensor<64x128xi32>
          %line = nv.index dim(0) : tensor<64x128xi32>
          %firstline = nv.splat %m1 : i32 -> tensor<64x128xi32>
          %query = arith.addi %line, %firstline : tensor<64x128xi32>
          %valid = arith.cmpi sle, %column, %query : tensor<64x128xi32>
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
          %less = arith.mulf %totalb, %factor : !row
          %more = arith.addf %less, %sum : !row
          %factors = nv.broadcast %factor dim(1) : !row -> !s
          %acc1 = arith.mulf %acc, %factors : !s
          %e16 = arith.truncf %e : !s to !p
          %tv = warp.acquire %v_ready
          %v = warp.slot %tv : !tile
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
        scf.yield
      }
    }
    warp.role @load warps(1) registers(24) {
      %cta = nvvm.read.ptx.sreg.ctaid.x : i32
      %ctas = nvvm.read.ptx.sreg.nctaid.x : i32
      %zero64 = arith.constant 0 : i64
      %one64 = arith.constant 1 : i64
      %tickets = arith.muli %pairs, %tiles : i32
      %per = arith.muli %section, %tiles : i32
      %tiles1 = arith.subi %tiles, %c1 : i32
      %done = scf.while (%next = %cta) : (i32) -> i32 {
        %tt = warp.acquire %t_free
        %ts = warp.slot %tt : !nv.memdesc<4xi32>
        nv.scalar_store %next to %ts[%c0] : i32, !nv.memdesc<4xi32>
        warp.release %tt to %t_ready generic
        %go = arith.cmpi slt, %next, %tickets : i32
        scf.condition(%go) %next : i32
      } do {
      ^bb0(%t: i32):
        // The next tile's number, asked for before this one's copies so that its latency does not show.
        %taken = nv.atomic_add %counter[%zero64], %c1 : i32
        %bh0 = arith.divui %t, %per : i32
        %base_bh = arith.muli %bh0, %section : i32
        %within0 = arith.muli %bh0, %per : i32
        %within = arith.subi %t, %within0 : i32
        %left_bh = arith.subi %pairs, %base_bh : i32
        %width = arith.minui %left_bh, %section : i32
        %turn = arith.divui %within, %width : i32
        %within1 = arith.muli %turn, %width : i32
        %in_section = arith.subi %within, %within1 : i32
        %bh = arith.addi %base_bh, %in_section : i32
        %m2 = arith.subi %tiles1, %turn : i32
        %m = arith.maxsi %m2, %c0 : i32
        %b = arith.divui %bh, %heads : i32
        %bheads = arith.muli %b, %heads : i32
        %h = arith.subi %bh, %bheads : i32
        %m0 = arith.muli %m, %c128 : i32
        %trips = arith.addi %m, %c1 : i32
        %tq = warp.acquire %q_free
        %q = warp.slot %tq : !tile
        nv.tma.load %Q[%b, %m0, %h, %c0] to %q : !box, !tile
        warp.release %tq to %q_ready tma
        scf.for %j = %c0 to %trips step %c1 : i32 {
          %before = arith.subi %m, %j : i32
          %n0 = arith.muli %before, %c128 : i32
          %tk = warp.acquire %k_free
          %k = warp.slot %tk : !tile
          nv.tma.load %K[%b, %n0, %h, %c0] to %k : !box, !tile
          warp.release %tk to %k_ready tma
          %tv = warp.acquire %v_free
          %v = warp.slot %tv : !tile
          nv.tma.load %V[%b, %n0, %h, %c0] to %v : !box, !tile
          warp.release %tv to %v_ready tma
        }
        %then = arith.addi %taken, %ctas : i32
        scf.yield %then : i32
      }
      %finished = nv.atomic_add %counter[%one64], %c1 : i32
      %ctas1 = arith.subi %ctas, %c1 : i32
      %final = arith.cmpi eq, %finished, %ctas1 : i32
      scf.if %final {
        nv.global_store %c0 to %counter[%zero64] : i32, i64
        nv.global_store %c0 to %counter[%one64] : i32, i64
      }
    }
  }
  return
}
