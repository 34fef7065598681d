// RUN: kernel-opt %s --tile-check-copies --split-input-file --verify-diagnostics

// Multiples of 8 elements of bf16 by their form, or not known: taken.
func.func @good(%A: !tile.desc<16x16xbf16>, %n: i32, %anywhere: i32) {
  %c0 = arith.constant 0 : i32
  %c4 = arith.constant 4 : i32
  %c8 = arith.constant 8 : i32
  %c16 = arith.constant 16 : i32
  %below = arith.constant -16 : i32
  %start = arith.muli %n, %c8 : i32
  scf.for %i = %start to %n step %c16 : i32 {
    %next = arith.addi %i, %c8 : i32
    %a = tile.load %A[%c4, %next] : !tile.desc<16x16xbf16> -> tensor<16x16xbf16>
    tile.store %a to %A[%c4, %anywhere] : tensor<16x16xbf16>, !tile.desc<16x16xbf16>
  }
  %b = tile.load %A[%below, %below] : !tile.desc<16x16xbf16> -> tensor<16x16xbf16>
  tile.store %b to %A[%c0, %c0] : tensor<16x16xbf16>, !tile.desc<16x16xbf16>
  return
}

// -----

func.func @constant(%A: !tile.desc<16x16xf32>) {
  %c2 = arith.constant 2 : i32
  // expected-error@+1 {{coordinate 1: found a multiple of 4 and 2, needed a multiple of 4 (a copy of 'f32' begins at 16 bytes)}}
  %a = tile.load %A[%c2, %c2] : !tile.desc<16x16xf32> -> tensor<16x16xf32>
  return
}

// -----

func.func @in_a_loop(%A: !tile.desc<16x16xbf16>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c4 = arith.constant 4 : i32
  %c16 = arith.constant 16 : i32
  scf.for %i = %c4 to %n step %c16 : i32 {
    // expected-error@+1 {{coordinate 1: found a multiple of 8 and 4}}
    %a = tile.load %A[%c0, %i] : !tile.desc<16x16xbf16> -> tensor<16x16xbf16>
    tile.store %a to %A[%c0, %c0] : tensor<16x16xbf16>, !tile.desc<16x16xbf16>
  }
  return
}

// -----

func.func @negative(%A: !tile.desc<16x16xf32>, %v: tensor<16x16xf32>) {
  %c0 = arith.constant 0 : i32
  %below = arith.constant -4 : i32
  // expected-error@+1 {{coordinate 0: found -4, needed 0 or more in a store}}
  tile.store %v to %A[%below, %c0] : tensor<16x16xf32>, !tile.desc<16x16xf32>
  return
}
