// RUN: kernel-opt %s --canonicalize --cse | FileCheck %s

// A conversion to the same layout is no conversion.
// CHECK-LABEL: func.func @same_layout(
// CHECK-SAME: %[[T:.*]]: tensor<64x64xf32>
func.func @same_layout(%t: tensor<64x64xf32>) -> tensor<64x64xf32> {
  // CHECK-NOT: nv.convert_layout
  %l = nv.convert_layout %t : tensor<64x64xf32> -> tensor<64x64xf32>
  // CHECK: return %[[T]]
  return %l : tensor<64x64xf32>
}

// CHECK-LABEL: func.func @another_layout
func.func @another_layout(%t: tensor<64x64xf32>) -> tensor<64x64xf32, #nv.wgmma_acc<>> {
  // CHECK: nv.convert_layout
  %l = nv.convert_layout %t : tensor<64x64xf32> -> tensor<64x64xf32, #nv.wgmma_acc<>>
  return %l : tensor<64x64xf32, #nv.wgmma_acc<>>
}

// Element-wise tile operations and views are pure, copies and waits are not.
// CHECK-LABEL: func.func @effects
func.func @effects(%a: !nv.memdesc<64x64xbf16>, %A: !tile.desc<64x64xbf16>, %i: i32, %g: i64) {
  // CHECK-NOT: nv.memdesc.trans
  %t = nv.memdesc.trans %a : !nv.memdesc<64x64xbf16> -> !nv.memdesc<64x64xbf16>
  // CHECK: nv.tma.load
  nv.tma.load %A[%i, %i] to %a : !tile.desc<64x64xbf16>, !nv.memdesc<64x64xbf16>
  // CHECK: nv.wgmma
  %d = nv.wgmma %a, %a : !nv.memdesc<64x64xbf16>, !nv.memdesc<64x64xbf16> -> tensor<64x64xf32>
  // CHECK: nv.wgmma.wait
  %w = nv.wgmma.wait %d pending(0) : tensor<64x64xf32>
  // CHECK-NOT: nv.reduce
  %r = nv.reduce add %w dim(1) : tensor<64x64xf32> -> tensor<64xf32>
  // CHECK: nv.atomic_add
  // CHECK: nv.atomic_add
  %x = nv.atomic_add %g[%g], %i : i32
  %y = nv.atomic_add %g[%g], %i : i32
  // CHECK: return
  return
}

// Barriers and slots of equal shape are different storage.
// CHECK-LABEL: func.func @allocations
func.func @allocations() -> (i32, i32) {
  // CHECK-COUNT-2: nv.alloc
  %a = nv.alloc 2 x 1024 align 128 : i32
  %b = nv.alloc 2 x 1024 align 128 : i32
  return %a, %b : i32, i32
}
