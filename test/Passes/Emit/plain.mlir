// RUN: kernel-opt %s --convert-tiles --split-input-file --verify-diagnostics | FileCheck %s

#line = #nv.blocked<[4], [32], [4], [0]>

// A run of neighbours is one access; a masked one is assembly under a predicate, which gets `other` (or zero) first.
// CHECK-LABEL: func.func @accesses
func.func @accesses(%p: i64) {
  warp.specialize {
    warp.role @main warps(4) attributes {nv.first_warp = 0 : i64} {
      %i = nv.index dim(0) : tensor<512xi32, #line>
      %m = ub.poison : tensor<512xi1, #line>
      %o = ub.poison : tensor<512xf32, #line>
      // CHECK: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xi32>
      %a = nv.global_load %p[%i] {nv.run = array<i64: 0, 4>} : tensor<512xi32, #line> -> tensor<512xf32, #line>
      // CHECK: llvm.inline_asm has_side_effects {{.*}} "mov.b32 $0, $4;{{.*}}@$9 ld.global.v4.b32 {$0, $1, $2, $3}, [$8];", "=&r,=&r,=&r,=&r,r,r,r,r,l,b"
      %b = nv.global_load %p[%i] mask(%m : tensor<512xi1, #line>) other(%o : tensor<512xf32, #line>) {nv.run = array<i64: 0, 4>}
        : tensor<512xi32, #line> -> tensor<512xf32, #line>
      // CHECK-COUNT-4: "mov.b16 $0, 0;{{.*}}@$2 ld.global.nc.L1::evict_first.b16 $0, [$1];", "=&h,l,b"
      %c = nv.global_load %p[%i] mask(%m : tensor<512xi1, #line>) cache(evict_first) invariant : tensor<512xi32, #line> -> tensor<512xbf16, #line>
      // CHECK: "@$5 st.global.v4.b32 [$4], {$0, $1, $2, $3};"
      nv.global_store %b to %p[%i] mask(%m : tensor<512xi1, #line>) {nv.run = array<i64: 0, 4>} : tensor<512xf32, #line>, tensor<512xi32, #line>
      // CHECK: "@$5 red.relaxed.gpu.global.add.v4.f32 [$4], {$0, $1, $2, $3};"
      nv.global_reduce add %b to %p[%i] mask(%m : tensor<512xi1, #line>) {nv.run = array<i64: 0, 4>} : tensor<512xf32, #line>, tensor<512xi32, #line>
      // CHECK: "red.relaxed.gpu.global.add.noftz.v2.bf16x2 [$2], {$0, $1};"
      nv.global_reduce add %c to %p[%i] {nv.run = array<i64: 0, 4>} : tensor<512xbf16, #line>, tensor<512xi32, #line>
    }
  }
  return
}

// -----

#line = #nv.blocked<[4], [32], [4], [0]>

// Three steps: four registers, five shuffles, four warps. One lane of each warp writes; all read one vector. Products may become part of the
// first step only: lanes would each round their own.
// CHECK-LABEL: func.func @reduce
func.func @reduce(%t: tensor<512xf32, #line>, %p: i64) {
  %s = nv.alloc 1 x 16 align 16 at 0 : !nv.memdesc<16xi8>
  warp.specialize {
    warp.role @main warps(4) attributes {nv.first_warp = 0 : i64, nv.barrier = 1 : i64} {
      // CHECK-COUNT-3: arith.addf {{.*}} fastmath<contract> : f32
      // CHECK-COUNT-5: nvvm.shfl.sync bfly
      // CHECK-NEXT: arith.addf %{{[0-9]+}}, %{{[0-9]+}} : f32
      // CHECK: scf.if
      // CHECK: llvm.store {{.*}} {alignment = 4 : i64}
      // CHECK: nvvm.barrier id = %c1_i32
      // CHECK: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr<3> -> vector<4xf32>
      // CHECK-COUNT-3: arith.addf
      // CHECK-NOT: arith.addf
      %r = nv.reduce add %t dim(0) scratch(%s : !nv.memdesc<16xi8>) : tensor<512xf32, #line> -> f32
      nv.global_store %r to %p[%p] : f32, i64
    }
  }
  return
}

// -----

#rows = #nv.blocked<[1, 2], [8, 4], [1, 1], [1, 0]>
#columns = #nv.blocked<[1, 2], [4, 8], [1, 1], [0, 1]>

// Within a warp elements move by shuffles, as many as there are words.
// CHECK-LABEL: func.func @shuffles
func.func @shuffles(%p: i64) {
  warp.specialize {
    warp.role @main warps(1) attributes {nv.first_warp = 0 : i64} {
      %t = ub.poison : tensor<16x16xbf16, #rows>
      // CHECK-COUNT-4: nvvm.shfl.sync
      // CHECK-NOT: nvvm.shfl.sync
      %u = nv.convert_layout %t : tensor<16x16xbf16, #rows> -> tensor<16x16xbf16, #columns>
    }
  }
  return
}

// -----

// CHECK-LABEL: func.func @mma
func.func @mma() {
  warp.specialize {
    warp.role @main warps(1) attributes {nv.first_warp = 0 : i64} {
      %a = ub.poison : tensor<16x32xbf16, #nv.mma_a<rows = 1, columns = 1>>
      %b = ub.poison : tensor<32x8xbf16, #nv.mma_b<rows = 1, columns = 1>>
      %c = arith.constant dense<0.0> : tensor<16x8xf32, #nv.mma_acc<rows = 1, columns = 1>>
      // CHECK-COUNT-2: mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {$0, $1, $2, $3}, {$4, $5, $6, $7}, {$8, $9}, {$10, $11, $12, $13};
      // CHECK-NOT: mma.sync
      %d = nv.mma %a, %b, %c : tensor<16x32xbf16, #nv.mma_a<rows = 1, columns = 1>>, tensor<32x8xbf16, #nv.mma_b<rows = 1, columns = 1>>,
        tensor<16x8xf32, #nv.mma_acc<rows = 1, columns = 1>>
    }
  }
  return
}

// -----

#line = #nv.blocked<[1], [32], [4], [0]>

func.func @reduce_without_scratch(%t: tensor<512xf32, #line>) {
  warp.specialize {
    warp.role @main warps(4) attributes {nv.first_warp = 0 : i64} {
      // expected-error@+2 {{along dimension 0: expected scratch memory, since warps share a result: run nv-assign-scratch first}}
      // expected-error@+1 {{failed to legalize operation 'nv.reduce'}}
      %r = nv.reduce add %t dim(0) : tensor<512xf32, #line> -> f32
    }
  }
  return
}

// -----

func.func @narrow_copy(%p: i64, %s: !nv.memdesc<32x32xbf16, #nv.smem<swizzle = 64>>) {
  warp.specialize {
    warp.role @main warps(4) attributes {nv.first_warp = 0 : i64} {
      %o = ub.poison : tensor<32x32xi32, #nv.blocked<[1, 1], [1, 32], [4, 1], [1, 0]>>
      // expected-error@+2 {{expected offsets that are contiguous and aligned for at least 4 bytes at a time, found 2; load to registers and store instead}}
      // expected-error@+1 {{failed to legalize operation 'nv.cp_async'}}
      nv.cp_async %p[%o] to %s : tensor<32x32xi32, #nv.blocked<[1, 1], [1, 32], [4, 1], [1, 0]>>, !nv.memdesc<32x32xbf16, #nv.smem<swizzle = 64>>
    }
  }
  return
}

// -----

#line = #nv.blocked<[8], [32], [4], [0]>

// One comparison for each group of equal elements that a thread holds, and an integer widening of bf16.
// CHECK-LABEL: func.func @equal
func.func @equal(%p: i64, %n: i32) {
  warp.specialize {
    warp.role @main warps(4) attributes {nv.first_warp = 0 : i64} {
      %i = nv.index dim(0) : tensor<2048xi32, #line>
      %l = nv.splat %n : i32 -> tensor<2048xi32, #line>
      // CHECK-COUNT-2: arith.cmpi slt
      // CHECK-NOT: arith.cmpi
      %m = arith.cmpi slt, %i, %l {nv.equal = array<i64: 8>} : tensor<2048xi32, #line>
      // CHECK-COUNT-2: ld.global.v4.b32
      %b = nv.global_load %p[%i] mask(%m : tensor<2048xi1, #line>) {nv.run = array<i64: 0, 8>} : tensor<2048xi32, #line> -> tensor<2048xbf16, #line>
      // CHECK-COUNT-16: arith.shli {{.*}} : i32
      // CHECK-NOT: arith.extf
      %f = arith.extf %b : tensor<2048xbf16, #line> to tensor<2048xf32, #line>
      nv.global_store %f to %p[%i] mask(%m : tensor<2048xi1, #line>) {nv.run = array<i64: 0, 4>} : tensor<2048xf32, #line>, tensor<2048xi32, #line>
    }
  }
  return
}

// -----

#line = #nv.blocked<[4], [32], [4], [0]>

// Floats of 8 bits are integers here, scalars as well: their bits are what they are, and integers become them by way of fp32.
// CHECK-LABEL: func.func @narrow_floats
// CHECK-SAME: %[[P:.*]]: i64, %[[I:.*]]: i32, %[[D:.*]]: f64
func.func @narrow_floats(%p: i64, %i: i32, %d: f64) {
  warp.specialize {
    warp.role @main warps(4) attributes {nv.first_warp = 0 : i64} {
      %k = nv.index dim(0) : tensor<512xi32, #line>
      // CHECK-COUNT-4: arith.sitofp {{.*}} : i32 to f32
      // CHECK: nvvm.convert.f32x2.to.f8x2
      %t = arith.sitofp %k : tensor<512xi32, #line> to tensor<512xf8E5M2, #line>
      %b = arith.bitcast %t : tensor<512xf8E5M2, #line> to tensor<512xi8, #line>
      nv.global_store %b to %p[%k] : tensor<512xi8, #line>, tensor<512xi32, #line>
      // CHECK: %[[F:.*]] = arith.sitofp %[[I]] : i32 to f32
      // CHECK: nvvm.convert.f32x2.to.f8x2 %[[F]], %[[F]]
      %s = arith.sitofp %i : i32 to f8E4M3FN
      // CHECK: arith.truncf %[[D]] : f64 to f32
      // CHECK: nvvm.convert.f32x2.to.f8x2
      %n = arith.truncf %d : f64 to f8E4M3FN
      %c = arith.cmpi eq, %i, %i : i32
      // CHECK: arith.select {{.*}} : i8
      %o = arith.select %c, %s, %n : f8E4M3FN
      // CHECK: nvvm.convert.f8x2.to.f16x2
      %w = arith.extf %o : f8E4M3FN to f64
      nv.global_store %w to %p[%i] : f64, i32
    }
  }
  return
}
