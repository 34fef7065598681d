// RUN: kernel-opt %s --pass-pipeline='builtin.module(warp-guard-scales)' --split-input-file | FileCheck %s

!t = tensor<64x128xf32>
!r = tensor<64xf32>

// A sum under a running maximum, scaled by two to the power of how much that grew: the vote is on the power.
// CHECK-LABEL: @power
// CHECK: %[[POWER:.*]] = arith.mulf %{{.*}}, %{{.*}} : tensor<64xf32>
// CHECK: %[[FACTOR:.*]] = math.exp2 %[[POWER]]
// CHECK: %[[NONE:.*]] = arith.constant dense<0.000000e+00> : tensor<64xf32>
// CHECK: %[[DIFFERS:.*]] = arith.cmpf une, %[[POWER]], %[[NONE]]
// CHECK: %[[ANY:.*]] = nv.warp_any %[[DIFFERS]]
// CHECK: %[[Y:.*]] = scf.if %[[ANY]]
// CHECK:   %[[SPREAD:.*]] = nv.broadcast %[[FACTOR]] dim(1)
// CHECK:   %[[SCALED:.*]] = arith.mulf %[[C:.*]], %[[SPREAD]]
// CHECK:   scf.yield %[[SCALED]]
// CHECK: else
// CHECK:   scf.yield %[[C]]
// CHECK: arith.addf %[[Y]]
func.func @power(%n: i32, %scale: f32, %p: i64) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  warp.specialize {
    warp.role @math warps(4) {
      %s = nv.splat %scale : f32 -> !r
      %z = arith.constant dense<0.0> : !t
      %m0 = arith.constant dense<0xFF800000> : !r
      %o = nv.index dim(1) : tensor<64x128xi64>
      scf.for %i = %c0 to %n step %c1 iter_args(%c = %z, %m = %m0) -> (!t, !r) : i32 {
        %x = nv.global_load %p[%o] : tensor<64x128xi64> -> !t
        %most = nv.reduce max %x dim(1) : !t -> !r
        %new = arith.maxnumf %m, %most : !r
        %grown = arith.subf %m, %new : !r
        %power = arith.mulf %grown, %s : !r
        %f = math.exp2 %power : !r
        %fs = nv.broadcast %f dim(1) : !r -> !t
        %y = arith.mulf %c, %fs : !t
        %next = arith.addf %y, %x : !t
        scf.yield %next, %new : !t, !r
      }
    }
  }
  return
}

// -----

!t = tensor<64x128xf32>
!r = tensor<64xf32>

// A value that follows the largest only where that is beyond a threshold: the vote is seldom for it. Without a threshold that
// the loop carries, nothing says that it settles.
// CHECK-LABEL: @threshold
// CHECK: nv.warp_any
// CHECK: scf.if
// CHECK-NOT: nv.warp_any
func.func @threshold(%n: i32, %p: i64) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  warp.specialize {
    warp.role @math warps(4) {
      %z = arith.constant dense<0.0> : !t
      %m0 = arith.constant dense<0xFF800000> : !r
      %eight = arith.constant dense<8.0> : !r
      %o = nv.index dim(1) : tensor<64x128xi64>
      scf.for %i = %c0 to %n step %c1 iter_args(%c = %z, %m = %m0, %d = %z, %l = %m0) -> (!t, !r, !t, !r) : i32 {
        %x = nv.global_load %p[%o] : tensor<64x128xi64> -> !t
        %most = nv.reduce max %x dim(1) : !t -> !r
        %limit = arith.addf %m, %eight : !r
        %beyond = arith.cmpf ogt, %most, %limit : !r
        %new = arith.select %beyond, %most, %m : tensor<64xi1>, !r
        %power = arith.subf %m, %new : !r
        %f = math.exp2 %power : !r
        %fs = nv.broadcast %f dim(1) : !r -> !t
        %y = arith.mulf %c, %fs : !t
        %next = arith.addf %y, %x : !t
        %above = arith.cmpf ogt, %most, %eight : !r
        %other = arith.select %above, %most, %l : tensor<64xi1>, !r
        %difference = arith.subf %l, %other : !r
        %g = math.exp2 %difference : !r
        %gs = nv.broadcast %g dim(1) : !r -> !t
        %u = arith.mulf %d, %gs : !t
        %then = arith.addf %u, %x : !t
        scf.yield %next, %new, %then, %other : !t, !r, !t, !r
      }
    }
  }
  return
}

// -----

!t = tensor<64x128xf32>
!r = tensor<64xf32>

// A ratio of magnitudes: the vote is on the ratio. The order of the operands does not matter.
// CHECK-LABEL: @ratio
// CHECK: %[[RATIO:.*]] = arith.divf
// CHECK: %[[ONE:.*]] = arith.constant dense<1.000000e+00>
// CHECK: arith.cmpf une, %[[RATIO]], %[[ONE]]
// CHECK: scf.if
func.func @ratio(%n: i32, %p: i64) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  warp.specialize {
    warp.role @math warps(4) {
      %z = arith.constant dense<0.0> : !t
      %m0 = arith.constant dense<1.0> : !r
      %o = nv.index dim(1) : tensor<64x128xi64>
      scf.for %i = %c0 to %n step %c1 iter_args(%c = %z, %m = %m0) -> (!t, !r) : i32 {
        %x = nv.global_load %p[%o] : tensor<64x128xi64> -> !t
        %most = nv.reduce max %x dim(1) : !t -> !r
        %new = arith.maximumf %most, %m : !r
        %f = arith.divf %m, %new : !r
        %fs = nv.broadcast %f dim(1) : !r -> !t
        %y = arith.mulf %fs, %c : !t
        %next = arith.addf %y, %x : !t
        scf.yield %next, %new : !t, !r
      }
    }
  }
  return
}

// -----

!t = tensor<64x128xf32>
!small = tensor<64x32xf32>
!r = tensor<64xf32>

// Factors that are seldom one, a tile too small for a vote, and a minimum that is not carried: multiplied always.
// CHECK-LABEL: @always
// CHECK-NOT: nv.warp_any
func.func @always(%n: i32, %p: i64) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  warp.specialize {
    warp.role @math warps(4) {
      %z = arith.constant dense<0.0> : !t
      %zs = arith.constant dense<0.0> : !small
      %m0 = arith.constant dense<1.0> : !r
      %o = nv.index dim(1) : tensor<64x128xi64>
      scf.for %i = %c0 to %n step %c1 iter_args(%c = %z, %d = %z, %e = %zs, %m = %m0) -> (!t, !t, !small, !r) : i32 {
        %x = nv.global_load %p[%o] : tensor<64x128xi64> -> !t
        %sum = nv.reduce add %x dim(1) : !t -> !r
        %decay = math.exp2 %sum : !r
        %decays = nv.broadcast %decay dim(1) : !r -> !t
        %c1n = arith.mulf %c, %decays : !t
        %new = arith.maxnumf %m, %sum : !r
        %f = arith.divf %m, %new : !r
        %fs = nv.broadcast %f dim(1) : !r -> !small
        %e1 = arith.mulf %e, %fs : !small
        %low = arith.minnumf %m, %sum : !r
        %g = arith.divf %m, %low : !r
        %gs = nv.broadcast %g dim(1) : !r -> !t
        %d1 = arith.mulf %d, %gs : !t
        scf.yield %c1n, %d1, %e1, %new : !t, !t, !small, !r
      }
    }
  }
  return
}

// -----

!t = tensor<64x128xf32>
!r = tensor<64xf32>

// Rows without an element yet have their maximum replaced by zero: the vote is on the power all the same.
// CHECK-LABEL: @empty_rows
// CHECK: %[[POWER:.*]] = arith.mulf %{{.*}}, %{{.*}} : tensor<64xf32>
// CHECK: arith.cmpf une, %[[POWER]]
// CHECK: nv.warp_any
func.func @empty_rows(%n: i32, %scale: f32, %p: i64) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  warp.specialize {
    warp.role @math warps(4) {
      %s = nv.splat %scale : f32 -> !r
      %z = arith.constant dense<0.0> : !t
      %zr = arith.constant dense<0.0> : !r
      %m0 = arith.constant dense<0xFF800000> : !r
      %o = nv.index dim(1) : tensor<64x128xi64>
      scf.for %i = %c0 to %n step %c1 iter_args(%c = %z, %m = %m0) -> (!t, !r) : i32 {
        %x = nv.global_load %p[%o] : tensor<64x128xi64> -> !t
        %most = nv.reduce max %x dim(1) : !t -> !r
        %new = arith.maxnumf %m, %most : !r
        %empty = arith.cmpf oeq, %new, %m0 : !r
        %shift = arith.select %empty, %zr, %new : tensor<64xi1>, !r
        %grown = arith.subf %m, %shift : !r
        %power = arith.mulf %grown, %s : !r
        %f = math.exp2 %power : !r
        %fs = nv.broadcast %f dim(1) : !r -> !t
        %y = arith.mulf %c, %fs : !t
        %next = arith.addf %y, %x : !t
        scf.yield %next, %new : !t, !r
      }
    }
  }
  return
}

// -----

!b = !warp.buffer<1 x [128x128xf32], tmem>
!d = !nv.memdesc<128x128xf32, tmem>
!t = tensor<128x128xf32>
!r = tensor<128xf32>

// A sum that stays in tensor memory is neither read nor written where all factors are one.
// CHECK-LABEL: @in_place
// CHECK: %[[POWER:.*]] = arith.subf
// CHECK: %[[FACTOR:.*]] = math.exp2 %[[POWER]]
// CHECK: %[[TOKEN:.*]] = warp.acquire
// CHECK: %[[SLOT:.*]] = warp.slot
// CHECK-NOT: nv.tmem.load
// CHECK: %[[DIFFERS:.*]] = arith.cmpf une, %[[POWER]]
// CHECK: %[[ANY:.*]] = nv.warp_any %[[DIFFERS]]
// CHECK: scf.if %[[ANY]] {
// CHECK-NEXT: %[[SPREAD:.*]] = nv.broadcast %[[FACTOR]] dim(1)
// CHECK-NEXT: %[[X:.*]] = nv.tmem.load %[[SLOT]]
// CHECK-NEXT: %[[Y:.*]] = arith.mulf %[[X]], %[[SPREAD]]
// CHECK-NEXT: nv.tmem.store %[[Y]] to %[[SLOT]]
// CHECK-NEXT: }
// CHECK-NEXT: warp.release
//
// Not what is read of it besides.
// CHECK: warp.slot
// CHECK: nv.tmem.load
// CHECK: arith.mulf
// CHECK-NOT: scf.if
// CHECK: nv.tmem.store
func.func @in_place(%n: i32, %p: i64) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %buffer = warp.buffer : !b
  %free = warp.ring released %buffer : !b
  %ready = warp.ring %buffer : !b
  warp.specialize {
    warp.role @math warps(4) {
      %m0 = arith.constant dense<0xFF800000> : !r
      %at = nv.index dim(0) : tensor<128xi64>
      scf.for %i = %c0 to %n step %c1 iter_args(%m = %m0) -> (!r) : i32 {
        %x = nv.global_load %p[%at] : tensor<128xi64> -> !r
        %new = arith.maxnumf %m, %x : !r
        %power = arith.subf %m, %new : !r
        %f = math.exp2 %power : !r
        %fs = nv.broadcast %f dim(1) : !r -> !t
        %t = warp.acquire %free
        %d = warp.slot %t : !d
        %c = nv.tmem.load %d : !d -> !t
        %y = arith.mulf %c, %fs : !t
        nv.tmem.store %y to %d : !t, !d
        warp.release %t to %ready generic
        %u = warp.acquire %free
        %e = warp.slot %u : !d
        %v = nv.tmem.load %e : !d -> !t
        %w = arith.mulf %v, %fs : !t
        nv.tmem.store %w to %e : !t, !d
        %row = nv.reduce add %v dim(1) : !t -> !r
        nv.global_store %row to %p[%at] : !r, tensor<128xi64>
        warp.release %u to %ready generic
        scf.yield %new : !r
      }
    }
  }
  return
}
