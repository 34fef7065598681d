// RUN: kernel-opt %s | kernel-opt | FileCheck %s
// RUN: kernel-opt %s --mlir-print-op-generic | kernel-opt | FileCheck %s

// CHECK-LABEL: func.func @kernel
// CHECK-SAME: !tile.desc<128x64xbf16>, %{{.*}}: !tile.desc<1x128x1x64xf8E4M3FN>, %{{.*}}: !tile.desc<16xi32>
// CHECK-SAME: attributes {tile.kernel}
func.func @kernel(%a: !tile.desc<128x64xbf16>, %b: !tile.desc<1x128x1x64xf8E4M3FN>, %c: !tile.desc<16xi32>)
    attributes {tile.kernel} {
  return
}

// CHECK-LABEL: func.func private @rank5(!tile.desc<1x2x3x4x5xf32>)
func.func private @rank5(!tile.desc<1x2x3x4x5xf32>)
