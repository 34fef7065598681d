// RUN: kernel-opt %s | kernel-opt | FileCheck %s
// RUN: kernel-opt %s --mlir-print-op-generic | kernel-opt | FileCheck %s

// Descriptors, from zero: no accumulator goes in.
// CHECK-LABEL: llvm.func @from_zero
llvm.func @from_zero(%a: i64, %b: i64) {
  // CHECK: ptx.wgmma n 8 k 16 bf16 bf16 f32 a(%{{.*}} : i64) b(%{{.*}}) -> f32, f32, f32, f32
  %d:4 = ptx.wgmma n 8 k 16 bf16 bf16 f32 a(%a : i64) b(%b) -> f32, f32, f32, f32
  // CHECK: ptx.wgmma_wait 0, %{{.*}}#0, %{{.*}}#1, %{{.*}}#2, %{{.*}}#3 : f32, f32, f32, f32
  %w:4 = ptx.wgmma_wait 0, %d#0, %d#1, %d#2, %d#3 : f32, f32, f32, f32
  llvm.return
}

// A in registers, accumulators chosen at run time, b transposed.
// CHECK-LABEL: llvm.func @registers
llvm.func @registers(%a: i32, %b: i64, %c: f32, %p: i1) {
  // CHECK: ptx.wgmma n 8 k 16 f16 f16 f32 a(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : i32, i32, i32, i32) b(%{{.*}}) acc(%{{.*}} : f32, f32, f32, f32)
  // CHECK-SAME: scale_d(%{{.*}}) {trans_b} -> f32, f32, f32, f32
  %d:4 = ptx.wgmma n 8 k 16 f16 f16 f32 a(%a, %a, %a, %a : i32, i32, i32, i32) b(%b) acc(%c, %c, %c, %c : f32, f32, f32, f32)
    scale_d(%p) {trans_b} -> f32, f32, f32, f32
  llvm.return
}

// 8-bit operands of different formats; f16 accumulators in pairs.
// CHECK-LABEL: llvm.func @formats
llvm.func @formats(%a: i64, %b: i64) {
  // CHECK: ptx.wgmma n 16 k 32 e4m3 e5m2 f16 a(%{{.*}} : i64) b(%{{.*}}) -> vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>
  %d:4 = ptx.wgmma n 16 k 32 e4m3 e5m2 f16 a(%a : i64) b(%b) -> vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>
  llvm.return
}

// A wait that nothing is tied to, and one that stays behind a value.
// CHECK-LABEL: llvm.func @waits
llvm.func @waits(%x: f32, %scratch: !llvm.ptr<3>) {
  // CHECK: ptx.wgmma_wait 1{{$}}
  ptx.wgmma_wait 1
  // CHECK: ptx.wgmma_wait 0 after(%{{.*}}, %{{.*}} : !llvm.ptr<3>), %{{.*}} : f32
  %w = ptx.wgmma_wait 0 after(%x, %scratch : !llvm.ptr<3>), %x : f32
  llvm.return
}
