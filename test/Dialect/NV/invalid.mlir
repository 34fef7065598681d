// RUN: kernel-opt %s --split-input-file --verify-diagnostics

// expected-error@+1 {{memory tile rank: expected at least 1, found 0}}
func.func private @rank(!nv.memdesc<f32>)

// -----

// expected-error@+1 {{memory tile extents: expected positive values}}
func.func private @extents(!nv.memdesc<4x0xf32>)

// -----

// expected-error@+1 {{memory tile element type: expected an integer or float, found 'index'}}
func.func private @element(!nv.memdesc<4xindex>)

// -----

// expected-error@+1 {{tensor memory tile rank: expected 2, found 1}}
func.func private @tmem_rank(!nv.memdesc<4xf32, tmem>)

// -----

// expected-error@+1 {{swizzle width: expected 0, 32, 64 or 128 bytes, found 48}}
func.func private @swizzle(!nv.memdesc<4x64xbf16, #nv.smem<swizzle = 48>>)

// -----

func.func @slice_offsets(%a: !nv.memdesc<128x64xbf16>, %i: i32) {
  // expected-error@+1 {{offsets: expected 2, found 1}}
  %s = nv.memdesc.slice %a[%i] : !nv.memdesc<128x64xbf16> -> !nv.memdesc<64x64xbf16>
  return
}

// -----

func.func @slice_rank(%a: !nv.memdesc<128x64xbf16>, %i: i32) {
  // expected-error@+1 {{result rank: expected 2, found 1}}
  %s = nv.memdesc.slice %a[%i, %i] : !nv.memdesc<128x64xbf16> -> !nv.memdesc<64xbf16>
  return
}

// -----

func.func @slice_element(%a: !nv.memdesc<128x64xbf16>, %i: i32) {
  // expected-error@+1 {{result element type: expected 'bf16', found 'f16'}}
  %s = nv.memdesc.slice %a[%i, %i] : !nv.memdesc<128x64xbf16> -> !nv.memdesc<64x64xf16>
  return
}

// -----

func.func @slice_extents(%a: !nv.memdesc<128x64xbf16>, %i: i32) {
  // expected-error@+1 {{result extents: expected at most 128x64, found 64x128}}
  %s = nv.memdesc.slice %a[%i, %i] : !nv.memdesc<128x64xbf16> -> !nv.memdesc<64x128xbf16>
  return
}

// -----

func.func @trans_rank(%a: !nv.memdesc<2x64x64xbf16>) {
  // expected-error@+1 {{source rank: expected 2, found 3}}
  %t = nv.memdesc.trans %a : !nv.memdesc<2x64x64xbf16> -> !nv.memdesc<64x64xbf16>
  return
}

// -----

func.func @trans_shape(%a: !nv.memdesc<128x64xbf16>, %i: i32) {
  // expected-error@+1 {{result shape: expected 64x128, found 128x64}}
  %t = nv.memdesc.trans %a : !nv.memdesc<128x64xbf16> -> !nv.memdesc<128x64xbf16>
  return
}

// -----

func.func @trans_element(%a: !nv.memdesc<128x64xbf16>, %i: i32) {
  // expected-error@+1 {{result element type: expected 'bf16', found 'f16'}}
  %t = nv.memdesc.trans %a : !nv.memdesc<128x64xbf16> -> !nv.memdesc<64x128xf16>
  return
}

// -----

func.func @load_coordinates(%d: !tile.desc<64x64xbf16>, %i: i32, %v: !nv.memdesc<64x64xbf16>) {
  // expected-error@+1 {{coordinates: expected 2 for '!tile.desc<64x64xbf16>', found 1}}
  nv.tma.load %d[%i] to %v : !tile.desc<64x64xbf16>, !nv.memdesc<64x64xbf16>
  return
}

// -----

func.func @load_element(%d: !tile.desc<64x64xbf16>, %i: i32, %v: !nv.memdesc<64x64xf16>) {
  // expected-error@+1 {{view element type: expected 'bf16', found 'f16'}}
  nv.tma.load %d[%i, %i] to %v : !tile.desc<64x64xbf16>, !nv.memdesc<64x64xf16>
  return
}

// -----

func.func @load_shape(%d: !tile.desc<64x64xbf16>, %i: i32, %v: !nv.memdesc<64x32xbf16>) {
  // expected-error@+1 {{view shape: expected 64x64 (the box of '!tile.desc<64x64xbf16>'), found 64x32}}
  nv.tma.load %d[%i, %i] to %v : !tile.desc<64x64xbf16>, !nv.memdesc<64x32xbf16>
  return
}

// -----

func.func @load_space(%d: !tile.desc<64x64xf32>, %i: i32, %v: !nv.memdesc<64x64xf32, tmem>) {
  // expected-error@+1 {{view space: expected shared memory, found tmem}}
  nv.tma.load %d[%i, %i] to %v : !tile.desc<64x64xf32>, !nv.memdesc<64x64xf32, tmem>
  return
}

// -----

func.func @store_shape(%d: !tile.desc<64x64xbf16>, %i: i32, %v: !nv.memdesc<32x64xbf16>) {
  // expected-error@+1 {{view shape: expected 64x64 (the box of '!tile.desc<64x64xbf16>'), found 32x64}}
  nv.tma.store %v to %d[%i, %i] : !nv.memdesc<32x64xbf16>, !tile.desc<64x64xbf16>
  return
}

// -----

func.func @bulk_pending() {
  // expected-error@+1 {{attribute 'pending' failed to satisfy constraint: 64-bit signless integer attribute whose value is non-negative}}
  nv.bulk.wait -1
  return
}

// -----

func.func @wgmma_rank(%a: !nv.memdesc<2x64x64xbf16>, %b: !nv.memdesc<64x64xbf16>) {
  // expected-error@+1 {{operand ranks: expected 2, found a 3, b 2, result 2}}
  %d = nv.wgmma %a, %b : !nv.memdesc<2x64x64xbf16>, !nv.memdesc<64x64xbf16> -> tensor<64x64xf32>
  return
}

// -----

func.func @wgmma_inner(%a: !nv.memdesc<64x32xbf16>, %b: !nv.memdesc<64x64xbf16>) {
  // expected-error@+1 {{inner extents: expected equal, found a 64x32 and b 64x64}}
  %d = nv.wgmma %a, %b : !nv.memdesc<64x32xbf16>, !nv.memdesc<64x64xbf16> -> tensor<64x64xf32>
  return
}

// -----

func.func @wgmma_result(%a: !nv.memdesc<64x64xbf16>, %b: !nv.memdesc<64x64xbf16>) {
  // expected-error@+1 {{result shape: expected 64x64, found 64x32}}
  %d = nv.wgmma %a, %b : !nv.memdesc<64x64xbf16>, !nv.memdesc<64x64xbf16> -> tensor<64x32xf32>
  return
}

// -----

func.func @wgmma_rows(%a: !nv.memdesc<32x64xbf16>, %b: !nv.memdesc<64x64xbf16>) {
  // expected-error@+1 {{rows: expected a multiple of 64, found 32}}
  %d = nv.wgmma %a, %b : !nv.memdesc<32x64xbf16>, !nv.memdesc<64x64xbf16> -> tensor<32x64xf32>
  return
}

// -----

func.func @wgmma_columns(%a: !nv.memdesc<64x64xbf16>, %b: !nv.memdesc<64x60xbf16>) {
  // expected-error@+1 {{columns: expected a multiple of 8, found 60}}
  %d = nv.wgmma %a, %b : !nv.memdesc<64x64xbf16>, !nv.memdesc<64x60xbf16> -> tensor<64x60xf32>
  return
}

// -----

func.func @wgmma_element(%a: !nv.memdesc<64x64xbf16>, %b: !nv.memdesc<64x64xf32>) {
  // expected-error@+1 {{element types: expected equal widths, found a 'bf16' and b 'f32'}}
  %d = nv.wgmma %a, %b : !nv.memdesc<64x64xbf16>, !nv.memdesc<64x64xf32> -> tensor<64x64xf32>
  return
}

// -----

func.func @wgmma_k(%a: tensor<64x24xbf16>, %b: !nv.memdesc<24x64xbf16>) {
  // expected-error@+1 {{inner extent: expected a multiple of 16 for 'bf16' (32 bytes a step), found 24}}
  %d = nv.wgmma %a, %b : tensor<64x24xbf16>, !nv.memdesc<24x64xbf16> -> tensor<64x64xf32>
  return
}

// -----

func.func @wgmma_use_c(%a: !nv.memdesc<64x64xbf16>, %b: !nv.memdesc<64x64xbf16>, %p: i1) {
  // expected-error@+1 {{use_c: expected an accumulator operand, found none}}
  %d = nv.wgmma %a, %b use_c(%p) : !nv.memdesc<64x64xbf16>, !nv.memdesc<64x64xbf16> -> tensor<64x64xf32>
  return
}

// -----

func.func @wgmma_integer_sum(%a: !nv.memdesc<64x64xi8>, %b: !nv.memdesc<64x64xi8>) {
  // expected-error@+1 {{accumulator type: expected i32 for 'i8' operands, found 'f32'}}
  %d = nv.wgmma %a, %b : !nv.memdesc<64x64xi8>, !nv.memdesc<64x64xi8> -> tensor<64x64xf32>
  return
}

// -----

func.func @wgmma_integer_columns(%a: !nv.memdesc<64x64xi8>, %b: !nv.memdesc<64x40xi8>) {
  // expected-error@+1 {{columns: expected 8, 16, 24 or a multiple of 16 for integers, found 40}}
  %d = nv.wgmma %a, %b : !nv.memdesc<64x64xi8>, !nv.memdesc<64x40xi8> -> tensor<64x40xi32>
  return
}

// -----

func.func @wgmma_mixed(%a: !nv.memdesc<64x64xi8>, %b: !nv.memdesc<64x64xf8E4M3FN>) {
  // expected-error@+1 {{element types: expected both floats or both integers, found a 'i8' and b 'f8E4M3FN'}}
  %d = nv.wgmma %a, %b : !nv.memdesc<64x64xi8>, !nv.memdesc<64x64xf8E4M3FN> -> tensor<64x64xi32>
  return
}

// -----

func.func @wgmma_satfinite(%a: !nv.memdesc<64x64xf16>, %b: !nv.memdesc<64x64xf16>) {
  // expected-error@+1 {{satfinite: expected operands of 8-bit integers, found 'f16'}}
  %d = nv.wgmma %a, %b satfinite : !nv.memdesc<64x64xf16>, !nv.memdesc<64x64xf16> -> tensor<64x64xf32>
  return
}

// -----

func.func @wgmma_accumulator(%a: !nv.memdesc<64x64xbf16>, %b: !nv.memdesc<64x64xbf16>) {
  // expected-error@+1 {{accumulator type: expected f32 for 'bf16' operands, found 'f16'}}
  %d = nv.wgmma %a, %b : !nv.memdesc<64x64xbf16>, !nv.memdesc<64x64xbf16> -> tensor<64x64xf16>
  return
}

// -----

func.func @extract_rank(%t: tensor<64x64xf32>) {
  // expected-error@+1 {{ranks: expected offsets and result of rank 2, found 1 and 2}}
  %e = nv.extract %t[0] : tensor<64x64xf32> -> tensor<64x32xf32>
  return
}

// -----

func.func @extract_range(%t: tensor<64x64xf32>) {
  // expected-error@+1 {{result range: expected within 64x64, found offset 48 extent 32}}
  %e = nv.extract %t[0, 48] : tensor<64x64xf32> -> tensor<64x32xf32>
  return
}

// -----

func.func @concat_none() {
  // expected-error@+1 {{inputs: expected at least one, found none}}
  %c = "nv.concat"() <{dim = 0 : i64}> : () -> tensor<64x64xf32>
  return
}

// -----

func.func @concat_dim(%t: tensor<64x64xf32>) {
  // expected-error@+1 {{dim: expected 0 to 1, found 2}}
  %c = nv.concat %t, %t dim(2) : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x128xf32>
  return
}

// -----

func.func @concat_types(%t: tensor<64x64xf32>, %u: tensor<32x64xf32>) {
  // expected-error@+1 {{inputs: expected types equal but for dimension 1, found 'tensor<64x64xf32>' and 'tensor<32x64xf32>'}}
  %c = nv.concat %t, %u dim(1) : tensor<64x64xf32>, tensor<32x64xf32> -> tensor<64x128xf32>
  return
}

// -----

func.func @concat_shape(%t: tensor<64x64xf32>) {
  // expected-error@+1 {{result shape: expected 128x64, found 64x128}}
  %c = nv.concat %t, %t dim(0) : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x128xf32>
  return
}

// -----

func.func @row_slot_count(%t: tensor<64x64xf32>) {
  // expected-error@+1 {{count: expected a divisor of the 64 rows above 1, found 3}}
  %s = nv.row_slot %t 0 of 3 : tensor<64x64xf32> -> tensor<32x64xf32>
  return
}

// -----

func.func @row_slot_slot(%t: tensor<64x64xf32>) {
  // expected-error@+1 {{slot: expected 0 to 1, found 2}}
  %s = nv.row_slot %t 2 of 2 : tensor<64x64xf32> -> tensor<32x64xf32>
  return
}

// -----

func.func @row_slot_shape(%t: tensor<64x64xf32>) {
  // expected-error@+1 {{result shape: expected 32x64, found 16x64}}
  %s = nv.row_slot %t 0 of 2 : tensor<64x64xf32> -> tensor<16x64xf32>
  return
}

// -----

func.func @join_one(%t: tensor<64x64xf32>) {
  // expected-error@+1 {{inputs: expected at least 2, found 1}}
  %j = nv.join_row_slots %t : tensor<64x64xf32> -> tensor<64x64xf32>
  return
}

// -----

func.func @join_shape(%t: tensor<64x64xf32>) {
  // expected-error@+1 {{result shape: expected 128x64, found 64x64}}
  %j = nv.join_row_slots %t, %t : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
  return
}

// -----

func.func @reduce_dim(%t: tensor<64x64xf32>) {
  // expected-error@+1 {{dim: expected 0 to 1, found 2}}
  %r = nv.reduce add %t dim(2) : tensor<64x64xf32> -> tensor<64xf32>
  return
}

// -----

func.func @reduce_shape(%t: tensor<64x64xf32>) {
  // expected-error@+1 {{result shape: expected 64, found 32}}
  %r = nv.reduce add %t dim(1) : tensor<64x64xf32> -> tensor<32xf32>
  return
}

// -----

func.func @broadcast_dim(%t: tensor<64xf32>) {
  // expected-error@+1 {{dim: expected 0 to 1, found 2}}
  %b = nv.broadcast %t dim(2) : tensor<64xf32> -> tensor<64x32xf32>
  return
}

// -----

func.func @broadcast_shape(%t: tensor<64xf32>) {
  // expected-error@+1 {{source shape: expected 32, found 64}}
  %b = nv.broadcast %t dim(0) : tensor<64xf32> -> tensor<64x32xf32>
  return
}

// -----

func.func @local_store_element(%t: tensor<64x64xf32>, %s: !nv.memdesc<64x64xbf16>) {
  // expected-error@+1 {{element types: expected equal, found 'f32' and 'bf16'}}
  nv.local_store %t to %s : tensor<64x64xf32>, !nv.memdesc<64x64xbf16>
  return
}

// -----

func.func @local_load_paired(%s: !nv.memdesc<64x64xi8, #nv.smem<paired = true>>) {
  // expected-error@+1 {{layout: expected elements in their order, found a paired tile, which only products read}}
  %t = nv.local_load %s : !nv.memdesc<64x64xi8, #nv.smem<paired = true>> -> tensor<64x64xi8>
  return
}

// -----

func.func @local_transpose_element(%s: !nv.memdesc<64x64xbf16>, %t: !nv.memdesc<64x64xbf16>) {
  // expected-error@+1 {{element types: expected equal ones of 8 bits, found 'bf16' and 'bf16'}}
  nv.local_transpose %s to %t : !nv.memdesc<64x64xbf16>, !nv.memdesc<64x64xbf16>
  return
}

// -----

func.func @local_transpose_rows(%s: !nv.memdesc<48x64xi8>, %t: !nv.memdesc<64x48xi8>) {
  // expected-error@+1 {{source: expected a multiple of 32 rows and of 16 columns, found 48x64}}
  nv.local_transpose %s to %t : !nv.memdesc<48x64xi8>, !nv.memdesc<64x48xi8>
  return
}

// -----

func.func @local_transpose_shape(%s: !nv.memdesc<64x32xi8>, %t: !nv.memdesc<64x32xi8>) {
  // expected-error@+1 {{target: expected the shape of the source, reversed, found 64x32 for 64x32}}
  nv.local_transpose %s to %t : !nv.memdesc<64x32xi8>, !nv.memdesc<64x32xi8>
  return
}

// -----

func.func @local_load_shape(%s: !nv.memdesc<64x64xf32>) {
  // expected-error@+1 {{shapes: expected equal, found 64x32 and 64x64}}
  %t = nv.local_load %s : !nv.memdesc<64x64xf32> -> tensor<64x32xf32>
  return
}

// -----

func.func @fold_columns(%t: tensor<64x64xf32>) {
  // expected-error@+1 {{result shape: expected 64 rows and a divisor of 64 columns, found 64x24}}
  %f = nv.fold add %t : tensor<64x64xf32> -> tensor<64x24xf32>
  return
}

// -----

func.func @join_types(%t: tensor<32x64xf32>, %u: tensor<32x64xf16>) {
  // expected-error@+1 {{inputs: expected one shape and element type, found 'tensor<32x64xf32>' and 'tensor<32x64xf16>'}}
  %j = nv.join_row_slots %t, %u : tensor<32x64xf32>, tensor<32x64xf16> -> tensor<64x64xf32>
  return
}

// -----

func.func @reduce_scalar(%t: tensor<64xf32>) {
  // expected-error@+1 {{result: expected a scalar 'f32' (of a tile of rank 1), found 'tensor<1xf32>'}}
  %r = nv.reduce add %t dim(0) : tensor<64xf32> -> tensor<1xf32>
  return
}

// -----

func.func @scan_dim(%t: tensor<64xf32>) {
  // expected-error@+1 {{dim: expected 0 to 0, found 1}}
  %r = nv.scan add %t dim(1) : tensor<64xf32>
  return
}

// -----

func.func @trans_order(%t: tensor<64x32xf32>) {
  // expected-error@+1 {{order: expected a permutation of 0 to 1}}
  %r = nv.trans %t [1, 1] : tensor<64x32xf32> -> tensor<32x64xf32>
  return
}

// -----

func.func @trans_shape(%t: tensor<64x32xf32>) {
  // expected-error@+1 {{result: expected 32x64 of 'f32', found 'tensor<64x32xf32>'}}
  %r = nv.trans %t [1, 0] : tensor<64x32xf32> -> tensor<64x32xf32>
  return
}

// -----

func.func @reshape_elements(%t: tensor<64x32xf32>) {
  // expected-error@+1 {{result: expected 2048 elements of 'f32', found 'tensor<1024xf32>'}}
  %r = nv.reshape %t : tensor<64x32xf32> -> tensor<1024xf32>
  return
}

// -----

func.func @take_dim(%t: tensor<64x32xf32>, %i: tensor<64x8xi32>) {
  // expected-error@+1 {{dim: expected 0 to 1, found 2}}
  %r = nv.take %t[%i] dim(2) : tensor<64x32xf32>, tensor<64x8xi32> -> tensor<64x8xf32>
  return
}

// -----

func.func @take_indices(%t: tensor<64x32xf32>, %i: tensor<64x8xi16>) {
  // expected-error@+1 {{indices: expected i32 elements, found 'tensor<64x8xi16>'}}
  %r = nv.take %t[%i] dim(1) : tensor<64x32xf32>, tensor<64x8xi16> -> tensor<64x8xf32>
  return
}

// -----

func.func @take_extents(%t: tensor<64x32xf32>, %i: tensor<32x8xi32>) {
  // expected-error@+1 {{indices: expected the extents of 64x32 but along dimension 1, found 32x8}}
  %r = nv.take %t[%i] dim(1) : tensor<64x32xf32>, tensor<32x8xi32> -> tensor<32x8xf32>
  return
}

// -----

func.func @take_result(%t: tensor<64x32xf32>, %i: tensor<64x8xi32>) {
  // expected-error@+1 {{result: expected 64x8 of 'f32', found 'tensor<64x8xf16>'}}
  %r = nv.take %t[%i] dim(1) : tensor<64x32xf32>, tensor<64x8xi32> -> tensor<64x8xf16>
  return
}

// -----

func.func @histogram_source(%t: tensor<64xi16>) {
  // expected-error@+1 {{source: expected i32 elements, found 'tensor<64xi16>'}}
  %r = nv.histogram %t : tensor<64xi16> -> tensor<8xi32>
  return
}

// -----

func.func @histogram_result(%t: tensor<64xi32>) {
  // expected-error@+1 {{result: expected one dimension of i32, found 'tensor<8xi64>'}}
  %r = nv.histogram %t : tensor<64xi32> -> tensor<8xi64>
  return
}

// -----

func.func @mma_shapes(%a: tensor<16x16xbf16>, %b: tensor<32x8xbf16>, %c: tensor<16x8xf32>) {
  // expected-error@+1 {{shapes: expected MxK, KxN and MxN, found 16x16, 32x8 and 16x8}}
  %r = nv.mma %a, %b, %c : tensor<16x16xbf16>, tensor<32x8xbf16>, tensor<16x8xf32>
  return
}

// -----

func.func @mma_rows(%a: tensor<8x16xbf16>, %b: tensor<16x8xbf16>, %c: tensor<8x8xf32>) {
  // expected-error@+1 {{shapes: expected M a multiple of 16, N of 8 and K of 16, found 8x16 and 16x8}}
  %r = nv.mma %a, %b, %c : tensor<8x16xbf16>, tensor<16x8xbf16>, tensor<8x8xf32>
  return
}

// -----

func.func @mma_accumulator(%a: tensor<16x32xi8>, %b: tensor<32x8xi8>, %c: tensor<16x8xf32>) {
  // expected-error@+1 {{accumulator type: expected i32, found 'f32'}}
  %r = nv.mma %a, %b, %c : tensor<16x32xi8>, tensor<32x8xi8>, tensor<16x8xf32>
  return
}

// -----

func.func @other_without_mask(%p: i64, %o: tensor<64xi64>, %z: tensor<64xf32>) {
  // expected-error@+1 {{other: expected a mask beside it, found none}}
  %x = nv.global_load %p[%o] other(%z : tensor<64xf32>) : tensor<64xi64> -> tensor<64xf32>
  return
}

// -----

func.func @offset_shape(%p: i64, %o: tensor<32xi64>, %x: tensor<64xf32>) {
  // expected-error@+1 {{offset shape: expected 64, found 32}}
  nv.global_store %x to %p[%o] : tensor<64xf32>, tensor<32xi64>
  return
}

// -----

func.func @offset_type(%p: i64, %o: tensor<64xi16>, %x: tensor<64xf32>) {
  // expected-error@+1 {{offset: expected i32 or i64, found 'i16'}}
  nv.global_store %x to %p[%o] : tensor<64xf32>, tensor<64xi16>
  return
}

// -----

func.func @atomic_type(%p: i64, %o: tensor<64xi64>, %x: tensor<64xf32>) {
  // expected-error@+1 {{element type: expected i32 or i64, found 'f32'}}
  nv.global_reduce max %x to %p[%o] : tensor<64xf32>, tensor<64xi64>
  return
}

// -----

func.func @cas_without_compare(%p: i64, %o: i64, %x: i32) {
  // expected-error@+1 {{compare: expected an operand with cas, found none}}
  %old = nv.global_atomic cas %x to %p[%o] : i32, i64
  return
}

// -----

func.func @atomic_element(%p: i64, %o: i64, %x: f16) {
  // expected-error@+1 {{element type of xchg: expected 32 or 64 bits, found 'f16'}}
  %old = nv.global_atomic xchg %x to %p[%o] : f16, i64
  return
}

// -----

func.func @reduce_by_product(%p: i64, %o: tensor<64xi64>, %x: tensor<64xf32>) {
  // expected-error@+1 {{kind: expected add, max or min, found mul}}
  nv.global_reduce mul %x to %p[%o] : tensor<64xf32>, tensor<64xi64>
  return
}

// -----

func.func @store_reduce_kind(%s: !nv.memdesc<64x64xi32>, %D: !tile.desc<64x64xi32>, %i: i32) {
  // expected-error@+1 {{reduce: expected add, max, min, and, or or xor, found umax}}
  nv.tma.store %s to %D[%i, %i] reduce(umax) : !nv.memdesc<64x64xi32>, !tile.desc<64x64xi32>
  return
}

// -----

func.func @partial_element(%p: i64, %x: tensor<64x64xbf16>) {
  // expected-error@+1 {{element type: expected f32 or i32, found 'bf16'}}
  nv.store_partial %x to %p : tensor<64x64xbf16>
  return
}
