// RUN: kernel-opt %S/../../programs/sequential/running_scale.mlir \
// RUN:   --pass-pipeline='builtin.module(warp-guard-scales{min-registers=16},warp-pipeline-role,canonicalize,warp-split-masks,canonicalize,cse,warp-start-at-zero)' \
// RUN:   | FileCheck %s --check-prefix=CHAIN
// RUN: kernel-opt %s --pass-pipeline='builtin.module(warp-start-at-zero)' --split-input-file | FileCheck %s

// Two loops, with a mask and without: the sum starts as zeros, what the factors may do to them is in the operand's first 16 columns, and the first
// iteration has no vote.
// CHAIN: %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : tensor<64x64xf32>
// CHAIN: %[[RATIO:.*]] = arith.divf
// CHAIN: %[[SCALED:.*]] = arith.mulf {{.*}} : tensor<64x64xf32>
// CHAIN-NOT: nv.warp_any
// CHAIN: %[[NOTHING:.*]] = arith.mulf %[[RATIO]], {{.*}} : tensor<64xf32>
// CHAIN: %[[FIRST:.*]] = nv.extract %[[SCALED]][0, 0] : tensor<64x64xf32> -> tensor<64x16xf32>
// CHAIN: %[[SPREAD:.*]] = nv.broadcast %[[NOTHING]] dim(1) : tensor<64xf32> -> tensor<64x16xf32>
// CHAIN: %[[TAKEN:.*]] = arith.addf %[[FIRST]], %[[SPREAD]]
// CHAIN: %[[REST:.*]] = nv.extract %[[SCALED]][0, 16] : tensor<64x64xf32> -> tensor<64x48xf32>
// CHAIN: %[[WHOLE:.*]] = nv.concat %[[TAKEN]], %[[REST]] dim(1)
// CHAIN: %[[OPERAND:.*]] = arith.truncf %[[WHOLE]]
// CHAIN: scf.for {{.*}} iter_args({{.*}} = %[[OPERAND]], {{.*}} = %[[ZERO]])
// CHAIN: nv.warp_any

!v = !nv.memdesc<64x64xbf16>
!t = tensor<64x64xf32>
!p = tensor<64x64xbf16>
!row = tensor<64xf32>

// Without a vote, and a sum of as few columns as an instruction reads.
// CHECK-LABEL: @plain(
// CHECK: %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : tensor<64x64xf32>
// CHECK: nv.broadcast {{.*}} -> tensor<64x16xf32>
// CHECK-NOT: nv.concat
// CHECK: scf.for {{.*}} iter_args(%{{.*}} = %[[ZERO]],
func.func @plain(%n: i32, %x: tensor<64x16xf32>, %f: !row) {
  %c1 = arith.constant 1 : i32
  %b = warp.buffer : !warp.buffer<2 x [16x64xbf16]>
  %ready = warp.ring %b : !warp.buffer<2 x [16x64xbf16]>
  warp.specialize {
    warp.role @math warps(4) {
      %z = arith.constant dense<0.0> : !t
      %fs = nv.broadcast %f dim(1) : !row -> !t
      %start = arith.mulf %fs, %z : !t
      %p0 = arith.truncf %x : tensor<64x16xf32> to tensor<64x16xbf16>
      %o:2 = scf.for %i = %c1 to %n step %c1 iter_args(%acc = %start, %p = %p0) -> (!t, tensor<64x16xbf16>) : i32 {
        %t = warp.acquire %ready
        %a = warp.slot %t : !nv.memdesc<16x64xbf16>
        %d0 = nv.wgmma %p, %a acc(%acc) : tensor<64x16xbf16>, !nv.memdesc<16x64xbf16> -> !t
        %d = nv.wgmma.wait %d0 pending(0) : !t
        scf.yield %d, %p : !t, tensor<64x16xbf16>
      } {warp.overlap}
    }
  }
  return
}

// -----

!v = !nv.memdesc<64x64xbf16>
!t = tensor<64x64xf32>
!p = tensor<64x64xbf16>
!row = tensor<64xf32>

// Where the loop does not run the sum is stored as it started: it stays.
// CHECK-LABEL: @seen(
// CHECK: %[[START:.*]] = arith.mulf {{.*}} : tensor<64x64xf32>
// CHECK: scf.for {{.*}} iter_args(%{{.*}} = %[[START]],
func.func @seen(%n: i32, %x: !t, %f: !row, %m: i64) {
  %c1 = arith.constant 1 : i32
  %b = warp.buffer : !warp.buffer<2 x [64x64xbf16]>
  %ready = warp.ring %b : !warp.buffer<2 x [64x64xbf16]>
  warp.specialize {
    warp.role @math warps(4) {
      %z = arith.constant dense<0.0> : !t
      %fs = nv.broadcast %f dim(1) : !row -> !t
      %start = arith.mulf %z, %fs : !t
      %p0 = arith.truncf %x : !t to !p
      %o:2 = scf.for %i = %c1 to %n step %c1 iter_args(%acc = %start, %p = %p0) -> (!t, !p) : i32 {
        %t = warp.acquire %ready
        %a = warp.slot %t : !v
        %d0 = nv.wgmma %p, %a acc(%acc) : !p, !v -> !t
        %d = nv.wgmma.wait %d0 pending(0) : !t
        scf.yield %d, %p : !t, !p
      } {warp.overlap}
      %at = nv.index dim(1) : tensor<64x64xi64>
      nv.global_store %o#0 to %m[%at] : !t, tensor<64x64xi64>
    }
  }
  return
}
