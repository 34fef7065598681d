// O = softmax(Q K^T * scale) V in bf16, head dimension 128, without a mask. A CTA takes 256 rows of Q as two halves, which two softmax
// warpgroups work on in turn while the tensor core multiplies for the other.
//
// S and P share tensor memory: @mma writes S, @softmax reads it and writes P over it, @mma reads P. As rings over one buffer:
// s_free -> (mma) -> s_ready -> (softmax) -> p_ready -> (mma) -> s_free. O stays in tensor memory: @correction rescales it between
// two products (o_turn -> (mma) -> o_done -> (correction) -> o_turn) by what @softmax sends it, and at the end divides by the sum.
// m: blocks of 256 rows a head; heads: batch * heads; kb: blocks of 128 keys; scale includes log2(e).
//
// REQUIRES: ptxas
// RUN: kernel-opt %s --target=sm_100a --emit=ptx --werror-ptxas -o %t.ptx
// RUN: FileCheck %s < %t.ptx
// RUN: kernel-opt %s --target=sm_103a --emit=ptx --werror-ptxas -o %t.103.ptx
//
// CHECK-DAG: tcgen05.ld.sync.aligned.32x32b.x64.b32
// CHECK-DAG: tcgen05.st.sync.aligned.32x32b.x64.b32
// CHECK-DAG: tcgen05.wait::st.sync.aligned
// CHECK-DAG: tcgen05.fence::before_thread_sync
// CHECK-DAG: tcgen05.fence::after_thread_sync
// CHECK-DAG: tcgen05.mma.cta_group::1.kind::f16 [{{%r[0-9]+}}], [{{%r[0-9]+}}], {{%rd[0-9]+}}, {{%r[0-9]+}}

!half = !nv.memdesc<128x128xbf16>
!s = !nv.memdesc<128x128xf32, tmem>
!p = !nv.memdesc<128x128xbf16, tmem>
!quarter = !nv.memdesc<128x32xf32, tmem>
!piece = !nv.memdesc<128x64xf32, tmem>
!staged = !nv.memdesc<128x64xbf16>
!row = tensor<128xf32>
!vec = !nv.memdesc<128xf32>
!tile = tensor<128x128xf32>
!bq = !warp.buffer<2 x [128x128xbf16]>
!bkv = !warp.buffer<3 x [128x128xbf16]>
!bs = !warp.buffer<2 x [128x128xf32], tmem>
!bv = !warp.buffer<2 x [128xf32]>
!bo = !warp.buffer<2 x [128x64xbf16]>

func.func @attention(%Q: !tile.desc<128x128xbf16>, %K: !tile.desc<128x128xbf16>, %V: !tile.desc<128x128xbf16>,
                     %O: !tile.desc<128x64xbf16>, %m: i32, %heads: i32, %kb: i32, %scale: f32)
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
  %nothing = arith.constant dense<0.0> : tensor<128x64xbf16>
  %q = warp.buffer : !bq
  %q_free = warp.ring released %q : !bq
  %q_ready = warp.ring %q : !bq
  %kv = warp.buffer : !bkv
  %kv_free = warp.ring released %kv : !bkv
  %kv_ready = warp.ring %kv : !bkv
  %sp = warp.buffer : !bs
  %s_free = warp.ring released %sp : !bs
  %s_ready = warp.ring %sp : !bs
  %p_ready = warp.ring %sp : !bs
  %acc = warp.buffer : !bs
  %o_turn = warp.ring released %acc : !bs
  %o_done = warp.ring %acc : !bs
  %factor = warp.buffer : !bv
  %f_free = warp.ring released %factor : !bv
  %f_ready = warp.ring %factor : !bv
  %out = warp.buffer : !bo
  %out_free = warp.ring released %out : !bo
  %out_ready = warp.ring %out : !bo

  warp.specialize {
    warp.role @softmax warps(4) replicas(2) registers(192) {
      %r = warp.replica_index
      warp.skip %s_ready by %r
      warp.skip %f_free by %r
      %scales = nv.splat %scale : f32 -> !row
      warp.for_each_tile (%i, %h) in (%m, %heads) {
        %state:2 = scf.for %j = %c0 to %kb step %c1 iter_args(%top = %lowest, %sum = %zero) -> (!row, !row) : i32 {
          %ts = warp.acquire %s_ready {warp.alternate}
          %s = warp.slot %ts : !s
          %x = nv.tmem.load %s : !s -> !tile
          %most = nv.reduce max %x dim(1) : !tile -> !row
          %top1 = arith.maxnumf %top, %most : !row
          %down = arith.subf %top, %top1 : !row
          %down1 = arith.mulf %down, %scales : !row
          %alpha = math.exp2 %down1 : !row
          %later = arith.cmpi ne, %j, %c0 : i32
          scf.if %later {
            %tf = warp.acquire %f_free {warp.alternate}
            %f = warp.slot %tf : !vec
            nv.local_store %alpha to %f : !row, !vec
            warp.release %tf to %f_ready generic
            warp.skip %f_free by %c1
          }
          %shift = arith.mulf %top1, %scales : !row
          %shifts = nv.broadcast %shift dim(1) : !row -> !tile
          %factors = nv.broadcast %scales dim(1) : !row -> !tile
          %scaled = arith.mulf %x, %factors : !tile
          %y = arith.subf %scaled, %shifts : !tile
          %e = math.exp2 %y : !tile
          %p16 = arith.truncf %e : !tile to tensor<128x128xbf16>
          %p = nv.memdesc.reinterpret %s at 0 : !s -> !p
          nv.tmem.store %p16 to %p : tensor<128x128xbf16>, !p
          warp.release %ts to %p_ready generic
          warp.skip %s_ready by %c1
          %add = nv.reduce add %e dim(1) : !tile -> !row
          %old = arith.mulf %sum, %alpha : !row
          %sum1 = arith.addf %old, %add : !row
          scf.yield %top1, %sum1 : !row, !row
        }
        %any = arith.cmpi sgt, %kb, %c0 : i32
        scf.if %any {
          %inverse = arith.divf %one, %state#1 : !row
          %tf = warp.acquire %f_free {warp.alternate}
          %f = warp.slot %tf : !vec
          nv.local_store %inverse to %f : !row, !vec
          warp.release %tf to %f_ready generic
          warp.skip %f_free by %c1
        }
      }
    }
    warp.role @correction warps(4) registers(96) {
      warp.for_each_tile (%i, %h) in (%m, %heads) {
        scf.for %j = %c1 to %kb step %c1 : i32 {
          scf.for %half = %c0 to %c2 step %c1 : i32 {
            %tf = warp.acquire %f_ready
            %f = warp.slot %tf : !vec
            %alpha = nv.local_load %f : !vec -> !row
            warp.release %tf to %f_free generic
            %to = warp.acquire %o_done
            %o = warp.slot %to : !s
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
        %any = arith.cmpi sgt, %kb, %c0 : i32
        scf.if %any {
          scf.for %half = %c0 to %c2 step %c1 : i32 {
            %tf = warp.acquire %f_ready
            %f = warp.slot %tf : !vec
            %inverse = nv.local_load %f : !vec -> !row
            warp.release %tf to %f_free generic
            %to = warp.acquire %o_done
            %o = warp.slot %to : !s
            scf.for %col = %c0 to %c128 step %c64 : i32 {
              %part = nv.memdesc.slice %o[%c0, %col] : !s -> !piece
              %x = nv.tmem.load %part : !piece -> tensor<128x64xf32>
              %factors = nv.broadcast %inverse dim(1) : !row -> tensor<128x64xf32>
              %y = arith.mulf %x, %factors : tensor<128x64xf32>
              %y16 = arith.truncf %y : tensor<128x64xf32> to tensor<128x64xbf16>
              %tw = warp.acquire %out_free
              %w = warp.slot %tw : !staged
              nv.local_store %y16 to %w : tensor<128x64xbf16>, !staged
              warp.release %tw to %out_ready generic
            }
            warp.release %to to %o_turn generic
          }
        } else { // no keys: zeros
          scf.for %col = %c0 to %c256 step %c64 : i32 {
            %tw = warp.acquire %out_free
            %w = warp.slot %tw : !staged
            nv.local_store %nothing to %w : tensor<128x64xbf16>, !staged
            warp.release %tw to %out_ready generic
          }
        }
      }
    }
    warp.role @mma warps(1) registers(32) {
      warp.for_each_tile (%i, %h) in (%m, %heads) {
        %tq0 = warp.acquire %q_ready
        %q0 = warp.slot %tq0 : !half
        %tq1 = warp.acquire %q_ready
        %q1 = warp.slot %tq1 : !half
        scf.for %j = %c0 to %kb step %c1 : i32 {
          %tk = warp.acquire %kv_ready
          %k = warp.slot %tk : !half
          %kt = nv.memdesc.trans %k : !half -> !half
          %ts0 = warp.acquire %s_free
          %s0 = warp.slot %ts0 : !s
          nv.tcgen05.mma %q0, %kt, %s0 accumulate(%false) : !half, !half, !s
          warp.release %ts0 to %s_ready tcgen05
          %ts1 = warp.acquire %s_free
          %s1 = warp.slot %ts1 : !s
          nv.tcgen05.mma %q1, %kt, %s1 accumulate(%false) : !half, !half, !s
          warp.release %ts1 to %s_ready tcgen05
          warp.release %tk to %kv_free tcgen05
          %tv = warp.acquire %kv_ready
          %v = warp.slot %tv : !half
          %more = arith.cmpi ne, %j, %c0 : i32
          scf.for %half = %c0 to %c2 step %c1 : i32 {
            %tp = warp.acquire %p_ready
            %s = warp.slot %tp : !s
            %p = nv.memdesc.reinterpret %s at 0 : !s -> !p
            %to = warp.acquire %o_turn
            %o = warp.slot %to : !s
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
    warp.role @load warps(1) registers(32) {
      warp.for_each_tile (%i, %h) in (%m, %heads) {
        %blocks = arith.muli %h, %m : i32
        %block = arith.addi %blocks, %i : i32
        %row = arith.muli %block, %c256 : i32
        scf.for %half = %c0 to %c256 step %c128 : i32 {
          %t = warp.acquire %q_free
          %s = warp.slot %t : !half
          %row1 = arith.addi %row, %half : i32
          nv.tma.load %Q[%row1, %c0] to %s : !tile.desc<128x128xbf16>, !half
          warp.release %t to %q_ready tma
        }
        %first = arith.muli %h, %kb : i32
        scf.for %j = %c0 to %kb step %c1 : i32 {
          %j1 = arith.addi %first, %j : i32
          %key = arith.muli %j1, %c128 : i32
          %tk = warp.acquire %kv_free
          %k = warp.slot %tk : !half
          nv.tma.load %K[%key, %c0] to %k : !tile.desc<128x128xbf16>, !half
          warp.release %tk to %kv_ready tma
          %tv = warp.acquire %kv_free
          %v = warp.slot %tv : !half
          nv.tma.load %V[%key, %c0] to %v : !tile.desc<128x128xbf16>, !half
          warp.release %tv to %kv_ready tma
        }
      }
    }
    warp.role @epilogue warps(1) registers(32) {
      warp.for_each_tile (%i, %h) in (%m, %heads) {
        %blocks = arith.muli %h, %m : i32
        %block = arith.addi %blocks, %i : i32
        %row = arith.muli %block, %c256 : i32
        scf.for %half = %c0 to %c256 step %c128 : i32 {
          %row1 = arith.addi %row, %half : i32
          scf.for %col = %c0 to %c128 step %c64 : i32 {
            %t = warp.acquire %out_ready
            %w = warp.slot %t : !staged
            nv.tma.store %w to %O[%row1, %col] : !staged, !tile.desc<128x64xbf16>
            warp.release %t to %out_free bulk_read
          }
        }
      }
    }
  }
  return
}
