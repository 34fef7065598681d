// RUN: kernel-opt %s --nv-allocate-tensor-memory --split-input-file --verify-diagnostics | FileCheck %s

// The largest first, four columns apart at least; 2 x 100 + 2 x 2 columns make an allocation of 256.
// CHECK-LABEL: func.func @places
// CHECK: %[[WORD:.*]] = nv.alloc 1 x 4 align 4
// CHECK: nv.tmem.reserve %[[WORD]], 256 :
func.func @places(%i: i32) {
  %small = nv.tmem.alloc 2 x 2 {name = "small"}
  %large = nv.tmem.alloc 2 x 100 {name = "large"}
  warp.specialize {
    warp.role @a warps(4) {
      // CHECK: warp.role @a
      // CHECK: %[[BASE:.*]] = nv.tmem.base %[[WORD]]
      // CHECK: nv.tmem.view %[[BASE]][%{{.*}}] stride 2 column 201
      %x = nv.tmem.view %small[%i] stride 2 column 1 -> !nv.memdesc<128x1xf32, tmem>
      // CHECK: nv.tmem.view %[[BASE]][%{{.*}}] stride 100 column 0
      %y = nv.tmem.view %large[%i] stride 100 column 0 -> !nv.memdesc<128x100xf32, tmem>
    }
  }
  return
}

// -----

// expected-error@+1 {{tensor memory: need 768 columns, have 512: o 2 x 256; s 2 x 128;}}
func.func @too_much() {
  %s = nv.tmem.alloc 2 x 128 {name = "s"}
  %o = nv.tmem.alloc 2 x 256 {name = "o"}
  return
}
