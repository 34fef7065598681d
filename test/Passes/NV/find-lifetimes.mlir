// RUN: kernel-opt %s --nv-find-lifetimes --split-input-file | FileCheck %s

!x = !warp.buffer<2 x [64x64xbf16]>
!y = !warp.buffer<1 x [64x64xbf16]>
!none = !warp.buffer<1 x []>

// One tile: both replicas of @math know at the meeting that all slots of %x have been read. Storage 0 is %x, 1 the meeting's, 2 is %y.
// CHECK-LABEL: func.func @meeting
// CHECK-SAME: nv.apart = array<i64: 0, 2>
// CHECK: warp.buffer {nv.storage = 0 : i64} : <2 x
// CHECK: warp.buffer per_replica {nv.storage = 2 : i64} : <1 x
func.func @meeting(%A: !tile.desc<64x64xbf16>, %C: !tile.desc<64x64xbf16>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %x = warp.buffer : !x
  %free = warp.ring released %x : !x
  %ready = warp.ring %x : !x
  %y = warp.buffer per_replica : !y
  %staged = warp.ring released %y : !y
  %m = warp.buffer : !none
  %open = warp.ring released %m : !none
  %met = warp.ring %m : !none
  warp.specialize {
    warp.role @math warps(4) replicas(2) {
      scf.for %i = %c0 to %n step %c1 : i32 {
        %t = warp.acquire %ready
        warp.release %t to %free generic
      }
      %here = warp.acquire %open
      warp.release %here to %met generic
      %all = warp.acquire %met
      warp.release %all to %open generic
      %o = warp.acquire %staged
      %v = warp.slot %o : !nv.memdesc<64x64xbf16>
      nv.tma.store %v to %C[%c0, %c0] : !nv.memdesc<64x64xbf16>, !tile.desc<64x64xbf16>
      warp.release %o to %staged bulk_read
    }
    warp.role @load warps(1) {
      scf.for %i = %c0 to %n step %c1 : i32 {
        %t = warp.acquire %free
        %v = warp.slot %t : !nv.memdesc<64x64xbf16>
        nv.tma.load %A[%i, %c0] to %v : !tile.desc<64x64xbf16>, !nv.memdesc<64x64xbf16>
        warp.release %t to %ready tma
      }
    }
  }
  return
}

// -----

!x = !warp.buffer<2 x [64x64xbf16]>
!y = !warp.buffer<1 x [64x64xbf16]>

// Without it, one replica may be at its results while the other still reads.
// CHECK-LABEL: func.func @no_meeting
// CHECK-NOT: nv.apart
// CHECK: return
func.func @no_meeting(%A: !tile.desc<64x64xbf16>, %C: !tile.desc<64x64xbf16>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %x = warp.buffer : !x
  %free = warp.ring released %x : !x
  %ready = warp.ring %x : !x
  %y = warp.buffer per_replica : !y
  %staged = warp.ring released %y : !y
  warp.specialize {
    warp.role @math warps(4) replicas(2) {
      scf.for %i = %c0 to %n step %c1 : i32 {
        %t = warp.acquire %ready
        warp.release %t to %free generic
      }
      %o = warp.acquire %staged
      %v = warp.slot %o : !nv.memdesc<64x64xbf16>
      nv.tma.store %v to %C[%c0, %c0] : !nv.memdesc<64x64xbf16>, !tile.desc<64x64xbf16>
      warp.release %o to %staged bulk_read
    }
    warp.role @load warps(1) {
      scf.for %i = %c0 to %n step %c1 : i32 {
        %t = warp.acquire %free
        %v = warp.slot %t : !nv.memdesc<64x64xbf16>
        nv.tma.load %A[%i, %c0] to %v : !tile.desc<64x64xbf16>, !nv.memdesc<64x64xbf16>
        warp.release %t to %ready tma
      }
    }
  }
  return
}

// -----

!x = !warp.buffer<1 x [64x64xbf16]>

// A chain of rings, time after time: %b's slot is written when %a's has been read, and %a's is filled again only when %b's has been.
// @copy's warps have met (%b is handed over by all of them) before @use has anything of %b; but %a is filled by TMA after @copy has
// written %b by ordinary stores: the bytes of %b would need a fence first.
// CHECK-LABEL: func.func @fence
// CHECK-NOT: nv.apart
// CHECK: return
func.func @fence(%A: !tile.desc<64x64xbf16>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %a = warp.buffer : !x
  %a_free = warp.ring released %a : !x
  %a_ready = warp.ring %a : !x
  %b = warp.buffer : !x
  %b_free = warp.ring released %b : !x
  %b_ready = warp.ring %b : !x
  warp.specialize {
    warp.role @copy warps(4) {
      scf.for %i = %c0 to %n step %c1 : i32 {
        %t = warp.acquire %a_ready
        %v = warp.slot %t : !nv.memdesc<64x64xbf16>
        %x = nv.local_load %v : !nv.memdesc<64x64xbf16> -> tensor<64x64xbf16>
        warp.release %t to %a_free generic
        %u = warp.acquire %b_free
        %w = warp.slot %u : !nv.memdesc<64x64xbf16>
        nv.local_store %x to %w : tensor<64x64xbf16>, !nv.memdesc<64x64xbf16>
        warp.release %u to %b_ready generic
        %back = warp.acquire %b_ready
        warp.release %back to %b_free generic
      }
    }
    warp.role @load warps(1) {
      scf.for %i = %c0 to %n step %c1 : i32 {
        %t = warp.acquire %a_free
        %v = warp.slot %t : !nv.memdesc<64x64xbf16>
        nv.tma.load %A[%i, %c0] to %v : !tile.desc<64x64xbf16>, !nv.memdesc<64x64xbf16>
        warp.release %t to %a_ready tma
      }
    }
  }
  return
}

// -----

!d = !warp.buffer<1 x [128x256xf32], tmem>

// Sums in tensor memory that one role makes one after the other: the third is begun when the first has been read, as its reader says
// by the ring of the second.
// CHECK-LABEL: func.func @columns
// CHECK-SAME: nv.apart = array<i64: 0, 3>
func.func @columns() {
  %a = warp.buffer : !d
  %a_free = warp.ring released %a : !d
  %a_ready = warp.ring %a : !d
  %b = warp.buffer : !d
  %b_free = warp.ring released %b : !d
  %b_ready = warp.ring %b : !d
  %c = warp.buffer : !d
  %c_free = warp.ring released %c : !d
  %c_ready = warp.ring %c : !d
  %p = warp.buffer : !warp.buffer<1 x [64x64xbf16]>
  %p_free = warp.ring released %p : !warp.buffer<1 x [64x64xbf16]>
  %p_ready = warp.ring %p : !warp.buffer<1 x [64x64xbf16]>
  warp.specialize {
    warp.role @math warps(4) {
      %ta = warp.acquire %a_ready
      warp.release %ta to %a_free generic
      %tp = warp.acquire %p_free
      warp.release %tp to %p_ready generic
      %tb = warp.acquire %b_ready
      warp.release %tb to %b_free generic
      %tc = warp.acquire %c_ready
      warp.release %tc to %c_free generic
    }
    warp.role @mma warps(1) {
      %ta = warp.acquire %a_free
      warp.release %ta to %a_ready tcgen05
      %tb = warp.acquire %b_free
      warp.release %tb to %b_ready tcgen05
      %tp = warp.acquire %p_ready
      warp.release %tp to %p_free tcgen05
      %tc = warp.acquire %c_free
      warp.release %tc to %c_ready tcgen05
    }
  }
  return
}

// -----

!x = !warp.buffer<1 x [64x64xbf16]>

// One buffer on each side of a branch in a loop: no trace has all mixtures of them.
// CHECK-LABEL: func.func @branches
// CHECK-NOT: nv.apart
// CHECK: return
func.func @branches(%C: !tile.desc<64x64xbf16>, %n: i32, %k: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %x = warp.buffer : !x
  %first = warp.ring released %x : !x
  %y = warp.buffer : !x
  %second = warp.ring released %y : !x
  warp.specialize {
    warp.role @math warps(4) {
      scf.for %i = %c0 to %n step %c1 : i32 {
        %even = arith.cmpi eq, %i, %k : i32
        scf.if %even {
          %o = warp.acquire %first
          %v = warp.slot %o : !nv.memdesc<64x64xbf16>
          nv.tma.store %v to %C[%c0, %c0] : !nv.memdesc<64x64xbf16>, !tile.desc<64x64xbf16>
          warp.release %o to %first bulk_read
        } else {
          %o = warp.acquire %second
          %v = warp.slot %o : !nv.memdesc<64x64xbf16>
          nv.tma.store %v to %C[%c0, %c0] : !nv.memdesc<64x64xbf16>, !tile.desc<64x64xbf16>
          warp.release %o to %second bulk_read
        }
      }
    }
  }
  return
}

// -----

!s = !warp.buffer<1 x [128x128xf32], tmem>
!p = !warp.buffer<1 x [128x128xbf16], tmem>

// What @mma leaves in %s for @math to read is there while @math writes %p: the uses follow one another, and yet nothing is apart.
// CHECK-LABEL: func.func @contents
// CHECK-NOT: nv.apart
// CHECK: return
func.func @contents() {
  %s = warp.buffer : !s
  %s_free = warp.ring released %s : !s
  %s_ready = warp.ring %s : !s
  %p = warp.buffer : !p
  %p_free = warp.ring released %p : !p
  %p_ready = warp.ring %p : !p
  %d = warp.buffer : !s
  %d_free = warp.ring released %d : !s
  %d_ready = warp.ring %d : !s
  warp.specialize {
    warp.role @math warps(4) {
      %ts = warp.acquire %s_ready
      %vs = warp.slot %ts : !nv.memdesc<128x128xf32, tmem>
      %tp = warp.acquire %p_free
      %vp = warp.slot %tp : !nv.memdesc<128x128xbf16, tmem>
      %zero = arith.constant dense<0.0> : tensor<128x128xbf16>
      nv.tmem.store %zero to %vp : tensor<128x128xbf16>, !nv.memdesc<128x128xbf16, tmem>
      warp.release %tp to %p_ready generic
      %td = warp.acquire %d_ready
      %x = nv.tmem.load %vs : !nv.memdesc<128x128xf32, tmem> -> tensor<128x128xf32>
      warp.release %ts to %s_free generic
      warp.release %td to %d_free generic
    }
    warp.role @mma warps(1) {
      %ts = warp.acquire %s_free
      warp.release %ts to %s_ready tcgen05
      %tp = warp.acquire %p_ready
      %td = warp.acquire %d_free
      warp.release %tp to %p_free tcgen05
      warp.release %td to %d_ready tcgen05
    }
  }
  return
}

// -----

!x = !warp.buffer<1 x [64x64xbf16]>
#rows = #nv.blocked<[1, 8], [4, 8], [4, 1], [1, 0]>
#columns = #nv.blocked<[8, 1], [8, 4], [1, 4], [0, 1]>

// An exchange in a loop without rings, which is traced once as its condition is not known: a warp may still read when another one fills the slot.
// CHECK-LABEL: func.func @exchange_before
// CHECK-NOT: nv.apart
// CHECK: return
func.func @exchange_before(%n: i32, %p: i64, %v: tensor<64x64xbf16, #rows>) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %x = warp.buffer : !x
  %free = warp.ring released %x : !x
  %ready = warp.ring %x : !x
  warp.specialize {
    warp.role @make warps(4) {
      %end = scf.while (%i = %n) : (i32) -> i32 {
        %more = arith.cmpi sgt, %i, %c0 : i32
        scf.condition(%more) %i : i32
      } do {
      ^bb0(%i: i32):
        %y = nv.convert_layout %v : tensor<64x64xbf16, #rows> -> tensor<64x64xbf16, #columns>
        %at = nv.index dim(0) : tensor<64x64xi32, #columns>
        nv.global_store %y to %p[%at] : tensor<64x64xbf16, #columns>, tensor<64x64xi32, #columns>
        %next = arith.subi %i, %c1 : i32
        scf.yield %next : i32
      }
      %t = warp.acquire %free
      warp.release %t to %ready generic
    }
    warp.role @take warps(4) {
      %t = warp.acquire %ready
      warp.release %t to %free generic
    }
  }
  return
}
