// RUN: kernel-opt %s --nv-assign-warps --split-input-file | FileCheck %s

// Whole warpgroups come first, at warpgroup boundaries, whatever the order of the roles; single warps share the last one.
// CHECK-LABEL: func.func @order
// CHECK-SAME: nv.threads = 320
func.func @order() {
  warp.specialize {
    // CHECK: warp.role @load warps(1) attributes {nv.first_warp = 8 : i64}
    warp.role @load warps(1) { }
    // CHECK: warp.role @math warps(4) replicas(2) attributes {nv.first_warp = 0 : i64}
    warp.role @math warps(4) replicas(2) { }
    // CHECK: warp.role @scale warps(1) attributes {nv.first_warp = 9 : i64}
    warp.role @scale warps(1) { }
  }
  return
}

// -----

// setmaxnreg acts on whole warpgroups: other budgets start a new one, equal budgets share.
// CHECK-LABEL: func.func @budgets
// CHECK-SAME: nv.max_registers = 128 : i64, nv.threads = 512
func.func @budgets() {
  warp.specialize {
    // CHECK: warp.role @load {{.*}} {nv.first_warp = 8 : i64}
    warp.role @load warps(1) registers(24) { }
    // CHECK: warp.role @math {{.*}} {nv.first_warp = 0 : i64}
    warp.role @math warps(4) replicas(2) registers(200) { }
    // CHECK: warp.role @scale {{.*}} {nv.first_warp = 9 : i64}
    warp.role @scale warps(1) registers(24) { }
    // CHECK: warp.role @epilogue {{.*}} {nv.first_warp = 12 : i64}
    warp.role @epilogue warps(2) registers(64) { }
  }
  return
}

// -----

// A hardware barrier for each replica of the roles that meet; 0 is the CTA's.
// CHECK-LABEL: func.func @barriers
func.func @barriers() {
  warp.specialize {
    // CHECK: warp.role @math {{.*}} {nv.barrier = 1 : i64, nv.first_warp = 0 : i64}
    warp.role @math warps(4) replicas(2) { nv.named_barrier }
    // CHECK: warp.role @load warps(1) attributes {nv.first_warp = 12 : i64}
    warp.role @load warps(1) { }
    // CHECK: warp.role @epilogue {{.*}} {nv.barrier = 3 : i64, nv.first_warp = 8 : i64}
    warp.role @epilogue warps(4) { nv.named_barrier }
  }
  return
}

// -----

// One warp that works on tiles needs all its lanes, which nothing shows once tiles are scalars.
// CHECK-LABEL: func.func @whole_warp
func.func @whole_warp(%t: tensor<64xf32>) {
  warp.specialize {
    // CHECK: warp.role @main warps(1) attributes {nv.first_warp = 0 : i64, nv.single_thread = false}
    warp.role @main warps(1) {
      %s = nv.reduce add %t dim(0) : tensor<64xf32> -> f32
    }
  }
  return
}

// -----

#line = #nv.blocked<[2], [32], [1], [0]>

// Programs of one warp that share nothing: a CTA may hold several.
// CHECK-LABEL: func.func @packed
// CHECK-SAME: nv.packed = 8 : i64, nv.threads = 32 : i64
func.func @packed(%x: i64) attributes {tile.kernel, warp.launch = #warp.launch<persistent = false>} {
  warp.specialize {
    warp.role @main warps(1) {
      %at = nv.index dim(0) : tensor<64xi32, #line>
      %t = nv.global_load %x[%at] : tensor<64xi32, #line> -> tensor<64xf32, #line>
      nv.global_store %t to %x[%at] : tensor<64xf32, #line>, tensor<64xi32, #line>
    }
  }
  return
}

// -----

// Not where the recipe has the grid, a warp meets others at a barrier, or memory is shared.
// CHECK-NOT: nv.packed
func.func @grid(%t: tensor<64xf32>) attributes {tile.kernel, nv.grid = [4], warp.launch = #warp.launch<persistent = false>} {
  warp.specialize {
    warp.role @main warps(1) {
      %s = nv.reduce add %t dim(0) : tensor<64xf32> -> f32
    }
  }
  return
}

func.func @meets(%t: tensor<64xf32>) attributes {tile.kernel, warp.launch = #warp.launch<persistent = false>} {
  warp.specialize {
    warp.role @main warps(1) {
      %s = nv.reduce add %t dim(0) : tensor<64xf32> -> f32
      nv.named_barrier
    }
  }
  return
}

func.func @two_warps(%t: tensor<64xf32>) attributes {tile.kernel, warp.launch = #warp.launch<persistent = false>} {
  warp.specialize {
    warp.role @main warps(2) {
      %s = nv.reduce add %t dim(0) : tensor<64xf32> -> f32
    }
  }
  return
}
