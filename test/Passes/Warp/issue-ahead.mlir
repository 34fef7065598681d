// RUN: kernel-opt %s --pass-pipeline='builtin.module(warp-pipeline-role{report=true})' --split-input-file 2>%t | FileCheck %s
// RUN: FileCheck %s --check-prefix=REPORT < %t
// RUN: kernel-opt %s --pass-pipeline='builtin.module(warp-pipeline-role,warp-verify-rings)' --split-input-file -o /dev/null

!b = !warp.buffer<1 x [64x64xbf16]>
!t = !warp.buffer<1 x [128x64xf32], tmem>
!p = !warp.buffer<1 x [128x64xbf16], tmem>

// An operand of the first product is made by a role that waits for no sum of the second one: the next iteration's can be made meanwhile.
// REPORT-NOT: products are issued in program order
// CHECK-LABEL: @made_before
// CHECK: warp.role @mma
// CHECK: scf.if
// CHECK: nv.tcgen05.mma {{.*}} : <128x64xbf16>,
// CHECK: scf.for
// CHECK: nv.tcgen05.mma {{.*}} : <128x64xbf16>,
// CHECK: nv.tcgen05.mma {{.*}} : <128x64xbf16, tmem>,
// CHECK: }
// CHECK: nv.tcgen05.mma {{.*}} : <128x64xbf16, tmem>,
func.func @made_before(%n: i32) attributes {tile.schedule = #tile.schedule<>} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %no = arith.constant false
  %q = warp.buffer : !warp.buffer<1 x [128x64xbf16]>
  %q_free = warp.ring released %q : !warp.buffer<1 x [128x64xbf16]>
  %q_ready = warp.ring %q : !warp.buffer<1 x [128x64xbf16]>
  %b = warp.buffer : !b
  %b_free = warp.ring released %b : !b
  %b_ready = warp.ring %b : !b
  %s = warp.buffer : !t
  %s_free = warp.ring released %s : !t
  %s_ready = warp.ring %s : !t
  %p = warp.buffer : !p
  %p_free = warp.ring released %p : !p
  %p_ready = warp.ring %p : !p
  %o = warp.buffer : !t
  %o_free = warp.ring released %o : !t
  %o_ready = warp.ring %o : !t
  warp.specialize {
    warp.role @finish warps(4) {
      scf.for %i = %c0 to %n step %c1 : i32 {
        %to = warp.acquire %o_ready
        warp.release %to to %o_free generic
      }
    }
    warp.role @math warps(4) {
      scf.for %i = %c0 to %n step %c1 : i32 {
        %tb = warp.acquire %b_free
        warp.release %tb to %b_ready generic
        %ts = warp.acquire %s_ready
        warp.release %ts to %s_free generic
        %tp = warp.acquire %p_free
        warp.release %tp to %p_ready generic
      }
    }
    warp.role @load warps(1) {
      %k = warp.acquire %q_free
      warp.release %k to %q_ready tma
    }
    warp.role @mma warps(1) {
      %k = warp.acquire %q_ready
      %x = warp.slot %k : !nv.memdesc<128x64xbf16>
      %v = nv.memdesc.slice %x[%c0, %c0] : <128x64xbf16> -> <64x64xbf16>
      scf.for %i = %c0 to %n step %c1 : i32 {
        %kb = warp.acquire %b_ready
        %y = warp.slot %kb : !nv.memdesc<64x64xbf16>
        %ks = warp.acquire %s_free
        %z = warp.slot %ks : !nv.memdesc<128x64xf32, tmem>
        nv.tcgen05.mma %x, %y, %z accumulate(%no) : <128x64xbf16>, <64x64xbf16>, <128x64xf32, tmem>
        warp.release %kb to %b_free tcgen05
        warp.release %ks to %s_ready tcgen05
        %kp = warp.acquire %p_ready
        %u = warp.slot %kp : !nv.memdesc<128x64xbf16, tmem>
        %ko = warp.acquire %o_free
        %w = warp.slot %ko : !nv.memdesc<128x64xf32, tmem>
        nv.tcgen05.mma %u, %v, %w accumulate(%no) : <128x64xbf16, tmem>, <64x64xbf16>, <128x64xf32, tmem>
        warp.release %kp to %p_free tcgen05
        warp.release %ko to %o_ready tcgen05
      }
      warp.release %k to %q_free tcgen05
    }
  }
  return
}

// -----

!b = !warp.buffer<1 x [64x64xbf16]>
!t = !warp.buffer<1 x [128x64xf32], tmem>
!p = !warp.buffer<1 x [128x64xbf16], tmem>

// The role that makes the operand has waited for the second product of the iteration before: that product must not come behind the one
// that reads the operand.
// CHECK-LABEL: @made_behind
// CHECK: warp.role @mma
// CHECK-NOT: scf.if
// CHECK: scf.for
// CHECK-NEXT: warp.acquire
// CHECK: nv.tcgen05.mma {{.*}} : <128x64xbf16>,
// CHECK: nv.tcgen05.mma {{.*}} : <128x64xbf16, tmem>,
// CHECK-NOT: nv.tcgen05.mma
// REPORT: products are issued in program order: a slot that goes ahead is there only after the other products of the iteration before
func.func @made_behind(%n: i32) attributes {tile.schedule = #tile.schedule<>} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %no = arith.constant false
  %q = warp.buffer : !warp.buffer<1 x [128x64xbf16]>
  %q_free = warp.ring released %q : !warp.buffer<1 x [128x64xbf16]>
  %q_ready = warp.ring %q : !warp.buffer<1 x [128x64xbf16]>
  %b = warp.buffer : !b
  %b_free = warp.ring released %b : !b
  %b_ready = warp.ring %b : !b
  %s = warp.buffer : !t
  %s_free = warp.ring released %s : !t
  %s_ready = warp.ring %s : !t
  %p = warp.buffer : !p
  %p_free = warp.ring released %p : !p
  %p_ready = warp.ring %p : !p
  %o = warp.buffer : !t
  %o_free = warp.ring released %o : !t
  %o_ready = warp.ring %o : !t
  warp.specialize {
    warp.role @math warps(4) {
      scf.for %i = %c0 to %n step %c1 : i32 {
        %tb = warp.acquire %b_free
        warp.release %tb to %b_ready generic
        %ts = warp.acquire %s_ready
        warp.release %ts to %s_free generic
        %tp = warp.acquire %p_free
        warp.release %tp to %p_ready generic
        %to = warp.acquire %o_ready
        warp.release %to to %o_free generic
      }
    }
    warp.role @load warps(1) {
      %k = warp.acquire %q_free
      warp.release %k to %q_ready tma
    }
    warp.role @mma warps(1) {
      %k = warp.acquire %q_ready
      %x = warp.slot %k : !nv.memdesc<128x64xbf16>
      %v = nv.memdesc.slice %x[%c0, %c0] : <128x64xbf16> -> <64x64xbf16>
      scf.for %i = %c0 to %n step %c1 : i32 {
        %kb = warp.acquire %b_ready
        %y = warp.slot %kb : !nv.memdesc<64x64xbf16>
        %ks = warp.acquire %s_free
        %z = warp.slot %ks : !nv.memdesc<128x64xf32, tmem>
        nv.tcgen05.mma %x, %y, %z accumulate(%no) : <128x64xbf16>, <64x64xbf16>, <128x64xf32, tmem>
        warp.release %kb to %b_free tcgen05
        warp.release %ks to %s_ready tcgen05
        %kp = warp.acquire %p_ready
        %u = warp.slot %kp : !nv.memdesc<128x64xbf16, tmem>
        %ko = warp.acquire %o_free
        %w = warp.slot %ko : !nv.memdesc<128x64xf32, tmem>
        nv.tcgen05.mma %u, %v, %w accumulate(%no) : <128x64xbf16, tmem>, <64x64xbf16>, <128x64xf32, tmem>
        warp.release %kp to %p_free tcgen05
        warp.release %ko to %o_ready tcgen05
      }
      warp.release %k to %q_free tcgen05
    }
  }
  return
}

// -----

!b = !warp.buffer<1 x [64x64xbf16]>
!t = !warp.buffer<1 x [128x64xf32], tmem>
!p = !warp.buffer<1 x [128x64xbf16], tmem>

// The same through a third role, which makes the operand when another one, that waits for the sum, asks for it.
// CHECK-LABEL: @asked_behind
// CHECK: warp.role @mma
// CHECK-NOT: scf.if
// CHECK: scf.for
// CHECK-NEXT: warp.acquire
// CHECK: nv.tcgen05.mma {{.*}} : <128x64xbf16>,
// CHECK: nv.tcgen05.mma {{.*}} : <128x64xbf16, tmem>,
// CHECK-NOT: nv.tcgen05.mma
// REPORT: products are issued in program order: a slot that goes ahead is there only after the other products of the iteration before
func.func @asked_behind(%n: i32) attributes {tile.schedule = #tile.schedule<>} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %no = arith.constant false
  %q = warp.buffer : !warp.buffer<1 x [128x64xbf16]>
  %q_free = warp.ring released %q : !warp.buffer<1 x [128x64xbf16]>
  %q_ready = warp.ring %q : !warp.buffer<1 x [128x64xbf16]>
  %b = warp.buffer : !b
  %b_free = warp.ring released %b : !b
  %b_ready = warp.ring %b : !b
  %s = warp.buffer : !t
  %s_free = warp.ring released %s : !t
  %s_ready = warp.ring %s : !t
  %p = warp.buffer : !p
  %p_free = warp.ring released %p : !p
  %p_ready = warp.ring %p : !p
  %o = warp.buffer : !t
  %o_free = warp.ring released %o : !t
  %o_ready = warp.ring %o : !t
  %h = warp.buffer : !b
  %h_free = warp.ring released %h : !b
  %h_ready = warp.ring %h : !b
  warp.specialize {
    warp.role @make warps(4) {
      scf.for %i = %c0 to %n step %c1 : i32 {
        %th = warp.acquire %h_ready
        warp.release %th to %h_free generic
        %tb = warp.acquire %b_free
        warp.release %tb to %b_ready generic
      }
    }
    warp.role @finish warps(4) {
      scf.for %i = %c0 to %n step %c1 : i32 {
        %th = warp.acquire %h_free
        warp.release %th to %h_ready generic
        %to = warp.acquire %o_ready
        warp.release %to to %o_free generic
      }
    }
    warp.role @math warps(4) {
      scf.for %i = %c0 to %n step %c1 : i32 {
        %ts = warp.acquire %s_ready
        warp.release %ts to %s_free generic
        %tp = warp.acquire %p_free
        warp.release %tp to %p_ready generic
      }
    }
    warp.role @load warps(1) {
      %k = warp.acquire %q_free
      warp.release %k to %q_ready tma
    }
    warp.role @mma warps(1) {
      %k = warp.acquire %q_ready
      %x = warp.slot %k : !nv.memdesc<128x64xbf16>
      %v = nv.memdesc.slice %x[%c0, %c0] : <128x64xbf16> -> <64x64xbf16>
      scf.for %i = %c0 to %n step %c1 : i32 {
        %kb = warp.acquire %b_ready
        %y = warp.slot %kb : !nv.memdesc<64x64xbf16>
        %ks = warp.acquire %s_free
        %z = warp.slot %ks : !nv.memdesc<128x64xf32, tmem>
        nv.tcgen05.mma %x, %y, %z accumulate(%no) : <128x64xbf16>, <64x64xbf16>, <128x64xf32, tmem>
        warp.release %kb to %b_free tcgen05
        warp.release %ks to %s_ready tcgen05
        %kp = warp.acquire %p_ready
        %u = warp.slot %kp : !nv.memdesc<128x64xbf16, tmem>
        %ko = warp.acquire %o_free
        %w = warp.slot %ko : !nv.memdesc<128x64xf32, tmem>
        nv.tcgen05.mma %u, %v, %w accumulate(%no) : <128x64xbf16, tmem>, <64x64xbf16>, <128x64xf32, tmem>
        warp.release %kp to %p_free tcgen05
        warp.release %ko to %o_ready tcgen05
      }
      warp.release %k to %q_free tcgen05
    }
  }
  return
}

// -----

!b = !warp.buffer<1 x [64x64xbf16]>
!t = !warp.buffer<1 x [128x64xf32], tmem>
!p = !warp.buffer<1 x [128x64xbf16], tmem>

// The role takes the one slot for the second operand before it makes the first: the slot comes back from the product before.
// CHECK-LABEL: @taken_before
// CHECK: warp.role @mma
// CHECK-NOT: scf.if
// CHECK: scf.for
// CHECK-NEXT: warp.acquire
// CHECK: nv.tcgen05.mma {{.*}} : <128x64xbf16>,
// CHECK: nv.tcgen05.mma {{.*}} : <128x64xbf16, tmem>,
// CHECK-NOT: nv.tcgen05.mma
// REPORT: products are issued in program order: a slot that goes ahead is there only after the other products of the iteration before
func.func @taken_before(%n: i32) attributes {tile.schedule = #tile.schedule<>} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %no = arith.constant false
  %q = warp.buffer : !warp.buffer<1 x [128x64xbf16]>
  %q_free = warp.ring released %q : !warp.buffer<1 x [128x64xbf16]>
  %q_ready = warp.ring %q : !warp.buffer<1 x [128x64xbf16]>
  %b = warp.buffer : !b
  %b_free = warp.ring released %b : !b
  %b_ready = warp.ring %b : !b
  %s = warp.buffer : !t
  %s_free = warp.ring released %s : !t
  %s_ready = warp.ring %s : !t
  %p = warp.buffer : !p
  %p_free = warp.ring released %p : !p
  %p_ready = warp.ring %p : !p
  %o = warp.buffer : !t
  %o_free = warp.ring released %o : !t
  %o_ready = warp.ring %o : !t
  warp.specialize {
    warp.role @finish warps(4) {
      scf.for %i = %c0 to %n step %c1 : i32 {
        %to = warp.acquire %o_ready
        warp.release %to to %o_free generic
      }
    }
    warp.role @math warps(4) {
      scf.for %i = %c0 to %n step %c1 : i32 {
        %tp = warp.acquire %p_free
        %tb = warp.acquire %b_free
        warp.release %tb to %b_ready generic
        %ts = warp.acquire %s_ready
        warp.release %ts to %s_free generic
        warp.release %tp to %p_ready generic
      }
    }
    warp.role @load warps(1) {
      %k = warp.acquire %q_free
      warp.release %k to %q_ready tma
    }
    warp.role @mma warps(1) {
      %k = warp.acquire %q_ready
      %x = warp.slot %k : !nv.memdesc<128x64xbf16>
      %v = nv.memdesc.slice %x[%c0, %c0] : <128x64xbf16> -> <64x64xbf16>
      scf.for %i = %c0 to %n step %c1 : i32 {
        %kb = warp.acquire %b_ready
        %y = warp.slot %kb : !nv.memdesc<64x64xbf16>
        %ks = warp.acquire %s_free
        %z = warp.slot %ks : !nv.memdesc<128x64xf32, tmem>
        nv.tcgen05.mma %x, %y, %z accumulate(%no) : <128x64xbf16>, <64x64xbf16>, <128x64xf32, tmem>
        warp.release %kb to %b_free tcgen05
        warp.release %ks to %s_ready tcgen05
        %kp = warp.acquire %p_ready
        %u = warp.slot %kp : !nv.memdesc<128x64xbf16, tmem>
        %ko = warp.acquire %o_free
        %w = warp.slot %ko : !nv.memdesc<128x64xf32, tmem>
        nv.tcgen05.mma %u, %v, %w accumulate(%no) : <128x64xbf16, tmem>, <64x64xbf16>, <128x64xf32, tmem>
        warp.release %kp to %p_free tcgen05
        warp.release %ko to %o_ready tcgen05
      }
      warp.release %k to %q_free tcgen05
    }
  }
  return
}

// -----

!b = !warp.buffer<1 x [64x64xbf16]>
!t = !warp.buffer<1 x [128x64xf32], tmem>
!p = !warp.buffer<2 x [128x64xbf16], tmem>

// With two slots it comes back from the one before that.
// REPORT-NOT: products are issued in program order
// CHECK-LABEL: @taken_before_of_two
// CHECK: warp.role @mma
// CHECK: scf.if
// CHECK: nv.tcgen05.mma {{.*}} : <128x64xbf16>,
// CHECK: scf.for
// CHECK: nv.tcgen05.mma {{.*}} : <128x64xbf16>,
// CHECK: nv.tcgen05.mma {{.*}} : <128x64xbf16, tmem>,
// CHECK: }
// CHECK: nv.tcgen05.mma {{.*}} : <128x64xbf16, tmem>,
func.func @taken_before_of_two(%n: i32) attributes {tile.schedule = #tile.schedule<>} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %no = arith.constant false
  %q = warp.buffer : !warp.buffer<1 x [128x64xbf16]>
  %q_free = warp.ring released %q : !warp.buffer<1 x [128x64xbf16]>
  %q_ready = warp.ring %q : !warp.buffer<1 x [128x64xbf16]>
  %b = warp.buffer : !b
  %b_free = warp.ring released %b : !b
  %b_ready = warp.ring %b : !b
  %s = warp.buffer : !t
  %s_free = warp.ring released %s : !t
  %s_ready = warp.ring %s : !t
  %p = warp.buffer : !p
  %p_free = warp.ring released %p : !p
  %p_ready = warp.ring %p : !p
  %o = warp.buffer : !t
  %o_free = warp.ring released %o : !t
  %o_ready = warp.ring %o : !t
  warp.specialize {
    warp.role @finish warps(4) {
      scf.for %i = %c0 to %n step %c1 : i32 {
        %to = warp.acquire %o_ready
        warp.release %to to %o_free generic
      }
    }
    warp.role @math warps(4) {
      scf.for %i = %c0 to %n step %c1 : i32 {
        %tp = warp.acquire %p_free
        %tb = warp.acquire %b_free
        warp.release %tb to %b_ready generic
        %ts = warp.acquire %s_ready
        warp.release %ts to %s_free generic
        warp.release %tp to %p_ready generic
      }
    }
    warp.role @load warps(1) {
      %k = warp.acquire %q_free
      warp.release %k to %q_ready tma
    }
    warp.role @mma warps(1) {
      %k = warp.acquire %q_ready
      %x = warp.slot %k : !nv.memdesc<128x64xbf16>
      %v = nv.memdesc.slice %x[%c0, %c0] : <128x64xbf16> -> <64x64xbf16>
      scf.for %i = %c0 to %n step %c1 : i32 {
        %kb = warp.acquire %b_ready
        %y = warp.slot %kb : !nv.memdesc<64x64xbf16>
        %ks = warp.acquire %s_free
        %z = warp.slot %ks : !nv.memdesc<128x64xf32, tmem>
        nv.tcgen05.mma %x, %y, %z accumulate(%no) : <128x64xbf16>, <64x64xbf16>, <128x64xf32, tmem>
        warp.release %kb to %b_free tcgen05
        warp.release %ks to %s_ready tcgen05
        %kp = warp.acquire %p_ready
        %u = warp.slot %kp : !nv.memdesc<128x64xbf16, tmem>
        %ko = warp.acquire %o_free
        %w = warp.slot %ko : !nv.memdesc<128x64xf32, tmem>
        nv.tcgen05.mma %u, %v, %w accumulate(%no) : <128x64xbf16, tmem>, <64x64xbf16>, <128x64xf32, tmem>
        warp.release %kp to %p_free tcgen05
        warp.release %ko to %o_ready tcgen05
      }
      warp.release %k to %q_free tcgen05
    }
  }
  return
}
