// RUN: kernel-opt %s --convert-tiles | FileCheck %s

#line = #nv.blocked<[2], [32], [1], [0]>
#short = #nv.blocked<[1], [32], [1], [0]>

// CHECK-DAG: llvm.mlir.global internal constant @[[FORMAT:.*]]("%3i: %f\0A\00")
// CHECK-DAG: llvm.mlir.global internal constant @[[MESSAGE:.*]]("inside\00")
// CHECK-DAG: llvm.func @vprintf(!llvm.ptr, !llvm.ptr) -> i32
// CHECK-DAG: llvm.func @__assertfail(!llvm.ptr, !llvm.ptr, i32, !llvm.ptr, i64)

// A line for each of the thread's two elements; the values lie in one buffer at the kernel's entry, as C passes them.
// CHECK-LABEL: func.func @print
// CHECK: llvm.alloca
// CHECK: warp.specialize
// CHECK: llvm.mlir.addressof @vprintf
// CHECK-COUNT-2: llvm.call %
// CHECK-NOT: llvm.call %
// CHECK: return
func.func @print() {
  warp.specialize {
    warp.role @main warps(1) attributes {nv.first_warp = 0 : i64, nv.barrier = 1 : i64} {
      %i = nv.index dim(0) : tensor<64xi32, #line>
      %x = arith.sitofp %i : tensor<64xi32, #line> to tensor<64xf32, #line>
      user.print "%3i: %f\0A" (%i, %x : tensor<64xi32, #line>, tensor<64xf32, #line>)
    }
  }
  return
}

// Of 8 elements each is in four lanes: one of them prints.
// CHECK-LABEL: func.func @once
// CHECK: scf.if
// CHECK: llvm.call %
// CHECK-NOT: llvm.call %
// CHECK: return
func.func @once() {
  warp.specialize {
    warp.role @main warps(1) attributes {nv.first_warp = 0 : i64, nv.barrier = 1 : i64} {
      %i = nv.index dim(0) : tensor<8xi32, #short>
      user.print "%i\0A" (%i : tensor<8xi32, #short>)
    }
  }
  return
}

// CHECK-LABEL: func.func @check
// CHECK: arith.andi
// CHECK: scf.if
// CHECK: llvm.mlir.addressof @__assertfail
// CHECK: llvm.call %
func.func @check(%n: i32) {
  warp.specialize {
    warp.role @main warps(1) attributes {nv.first_warp = 0 : i64, nv.barrier = 1 : i64} {
      %i = nv.index dim(0) : tensor<64xi32, #line>
      %all = nv.splat %n : i32 -> tensor<64xi32, #line>
      %c = arith.cmpi slt, %i, %all : tensor<64xi32, #line>
      user.assert %c, "inside" at "a.py" : 3 in "check" : tensor<64xi1, #line>
    }
  }
  return
}

// A call for each pair of elements, which share a register.
// CHECK-LABEL: func.func @pairs
// CHECK-COUNT-1: llvm.inline_asm asm_dialect = att "add.rn.bf16x2 $0, $1, $2;", "=r,r,r" %{{.*}}, %{{.*}} : (i32, i32) -> i32
// CHECK-NOT: llvm.inline_asm
// CHECK: return
func.func @pairs() {
  warp.specialize {
    warp.role @main warps(1) attributes {nv.first_warp = 0 : i64, nv.barrier = 1 : i64} {
      %i = nv.index dim(0) : tensor<64xi32, #line>
      %x = arith.sitofp %i : tensor<64xi32, #line> to tensor<64xbf16, #line>
      %s = user.asm "add.rn.bf16x2 $0, $1, $2;" constraints "=r,r,r" pack 2 pure (%x, %x)
        : (tensor<64xbf16, #line>, tensor<64xbf16, #line>) -> tensor<64xbf16, #line>
      user.print "%f\0A" (%s : tensor<64xbf16, #line>)
    }
  }
  return
}
