// RUN: kernel-opt %s | kernel-opt | FileCheck %s
// RUN: kernel-opt %s --canonicalize --cse | FileCheck %s --check-prefix=EFFECT

// CHECK-LABEL: @all
func.func @all(%x: tensor<128xf32>, %i: tensor<128xi32>, %c: tensor<128xi1>, %h: tensor<128xbf16>, %n: i32) -> tensor<128xbf16> {
  // CHECK: user.print "done\0A"
  user.print "done\0A"
  // CHECK: user.print "%u: %3i is %f\0A"(%{{.*}}, %{{.*}}, %{{.*}} : i32, tensor<128xi32>, tensor<128xf32>)
  user.print "%u: %3i is %f\0A" (%n, %i, %x : i32, tensor<128xi32>, tensor<128xf32>)
  // CHECK: user.assert %{{.*}}, "inside" at "a.py" : 12 in "all" : tensor<128xi1>
  user.assert %c, "inside" at "a.py" : 12 in "all" : tensor<128xi1>
  // CHECK: user.asm "ex2.approx.ftz.f32 $0, $1;" constraints "=f,f"(%{{.*}}) : (tensor<128xf32>) -> tensor<128xf32>
  // EFFECT: user.asm "ex2
  %e = user.asm "ex2.approx.ftz.f32 $0, $1;" constraints "=f,f" (%x) : (tensor<128xf32>) -> tensor<128xf32>
  // What is pure and unused goes.
  // EFFECT-NOT: user.asm "neg
  %d = user.asm "neg.f32 $0, $1;" constraints "=f,f" pure (%x) : (tensor<128xf32>) -> tensor<128xf32>
  // CHECK: user.asm "add.rn.bf16x2 $0, $1, $2;" constraints "=r,r,0,~{memory}" pack 2 pure(
  %s = user.asm "add.rn.bf16x2 $0, $1, $2;" constraints "=r,r,0,~{memory}" pack 2 pure (%h, %h) : (tensor<128xbf16>, tensor<128xbf16>) -> tensor<128xbf16>
  // CHECK: %{{.*}}:2 = user.asm
  %two:2 = user.asm "mov.b32 $0, $2; mov.b32 $1, $2;" constraints "=r,=&r,r" (%n) : (i32) -> (i32, i32)
  return %s : tensor<128xbf16>
}
