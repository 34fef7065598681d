// RUN: kernel-opt %s --nv-assign-warps --nv-allocate-shared --nv-hoist-descriptors --split-input-file --verify-diagnostics | FileCheck %s
// RUN: not kernel-opt %S/Inputs/too-deep.mlir --target=sm_90a --emit=ptx 2>&1 | FileCheck %s --check-prefix=DEEP

// What the hardware has, and what a planner that spends it says when it is not enough.

// Shared memory: a table of what takes it, largest alignment first.
// expected-error@+1 {{shared memory: need 262208 bytes, have 232448: ab 8 x 24576; out 2 x 32768; free 8 x 8;}}
func.func @shared() {
  %0 = nv.alloc 8 x 8 align 8 {name = "free"} : !nv.barrier
  %1 = nv.alloc 8 x 24576 align 1024 {name = "ab"} : i32
  %2 = nv.alloc 2 x 32768 align 1024 {name = "out"} : i32
  return
}

// From a program: the names are those of its buffers and rings.
// DEEP: too-deep.mlir:[[#]]:[[#]]: error: shared memory: need 327776 bytes, have 232448: tiles 6 x 49152; buffer1 2 x 16384; ring2 6 x 8; ring3 6 x 8;

// -----

// All of it fits.
// CHECK-LABEL: func.func @all_of_shared
// CHECK-SAME: nv.shared_bytes = 232448
func.func @all_of_shared() {
  %0 = nv.alloc 227 x 1024 align 1024 : i32
  return
}

// -----

// Two CTAs on an SM share its 228 KiB, of which each costs 1 KiB more than it has.
// expected-error@+1 {{shared memory: need 116736 bytes, have 115712 with 2 CTAs an SM: ab 114 x 1024;}}
func.func @shared_by_two() attributes {warp.launch = #warp.launch<perSm = 2>} {
  %0 = nv.alloc 114 x 1024 align 1024 {name = "ab"} : i32
  return
}

// -----

// Registers move between warpgroups within what the launch gave: 384 threads get 168 each, 64512 in all.
func.func @pool() {
  // expected-error@+1 {{register pool: need 65536, have 64512 (384 threads x 168 at launch): @math 128 x 240; @math 128 x 240; @load 128 x 32; setmaxnreg.inc would wait for ever}}
  warp.specialize {
    warp.role @math warps(4) replicas(2) registers(240) { }
    warp.role @load warps(1) registers(32) { }
  }
  return
}

// -----

// CHECK-LABEL: func.func @pool_of_384
// CHECK-SAME: nv.max_registers = 168 : i64, nv.threads = 384
func.func @pool_of_384() {
  warp.specialize {
    warp.role @math warps(4) replicas(2) registers(240) { }
    warp.role @load warps(1) registers(24) { }
  }
  return
}

// -----

func.func @pool_of_two() attributes {warp.launch = #warp.launch<perSm = 2>} {
  // expected-error@+1 {{register pool: need 33792, have 32768 (256 threads x 128 at launch): @math 128 x 240; @load 128 x 24;}}
  warp.specialize {
    warp.role @math warps(4) registers(240) { }
    warp.role @load warps(1) registers(24) { }
  }
  return
}

// -----

// CHECK-LABEL: func.func @cap_of_two
// CHECK-SAME: nv.max_registers = 128 : i64, nv.threads = 160
func.func @cap_of_two() attributes {warp.launch = #warp.launch<perSm = 2>} {
  warp.specialize {
    warp.role @math warps(4) { }
    warp.role @load warps(1) { }
  }
  return
}

// -----

// A sub-partition has 16384 registers for every fourth warp: of 9 warps three share one, 168 a thread (65536 / 288 would be 224).
// CHECK-LABEL: func.func @nine_warps
// CHECK-SAME: nv.max_registers = 168 : i64, nv.threads = 288
func.func @nine_warps() {
  warp.specialize {
    warp.role @math warps(4) replicas(2) { }
    warp.role @load warps(1) { }
  }
  return
}

// -----

// CHECK-LABEL: func.func @thirteen_warps
// CHECK-SAME: nv.max_registers = 128 : i64, nv.threads = 416
func.func @thirteen_warps() {
  warp.specialize {
    warp.role @math warps(4) replicas(3) { }
    warp.role @load warps(1) { }
  }
  return
}

// -----

// A thread has at most 255.
// CHECK-LABEL: func.func @five_warps
// CHECK-SAME: nv.max_registers = 255 : i64, nv.threads = 160
func.func @five_warps() {
  warp.specialize {
    warp.role @math warps(4) { }
    warp.role @load warps(1) { }
  }
  return
}

// -----

func.func @threads() {
  // expected-error@+1 {{threads: expected at most 1024 in a CTA, found 1056}}
  warp.specialize {
    warp.role @math warps(4) replicas(8) { }
    warp.role @load warps(1) { }
  }
  return
}

// -----

func.func @threads_of_an_sm() attributes {warp.launch = #warp.launch<perSm = 3>} {
  // expected-error@+1 {{threads: expected at most 2048 on an SM, found 3 CTAs of 768}}
  warp.specialize {
    warp.role @math warps(4) replicas(6) { }
  }
  return
}

// -----

// With budgets the warps of a half-filled warpgroup count.
func.func @padded_threads() {
  // expected-error@+1 {{threads: expected at most 1024 in a CTA, found 1152}}
  warp.specialize {
    warp.role @math warps(4) replicas(7) registers(56) { }
    warp.role @load warps(1) registers(24) { }
    warp.role @epilogue warps(1) registers(32) { }
  }
  return
}

// -----

func.func @named_barriers() {
  // expected-error@+1 {{named barriers: expected at most 15 replicas that meet, found 16}}
  warp.specialize {
    warp.role @math warps(1) replicas(16) { nv.named_barrier }
  }
  return
}

// -----

// Orders take theirs from the end.
func.func @named_barriers_and_order() attributes {nv.order_barriers = 2 : i64} {
  // expected-error@+1 {{named barriers: expected at most 13 replicas that meet, found 14}}
  warp.specialize {
    warp.role @math warps(1) replicas(14) { nv.named_barrier }
  }
  return
}

// -----

// expected-error@+1 {{cluster size: expected 1 to 8 CTAs (16 need a non-portable launch), found 16}}
func.func @cluster() attributes {warp.launch = #warp.launch<cluster = 16>} { return }

// -----

!plain = !nv.memdesc<8x264xbf16, #nv.smem<swizzle = 0>>

// A box has at most 256 elements a side. Rows are split; a row that no swizzle cuts into atoms is not.
func.func @box(%A: !tile.desc<8x264xbf16>, %v: !plain, %i: i32) attributes {tile.kernel} {
  // expected-error@+1 {{box: TMA: rows of 264 elements without a swizzle; a box has at most 256 a side}}
  nv.tma.load %A[%i, %i] to %v : !tile.desc<8x264xbf16>, !plain
  return
}

// -----

!tall = !nv.memdesc<320x64xbf16, #nv.smem<swizzle = 128>>

// CHECK-LABEL: func.func @split_rows
// CHECK-SAME: box = [64, 160]
func.func @split_rows(%A: !tile.desc<320x64xbf16>, %v: !tall, %i: i32) attributes {tile.kernel} {
  nv.tma.load %A[%i, %i] to %v : !tile.desc<320x64xbf16>, !tall
  return
}

// -----

!narrow = !nv.memdesc<8x4xbf16, #nv.smem<swizzle = 0>>

func.func @inner_bytes(%A: !tile.desc<8x4xbf16>, %v: !narrow, %i: i32) attributes {tile.kernel} {
  // expected-error@+1 {{box: TMA: a box's rows are 8 bytes; need a multiple of 16}}
  nv.tma.load %A[%i, %i] to %v : !tile.desc<8x4xbf16>, !narrow
  return
}

// -----

!odd = !nv.memdesc<302x8xbf16, #nv.smem<swizzle = 0>>

func.func @box_alignment(%A: !tile.desc<302x8xbf16>, %v: !odd, %i: i32) attributes {tile.kernel} {
  // expected-error@+1 {{box: TMA: box 1 of [302, 8] would start at byte 2416; needs a multiple of 128}}
  nv.tma.store %v to %A[%i, %i] : !odd, !tile.desc<302x8xbf16>
  return
}

// -----

!cut = !nv.memdesc<64x24xbf16, #nv.smem<swizzle = 128>>

func.func @swizzle_atoms(%A: !tile.desc<64x24xbf16>, %v: !cut, %i: i32) attributes {tile.kernel} {
  // expected-error@+1 {{view: shared layout: the contiguous extent of [64, 24] is 48 bytes; needs a multiple of 128 (swizzle 128)}}
  nv.tma.load %A[%i, %i] to %v : !tile.desc<64x24xbf16>, !cut
  return
}
