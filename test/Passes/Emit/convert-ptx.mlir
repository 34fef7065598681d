// RUN: kernel-opt %s --convert-ptx --split-input-file | FileCheck %s

// Descriptors, from zero: scale-d is the immediate 0 and no accumulator goes in. 16-bit operands say their major order.
// CHECK-LABEL: llvm.func @from_zero
llvm.func @from_zero(%a: i64, %b: i64) {
  // CHECK: llvm.inline_asm has_side_effects asm_dialect = att
  // CHECK-SAME: "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {$0, $1, $2, $3}, $4, $5, 0, 1, 1, 0, 1;", "=f,=f,=f,=f,l,l" %{{.*}}, %{{.*}} : (i64, i64)
  // CHECK: llvm.extractvalue %{{.*}}[0]
  // CHECK: llvm.extractvalue %{{.*}}[3]
  %d:4 = ptx.wgmma n 8 k 16 bf16 bf16 f32 a(%a : i64) b(%b) {trans_b} -> f32, f32, f32, f32
  // Tied one by one.
  // CHECK: "wgmma.wait_group.sync.aligned 0;", "=f,=f,=f,=f,0,1,2,3"
  %w:4 = ptx.wgmma_wait 0, %d#0, %d#1, %d#2, %d#3 : f32, f32, f32, f32
  llvm.return
}

// -----

// A in registers has no major order of its own; accumulators are tied to the results; the predicate is an operand.
// CHECK-LABEL: llvm.func @registers
llvm.func @registers(%a: i32, %b: i64, %c: f32, %p: i1) {
  // CHECK: "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {$0, $1, $2, $3}, {$8, $9, $10, $11}, $12, $13, 1, 1, 1;", "=f,=f,=f,=f,0,1,2,3,r,r,r,r,l,b"
  %d:4 = ptx.wgmma n 8 k 16 f16 f16 f32 a(%a, %a, %a, %a : i32, i32, i32, i32) b(%b) acc(%c, %c, %c, %c : f32, f32, f32, f32)
    scale_d(%p) {trans_b} -> f32, f32, f32, f32
  llvm.return
}

// -----

// 8-bit operands are K-major: no flags. Accumulators go on with scale-d 1.
// CHECK-LABEL: llvm.func @fp8
llvm.func @fp8(%a: i64, %b: i64, %c: f32) {
  // CHECK: "wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e5m2 {$0, $1, $2, $3}, $8, $9, 1, 1, 1;", "=f,=f,=f,=f,0,1,2,3,l,l"
  %d:4 = ptx.wgmma n 8 k 32 e4m3 e5m2 f32 a(%a : i64) b(%b) acc(%c, %c, %c, %c : f32, f32, f32, f32) -> f32, f32, f32, f32
  llvm.return
}

// -----

// Integers have no signs to choose either.
// CHECK-LABEL: llvm.func @integers
llvm.func @integers(%a: i64, %b: i64) {
  // CHECK: "wgmma.mma_async.sync.aligned.m64n8k32.s32.s8.u8 {$0, $1, $2, $3}, $4, $5, 0;", "=r,=r,=r,=r,l,l"
  %d:4 = ptx.wgmma n 8 k 32 s8 u8 i32 a(%a : i64) b(%b) -> i32, i32, i32, i32
  // CHECK: "wgmma.mma_async.sync.aligned.m64n8k32.s32.s8.s8.satfinite {$0, $1, $2, $3}, $8, $9, 1;", "=r,=r,=r,=r,0,1,2,3,l,l"
  %e:4 = ptx.wgmma n 8 k 32 s8 s8 i32 a(%a : i64) b(%b) acc(%d#0, %d#1, %d#2, %d#3 : i32, i32, i32, i32) {satfinite} -> i32, i32, i32, i32
  // CHECK: "wgmma.mma_async.sync.aligned.m64n8k16.f16.f16.f16 {$0, $1}, $2, $3, 0, 1, 1, 0, 0;", "=r,=r,l,l"
  %h:2 = ptx.wgmma n 8 k 16 f16 f16 f16 a(%a : i64) b(%b) -> i32, i32
  llvm.return
}

// -----

// A wait without values; and one that a store which never happens keeps behind %x.
// CHECK-LABEL: llvm.func @waits
llvm.func @waits(%x: f32, %scratch: !llvm.ptr<3>) {
  // CHECK: llvm.inline_asm has_side_effects asm_dialect = att "wgmma.wait_group.sync.aligned 1;", ""
  ptx.wgmma_wait 1
  // CHECK: "{ .reg .pred p; {{.*}} @p st.shared.b32 [$0], t; }", "r,f" %{{.*}}, %{{.*}} : (!llvm.ptr<3>, f32)
  // CHECK-NEXT: "wgmma.wait_group.sync.aligned 0;", "=f,0"
  %w = ptx.wgmma_wait 0 after(%x, %scratch : !llvm.ptr<3>), %x : f32
  llvm.return
}

// -----

// Between a fence and a commit all products are one call, which writes some sums while operands of others are still to be read. What is
// added to a descriptor is added right before the product.
// CHECK-LABEL: llvm.func @group
llvm.func @group(%a: i64, %b: i64, %c: f32) {
  // CHECK: llvm.inline_asm has_side_effects asm_dialect = att "wgmma.fence.sync.aligned;\0A\09
  // CHECK-SAME: wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e4m3 {$0, $1, $2, $3}, $12, $13, 1, 1, 1;\0A\09
  // CHECK-SAME: { .reg .b64 a; add.s64 a, $12, 2; .reg .b64 b; add.s64 b, $13, 2; wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e4m3 {$0, $1, $2, $3}, a, b, 1, 1, 1; }\0A\09
  // CHECK-SAME: wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e4m3 {$4, $5, $6, $7}, $12, $13, 0, 1, 1;\0A\09
  // CHECK-SAME: wgmma.commit_group.sync.aligned;", "=&f,=&f,=&f,=&f,=&f,=&f,=&f,=&f,0,1,2,3,l,l,~{memory}" %arg2, %arg2, %arg2, %arg2, %arg0, %arg1 :
  // CHECK: llvm.extractvalue %{{.*}}[0]
  // CHECK: llvm.extractvalue %{{.*}}[7]
  // CHECK: "wgmma.wait_group.sync.aligned 0;", "=f,=f,0,1"
  %two = arith.constant 2 : i64
  nvvm.wgmma.fence.aligned
  %d:4 = ptx.wgmma n 8 k 32 e4m3 e4m3 f32 a(%a : i64) b(%b) acc(%c, %c, %c, %c : f32, f32, f32, f32) -> f32, f32, f32, f32
  %a2 = arith.addi %a, %two : i64
  %b2 = arith.addi %b, %two : i64
  %e:4 = ptx.wgmma n 8 k 32 e4m3 e4m3 f32 a(%a2 : i64) b(%b2) acc(%d#0, %d#1, %d#2, %d#3 : f32, f32, f32, f32) -> f32, f32, f32, f32
  %f:4 = ptx.wgmma n 8 k 32 e4m3 e4m3 f32 a(%a : i64) b(%b) -> f32, f32, f32, f32
  nvvm.wgmma.commit.group.sync.aligned
  %w:2 = ptx.wgmma_wait 0, %e#0, %f#3 : f32, f32
  llvm.return
}

// -----

// A store between, or a sum that something else needs, ends the group.
// CHECK-LABEL: llvm.func @apart
llvm.func @apart(%a: i64, %b: i64, %p: !llvm.ptr) {
  // CHECK: "wgmma.fence.sync.aligned;\0A\09wgmma.mma_async{{.*}};", "=f,=f,=f,=f,l,l,~{memory}"
  // CHECK: llvm.store
  // CHECK: "wgmma.mma_async{{.*}};\0A\09wgmma.commit_group.sync.aligned;", "=f,=f,=f,=f,0,1,2,3,l,l,~{memory}"
  nvvm.wgmma.fence.aligned
  %d:4 = ptx.wgmma n 8 k 32 e4m3 e4m3 f32 a(%a : i64) b(%b) -> f32, f32, f32, f32
  llvm.store %a, %p : i64, !llvm.ptr
  %e:4 = ptx.wgmma n 8 k 32 e4m3 e4m3 f32 a(%a : i64) b(%b) acc(%d#0, %d#1, %d#2, %d#3 : f32, f32, f32, f32) -> f32, f32, f32, f32
  nvvm.wgmma.commit.group.sync.aligned
  llvm.return
}

// -----

// A loop with a pinned wait chooses the next of a carried number: everything in it uses a copy made at its head. What is carried in another way, and
// loops without such a wait, stay.
// CHECK-LABEL: llvm.func @chosen
llvm.func @chosen(%n: i32, %x: f32, %scratch: !llvm.ptr<3>) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  // CHECK: scf.for {{.*}} iter_args(%[[TOP:.*]] = %arg1, %[[SUM:.*]] = %arg1)
  // CHECK-NEXT: %[[OLD:.*]] = llvm.inline_asm {{.*}} "mov.b32 $0, $1;", "=f,f" %[[TOP]]
  // CHECK: arith.cmpf ogt, %arg1, %[[OLD]]
  // CHECK: arith.select %{{.*}}, %arg1, %[[OLD]]
  // CHECK: arith.addf %[[SUM]], %[[OLD]]
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%top = %x, %sum = %x) -> (f32, f32) : i32 {
    %above = arith.cmpf ogt, %x, %top : f32
    %new = arith.select %above, %x, %top : f32
    %w = ptx.wgmma_wait 0 after(%x, %scratch : !llvm.ptr<3>), %x : f32
    %next = arith.addf %sum, %top : f32
    scf.yield %new, %next : f32, f32
  }
  // CHECK: scf.for {{.*}} iter_args(%[[TOP:.*]] = %arg1)
  // CHECK-NEXT: arith.maxnumf %{{.*}}, %[[TOP]]
  %s = scf.for %i = %c0 to %n step %c1 iter_args(%top = %x) -> (f32) : i32 {
    %new = arith.maxnumf %x, %top : f32
    scf.yield %new : f32
  }
  llvm.return
}
