// Several artifacts of one run, and everything made on the way.
// REQUIRES: ptxas
// RUN: rm -rf %t && mkdir %t
// RUN: kernel-opt %s --target=sm_90a --emit=ptx,cubin,recipe -o %t/
// RUN: FileCheck %s --check-prefix=PTX < %t/outputs.ptx
// RUN: FileCheck %s --check-prefix=RECIPE < %t/outputs.json
// RUN: %python -c "assert open(r'%t/outputs.cubin', 'rb').read(4) == b'\x7fELF'"
// RUN: kernel-opt %s --target=sm_90a --emit=ptx,llvmir -o %t/sub/other.xyz
// RUN: FileCheck %s --check-prefix=PTX < %t/sub/other.ptx
// RUN: FileCheck %s --check-prefix=LLVMIR < %t/sub/other.ll
// RUN: kernel-opt %s --target=sm_90a --emit=ptx -o %t/one.s --save-temps=%t/temps
// RUN: FileCheck %s --check-prefix=PTX < %t/one.s
// RUN: ls %t/temps | FileCheck %s --check-prefix=TEMPS
// RUN: kernel-opt %s --target=sm_90a --emit=recipe | FileCheck %s --check-prefix=RECIPE

// PTX: .visible .entry k
// LLVMIR: define ptx_kernel void @k
// TEMPS: outputs.ll
// TEMPS-NEXT: outputs.llvm.mlir
// TEMPS-NEXT: outputs.nv.mlir
// TEMPS-NEXT: outputs.ptx
// TEMPS-NEXT: outputs.tile.mlir
// TEMPS-NEXT: outputs.unoptimized.ll
// TEMPS-NEXT: outputs.warp.mlir
// Every kind of attribute that a recipe may hold.
// RECIPE:      {
// RECIPE-NEXT:   "dependent": false,
// RECIPE-NEXT:   "kernel": "k",
// RECIPE-NEXT:   "launch": {
// RECIPE-NEXT:     "cluster": [
// RECIPE-NEXT:       2,
// RECIPE-NEXT:       1,
// RECIPE-NEXT:       1
// RECIPE-NEXT:     ],
// RECIPE-NEXT:     "shared_bytes": 229440
// RECIPE-NEXT:   },
// RECIPE-NEXT:   "parameters": [
// RECIPE-NEXT:     {
// RECIPE-NEXT:       "argument": 0
// RECIPE-NEXT:     },
// RECIPE-NEXT:     "text"
// RECIPE-NEXT:   ],
// RECIPE-NEXT:   "scale": 0.5,
// RECIPE-NEXT:   "symbol": "k"
// RECIPE-NEXT: }

llvm.func @k(%out: !llvm.ptr<1>) attributes {
    nvvm.kernel, nvvm.reqntid = array<i32: 128, 1, 1>,
    tileloom.recipe = {kernel = "k", dependent = false, scale = 0.5 : f64, symbol = @k,
                       launch = {cluster = array<i64: 2, 1, 1>, shared_bytes = 229440 : i64},
                       parameters = [{argument = 0 : i64}, "text"]}} {
  %x = llvm.mlir.constant(1 : i32) : i32
  llvm.store %x, %out : i32, !llvm.ptr<1>
  llvm.return
}
