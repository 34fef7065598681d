// RUN: kernel-opt %s --nv-mark-equal --split-input-file | FileCheck %s

// A limit that is a multiple of 8 cuts between groups of 8 elements: the mask is equal within each. What is made of indices differs.
// CHECK-LABEL: func.func @mask
func.func @mask(%x: i64 {tile.divisibility = 16 : i32}, %n: i32 {tile.divisibility = 8 : i32}, %odd: i32) {
  warp.specialize {
    warp.role @main warps(4) {
      %c = nv.index dim(0) : tensor<1024xi32>
      %l = nv.splat %n : i32 -> tensor<1024xi32>
      // CHECK: arith.cmpi slt, {{.*}} {nv.equal = array<i64: 8>}
      %m = arith.cmpi slt, %c, %l : tensor<1024xi32>
      %o = nv.splat %odd : i32 -> tensor<1024xi32>
      // CHECK: arith.cmpi slt, %{{[0-9]+}}, %{{[0-9]+}} : tensor
      %k = arith.cmpi slt, %c, %o : tensor<1024xi32>
      // CHECK: arith.addi %{{[0-9]+}}, %{{[0-9]+}} : tensor
      %at = arith.addi %c, %o : tensor<1024xi32>
      // CHECK: arith.andi {{.*}} : tensor
      %both = arith.andi %m, %k : tensor<1024xi1>
      nv.global_store %at to %x[%c] mask(%both : tensor<1024xi1>) : tensor<1024xi32>, tensor<1024xi32>
    }
  }
  return
}

// -----

// Rows of a tile: equal along the other dimension. Floats are not marked.
// CHECK-LABEL: func.func @rows
func.func @rows(%x: i64 {tile.divisibility = 16 : i32}, %n: i32) {
  warp.specialize {
    warp.role @main warps(4) {
      %r = nv.index dim(0) : tensor<16x64xi32>
      %c = nv.index dim(1) : tensor<16x64xi32>
      %l = nv.splat %n : i32 -> tensor<16x64xi32>
      // CHECK: arith.cmpi slt, {{.*}} {nv.equal = array<i64: 1, 64>}
      %m = arith.cmpi slt, %r, %l : tensor<16x64xi32>
      // CHECK: arith.sitofp {{%[0-9]+}} : tensor
      %f = arith.sitofp %l : tensor<16x64xi32> to tensor<16x64xf32>
      nv.global_store %f to %x[%c] mask(%m : tensor<16x64xi1>) : tensor<16x64xf32>, tensor<16x64xi32>
    }
  }
  return
}
