// What the fast kernels need of the PTX printer: tensor maps as parameters, 32-bit shared addresses folded into
// instructions, the CTA-only form of TMA loads, launch directives.
// RUN: kernel-opt %s --target=sm_90a --emit=ptx --verify-llvm | FileCheck %s
// RUN: kernel-opt %s --target=sm_100a --emit=ptx --verify-llvm | FileCheck %s

// CHECK: .extern .shared .align 1024 .b8 smem[];
// CHECK: .param .align 64 .b8 gemm_param_0[128]
// CHECK: .reqntid 384, 1, 1
// CHECK-NEXT: .minnctapersm 1
// CHECK-NEXT: .explicitcluster
// CHECK-NEXT: .reqnctapercluster 2, 1, 1
// CHECK-NOT: cvta.to
// CHECK: mbarrier.init.shared.b64 [smem+32768]
// CHECK: cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes [smem], [%rd{{[0-9]+}}, {{.*}}], [smem+32768];

llvm.mlir.global external @smem() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<0 x i8>
llvm.func @gemm(%a: !llvm.ptr {llvm.byval = !llvm.struct<(array<128 x i8>)>, llvm.align = 64 : i64, nvvm.grid_constant, llvm.noalias}, %n: i32) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 384, 1, 1>, nvvm.minctasm = 1 : i32, nvvm.cluster_dim = array<i32: 2, 1, 1>} {
  %s = llvm.mlir.addressof @smem : !llvm.ptr<3>
  %c = llvm.mlir.constant(128 : i32) : i32
  %bar = llvm.getelementptr %s[32768] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
  %tid = nvvm.read.ptx.sreg.tid.x : i32
  %c0 = llvm.mlir.constant(0 : i32) : i32
  %p = llvm.icmp "eq" %tid, %c0 : i32
  llvm.cond_br %p, ^a, ^b
^a:
  nvvm.mbarrier.init %bar, %c : !llvm.ptr<3>, i32
  nvvm.cp.async.bulk.tensor.shared.cluster.global %s, %a, %bar, box[%c0, %n] {isCTAOnly = true} : !llvm.ptr<3>, !llvm.ptr
  llvm.br ^b
^b:
  llvm.return
}
