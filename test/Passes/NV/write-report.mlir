// RUN: kernel-opt %s --pass-pipeline='builtin.module(nv-write-report)' | FileCheck %s

// What the report takes: roles, rings with slots and arrivals, the memory map, the launch; functions that are no kernels get none.

// CHECK-LABEL: func.func @kernel
// CHECK-SAME: launch = {grid = "persistent", shared_bytes = 1040 : i64}
// CHECK-SAME: rings = [{arrivals = 8 : i64, barriers = 2 : i64, depth = 2 : i64, name = "free"}]
// CHECK-SAME: roles = [{name = "load", replicas = 1 : i64, single_thread = true, warps = 1 : i64}]
// CHECK-SAME: shared = [{bytes = 1024 : i64, name = "tiles", offset = 0 : i64, slots = 2 : i64}, {bytes = 16 : i64, name = "free", offset = 1024 : i64}]
func.func @kernel() attributes {tile.kernel, nv.shared_bytes = 1040 : i64, warp.launch = #warp.launch<persistent = true>} {
  %a = nv.alloc 2 x 512 align 128 at 0 {name = "tiles"} : !warp.buffer<2 x [256xbf16]>
  %b = nv.alloc 2 x 8 align 8 at 1024 {name = "free"} : !nv.barrier
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
