// RUN: kernel-opt %s --warp-invariant-divisions --split-input-file | FileCheck %s

// One division before the loop, and in it a multiplication; the remainder and the quotient of the same numbers share it after CSE.
// CHECK-LABEL: func.func @divide
// CHECK: warp.role
// CHECK: %[[LEAST:.*]] = arith.maxui %arg0, %{{.*}} : i32
// CHECK: %[[FACTOR:.*]] = arith.divui %{{.*}}, %[[LEAST]] : i32
// CHECK: scf.for %[[I:.*]] =
// CHECK-NOT: arith.divui
// CHECK: %{{.*}}, %[[HIGH:.*]] = arith.mului_extended %[[I]], %[[FACTOR]] : i32
// CHECK: %[[PRODUCT:.*]] = arith.muli %[[HIGH]], %arg0 : i32
// CHECK: %[[REST:.*]] = arith.subi %[[I]], %[[PRODUCT]] : i32
// CHECK: %[[MORE:.*]] = arith.cmpi uge, %[[REST]], %arg0 : i32
// CHECK: %[[NEXT:.*]] = arith.addi %[[HIGH]], %{{.*}} : i32
// CHECK: arith.select %[[MORE]], %[[NEXT]], %[[HIGH]] : i32
// CHECK-NOT: arith.remui
// CHECK: %[[CHOSEN:.*]] = arith.select %{{.*}}, %[[FACTOR]], %{{.*}} : i32
// CHECK: arith.mului_extended %[[I]], %[[CHOSEN]] : i32
// CHECK: arith.divui %arg1, %{{.*}} : i32
func.func @divide(%d: i32, %n: i32, %other: i32, %p: i64) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  warp.specialize {
    warp.role @math warps(4) {
      scf.for %i = %c0 to %n step %c1 : i32 {
        %q = arith.divui %i, %d : i32
        %r = arith.remui %i, %d : i32
        // One of two invariant divisors: so is the factor.
        %first = arith.cmpi ult, %i, %n : i32
        %e = arith.select %first, %d, %other : i32
        %h = arith.divui %i, %e : i32
        // Not known before the loop: as it is.
        %own = arith.addi %i, %c1 : i32
        %v = arith.divui %n, %own : i32
        %s = arith.addi %q, %r : i32
        %t = arith.addi %s, %h : i32
        %u = arith.addi %t, %v : i32
        %x = nv.atomic_add %p[%p], %u : i32
      }
    }
  }
  return
}
