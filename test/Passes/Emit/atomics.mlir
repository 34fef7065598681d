// RUN: kernel-opt %s --convert-tiles | FileCheck %s

#four = #nv.blocked<[1], [32], [4], [0]>

// Each thread has its own element: nothing crosses threads. A mask is a branch, whose other side is zero.
// CHECK-LABEL: func.func @own
func.func @own(%p: i64, %q: i64) {
  warp.specialize {
    warp.role @main warps(4) attributes {nv.first_warp = 0 : i64} {
      %i = nv.index dim(0) : tensor<128xi32, #four>
      %m = arith.cmpi slt, %i, %i : tensor<128xi32, #four>
      // CHECK: scf.if
      // CHECK: llvm.atomicrmw umax %{{.*}}, %{{.*}} syncscope("device") monotonic
      // CHECK: } else {
      // CHECK: arith.constant 0 : i32
      // CHECK-NOT: nvvm.barrier
      %old = nv.global_atomic umax %i to %p[%i] mask(%m : tensor<128xi1, #four>) : tensor<128xi32, #four>, tensor<128xi32, #four>
      nv.global_store %old to %q[%i] : tensor<128xi32, #four>, tensor<128xi32, #four>
      // CHECK: llvm.fence syncscope("block") acq_rel
      nv.memory_fence cta
    }
  }
  return
}

// An exchange of floats is one of bits; compare-and-swap gives the value before.
// CHECK-LABEL: func.func @bits
func.func @bits(%p: i64, %o: i64, %x: f32, %y: f32) {
  warp.specialize {
    warp.role @main warps(1) attributes {nv.first_warp = 0 : i64} {
      // CHECK: llvm.atomicrmw xchg %{{.*}}, %{{.*}} monotonic : !llvm.ptr<1>, i32
      %a = nv.global_atomic xchg %x to %p[%o] scope(sys) : f32, i64
      // CHECK: llvm.cmpxchg %{{.*}}, %{{.*}}, %{{.*}} syncscope("device") monotonic monotonic : !llvm.ptr<1>, i32
      %b = nv.global_atomic cas %x to %p[%o] compare(%y : f32) : f32, i64
    }
  }
  return
}
