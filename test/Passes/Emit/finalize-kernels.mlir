// RUN: kernel-opt %s --finalize-kernels --split-input-file | FileCheck %s

// A tensor map is a constant parameter passed by value, 64-byte aligned; names for the recipe go; threads are exact. With setmaxnreg one CTA an SM is promised, or ptxas
// ignores it (C7508); the cap is the hardware's then.
// CHECK-LABEL: llvm.func @budgets(
// CHECK-SAME: %{{.*}}: !llvm.ptr {llvm.align = 64 : i64, llvm.byval = !llvm.array<128 x i8>, nvvm.grid_constant}, %{{.*}}: i32 {llvm.noundef})
// CHECK-NOT: nvvm.maxnreg
// CHECK-SAME: nvvm.kernel, nvvm.minctasm = 1 : i32, nvvm.reqntid = array<i32: 384, 1, 1>
// CHECK-NOT: nvvm.maxnreg
// CHECK: nvvm.setmaxregister
llvm.func @budgets(%A: !llvm.ptr {nv.tensor_map = {}}, %x: i32 {llvm.noundef, tile.name = "x"}) attributes {tile.kernel, nv.threads = 384 : i64, nv.max_registers = 168 : i64} {
  nvvm.setmaxregister increase 240
  llvm.return
}

// -----

// Two CTAs an SM are promised if the launch wants them.
// CHECK-LABEL: llvm.func @two(
// CHECK-SAME: nvvm.minctasm = 2 : i32
llvm.func @two() attributes {tile.kernel, nv.threads = 256 : i64, nv.max_registers = 128 : i64, warp.launch = #warp.launch<perSm = 2>} {
  nvvm.setmaxregister increase 200
  llvm.return
}

// -----

// Without budgets the registers that a sub-partition can grant are the cap: ptxas would allow 224 for 288 threads, and the launch fail.
// CHECK-LABEL: llvm.func @cap(
// CHECK-NOT: nvvm.minctasm
// CHECK-SAME: nvvm.kernel, nvvm.maxnreg = 168 : i32, nvvm.reqntid = array<i32: 288, 1, 1>
llvm.func @cap() attributes {tile.kernel, nv.threads = 288 : i64, nv.max_registers = 168 : i64} {
  llvm.return
}

// -----

// CHECK-LABEL: llvm.func @helper()
// CHECK-NOT: nvvm.kernel
llvm.func @helper() {
  llvm.return
}
