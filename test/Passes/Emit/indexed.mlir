// RUN: kernel-opt %s --convert-tiles | FileCheck %s

#line = #nv.blocked<[1], [32], [4], [0]>
#rows = #nv.blocked<[1, 1], [8, 4], [4, 1], [1, 0]>

// The tile is written row by row; rows and indices give the places that are read.
// CHECK-LABEL: func.func @take
func.func @take(%scratch: !nv.memdesc<1024xi8>) {
  warp.specialize {
    warp.role @main warps(4) attributes {nv.first_warp = 0 : i64, nv.barrier = 1 : i64} {
      %x = nv.index dim(1) : tensor<32x4xi32, #rows>
      // CHECK: {{llvm.store|nvvm.stmatrix}}
      // CHECK: nvvm.barrier
      // CHECK: llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr<3> -> i32
      %y = nv.take %x[%x] dim(1) scratch(%scratch : !nv.memdesc<1024xi8>)
        : tensor<32x4xi32, #rows>, tensor<32x4xi32, #rows> -> tensor<32x4xi32, #rows>
    }
  }
  return
}

// Counters are cleared, then counted up under their bound, then read: the threads meet twice.
// CHECK-LABEL: func.func @histogram
func.func @histogram(%scratch: !nv.memdesc<1024xi8>) {
  warp.specialize {
    warp.role @main warps(4) attributes {nv.first_warp = 0 : i64, nv.barrier = 1 : i64} {
      %x = nv.index dim(0) : tensor<128xi32, #line>
      // CHECK: arith.cmpi ult
      // CHECK: scf.if
      // CHECK: llvm.store
      // CHECK: nvvm.barrier
      // CHECK: arith.cmpi ult
      // CHECK: scf.if
      // CHECK: llvm.atomicrmw add %{{.*}}, %{{.*}} syncscope("block") monotonic : !llvm.ptr<3>, i32
      // CHECK: nvvm.barrier
      // CHECK: {{llvm.load|nvvm.ldmatrix}}
      %y = nv.histogram %x scratch(%scratch : !nv.memdesc<1024xi8>) : tensor<128xi32, #line> -> tensor<64xi32, #line>
    }
  }
  return
}
