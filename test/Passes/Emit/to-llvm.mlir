// RUN: kernel-opt %s --emit-to-llvm --split-input-file | FileCheck %s

// Functions, branches and integers in one conversion; casts between converted types go.
// CHECK-LABEL: llvm.func @loop(%arg0: i32) -> i32
// CHECK: llvm.br ^[[HEAD:bb[0-9]+]](
// CHECK: ^[[HEAD]](
// CHECK: llvm.icmp "slt"
// CHECK: llvm.cond_br
// CHECK: llvm.add
// CHECK: llvm.return
// CHECK-NOT: arith.
// CHECK-NOT: cf.
func.func @loop(%n: i32) -> i32 {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  cf.br ^head(%c0 : i32)
^head(%i: i32):
  %more = arith.cmpi slt, %i, %n : i32
  cf.cond_br %more, ^body, ^exit
^body:
  %next = arith.addi %i, %c1 : i32
  cf.br ^head(%next : i32)
^exit:
  return %i : i32
}

// -----

// Fast-math flags and rounding stay; undefined values are LLVM's.
// CHECK-LABEL: llvm.func @floats
// CHECK: llvm.fmul %{{.*}}, %{{.*}} {fastmathFlags = #llvm.fastmath<contract>} : f32
// CHECK: llvm.intr.fma
// CHECK: llvm.mlir.poison : f32
// CHECK: llvm.fptrunc {{.*}} : f32 to bf16
func.func @floats(%a: f32, %b: f32) -> (bf16, f32) {
  %m = arith.mulf %a, %b fastmath<contract> : f32
  %f = math.fma %m, %a, %b : f32
  %u = ub.poison : f32
  %t = arith.truncf %f : f32 to bf16
  return %t, %u : bf16, f32
}
