// Assembly that ptxas does not know: the error quotes the PTX line, and with --lineinfo is at the source line.
// REQUIRES: ptxas
// RUN: not kernel-opt %s --target=sm_90a --emit=cubin -o %t.cubin 2>&1 | FileCheck %s --check-prefix=KERNEL
// RUN: not kernel-opt %s --target=sm_90a --emit=cubin -o %t.cubin --lineinfo 2>&1 | FileCheck %s --check-prefix=LINE
// RUN: not kernel-opt %s --target=sm_90a --emit=cubin -o %t.cubin --Xptxas=--no-such-option 2>&1 | FileCheck %s --check-prefix=OPTION
// RUN: kernel-opt %s --target=sm_90a --emit=ptx -o %t.ptx

// KERNEL: ptxas-errors.mlir:[[#@LINE+6]]:1: error: ptxas: Not a name of any known instruction: 'frobnicate'
// KERNEL: note: PTX line {{[0-9]+}}: frobnicate.b32
// KERNEL-NOT: aborted
// LINE: ptxas-errors.mlir:[[#@LINE+4]]:8: error: ptxas: Not a name of any known instruction: 'frobnicate'
// OPTION: error: ptxas: Unknown option '-no-such-option'

llvm.func @k(%out: !llvm.ptr<1>, %a: i32) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 128, 1, 1>} {
  %x = llvm.inline_asm "frobnicate.b32 $0, $1;", "=r,r" %a : (i32) -> i32
  llvm.store %x, %out : i32, !llvm.ptr<1>
  llvm.return
}
