// A kernel that spills under a cap that is only wanted gets the registers that the hardware has; one that spills without is left as it is. The recording
// says of both runs that 'k' spills.
// RUN: env FAKE_PTXAS=%S/Inputs/spill.txt kernel-opt %s --target=sm_90a --emit=ptx --report -o %t.ptx --ptxas=%S/Inputs/fake-ptxas.sh 2>&1 | FileCheck %s
// RUN: FileCheck %s --check-prefix=LIFTED --input-file %t.ptx
// RUN: env FAKE_PTXAS=%S/Inputs/strange.txt kernel-opt %s --target=sm_90a --emit=ptx --report -o %t.ptx --ptxas=%S/Inputs/fake-ptxas.sh
// RUN: FileCheck %s --check-prefix=KEPT --input-file %t.ptx

// CHECK-COUNT-1: warning: ptxas: 'k' spills registers
// CHECK-NOT: warning: ptxas: 'k' spills registers
// LIFTED: .maxnreg 128
// KEPT: .maxnreg 64

llvm.func @k(%out: !llvm.ptr<1>)
    attributes {nvvm.kernel, nvvm.reqntid = array<i32: 512, 1, 1>, nvvm.maxnreg = 64 : i32, nv.max_registers = 128 : i64, nv.wanted_registers = 64 : i64} {
  %x = llvm.mlir.constant(1 : i32) : i32
  llvm.store %x, %out : i32, !llvm.ptr<1>
  llvm.return
}
