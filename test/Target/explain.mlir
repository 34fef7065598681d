// RUN: kernel-opt %S/../programs/gemm.mlir --target=sm_90a --explain-schedule=4096,4096,7168 | FileCheck %s
// RUN: kernel-opt %S/../programs/gemm.mlir --target=sm_90a --explain-schedule | FileCheck %s --check-prefix=GUESS
// RUN: not kernel-opt %S/../programs/gemm.mlir --target=sm_90a --explain-schedule=4096,x 2>&1 | FileCheck %s --check-prefix=WORD
// RUN: not kernel-opt %S/../programs/gemm.mlir --target=sm_90a --explain-schedule=1,2,3,4 2>&1 | FileCheck %s --check-prefix=MANY
// RUN: kernel-opt %S/Inputs/while.mlir --target=sm_90a --explain-schedule | FileCheck %s --check-prefix=WHILE

// 128 x 256 tiles: two sums do not fit when tiles are taken in turn; six slots do not fit at all.
// CHECK: gemm on sm_90a
// CHECK: {{^ +[0-9]+\.[0-9] +512 +4 +4 .*}}#tile.schedule<use = "cooperative">
// CHECK: - #tile.schedule<stages = 6, use = "cooperative">: shared memory: {{[0-9]+}} bytes needed, 231424 there
// CHECK: - #tile.schedule<use = "pingpong">: registers: 256 a thread for sums and operands, 224 there
// GUESS: {{^ +[0-9]+\.[0-9] .*}}#tile.schedule<use = "cooperative">
// WORD: --explain-schedule: 'x' is no number; needed one or '?'
// MANY: --explain-schedule: 4 numbers; kernel 'gemm' has 3 scalar arguments
// WHILE: - #tile.schedule<use = "pingpong">: in turns: what a tile loads differs from tile to tile
