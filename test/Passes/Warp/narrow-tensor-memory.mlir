// RUN: kernel-opt %s --warp-narrow-tensor-memory | FileCheck %s

// Two sums that make one result are read in the pieces that it is stored in; both slots are released after the last piece.
// CHECK-LABEL: func.func @gated
// CHECK: %[[A:.*]] = warp.acquire
// CHECK: %[[B:.*]] = warp.acquire
// CHECK-NOT: warp.release
// CHECK: nv.tmem.load {{.*}} -> tensor<128x64xf32>
// CHECK: nv.tmem.load {{.*}} -> tensor<128x64xf32>
// CHECK: arith.mulf {{.*}} : tensor<128x64xf32>
// CHECK: warp.store
// CHECK: nv.tmem.load {{.*}} -> tensor<128x64xf32>
// CHECK: nv.tmem.load {{.*}} -> tensor<128x64xf32>
// CHECK: arith.mulf {{.*}} : tensor<128x64xf32>
// CHECK-DAG: warp.release %[[A]]
// CHECK-DAG: warp.release %[[B]]
// CHECK: warp.store
// CHECK-NOT: nv.tmem.load
func.func @gated(%C: !tile.desc<128x64xbf16>) attributes {tile.kernel} {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %sums = warp.buffer : !warp.buffer<1 x [128x128xf32], tmem>
  %free = warp.ring released %sums : !warp.buffer<1 x [128x128xf32], tmem>
  %full = warp.ring %sums : !warp.buffer<1 x [128x128xf32], tmem>
  %sums2 = warp.buffer : !warp.buffer<1 x [128x128xf32], tmem>
  %free2 = warp.ring released %sums2 : !warp.buffer<1 x [128x128xf32], tmem>
  %full2 = warp.ring %sums2 : !warp.buffer<1 x [128x128xf32], tmem>
  %out = warp.buffer : !warp.buffer<1 x [128x64xbf16]>
  %staged = warp.ring released %out : !warp.buffer<1 x [128x64xbf16]>
  warp.specialize {
    warp.role @math warps(4) {
      %t = warp.acquire %full
      %s = warp.slot %t : !nv.memdesc<128x128xf32, tmem>
      %gate = nv.tmem.load %s : !nv.memdesc<128x128xf32, tmem> -> tensor<128x128xf32>
      warp.release %t to %free generic
      %t2 = warp.acquire %full2
      %s2 = warp.slot %t2 : !nv.memdesc<128x128xf32, tmem>
      %up = nv.tmem.load %s2 : !nv.memdesc<128x128xf32, tmem> -> tensor<128x128xf32>
      warp.release %t2 to %free2 generic
      %v = arith.mulf %gate, %up : tensor<128x128xf32>
      %h = arith.truncf %v : tensor<128x128xf32> to tensor<128x128xbf16>
      %x = nv.extract %h[0, 0] : tensor<128x128xbf16> -> tensor<128x64xbf16>
      warp.store %x to %C[%c0, %c0] through %staged : tensor<128x64xbf16>, !tile.desc<128x64xbf16>
      %y = nv.extract %h[0, 64] : tensor<128x128xbf16> -> tensor<128x64xbf16>
      warp.store %y to %C[%c0, %c64] through %staged : tensor<128x64xbf16>, !tile.desc<128x64xbf16>
    }
  }
  return
}

// A row that all rows are combined with is read in the same pieces as the sum, through its conversion; what else reads it reads it whole.
// CHECK-LABEL: func.func @bias
// CHECK: warp.acquire
// CHECK: %[[R:.*]] = warp.acquire
// CHECK: %[[ROW:.*]] = warp.slot %[[R]] : !nv.memdesc<128xbf16>
// CHECK: nv.tmem.load {{.*}} -> tensor<128x64xf32>
// CHECK: %[[V:.*]] = nv.memdesc.slice %[[ROW]][%{{.*}}] : <128xbf16> -> <64xbf16>
// CHECK: %[[B:.*]] = nv.local_load %[[V]] : <64xbf16> -> tensor<64xbf16>
// CHECK: %[[W:.*]] = arith.extf %[[B]] : tensor<64xbf16> to tensor<64xf32>
// CHECK: nv.broadcast %[[W]] dim(0) : tensor<64xf32> -> tensor<128x64xf32>
// CHECK: warp.store
// CHECK: nv.local_load {{.*}} : <64xbf16> -> tensor<64xbf16>
// CHECK: arith.addf
// CHECK: warp.release %[[R]]
// CHECK: warp.store
// CHECK-NOT: nv.local_load
func.func @bias(%C: !tile.desc<128x64xf32>) attributes {tile.kernel} {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %sums = warp.buffer : !warp.buffer<1 x [128x128xf32], tmem>
  %free = warp.ring released %sums : !warp.buffer<1 x [128x128xf32], tmem>
  %full = warp.ring %sums : !warp.buffer<1 x [128x128xf32], tmem>
  %rows = warp.buffer : !warp.buffer<1 x [128xbf16]>
  %row_free = warp.ring released %rows : !warp.buffer<1 x [128xbf16]>
  %row_full = warp.ring %rows : !warp.buffer<1 x [128xbf16]>
  %out = warp.buffer : !warp.buffer<1 x [128x64xf32]>
  %staged = warp.ring released %out : !warp.buffer<1 x [128x64xf32]>
  warp.specialize {
    warp.role @math warps(4) {
      %t = warp.acquire %full
      %s = warp.slot %t : !nv.memdesc<128x128xf32, tmem>
      %sum = nv.tmem.load %s : !nv.memdesc<128x128xf32, tmem> -> tensor<128x128xf32>
      warp.release %t to %free generic
      %r = warp.acquire %row_full
      %rs = warp.slot %r : !nv.memdesc<128xbf16>
      %row = nv.local_load %rs : !nv.memdesc<128xbf16> -> tensor<128xbf16>
      warp.release %r to %row_free generic
      %row32 = arith.extf %row : tensor<128xbf16> to tensor<128xf32>
      %bias = nv.broadcast %row32 dim(0) : tensor<128xf32> -> tensor<128x128xf32>
      %v = arith.addf %sum, %bias : tensor<128x128xf32>
      %x = nv.extract %v[0, 0] : tensor<128x128xf32> -> tensor<128x64xf32>
      warp.store %x to %C[%c0, %c0] through %staged : tensor<128x64xf32>, !tile.desc<128x64xf32>
      %y = nv.extract %v[0, 64] : tensor<128x128xf32> -> tensor<128x64xf32>
      warp.store %y to %C[%c0, %c64] through %staged : tensor<128x64xf32>, !tile.desc<128x64xf32>
    }
  }
  return
}

// CHECK-LABEL: func.func @row_used_whole
// CHECK: nv.local_load {{.*}} -> tensor<128xf32>
// CHECK: warp.release
// CHECK: nv.tmem.load {{.*}} -> tensor<128x64xf32>
// CHECK-NOT: nv.local_load
func.func @row_used_whole(%C: !tile.desc<128x64xf32>, %to: i64, %at: tensor<128xi64>) attributes {tile.kernel} {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %sums = warp.buffer : !warp.buffer<1 x [128x128xf32], tmem>
  %free = warp.ring released %sums : !warp.buffer<1 x [128x128xf32], tmem>
  %full = warp.ring %sums : !warp.buffer<1 x [128x128xf32], tmem>
  %rows = warp.buffer : !warp.buffer<1 x [128xf32]>
  %row_free = warp.ring released %rows : !warp.buffer<1 x [128xf32]>
  %row_full = warp.ring %rows : !warp.buffer<1 x [128xf32]>
  %out = warp.buffer : !warp.buffer<1 x [128x64xf32]>
  %staged = warp.ring released %out : !warp.buffer<1 x [128x64xf32]>
  warp.specialize {
    warp.role @math warps(4) {
      %t = warp.acquire %full
      %s = warp.slot %t : !nv.memdesc<128x128xf32, tmem>
      %sum = nv.tmem.load %s : !nv.memdesc<128x128xf32, tmem> -> tensor<128x128xf32>
      warp.release %t to %free generic
      %r = warp.acquire %row_full
      %rs = warp.slot %r : !nv.memdesc<128xf32>
      %row = nv.local_load %rs : !nv.memdesc<128xf32> -> tensor<128xf32>
      warp.release %r to %row_free generic
      nv.global_store %row to %to[%at] : tensor<128xf32>, tensor<128xi64>
      %scale = nv.broadcast %row dim(0) : tensor<128xf32> -> tensor<128x128xf32>
      %v = arith.mulf %sum, %scale : tensor<128x128xf32>
      %x = nv.extract %v[0, 0] : tensor<128x128xf32> -> tensor<128x64xf32>
      warp.store %x to %C[%c0, %c0] through %staged : tensor<128x64xf32>, !tile.desc<128x64xf32>
      %y = nv.extract %v[0, 64] : tensor<128x128xf32> -> tensor<128x64xf32>
      warp.store %y to %C[%c0, %c64] through %staged : tensor<128x64xf32>, !tile.desc<128x64xf32>
    }
  }
  return
}

// What is left of the whole tiles goes, also where an operation has one of them twice and another one of both.
// CHECK-LABEL: func.func @square
// CHECK: nv.tmem.load {{.*}} -> tensor<128x64xf32>
// CHECK: warp.store
// CHECK: nv.tmem.load {{.*}} -> tensor<128x64xf32>
// CHECK: warp.store
// CHECK-NOT: tensor<128x128
// CHECK: return
func.func @square(%C: !tile.desc<128x64xbf16>) attributes {tile.kernel} {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %sums = warp.buffer : !warp.buffer<1 x [128x128xf32], tmem>
  %free = warp.ring released %sums : !warp.buffer<1 x [128x128xf32], tmem>
  %full = warp.ring %sums : !warp.buffer<1 x [128x128xf32], tmem>
  %out = warp.buffer : !warp.buffer<1 x [128x64xbf16]>
  %staged = warp.ring released %out : !warp.buffer<1 x [128x64xbf16]>
  warp.specialize {
    warp.role @math warps(4) {
      %t = warp.acquire %full
      %s = warp.slot %t : !nv.memdesc<128x128xf32, tmem>
      %sum = nv.tmem.load %s : !nv.memdesc<128x128xf32, tmem> -> tensor<128x128xf32>
      warp.release %t to %free generic
      %double = arith.addf %sum, %sum : tensor<128x128xf32>
      %v = arith.mulf %double, %sum : tensor<128x128xf32>
      %w = arith.mulf %v, %v : tensor<128x128xf32>
      %h = arith.truncf %w : tensor<128x128xf32> to tensor<128x128xbf16>
      %x = nv.extract %h[0, 0] : tensor<128x128xbf16> -> tensor<128x64xbf16>
      warp.store %x to %C[%c0, %c0] through %staged : tensor<128x64xbf16>, !tile.desc<128x64xbf16>
      %y = nv.extract %h[0, 64] : tensor<128x128xbf16> -> tensor<128x64xbf16>
      warp.store %y to %C[%c0, %c64] through %staged : tensor<128x64xbf16>, !tile.desc<128x64xbf16>
    }
  }
  return
}
