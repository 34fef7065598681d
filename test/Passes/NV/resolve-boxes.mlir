// RUN: kernel-opt %s --nv-resolve-boxes --split-input-file --verify-diagnostics | FileCheck %s

!half = !nv.memdesc<64x64xbf16, #nv.smem<swizzle = 128>>
!whole = !nv.memdesc<128x64xbf16, #nv.smem<swizzle = 128>>

// A descriptor that is only seen through one other box has that box itself; of a chain the last counts.
// CHECK-LABEL: func.func @one_box(
// CHECK-SAME: %[[A:.*]]: !tile.desc<64x64xbf16>, %{{[^:]*}}: !nv.memdesc{{[^:]*}}, %{{[^:]*}}: i32)
// CHECK-NOT: tile.rebox
// CHECK: nv.tma.load %[[A]][
func.func @one_box(%a: !tile.desc<128x64xbf16>, %v: !half, %i: i32) attributes {tile.kernel} {
  %b = tile.rebox %a : !tile.desc<128x64xbf16> -> !tile.desc<32x64xbf16>
  %c = tile.rebox %b : !tile.desc<32x64xbf16> -> !tile.desc<64x64xbf16>
  nv.tma.load %c[%i, %i] to %v : !tile.desc<64x64xbf16>, !half
  return
}

// -----

!half = !nv.memdesc<64x64xbf16, #nv.smem<swizzle = 128>>
!whole = !nv.memdesc<128x64xbf16, #nv.smem<swizzle = 128>>

// Each further box is an argument at the end that shares the tensor; two views of one box share it.
// CHECK-LABEL: func.func @two_boxes(
// CHECK-SAME: %[[A:.*]]: !tile.desc<128x64xbf16>, %{{.*}}: i32, %[[B:.*]]: !tile.desc<64x64xbf16> {tile.same_as = 0 : i64})
// CHECK-NOT: tile.rebox
// CHECK: nv.tma.load %[[A]][
// CHECK-COUNT-2: nv.tma.load %[[B]][
func.func @two_boxes(%a: !tile.desc<128x64xbf16>, %v: !half, %w: !whole, %i: i32) attributes {tile.kernel} {
  %b = tile.rebox %a : !tile.desc<128x64xbf16> -> !tile.desc<64x64xbf16>
  %c = tile.rebox %a : !tile.desc<128x64xbf16> -> !tile.desc<64x64xbf16>
  nv.tma.load %a[%i, %i] to %w : !tile.desc<128x64xbf16>, !whole
  nv.tma.load %b[%i, %i] to %v : !tile.desc<64x64xbf16>, !half
  nv.tma.load %c[%i, %i] to %v : !tile.desc<64x64xbf16>, !half
  return
}

// -----

!half = !nv.memdesc<64x64xbf16, #nv.smem<swizzle = 128>>

func.func @not_an_argument(%p: i1, %a: !tile.desc<128x64xbf16>, %b: !tile.desc<128x64xbf16>, %v: !half, %i: i32) attributes {tile.kernel} {
  %s = arith.select %p, %a, %b : !tile.desc<128x64xbf16>
  // expected-error @+1 {{source: expected a kernel argument, found another value}}
  %c = tile.rebox %s : !tile.desc<128x64xbf16> -> !tile.desc<64x64xbf16>
  nv.tma.load %c[%i, %i] to %v : !tile.desc<64x64xbf16>, !half
  return
}
