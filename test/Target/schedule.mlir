// --schedule: fields of tile kernels in the place of their own, and beside them.
// RUN: kernel-opt %s --target=sm_90a --emit=tile --schedule='#tile.schedule<stages = 3, use = "cooperative">' | FileCheck %s
// RUN: kernel-opt %s --target=sm_90a --explain-schedule --schedule='#tile.schedule<stages = 3>' | FileCheck %s --check-prefix=EXPLAIN
// RUN: not kernel-opt %s --target=sm_90a --schedule='#tile.schedule<stage = 3>' 2>&1 | FileCheck %s --check-prefix=FIELD
// RUN: not kernel-opt %s --target=sm_90a --schedule='stages = 3' 2>&1 | FileCheck %s --check-prefix=FORM
// RUN: not kernel-opt %s --schedule='#tile.schedule<stages = 3>' 2>&1 | FileCheck %s --check-prefix=TARGET
// RUN: not kernel-opt %S/../programs/warp/softmax.mlir --target=sm_90a --schedule='#tile.schedule<stages = 3>' 2>&1 | FileCheck %s --check-prefix=ROLES
// RUN: echo 'func.func @f() { return }' | not kernel-opt --target=sm_90a --schedule='#tile.schedule<stages = 3>' 2>&1 | FileCheck %s --check-prefix=NONE

// CHECK: #tile.schedule<{{.*}}raster = 8, {{.*}}stages = 3, use = "cooperative">
// EXPLAIN-NOT: stages = 2
// EXPLAIN: #tile.schedule<raster = 8, stages = 3, use = "pingpong">
// EXPLAIN-NOT: stages = {{[^3]}}
// FIELD: error: --schedule: expected #tile.schedule<...>, found '#tile.schedule<stage = 3>': schedule: unknown field 'stage'; known are replicas,
// FORM: error: --schedule: expected #tile.schedule<...>, found 'stages = 3'
// TARGET: error: --schedule needs --target (sm_90a, sm_100a or sm_103a)
// ROLES: softmax.mlir:{{[0-9]+}}:{{[0-9]+}}: error: {{.*}}--schedule: expected a kernel of tiles, found one with roles, which has its schedule already
// NONE: error: --schedule: expected a kernel of tiles, found no function with 'tile.kernel'

func.func @product(%A: !tile.desc<128x64xbf16>, %B: !tile.desc<64x64xbf16>, %C: !tile.desc<128x64xf32>, %m: i32, %k: i32)
    attributes {tile.kernel, tile.schedule = #tile.schedule<raster = 8, use = "pingpong">} {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %c128 = arith.constant 128 : i32
  %zero = arith.constant dense<0.0> : tensor<128x64xf32>
  tile.for_each_tile (%i) in (%m) {
    %row = arith.muli %i, %c128 : i32
    %sum = scf.for %x = %c0 to %k step %c64 iter_args(%c = %zero) -> tensor<128x64xf32> : i32 {
      %a = tile.load %A[%row, %x] : !tile.desc<128x64xbf16> -> tensor<128x64xbf16>
      %b = tile.load %B[%x, %c0] : !tile.desc<64x64xbf16> -> tensor<64x64xbf16>
      %d = tile.dot %a, %b acc(%c) : tensor<128x64xbf16>, tensor<64x64xbf16> -> tensor<128x64xf32>
      scf.yield %d : tensor<128x64xf32>
    }
    tile.store %sum to %C[%row, %c0] : tensor<128x64xf32>, !tile.desc<128x64xf32>
  }
  return
}
