// RUN: kernel-opt %s --canonicalize --cse | FileCheck %s

// A kernel keeps its attribute and the descriptors that it does not use: the host passes them.
// CHECK-LABEL: func.func @unused(
// CHECK-SAME: %{{.*}}: !tile.desc<128x64xbf16>, %{{.*}}: i32) attributes {tile.kernel}
func.func @unused(%a: !tile.desc<128x64xbf16>, %n: i32) attributes {tile.kernel} {
  return
}
