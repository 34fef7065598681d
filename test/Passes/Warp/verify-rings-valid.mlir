// RUN: kernel-opt %s --pass-pipeline='builtin.module(warp-verify-rings{max-states=100000})' --split-input-file | FileCheck %s
// RUN: kernel-opt %s --pass-pipeline='builtin.module(warp-expand-stores,canonicalize,cse,warp-expand-tile-loops,warp-verify-rings)' \
// RUN:   --split-input-file | FileCheck %s
// RUN: kernel-opt %s --pass-pipeline='builtin.module(warp-expand-stores,warp-expand-tile-loops,canonicalize,warp-assign-stage-phase,cse,warp-verify-rings)' \
// RUN:   --split-input-file | FileCheck %s
// RUN: kernel-opt %S/../../programs/warp/gemm_cooperative.mlir --pass-pipeline='builtin.module(warp-verify-rings{report=true})' -o /dev/null 2>&1 \
// RUN:   | FileCheck %s --check-prefix=GEMM
// RUN: kernel-opt %S/../../programs/warp/gemm_cooperative.mlir --pass-pipeline='builtin.module(warp-verify-rings{report=true},warp-expand-stores,warp-expand-tile-loops,canonicalize,cse,warp-verify-rings{report=true},warp-assign-stage-phase,canonicalize,cse,warp-verify-rings{report=true})' -o /dev/null 2>&1 \
// RUN:   | FileCheck %s --check-prefix=CHECKED
// RUN: kernel-opt %S/../../programs/warp/gemm_pingpong.mlir --pass-pipeline='builtin.module(warp-verify-rings{report=true},warp-expand-stores,warp-expand-tile-loops,canonicalize,cse,warp-verify-rings{report=true},warp-assign-stage-phase,canonicalize,cse,warp-verify-rings{report=true})' -o /dev/null 2>&1 \
// RUN:   | FileCheck %s --check-prefix=CHECKED
// RUN: kernel-opt %S/../../programs/warp/gemm_pingpong_128x192.mlir --pass-pipeline='builtin.module(warp-verify-rings{report=true},warp-expand-stores,warp-expand-tile-loops,canonicalize,cse,warp-verify-rings{report=true},warp-assign-stage-phase,canonicalize,cse,warp-verify-rings{report=true})' -o /dev/null 2>&1 \
// RUN:   | FileCheck %s --check-prefix=CHECKED
// RUN: kernel-opt %S/../../programs/warp/gemm_small_m.mlir --pass-pipeline='builtin.module(warp-verify-rings{report=true},warp-expand-stores,warp-expand-tile-loops,canonicalize,cse,warp-verify-rings{report=true},warp-assign-stage-phase,canonicalize,cse,warp-verify-rings{report=true})' -o /dev/null 2>&1 \
// RUN:   | FileCheck %s --check-prefix=CHECKED
// GEMM: remark: rings: 24 combinations of scalars, 1080 steps
// CHECKED-COUNT-3: remark: rings: {{[0-9]+}} combinations of scalars, {{[0-9]+}} steps
// CHECKED-NOT: remark

// Hand-overs that are right, at every stage of the pipeline and also state by state.

// Cooperative replicas: a slot is free again once both have released it.
// CHECK-LABEL: @cooperative
func.func @cooperative(%m: i32, %n: i32, %k: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %b = warp.buffer : !warp.buffer<3 x [64x64xbf16]>
  %free = warp.ring released %b : !warp.buffer<3 x [64x64xbf16]>
  %ready = warp.ring %b : !warp.buffer<3 x [64x64xbf16]>
  warp.specialize {
    warp.role @load warps(1) {
      warp.for_each_tile (%i, %j) in (%m, %n) group(4) {
        scf.for %kk = %c0 to %k step %c1 : i32 {
          %t = warp.acquire %free
          warp.release %t to %ready tma
        }
      }
    }
    warp.role @math warps(4) replicas(2) {
      warp.for_each_tile (%i, %j) in (%m, %n) group(4) {
        scf.for %kk = %c0 to %k step %c1 : i32 {
          %t = warp.acquire %ready
          warp.release %t to %free wgmma
        }
      }
    }
  }
  return
}

// -----

// Ping-pong: replicas take alternate tiles and issue in turn.
// CHECK-LABEL: @ping_pong
func.func @ping_pong(%m: i32, %k: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %b = warp.buffer : !warp.buffer<2 x [64x64xbf16]>
  %free = warp.ring released %b : !warp.buffer<2 x [64x64xbf16]>
  %ready = warp.ring %b : !warp.buffer<2 x [64x64xbf16]>
  %turn = warp.order 2
  warp.specialize {
    warp.role @load warps(1) {
      warp.for_each_tile (%i, %j) in (%m, %c1) {
        scf.for %kk = %c0 to %k step %c1 : i32 {
          %t = warp.acquire %free
          warp.release %t to %ready tma
        }
      }
    }
    warp.role @math warps(4) replicas(2) {
      warp.for_each_tile (%i, %j) in (%m, %c1) step(replica) {
        warp.await %turn
        scf.for %kk = %c0 to %k step %c1 : i32 {
          %t = warp.acquire %ready
          warp.release %t to %free wgmma
        }
        warp.pass %turn
      }
    }
  }
  return
}

// -----

// A role that stages its own stores: one ring, released to itself, slots of each replica apart.
// CHECK-LABEL: @self_ring
func.func @self_ring(%m: i32, %n: i32, %D: !tile.desc<64x64xbf16>, %v: tensor<64x64xbf16>) {
  %c0 = arith.constant 0 : i32
  %c4 = arith.constant 4 : i32
  %c1 = arith.constant 1 : i32
  %b = warp.buffer per_replica : !warp.buffer<2 x [64x64xbf16]>
  %staged = warp.ring released %b : !warp.buffer<2 x [64x64xbf16]>
  warp.specialize {
    warp.role @math warps(4) replicas(2) {
      warp.for_each_tile (%i, %j) in (%m, %n) {
        scf.for %s = %c0 to %c4 step %c1 : i32 {
          warp.store %v to %D[%i, %s] through %staged : tensor<64x64xbf16>, !tile.desc<64x64xbf16>
        }
      }
    }
  }
  return
}

// -----

// Three owners of one buffer in turn: load, scale in place, multiply.
// CHECK-LABEL: @three_owners
func.func @three_owners(%k: i32) {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %c63 = arith.constant 63 : i32
  %c1 = arith.constant 1 : i32
  %b = warp.buffer : !warp.buffer<3 x [64x64xbf16]>
  %free = warp.ring released %b : !warp.buffer<3 x [64x64xbf16]>
  %loaded = warp.ring %b : !warp.buffer<3 x [64x64xbf16]>
  %scaled = warp.ring %b : !warp.buffer<3 x [64x64xbf16]>
  warp.specialize {
    warp.role @load warps(1) {
      scf.for %kk = %c0 to %k step %c64 : i32 {
        %t = warp.acquire %free
        warp.release %t to %loaded tma
      }
    }
    // The same trip count, spelled in another way.
    warp.role @scale warps(4) {
      %up = arith.addi %k, %c63 : i32
      %blocks = arith.divui %up, %c64 : i32
      scf.for %kk = %c0 to %blocks step %c1 : i32 {
        %t = warp.acquire %loaded
        warp.release %t to %scaled generic
      }
    }
    warp.role @math warps(4) replicas(2) {
      %blocks = arith.ceildivsi %k, %c64 : i32
      scf.for %kk = %c0 to %blocks step %c1 : i32 {
        %t = warp.acquire %scaled
        warp.release %t to %free wgmma
      }
    }
  }
  return
}

// -----

// Two readers of different roles, one of them only sometimes busy.
// CHECK-LABEL: @two_readers
func.func @two_readers(%n: i32, %p: i1) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %b = warp.buffer : !warp.buffer<2 x [64x64xbf16]>
  %free = warp.ring released %b : !warp.buffer<2 x [64x64xbf16]>
  %ready = warp.ring %b : !warp.buffer<2 x [64x64xbf16]>
  warp.specialize {
    warp.role @load warps(1) {
      scf.if %p {
        scf.for %k = %c0 to %n step %c1 : i32 {
          %t = warp.acquire %free
          warp.release %t to %ready tma
        }
      }
    }
    warp.role @math warps(4) replicas(2) {
      scf.if %p {
        scf.for %k = %c0 to %n step %c1 : i32 {
          %t = warp.acquire %ready
          warp.release %t to %free wgmma
        }
      }
    }
    warp.role @check warps(4) {
      %m = arith.select %p, %n, %c0 : i32
      scf.for %k = %c0 to %m step %c1 : i32 {
        %t = warp.acquire %ready
        warp.release %t to %free generic
      }
    }
  }
  return
}

// -----

// Zero trips: the accumulator goes round empty, and a tma release without a load is an ordinary arrival.
// CHECK-LABEL: @zero_trips
func.func @zero_trips(%m: i32, %n: i32, %k: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %b = warp.buffer : !warp.buffer<2 x [64x64xbf16]>
  %free = warp.ring released %b : !warp.buffer<2 x [64x64xbf16]>
  %ready = warp.ring %b : !warp.buffer<2 x [64x64xbf16]>
  %acc = warp.buffer : !warp.buffer<1 x [128x128xf32], tmem>
  %empty = warp.ring released %acc : !warp.buffer<1 x [128x128xf32], tmem>
  %full = warp.ring %acc : !warp.buffer<1 x [128x128xf32], tmem>
  warp.specialize {
    warp.role @load warps(1) {
      warp.for_each_tile (%i, %j) in (%m, %n) {
        scf.for %kk = %c0 to %k step %c1 : i32 {
          %t = warp.acquire %free
          warp.release %t to %ready tma
        }
      }
    }
    warp.role @mma warps(1) {
      warp.for_each_tile (%i, %j) in (%m, %n) {
        %d = warp.acquire %empty
        scf.for %kk = %c0 to %k step %c1 : i32 {
          %t = warp.acquire %ready
          warp.release %t to %free tcgen05
        }
        warp.release %d to %full tcgen05
      }
    }
    warp.role @epilogue warps(4) {
      warp.for_each_tile (%i, %j) in (%m, %n) {
        %d = warp.acquire %full
        warp.release %d to %empty generic
      }
    }
  }
  return
}

// -----

// A dynamic scheduler: tile numbers travel in a ring of values, and every role stops at the same one.
// CHECK-LABEL: @value_ring
func.func @value_ring(%tiles: i32, %counter: i64) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %z = arith.constant 0 : i64
  %b = warp.buffer : !warp.buffer<2 x [1xi32]>
  %free = warp.ring released %b : !warp.buffer<2 x [1xi32]>
  %ready = warp.ring %b : !warp.buffer<2 x [1xi32]>
  warp.specialize {
    warp.role @math warps(4) replicas(2) {
      scf.while : () -> () {
        %t = warp.acquire %ready
        %v = warp.slot %t : !nv.memdesc<1xi32>
        %tile = nv.scalar_load %v[%c0] : !nv.memdesc<1xi32> -> i32
        warp.release %t to %free generic
        %more = arith.cmpi slt, %tile, %tiles : i32
        scf.condition(%more)
      } do {
        scf.yield
      }
    }
    warp.role @schedule warps(1) {
      scf.while : () -> () {
        %tile = nv.atomic_add %counter[%z], %c1 : i32
        %t = warp.acquire %free
        %v = warp.slot %t : !nv.memdesc<1xi32>
        nv.scalar_store %tile to %v[%c0] : i32, !nv.memdesc<1xi32>
        warp.release %t to %ready generic
        %more = arith.cmpi slt, %tile, %tiles : i32
        scf.condition(%more)
      } do {
        scf.yield
      }
    }
  }
  return
}

// -----

// Attention, skewed: one K is used ahead of the loop, then a K and a V are held at once. The causal bound differs from
// tile to tile.
// CHECK-LABEL: @attention
func.func @attention(%m: i32, %heads: i32, %length: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c127 = arith.constant 127 : i32
  %c128 = arith.constant 128 : i32
  %qb = warp.buffer : !warp.buffer<1 x [128x128xbf16]>
  %qfree = warp.ring released %qb : !warp.buffer<1 x [128x128xbf16]>
  %qready = warp.ring %qb : !warp.buffer<1 x [128x128xbf16]>
  %kb = warp.buffer : !warp.buffer<2 x [128x128xbf16]>
  %kfree = warp.ring released %kb : !warp.buffer<2 x [128x128xbf16]>
  %kready = warp.ring %kb : !warp.buffer<2 x [128x128xbf16]>
  %vb = warp.buffer : !warp.buffer<2 x [128x128xbf16]>
  %vfree = warp.ring released %vb : !warp.buffer<2 x [128x128xbf16]>
  %vready = warp.ring %vb : !warp.buffer<2 x [128x128xbf16]>
  warp.specialize {
    warp.role @load warps(1) {
      warp.for_each_tile (%i, %j) in (%m, %heads) {
        %tq = warp.acquire %qfree
        warp.release %tq to %qready tma
        %row = arith.muli %i, %c128 : i32
        %end = arith.addi %row, %c128 : i32
        %stop = arith.minsi %length, %end : i32
        %up = arith.addi %stop, %c127 : i32
        %blocks = arith.divsi %up, %c128 : i32
        scf.for %k = %c0 to %blocks step %c1 : i32 {
          %tk = warp.acquire %kfree
          warp.release %tk to %kready tma
          %tv = warp.acquire %vfree
          warp.release %tv to %vready tma
        }
      }
    }
    warp.role @math warps(4) replicas(2) {
      warp.for_each_tile (%i, %j) in (%m, %heads) {
        %tq = warp.acquire %qready
        %row = arith.muli %i, %c128 : i32
        %end = arith.addi %row, %c128 : i32
        %stop = arith.minsi %length, %end : i32
        %up = arith.addi %stop, %c127 : i32
        %blocks = arith.divsi %up, %c128 : i32
        %some = arith.cmpi sgt, %blocks, %c0 : i32
        scf.if %some {
          %tk0 = warp.acquire %kready
          warp.release %tk0 to %kfree wgmma
          scf.for %k = %c1 to %blocks step %c1 : i32 {
            %tk = warp.acquire %kready
            %tv = warp.acquire %vready
            warp.release %tk to %kfree wgmma
            warp.release %tv to %vfree wgmma
          }
          %tv0 = warp.acquire %vready
          warp.release %tv0 to %vfree wgmma
        }
        warp.release %tq to %qfree wgmma
      }
    }
  }
  return
}

// -----

// Blackwell attention: S and P share tensor memory; PV(j) is issued before QK(j + 1).
// CHECK-LABEL: @blackwell_attention
func.func @blackwell_attention(%n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %b0 = warp.buffer : !warp.buffer<1 x [128x128xf32], tmem>
  %sfree0 = warp.ring released %b0 : !warp.buffer<1 x [128x128xf32], tmem>
  %sready0 = warp.ring %b0 : !warp.buffer<1 x [128x128xf32], tmem>
  %pready0 = warp.ring %b0 : !warp.buffer<1 x [128x128xf32], tmem>
  %b1 = warp.buffer : !warp.buffer<1 x [128x128xf32], tmem>
  %sfree1 = warp.ring released %b1 : !warp.buffer<1 x [128x128xf32], tmem>
  %sready1 = warp.ring %b1 : !warp.buffer<1 x [128x128xf32], tmem>
  %pready1 = warp.ring %b1 : !warp.buffer<1 x [128x128xf32], tmem>
  %ab = warp.buffer : !warp.buffer<1 x [128xf32]>
  %afree = warp.ring released %ab : !warp.buffer<1 x [128xf32]>
  %aready = warp.ring %ab : !warp.buffer<1 x [128xf32]>
  warp.specialize {
    warp.role @mma warps(1) {
      %some = arith.cmpi sgt, %n, %c0 : i32
      scf.if %some {
        %s0 = warp.acquire %sfree0
        warp.release %s0 to %sready0 tcgen05
        %s1 = warp.acquire %sfree1
        warp.release %s1 to %sready1 tcgen05
        scf.for %k = %c1 to %n step %c1 : i32 {
          %p0 = warp.acquire %pready0
          warp.release %p0 to %sfree0 tcgen05
          %t0 = warp.acquire %sfree0
          warp.release %t0 to %sready0 tcgen05
          %p1 = warp.acquire %pready1
          warp.release %p1 to %sfree1 tcgen05
          %t1 = warp.acquire %sfree1
          warp.release %t1 to %sready1 tcgen05
        }
        %p0 = warp.acquire %pready0
        warp.release %p0 to %sfree0 tcgen05
        %p1 = warp.acquire %pready1
        warp.release %p1 to %sfree1 tcgen05
      }
    }
    warp.role @softmax0 warps(4) {
      scf.for %k = %c0 to %n step %c1 : i32 {
        %s = warp.acquire %sready0
        %a = warp.acquire %afree
        warp.release %a to %aready generic
        warp.release %s to %pready0 generic
      }
    }
    warp.role @softmax1 warps(4) {
      scf.for %k = %c0 to %n step %c1 : i32 {
        %s = warp.acquire %sready1
        warp.release %s to %pready1 generic
      }
    }
    warp.role @correction warps(4) {
      scf.for %k = %c0 to %n step %c1 : i32 {
        %a = warp.acquire %aready
        warp.release %a to %afree generic
      }
    }
  }
  return
}

// -----

// Multicast over a cluster: a slot is written for both CTAs once both have freed it.
// CHECK-LABEL: @multicast
func.func @multicast(%n: i32) attributes {warp.launch = #warp.launch<cluster = 2>} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %b = warp.buffer : !warp.buffer<2 x [64x64xbf16]>
  %free = warp.ring released %b {scope = 1 : i32} : !warp.buffer<2 x [64x64xbf16]>
  %ready = warp.ring %b {scope = 1 : i32} : !warp.buffer<2 x [64x64xbf16]>
  warp.specialize {
    warp.role @load warps(1) {
      scf.for %k = %c0 to %n step %c1 : i32 {
        %t = warp.acquire %free
        warp.release %t to %ready tma
      }
    }
    warp.role @math warps(4) replicas(2) {
      scf.for %k = %c0 to %n step %c1 : i32 {
        %t = warp.acquire %ready
        warp.release %t to %free wgmma
      }
    }
  }
  return
}

// -----

// A pair of CTAs: both load, the leader issues for both, its commits free the slots of both.
// CHECK-LABEL: @pair
func.func @pair(%m: i32, %n: i32, %k: i32) attributes {warp.launch = #warp.launch<cluster = 2>} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %b = warp.buffer : !warp.buffer<2 x [64x64xbf16]>
  %free = warp.ring released %b {scope = 2 : i32} : !warp.buffer<2 x [64x64xbf16]>
  %ready = warp.ring %b {scope = 2 : i32} : !warp.buffer<2 x [64x64xbf16]>
  %acc = warp.buffer : !warp.buffer<2 x [128x128xf32], tmem>
  %empty = warp.ring released %acc {scope = 2 : i32} : !warp.buffer<2 x [128x128xf32], tmem>
  %full = warp.ring %acc {scope = 2 : i32} : !warp.buffer<2 x [128x128xf32], tmem>
  warp.specialize {
    warp.role @load warps(1) {
      warp.for_each_tile (%i, %j) in (%m, %n) {
        scf.for %kk = %c0 to %k step %c1 : i32 {
          %t = warp.acquire %free
          warp.release %t to %ready tma
        }
      }
    }
    warp.role @mma warps(1) attributes {leader} {
      warp.for_each_tile (%i, %j) in (%m, %n) {
        %d = warp.acquire %empty
        scf.for %kk = %c0 to %k step %c1 : i32 {
          %t = warp.acquire %ready
          warp.release %t to %free tcgen05
        }
        warp.release %d to %full tcgen05
      }
    }
    warp.role @epilogue warps(4) {
      warp.for_each_tile (%i, %j) in (%m, %n) {
        %d = warp.acquire %full
        warp.release %d to %empty generic
      }
    }
  }
  return
}

// -----

// One product stays in flight: its slot goes back one iteration later.
// CHECK-LABEL: @carried
func.func @carried(%n: i32, %A: !tile.desc<64x64xbf16>) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %b = warp.buffer : !warp.buffer<2 x [64x64xbf16]>
  %free = warp.ring released %b : !warp.buffer<2 x [64x64xbf16]>
  %ready = warp.ring %b : !warp.buffer<2 x [64x64xbf16]>
  warp.specialize {
    warp.role @load warps(1) {
      scf.for %k = %c0 to %n step %c1 : i32 {
        %t = warp.acquire %free
        %v = warp.slot %t : !nv.memdesc<64x64xbf16>
        nv.tma.load %A[%k, %c0] to %v : !tile.desc<64x64xbf16>, !nv.memdesc<64x64xbf16>
        warp.release %t to %ready tma
      }
    }
    warp.role @math warps(4) {
      %some = arith.cmpi sgt, %n, %c0 : i32
      scf.if %some {
        %t0 = warp.acquire %ready
        %v0 = warp.slot %t0 : !nv.memdesc<64x64xbf16>
        %w0 = nv.memdesc.trans %v0 : !nv.memdesc<64x64xbf16> -> !nv.memdesc<64x64xbf16>
        %d0 = nv.wgmma %v0, %w0 : !nv.memdesc<64x64xbf16>, !nv.memdesc<64x64xbf16> -> tensor<64x64xf32>
        %d, %last = scf.for %k = %c1 to %n step %c1 iter_args(%c = %d0, %before = %t0)
            -> (tensor<64x64xf32>, !warp.token) : i32 {
          %t = warp.acquire %ready
          %v = warp.slot %t : !nv.memdesc<64x64xbf16>
          %w = nv.memdesc.trans %v : !nv.memdesc<64x64xbf16> -> !nv.memdesc<64x64xbf16>
          %e = nv.wgmma %v, %w acc(%c) : !nv.memdesc<64x64xbf16>, !nv.memdesc<64x64xbf16> -> tensor<64x64xf32>
          nv.wgmma.wait pending(1)
          warp.release %before to %free wgmma
          scf.yield %e, %t : tensor<64x64xf32>, !warp.token
        }
        nv.wgmma.wait pending(0)
        warp.release %last to %free wgmma
      }
    }
  }
  return
}

// -----

// Two slots stay, taken over by rotation; a branch gives back what is left.
// CHECK-LABEL: @carried_rotation
func.func @carried_rotation(%n: i32, %A: !tile.desc<64x64xbf16>) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %b = warp.buffer : !warp.buffer<3 x [64x64xbf16]>
  %free = warp.ring released %b : !warp.buffer<3 x [64x64xbf16]>
  %ready = warp.ring %b : !warp.buffer<3 x [64x64xbf16]>
  warp.specialize {
    warp.role @load warps(1) {
      scf.for %k = %c0 to %n step %c1 : i32 {
        %t = warp.acquire %free
        %v = warp.slot %t : !nv.memdesc<64x64xbf16>
        nv.tma.load %A[%k, %c0] to %v : !tile.desc<64x64xbf16>, !nv.memdesc<64x64xbf16>
        warp.release %t to %ready tma
      }
    }
    warp.role @math warps(4) {
      %some = arith.cmpi sgt, %n, %c1 : i32
      %c2 = arith.constant 2 : i32
      scf.if %some {
        %t0 = warp.acquire %ready
        %t1 = warp.acquire %ready
        %a, %b0 = scf.for %k = %c2 to %n step %c1 iter_args(%x = %t0, %y = %t1) -> (!warp.token, !warp.token) : i32 {
          %t = warp.acquire %ready
          %v = warp.slot %t : !nv.memdesc<64x64xbf16>
          %w = nv.memdesc.trans %v : !nv.memdesc<64x64xbf16> -> !nv.memdesc<64x64xbf16>
          %e = nv.wgmma %v, %w : !nv.memdesc<64x64xbf16>, !nv.memdesc<64x64xbf16> -> tensor<64x64xf32>
          nv.wgmma.wait pending(2)
          warp.release %x to %free wgmma
          scf.yield %y, %t : !warp.token, !warp.token
        }
        nv.wgmma.wait pending(1)
        warp.release %a to %free wgmma
        nv.wgmma.wait pending(0)
        warp.release %b0 to %free wgmma
      } else {
        scf.for %k = %c0 to %n step %c1 : i32 {
          %t = warp.acquire %ready
          warp.release %t to %free wgmma
        }
      }
    }
  }
  return
}

// -----

// A branch that takes no slot itself decides which of two tokens goes back first.
// CHECK-LABEL: @carried_choice
func.func @carried_choice(%n: i32, %A: !tile.desc<64x64xbf16>) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %b = warp.buffer : !warp.buffer<2 x [64x64xbf16]>
  %free = warp.ring released %b : !warp.buffer<2 x [64x64xbf16]>
  %ready = warp.ring %b : !warp.buffer<2 x [64x64xbf16]>
  warp.specialize {
    warp.role @load warps(1) {
      scf.for %k = %c0 to %n step %c1 : i32 {
        %t = warp.acquire %free
        %v = warp.slot %t : !nv.memdesc<64x64xbf16>
        nv.tma.load %A[%k, %c0] to %v : !tile.desc<64x64xbf16>, !nv.memdesc<64x64xbf16>
        warp.release %t to %ready tma
      }
    }
    warp.role @math warps(4) {
      %c2 = arith.constant 2 : i32
      %half = arith.divui %n, %c2 : i32
      scf.for %k = %c0 to %half step %c1 : i32 {
        %t0 = warp.acquire %ready
        %t1 = warp.acquire %ready
        %odd = arith.remui %k, %c2 : i32
        %swap = arith.cmpi eq, %odd, %c1 : i32
        %x, %y = scf.if %swap -> (!warp.token, !warp.token) {
          scf.yield %t1, %t0 : !warp.token, !warp.token
        } else {
          scf.yield %t0, %t1 : !warp.token, !warp.token
        }
        warp.release %x to %free generic
        warp.release %y to %free generic
      }
      %rest = arith.remui %n, %c2 : i32
      scf.for %k = %c0 to %rest step %c1 : i32 {
        %t = warp.acquire %ready
        warp.release %t to %free generic
      }
    }
  }
  return
}

// -----

// A while loop carries a token through both of its regions.
// CHECK-LABEL: @carried_while
func.func @carried_while(%n: i32, %A: !tile.desc<64x64xbf16>) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %b = warp.buffer : !warp.buffer<2 x [64x64xbf16]>
  %free = warp.ring released %b : !warp.buffer<2 x [64x64xbf16]>
  %ready = warp.ring %b : !warp.buffer<2 x [64x64xbf16]>
  warp.specialize {
    warp.role @load warps(1) {
      scf.for %k = %c0 to %n step %c1 : i32 {
        %t = warp.acquire %free
        %v = warp.slot %t : !nv.memdesc<64x64xbf16>
        nv.tma.load %A[%k, %c0] to %v : !tile.desc<64x64xbf16>, !nv.memdesc<64x64xbf16>
        warp.release %t to %ready tma
      }
    }
    warp.role @math warps(4) {
      %some = arith.cmpi sgt, %n, %c0 : i32
      scf.if %some {
        %t0 = warp.acquire %ready
        %k1, %last = scf.while (%k = %c1, %before = %t0) : (i32, !warp.token) -> (i32, !warp.token) {
          %more = arith.cmpi slt, %k, %n : i32
          scf.condition(%more) %k, %before : i32, !warp.token
        } do {
        ^bb0(%k: i32, %before: !warp.token):
          %t = warp.acquire %ready
          warp.release %before to %free generic
          %next = arith.addi %k, %c1 : i32
          scf.yield %next, %t : i32, !warp.token
        }
        warp.release %last to %free generic
      }
    }
  }
  return
}

// -----

// Products of other tiles stay in flight behind the one that reads the slot: always one at least.
// CHECK-LABEL: @other_products
func.func @other_products(%n: i32, %q: !nv.memdesc<64x64xbf16>) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c3 = arith.constant 3 : i32
  %b = warp.buffer : !warp.buffer<2 x [64x64xbf16]>
  %ring = warp.ring released %b : !warp.buffer<2 x [64x64xbf16]>
  warp.specialize {
    warp.role @math warps(4) {
      scf.for %k = %c0 to %c3 step %c1 : i32 {
        %t = warp.acquire %ring
        %v = warp.slot %t : !nv.memdesc<64x64xbf16>
        %d = nv.wgmma %v, %v : !nv.memdesc<64x64xbf16>, !nv.memdesc<64x64xbf16> -> tensor<64x64xf32>
        scf.for %j = %c0 to %n step %c1 : i32 {
          %e = nv.wgmma %q, %q : !nv.memdesc<64x64xbf16>, !nv.memdesc<64x64xbf16> -> tensor<64x64xf32>
        }
        %f = nv.wgmma %q, %q : !nv.memdesc<64x64xbf16>, !nv.memdesc<64x64xbf16> -> tensor<64x64xf32>
        nv.wgmma.wait pending(1)
        warp.release %t to %ring wgmma
      }
    }
  }
  return
}

// -----

// A role may hand a slot that its stores have read to another role: the releasing thread waits for the store engine.
// CHECK-LABEL: @bulk_read
func.func @bulk_read(%n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %b = warp.buffer : !warp.buffer<2 x [64x64xbf16]>
  %free = warp.ring released %b : !warp.buffer<2 x [64x64xbf16]>
  %ready = warp.ring %b : !warp.buffer<2 x [64x64xbf16]>
  warp.specialize {
    warp.role @load warps(1) {
      scf.for %k = %c0 to %n step %c1 : i32 {
        %t = warp.acquire %free
        warp.release %t to %ready tma
      }
    }
    warp.role @math warps(4) {
      scf.for %k = %c0 to %n step %c1 : i32 {
        %t = warp.acquire %ready
        warp.release %t to %free bulk_read
      }
    }

  }
  return
}
