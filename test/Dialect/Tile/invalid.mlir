// RUN: kernel-opt %s --split-input-file --verify-diagnostics

// expected-error@+1 {{descriptor rank: expected 1 to 5, found 6}}
func.func private @rank(!tile.desc<1x1x1x1x1x1xf32>)

// -----

// expected-error@+1 {{descriptor rank: expected 1 to 5, found 0}}
func.func private @scalar(!tile.desc<f32>)

// -----

// expected-error@+1 {{descriptor box extents: expected positive values}}
func.func private @extents(!tile.desc<4x0xf32>)

// -----

// expected-error@+1 {{descriptor element type: expected an integer or float of 4, 6, 8, 16, 32 or 64 bits, found 'index'}}
func.func private @element(!tile.desc<4x4xindex>)

// -----

func.func @not_on_a_function() {
  // expected-error@+1 {{'tile.kernel' expected on a function, found on 'arith.constant'}}
  %c = arith.constant {tile.kernel} 0 : i32
  return
}

// -----

// expected-error@+1 {{'tile.kernel' expected a unit attribute, found 1 : i64}}
func.func @not_unit() attributes {tile.kernel = 1} {
  return
}

// -----

func.func @nested_tiles(%n: i32) {
  tile.for_each_tile (%i) in (%n) {
    // expected-error@+1 {{place: expected no loop over tiles around it, found one; give one loop all extents}}
    tile.for_each_tile (%j) in (%n) {
    }
  }
  return
}

// -----

func.func @store_reduce_kind(%D: !tile.desc<64x64xf32>, %x: tensor<64x64xf32>, %i: i32) {
  // expected-error@+1 {{kind: expected add, max, min, and, or or xor, found xchg}}
  tile.store_reduce xchg %x to %D[%i, %i] : tensor<64x64xf32>, !tile.desc<64x64xf32>
  return
}

// -----

func.func @store_reduce_element(%D: !tile.desc<64x64xf32>, %x: tensor<64x64xf32>, %i: i32) {
  // expected-error@+1 {{element type of max: expected f16, bf16, i32 or i64, found 'f32'}}
  tile.store_reduce max %x to %D[%i, %i] : tensor<64x64xf32>, !tile.desc<64x64xf32>
  return
}

// -----

func.func @store_reduce_shape(%D: !tile.desc<64x64xf32>, %x: tensor<64x32xf32>, %i: i32) {
  // expected-error@+1 {{tile shape: expected 64x64 without some unit dimensions, found 64x32}}
  tile.store_reduce add %x to %D[%i, %i] : tensor<64x32xf32>, !tile.desc<64x64xf32>
  return
}

// -----

func.func @cas_without_compare(%p: i64, %x: i32, %i: i32) {
  // expected-error@+1 {{compare: expected an operand with cas, found none}}
  %old = tile.atomic cas %x to %p[%i] : i32, i32 -> i32
  return
}

// -----

func.func @compare_without_cas(%p: i64, %x: i32, %i: i32) {
  // expected-error@+1 {{compare: expected none with add, found one}}
  %old = tile.atomic add %x to %p[%i] compare(%x : i32) : i32, i32 -> i32
  return
}

// -----

func.func @compare_type(%p: i64, %x: i32, %y: i64, %i: i32) {
  // expected-error@+1 {{compare: expected 'i32', found 'i64'}}
  %old = tile.atomic cas %x to %p[%i] compare(%y : i64) : i32, i32 -> i32
  return
}

// -----

func.func @atomic_element(%p: i64, %x: f32, %i: i32) {
  // expected-error@+1 {{element type of max: expected i32 or i64, found 'f32'}}
  %old = tile.atomic max %x to %p[%i] : f32, i32 -> f32
  return
}

// -----

func.func @exchange_element(%p: i64, %x: f16, %i: i32) {
  // expected-error@+1 {{element type of xchg: expected 32 or 64 bits, found 'f16'}}
  %old = tile.atomic xchg %x to %p[%i] : f16, i32 -> f16
  return
}

// -----

func.func @to_shared_use(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
  // expected-error@+1 {{uses: expected tile.dot and tile.trans, found 'math.exp2'}}
  %s = tile.to_shared %x : tensor<64x64xf32>
  %y = math.exp2 %s : tensor<64x64xf32>
  return %y : tensor<64x64xf32>
}

// -----

func.func @rows_of_another_number(%D: !tile.desc<8x4x64xf32>, %i: i32) {
  // expected-error@+1 {{tile shape: expected 8x4x64 without some unit dimensions, found 16x2x64}}
  %x = tile.load %D[%i, %i, %i] : !tile.desc<8x4x64xf32> -> tensor<16x2x64xf32>
  return
}

// -----

func.func @boxes_one_above_the_other(%D: !tile.desc<1x16x64xf32>, %i: i32) {
  // expected-error@+1 {{tile shape: expected 32x64 (2 boxes of 1x16x64), found 16x64}}
  %x = tile.load %D[%i, %i, %i, %i, %i, %i] : !tile.desc<1x16x64xf32> -> tensor<16x64xf32>
  return
}

// -----

func.func @a_part_of_a_place(%D: !tile.desc<1x16x64xf32>, %i: i32) {
  // expected-error@+1 {{coordinates: expected 3 (the descriptor's rank), found 5}}
  %x = tile.load %D[%i, %i, %i, %i, %i] : !tile.desc<1x16x64xf32> -> tensor<16x64xf32>
  return
}

// -----

// expected-error@+1 {{descriptor element type: expected an integer or float of 4, 6, 8, 16, 32 or 64 bits, found 'i256'}}
func.func private @wide_element(!tile.desc<8x8xi256>)

// -----

// expected-error@+1 {{descriptor element type: expected an integer or float of 4, 6, 8, 16, 32 or 64 bits, found 'i1'}}
func.func private @bits(!tile.desc<8x128xi1>)

// -----

func.func @store_of_a_point(%D: !tile.desc<1x1xf32>, %z: tensor<f32>, %i: i32) {
  // expected-error@+1 {{tile: expected at least one dimension, found 'tensor<f32>'}}
  tile.store %z to %D[%i, %i] : tensor<f32>, !tile.desc<1x1xf32>
  return
}

// -----

func.func @load_of_a_point(%D: !tile.desc<1x1xf32>, %i: i32) {
  // expected-error@+1 {{tile: expected at least one dimension, found 'tensor<f32>'}}
  %x = tile.load %D[%i, %i] : !tile.desc<1x1xf32> -> tensor<f32>
  return
}

// -----

func.func @gather_of_indices(%p: i64, %at: tensor<8xi32>) {
  // expected-error@+1 {{element type: expected i1, or an integer or float of 8, 16, 32 or 64 bits, found 'index'}}
  %x = tile.gather %p[%at] : tensor<8xi32> -> tensor<8xindex>
  return
}

// -----

func.func @gather_of_wide_integers(%p: i64, %at: tensor<8xi32>) {
  // expected-error@+1 {{element type: expected i1, or an integer or float of 8, 16, 32 or 64 bits, found 'i256'}}
  %x = tile.gather %p[%at] : tensor<8xi32> -> tensor<8xi256>
  return
}

// -----

func.func @gather_of_complex_numbers(%p: i64, %at: tensor<8xi32>) {
  // expected-error@+1 {{element type: expected i1, or an integer or float of 8, 16, 32 or 64 bits, found 'complex<f32>'}}
  %x = tile.gather %p[%at] : tensor<8xi32> -> tensor<8xcomplex<f32>>
  return
}

// -----

func.func @scatter_of_wide_floats(%p: i64, %at: i32, %x: f80) {
  // expected-error@+1 {{element type: expected i1, or an integer or float of 8, 16, 32 or 64 bits, found 'f80'}}
  tile.scatter %x to %p[%at] : f80, i32
  return
}

// -----

func.func @scatter_of_quadruples(%p: i64, %at: tensor<8xi32>, %x: tensor<8xf128>) {
  // expected-error@+1 {{element type: expected i1, or an integer or float of 8, 16, 32 or 64 bits, found 'f128'}}
  tile.scatter %x to %p[%at] : tensor<8xf128>, tensor<8xi32>
  return
}

// -----

// expected-error@+1 {{'tile.kernel' expected a function with a body, found a declaration}}
func.func private @declared(i32) attributes {tile.kernel}

// -----

// expected-error@+1 {{argument 1: 'tile.pointer' expected a type, found 1 : i32}}
func.func @pointer_to_a_number(%n: i32, %p: i64 {tile.pointer = 1 : i32}) attributes {tile.kernel} {
  return
}

// -----

// expected-error@+1 {{argument 0: 'tile.name' expected a string, found 3 : i64}}
func.func @numbered(%n: i32 {tile.name = 3}) attributes {tile.kernel} {
  return
}

// -----

// expected-error@+1 {{argument 0: 'tile.divisibility' expected a positive integer, found 0 : i32}}
func.func @multiple_of_zero(%n: i32 {tile.divisibility = 0 : i32}) attributes {tile.kernel} {
  return
}

// -----

func.func @unsigned_loop(%n: i32) attributes {tile.kernel} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  // expected-error@+1 {{in a kernel: expected bounds that are compared as signed, found 'unsigned'}}
  scf.for unsigned %i = %c0 to %n step %c1 : i32 {
  }
  return
}

// -----

func.func @much_too_large(%p: i64) attributes {tile.kernel} {
  // expected-error@+1 {{tile: expected at most 1048576 elements, found 134217728}}
  %at = tile.iota : tensor<134217728xi32>
  %x = tile.gather %p[%at] : tensor<134217728xi32> -> tensor<134217728xf32>
  tile.scatter %x to %p[%at] : tensor<134217728xf32>, tensor<134217728xi32>
  return
}

// -----

func.func @too_large(%p: i64, %x: f32) attributes {tile.kernel} {
  // expected-error@+1 {{tile: expected at most 1048576 elements, found 4096x257}}
  %t = tile.splat %x : f32 -> tensor<4096x257xf32>
  return
}

// -----

func.func @scales_missing(%a: tensor<64x64xf8E4M3FN>, %b: tensor<64x32xf8E4M3FN>) {
  // expected-error@+1 {{scales: expected at least one, found none}}
  %d = tile.dot_scaled %a, %b : tensor<64x64xf8E4M3FN>, tensor<64x32xf8E4M3FN> -> tensor<64x32xf32>
  return
}

// -----

func.func @scale_shape(%a: tensor<64x64xf8E4M3FN>, %b: tensor<64x32xf8E4M3FN>, %s: tensor<2x32xi8>) {
  // expected-error@+1 {{scale_b: expected 'tensor<32x2xi8>', found 'tensor<2x32xi8>'}}
  %d = tile.dot_scaled %a, %b scale(%s) : tensor<64x64xf8E4M3FN>, tensor<64x32xf8E4M3FN> scale tensor<2x32xi8> -> tensor<64x32xf32>
  return
}

// -----

func.func @scaled_k(%a: tensor<64x48xf8E4M3FN>, %b: tensor<48x32xf8E4M3FN>, %s: tensor<64x1xi8>) {
  // expected-error@+1 {{K: expected a multiple of 32, found 48}}
  %d = tile.dot_scaled %a scale(%s), %b : tensor<64x48xf8E4M3FN> scale tensor<64x1xi8>, tensor<48x32xf8E4M3FN> -> tensor<64x32xf32>
  return
}

// -----

func.func @scaled_type(%a: tensor<64x32xf32>, %b: tensor<32x32xf8E4M3FN>, %s: tensor<64x1xi8>) {
  // expected-error@+1 {{element type of a: expected a float of 8 or 16 bits, found 'f32'}}
  %d = tile.dot_scaled %a scale(%s), %b : tensor<64x32xf32> scale tensor<64x1xi8>, tensor<32x32xf8E4M3FN> -> tensor<64x32xf32>
  return
}

// -----

func.func @scaled_inner(%a: tensor<64x32xbf16>, %b: tensor<64x32xbf16>, %s: tensor<64x1xi8>) {
  // expected-error@+1 {{inner extents: expected equal, found a 64x32 and b 64x32}}
  %d = tile.dot_scaled %a scale(%s), %b : tensor<64x32xbf16> scale tensor<64x1xi8>, tensor<64x32xbf16> -> tensor<64x32xf32>
  return
}

// -----

func.func @scaled_result(%a: tensor<64x32xbf16>, %b: tensor<32x32xbf16>, %s: tensor<64x1xi8>) {
  // expected-error@+1 {{result: expected 'tensor<64x32xf32>', found 'tensor<64x32xbf16>'}}
  %d = tile.dot_scaled %a scale(%s), %b : tensor<64x32xbf16> scale tensor<64x1xi8>, tensor<32x32xbf16> -> tensor<64x32xbf16>
  return
}

// -----

func.func @trans_rank(%x: tensor<64xf32>) {
  // expected-error@+1 {{source rank: expected 2 or more, found 1}}
  %t = tile.trans %x : tensor<64xf32> -> tensor<64xf32>
  return
}

// -----

func.func @trans_order(%x: tensor<4x8x16xf32>) {
  // expected-error@+1 {{order: expected a permutation of 0 to 2, found [0, 2, 2]}}
  %t = tile.trans %x [0, 2, 2] : tensor<4x8x16xf32> -> tensor<4x16x16xf32>
  return
}

// -----

func.func @trans_few(%x: tensor<4x8x16xf32>) {
  // expected-error@+1 {{order: expected a permutation of 0 to 2, found [1, 0]}}
  %t = tile.trans %x [1, 0] : tensor<4x8x16xf32> -> tensor<8x4x16xf32>
  return
}

// -----

func.func @trans_nothing(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{order: expected another one than that of the source, found [0, 1]}}
  %t = tile.trans %x [0, 1] : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}

// -----

func.func @trans_result(%x: tensor<4x8x16xf32>) {
  // expected-error@+1 {{result: expected 'tensor<16x4x8xf32>', found 'tensor<4x16x8xf32>'}}
  %t = tile.trans %x [2, 0, 1] : tensor<4x8x16xf32> -> tensor<4x16x8xf32>
  return
}

// -----

func.func @take_dim(%x: tensor<4x8xf32>, %i: tensor<4x8xi32>) {
  // expected-error@+1 {{dim: expected 0 to 1, found 2}}
  %r = tile.take %x[%i] dim(2) : tensor<4x8xf32>, tensor<4x8xi32> -> tensor<4x8xf32>
  return
}

// -----

func.func @take_indices(%x: tensor<4x8xf32>, %i: tensor<4x8xi64>) {
  // expected-error@+1 {{indices: expected i32 elements, found 'tensor<4x8xi64>'}}
  %r = tile.take %x[%i] dim(1) : tensor<4x8xf32>, tensor<4x8xi64> -> tensor<4x8xf32>
  return
}

// -----

func.func @take_extents(%x: tensor<4x8xf32>, %i: tensor<2x8xi32>) {
  // expected-error@+1 {{indices: expected the extents of 4x8 but along dimension 1, found 2x8}}
  %r = tile.take %x[%i] dim(1) : tensor<4x8xf32>, tensor<2x8xi32> -> tensor<2x8xf32>
  return
}

// -----

func.func @take_result(%x: tensor<4x8xf32>, %i: tensor<4x2xi32>) {
  // expected-error@+1 {{result: expected 'tensor<4x2xf32>', found 'tensor<4x2xf16>'}}
  %r = tile.take %x[%i] dim(1) : tensor<4x8xf32>, tensor<4x2xi32> -> tensor<4x2xf16>
  return
}

// -----

func.func @histogram_source(%x: tensor<64xf32>) {
  // expected-error@+1 {{source: expected i32 elements, found 'tensor<64xf32>'}}
  %h = tile.histogram %x : tensor<64xf32> -> tensor<16xi32>
  return
}

// -----

func.func @histogram_result(%x: tensor<64xi32>) {
  // expected-error@+1 {{result: expected one dimension of i32, found 'tensor<4x4xi32>'}}
  %h = tile.histogram %x : tensor<64xi32> -> tensor<4x4xi32>
  return
}
