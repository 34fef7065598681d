// RUN: kernel-opt %s --nv-allocate-shared --split-input-file | FileCheck %s
// RUN: kernel-opt %s --pass-pipeline='builtin.module(nv-allocate-shared{limit=10056})' --split-input-file -o /dev/null
// RUN: not kernel-opt %s --pass-pipeline='builtin.module(nv-allocate-shared{limit=10055})' --split-input-file -o /dev/null 2>&1 \
// RUN:   | FileCheck %s --check-prefix=LESS
// LESS: shared memory: need 10056 bytes, have 10055: tiles 1 x 8192; rows 3 x 600; free 6 x 8; ? 2 x 8;

// Largest alignment first, so that little is lost; barriers come last. Equal alignments keep their order.
// CHECK-LABEL: func.func @order
// CHECK-SAME: nv.shared_bytes = 10056 : i64
func.func @order() {
  // CHECK-NEXT: nv.alloc 6 x 8 align 8 at 9992
  %0 = nv.alloc 6 x 8 align 8 {name = "free"} : !nv.barrier
  // CHECK-NEXT: nv.alloc 3 x 600 align 128 at 8192
  %1 = nv.alloc 3 x 600 align 128 {name = "rows"} : i32
  // CHECK-NEXT: nv.alloc 2 x 8 align 8 at 10040
  %2 = nv.alloc 2 x 8 align 8 : !nv.barrier
  // CHECK-NEXT: nv.alloc 1 x 8192 align 1024 at 0
  %3 = nv.alloc 1 x 8192 align 1024 {name = "tiles"} : i32
  return
}

// -----

// Each starts at its alignment.
// CHECK-LABEL: func.func @padding
// CHECK-SAME: nv.shared_bytes = 1160 : i64
func.func @padding() {
  // CHECK-NEXT: nv.alloc 1 x 1000 align 128 at 0
  %0 = nv.alloc 1 x 1000 align 128 : i32
  // CHECK-NEXT: nv.alloc 1 x 128 align 128 at 1024
  %1 = nv.alloc 1 x 128 align 128 : i32
  // CHECK-NEXT: nv.alloc 1 x 8 align 8 at 1152
  %2 = nv.alloc 1 x 8 align 8 : !nv.barrier
  return
}

// -----

// Nothing to place: no attribute.
// CHECK-LABEL: func.func @none() {
func.func @none() {
  return
}

// -----

// Storage that is never used at the same time has the same bytes: 1 and 2 each with 0, but not with each other. What has no number
// comes after all.
// CHECK-LABEL: func.func @shared
// CHECK-SAME: nv.shared_bytes = 8208 : i64
func.func @shared() attributes {nv.apart = array<i64: 0, 1, 0, 2>} {
  // CHECK: nv.alloc 2 x 4096 align 1024 at 0 {name = "slots", nv.storage = 0 : i64}
  %0 = nv.alloc 2 x 4096 align 1024 {name = "slots", nv.storage = 0 : i64} : i32
  // CHECK: nv.alloc 1 x 3000 align 1024 at 0 {name = "scratch", nv.over = ["slots"], nv.storage = 1 : i64}
  %1 = nv.alloc 1 x 3000 align 1024 {name = "scratch", nv.storage = 1 : i64} : i32
  // CHECK: nv.alloc 1 x 4096 align 1024 at 3072 {name = "out", nv.over = ["slots"], nv.storage = 2 : i64}
  %2 = nv.alloc 1 x 4096 align 1024 {name = "out", nv.storage = 2 : i64} : i32
  // CHECK: nv.alloc 2 x 8 align 8 at 8192
  %3 = nv.alloc 2 x 8 align 8 {name = "ring"} : !nv.barrier
  return
}
