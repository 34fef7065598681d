// RUN: kernel-opt %s --split-input-file --verify-diagnostics

llvm.func @columns(%a: i64, %b: i64) {
  // expected-error@+1 {{n: expected a multiple of 8 from 8 to 256, found 12}}
  %d:6 = ptx.wgmma n 12 k 16 bf16 bf16 f32 a(%a : i64) b(%b) -> f32, f32, f32, f32, f32, f32
  llvm.return
}

// -----

llvm.func @too_wide(%a: i64, %b: i64) {
  // expected-error@+1 {{n: expected a multiple of 8 from 8 to 256, found 264}}
  %d = ptx.wgmma n 264 k 16 bf16 bf16 f32 a(%a : i64) b(%b) -> f32
  llvm.return
}

// -----

llvm.func @results(%a: i64, %b: i64) {
  // expected-error@+1 {{results: expected 4, found 3}}
  %d:3 = ptx.wgmma n 8 k 16 bf16 bf16 f32 a(%a : i64) b(%b) -> f32, f32, f32
  llvm.return
}

// -----

llvm.func @integer_columns(%a: i64, %b: i64) {
  // expected-error@+1 {{n: expected 8, 16, 24 or a multiple of 16 for integers, found 40}}
  %d:20 = ptx.wgmma n 40 k 32 s8 s8 i32 a(%a : i64) b(%b) -> i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32
  llvm.return
}

// -----

llvm.func @saturated_float(%a: i64, %b: i64) {
  // expected-error@+1 {{satfinite: expected integers, found f16}}
  %d:4 = ptx.wgmma n 8 k 16 f16 f16 f32 a(%a : i64) b(%b) {satfinite} -> f32, f32, f32, f32
  llvm.return
}

// -----

// Two f16 accumulators share a register.
llvm.func @half_results(%a: i64, %b: i64) {
  // expected-error@+1 {{results: expected 2, found 4}}
  %d:4 = ptx.wgmma n 8 k 16 f16 f16 f16 a(%a : i64) b(%b) -> vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>
  llvm.return
}

// -----

llvm.func @accumulators(%a: i64, %b: i64, %c: f32) {
  // expected-error@+1 {{accumulators: expected 4, found 2}}
  %d:4 = ptx.wgmma n 8 k 16 bf16 bf16 f32 a(%a : i64) b(%b) acc(%c, %c : f32, f32) -> f32, f32, f32, f32
  llvm.return
}

// -----

llvm.func @operand_a(%a: i32, %b: i64) {
  // expected-error@+1 {{a: expected one descriptor or 4 registers, found 2 values}}
  %d:4 = ptx.wgmma n 8 k 16 bf16 bf16 f32 a(%a, %a : i32, i32) b(%b) -> f32, f32, f32, f32
  llvm.return
}

// -----

llvm.func @descriptor(%a: i32, %b: i64) {
  // expected-error@+1 {{a: expected a descriptor of type i64, found 'i32'}}
  %d:4 = ptx.wgmma n 8 k 16 bf16 bf16 f32 a(%a : i32) b(%b) -> f32, f32, f32, f32
  llvm.return
}

// -----

llvm.func @fragments(%a: i64, %b: i64) {
  // expected-error@+1 {{a: expected 32-bit registers, found 'i64'}}
  %d:4 = ptx.wgmma n 8 k 16 bf16 bf16 f32 a(%a, %a, %a, %a : i64, i64, i64, i64) b(%b) -> f32, f32, f32, f32
  llvm.return
}

// -----

llvm.func @scale(%a: i64, %b: i64, %p: i1) {
  // expected-error@+1 {{scale_d: expected accumulators, found none}}
  %d:4 = ptx.wgmma n 8 k 16 bf16 bf16 f32 a(%a : i64) b(%b) scale_d(%p) -> f32, f32, f32, f32
  llvm.return
}

// -----

// 32 bytes of K an instruction (PTX ISA 9.7.15.2).
llvm.func @inner(%a: i64, %b: i64) {
  // expected-error@+1 {{k: expected 32 for e4m3, found 16}}
  %d:4 = ptx.wgmma n 8 k 16 e4m3 e4m3 f32 a(%a : i64) b(%b) -> f32, f32, f32, f32
  llvm.return
}

// -----

llvm.func @mixed(%a: i64, %b: i64) {
  // expected-error@+1 {{types: expected a and b alike (8-bit floats and integers may differ in format), found f16 and bf16}}
  %d:4 = ptx.wgmma n 8 k 16 f16 bf16 f32 a(%a : i64) b(%b) -> f32, f32, f32, f32
  llvm.return
}

// -----

// Only f16 and 8-bit floats add up in f16.
llvm.func @half_accumulator(%a: i64, %b: i64) {
  // expected-error@+1 {{d_type: expected f32 for bf16, found 'f16'}}
  %d:2 = ptx.wgmma n 8 k 16 bf16 bf16 f16 a(%a : i64) b(%b) -> vector<2xf16>, vector<2xf16>
  llvm.return
}

// -----

llvm.func @integer_accumulator(%a: i64, %b: i64) {
  // expected-error@+1 {{d_type: expected i32 for s8, found 'f32'}}
  %d:4 = ptx.wgmma n 8 k 32 s8 s8 f32 a(%a : i64) b(%b) -> f32, f32, f32, f32
  llvm.return
}

// -----

// Only 16-bit operands have a major order to choose (PTX ISA 9.7.15.5.2).
llvm.func @transposed(%a: i64, %b: i64) {
  // expected-error@+1 {{trans: expected 16-bit operands, found e4m3}}
  %d:4 = ptx.wgmma n 8 k 32 e4m3 e4m3 f32 a(%a : i64) b(%b) {trans_b} -> f32, f32, f32, f32
  llvm.return
}

// -----

llvm.func @transposed_fragments(%a: i32, %b: i64) {
  // expected-error@+1 {{trans_a: expected a descriptor, found registers}}
  %d:4 = ptx.wgmma n 8 k 16 f16 f16 f32 a(%a, %a, %a, %a : i32, i32, i32, i32) b(%b) {trans_a} -> f32, f32, f32, f32
  llvm.return
}

// -----

llvm.func @scratch(%x: f32) {
  // expected-error@+1 {{after: expected a scratch address with it}}
  %w = "ptx.wgmma_wait"(%x, %x) <{operandSegmentSizes = array<i32: 1, 1, 0>, pending = 0 : i64}> : (f32, f32) -> f32
  llvm.return
}
