// RUN: kernel-opt %s --pass-pipeline='builtin.module(nv-write-report)' --split-input-file | FileCheck %s

// What the report takes: roles, rings with slots and arrivals, the memory map, the launch; functions that are no kernels get none.

// CHECK-LABEL: func.func @kernel
// CHECK-SAME: launch = {grid = "persistent", shared_bytes = 1040 : i64}
// CHECK-SAME: rings = [{arrivals = 8 : i64, barriers = 2 : i64, buffer = "tiles", bytes = 1024 : i64, depth = 2 : i64, name = "free"}]
// CHECK-SAME: roles = [{name = "load", replicas = 1 : i64, single_thread = true, warps = 1 : i64}]
// CHECK-SAME: shared = [{bytes = 1024 : i64, name = "tiles", offset = 0 : i64, slots = 2 : i64}, {bytes = 16 : i64, name = "free", offset = 1024 : i64}]
func.func @kernel() attributes {tile.kernel, nv.shared_bytes = 1040 : i64, warp.launch = #warp.launch<persistent = true>} {
  %a = nv.alloc 2 x 512 align 128 at 0 {name = "tiles"} : !warp.buffer<2 x [256xbf16]>
  %b = nv.alloc 2 x 8 align 8 at 1024 {name = "free", nv.slots = "tiles"} : !nv.barrier
  nv.mbarrier.init %b stages 2 arrivals 8
  warp.specialize {
    warp.role @load warps(1) {
    }
  }
  return
}

// CHECK-LABEL: func.func @helper
// CHECK-NOT: tileloom.report
func.func @helper() {
  return
}

// -----

!a = !nv.memdesc<64x64xbf16, #nv.smem<swizzle = 128>>
!b = !nv.memdesc<64x96xbf16, #nv.smem<swizzle = 128, transposed = true>>

// Products by the shape of their instructions; equal ones are counted.
// CHECK-LABEL: func.func @hopper
// CHECK-SAME: mma = [{a = "bf16", a_in = "shared", b = "bf16", count = 2 : i64, d = "f32", op = "wgmma", shape = "m64n96k16"},
// CHECK-SAME: {a = "f16", a_in = "registers", b = "f16", count = 1 : i64, d = "f32", op = "mma", shape = "m16n8k16"}]
func.func @hopper(%a: !a, %b: !b, %x: tensor<16x32xf16>, %y: tensor<32x8xf16>, %z: tensor<16x8xf32>) attributes {tile.kernel} {
  warp.specialize {
    warp.role @math warps(4) {
      %d = nv.wgmma %a, %b : !a, !b -> tensor<64x96xf32>
      %e = nv.wgmma %a, %b : !a, !b -> tensor<64x96xf32>
      %w:2 = nv.wgmma.wait %d, %e pending(0) : tensor<64x96xf32>, tensor<64x96xf32>
      %m = nv.mma %x, %y, %z : tensor<16x32xf16>, tensor<32x8xf16>, tensor<16x8xf32>
    }
  }
  return
}

// -----

!a = !nv.memdesc<128x128xf8E4M3FN, #nv.smem<swizzle = 128>>
!scales = !nv.memdesc<128x4xf8E8M0FNU, tmem>
!d = !nv.memdesc<128x128xf32, tmem>

// Tensor memory: rings over columns, the kind of the product, its scale factors; a pair's shape is that of both CTAs.
// CHECK-LABEL: func.func @blackwell
// CHECK-SAME: mma = [{a = "f8E4M3FN", a_in = "shared", b = "f8E4M3FN", count = 1 : i64, ctas = 1 : i64, d = "f32", op = "tcgen05.mxf8f6f4", scale = "f8E8M0FNU per 32", shape = "m128n128k32"},
// CHECK-SAME: {a = "f8E4M3FN", a_in = "shared", b = "f8E4M3FN", count = 1 : i64, ctas = 2 : i64, d = "f32", op = "tcgen05.f8f6f4", shape = "m256n256k32"}]
// CHECK-SAME: rings = [{arrivals = 1 : i64, barriers = 1 : i64, buffer = "sum", bytes = 65536 : i64, depth = 1 : i64, name = "full"}]
func.func @blackwell(%a: !a, %b: !nv.memdesc<128x128xf8E4M3FN, #nv.smem<swizzle = 128, transposed = true>>, %s: !scales, %d: !d, %w: !nv.memdesc<128x256xf32, tmem>, %more: i1)
    attributes {tile.kernel, nv.tensor_columns = [{name = "sum", column = 0 : i64, columns = 128 : i64}]} {
  %full = nv.alloc 1 x 8 align 8 at 0 {name = "full", nv.slots = "sum"} : !nv.barrier
  nv.mbarrier.init %full stages 1 arrivals 1
  warp.specialize {
    warp.role @mma warps(1) {
      nv.tcgen05.mma_scaled %a scale(%s), %b scale(%s), %d accumulate(%more) block(32) : !a, !scales, !nv.memdesc<128x128xf8E4M3FN, #nv.smem<swizzle = 128, transposed = true>>, !scales, !d
      nv.tcgen05.mma %a, %b, %w accumulate(%more) cta_group(2) : !a, !nv.memdesc<128x128xf8E4M3FN, #nv.smem<swizzle = 128, transposed = true>>, !nv.memdesc<128x256xf32, tmem>
    }
  }
  return
}
