// RUN: kernel-opt %s --nv-assign-scratch --split-input-file | FileCheck %s

#line = #nv.blocked<[4], [32], [4], [0]>
#rows = #nv.blocked<[1, 4], [1, 32], [4, 1], [1, 0]>
#columns = #nv.blocked<[4, 1], [32, 1], [1, 4], [0, 1]>

// Reductions take turns with two slots and need no barrier between; what stays in a warp needs no scratch.
// CHECK-LABEL: func.func @turns
func.func @turns(%t: tensor<512xf32, #line>, %u: tensor<4x128xf32, #rows>) {
  // CHECK: %[[A:.*]] = nv.alloc 1 x 16 align 16 {name = "scratch"} : !nv.memdesc<16xi8>
  // CHECK: %[[B:.*]] = nv.alloc 1 x 16 align 16 {name = "scratch"} : !nv.memdesc<16xi8>
  warp.specialize {
    warp.role @main warps(4) {
      // CHECK-DAG: %[[VA:.*]] = nv.view %[[A]]
      // CHECK-DAG: %[[VB:.*]] = nv.view %[[B]]
      // CHECK-NOT: nv.named_barrier
      // CHECK: nv.reduce max %{{.*}} dim(0) scratch(%[[VA]] : !nv.memdesc<16xi8>)
      %a = nv.reduce max %t dim(0) : tensor<512xf32, #line> -> f32
      // CHECK: nv.reduce add %{{.*}} dim(0) scratch(%[[VB]] : !nv.memdesc<16xi8>)
      %b = nv.reduce add %t dim(0) : tensor<512xf32, #line> -> f32
      // CHECK: nv.reduce add %{{.*}} dim(1) : tensor<4x128xf32
      %c = nv.reduce add %u dim(1) : tensor<4x128xf32, #rows> -> tensor<4xf32, #nv.slice<1, #rows>>
      // CHECK: nv.reduce min %{{.*}} dim(0) scratch(%[[VA]] : !nv.memdesc<16xi8>)
      %d = nv.reduce min %t dim(0) : tensor<512xf32, #line> -> f32
    }
  }
  return
}

// -----

#line = #nv.blocked<[4], [32], [4], [0]>

// The only reduction of a loop writes again what its last round may still be read from.
// CHECK-LABEL: func.func @loop
func.func @loop(%t: tensor<512xf32, #line>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  warp.specialize {
    warp.role @main warps(4) {
      // CHECK: scf.for
      // CHECK-NEXT: nv.named_barrier
      // CHECK-NEXT: nv.reduce max
      scf.for %i = %c0 to %n step %c1 : i32 {
        %a = nv.reduce max %t dim(0) : tensor<512xf32, #line> -> f32
      }
      // CHECK: scf.for
      // CHECK-NOT: nv.named_barrier
      // CHECK: return
      scf.for %i = %c0 to %n step %c1 : i32 {
        %a = nv.reduce max %t dim(0) : tensor<512xf32, #line> -> f32
        %b = nv.reduce add %t dim(0) : tensor<512xf32, #line> -> f32
      }
    }
  }
  return
}

// -----

#rows = #nv.blocked<[1, 4], [2, 16], [4, 1], [1, 0]>
#columns = #nv.blocked<[4, 1], [16, 2], [1, 4], [0, 1]>

// Tiles that change warps share one slot: a barrier before the second.
// CHECK-LABEL: func.func @tiles
func.func @tiles(%t: tensor<64x64xf32, #rows>) {
  // CHECK: nv.alloc 2 x 16384 align 1024 {name = "scratch"}
  warp.specialize {
    warp.role @main warps(4) replicas(2) {
      // CHECK: warp.replica_index
      // CHECK: nv.convert_layout {{.*}} scratch
      %a = nv.convert_layout %t : tensor<64x64xf32, #rows> -> tensor<64x64xf32, #columns>
      // CHECK-NEXT: nv.named_barrier
      // CHECK-NEXT: nv.convert_layout {{.*}} scratch
      %b = nv.convert_layout %a : tensor<64x64xf32, #columns> -> tensor<64x64xf32, #rows>
    }
  }
  return
}

// -----

#wide = #nv.blocked<[1, 2], [4, 8], [1, 1], [1, 0]>
#narrow = #nv.blocked<[1, 1], [8, 4], [1, 1], [0, 1]>

// The lanes of one warp meet as well before they write what others of them may still read.
// CHECK-LABEL: func.func @one_warp
func.func @one_warp(%t: tensor<4x16xbf16, #wide>, %u: tensor<4x16xbf16, #wide>) {
  warp.specialize {
    warp.role @main warps(1) {
      // CHECK: nv.reshape {{.*}} scratch
      %a = nv.reshape %t : tensor<4x16xbf16, #wide> -> tensor<8x8xbf16, #narrow>
      // CHECK-NEXT: nv.named_barrier
      // CHECK-NEXT: nv.reshape {{.*}} scratch
      %b = nv.reshape %u : tensor<4x16xbf16, #wide> -> tensor<8x8xbf16, #narrow>
    }
  }
  return
}

// -----

#line = #nv.blocked<[1], [32], [4], [0]>
#few = #nv.blocked<[1], [32], [1], [0]>

// A tile that elements are taken from lies in scratch whole, also where it stays in one warp; counters are 4 bytes each.
// CHECK-LABEL: func.func @indexed
func.func @indexed(%t: tensor<128xbf16, #line>, %i: tensor<128xi32, #line>) {
  // CHECK: %[[S:.*]] = nv.alloc 1 x 256 align 16 {name = "scratch"} : !nv.memdesc<256xi8>
  warp.specialize {
    warp.role @main warps(4) {
      // CHECK: %[[V:.*]] = nv.view %[[S]]
      // CHECK: nv.take {{.*}} scratch(%[[V]] : !nv.memdesc<256xi8>)
      %a = nv.take %t[%i] dim(0) : tensor<128xbf16, #line>, tensor<128xi32, #line> -> tensor<128xbf16, #line>
      // CHECK-NEXT: nv.named_barrier
      // CHECK-NEXT: nv.histogram {{.*}} scratch(%[[V]] : !nv.memdesc<256xi8>)
      %b = nv.histogram %i : tensor<128xi32, #line> -> tensor<32xi32, #few>
    }
  }
  return
}
