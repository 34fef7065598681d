// RUN: kernel-opt %s --tile-assign-schedule=chip=sm_100a --verify-diagnostics

// expected-error @+1 {{schedule: divide = "columns" expected sums in registers: of tensor memory warps have rows, found none}}
func.func @tensor_memory(%a: tensor<128x64xbf16>, %b: tensor<64x64xbf16>, %c: tensor<128x64xf32>) -> tensor<128x64xf32>
    attributes {tile.kernel, tile.schedule = #tile.schedule<divide = "columns">} {
  %d = tile.dot %a, %b acc(%c) : tensor<128x64xbf16>, tensor<64x64xbf16> -> tensor<128x64xf32>
  return %d : tensor<128x64xf32>
}
