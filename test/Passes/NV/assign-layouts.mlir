// RUN: kernel-opt %s --nv-assign-layouts --split-input-file | FileCheck %s

// Shared memory: the widest swizzle that the rows fill; lists of scalars are plain. A transposed view says so, a slice keeps the row
// count of its allocation, because its columns of atoms are that far apart.
// CHECK-LABEL: func.func @shared
func.func @shared(%i: i32) {
  %b = warp.buffer : !warp.buffer<2 x [128x128xbf16, 1x64x32xbf16, 64x16xbf16, 64x24xi8, 4xi32]>
  %ring = warp.ring released %b : !warp.buffer<2 x [128x128xbf16, 1x64x32xbf16, 64x16xbf16, 64x24xi8, 4xi32]>
  warp.specialize {
    warp.role @math warps(4) {
      %t = warp.acquire %ring
      // CHECK: warp.slot
      // CHECK-SAME: !nv.memdesc<128x128xbf16, #nv.smem<>>
      // CHECK-SAME: !nv.memdesc<1x64x32xbf16, #nv.smem<swizzle = 64>>
      // CHECK-SAME: !nv.memdesc<64x16xbf16, #nv.smem<swizzle = 32>>
      // CHECK-SAME: !nv.memdesc<64x24xi8, #nv.smem<swizzle = 0>>
      // CHECK-SAME: !nv.memdesc<4xi32, #nv.smem<swizzle = 0>>
      %a, %c, %d, %e, %f = warp.slot %t : !nv.memdesc<128x128xbf16>, !nv.memdesc<1x64x32xbf16>, !nv.memdesc<64x16xbf16>,
        !nv.memdesc<64x24xi8>, !nv.memdesc<4xi32>
      // CHECK: nv.memdesc.slice {{.*}} -> <64x64xbf16, #nv.smem<rows = 128>>
      %s = nv.memdesc.slice %a[%i, %i] : !nv.memdesc<128x128xbf16> -> !nv.memdesc<64x64xbf16>
      // CHECK: nv.memdesc.trans {{.*}} -> <64x64xbf16, #nv.smem<transposed = true, rows = 128>>
      %u = nv.memdesc.trans %s : !nv.memdesc<64x64xbf16> -> !nv.memdesc<64x64xbf16>
      // CHECK: nv.memdesc.trans {{.*}} -> <16x64xbf16, #nv.smem<swizzle = 32, transposed = true>>
      %v = nv.memdesc.trans %d : !nv.memdesc<64x16xbf16> -> !nv.memdesc<16x64xbf16>
      warp.release %t to %ring generic
    }
  }
  return
}

// -----

!smem = !nv.memdesc<64x64xbf16, #nv.smem<swizzle = 128>>

// From the accumulator through waits, row reductions and element-wise code, in both directions. As an A operand the
// same value has another layout.
// CHECK-LABEL: func.func @from_wgmma
func.func @from_wgmma(%a: !smem, %q: i64) {
  warp.specialize {
    warp.role @math warps(4) {
      %b = warp.buffer : !warp.buffer<1 x [64x64xbf16]>
      %ring = warp.ring released %b : !warp.buffer<1 x [64x64xbf16]>
      // CHECK: nv.wgmma {{.*}} -> tensor<64x64xf32, #nv.wgmma_acc>
      %d = nv.wgmma %a, %a : !smem, !smem -> tensor<64x64xf32>
      // CHECK: nv.wgmma.wait {{.*}} : tensor<64x64xf32, #nv.wgmma_acc>
      %w = nv.wgmma.wait %d pending(0) : tensor<64x64xf32>
      // CHECK: nv.reduce max {{.*}} -> tensor<64xf32, #nv.slice<1, #nv.wgmma_acc>>
      %m = nv.reduce max %w dim(1) : tensor<64x64xf32> -> tensor<64xf32>
      // CHECK: nv.broadcast {{.*}} -> tensor<64x64xf32, #nv.wgmma_acc>
      %n = nv.broadcast %m dim(1) : tensor<64xf32> -> tensor<64x64xf32>
      // CHECK: %[[S:.*]] = arith.subf {{.*}} : tensor<64x64xf32, #nv.wgmma_acc>
      %s = arith.subf %w, %n : tensor<64x64xf32>
      // CHECK: %[[P:.*]] = arith.truncf %[[S]] : tensor<64x64xf32, #nv.wgmma_acc> to tensor<64x64xbf16, #nv.wgmma_acc>
      %p = arith.truncf %s : tensor<64x64xf32> to tensor<64x64xbf16>
      // CHECK: %[[A:.*]] = nv.convert_layout %[[P]] : {{.*}} -> tensor<64x64xbf16, #nv.wgmma_a>
      // CHECK: nv.wgmma %[[A]], {{.*}} -> tensor<64x64xf32, #nv.wgmma_acc>
      %e = nv.wgmma %p, %a : tensor<64x64xbf16>, !smem -> tensor<64x64xf32>
      nv.wgmma.wait pending(0)
    }
  }
  return
}

// -----

!smem = !nv.memdesc<64x64xbf16, #nv.smem<swizzle = 128>>

// A transposed sum stays where it is, and so does what is computed from it.
// CHECK-LABEL: func.func @transposed
func.func @transposed(%a: !smem, %b: !nv.memdesc<64x40xbf16, #nv.smem<swizzle = 128, transposed = true>>, %to: !nv.memdesc<40x64xbf16, #nv.smem<swizzle = 128>>, %v: i64) {
  warp.specialize {
    warp.role @math warps(4) {
      %d = nv.wgmma %a, %b : !smem, !nv.memdesc<64x40xbf16, #nv.smem<swizzle = 128, transposed = true>> -> tensor<64x40xf32>
      %w = nv.wgmma.wait %d pending(0) : tensor<64x40xf32>
      // CHECK: nv.trans {{.*}} : tensor<64x40xf32, #nv.wgmma_acc> -> tensor<40x64xf32, #nv.transposed<#nv.wgmma_acc>>
      %t = nv.trans %w [1, 0] : tensor<64x40xf32> -> tensor<40x64xf32>
      // CHECK: nv.reduce max {{.*}} -> tensor<40xf32, #nv.slice<1, #nv.transposed<#nv.wgmma_acc>>>
      %m = nv.reduce max %t dim(1) : tensor<40x64xf32> -> tensor<40xf32>
      %n = nv.broadcast %m dim(1) : tensor<40xf32> -> tensor<40x64xf32>
      // CHECK-NOT: nv.convert_layout
      // CHECK: arith.truncf {{.*}} to tensor<40x64xbf16, #nv.transposed<#nv.wgmma_acc>>
      %s = arith.subf %t, %n : tensor<40x64xf32>
      %c = arith.truncf %s : tensor<40x64xf32> to tensor<40x64xbf16>
      nv.local_store %c to %to : tensor<40x64xbf16>, !nv.memdesc<40x64xbf16, #nv.smem<swizzle = 128>>
    }
  }
  return
}

// -----

!smem = !nv.memdesc<64x64xbf16, #nv.smem<swizzle = 128>>

// Loops and branches carry one layout; a constant is made again in each layout that it is needed in, not converted.
// CHECK-LABEL: func.func @carried
func.func @carried(%a: !smem, %n: i32, %p: i1, %q: i64) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  warp.specialize {
    // CHECK: warp.role @math
    warp.role @math warps(4) {
      // CHECK: %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : tensor<64x64xf32, #nv.wgmma_acc>
      // CHECK: scf.for {{.*}} iter_args(%[[C:.*]] = %[[ZERO]]) -> (tensor<64x64xf32, #nv.wgmma_acc>)
      %sum = scf.for %k = %c0 to %n step %c1 iter_args(%c = %zero) -> (tensor<64x64xf32>) : i32 {
        // CHECK: scf.if {{.*}} -> (tensor<64x64xf32, #nv.wgmma_acc>)
        %d = scf.if %p -> tensor<64x64xf32> {
          %e = nv.wgmma %a, %a acc(%c) : !smem, !smem -> tensor<64x64xf32>
          %w = nv.wgmma.wait %e pending(0) : tensor<64x64xf32>
          scf.yield %w : tensor<64x64xf32>
        } else {
          // CHECK: else
          // CHECK-NEXT: %[[Z:.*]] = arith.constant {{.*}} : tensor<64x64xf32, #nv.wgmma_acc>
          // CHECK-NEXT: scf.yield %[[Z]]
          scf.yield %zero : tensor<64x64xf32>
        }
        scf.yield %d : tensor<64x64xf32>
      }
      // Only a store whose pointer may be odd fixes the layout of this one: neighbours in neighbouring lanes.
      // CHECK: nv.index dim(1) : tensor<64x64xi64, #nv.blocked<[1, 1], [1, 32], [4, 1], [1, 0]>>
      // CHECK: %[[FREE:.*]] = arith.constant {{.*}} : tensor<64x64xf32, #nv.blocked<[1, 1], [1, 32], [4, 1], [1, 0]>>
      // CHECK-NOT: nv.convert_layout
      // CHECK: nv.global_store %[[FREE]]
      %i = nv.index dim(1) : tensor<64x64xi64>
      nv.global_store %zero to %q[%i] : tensor<64x64xf32>, tensor<64x64xi64>
    }
  }
  return
}

// -----

!smem = !nv.memdesc<64x64xbf16, #nv.smem<swizzle = 128>>

// A tile from shared memory takes the layout of the accumulators that it is added to, and is converted for its use as an A operand.
// CHECK-LABEL: func.func @conflict
func.func @conflict(%a: !smem) {
  warp.specialize {
    warp.role @math warps(4) {
      // CHECK: %[[X:.*]] = nv.local_load {{.*}} -> tensor<64x64xbf16, #nv.wgmma_acc>
      %x = nv.local_load %a : !smem -> tensor<64x64xbf16>
      // CHECK-NEXT: %[[A:.*]] = nv.convert_layout %[[X]] : tensor<64x64xbf16, #nv.wgmma_acc> -> tensor<64x64xbf16, #nv.wgmma_a>
      // CHECK-NEXT: nv.wgmma %[[A]]
      %d = nv.wgmma %x, %a : tensor<64x64xbf16>, !smem -> tensor<64x64xf32>
      %w = nv.wgmma.wait %d pending(0) : tensor<64x64xf32>
      // CHECK: arith.extf %[[X]]
      %y = arith.extf %x : tensor<64x64xbf16> to tensor<64x64xf32>
      %s = arith.addf %w, %y : tensor<64x64xf32>
      %t = arith.truncf %s : tensor<64x64xf32> to tensor<64x64xbf16>
      // CHECK-NOT: nv.convert_layout
      // CHECK: nv.local_store {{.*}} : tensor<64x64xbf16, #nv.wgmma_acc>
      nv.local_store %t to %a : tensor<64x64xbf16>, !smem
    }
  }
  return
}

// -----

!smem = !nv.memdesc<64x64xbf16, #nv.smem<swizzle = 128>>

// An A operand that is only that is loaded as fragments.
// CHECK-LABEL: func.func @operand
func.func @operand(%a: !smem) {
  warp.specialize {
    warp.role @math warps(4) {
      // CHECK: nv.local_load {{.*}} -> tensor<64x64xbf16, #nv.wgmma_a>
      // CHECK-NOT: nv.convert_layout
      %x = nv.local_load %a : !smem -> tensor<64x64xbf16>
      %d = nv.wgmma %x, %a : tensor<64x64xbf16>, !smem -> tensor<64x64xf32>
      nv.wgmma.wait pending(0)
    }
  }
  return
}

// -----

!smem = !nv.memdesc<64x64xbf16, #nv.smem<swizzle = 128>>

// Row sums and column sums lie in different threads: one of the two is converted where they meet.
// CHECK-LABEL: func.func @rows_and_columns
func.func @rows_and_columns(%a: !smem, %q: i64) {
  warp.specialize {
    warp.role @math warps(4) {
      %d = nv.wgmma %a, %a : !smem, !smem -> tensor<64x64xf32>
      %w = nv.wgmma.wait %d pending(0) : tensor<64x64xf32>
      // CHECK: nv.reduce add {{.*}} dim(1) {{.*}} -> tensor<64xf32, #nv.slice<1, #nv.wgmma_acc>>
      %r = nv.reduce add %w dim(1) : tensor<64x64xf32> -> tensor<64xf32>
      // CHECK: nv.reduce add {{.*}} dim(0) {{.*}} -> tensor<64xf32, #nv.slice<0, #nv.wgmma_acc>>
      %c = nv.reduce add %w dim(0) : tensor<64x64xf32> -> tensor<64xf32>
      // CHECK-COUNT-1: nv.convert_layout
      // CHECK-NEXT: arith.addf
      // CHECK-NOT: nv.convert_layout
      %s = arith.addf %r, %c : tensor<64xf32>
      %i = nv.index dim(0) : tensor<64xi64>
      nv.global_store %s to %q[%i] : tensor<64xf32>, tensor<64xi64>
    }
  }
  return
}

// -----

!rows = !nv.memdesc<64x128xf8E4M3FN, #nv.smem<swizzle = 128>>

// An operand B of 8 bits that is transposed on its way gets its rows in the order of the accumulator that A is made of: A's conversion is a
// choice of registers of the wider values. Loops carry the fragments.
// CHECK-LABEL: func.func @paired
func.func @paired(%q: !rows, %v: !rows, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %b = warp.buffer : !warp.buffer<2 x [128x64xf8E4M3FN]>
  %free = warp.ring released %b : !warp.buffer<2 x [128x64xf8E4M3FN]>
  %ready = warp.ring %b : !warp.buffer<2 x [128x64xf8E4M3FN]>
  warp.specialize {
    // CHECK: warp.role @gather
    warp.role @gather warps(2) {
      %t = warp.acquire %free
      // CHECK: warp.slot {{.*}} : !nv.memdesc<128x64xf8E4M3FN, #nv.smem<swizzle = 64, paired = true>>
      %to = warp.slot %t : !nv.memdesc<128x64xf8E4M3FN>
      nv.local_transpose %v to %to : !rows, !nv.memdesc<128x64xf8E4M3FN>
      warp.release %t to %ready generic
    }
    // CHECK: warp.role @math
    warp.role @math warps(4) {
      %k = nv.memdesc.trans %q : !rows -> !nv.memdesc<128x64xf8E4M3FN>
      %s = nv.wgmma %q, %k : !rows, !nv.memdesc<128x64xf8E4M3FN> -> tensor<64x64xf32>
      // CHECK: %[[W:.*]] = nv.wgmma.wait
      %w = nv.wgmma.wait %s pending(0) : tensor<64x64xf32>
      // CHECK: %[[C:.*]] = nv.convert_layout %[[W]] : tensor<64x64xf32, #nv.wgmma_acc> -> tensor<64x64xf32, #nv.wgmma_a<paired = true>>
      // CHECK: %[[P:.*]] = arith.truncf %[[C]] : {{.*}} to tensor<64x64xf8E4M3FN, #nv.wgmma_a<paired = true>>
      %p = arith.truncf %w : tensor<64x64xf32> to tensor<64x64xf8E4M3FN>
      // CHECK: scf.for {{.*}} iter_args(%[[A:.*]] = %[[P]])
      %e = scf.for %i = %c0 to %n step %c1 iter_args(%a = %p) -> (tensor<64x64xf8E4M3FN>) : i32 {
        %t = warp.acquire %ready
        // CHECK: warp.slot {{.*}} : !nv.memdesc<128x64xf8E4M3FN, #nv.smem<swizzle = 64, paired = true>>
        %view = warp.slot %t : !nv.memdesc<128x64xf8E4M3FN>
        // CHECK: nv.memdesc.trans {{.*}} -> <64x128xf8E4M3FN, #nv.smem<swizzle = 64, transposed = true, paired = true>>
        %y = nv.memdesc.trans %view : !nv.memdesc<128x64xf8E4M3FN> -> !nv.memdesc<64x128xf8E4M3FN>
        // CHECK: nv.wgmma %[[A]]
        %d = nv.wgmma %a, %y : tensor<64x64xf8E4M3FN>, !nv.memdesc<64x128xf8E4M3FN> -> tensor<64x128xf32>
        %o = nv.wgmma.wait %d pending(0) : tensor<64x128xf32>
        warp.release %t to %free wgmma
        scf.yield %a : tensor<64x64xf8E4M3FN>
      }
    }
  }
  return
}

// -----

!rows = !nv.memdesc<64x128xf8E4M3FN, #nv.smem<swizzle = 128>>

// With A in shared memory, or read from there, the rows keep their order.
// CHECK-LABEL: func.func @unpaired
// CHECK-NOT: paired
// CHECK: return
func.func @unpaired(%q: !rows, %p: !nv.memdesc<64x64xf8E4M3FN, #nv.smem<swizzle = 64>>, %v: !rows) {
  %b = warp.buffer : !warp.buffer<2 x [128x64xf8E4M3FN, 128x64xf8E4M3FN]>
  %free = warp.ring released %b : !warp.buffer<2 x [128x64xf8E4M3FN, 128x64xf8E4M3FN]>
  %ready = warp.ring %b : !warp.buffer<2 x [128x64xf8E4M3FN, 128x64xf8E4M3FN]>
  warp.specialize {
    warp.role @gather warps(2) {
      %t = warp.acquire %free
      %x, %y = warp.slot %t : !nv.memdesc<128x64xf8E4M3FN>, !nv.memdesc<128x64xf8E4M3FN>
      nv.local_transpose %v to %x : !rows, !nv.memdesc<128x64xf8E4M3FN>
      nv.local_transpose %v to %y : !rows, !nv.memdesc<128x64xf8E4M3FN>
      warp.release %t to %ready generic
    }
    warp.role @math warps(4) {
      %t = warp.acquire %ready
      %x, %y = warp.slot %t : !nv.memdesc<128x64xf8E4M3FN>, !nv.memdesc<128x64xf8E4M3FN>
      %xt = nv.memdesc.trans %x : !nv.memdesc<128x64xf8E4M3FN> -> !nv.memdesc<64x128xf8E4M3FN>
      %d = nv.wgmma %p, %xt : !nv.memdesc<64x64xf8E4M3FN, #nv.smem<swizzle = 64>>, !nv.memdesc<64x128xf8E4M3FN> -> tensor<64x128xf32>
      %a = nv.local_load %p : !nv.memdesc<64x64xf8E4M3FN, #nv.smem<swizzle = 64>> -> tensor<64x64xf8E4M3FN>
      %yt = nv.memdesc.trans %y : !nv.memdesc<128x64xf8E4M3FN> -> !nv.memdesc<64x128xf8E4M3FN>
      %e = nv.wgmma %a, %yt : tensor<64x64xf8E4M3FN>, !nv.memdesc<64x128xf8E4M3FN> -> tensor<64x128xf32>
      nv.wgmma.wait pending(0)
      warp.release %t to %free wgmma
    }
  }
  return
}
