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

// -----

// The third sum lies where the first was: 512 columns, not 768.
// CHECK-LABEL: func.func @shared
// CHECK-SAME: nv.tensor_columns = [{column = 0 : i64, columns = 256 : i64, name = "a", slots = 1 : i64}, {column = 256 : i64, columns = 256 : i64, name = "b", slots = 1 : i64}, {column = 0 : i64, columns = 256 : i64, name = "c", over = ["a"], slots = 1 : i64}]
// CHECK: nv.tmem.reserve %{{.*}}, 512 :
func.func @shared() attributes {nv.apart = array<i64: 0, 2>} {
  %a = nv.tmem.alloc 1 x 256 {name = "a", nv.storage = 0 : i64}
  %b = nv.tmem.alloc 1 x 256 {name = "b", nv.storage = 1 : i64}
  %c = nv.tmem.alloc 1 x 256 {name = "c", nv.storage = 2 : i64}
  return
}
