// RUN: kernel-opt %s --pass-pipeline='builtin.module(warp-speculate)' --split-input-file | FileCheck %s

!t = tensor<64x128xf32>
!h = tensor<32x128xf32>
!r = tensor<64xf32>
!s = tensor<32xf32>

// By row slots: the first rows' exponentials come before the reductions, with what the loop carries, and again under a vote that stands
// before the other rows' ones. What reads them waits for it. A product and a sum that the back end would fuse are fused in the branch.
// CHECK-LABEL: @slots
// CHECK: scf.for {{.*}} iter_args(%[[M:.*]] = %{{.*}}, %[[SUM:.*]] = %
// CHECK: %[[X0:.*]] = nv.row_slot %[[X:.*]] 0 of 2
// CHECK: %[[OLD:.*]] = nv.row_slot %[[M]] 0 of 2
// CHECK: %[[OLDS:.*]] = nv.broadcast %[[OLD]]
// CHECK: %[[D:.*]] = arith.subf %{{.*}}, %[[OLDS]] fastmath<contract>
// CHECK: %[[EARLY:.*]] = math.exp2 %[[D]]
// CHECK: %[[FOLDED:.*]] = nv.fold add %[[EARLY]]
// CHECK: nv.reduce max %[[X0]]
// CHECK: %[[BEYOND:.*]] = arith.cmpf ogt
// CHECK: %[[NEW:.*]] = arith.select %[[BEYOND]]
// CHECK: nv.reduce max
// CHECK: %[[ANY:.*]] = nv.warp_any %[[BEYOND]] : tensor<32xi1>
// CHECK: %[[P:.*]]:2 = scf.if %[[ANY]]
// CHECK:   %[[NEWS:.*]] = nv.broadcast %[[NEW]]
// CHECK:   %[[MINUS:.*]] = arith.negf %[[NEWS]]
// CHECK:   %[[D2:.*]] = math.fma %[[X0]], %{{.*}}, %[[MINUS]]
// CHECK:   %[[AGAIN:.*]] = math.exp2 %[[D2]]
// CHECK:   %[[F2:.*]] = nv.fold add %[[AGAIN]]
// CHECK:   scf.yield %[[AGAIN]], %[[F2]]
// CHECK: else
// CHECK:   scf.yield %[[EARLY]], %[[FOLDED]]
// CHECK: arith.addf %[[P]]#1
// CHECK: math.exp2 {{.*}} : tensor<32x128xf32>
// CHECK-NOT: nv.warp_any
// CHECK: nv.join_row_slots %[[P]]#0
// CHECK-NOT: warp.long_chain
func.func @slots(%n: i32, %p: i64) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  warp.specialize {
    warp.role @math warps(4) {
      %m0 = arith.constant dense<0xFF800000> : !r
      %z = arith.constant dense<0.0> : tensor<32x8xf32>
      %four = arith.constant dense<4.0> : !r
      %k = arith.constant dense<0.125> : !h
      %o = nv.index dim(1) : tensor<64x128xi64>
      scf.for %i = %c0 to %n step %c1 iter_args(%m = %m0, %sum = %z) -> (!r, tensor<32x8xf32>) : i32 {
        %x = nv.global_load %p[%o] : tensor<64x128xi64> -> !t
        %limit = arith.addf %m, %four : !r
        %x0 = nv.row_slot %x 0 of 2 : !t -> !h
        %most0 = nv.reduce max %x0 dim(1) : !h -> !s
        %limit0 = nv.row_slot %limit 0 of 2 : !r -> !s
        %beyond0 = arith.cmpf ogt, %most0, %limit0 : !s
        %old0 = nv.row_slot %m 0 of 2 : !r -> !s
        %new0 = arith.select %beyond0, %most0, %old0 : tensor<32xi1>, !s
        %news0 = nv.broadcast %new0 dim(1) : !s -> !h
        %x0k = arith.mulf %x0, %k fastmath<contract> : !h
        %d0 = arith.subf %x0k, %news0 fastmath<contract> : !h
        %p0 = math.exp2 %d0 : !h
        %f0 = nv.fold add %p0 : !h -> tensor<32x8xf32>
        %t0 = arith.addf %f0, %sum : tensor<32x8xf32>
        %x1 = nv.row_slot %x 1 of 2 : !t -> !h
        %most1 = nv.reduce max %x1 dim(1) : !h -> !s
        %limit1 = nv.row_slot %limit 1 of 2 : !r -> !s
        %beyond1 = arith.cmpf ogt, %most1, %limit1 : !s
        %old1 = nv.row_slot %m 1 of 2 : !r -> !s
        %new1 = arith.select %beyond1, %most1, %old1 : tensor<32xi1>, !s
        %news1 = nv.broadcast %new1 dim(1) : !s -> !h
        %d1 = arith.subf %x1, %news1 : !h
        %p1 = math.exp2 %d1 : !h
        %all = nv.join_row_slots %p0, %p1 : !h, !h -> !t
        nv.global_store %all to %p[%o] : !t, tensor<64x128xi64>
        %new = nv.join_row_slots %new0, %new1 : !s, !s -> !r
        scf.yield %new, %t0 : !r, tensor<32x8xf32>
      } {warp.long_chain}
    }
  }
  return
}

// -----

!t = tensor<64x64xf32>
!r = tensor<64xf32>

// Something else: distances from the smallest so far, of a whole tile, and no sum for each thread. Only where it is asked for.
// CHECK-LABEL: @smallest
// CHECK: %[[OLDS:.*]] = nv.broadcast %[[M:.*]] dim(1)
// CHECK: %[[D:.*]] = arith.subf %[[OLDS]], %[[X:.*]] : tensor<64x64xf32>
// CHECK: %[[EARLY:.*]] = math.tanh %[[D]]
// CHECK: nv.reduce min %[[X]]
// CHECK: %[[ANY:.*]] = nv.warp_any %[[BELOW:.*]] : tensor<64xi1>
// CHECK: %[[P:.*]] = scf.if %[[ANY]]
// CHECK:   math.tanh
// CHECK: else
// CHECK:   scf.yield %[[EARLY]]
// CHECK: nv.global_store %[[P]]
func.func @smallest(%n: i32, %p: i64) attributes {tile.schedule = #tile.schedule<speculate = "on">} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  warp.specialize {
    warp.role @math warps(4) {
      %m0 = arith.constant dense<0x7F800000> : !r
      %half = arith.constant dense<0.5> : !r
      %o = nv.index dim(1) : tensor<64x64xi64>
      scf.for %i = %c0 to %n step %c1 iter_args(%m = %m0) -> (!r) : i32 {
        %x = nv.global_load %p[%o] : tensor<64x64xi64> -> !t
        %least = nv.reduce min %x dim(1) : !t -> !r
        %limit = arith.subf %m, %half : !r
        %below = arith.cmpf olt, %least, %limit : !r
        %new = arith.select %below, %least, %m : tensor<64xi1>, !r
        %news = nv.broadcast %new dim(1) : !r -> !t
        %d = arith.subf %news, %x : !t
        %y = math.tanh %d : !t
        nv.global_store %y to %p[%o] : !t, tensor<64x64xi64>
        scf.yield %new : !r
      }
    }
  }
  return
}

// -----

!t = tensor<64x64xf32>
!r = tensor<64xf32>

// An exact maximum changes often; a choice by something else than a threshold that is carried may; loops whose chain is not long are left.
// CHECK-LABEL: @often
// CHECK-NOT: nv.warp_any
func.func @often(%n: i32, %p: i64) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  warp.specialize {
    warp.role @math warps(4) {
      %m0 = arith.constant dense<0xFF800000> : !r
      %half = arith.constant dense<0.5> : !r
      %o = nv.index dim(1) : tensor<64x64xi64>
      scf.for %i = %c0 to %n step %c1 iter_args(%m = %m0, %l = %m0) -> (!r, !r) : i32 {
        %x = nv.global_load %p[%o] : tensor<64x64xi64> -> !t
        %most = nv.reduce max %x dim(1) : !t -> !r
        %new = arith.maxnumf %m, %most : !r
        %news = nv.broadcast %new dim(1) : !r -> !t
        %d = arith.subf %x, %news : !t
        %y = math.exp2 %d : !t
        %beyond = arith.cmpf ogt, %most, %half : !r
        %last = arith.select %beyond, %most, %l : tensor<64xi1>, !r
        %lasts = nv.broadcast %last dim(1) : !r -> !t
        %e = arith.subf %y, %lasts : !t
        %w = math.exp2 %e : !t
        nv.global_store %w to %p[%o] : !t, tensor<64x64xi64>
        scf.yield %new, %last : !r, !r
      } {warp.long_chain}
      scf.for %i = %c0 to %n step %c1 iter_args(%m = %m0) -> (!r) : i32 {
        %x = nv.global_load %p[%o] : tensor<64x64xi64> -> !t
        %most = nv.reduce max %x dim(1) : !t -> !r
        %limit = arith.addf %m, %half : !r
        %beyond = arith.cmpf ogt, %most, %limit : !r
        %new = arith.select %beyond, %most, %m : tensor<64xi1>, !r
        %news = nv.broadcast %new dim(1) : !r -> !t
        %d = arith.subf %x, %news : !t
        %y = math.exp2 %d : !t
        nv.global_store %y to %p[%o] : !t, tensor<64x64xi64>
        scf.yield %new : !r
      }
    }
  }
  return
}

// -----

!t = tensor<64x64xf32>
!r = tensor<64xf32>

// Masks: the iterations at the edges.
// CHECK-LABEL: @masked
// CHECK-NOT: nv.warp_any
func.func @masked(%n: i32, %p: i64) attributes {tile.schedule = #tile.schedule<speculate = "on">} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  warp.specialize {
    warp.role @math warps(4) {
      %m0 = arith.constant dense<0xFF800000> : !r
      %none = arith.constant dense<0xFF800000> : !t
      %half = arith.constant dense<0.5> : !r
      %o = nv.index dim(1) : tensor<64x64xi64>
      %column = nv.index dim(1) : tensor<64x64xi32>
      scf.for %i = %c0 to %n step %c1 iter_args(%m = %m0) -> (!r) : i32 {
        %all = nv.global_load %p[%o] : tensor<64x64xi64> -> !t
        %at = nv.splat %i : i32 -> tensor<64x64xi32>
        %seen = arith.cmpi slt, %column, %at : tensor<64x64xi32>
        %x = arith.select %seen, %all, %none : tensor<64x64xi1>, !t
        %most = nv.reduce max %x dim(1) : !t -> !r
        %limit = arith.addf %m, %half : !r
        %beyond = arith.cmpf ogt, %most, %limit : !r
        %new = arith.select %beyond, %most, %m : tensor<64xi1>, !r
        %news = nv.broadcast %new dim(1) : !r -> !t
        %d = arith.subf %x, %news : !t
        %y = math.exp2 %d : !t
        nv.global_store %y to %p[%o] : !t, tensor<64x64xi64>
        scf.yield %new : !r
      }
    }
  }
  return
}

// -----

!t = tensor<64x512xf32>
!r = tensor<64xf32>

// Two tiles of 256 registers are too many for a thread.
// CHECK-LABEL: @registers
// CHECK-NOT: nv.warp_any
func.func @registers(%n: i32, %p: i64) attributes {tile.schedule = #tile.schedule<speculate = "on">} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  warp.specialize {
    warp.role @math warps(4) {
      %m0 = arith.constant dense<0xFF800000> : !r
      %half = arith.constant dense<0.5> : !r
      %o = nv.index dim(1) : tensor<64x512xi64>
      scf.for %i = %c0 to %n step %c1 iter_args(%m = %m0) -> (!r) : i32 {
        %x = nv.global_load %p[%o] : tensor<64x512xi64> -> !t
        %most = nv.reduce max %x dim(1) : !t -> !r
        %limit = arith.addf %m, %half : !r
        %beyond = arith.cmpf ogt, %most, %limit : !r
        %new = arith.select %beyond, %most, %m : tensor<64xi1>, !r
        %news = nv.broadcast %new dim(1) : !r -> !t
        %d = arith.subf %x, %news : !t
        %y = math.exp2 %d : !t
        nv.global_store %y to %p[%o] : !t, tensor<64x512xi64>
        scf.yield %new : !r
      }
    }
  }
  return
}
