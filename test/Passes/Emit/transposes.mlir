// RUN: kernel-opt %s --convert-tiles --canonicalize --cse --split-input-file --verify-diagnostics | FileCheck %s

!from = !warp.buffer<1 x [64x64xi8]>
!source = !nv.memdesc<64x64xi8, #nv.smem<swizzle = 64>>
!target = !nv.memdesc<64x64xi8, #nv.smem<swizzle = 64, paired = true>>

// Two warps take two of the four chunks of 16 columns each, in two blocks of 32 rows: a load, four permutations and a store for each.
// CHECK-LABEL: func.func @paired
func.func @paired(%x: i32) {
  %0 = nv.alloc 1 x 4096 align 1024 at 1024 : !from
  %1 = nv.alloc 1 x 4096 align 1024 at 5120 : !from
  warp.specialize {
    warp.role @gather warps(2) attributes {nv.first_warp = 4 : i64} {
      // CHECK: %[[FLIPPED:.*]] = arith.cmpi uge, %{{.*}}, %c16_i32
      // CHECK-DAG: %[[A:.*]] = arith.select %[[FLIPPED]], %c30001_i32, %c25632_i32
      // CHECK-DAG: %[[B:.*]] = arith.select %[[FLIPPED]], %c25632_i32, %c30001_i32
      // CHECK: %[[M:.*]] = nvvm.ldmatrix {{.*}}layout = #nvvm.mma_layout<col>, num = 4 : i32
      // CHECK: nvvm.prmt <default> %[[A]], %{{.*}}, %{{.*}}
      // CHECK: nvvm.prmt <default> %[[B]], %{{.*}}, %{{.*}}
      // CHECK-COUNT-2: nvvm.prmt
      // CHECK: nvvm.stmatrix
      // CHECK-COUNT-3: nvvm.ldmatrix
      // CHECK-NOT: nvvm.ldmatrix
      %v = nv.view %0[%x] stride 4096 offset 0 : !from -> !source
      %w = nv.view %1[%x] stride 4096 offset 0 : !from -> !target
      nv.local_transpose %v to %w : !source, !target
    }
  }
  return
}

// -----

!from = !warp.buffer<1 x [32x48xi8]>
!source = !nv.memdesc<32x48xi8, #nv.smem<swizzle = 0>>
!target = !nv.memdesc<48x32xi8, #nv.smem<swizzle = 32>>

// Three chunks for two warps: one of them has no second.
// CHECK-LABEL: func.func @uneven
// CHECK: nvvm.stmatrix
// CHECK: scf.if
// CHECK: nvvm.stmatrix
// CHECK-NOT: nvvm.stmatrix
func.func @uneven(%x: i32) {
  %0 = nv.alloc 1 x 1536 align 1024 at 1024 : !from
  %1 = nv.alloc 1 x 1536 align 1024 at 3072 : !from
  warp.specialize {
    warp.role @gather warps(2) attributes {nv.first_warp = 4 : i64} {
      %v = nv.view %0[%x] stride 1536 offset 0 : !from -> !source
      %w = nv.view %1[%x] stride 1536 offset 0 : !from -> !target
      nv.local_transpose %v to %w : !source, !target
    }
  }
  return
}
