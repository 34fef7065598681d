// RUN: kernel-opt %s --warp-plan-buffers --split-input-file --verify-diagnostics | FileCheck %s

// Rings of the innermost loop take all of shared memory: 7 slots of 32 KB. The 32 KB of the one tile's results lie over them, once the
// replicas have met.
// CHECK-LABEL: func.func @deep
// CHECK: %[[M:.*]] = warp.buffer : <1 x []>
// CHECK: %[[OPEN:.*]] = warp.ring released %[[M]]
// CHECK: %[[MET:.*]] = warp.ring %[[M]] {name = "meeting"}
// CHECK: warp.buffer : <7 x [128x64xbf16, 128x64xbf16]>
// CHECK: warp.buffer per_replica : <1 x [64x128xbf16]>
// CHECK: %[[STAGED:.*]] = warp.ring released
// CHECK: warp.role @math warps(4) replicas(2) registers(240)
// CHECK: scf.for
// CHECK: }
// CHECK: %[[T:.*]] = warp.acquire %[[OPEN]]
// CHECK: warp.release %[[T]] to %[[MET]] generic
// CHECK: %[[U:.*]] = warp.acquire %[[MET]]
// CHECK: warp.release %[[U]] to %[[OPEN]] generic
// CHECK: warp.acquire %[[STAGED]]
// CHECK: warp.role @load warps(1) registers(24)
func.func @deep(%A: !tile.desc<128x64xbf16>, %n: i32) attributes {tile.kernel, tile.schedule = #tile.schedule<use = "cooperative">} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %ab = warp.buffer : !warp.buffer<1 x [128x64xbf16, 128x64xbf16]>
  %free = warp.ring released %ab : !warp.buffer<1 x [128x64xbf16, 128x64xbf16]>
  %ready = warp.ring %ab : !warp.buffer<1 x [128x64xbf16, 128x64xbf16]>
  %out = warp.buffer per_replica : !warp.buffer<1 x [64x128xbf16]>
  %staged = warp.ring released %out : !warp.buffer<1 x [64x128xbf16]>
  warp.specialize {
    warp.role @math warps(4) replicas(2) {
      scf.for %i = %c0 to %n step %c1 : i32 {
        %t = warp.acquire %ready
        warp.release %t to %free generic
      }
      %o = warp.acquire %staged
      warp.release %o to %staged generic
    }
    warp.role @load warps(1) {
      scf.for %i = %c0 to %n step %c1 : i32 {
        %t = warp.acquire %free
        warp.release %t to %ready generic
      }
    }
  }
  return
}

// -----

// One warpgroup of math leaves registers for the role beside it.
// CHECK-LABEL: func.func @one_warpgroup
// CHECK: warp.role @math warps(4) registers(240)
// CHECK: warp.role @load warps(1) registers(240)
func.func @one_warpgroup(%n: i32) attributes {tile.kernel, tile.schedule = #tile.schedule<use = "cooperative">} {
  %ab = warp.buffer : !warp.buffer<1 x [64x64xbf16]>
  %free = warp.ring released %ab : !warp.buffer<1 x [64x64xbf16]>
  %ready = warp.ring %ab : !warp.buffer<1 x [64x64xbf16]>
  warp.specialize {
    warp.role @math warps(4) {
      %t = warp.acquire %ready
      warp.release %t to %free generic
    }
    warp.role @load warps(1) {
      %t = warp.acquire %free
      warp.release %t to %ready generic
    }
  }
  return
}

// -----

// Rows of a tile lie across warps: what is reduced along them is exchanged through 4 KB, and 13 slots of 16 KB are left of 14.
// CHECK-LABEL: func.func @reduced_along_rows
// CHECK: warp.buffer : <13 x [64x64xbf16, 64x64xbf16]>
func.func @reduced_along_rows(%x: tensor<64x256xf32>, %n: i32) attributes {tile.kernel, tile.schedule = #tile.schedule<use = "cooperative">} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %ab = warp.buffer : !warp.buffer<1 x [64x64xbf16, 64x64xbf16]>
  %free = warp.ring released %ab : !warp.buffer<1 x [64x64xbf16, 64x64xbf16]>
  %ready = warp.ring %ab : !warp.buffer<1 x [64x64xbf16, 64x64xbf16]>
  warp.specialize {
    warp.role @math warps(4) {
      scf.for %i = %c0 to %n step %c1 : i32 {
        %t = warp.acquire %ready
        warp.release %t to %free generic
      }
      %most = nv.reduce max %x dim(0) : tensor<64x256xf32> -> tensor<256xf32>
    }
    warp.role @load warps(1) {
      scf.for %i = %c0 to %n step %c1 : i32 {
        %t = warp.acquire %free
        warp.release %t to %ready generic
      }
    }
  }
  return
}

// -----

// Where the next tile's operands come while this one's results leave, these keep their own 32 KB.
// CHECK-LABEL: func.func @tiles
// CHECK: warp.buffer : <6 x [128x64xbf16, 128x64xbf16]>
// CHECK: warp.buffer per_replica : <1 x [64x128xbf16]>
// CHECK-NOT: warp.buffer
func.func @tiles(%A: !tile.desc<128x64xbf16>, %n: i32) attributes {tile.kernel, tile.schedule = #tile.schedule<use = "cooperative">} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %ab = warp.buffer : !warp.buffer<1 x [128x64xbf16, 128x64xbf16]>
  %free = warp.ring released %ab : !warp.buffer<1 x [128x64xbf16, 128x64xbf16]>
  %ready = warp.ring %ab : !warp.buffer<1 x [128x64xbf16, 128x64xbf16]>
  %out = warp.buffer per_replica : !warp.buffer<1 x [64x128xbf16]>
  %staged = warp.ring released %out : !warp.buffer<1 x [64x128xbf16]>
  warp.specialize {
    warp.role @math warps(4) replicas(2) {
      warp.for_each_tile (%x, %y) in (%n, %n) {
        scf.for %i = %c0 to %n step %c1 : i32 {
          %t = warp.acquire %ready
          warp.release %t to %free generic
        }
        %o = warp.acquire %staged
        warp.release %o to %staged generic
      }
    }
    warp.role @load warps(1) {
      warp.for_each_tile (%x, %y) in (%n, %n) {
        scf.for %i = %c0 to %n step %c1 : i32 {
          %t = warp.acquire %free
          warp.release %t to %ready generic
        }
      }
    }
  }
  return
}

// -----

// expected-error @+1 {{shared memory: need 262144 bytes, have 231424: 8 stages of 32768 and 0 for the rest; 7 stages would fit}}
func.func @too_deep(%A: !tile.desc<128x64xbf16>, %n: i32) attributes {tile.kernel, tile.schedule = #tile.schedule<stages = 8>} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %ab = warp.buffer : !warp.buffer<1 x [256x64xbf16]>
  %free = warp.ring released %ab : !warp.buffer<1 x [256x64xbf16]>
  %ready = warp.ring %ab : !warp.buffer<1 x [256x64xbf16]>
  warp.specialize {
    warp.role @math warps(4) {
      scf.for %i = %c0 to %n step %c1 : i32 {
        %t = warp.acquire %ready
        warp.release %t to %free generic
      }
    }
    warp.role @load warps(1) {
      scf.for %i = %c0 to %n step %c1 : i32 {
        %t = warp.acquire %free
        warp.release %t to %ready generic
      }
    }
  }
  return
}

// -----

// A tile's sum in tensor memory gets a second slot where there is room.
// CHECK-LABEL: func.func @sums
// CHECK: warp.buffer : <2 x [128x256xf32], tmem>
func.func @sums() attributes {tile.kernel, tile.schedule = #tile.schedule<use = "cooperative">} {
  %d = warp.buffer : !warp.buffer<1 x [128x256xf32], tmem>
  return
}

// -----

// A role that issues products has registers for their descriptors; narrow roles share a warpgroup, so all have as many.
// CHECK-LABEL: func.func @issuer
// CHECK: warp.role @math warps(4) registers(240)
// CHECK: warp.role @load warps(1) registers(240)
// CHECK: warp.role @mma warps(1) registers(240)
func.func @issuer(%a: !nv.memdesc<128x64xbf16>, %b: !nv.memdesc<64x64xbf16>, %d: !nv.memdesc<128x64xf32, tmem>)
    attributes {tile.kernel, tile.schedule = #tile.schedule<use = "cooperative">} {
  %true = arith.constant true
  warp.specialize {
    warp.role @math warps(4) {
    }
    warp.role @load warps(1) {
    }
    warp.role @mma warps(1) {
      nv.tcgen05.mma %a, %b, %d accumulate(%true) : !nv.memdesc<128x64xbf16>, !nv.memdesc<64x64xbf16>, !nv.memdesc<128x64xf32, tmem>
    }
  }
  return
}

// -----

// expected-error @+1 {{tensor memory: need 576 columns, have 512; use smaller tiles}}
func.func @too_wide() attributes {tile.kernel, tile.schedule = #tile.schedule<use = "cooperative">} {
  %d = warp.buffer : !warp.buffer<1 x [128x256xf32], tmem>
  %e = warp.buffer : !warp.buffer<1 x [128x256xf32], tmem>
  %p = warp.buffer : !warp.buffer<1 x [128x128xbf16], tmem>
  return
}

// -----

// Replicas that take tiles in turn have a slot each of what is loaded once a tile.
// CHECK-LABEL: func.func @turns
// CHECK: warp.buffer : <2 x [64x64xbf16]>
func.func @turns(%A: !tile.desc<64x64xbf16>, %n: i32) attributes {tile.kernel, tile.schedule = #tile.schedule<use = "pingpong">} {
  %c1 = arith.constant 1 : i32
  %a = warp.buffer : !warp.buffer<1 x [64x64xbf16]>
  %free = warp.ring released %a : !warp.buffer<1 x [64x64xbf16]>
  %ready = warp.ring %a : !warp.buffer<1 x [64x64xbf16]>
  warp.specialize {
    warp.role @math warps(4) replicas(2) {
      warp.for_each_tile (%i, %j) in (%n, %c1) step(replica) {
        %t = warp.acquire %ready
        warp.release %t to %free generic
      }
    }
    warp.role @load warps(1) {
      warp.for_each_tile (%i, %j) in (%n, %c1) {
        %t = warp.acquire %free
        warp.release %t to %ready generic
      }
    }
  }
  return
}

// -----

// Sums leave 8 registers of each thread for the role that copies; not beside operands in registers, and not the widest ones.
// CHECK-LABEL: func.func @sums_of_half
// CHECK: warp.role @math warps(4) replicas(2) registers(232)
// CHECK: warp.role @load warps(1) registers(40)
func.func @sums_of_half() attributes {tile.kernel, tile.schedule = #tile.schedule<use = "cooperative">} {
  %ab = warp.buffer : !warp.buffer<1 x [64x64xbf16, 64x256xbf16]>
  %free = warp.ring released %ab : !warp.buffer<1 x [64x64xbf16, 64x256xbf16]>
  %ready = warp.ring %ab : !warp.buffer<1 x [64x64xbf16, 64x256xbf16]>
  warp.specialize {
    warp.role @math warps(4) replicas(2) {
      %t = warp.acquire %ready
      %s:2 = warp.slot %t : !nv.memdesc<64x64xbf16>, !nv.memdesc<64x256xbf16>
      %zero = arith.constant dense<0.0> : tensor<64x256xf32>
      %d = nv.wgmma %s#0, %s#1 acc(%zero) : !nv.memdesc<64x64xbf16>, <64x256xbf16> -> tensor<64x256xf32>
      %w = nv.wgmma.wait %d pending(0) : tensor<64x256xf32>
      warp.release %t to %free wgmma
    }
    warp.role @load warps(1) {
      %t = warp.acquire %free
      warp.release %t to %ready generic
    }
  }
  return
}

// -----

// CHECK-LABEL: func.func @widest_sums
// CHECK: warp.role @math warps(4) replicas(2) registers(232)
// CHECK: warp.role @load warps(1) registers(40)
func.func @widest_sums() attributes {tile.kernel, tile.schedule = #tile.schedule<use = "cooperative">} {
  %ab = warp.buffer : !warp.buffer<1 x [64x64xbf16, 64x192xbf16]>
  %free = warp.ring released %ab : !warp.buffer<1 x [64x64xbf16, 64x192xbf16]>
  %ready = warp.ring %ab : !warp.buffer<1 x [64x64xbf16, 64x192xbf16]>
  warp.specialize {
    warp.role @math warps(4) replicas(2) {
      %t = warp.acquire %ready
      %s:2 = warp.slot %t : !nv.memdesc<64x64xbf16>, !nv.memdesc<64x192xbf16>
      %zero = arith.constant dense<0.0> : tensor<64x192xf32>
      %d = nv.wgmma %s#0, %s#1 acc(%zero) : !nv.memdesc<64x64xbf16>, <64x192xbf16> -> tensor<64x192xf32>
      %w = nv.wgmma.wait %d pending(0) : tensor<64x192xf32>
      %e = nv.wgmma %s#0, %s#1 acc(%zero) : !nv.memdesc<64x64xbf16>, <64x192xbf16> -> tensor<64x192xf32>
      %v = nv.wgmma.wait %e pending(0) : tensor<64x192xf32>
      warp.release %t to %free wgmma
    }
    warp.role @load warps(1) {
      %t = warp.acquire %free
      warp.release %t to %ready generic
    }
  }
  return
}

// -----

// CHECK-LABEL: func.func @sums_of_208
// CHECK: warp.role @math warps(4) replicas(2) registers(240)
// CHECK: warp.role @load warps(1) registers(24)
func.func @sums_of_208() attributes {tile.kernel, tile.schedule = #tile.schedule<use = "cooperative">} {
  %ab = warp.buffer : !warp.buffer<1 x [64x64xbf16, 64x208xbf16]>
  %free = warp.ring released %ab : !warp.buffer<1 x [64x64xbf16, 64x208xbf16]>
  %ready = warp.ring %ab : !warp.buffer<1 x [64x64xbf16, 64x208xbf16]>
  warp.specialize {
    warp.role @math warps(4) replicas(2) {
      %t = warp.acquire %ready
      %s:2 = warp.slot %t : !nv.memdesc<64x64xbf16>, !nv.memdesc<64x208xbf16>
      %zero = arith.constant dense<0.0> : tensor<64x208xf32>
      %d = nv.wgmma %s#0, %s#1 acc(%zero) : !nv.memdesc<64x64xbf16>, <64x208xbf16> -> tensor<64x208xf32>
      %w = nv.wgmma.wait %d pending(0) : tensor<64x208xf32>
      %e = nv.wgmma %s#0, %s#1 acc(%zero) : !nv.memdesc<64x64xbf16>, <64x208xbf16> -> tensor<64x208xf32>
      %v = nv.wgmma.wait %e pending(0) : tensor<64x208xf32>
      warp.release %t to %free wgmma
    }
    warp.role @load warps(1) {
      %t = warp.acquire %free
      warp.release %t to %ready generic
    }
  }
  return
}

// -----

// CHECK-LABEL: func.func @wider_sums
// CHECK: warp.role @math warps(4) replicas(2) registers(240)
// CHECK: warp.role @load warps(1) registers(24)
func.func @wider_sums(%a: tensor<64x64xbf16>) attributes {tile.kernel, tile.schedule = #tile.schedule<use = "cooperative">} {
  %b = warp.buffer : !warp.buffer<1 x [64x256xbf16]>
  %free = warp.ring released %b : !warp.buffer<1 x [64x256xbf16]>
  %ready = warp.ring %b : !warp.buffer<1 x [64x256xbf16]>
  warp.specialize {
    warp.role @math warps(4) replicas(2) {
      %t = warp.acquire %ready
      %s = warp.slot %t : !nv.memdesc<64x256xbf16>
      %zero = arith.constant dense<0.0> : tensor<64x256xf32>
      %d = nv.wgmma %a, %s acc(%zero) : tensor<64x64xbf16>, !nv.memdesc<64x256xbf16> -> tensor<64x256xf32>
      %w = nv.wgmma.wait %d pending(0) : tensor<64x256xf32>
      warp.release %t to %free wgmma
    }
    warp.role @load warps(1) {
      %t = warp.acquire %free
      warp.release %t to %ready generic
    }
  }
  return
}
