// RUN: kernel-opt %s --split-input-file --verify-diagnostics

func.func @conversions(%n: i32) {
  // expected-error@+1 {{format: expected 1 conversions, found 2}}
  user.print "%i of 100%% %i" (%n : i32)
  return
}

// -----

func.func @printed_type(%n: i8) {
  // expected-error@+1 {{element type: expected i32, i64, f16, bf16, f32 or f64, found 'i8'}}
  user.print "%i" (%n : i8)
  return
}

// -----

func.func @printed_shapes(%a: tensor<8xi32>, %b: tensor<4xi32>) {
  // expected-error@+1 {{shapes: expected 8, found 4}}
  user.print "%i %i" (%a, %b : tensor<8xi32>, tensor<4xi32>)
  return
}

// -----

func.func @condition(%n: i32) {
  // expected-error@+1 {{condition: expected i1, found 'i32'}}
  user.assert %n, "n" at "a.py" : 1 in "f" : i32
  return
}

// -----

func.func @counts(%n: i32) {
  // expected-error@+1 {{constraints: expected 1 of results and 1 of inputs, found 1 and 0}}
  %r = user.asm "mov.b32 $0, 0;" constraints "=r" (%n) : (i32) -> i32
  return
}

// -----

func.func @letter(%n: i32) {
  // expected-error@+1 {{constraints: expected h, r, l, f or d, found '=q'}}
  %r = user.asm "mov.b32 $0, $1;" constraints "=q,r" (%n) : (i32) -> i32
  return
}

// -----

func.func @width(%n: i32) {
  // expected-error@+1 {{constraints: expected a register of 32 bits, found 'd' of 64}}
  %r = user.asm "mov.b32 $0, $1;" constraints "=r,d" (%n) : (i32) -> i32
  return
}

// -----

func.func @narrow(%n: i64) {
  // expected-error@+1 {{constraints: expected a register of 64 bits or more, found 'r' of 32}}
  %r = user.asm "mov.b32 $0, $1;" constraints "=r,r" (%n) : (i64) -> i32
  return
}

// -----

func.func @tied(%n: i32) {
  // expected-error@+1 {{constraints: expected the number of a result, found '3'}}
  %r = user.asm "mov.b32 $0, $1;" constraints "=r,3" (%n) : (i32) -> i32
  return
}

// -----

func.func @mixed(%x: tensor<8xi32>, %n: i32) {
  // expected-error@+1 {{types: expected tiles only, or scalars only}}
  %r = user.asm "add.s32 $0, $1, $2;" constraints "=r,r,r" (%x, %n) : (tensor<8xi32>, i32) -> tensor<8xi32>
  return
}

// -----

func.func @pack(%x: tensor<8xi8>) {
  // expected-error@+1 {{pack: expected a multiple of 4, the elements of 8 bits in a register, found 6}}
  %r = user.asm "mov.b32 $0, $1;" constraints "=r,r" pack 6 (%x) : (tensor<8xi8>) -> tensor<8xi8>
  return
}

// -----

func.func @bits(%x: i1) {
  // expected-error@+1 {{element type: expected one of 8, 16, 32 or 64 bits, found 'i1'}}
  %r = user.asm "mov.b32 $0, $1;" constraints "=r,r" (%x) : (i1) -> i1
  return
}
