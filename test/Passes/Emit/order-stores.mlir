// RUN: kernel-opt %s --order-stores | FileCheck %s

// Both loads belong to one store each, and so do the sums: by stores, the loads first read first, and no load behind a store.
// CHECK-LABEL: func.func @by_stores
// CHECK: llvm.load %[[A:.*]] :
// CHECK: llvm.load %[[B:.*]] :
// CHECK: %[[FIRST:.*]] = arith.addf
// CHECK: llvm.inline_asm {{.*}} "second"
// CHECK: %[[SECOND:.*]] = arith.addf
// CHECK: %[[OTHER:.*]] = arith.mulf
// CHECK-NEXT: llvm.store %[[FIRST]]
// CHECK-NEXT: llvm.inline_asm has_side_effects "st", "f" %[[SECOND]]
// CHECK-NOT: tileloom.access
// CHECK: llvm.store %[[OTHER]]
func.func @by_stores(%a: !llvm.ptr<1>, %b: !llvm.ptr<1>, %c: !llvm.ptr<1>, %s: !llvm.ptr<3>) attributes {nv.wanted_registers = 64 : i64} {
  nvvm.barrier0
  %x = llvm.load %a : !llvm.ptr<1> -> f32
  %y = llvm.inline_asm has_side_effects {tileloom.access = "load"} "second", "=f" : () -> f32
  %z = llvm.load %b : !llvm.ptr<1> -> f32
  %other = arith.mulf %x, %y : f32
  %second = arith.addf %y, %y : f32
  %first = arith.addf %x, %z : f32
  llvm.store %first, %a : f32, !llvm.ptr<1>
  llvm.inline_asm has_side_effects {tileloom.access = "store"} "st", "f" %second : (f32) -> ()
  llvm.store %other, %s : f32, !llvm.ptr<3>
  return
}

// A load that follows a store stays there, and what has other effects is crossed by nothing.
// CHECK-LABEL: func.func @in_order
// CHECK: llvm.store
// CHECK: llvm.load
// CHECK: arith.addf
// CHECK: arith.mulf
// CHECK: llvm.store
// CHECK-NEXT: llvm.store
// CHECK: llvm.inline_asm has_side_effects "other"
// CHECK: arith.subf
// CHECK: llvm.store
// CHECK-NEXT: llvm.store
func.func @in_order(%a: !llvm.ptr<1>, %b: !llvm.ptr<1>, %v: f32) attributes {nv.wanted_registers = 64 : i64} {
  llvm.store %v, %a : f32, !llvm.ptr<1>
  %x = llvm.load %b : !llvm.ptr<1> -> f32
  %n = arith.mulf %x, %v : f32
  %m = arith.addf %x, %v : f32
  llvm.store %m, %a : f32, !llvm.ptr<1>
  llvm.store %n, %a : f32, !llvm.ptr<1>
  llvm.inline_asm has_side_effects "other", "" : () -> ()
  %k = arith.subf %x, %v : f32
  llvm.store %k, %b : f32, !llvm.ptr<1>
  llvm.store %k, %a : f32, !llvm.ptr<1>
  return
}

// Kernels without a cap are left alone.
// CHECK-LABEL: func.func @uncapped
// CHECK: arith.mulf
// CHECK-NEXT: arith.addf
func.func @uncapped(%a: !llvm.ptr<1>, %v: f32) {
  %n = arith.mulf %v, %v : f32
  %m = arith.addf %v, %v : f32
  llvm.store %m, %a : f32, !llvm.ptr<1>
  llvm.store %n, %a : f32, !llvm.ptr<1>
  return
}

// What a block begins with, too: its loads are in flight at once.
// CHECK-LABEL: func.func @beginning
// CHECK: llvm.load
// CHECK-NEXT: llvm.load
// CHECK-NEXT: arith.mulf
// CHECK-NEXT: arith.addf
func.func @beginning(%a: !llvm.ptr<1>, %b: !llvm.ptr<1>) attributes {nv.wanted_registers = 64 : i64} {
  %x = llvm.load %a : !llvm.ptr<1> -> f32
  %y = llvm.load %b : !llvm.ptr<1> -> f32
  %n = arith.mulf %y, %y : f32
  %m = arith.addf %x, %x : f32
  llvm.store %m, %a : f32, !llvm.ptr<1>
  llvm.store %n, %b : f32, !llvm.ptr<1>
  return
}
