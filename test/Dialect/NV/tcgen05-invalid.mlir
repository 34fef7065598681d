// RUN: kernel-opt %s --split-input-file --verify-diagnostics

func.func @space(%a: !nv.memdesc<128x64xbf16>, %b: !nv.memdesc<64x128xbf16>, %d: !nv.memdesc<128x128xf32>, %p: i1) {
  // expected-error@+1 {{d: expected a tile in tensor memory, found !nv.memdesc<128x128xf32>}}
  nv.tcgen05.mma %a, %b, %d accumulate(%p) : !nv.memdesc<128x64xbf16>, !nv.memdesc<64x128xbf16>, !nv.memdesc<128x128xf32>
  return
}

// -----

func.func @rows(%a: !nv.memdesc<96x64xbf16>, %b: !nv.memdesc<64x128xbf16>, %d: !nv.memdesc<96x128xf32, tmem>, %p: i1) {
  // expected-error@+1 {{M: expected 64 or 128 for kind f16 with cta_group 1, found 96}}
  nv.tcgen05.mma %a, %b, %d accumulate(%p) : !nv.memdesc<96x64xbf16>, !nv.memdesc<64x128xbf16>, !nv.memdesc<96x128xf32, tmem>
  return
}

// -----

func.func @columns(%a: !nv.memdesc<128x64xbf16, tmem>, %b: !nv.memdesc<64x24xbf16>, %d: !nv.memdesc<128x24xf32, tmem>, %p: i1) {
  // expected-error@+1 {{N: expected a multiple of 16 up to 256 for kind f16 with cta_group 1 and a in tensor memory, found 24}}
  nv.tcgen05.mma %a, %b, %d accumulate(%p) : !nv.memdesc<128x64xbf16, tmem>, !nv.memdesc<64x24xbf16>, !nv.memdesc<128x24xf32, tmem>
  return
}

// -----

func.func @pair_columns(%a: !nv.memdesc<128x64xbf16>, %b: !nv.memdesc<64x128xbf16>, %d: !nv.memdesc<128x128xf32, tmem>, %p: i1) {
  // expected-error@+1 {{d: expected 128x256, found 128x128}}
  nv.tcgen05.mma %a, %b, %d accumulate(%p) cta_group(2) : !nv.memdesc<128x64xbf16>, !nv.memdesc<64x128xbf16>, !nv.memdesc<128x128xf32, tmem>
  return
}

// -----

func.func @inner(%a: !nv.memdesc<128x24xbf16>, %b: !nv.memdesc<24x128xbf16>, %d: !nv.memdesc<128x128xf32, tmem>, %p: i1) {
  // expected-error@+1 {{inner extent: expected a multiple of 16 for kind f16, found 24}}
  nv.tcgen05.mma %a, %b, %d accumulate(%p) : !nv.memdesc<128x24xbf16>, !nv.memdesc<24x128xbf16>, !nv.memdesc<128x128xf32, tmem>
  return
}

// -----

func.func @accumulator(%a: !nv.memdesc<128x64xbf16>, %b: !nv.memdesc<64x128xbf16>, %d: !nv.memdesc<128x128xf16, tmem>, %p: i1) {
  // expected-error@+1 {{kind f16: expected an accumulator of f32 for operands of bf16, found f16}}
  nv.tcgen05.mma %a, %b, %d accumulate(%p) : !nv.memdesc<128x64xbf16>, !nv.memdesc<64x128xbf16>, !nv.memdesc<128x128xf16, tmem>
  return
}

// -----

func.func @block(%a: !nv.memdesc<128x128xf8E4M3FN>, %sa: !nv.memdesc<128x8xf8E8M0FNU, tmem>, %b: !nv.memdesc<128x128xf8E4M3FN>,
                 %sb: !nv.memdesc<128x8xf8E8M0FNU, tmem>, %d: !nv.memdesc<128x128xf32, tmem>, %p: i1) {
  // expected-error@+1 {{scales: expected one ue8m0 for 32 elements of K}}
  nv.tcgen05.mma_scaled %a scale(%sa), %b scale(%sb), %d accumulate(%p) block(16)
    : !nv.memdesc<128x128xf8E4M3FN>, !nv.memdesc<128x8xf8E8M0FNU, tmem>, !nv.memdesc<128x128xf8E4M3FN>, !nv.memdesc<128x8xf8E8M0FNU, tmem>, !nv.memdesc<128x128xf32, tmem>
  return
}

// -----

func.func @scale_shape(%a: !nv.memdesc<128x128xf8E4M3FN>, %sa: !nv.memdesc<128x8xf8E8M0FNU, tmem>, %b: !nv.memdesc<128x128xf8E4M3FN>,
                       %sb: !nv.memdesc<128x4xf8E8M0FNU, tmem>, %d: !nv.memdesc<128x128xf32, tmem>, %p: i1) {
  // expected-error@+1 {{scale_a: expected 128x4 scales in tensor memory, found !nv.memdesc<128x8xf8E8M0FNU, tmem>}}
  nv.tcgen05.mma_scaled %a scale(%sa), %b scale(%sb), %d accumulate(%p) block(32)
    : !nv.memdesc<128x128xf8E4M3FN>, !nv.memdesc<128x8xf8E8M0FNU, tmem>, !nv.memdesc<128x128xf8E4M3FN>, !nv.memdesc<128x4xf8E8M0FNU, tmem>, !nv.memdesc<128x128xf32, tmem>
  return
}

// -----

func.func @copy(%s: !nv.memdesc<48x16xi8>, %t: !nv.memdesc<128x4xf8E8M0FNU, tmem>) {
  // expected-error@+1 {{source: expected pieces of 32 rows of 16 bytes for x32x128b, found 48 rows of 16 bytes}}
  nv.tcgen05.cp %s to %t x32x128b : !nv.memdesc<48x16xi8>, !nv.memdesc<128x4xf8E8M0FNU, tmem>
  return
}

// -----

func.func @load_rows(%d: !nv.memdesc<32x64xf32, tmem>) {
  // expected-error@+1 {{rows: expected 128, or 64 of an accumulator of 64 rows, found 32}}
  %x = nv.tmem.load %d : !nv.memdesc<32x64xf32, tmem> -> tensor<32x64xf32>
  return
}

// -----

// Several blocks of rows are for the passes before the form is known.
func.func @load_blocks(%d: !nv.memdesc<256x64xf32, #nv.tmem<accumulator>, tmem>, %e: !nv.memdesc<256x64xf32, tmem>) {
  %y = nv.tmem.load %e : !nv.memdesc<256x64xf32, tmem> -> tensor<256x64xf32>
  // expected-error@+1 {{rows: expected 128, or 64 of an accumulator of 64 rows, found 256}}
  %x = nv.tmem.load %d : !nv.memdesc<256x64xf32, #nv.tmem<accumulator>, tmem> -> tensor<256x64xf32>
  return
}

// -----

func.func @load_space(%d: !nv.memdesc<128x64xf32>) {
  // expected-error@+1 {{view: expected a tile in tensor memory, found}}
  %x = nv.tmem.load %d : !nv.memdesc<128x64xf32> -> tensor<128x64xf32>
  return
}
