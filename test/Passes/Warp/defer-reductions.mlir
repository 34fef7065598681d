// RUN: kernel-opt %s --pass-pipeline='builtin.module(warp-defer-reductions)' --split-input-file | FileCheck %s

!b = !warp.buffer<2 x [64x64xbf16]>
!v = !nv.memdesc<64x64xbf16>
!t = tensor<64x64xf32>
!r = tensor<64xf32>

// The sum of squares of a product's rows: eight columns in the loop, lanes meet after it.
// CHECK-LABEL: @sum_of_squares
// CHECK: %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : tensor<64x8xf32>
// CHECK: %[[ALL:.*]] = scf.for {{.*}} iter_args(%[[PARTS:.*]] = %[[ZERO]]) -> (tensor<64x8xf32>)
// CHECK: %[[SQUARES:.*]] = arith.mulf
// CHECK-NOT: nv.reduce
// CHECK: %[[FOLD:.*]] = nv.fold add %[[SQUARES]] : tensor<64x64xf32> -> tensor<64x8xf32>
// CHECK: arith.addf %[[PARTS]], %[[FOLD]] : tensor<64x8xf32>
// CHECK: nv.reduce add %[[ALL]] dim(1) : tensor<64x8xf32> -> tensor<64xf32>
func.func @sum_of_squares(%n: i32, %p: i64, %at: tensor<64xi64>) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %b = warp.buffer : !b
  %free = warp.ring released %b : !b
  %ready = warp.ring %b : !b
  warp.specialize {
    warp.role @math warps(4) {
      %none = arith.constant dense<0.0> : !r
      %sum = scf.for %i = %c0 to %n step %c1 iter_args(%s = %none) -> (!r) : i32 {
        %t = warp.acquire %ready
        %a = warp.slot %t : !v
        %d0 = nv.wgmma %a, %a : !v, !v -> !t
        %d = nv.wgmma.wait %d0 pending(0) : !t
        warp.release %t to %free wgmma
        %q = arith.mulf %d, %d : !t
        %one = nv.reduce add %q dim(1) : !t -> !r
        %next = arith.addf %s, %one : !r
        scf.yield %next : !r
      }
      %l = arith.mulf %sum, %sum : !r
      %o = nv.index dim(0) : tensor<64xi64>
      nv.global_store %l to %p[%o] : !r, tensor<64xi64>
    }
  }
  return
}

// -----

!b = !warp.buffer<2 x [64x64xbf16]>
!v = !nv.memdesc<64x64xbf16>
!t = tensor<64x64xf32>
!r = tensor<64xf32>

// A decaying sum that starts from a value: the factor meets each part, the start is in one column.
// CHECK-LABEL: @decay
// CHECK: nv.broadcast %{{.*}} dim(1) : tensor<64xf32> -> tensor<64x8xf32>
// CHECK: arith.cmpi eq
// CHECK: %[[START:.*]] = arith.select {{.*}} tensor<64x8xf32>
// CHECK: scf.for {{.*}} iter_args(%[[PARTS:.*]] = %[[START]])
// CHECK: %[[FOLD:.*]] = nv.fold add
// CHECK: %[[FACTOR:.*]] = nv.broadcast %{{.*}} dim(1) : tensor<64xf32> -> tensor<64x8xf32>
// CHECK: math.fma %[[PARTS]], %[[FACTOR]], %[[FOLD]] : tensor<64x8xf32>
func.func @decay(%n: i32, %start: f32, %factor: f32, %p: i64) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %b = warp.buffer : !b
  %free = warp.ring released %b : !b
  %ready = warp.ring %b : !b
  warp.specialize {
    warp.role @math warps(4) {
      %s0 = nv.splat %start : f32 -> !r
      %f = nv.splat %factor : f32 -> !r
      %sum = scf.for %i = %c0 to %n step %c1 iter_args(%s = %s0) -> (!r) : i32 {
        %t = warp.acquire %ready
        %a = warp.slot %t : !v
        %d0 = nv.wgmma %a, %a : !v, !v -> !t
        %d = nv.wgmma.wait %d0 pending(0) : !t
        warp.release %t to %free wgmma
        %one = nv.reduce add %d dim(1) : !t -> !r
        %next = math.fma %s, %f, %one : !r
        scf.yield %next : !r
      }
      %o = nv.index dim(0) : tensor<64xi64>
      nv.global_store %sum to %p[%o] : !r, tensor<64xi64>
    }
  }
  return
}

// -----

!b = !warp.buffer<2 x [64x64xbf16]>
!v = !nv.memdesc<64x64xbf16>
!t = tensor<64x64xf32>
!r = tensor<64xf32>

// The largest and the smallest element of each row, the second of them also read in the loop: only the first is deferred.
// CHECK-LABEL: @extremes
// CHECK: scf.for {{.*}} -> (tensor<64x8xf32>, tensor<64xf32>)
// CHECK: nv.fold max
// CHECK: arith.maxnumf {{.*}} : tensor<64x8xf32>
// CHECK: nv.reduce min
// CHECK: arith.minnumf {{.*}} : tensor<64xf32>
// CHECK: nv.reduce max {{.*}} tensor<64x8xf32> -> tensor<64xf32>
func.func @extremes(%n: i32, %p: i64) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %b = warp.buffer : !b
  %free = warp.ring released %b : !b
  %ready = warp.ring %b : !b
  warp.specialize {
    warp.role @math warps(4) {
      %s0 = arith.constant dense<0.0> : !r
      %o = nv.index dim(0) : tensor<64xi64>
      %high, %low = scf.for %i = %c0 to %n step %c1 iter_args(%h = %s0, %l = %s0) -> (!r, !r) : i32 {
        %t = warp.acquire %ready
        %a = warp.slot %t : !v
        %d0 = nv.wgmma %a, %a : !v, !v -> !t
        %d = nv.wgmma.wait %d0 pending(0) : !t
        warp.release %t to %free wgmma
        %h1 = nv.reduce max %d dim(1) : !t -> !r
        %h2 = arith.maxnumf %h, %h1 : !r
        %l1 = nv.reduce min %d dim(1) : !t -> !r
        %l2 = arith.minnumf %l, %l1 : !r
        nv.global_store %l2 to %p[%o] : !r, tensor<64xi64>
        scf.yield %h2, %l2 : !r, !r
      }
      %x = arith.addf %high, %low : !r
      nv.global_store %x to %p[%o] : !r, tensor<64xi64>
    }
  }
  return
}

// -----

!b = !warp.buffer<2 x [64x64xbf16]>
!v = !nv.memdesc<64x64xbf16>
!t = tensor<64x64xf32>
!r = tensor<64xf32>

// Factors around factors, around a sum of reductions, and a reduction that is a factor itself: what is multiplied with stays whole, every
// reduction under it is taken apart.
// CHECK-LABEL: @nested_factors
// CHECK: scf.for {{.*}} iter_args(%[[S:.*]] = {{.*}}, %[[T:.*]] = {{.*}}, %[[U:.*]] = {{.*}}) -> (tensor<64x8xf32>, tensor<64x8xf32>, tensor<64x8xf32>)
// CHECK: %[[F:.*]] = nv.fold add %[[D:.*]] : tensor<64x64xf32> -> tensor<64x8xf32>
// CHECK: %[[FF:.*]] = nv.broadcast %[[FACTOR:.*]] dim(1)
// CHECK: %[[FX:.*]] = arith.mulf %[[F]], %[[FF]]
// CHECK: %[[FG:.*]] = nv.broadcast %[[SCALE:.*]] dim(1)
// CHECK: %[[FXG:.*]] = arith.mulf %[[FX]], %[[FG]] : tensor<64x8xf32>
// CHECK: arith.addf %[[S]], %[[FXG]] : tensor<64x8xf32>
// CHECK: %[[FA:.*]] = nv.fold add %[[D]]
// CHECK: %[[FB:.*]] = nv.fold add
// CHECK: %[[AB:.*]] = arith.addf %[[FA]], %[[FB]] : tensor<64x8xf32>
// CHECK: %[[GAB:.*]] = nv.broadcast %[[FACTOR]] dim(1)
// CHECK: %[[FAB:.*]] = arith.mulf %[[GAB]], %[[AB]] : tensor<64x8xf32>
// CHECK: arith.addf %[[T]], %[[FAB]] : tensor<64x8xf32>
// CHECK: %[[MOST:.*]] = nv.reduce max
// CHECK: %[[PART:.*]] = nv.fold add %[[D]]
// CHECK: %[[WHOLE:.*]] = nv.broadcast %[[MOST]] dim(1)
// CHECK: %[[PRODUCT:.*]] = arith.mulf %[[WHOLE]], %[[PART]] : tensor<64x8xf32>
// CHECK: arith.addf %[[U]], %[[PRODUCT]] : tensor<64x8xf32>
func.func @nested_factors(%n: i32, %factor: f32, %scale: f32, %p: i64) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %b = warp.buffer : !b
  %free = warp.ring released %b : !b
  %ready = warp.ring %b : !b
  warp.specialize {
    warp.role @math warps(4) {
      %f = nv.splat %factor : f32 -> !r
      %g = nv.splat %scale : f32 -> !r
      %none = arith.constant dense<0.0> : !r
      %sums:3 = scf.for %i = %c0 to %n step %c1 iter_args(%s = %none, %u = %none, %v = %none) -> (!r, !r, !r) : i32 {
        %t = warp.acquire %ready
        %a = warp.slot %t : !v
        %d0 = nv.wgmma %a, %a : !v, !v -> !t
        %d = nv.wgmma.wait %d0 pending(0) : !t
        warp.release %t to %free wgmma
        %r0 = nv.reduce add %d dim(1) : !t -> !r
        %rf = arith.mulf %r0, %f : !r
        %rfg = arith.mulf %rf, %g : !r
        %s1 = arith.addf %s, %rfg : !r
        %q = arith.mulf %d, %d : !t
        %r1 = nv.reduce add %d dim(1) : !t -> !r
        %r2 = nv.reduce add %q dim(1) : !t -> !r
        %r12 = arith.addf %r1, %r2 : !r
        %fr = arith.mulf %f, %r12 : !r
        %u1 = arith.addf %u, %fr : !r
        %m = nv.reduce max %d dim(1) : !t -> !r
        %r3 = nv.reduce add %d dim(1) : !t -> !r
        %mr = arith.mulf %m, %r3 : !r
        %v1 = arith.addf %v, %mr : !r
        scf.yield %s1, %u1, %v1 : !r, !r, !r
      }
      %x = arith.addf %sums#0, %sums#1 : !r
      %y = arith.addf %x, %sums#2 : !r
      %o = nv.index dim(0) : tensor<64xi64>
      nv.global_store %y to %p[%o] : !r, tensor<64xi64>
    }
  }
  return
}

// -----

!t = tensor<64x64xf32>
!r = tensor<64xf32>

// Rows that no product laid out: unknown lanes, nothing is done. Nor for a maximum times a factor.
// CHECK-LABEL: @left_alone
// CHECK: scf.for {{.*}} -> (tensor<64xf32>)
// CHECK: nv.reduce add
func.func @left_alone(%n: i32, %p: i64) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  warp.specialize {
    warp.role @rows warps(4) {
      %s0 = arith.constant dense<0.0> : !r
      %o = nv.index dim(0) : tensor<64xi64>
      %o2 = nv.index dim(1) : tensor<64x64xi64>
      %sum = scf.for %i = %c0 to %n step %c1 iter_args(%s = %s0) -> (!r) : i32 {
        %x = nv.global_load %p[%o2] : tensor<64x64xi64> -> !t
        %one = nv.reduce add %x dim(1) : !t -> !r
        %next = arith.addf %s, %one : !r
        scf.yield %next : !r
      }
      nv.global_store %sum to %p[%o] : !r, tensor<64xi64>
    }
  }
  return
}
