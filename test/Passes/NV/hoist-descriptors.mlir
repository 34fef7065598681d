// RUN: kernel-opt %s --nv-hoist-descriptors --split-input-file --verify-diagnostics | FileCheck %s

!tile = !nv.memdesc<64x128xbf16, #nv.smem<swizzle = 128>>

// The map of a descriptor: boxes as wide as the swizzle, innermost first, unit dimensions put back. L2 fetches 128 bytes at
// a time. Parameters follow the arguments one by one; the launch comes from the kernel's attributes.
// CHECK-LABEL: func.func @kernel(
// CHECK-SAME: nv.tensor_map = {argument = 0 : i64, box = [64, 1, 64, 1], element = "bf16", fill = "zero", interleave = "none", kind = "tensor_map", l2_promotion = 128 : i64, swizzle = 128 : i64}
// CHECK-SAME: tileloom.recipe = {
// CHECK-SAME: arguments = [{element = "bf16", kind = "tensor", name = "a", rank = 4 : i64},
// CHECK-SAME: {element = "f32", kind = "pointer", name = "p"}, {element = "i32", kind = "scalar", name = "arg2"}
// CHECK-SAME: kernel = "kernel"
// CHECK-SAME: launch = {cluster = [2, 1, 1],
// CHECK-SAME: grid = {per_sm = 2 : i64, persistent = true, tiles = ["m", 64]}, shared_bytes = 1000 : i64, threads = 384 : i64}
// CHECK-SAME: parameters = [{argument = 0 : i64, box = [64, 1, 64, 1]{{.*}}}, {argument = 1 : i64, kind = "argument"}, {argument = 2 : i64, kind = "argument"}
func.func @kernel(%A: !tile.desc<1x64x1x128xbf16> {tile.name = "a"}, %p: i64 {tile.name = "p", tile.pointer = f32}, %i: i32, %v: !tile)
    attributes {tile.kernel, nv.threads = 384 : i64, nv.shared_bytes = 1000 : i64, nv.tiles = ["m", 64],
                warp.launch = #warp.launch<cluster = 2, perSm = 2>} {
  nv.tma.load %A[%i, %i, %i, %i] to %v : !tile.desc<1x64x1x128xbf16>, !tile
  return
}

// -----

!half = !nv.memdesc<32x32xf8E4M3FN, #nv.smem<swizzle = 32>>
!plain = !nv.memdesc<8xf32, #nv.smem<swizzle = 0>>

// Narrow tiles have narrower swizzles, lists none. Loads and stores through one descriptor share its map.
// CHECK-LABEL: func.func @swizzles(
// CHECK-SAME: %{{.*}}: !tile.desc<32x32xf8E4M3FN> {nv.tensor_map = {argument = 0 : i64, box = [32, 32], element = "e4m3"{{[^}]*}}swizzle = 32 : i64}}
// CHECK-SAME: %{{.*}}: !tile.desc<1x8xf32> {nv.tensor_map = {argument = 1 : i64, box = [8, 1], element = "f32"{{[^}]*}}swizzle = 0 : i64}}
func.func @swizzles(%A: !tile.desc<32x32xf8E4M3FN>, %B: !tile.desc<1x8xf32>, %v: !half, %w: !plain, %i: i32) attributes {tile.kernel} {
  nv.tma.load %A[%i, %i] to %v : !tile.desc<32x32xf8E4M3FN>, !half
  nv.tma.store %v to %A[%i, %i] : !half, !tile.desc<32x32xf8E4M3FN>
  nv.tma.load %B[%i, %i] to %w : !tile.desc<1x8xf32>, !plain
  return
}

// -----

!merged = !nv.memdesc<64x128xbf16, #nv.smem<swizzle = 128>>

// A view that counts rows by fewer indices than the box: the map has the box's own extents.
// CHECK-LABEL: func.func @merged(
// CHECK-SAME: box = [64, 8, 1, 8, 1]
func.func @merged(%A: !tile.desc<1x8x1x8x128xbf16>, %v: !merged, %i: i32) attributes {tile.kernel} {
  nv.tma.load %A[%i, %i, %i, %i, %i] to %v : !tile.desc<1x8x1x8x128xbf16>, !merged
  nv.tma.store %v to %A[%i, %i, %i, %i, %i] : !merged, !tile.desc<1x8x1x8x128xbf16>
  return
}

// -----

// CHECK-LABEL: func.func @not_a_kernel(
// CHECK-NOT: nv.tensor_map
// CHECK-NOT: tileloom.recipe
func.func @not_a_kernel(%A: !tile.desc<32x32xbf16>) {
  return
}

// -----

// What nothing uses stays an argument for the host; it is no parameter of the kernel, whose others follow.
// CHECK-LABEL: func.func @unused(
// CHECK-SAME: %{{[^:]*}}: i32)
// CHECK-SAME: arguments = [{element = "bf16", kind = "tensor", name = "arg0", rank = 2 : i64}, {element = "i32", kind = "scalar", name = "arg1"}]
// CHECK-SAME: parameters = [{argument = 1 : i64, kind = "argument"}]
func.func @unused(%A: !tile.desc<32x512xbf16>, %i: i32) attributes {tile.kernel} {
  return
}

// -----

!wide = !nv.memdesc<64x64xbf16, #nv.smem<swizzle = 128>>
!other = !nv.memdesc<64x64xbf16, #nv.smem<swizzle = 64>>

func.func @two_layouts(%A: !tile.desc<64x64xbf16>, %v: !wide, %w: !other, %i: i32) attributes {tile.kernel} {
  nv.tma.load %A[%i, %i] to %v : !tile.desc<64x64xbf16>, !wide
  // expected-error@+1 {{view layout: expected the same for all copies through one descriptor, found shared [64, 64] x 16 bits, swizzle}}
  nv.tma.load %A[%i, %i] to %w : !tile.desc<64x64xbf16>, !other
  return
}

// -----

func.func @other_use(%A: !tile.desc<32x32xbf16>) -> !tile.desc<32x32xbf16> attributes {tile.kernel} {
  // expected-error@+1 {{descriptor: expected to be used by TMA copies only}}
  return %A : !tile.desc<32x32xbf16>
}

// -----

// A plain kernel gives its grid as expressions of its arguments; what the code relies on is checked at launch.
// CHECK-LABEL: func.func @plain
// CHECK-SAME: arguments = [{divisible = 16 : i64, element = "bf16", kind = "pointer", name = "x"}, {element = "i32", kind = "scalar", name = "arg1"}]
// CHECK-SAME: grid = {persistent = false, x = {argument = 1 : i64}, y = 2 : i64}
func.func @plain(%x: i64 {tile.name = "x", tile.pointer = bf16, tile.divisibility = 16 : i32}, %n: i32)
    attributes {tile.kernel, warp.launch = #warp.launch<persistent = false>, nv.grid = [{argument = 1}, 2]} {
  return
}

// -----

!column = !nv.memdesc<64xf32, #nv.smem<swizzle = 0>>

func.func @column(%A: !tile.desc<64x1xf32>, %v: !column, %i: i32) attributes {tile.kernel} {
  // expected-error@+1 {{box rows: expected a multiple of 16 bytes, found 1 elements of 'f32'}}
  nv.tma.load %A[%i, %i] to %v : !tile.desc<64x1xf32>, !column
  return
}

// -----

// Without a grid of its own the caller gives one at the launch.
// CHECK-LABEL: func.func @given
// CHECK-SAME: grid = {given = true}
func.func @given(%n: i32) attributes {tile.kernel, warp.launch = #warp.launch<persistent = false>} {
  return
}
