// RUN: kernel-opt %s --pass-pipeline='builtin.module(warp-branch-masks)' --split-input-file | FileCheck %s
// RUN: kernel-opt %S/../../programs/sequential/running_scale.mlir \
// RUN:   --pass-pipeline='builtin.module(warp-guard-scales{min-registers=16},warp-pipeline-role,canonicalize,warp-split-masks,canonicalize,cse,warp-branch-masks)' \
// RUN:   | FileCheck %s --check-prefix=CHAIN

!t = tensor<64x32xf32>
!i = tensor<64x32xi32>
!b = tensor<64x32xi1>

// The end of the columns: nothing is compared for each element where all 32 are before it.
// CHECK-LABEL: @ragged(
// CHECK: %[[X:.*]] = nv.global_load
// CHECK-NOT: arith.cmpi slt
// CHECK: %[[REST:.*]] = arith.addi %arg0, %c-32_i32
// CHECK: %[[CUTS:.*]] = arith.cmpi slt, %[[REST]], %c0_i32
// CHECK: %[[Y:.*]] = scf.if %[[CUTS]]
// CHECK: %[[INSIDE:.*]] = arith.cmpi slt
// CHECK-NEXT: %[[CUT:.*]] = arith.select %[[INSIDE]], %[[X]]
// CHECK-NEXT: scf.yield %[[CUT]]
// CHECK-NEXT: } else {
// CHECK-NEXT: scf.yield %[[X]]
// CHECK: scf.for {{.*}} iter_args(%{{.*}} = %[[Y]])
func.func @ragged(%columns: i32, %n: i32, %p: i64) {
  %c1 = arith.constant 1 : i32
  warp.specialize {
    warp.role @math warps(4) {
      %z = arith.constant dense<0.0> : !t
      %o = nv.index dim(1) : tensor<64x32xi64>
      %x = nv.global_load %p[%o] : tensor<64x32xi64> -> !t
      %iota = nv.index dim(1) : !i
      %end = nv.splat %columns : i32 -> !i
      %inside = arith.cmpi slt, %iota, %end : !i
      %y = arith.select %inside, %x, %z : !b, !t
      %sum = scf.for %j = %c1 to %n step %c1 iter_args(%s = %y) -> (!t) : i32 {
        %next = arith.addf %s, %s : !t
        scf.yield %next : !t
      } {warp.overlap}
      nv.global_store %sum to %p[%o] : !t, tensor<64x32xi64>
    }
  }
  return
}

// -----

!t = tensor<64x32xf32>
!i = tensor<64x32xi32>
!b = tensor<64x32xi1>

// A limit for each row cuts nearly always: as it was.
// CHECK-LABEL: @diagonal(
// CHECK-NOT: scf.if
// CHECK: arith.select
func.func @diagonal(%first: i32, %n: i32, %p: i64) {
  %c1 = arith.constant 1 : i32
  warp.specialize {
    warp.role @math warps(4) {
      %z = arith.constant dense<0.0> : !t
      %o = nv.index dim(1) : tensor<64x32xi64>
      %x = nv.global_load %p[%o] : tensor<64x32xi64> -> !t
      %iota = nv.index dim(1) : !i
      %row = nv.index dim(0) : !i
      %start = nv.splat %first : i32 -> !i
      %limit = arith.addi %row, %start : !i
      %seen = arith.cmpi sle, %iota, %limit : !i
      %y = arith.select %seen, %x, %z : !b, !t
      %sum = scf.for %j = %c1 to %n step %c1 iter_args(%s = %y) -> (!t) : i32 {
        %next = arith.addf %s, %s : !t
        scf.yield %next : !t
      } {warp.overlap}
      nv.global_store %sum to %p[%o] : !t, tensor<64x32xi64>
    }
  }
  return
}

// -----

!t = tensor<64x32xf32>
!i = tensor<64x32xi32>
!b = tensor<64x32xi1>

// Not the first iteration of a loop with products in flight: as it was.
// CHECK-LABEL: @elsewhere(
// CHECK-NOT: scf.if
// CHECK: arith.select
func.func @elsewhere(%columns: i32, %n: i32, %p: i64) {
  %c1 = arith.constant 1 : i32
  warp.specialize {
    warp.role @math warps(4) {
      %z = arith.constant dense<0.0> : !t
      %o = nv.index dim(1) : tensor<64x32xi64>
      %x = nv.global_load %p[%o] : tensor<64x32xi64> -> !t
      %iota = nv.index dim(1) : !i
      %end = nv.splat %columns : i32 -> !i
      %inside = arith.cmpi slt, %iota, %end : !i
      %y = arith.select %inside, %x, %z : !b, !t
      %sum = scf.for %j = %c1 to %n step %c1 iter_args(%s = %y) -> (!t) : i32 {
        %next = arith.addf %s, %s : !t
        scf.yield %next : !t
      }
      nv.global_store %sum to %p[%o] : !t, tensor<64x32xi64>
    }
  }
  return
}

// A chain that is no attention: the first block's mask under a branch.
// CHAIN: nv.wgmma.wait {{.*}} pending(0)
// CHAIN: scf.if
// CHAIN: arith.select
// CHAIN-NEXT: scf.yield
// CHAIN-NEXT: } else {
// CHAIN-NEXT: scf.yield
