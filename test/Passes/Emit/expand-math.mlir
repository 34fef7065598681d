// RUN: kernel-opt %s --expand-math | FileCheck %s

// CHECK-LABEL: func.func @single
func.func @single(%x: f32, %y: f32) -> f32 {
  // CHECK: %[[L:.*]] = arith.constant 1.44269502 : f32
  // CHECK: %[[M:.*]] = arith.mulf %arg0, %[[L]]
  // CHECK: llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz.f"(%[[M]])
  %a = math.exp %x : f32
  // CHECK: llvm.call_intrinsic "llvm.nvvm.sqrt.approx.ftz.f"
  %s = math.sqrt %a fastmath<afn> : f32
  // CHECK: llvm.call_intrinsic "llvm.nvvm.sqrt.rn.f"
  %b = math.sqrt %s : f32
  // CHECK: llvm.call_intrinsic "llvm.nvvm.lg2.approx.ftz.f"
  %c = math.log2 %b : f32
  // CHECK: %[[R:.*]] = llvm.call_intrinsic "llvm.nvvm.rcp.approx.ftz.f"(%arg1)
  // CHECK: arith.mulf %{{.*}}, %[[R]]
  %d = arith.divf %c, %y fastmath<arcp> : f32
  // CHECK: llvm.call_intrinsic "llvm.nvvm.div.full"(
  %e = arith.divf %d, %y fastmath<afn> : f32
  // CHECK: arith.divf
  %f = arith.divf %e, %y : f32
  return %f : f32
}

// Quotients of one denominator share its reciprocal, scaled by a power of two where it would be subnormal or infinite.
// CHECK-LABEL: func.func @shared
func.func @shared(%x: f32, %y: f32, %d: f32) -> (f32, f32, f32) {
  // CHECK: %[[A:.*]] = math.absf %arg2
  // CHECK: arith.cmpf ogt, %[[A]]
  // CHECK: arith.cmpf olt, %[[A]]
  // CHECK: %[[S:.*]] = arith.select
  // CHECK-NEXT: arith.constant
  // CHECK: %[[S:.*]] = arith.select
  // CHECK: %[[D:.*]] = arith.mulf %arg2, %[[S]]
  // CHECK: %[[R:.*]] = llvm.call_intrinsic "llvm.nvvm.rcp.approx.ftz.f"(%[[D]])
  // CHECK: %[[P:.*]] = arith.mulf %arg0, %[[R]]
  // CHECK: arith.mulf %[[P]], %[[S]]
  %a = arith.divf %x, %d fastmath<afn> : f32
  // CHECK: %[[Q:.*]] = arith.mulf %arg1, %[[R]]
  // CHECK: arith.mulf %[[Q]], %[[S]]
  // CHECK-NOT: intrinsic
  %b = arith.divf %y, %d fastmath<afn> : f32
  // One that is to be rounded correctly does not join them.
  // CHECK: arith.divf %arg0, %arg2
  %c = arith.divf %x, %d : f32
  return %a, %b, %c : f32, f32, f32
}

// The argument is brought near zero before the hardware's sine.
// CHECK-LABEL: func.func @reduced
func.func @reduced(%x: f32) -> f32 {
  // CHECK: math.roundeven
  // CHECK-COUNT-3: math.fma
  // CHECK: "sin.approx.ftz.f32 $0, $1;"
  %a = math.sin %x : f32
  return %a : f32
}

// CHECK-LABEL: func.func @polynomial
func.func @polynomial(%x: f32) -> f32 {
  // CHECK-NOT: math.tanh
  // CHECK-NOT: math.exp
  // CHECK: return
  %a = math.tanh %x : f32
  %b = math.erf %a : f32
  %c = math.log1p %b : f32
  return %c : f32
}

// CHECK-LABEL: func.func @tanh_of_the_machine
func.func @tanh_of_the_machine(%x: f32) -> f32 {
  // CHECK: llvm.inline_asm {{.*}}"tanh.approx.f32 $0, $1;"
  %a = math.tanh %x fastmath<afn> : f32
  return %a : f32
}
