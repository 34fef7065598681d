// RUN: kernel-opt %s --expand-math | FileCheck %s

// CHECK-LABEL: func.func @single
func.func @single(%x: f32, %y: f32) -> f32 {
  // CHECK: %[[L:.*]] = arith.constant 1.44269502 : f32
  // CHECK: %[[M:.*]] = arith.mulf %arg0, %[[L]]
  // CHECK: llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz.f"(%[[M]])
  %a = math.exp %x : f32
  // CHECK: llvm.call_intrinsic "llvm.nvvm.sqrt.approx.ftz.f"
  %b = math.sqrt %a : f32
  // CHECK: llvm.call_intrinsic "llvm.nvvm.lg2.approx.ftz.f"
  %c = math.log2 %b : f32
  // CHECK: %[[R:.*]] = llvm.call_intrinsic "llvm.nvvm.rcp.approx.ftz.f"(%arg1)
  // CHECK: arith.mulf %{{.*}}, %[[R]]
  %d = arith.divf %c, %y fastmath<arcp> : f32
  // CHECK: llvm.call_intrinsic "llvm.nvvm.div.full.ftz"
  %e = arith.divf %d, %y fastmath<afn> : f32
  // CHECK: arith.divf
  %f = arith.divf %e, %y : f32
  return %f : f32
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
