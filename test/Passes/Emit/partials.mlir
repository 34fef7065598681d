// RUN: kernel-opt %s --convert-tiles --split-input-file --verify-diagnostics | FileCheck %s

#acc = #nv.wgmma_acc

// 64 x 16 sums: 8 registers of a thread, 16 bytes beside those of the next thread, 128 threads further on the next 16. The tiles are added in order.
// CHECK-LABEL: func.func @partials
func.func @partials(%p: i64, %x: tensor<64x16xf32, #acc>) {
  warp.specialize {
    warp.role @main warps(4) attributes {nv.first_warp = 0 : i64} {
      %zero = arith.constant dense<0.0> : tensor<64x16xf32, #acc>
      // CHECK-COUNT-2: llvm.store %{{.*}}, %{{.*}} {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<1>
      // CHECK-NOT: llvm.store
      nv.store_partial %zero to %p : tensor<64x16xf32, #acc>
      // CHECK-COUNT-6: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xi32>
      %sum = nv.sum_partials %p like %zero count 3 stride 4096 : tensor<64x16xf32, #acc>
      nv.store_partial %sum to %p : tensor<64x16xf32, #acc>
    }
  }
  return
}

// -----

#rows = #nv.slice<1, #nv.wgmma_acc>

func.func @copies(%p: i64) {
  warp.specialize {
    warp.role @main warps(4) attributes {nv.first_warp = 0 : i64} {
      %zero = arith.constant dense<0.0> : tensor<64xf32, #rows>
      // expected-error@+2 {{layout: expected each element in one register of one thread, found several}}
      // expected-error@+1 {{failed to legalize}}
      nv.store_partial %zero to %p : tensor<64xf32, #rows>
    }
  }
  return
}

// -----

#acc = #nv.wgmma_acc

// 32 registers of a thread for each of 11 tiles are more than there are: three are loaded ahead of the first sum, then four at a time in a loop that is not unrolled.
// CHECK-LABEL: func.func @many
// CHECK: warp.role @main
// CHECK-COUNT-24: llvm.load
// CHECK-NOT: llvm.load
// CHECK: scf.for %{{.*}} = %c3_i32{{[_0-9]*}} to %c11_i32{{[_0-9]*}} step %c4_i32{{[_0-9]*}} iter_args
// CHECK-COUNT-32: llvm.load
// CHECK-NOT: llvm.load
// CHECK: scf.yield
// CHECK: llvm.loop_annotation
func.func @many(%p: i64, %x: tensor<64x64xf32, #acc>) {
  warp.specialize {
    warp.role @main warps(4) attributes {nv.first_warp = 0 : i64} {
      %zero = arith.constant dense<0.0> : tensor<64x64xf32, #acc>
      %sum = nv.sum_partials %p like %zero count 11 stride 16384 : tensor<64x64xf32, #acc>
      nv.store_partial %sum to %p : tensor<64x64xf32, #acc>
    }
  }
  return
}

// -----

#acc = #nv.wgmma_acc

// Two tiles that do not fit together, in a setmaxnreg of few registers: one at a time, from zero, as one iteration alone would be no loop.
// CHECK-LABEL: func.func @two
// CHECK: warp.role @main
// CHECK: scf.for
// CHECK-COUNT-24: llvm.load
// CHECK-NOT: llvm.load
// CHECK: scf.yield
func.func @two(%p: i64, %x: tensor<64x192xf32, #acc>) {
  warp.specialize {
    warp.role @main warps(4) registers(160) attributes {nv.first_warp = 0 : i64} {
      %zero = arith.constant dense<0.0> : tensor<64x192xf32, #acc>
      %sum = nv.sum_partials %p like %zero count 2 stride 49152 : tensor<64x192xf32, #acc>
      nv.store_partial %sum to %p : tensor<64x192xf32, #acc>
    }
  }
  return
}
