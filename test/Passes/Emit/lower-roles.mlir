// RUN: kernel-opt %s --lower-roles --canonicalize --split-input-file | FileCheck %s

// The kernel's head: the warp index is uniform by a shuffle; one thread initialises the barriers and makes them visible; all meet. Then a branch
// for each group of warps. A role of one thread is elected once, at its entry.
// CHECK-LABEL: func.func @kernel
func.func @kernel(%b: !llvm.ptr<3>, %x: i32) attributes {nv.threads = 288 : i64, nv.max_registers = 168 : i64} {
  %c1 = arith.constant 1 : i32
  %c5 = arith.constant 5 : i32
  // CHECK: %[[TID:.*]] = nvvm.read.ptx.sreg.tid.x
  // CHECK-NEXT: %[[INDEX:.*]] = arith.shrui %[[TID]], %c5_i32
  // CHECK-NEXT: %[[WARP:.*]] = nvvm.shfl.sync idx %c-1_i32, %[[INDEX]], %c0_i32, %c31_i32
  // CHECK-NEXT: %[[ZERO:.*]] = arith.cmpi eq, %[[WARP]], %c0_i32
  // CHECK-NEXT: scf.if %[[ZERO]] {
  // CHECK-NEXT: %[[ONE:.*]] = nvvm.elect.sync
  // CHECK-NEXT: scf.if %[[ONE]] {
  // CHECK-NEXT: nvvm.mbarrier.init
  // CHECK-NEXT: nvvm.mbarrier.init
  // CHECK-NEXT: nvvm.fence.mbarrier.init
  // CHECK: nvvm.barrier{{$}}
  nvvm.mbarrier.init %b, %c1 : !llvm.ptr<3>, i32
  nvvm.mbarrier.init %b, %c5 : !llvm.ptr<3>, i32
  // CHECK-NEXT: %[[MATH:.*]] = arith.cmpi ult, %[[WARP]], %c8_i32
  // CHECK-NEXT: scf.if %[[MATH]] {
  // CHECK-NOT: nvvm.setmaxregister
  // CHECK-NOT: nvvm.elect.sync
  // CHECK-NEXT: %[[REPLICA:.*]] = arith.divui %[[WARP]], %c4_i32
  // CHECK-NEXT: nvvm.barrier id = %[[REPLICA]]
  // CHECK-NEXT: } else {
  // CHECK-NEXT: %[[LOAD:.*]] = arith.cmpi eq, %[[WARP]], %c8_i32
  // CHECK-NEXT: scf.if %[[LOAD]] {
  // CHECK-NEXT: %[[ELECTED:.*]] = nvvm.elect.sync
  // CHECK-NEXT: scf.if %[[ELECTED]] {
  // CHECK-NEXT: nvvm.mbarrier.arrive
  warp.specialize {
    warp.role @load warps(1) attributes {nv.first_warp = 8 : i64} {
      %s = nvvm.mbarrier.arrive %b : !llvm.ptr<3> -> i64
    }
    warp.role @math warps(4) replicas(2) attributes {nv.first_warp = 0 : i64} {
      %c128 = arith.constant 128 : i32
      %r = warp.replica_index
      nvvm.barrier id = %r number_of_threads = %c128
    }
  }
  // CHECK: return
  return
}

// -----

// Budgets: each warpgroup sets its own, up or down from what the launch gave, before its roles part. Roles that share a warpgroup share it.
// CHECK-LABEL: func.func @budgets
func.func @budgets(%b: !llvm.ptr<3>) attributes {nv.threads = 384 : i64, nv.max_registers = 168 : i64} {
  // CHECK: scf.if
  // CHECK-NEXT: nvvm.setmaxregister increase 240
  // CHECK: else
  // CHECK-NEXT: nvvm.setmaxregister decrease 24
  // CHECK-NOT: nvvm.setmaxregister
  // CHECK: arith.cmpi eq, %{{.*}}, %c8_i32
  // CHECK: nvvm.elect.sync
  // CHECK: arith.cmpi eq, %{{.*}}, %c9_i32
  // CHECK: nvvm.elect.sync
  warp.specialize {
    warp.role @math warps(4) replicas(2) registers(240) attributes {nv.first_warp = 0 : i64} {
      %c1 = arith.constant 1 : i32
      nvvm.barrier id = %c1
    }
    warp.role @load warps(1) registers(24) attributes {nv.first_warp = 8 : i64} {
      %s = nvvm.mbarrier.arrive %b : !llvm.ptr<3> -> i64
    }
    warp.role @scale warps(1) registers(24) attributes {nv.first_warp = 9 : i64} {
      %s = nvvm.mbarrier.arrive %b : !llvm.ptr<3> -> i64
    }
  }
  return
}

// -----

// A role that does not start at warp 0 counts its replicas from its first warp; several warps take a range.
// CHECK-LABEL: func.func @range
func.func @range(%x: i32, %p: !llvm.ptr) attributes {nv.threads = 192 : i64, nv.max_registers = 255 : i64} {
  // CHECK-NOT: nvvm.mbarrier.init
  // CHECK-NOT: nvvm.barrier
  // CHECK: %[[FROM:.*]] = arith.cmpi uge, %[[WARP:.*]], %c4_i32
  // CHECK: %[[TO:.*]] = arith.cmpi ult, %[[WARP]], %c6_i32
  // CHECK: %[[IN:.*]] = arith.andi %[[FROM]], %[[TO]]
  // CHECK: scf.if %[[IN]] {
  // CHECK: %[[R:.*]] = arith.subi %[[WARP]], %c4_i32
  // CHECK: llvm.store %[[R]]
  warp.specialize {
    warp.role @math warps(4) attributes {nv.first_warp = 0 : i64} {
      llvm.store %x, %p : i32, !llvm.ptr
    }
    warp.role @scale warps(1) replicas(2) attributes {nv.first_warp = 4 : i64} {
      %r = warp.replica_index
      llvm.store %r, %p : i32, !llvm.ptr
    }
  }
  return
}

// -----

// One role is the whole kernel: no barrier, no branch, no warp index.
// CHECK-LABEL: func.func @plain
func.func @plain(%x: i32, %p: !llvm.ptr) attributes {nv.threads = 128 : i64, nv.max_registers = 255 : i64} {
  // CHECK-NEXT: llvm.store
  // CHECK-NEXT: return
  warp.specialize {
    warp.role @main warps(4) attributes {nv.first_warp = 0 : i64} {
      llvm.store %x, %p : i32, !llvm.ptr
    }
  }
  return
}

// -----

// Threads of a warp that part at the end of a while loop's body meet before its head; where there is no body, or one thread, nothing is added.
// CHECK-LABEL: func.func @loops
func.func @loops(%x: i32, %p: !llvm.ptr, %b: !llvm.ptr<3>) attributes {nv.threads = 160 : i64, nv.max_registers = 255 : i64} {
  warp.specialize {
    warp.role @math warps(4) attributes {nv.first_warp = 0 : i64} {
      %c0 = arith.constant 0 : i32
      // CHECK: scf.while
      scf.while : () -> () {
        // CHECK: scf.while
        scf.while : () -> () {
          %done = nvvm.mbarrier.try_wait %b, %c0 : !llvm.ptr<3>, i32 -> i1
          %true = arith.constant true
          %again = arith.xori %done, %true : i1
          scf.condition(%again)
        } do {
          // CHECK: } do {
          // CHECK-NEXT: scf.yield
          scf.yield
        }
        %t = llvm.load %p : !llvm.ptr -> i32
        %more = arith.cmpi slt, %t, %x : i32
        scf.condition(%more)
      } do {
        // CHECK: } do {
        // CHECK: scf.if
        // CHECK-NEXT: llvm.store
        // CHECK-NEXT: }
        // CHECK-NEXT: nvvm.bar.warp.sync %c-1_i32
        // CHECK-NEXT: scf.yield
        %tid = nvvm.read.ptx.sreg.tid.x : i32
        %first = arith.cmpi eq, %tid, %c0 : i32
        scf.if %first {
          llvm.store %x, %p : i32, !llvm.ptr
        }
        scf.yield
      }
    }
    // CHECK-NOT: nvvm.bar.warp.sync
    warp.role @load warps(1) attributes {nv.first_warp = 4 : i64} {
      scf.while : () -> () {
        %t = llvm.load %p : !llvm.ptr -> i32
        %more = arith.cmpi slt, %t, %x : i32
        scf.condition(%more)
      } do {
        llvm.store %x, %p : i32, !llvm.ptr
        scf.yield
      }
    }
  }
  // CHECK: return
  return
}

// -----

// A dependent kernel: its head runs beside the end of the kernel ahead; every thread waits for that one before its role.
// CHECK-LABEL: func.func @dependent
// CHECK: nvvm.fence.mbarrier.init
// CHECK: nvvm.barrier{{$}}
// CHECK-NEXT: llvm.inline_asm has_side_effects asm_dialect = att "griddepcontrol.wait;", "~{memory}"
// CHECK-NEXT: llvm.inline_asm has_side_effects asm_dialect = att "griddepcontrol.launch_dependents;", "~{memory}"
// CHECK: nvvm.mbarrier.arrive
func.func @dependent(%b: !llvm.ptr<3>) attributes {nv.threads = 160 : i64, nv.max_registers = 168 : i64, nv.dependent} {
  %c1 = arith.constant 1 : i32
  nvvm.mbarrier.init %b, %c1 : !llvm.ptr<3>, i32
  warp.specialize {
    warp.role @load warps(1) attributes {nv.first_warp = 4 : i64} {
      %s = nvvm.mbarrier.arrive %b : !llvm.ptr<3> -> i64
    }
    warp.role @math warps(4) attributes {nv.first_warp = 0 : i64} {
    }
  }
  return
}

// -----

// One without barriers waits, too.
// CHECK-LABEL: func.func @dependent_plain
// CHECK-NOT: nvvm.barrier
// CHECK: "griddepcontrol.wait;"
// CHECK: llvm.load
func.func @dependent_plain(%p: !llvm.ptr<1>) attributes {nv.threads = 128 : i64, nv.dependent} {
  warp.specialize {
    warp.role @math warps(4) attributes {nv.first_warp = 0 : i64} {
      %v = llvm.load %p : !llvm.ptr<1> -> i32
      llvm.store %v, %p : i32, !llvm.ptr<1>
    }
  }
  return
}
