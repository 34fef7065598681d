// What ptxas says, played back from recordings: warnings at the kernel, and errors on request.
// RUN: env FAKE_PTXAS=%S/Inputs/spill.txt kernel-opt %s --target=sm_90a --emit=cubin -o %t.cubin --ptxas=%S/Inputs/fake-ptxas.sh 2>&1 | FileCheck %s --check-prefix=SPILL
// RUN: env FAKE_PTXAS=%S/Inputs/spill.txt not kernel-opt %s --target=sm_90a --emit=ptx -o %t.ptx --werror-ptxas --ptxas=%S/Inputs/fake-ptxas.sh 2>&1 | FileCheck %s --check-prefix=SPILL-ERROR
// RUN: env FAKE_PTXAS=%S/Inputs/serialized.txt kernel-opt %s --target=sm_90a --emit=cubin -o %t.cubin --ptxas=%S/Inputs/fake-ptxas.sh 2>&1 | FileCheck %s --check-prefix=SERIAL
// RUN: env FAKE_PTXAS=%S/Inputs/serialized.txt not kernel-opt %s --target=sm_90a --emit=cubin -o %t.cubin --werror-ptxas --ptxas=%S/Inputs/fake-ptxas.sh 2>&1 | FileCheck %s --check-prefix=SERIAL-ERROR
// RUN: env FAKE_PTXAS=%S/Inputs/registers.txt not kernel-opt %s --target=sm_90a --emit=cubin -o %t.cubin --ptxas=%S/Inputs/fake-ptxas.sh 2>&1 | FileCheck %s --check-prefix=REGISTERS
// RUN: env FAKE_PTXAS=%S/Inputs/strange.txt kernel-opt %s --target=sm_90a --emit=cubin -o %t.cubin --ptxas=%S/Inputs/fake-ptxas.sh 2>&1 | count 0
// RUN: env FAKE_PTXAS=silent not kernel-opt %s --target=sm_90a --emit=cubin -o %t.cubin --ptxas=%S/Inputs/fake-ptxas.sh 2>&1 | FileCheck %s --check-prefix=SILENT
// RUN: env FAKE_PTXAS=crash not kernel-opt %s --target=sm_90a --emit=cubin -o %t.cubin --ptxas=%S/Inputs/fake-ptxas.sh 2>&1 | FileCheck %s --check-prefix=CRASH
// RUN: env FAKE_PTXAS=hang not kernel-opt %s --target=sm_90a --emit=cubin -o %t.cubin --ptxas-timeout=1 --ptxas=%S/Inputs/fake-ptxas.sh 2>&1 | FileCheck %s --check-prefix=HANG
// RUN: env FAKE_PTXAS=%S/Inputs/old-arch.txt not kernel-opt %s --target=sm_100a --emit=cubin -o %t.cubin --ptxas=%S/Inputs/fake-ptxas.sh 2>&1 | FileCheck %s --check-prefix=ARCH
// RUN: env FAKE_PTXAS=%S/Inputs/old-version.txt not kernel-opt %s --target=sm_90a --emit=cubin -o %t.cubin --ptxas=%S/Inputs/fake-ptxas.sh 2>&1 | FileCheck %s --check-prefix=VERSION

// An old one: which it is, and which is needed.
// ARCH: error: ptxas: '{{.*}}fake-ptxas.sh' (release 12.2) is too old for sm_100a; needed release 12.9 or later
// VERSION: error: ptxas: '{{.*}}fake-ptxas.sh' (release 12.2) is too old for sm_90a; needed release 12.7 or later
// SPILL: ptxas-messages.mlir:[[#@LINE+13]]:1: warning: ptxas: 'k' spills registers: 228 bytes of stores, 224 bytes of loads, with 24 registers a thread
// SPILL-ERROR: error: ptxas: 'k' spills registers
// SERIAL: ptxas-messages.mlir:[[#@LINE+11]]:1: warning: ptxas: C7509: Potential Performance Loss: wgmma
// SERIAL-ERROR: error: ptxas: C7509
// SERIAL-ERROR-NOT: error
// The summary of ptxas adds nothing.
// REGISTERS: error: ptxas: C7602: Insufficient registers (80)
// REGISTERS: note: PTX line 13: )
// REGISTERS-NOT: aborted
// SILENT: error: ptxas: '{{.*}}fake-ptxas.sh' wrote no cubin
// CRASH: error: ptxas: '{{.*}}fake-ptxas.sh' ended with signal 11
// HANG: error: ptxas: '{{.*}}fake-ptxas.sh' did not finish in 1 s

llvm.func @k(%out: !llvm.ptr<1>) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 128, 1, 1>} {
  %x = llvm.mlir.constant(1 : i32) : i32
  llvm.store %x, %out : i32, !llvm.ptr<1>
  llvm.return
}
