// RUN: kernel-opt %S/../../programs/sequential/gelu_chain.mlir --pass-pipeline='builtin.module(warp-pipeline-role,warp-stage-role)' | FileCheck %s --check-prefix=GELU
// RUN: kernel-opt %S/../../programs/sequential/gelu_chain.mlir --pass-pipeline='builtin.module(warp-pipeline-role,warp-stage-role{fraction=0.5})' \
// RUN:   | FileCheck %s --check-prefix=HALF
// RUN: kernel-opt %S/../../programs/sequential/squared_chain.mlir --pass-pipeline='builtin.module(warp-defer-reductions,warp-pipeline-role,warp-stage-role)' \
// RUN:   | FileCheck %s --check-prefix=SQUARES
// RUN: kernel-opt %S/../../programs/sequential/squared_chain.mlir --pass-pipeline='builtin.module(warp-defer-reductions)' | sed 's/nv.fold add/nv.fold mul/' \
// RUN:   | kernel-opt --pass-pipeline='builtin.module(warp-pipeline-role,warp-stage-role)' | FileCheck %s --check-prefix=PRODUCTS
// RUN: kernel-opt %S/../../programs/sequential/running_scale.mlir --pass-pipeline='builtin.module(warp-guard-scales{min-registers=16},warp-pipeline-role,warp-split-masks,warp-stage-role)' \
// RUN:   | FileCheck %s --check-prefix=SCALE
// RUN: kernel-opt %s --pass-pipeline='builtin.module(warp-stage-role)' | FileCheck %s

// The special functions of the first rows, then a quarter of the columns of the second rows, then the wait, pinned behind the last columns of
// both; the rest afterwards, and meanwhile the question whether what the next iteration takes first is there.
// GELU: scf.for {{.*}} iter_args
// GELU: warp.acquire %[[NEXT:.*]]
// GELU: nv.wgmma
// GELU: %[[D:.*]] = nv.wgmma {{.*}} acc(
// GELU: %[[H:.*]] = nv.wgmma.wait {{.*}} pending(1)
// GELU: nv.row_slot %[[H]] 0 of 2
// GELU: math.exp2 {{.*}} : tensor<32x64xf32>
// GELU: nv.row_slot %[[H]] 1 of 2
// GELU: math.exp2 {{.*}} : tensor<32x16xf32>
// GELU: %[[PIN:.*]] = arith.addf {{.*}} : tensor<32x8xf32>
// GELU-NEXT: nv.wgmma.wait %[[D]] pending(0) after(%[[PIN]] : tensor<32x8xf32>)
// GELU-NEXT: warp.release
// GELU-NEXT: warp.peek %[[NEXT]]
// GELU: math.exp2 {{.*}} : tensor<32x48xf32>
// GELU: nv.concat
// GELU: nv.join_row_slots
// GELU: arith.truncf

// HALF: math.exp2 {{.*}} : tensor<32x32xf32>
// HALF: nv.wgmma.wait {{.*}} after(
// HALF: math.exp2 {{.*}} : tensor<32x32xf32>

// No special function: arithmetic is what is kept busy, and the pin is the sum of the first rows and the last columns of the chunk, whose sum
// would come later.
// SQUARES: pending(1)
// SQUARES: arith.mulf {{.*}} : tensor<32x64xf32>
// SQUARES: arith.mulf {{.*}} : tensor<32x16xf32>
// SQUARES: %[[LAST:.*]] = nv.extract {{.*}}[0, 8] : tensor<32x16xf32> -> tensor<32x8xf32>
// SQUARES: %[[PIN:.*]] = arith.addf {{.*}}, %[[LAST]]
// SQUARES: after(%[[PIN]]
// SQUARES: arith.mulf {{.*}} : tensor<32x48xf32>

// Both chunks of columns of the same, multiplied.
// PRODUCTS: %[[ONE:.*]] = nv.fold mul {{.*}} : tensor<32x16xf32> -> tensor<32x8xf32>
// PRODUCTS: %[[OTHER:.*]] = nv.fold mul {{.*}} : tensor<32x48xf32> -> tensor<32x8xf32>
// PRODUCTS: arith.mulf %[[ONE]], %[[OTHER]] : tensor<32x8xf32>

// A maximum and a vote in the middle: the maximum of the second rows comes beside the work of the first; the vote before the wait; the
// scale and the conversion behind it.
// SCALE: pending(1)
// SCALE: nv.reduce max {{.*}} : tensor<32x64xf32> -> tensor<32xf32>
// SCALE: nv.reduce max {{.*}} : tensor<32x64xf32> -> tensor<32xf32>
// SCALE: %[[ANY:.*]] = nv.warp_any
// SCALE: after(
// SCALE: scf.if %[[ANY]]
// SCALE: arith.truncf

!v = !nv.memdesc<64x64xbf16>
!t = tensor<64x64xf32>

// What a program has scheduled itself stays.
// CHECK-LABEL: @by_hand
// CHECK-NOT: nv.row_slot
func.func @by_hand(%n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %b = warp.buffer : !warp.buffer<2 x [64x64xbf16]>
  %ready = warp.ring %b : !warp.buffer<2 x [64x64xbf16]>
  warp.specialize {
    warp.role @math warps(4) {
      %z = arith.constant dense<0.0> : !t
      scf.for %i = %c0 to %n step %c1 iter_args(%x = %z, %y = %z) -> (!t, !t) : i32 {
        %t = warp.acquire %ready
        %a = warp.slot %t : !v
        %d0 = nv.wgmma %a, %a : !v, !v -> !t
        %e0 = nv.wgmma %a, %a acc(%x) : !v, !v -> !t
        %d = nv.wgmma.wait %d0 pending(1) : !t
        %f = math.exp2 %d : !t
        %e = nv.wgmma.wait %e0 pending(0) : !t
        scf.yield %e, %f : !t, !t
      }
    }
  }
  return
}
