// Mistakes on the command line and in the program.
// RUN: not kernel-opt %s --target=sm_80 2>&1 | FileCheck %s --check-prefix=TARGET
// RUN: not kernel-opt %s --emit=ptx 2>&1 | FileCheck %s --check-prefix=NO-TARGET
// RUN: not kernel-opt %s --target=sm_90a --emit=sass 2>&1 | FileCheck %s --check-prefix=KIND
// RUN: not kernel-opt %s --target=sm_90a --emit=ptx,llvmir 2>&1 | FileCheck %s --check-prefix=SEVERAL
// RUN: not kernel-opt %s --target=sm_90a --report=xml 2>&1 | FileCheck %s --check-prefix=FORM
// RUN: not kernel-opt %s --target=sm_90a --opt-level=4 2>&1 | FileCheck %s --check-prefix=LEVEL
// RUN: not kernel-opt %t.missing.mlir --target=sm_90a 2>&1 | FileCheck %s --check-prefix=MISSING
// RUN: not kernel-opt %s --target=sm_90a --emit=recipe 2>&1 | FileCheck %s --check-prefix=RECIPE
// RUN: not kernel-opt %s --target=sm_90a -o %S/errors.mlir/x.ptx 2>&1 | FileCheck %s --check-prefix=OUTPUT
// RUN: not kernel-opt %s --target=sm_90a --emit=cubin -o %t.cubin --ptxas=/nowhere/ptxas 2>&1 | FileCheck %s --check-prefix=NO-PROGRAM
// RUN: env -u CUDA_HOME -u TILELOOM_PTXAS -u HOME -u VIRTUAL_ENV -u CONDA_PREFIX PATH=/nowhere not %kernel-opt %s --target=sm_90a --emit=cubin -o %t.cubin 2>&1 | FileCheck %s --check-prefix=NO-PTXAS
// RUN: env -u CUDA_HOME -u TILELOOM_PTXAS -u HOME -u VIRTUAL_ENV -u CONDA_PREFIX PATH=/nowhere %kernel-opt %s --target=sm_90a --report | FileCheck %s --check-prefix=NOT-ASSEMBLED
// RUN: echo "llvm.func @k( {" | not kernel-opt --target=sm_90a 2>&1 | FileCheck %s --check-prefix=SYNTAX

// TARGET: error: unknown target 'sm_80' (targets: sm_90a, sm_100a, sm_103a)
// NO-TARGET: error: --emit needs --target (sm_90a, sm_100a or sm_103a)
// KIND: error: unknown --emit 'sass' (kinds: tile, warp, nv, llvm, recipe, llvmir, ptx, cubin)
// SEVERAL: error: several --emit kinds need -o with a file or a directory
// FORM: error: unknown --report 'xml' (forms: text, json)
// LEVEL: error: --opt-level is 0, 1, 2 or 3, not 4
// MISSING: error: cannot open input file '{{.*}}missing.mlir': No such file or directory
// RECIPE: error: no launch recipe: neither the module nor a kernel in it has 'tileloom.recipe'
// OUTPUT: error: cannot write '{{.*}}errors.mlir/x.ptx': Not a directory
// NO-PROGRAM: error: ptxas: cannot run '/nowhere/ptxas': No such file or directory
// NO-PTXAS: error: ptxas was not found, and a cubin needs it: looked at --ptxas, $TILELOOM_PTXAS, $CUDA_HOME/bin, $PATH and the Python package nvidia-cuda-nvcc
// NOT-ASSEMBLED: ptxas: not assembled
// SYNTAX: <stdin>:1:{{[0-9]+}}: error:

llvm.func @k(%out: !llvm.ptr<1>) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 128, 1, 1>} {
  %x = llvm.mlir.constant(1 : i32) : i32
  llvm.store %x, %out : i32, !llvm.ptr<1>
  llvm.return
}
