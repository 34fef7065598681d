// RUN: kernel-opt %s --warp-expand-tile-loops --canonicalize --cse --split-input-file --verify-diagnostics | FileCheck %s

// The role that copies draws: its CTA's own number first, then from the counter, a tile ahead; it hands the coordinates on, a row of -1 at the end.
// CHECK-LABEL: func.func @copy
// CHECK-SAME: %[[M:[a-z0-9]*]]: i32, %[[COUNTER:[a-z0-9]*]]: i64 {nv.workspace = 8 : i64, tile.pointer = i32}
func.func @copy(%A: !tile.desc<64x64xf32>, %m: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %b = warp.buffer : !warp.buffer<2 x [64x64xf32]>
  %free = warp.ring released %b : !warp.buffer<2 x [64x64xf32]>
  %ready = warp.ring %b : !warp.buffer<2 x [64x64xf32]>
  // CHECK-DAG: %[[PLACE_FREE:.*]] = warp.ring released %{{.*}} {name = "tile_place_free"}
  // CHECK-DAG: %[[PLACE:.*]] = warp.ring %{{.*}} {name = "tile_place_ready"}
  warp.specialize {
    // CHECK: warp.role @math
    warp.role @math warps(4) {
      // CHECK: warp.acquire %[[PLACE]]
      // CHECK: %[[I0:.*]] = nv.scalar_load
      // CHECK: scf.while (%[[I:.*]] = %[[I0]])
      // CHECK: %[[MORE:.*]] = arith.cmpi sge, %[[I]], %c0
      // CHECK: scf.condition(%[[MORE]])
      // CHECK: warp.acquire
      // CHECK: warp.acquire %[[PLACE]]
      // CHECK: %[[I1:.*]] = nv.scalar_load
      // CHECK: scf.yield %[[I1]]
      // CHECK-NOT: arith.div
      // CHECK-NOT: nv.atomic_add
      warp.for_each_tile (%i, %j) in (%m, %c1) attributes {warp.scheduler = "dynamic"} {
        %t = warp.acquire %ready
        warp.release %t to %free generic
      }
    }
    // CHECK: warp.role @load
    warp.role @load warps(1) {
      // CHECK: %[[CTA:.*]] = nvvm.read.ptx.sreg.ctaid.x
      // CHECK: %[[CTAS:.*]] = nvvm.read.ptx.sreg.nctaid.x
      // CHECK: scf.while (%[[NEXT:.*]] = %[[CTA]])
      // CHECK: %[[IN:.*]] = arith.cmpi slt, %[[NEXT]], %[[M]]
      // CHECK: arith.select %[[IN]], %{{.*}}, %c-1
      // CHECK: warp.acquire %[[PLACE_FREE]]
      // CHECK: nv.scalar_store
      // CHECK: nv.scalar_store
      // CHECK: scf.condition
      // CHECK: %[[TAKEN:.*]] = nv.atomic_add %[[COUNTER]]
      // CHECK: nv.tma.load
      // CHECK: %[[THEN:.*]] = arith.addi %[[TAKEN]], %[[CTAS]]
      // CHECK: scf.yield %[[THEN]]
      // The last CTA leaves the counter as it was.
      // CHECK: %[[DONE:.*]] = nv.atomic_add %[[COUNTER]]
      // CHECK: scf.if
      // CHECK: nv.global_store
      // CHECK: nv.global_store
      warp.for_each_tile (%i, %j) in (%m, %c1) attributes {warp.scheduler = "dynamic"} {
        %t = warp.acquire %free
        %s = warp.slot %t : !nv.memdesc<64x64xf32>
        nv.tma.load %A[%i, %c0] to %s : !tile.desc<64x64xf32>, !nv.memdesc<64x64xf32>
        warp.release %t to %ready tma
      }
    }
  }
  return
}

// -----

// Where tiles get shorter along a row, the drawing role alone turns what it drew into the number of a tile, and that into its place; the others take that.
// CHECK-LABEL: func.func @shortest_last
// CHECK: warp.role @math
// CHECK-NOT: arith.divui
// CHECK: scf.condition
// CHECK: warp.role @load
// CHECK: scf.while (%[[DRAWN:.*]] = %{{.*}})
// CHECK: arith.divui %[[DRAWN]]
// CHECK: %[[IN:.*]] = arith.cmpi ult, %[[DRAWN]], %[[TOTAL:.*]] :
// CHECK: %[[TILE:.*]] = arith.select %[[IN]], %{{.*}}, %[[DRAWN]]
// CHECK: arith.divui %[[TILE]]
// CHECK: %[[MORE:.*]] = arith.cmpi slt, %[[DRAWN]], %[[TOTAL]]
// CHECK: %[[ROW:.*]] = arith.select %[[MORE]], %[[I:.*]], %c-1
// CHECK: nv.scalar_store %[[ROW]]
// CHECK: nv.scalar_store
// CHECK: scf.condition(%[[MORE]]) %[[I]]
func.func @shortest_last(%A: !tile.desc<64x64xf32>, %m: i32, %n: i32) {
  %c0 = arith.constant 0 : i32
  %b = warp.buffer : !warp.buffer<2 x [64x64xf32]>
  %free = warp.ring released %b : !warp.buffer<2 x [64x64xf32]>
  %ready = warp.ring %b : !warp.buffer<2 x [64x64xf32]>
  warp.specialize {
    warp.role @math warps(4) {
      warp.for_each_tile (%i, %j) in (%m, %n) group(4) attributes {warp.hold_back = 4, warp.scheduler = "dynamic"} {
        %t = warp.acquire %ready
        warp.release %t to %free generic
      }
    }
    warp.role @load warps(1) {
      warp.for_each_tile (%i, %j) in (%m, %n) group(4) attributes {warp.hold_back = 4, warp.scheduler = "dynamic"} {
        %t = warp.acquire %free
        %s = warp.slot %t : !nv.memdesc<64x64xf32>
        nv.tma.load %A[%i, %c0] to %s : !tile.desc<64x64xf32>, !nv.memdesc<64x64xf32>
        warp.release %t to %ready tma
      }
    }
  }
  return
}

// -----

// The next tile is drawn in front of the copies behind a tile's loop, and its place taken in front of the last wait for a product, unless something else
// that other roles send is taken behind that.
// CHECK-LABEL: func.func @late
// CHECK: %[[PLACE:.*]] = warp.ring %{{.*}} {name = "tile_place_ready"}
// CHECK: warp.role @math
// CHECK: scf.while
// CHECK: %[[S:.*]] = nv.wgmma
// CHECK: warp.acquire %[[PLACE]]
// CHECK: nv.scalar_load
// CHECK: nv.scalar_load
// CHECK: warp.release
// CHECK: nv.wgmma.wait %[[S]]
// CHECK: warp.role @reads_behind
// CHECK: scf.while
// CHECK: nv.wgmma.wait
// CHECK: warp.acquire
// CHECK: warp.acquire %[[PLACE]]
// CHECK: warp.role @load
// CHECK: scf.while
// CHECK: scf.condition
// CHECK: scf.for
// CHECK: nv.tma.load
// CHECK: nv.atomic_add
// CHECK-NEXT: warp.acquire
// CHECK: nv.tma.load
func.func @late(%A: !tile.desc<64x64xbf16>, %m: i32, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %kb = warp.buffer : !warp.buffer<2 x [64x64xbf16]>
  %k_free = warp.ring released %kb : !warp.buffer<2 x [64x64xbf16]>
  %k_ready = warp.ring %kb : !warp.buffer<2 x [64x64xbf16]>
  %vb = warp.buffer : !warp.buffer<2 x [64x64xbf16]>
  %v_free = warp.ring released %vb : !warp.buffer<2 x [64x64xbf16]>
  %v_ready = warp.ring %vb : !warp.buffer<2 x [64x64xbf16]>
  warp.specialize {
    warp.role @math warps(4) {
      warp.for_each_tile (%i, %j) in (%m, %c1) attributes {warp.scheduler = "dynamic"} {
        scf.for %x = %c0 to %n step %c1 : i32 {
          %k = warp.acquire %k_ready
          warp.release %k to %k_free wgmma
        }
        %v = warp.acquire %v_ready
        %vs = warp.slot %v : !nv.memdesc<64x64xbf16>
        %s = nv.wgmma %vs, %vs : !nv.memdesc<64x64xbf16>, <64x64xbf16> -> tensor<64x64xf32>
        %r = nv.wgmma.wait %s pending(0) : tensor<64x64xf32>
        warp.release %v to %v_free wgmma
      }
    }
    warp.role @reads_behind warps(4) {
      warp.for_each_tile (%i, %j) in (%m, %c1) attributes {warp.scheduler = "dynamic"} {
        scf.for %x = %c0 to %n step %c1 : i32 {
          %k = warp.acquire %k_ready
          warp.release %k to %k_free wgmma
        }
        %v = warp.acquire %v_ready
        %vs = warp.slot %v : !nv.memdesc<64x64xbf16>
        %s = nv.wgmma %vs, %vs : !nv.memdesc<64x64xbf16>, <64x64xbf16> -> tensor<64x64xf32>
        %r = nv.wgmma.wait %s pending(0) : tensor<64x64xf32>
        warp.release %v to %v_free wgmma
        %k = warp.acquire %k_ready
        warp.release %k to %k_free wgmma
      }
    }
    warp.role @load warps(1) {
      warp.for_each_tile (%i, %j) in (%m, %c1) attributes {warp.scheduler = "dynamic"} {
        scf.for %x = %c0 to %n step %c1 : i32 {
          %k = warp.acquire %k_free
          %ks = warp.slot %k : !nv.memdesc<64x64xbf16>
          nv.tma.load %A[%i, %x] to %ks : !tile.desc<64x64xbf16>, !nv.memdesc<64x64xbf16>
          warp.release %k to %k_ready tma
        }
        %v = warp.acquire %v_free
        %vs = warp.slot %v : !nv.memdesc<64x64xbf16>
        nv.tma.load %A[%i, %c0] to %vs : !tile.desc<64x64xbf16>, !nv.memdesc<64x64xbf16>
        warp.release %v to %v_ready tma
      }
    }
  }
  return
}

// -----

func.func @hold_back_of_all(%m: i32) {
  warp.specialize {
    warp.role @math warps(4) {
      // expected-error @+1 {{warp.hold_back: expected a number of at least 2, found 1 : i64}}
      warp.for_each_tile (%i, %j) in (%m, %m) attributes {warp.hold_back = 1, warp.scheduler = "dynamic"} {
      }
    }
  }
  return
}

// -----

func.func @hold_back_static(%m: i32) {
  warp.specialize {
    warp.role @math warps(4) {
      // expected-error @+1 {{warp.hold_back: expected warp.scheduler = "dynamic" beside it}}
      warp.for_each_tile (%i, %j) in (%m, %m) attributes {warp.hold_back = 4} {
      }
    }
  }
  return
}

// -----

func.func @one_role_only(%A: !tile.desc<64x64xf32>, %m: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %b = warp.buffer : !warp.buffer<2 x [64x64xf32]>
  %free = warp.ring released %b : !warp.buffer<2 x [64x64xf32]>
  %ready = warp.ring %b : !warp.buffer<2 x [64x64xf32]>
  warp.specialize {
    warp.role @math warps(4) {
      // expected-error @+1 {{warp.scheduler: expected "dynamic" in all roles, found this loop without}}
      warp.for_each_tile (%i, %j) in (%m, %c1) {
        %t = warp.acquire %ready
        warp.release %t to %free generic
      }
    }
    warp.role @load warps(1) {
      warp.for_each_tile (%i, %j) in (%m, %c1) attributes {warp.scheduler = "dynamic"} {
        %t = warp.acquire %free
        %s = warp.slot %t : !nv.memdesc<64x64xf32>
        nv.tma.load %A[%i, %c0] to %s : !tile.desc<64x64xf32>, !nv.memdesc<64x64xf32>
        warp.release %t to %ready tma
      }
    }
  }
  return
}

// -----

func.func @nobody_copies(%m: i32, %q: i64) {
  %c1 = arith.constant 1 : i32
  // expected-error @+1 {{warp.scheduler = "dynamic": expected a role of one thread that copies tiles (nv.tma.load), found none to draw them}}
  warp.specialize {
    warp.role @math warps(4) {
      warp.for_each_tile (%i, %j) in (%m, %c1) attributes {warp.scheduler = "dynamic"} {
        %x = nv.atomic_add %q[%q], %i : i32
      }
    }
  }
  return
}

// -----

// Both roles do nothing behind the length of row i: the drawing role alone decides it, and hands on the tiles that have work. The end is handed on as ever.
// CHECK-LABEL: func.func @empty_tiles
func.func @empty_tiles(%A: !tile.desc<64x64xf32>, %m: i32, %n: i32, %lengths: i64) {
  %c0 = arith.constant 0 : i32
  %b = warp.buffer : !warp.buffer<2 x [64x64xf32]>
  %free = warp.ring released %b : !warp.buffer<2 x [64x64xf32]>
  %ready = warp.ring %b : !warp.buffer<2 x [64x64xf32]>
  warp.specialize {
    // CHECK: warp.role @math
    // CHECK: scf.while
    // CHECK: } do {
    // CHECK-NOT: scf.if
    // CHECK: warp.acquire
    // CHECK: scf.yield
    warp.role @math warps(4) {
      warp.for_each_tile (%i, %j) in (%m, %n) attributes {warp.scheduler = "dynamic"} {
        %l = nv.global_load %lengths[%i] : i32 -> i32
        %work = arith.cmpi slt, %j, %l : i32
        scf.if %work {
          %t = warp.acquire %ready
          warp.release %t to %free generic
        }
      }
    }
    // CHECK: warp.role @load
    // CHECK: scf.while (%[[DRAWN:.*]] = %{{.*}})
    // CHECK: %[[END:.*]] = arith.cmpi sge, %[[DRAWN]]
    // CHECK: scf.if %[[END]] {
    // CHECK: nv.scalar_store %c-1
    // CHECK: scf.condition
    // CHECK: ^bb0(%[[I:.*]]: i32, %[[J:.*]]: i32):
    // CHECK: nv.atomic_add
    // CHECK: %[[L:.*]] = nv.global_load
    // CHECK: %[[WORK:.*]] = arith.cmpi slt, %[[J]], %[[L]]
    // CHECK: scf.if %[[WORK]] {
    // CHECK: nv.scalar_store %[[I]]
    // CHECK: nv.scalar_store %[[J]]
    // CHECK: nv.tma.load
    warp.role @load warps(1) {
      warp.for_each_tile (%i, %j) in (%m, %n) attributes {warp.scheduler = "dynamic"} {
        %l = nv.global_load %lengths[%i] : i32 -> i32
        %work = arith.cmpi slt, %j, %l : i32
        scf.if %work {
          %t = warp.acquire %free
          %s = warp.slot %t : !nv.memdesc<64x64xf32>
          nv.tma.load %A[%i, %c0] to %s : !tile.desc<64x64xf32>, !nv.memdesc<64x64xf32>
          warp.release %t to %ready tma
        }
      }
    }
  }
  return
}

// -----

// Roles that decide by different numbers keep their branches, and all tiles are handed on.
// CHECK-LABEL: func.func @different_branches
func.func @different_branches(%A: !tile.desc<64x64xf32>, %m: i32, %n: i32, %lengths: i64, %others: i64) {
  %c0 = arith.constant 0 : i32
  %b = warp.buffer : !warp.buffer<2 x [64x64xf32]>
  %free = warp.ring released %b : !warp.buffer<2 x [64x64xf32]>
  %ready = warp.ring %b : !warp.buffer<2 x [64x64xf32]>
  warp.specialize {
    // CHECK: warp.role @math
    // CHECK: nv.global_load
    // CHECK: scf.if
    // CHECK: warp.acquire
    warp.role @math warps(4) {
      warp.for_each_tile (%i, %j) in (%m, %n) attributes {warp.scheduler = "dynamic"} {
        %l = nv.global_load %others[%i] : i32 -> i32
        %work = arith.cmpi slt, %j, %l : i32
        scf.if %work {
          %t = warp.acquire %ready
          warp.release %t to %free generic
        }
      }
    }
    // CHECK: warp.role @load
    // CHECK: %[[MORE:.*]] = arith.cmpi slt
    // CHECK: arith.select %[[MORE]], %{{.*}}, %c-1
    // CHECK: nv.scalar_store
    // CHECK: scf.condition(%[[MORE]])
    warp.role @load warps(1) {
      warp.for_each_tile (%i, %j) in (%m, %n) attributes {warp.scheduler = "dynamic"} {
        %l = nv.global_load %lengths[%i] : i32 -> i32
        %work = arith.cmpi slt, %j, %l : i32
        scf.if %work {
          %t = warp.acquire %free
          %s = warp.slot %t : !nv.memdesc<64x64xf32>
          nv.tma.load %A[%i, %c0] to %s : !tile.desc<64x64xf32>, !nv.memdesc<64x64xf32>
          warp.release %t to %ready tma
        }
      }
    }
  }
  return
}
