// RUN: kernel-opt %s --nv-plan-registers | FileCheck %s

#w4 = #nv.blocked<[8], [32], [4], [0]>
#w8 = #nv.blocked<[8], [32], [8], [0]>
#w16 = #nv.blocked<[8], [32], [16], [0]>

// Six CTAs of 4 warps. 16 elements a thread leave room for weights and bias, which move up with what their places are made of, behind
// the row's own load.
// CHECK-LABEL: func.func @moved
// CHECK-SAME: nv.wanted_registers = 80 : i64
// CHECK: nv.global_load %arg0
// CHECK: nv.global_load %arg1
// CHECK: nv.global_load %arg2
// CHECK: nv.reduce
func.func @moved(%x: i64, %w: i64, %b: i64, %y: i64) attributes {nv.max_registers = 255 : i64} {
  warp.specialize {
    warp.role @main warps(4) {
      %i = nv.index dim(0) : tensor<2048xi32, #w4>
      %v = nv.global_load %x[%i] {nv.run = array<i64: 0, 8>} : tensor<2048xi32, #w4> -> tensor<2048xbf16, #w4>
      %f = arith.extf %v : tensor<2048xbf16, #w4> to tensor<2048xf32, #w4>
      %s = nv.reduce add %f dim(0) : tensor<2048xf32, #w4> -> f32
      %all = nv.splat %s : f32 -> tensor<2048xf32, #w4>
      %d = arith.subf %f, %all : tensor<2048xf32, #w4>
      %j = nv.index dim(0) : tensor<2048xi32, #w4>
      %wl = nv.global_load %w[%j] {nv.run = array<i64: 0, 8>} : tensor<2048xi32, #w4> -> tensor<2048xbf16, #w4>
      %wf = arith.extf %wl : tensor<2048xbf16, #w4> to tensor<2048xf32, #w4>
      %m = arith.mulf %d, %wf : tensor<2048xf32, #w4>
      %bl = nv.global_load %b[%i] {nv.run = array<i64: 0, 8>} : tensor<2048xi32, #w4> -> tensor<2048xbf16, #w4>
      %bf = arith.extf %bl : tensor<2048xbf16, #w4> to tensor<2048xf32, #w4>
      %r = arith.addf %m, %bf : tensor<2048xf32, #w4>
      %o = arith.truncf %r : tensor<2048xf32, #w4> to tensor<2048xbf16, #w4>
      nv.global_store %o to %y[%i] {nv.run = array<i64: 0, 8>} : tensor<2048xbf16, #w4>, tensor<2048xi32, #w4>
    }
  }
  return
}

// Four CTAs of 8 warps: with 32 elements of a thread the loads find no room below 64 registers, and all stay.
// CHECK-LABEL: func.func @full
// CHECK-SAME: nv.wanted_registers = 64 : i64
// CHECK: nv.global_load %arg0
// CHECK: nv.reduce
// CHECK: nv.global_load %arg1
// CHECK: nv.global_load %arg2
func.func @full(%x: i64, %w: i64, %b: i64, %y: i64) attributes {nv.max_registers = 255 : i64} {
  warp.specialize {
    warp.role @main warps(8) {
      %i = nv.index dim(0) : tensor<8192xi32, #w8>
      %v = nv.global_load %x[%i] {nv.run = array<i64: 0, 8>} : tensor<8192xi32, #w8> -> tensor<8192xbf16, #w8>
      %f = arith.extf %v : tensor<8192xbf16, #w8> to tensor<8192xf32, #w8>
      %s = nv.reduce add %f dim(0) : tensor<8192xf32, #w8> -> f32
      %all = nv.splat %s : f32 -> tensor<8192xf32, #w8>
      %d = arith.subf %f, %all : tensor<8192xf32, #w8>
      %j = nv.index dim(0) : tensor<8192xi32, #w8>
      %wl = nv.global_load %w[%j] {nv.run = array<i64: 0, 8>} : tensor<8192xi32, #w8> -> tensor<8192xbf16, #w8>
      %wf = arith.extf %wl : tensor<8192xbf16, #w8> to tensor<8192xf32, #w8>
      %m = arith.mulf %d, %wf : tensor<8192xf32, #w8>
      %bl = nv.global_load %b[%i] {nv.run = array<i64: 0, 8>} : tensor<8192xi32, #w8> -> tensor<8192xbf16, #w8>
      %bf = arith.extf %bl : tensor<8192xbf16, #w8> to tensor<8192xf32, #w8>
      %r = arith.addf %m, %bf : tensor<8192xf32, #w8>
      %o = arith.truncf %r : tensor<8192xf32, #w8> to tensor<8192xbf16, #w8>
      nv.global_store %o to %y[%i] {nv.run = array<i64: 0, 8>} : tensor<8192xbf16, #w8>, tensor<8192xi32, #w8>
    }
  }
  return
}

// Two CTAs of 16 warps: the program does not fit in the 32 or 40 registers of more.
// CHECK-LABEL: func.func @two
// CHECK-SAME: nv.wanted_registers = 64 : i64
func.func @two(%x: i64, %w: i64, %b: i64, %y: i64) attributes {nv.max_registers = 128 : i64} {
  warp.specialize {
    warp.role @main warps(16) {
      %i = nv.index dim(0) : tensor<16384xi32, #w16>
      %v = nv.global_load %x[%i] {nv.run = array<i64: 0, 8>} : tensor<16384xi32, #w16> -> tensor<16384xbf16, #w16>
      %f = arith.extf %v : tensor<16384xbf16, #w16> to tensor<16384xf32, #w16>
      %s = nv.reduce add %f dim(0) : tensor<16384xf32, #w16> -> f32
      %all = nv.splat %s : f32 -> tensor<16384xf32, #w16>
      %d = arith.subf %f, %all : tensor<16384xf32, #w16>
      %j = nv.index dim(0) : tensor<16384xi32, #w16>
      %wl = nv.global_load %w[%j] {nv.run = array<i64: 0, 8>} : tensor<16384xi32, #w16> -> tensor<16384xbf16, #w16>
      %wf = arith.extf %wl : tensor<16384xbf16, #w16> to tensor<16384xf32, #w16>
      %m = arith.mulf %d, %wf : tensor<16384xf32, #w16>
      %bl = nv.global_load %b[%i] {nv.run = array<i64: 0, 8>} : tensor<16384xi32, #w16> -> tensor<16384xbf16, #w16>
      %bf = arith.extf %bl : tensor<16384xbf16, #w16> to tensor<16384xf32, #w16>
      %r = arith.addf %m, %bf : tensor<16384xf32, #w16>
      %o = arith.truncf %r : tensor<16384xf32, #w16> to tensor<16384xbf16, #w16>
      nv.global_store %o to %y[%i] {nv.run = array<i64: 0, 8>} : tensor<16384xbf16, #w16>, tensor<16384xi32, #w16>
    }
  }
  return
}

// 64 elements of a thread: not even two CTAs fit, and the limit is the hardware's.
// CHECK-LABEL: func.func @one
// CHECK-NOT: nv.wanted_registers
// CHECK: nv.global_load %arg0
// CHECK: nv.reduce
func.func @one(%x: i64, %w: i64, %b: i64, %y: i64) attributes {nv.max_registers = 128 : i64} {
  warp.specialize {
    warp.role @main warps(16) {
      %i = nv.index dim(0) : tensor<32768xi32, #w16>
      %v = nv.global_load %x[%i] {nv.run = array<i64: 0, 8>} : tensor<32768xi32, #w16> -> tensor<32768xbf16, #w16>
      %f = arith.extf %v : tensor<32768xbf16, #w16> to tensor<32768xf32, #w16>
      %s = nv.reduce add %f dim(0) : tensor<32768xf32, #w16> -> f32
      %all = nv.splat %s : f32 -> tensor<32768xf32, #w16>
      %d = arith.subf %f, %all : tensor<32768xf32, #w16>
      %j = nv.index dim(0) : tensor<32768xi32, #w16>
      %wl = nv.global_load %w[%j] {nv.run = array<i64: 0, 8>} : tensor<32768xi32, #w16> -> tensor<32768xbf16, #w16>
      %wf = arith.extf %wl : tensor<32768xbf16, #w16> to tensor<32768xf32, #w16>
      %m = arith.mulf %d, %wf : tensor<32768xf32, #w16>
      %bl = nv.global_load %b[%i] {nv.run = array<i64: 0, 8>} : tensor<32768xi32, #w16> -> tensor<32768xbf16, #w16>
      %bf = arith.extf %bl : tensor<32768xbf16, #w16> to tensor<32768xf32, #w16>
      %r = arith.addf %m, %bf : tensor<32768xf32, #w16>
      %o = arith.truncf %r : tensor<32768xf32, #w16> to tensor<32768xbf16, #w16>
      nv.global_store %o to %y[%i] {nv.run = array<i64: 0, 8>} : tensor<32768xbf16, #w16>, tensor<32768xi32, #w16>
    }
  }
  return
}

// Shared memory for two CTAs: 24 warps do not come about, and more registers are free.
// CHECK-LABEL: func.func @shared
// CHECK-SAME: nv.wanted_registers = 255 : i64
func.func @shared(%x: i64, %w: i64, %b: i64, %y: i64) attributes {nv.max_registers = 255 : i64, nv.shared_bytes = 100000 : i64} {
  warp.specialize {
    warp.role @main warps(4) {
      %i = nv.index dim(0) : tensor<2048xi32, #w4>
      %v = nv.global_load %x[%i] {nv.run = array<i64: 0, 8>} : tensor<2048xi32, #w4> -> tensor<2048xbf16, #w4>
      %f = arith.extf %v : tensor<2048xbf16, #w4> to tensor<2048xf32, #w4>
      %s = nv.reduce add %f dim(0) : tensor<2048xf32, #w4> -> f32
      %all = nv.splat %s : f32 -> tensor<2048xf32, #w4>
      %d = arith.subf %f, %all : tensor<2048xf32, #w4>
      %j = nv.index dim(0) : tensor<2048xi32, #w4>
      %wl = nv.global_load %w[%j] {nv.run = array<i64: 0, 8>} : tensor<2048xi32, #w4> -> tensor<2048xbf16, #w4>
      %wf = arith.extf %wl : tensor<2048xbf16, #w4> to tensor<2048xf32, #w4>
      %m = arith.mulf %d, %wf : tensor<2048xf32, #w4>
      %bl = nv.global_load %b[%i] {nv.run = array<i64: 0, 8>} : tensor<2048xi32, #w4> -> tensor<2048xbf16, #w4>
      %bf = arith.extf %bl : tensor<2048xbf16, #w4> to tensor<2048xf32, #w4>
      %r = arith.addf %m, %bf : tensor<2048xf32, #w4>
      %o = arith.truncf %r : tensor<2048xf32, #w4> to tensor<2048xbf16, #w4>
      nv.global_store %o to %y[%i] {nv.run = array<i64: 0, 8>} : tensor<2048xbf16, #w4>, tensor<2048xi32, #w4>
    }
  }
  return
}

// A store in between: what it writes may be what the loads read.
// CHECK-LABEL: func.func @written
// CHECK: nv.reduce
// CHECK: nv.global_store
// CHECK: nv.global_load %arg1
func.func @written(%x: i64, %w: i64, %b: i64, %y: i64) attributes {nv.max_registers = 255 : i64} {
  warp.specialize {
    warp.role @main warps(4) {
      %i = nv.index dim(0) : tensor<2048xi32, #w4>
      %v = nv.global_load %x[%i] {nv.run = array<i64: 0, 8>} : tensor<2048xi32, #w4> -> tensor<2048xbf16, #w4>
      %f = arith.extf %v : tensor<2048xbf16, #w4> to tensor<2048xf32, #w4>
      %s = nv.reduce add %f dim(0) : tensor<2048xf32, #w4> -> f32
      %all = nv.splat %s : f32 -> tensor<2048xf32, #w4>
      %d = arith.subf %f, %all : tensor<2048xf32, #w4>
      %at = nv.program_id 0
      nv.global_store %s to %y[%at] : f32, i32
      %j = nv.index dim(0) : tensor<2048xi32, #w4>
      %wl = nv.global_load %w[%j] {nv.run = array<i64: 0, 8>} : tensor<2048xi32, #w4> -> tensor<2048xbf16, #w4>
      %wf = arith.extf %wl : tensor<2048xbf16, #w4> to tensor<2048xf32, #w4>
      %m = arith.mulf %d, %wf : tensor<2048xf32, #w4>
      %bl = nv.global_load %b[%i] {nv.run = array<i64: 0, 8>} : tensor<2048xi32, #w4> -> tensor<2048xbf16, #w4>
      %bf = arith.extf %bl : tensor<2048xbf16, #w4> to tensor<2048xf32, #w4>
      %r = arith.addf %m, %bf : tensor<2048xf32, #w4>
      %o = arith.truncf %r : tensor<2048xf32, #w4> to tensor<2048xbf16, #w4>
      nv.global_store %o to %y[%i] {nv.run = array<i64: 0, 8>} : tensor<2048xbf16, #w4>, tensor<2048xi32, #w4>
    }
  }
  return
}

// A load whose place depends on the reduction stays; the other one moves.
// CHECK-LABEL: func.func @dependent
// CHECK: nv.global_load %arg0
// CHECK: nv.global_load %arg2
// CHECK: nv.reduce
// CHECK: nv.global_load %arg1
func.func @dependent(%x: i64, %w: i64, %b: i64, %y: i64) attributes {nv.max_registers = 255 : i64} {
  warp.specialize {
    warp.role @main warps(4) {
      %i = nv.index dim(0) : tensor<2048xi32, #w4>
      %v = nv.global_load %x[%i] {nv.run = array<i64: 0, 8>} : tensor<2048xi32, #w4> -> tensor<2048xbf16, #w4>
      %f = arith.extf %v : tensor<2048xbf16, #w4> to tensor<2048xf32, #w4>
      %s = nv.reduce add %f dim(0) : tensor<2048xf32, #w4> -> f32
      %all = nv.splat %s : f32 -> tensor<2048xf32, #w4>
      %d = arith.subf %f, %all : tensor<2048xf32, #w4>
      %si = arith.fptosi %s : f32 to i32
      %places = nv.splat %si : i32 -> tensor<2048xi32, #w4>
      %j = nv.index dim(0) : tensor<2048xi32, #w4>
      %wl = nv.global_load %w[%places] {nv.run = array<i64: 0, 8>} : tensor<2048xi32, #w4> -> tensor<2048xbf16, #w4>
      %wf = arith.extf %wl : tensor<2048xbf16, #w4> to tensor<2048xf32, #w4>
      %m = arith.mulf %d, %wf : tensor<2048xf32, #w4>
      %bl = nv.global_load %b[%i] {nv.run = array<i64: 0, 8>} : tensor<2048xi32, #w4> -> tensor<2048xbf16, #w4>
      %bf = arith.extf %bl : tensor<2048xbf16, #w4> to tensor<2048xf32, #w4>
      %r = arith.addf %m, %bf : tensor<2048xf32, #w4>
      %o = arith.truncf %r : tensor<2048xf32, #w4> to tensor<2048xbf16, #w4>
      nv.global_store %o to %y[%i] {nv.run = array<i64: 0, 8>} : tensor<2048xbf16, #w4>, tensor<2048xi32, #w4>
    }
  }
  return
}

// A store before the reduction: the reduction's barrier is what makes it visible to the threads that load behind it.
// CHECK-LABEL: func.func @ordered
// CHECK: nv.reduce
// CHECK: nv.global_load %arg1
// CHECK: nv.global_load %arg2
func.func @ordered(%x: i64, %w: i64, %b: i64, %y: i64) attributes {nv.max_registers = 255 : i64} {
  warp.specialize {
    warp.role @main warps(4) {
      %i = nv.index dim(0) : tensor<2048xi32, #w4>
      %v = nv.global_load %x[%i] {nv.run = array<i64: 0, 8>} : tensor<2048xi32, #w4> -> tensor<2048xbf16, #w4>
      %f = arith.extf %v : tensor<2048xbf16, #w4> to tensor<2048xf32, #w4>
      %at = nv.program_id 0
      %one = arith.constant 1.0 : f32
      nv.global_store %one to %w[%at] : f32, i32
      %s = nv.reduce add %f dim(0) : tensor<2048xf32, #w4> -> f32
      %all = nv.splat %s : f32 -> tensor<2048xf32, #w4>
      %d = arith.subf %f, %all : tensor<2048xf32, #w4>
      %j = nv.index dim(0) : tensor<2048xi32, #w4>
      %wl = nv.global_load %w[%j] {nv.run = array<i64: 0, 8>} : tensor<2048xi32, #w4> -> tensor<2048xbf16, #w4>
      %wf = arith.extf %wl : tensor<2048xbf16, #w4> to tensor<2048xf32, #w4>
      %m = arith.mulf %d, %wf : tensor<2048xf32, #w4>
      %bl = nv.global_load %b[%i] {nv.run = array<i64: 0, 8>} : tensor<2048xi32, #w4> -> tensor<2048xbf16, #w4>
      %bf = arith.extf %bl : tensor<2048xbf16, #w4> to tensor<2048xf32, #w4>
      %r = arith.addf %m, %bf : tensor<2048xf32, #w4>
      %o = arith.truncf %r : tensor<2048xf32, #w4> to tensor<2048xbf16, #w4>
      nv.global_store %o to %y[%i] {nv.run = array<i64: 0, 8>} : tensor<2048xbf16, #w4>, tensor<2048xi32, #w4>
    }
  }
  return
}

// What nothing writes is loaded early in any case.
// CHECK-LABEL: func.func @invariant
// CHECK: nv.global_load %arg2
// CHECK: nv.reduce
// CHECK: nv.global_load %arg1
func.func @invariant(%x: i64, %w: i64, %b: i64, %y: i64) attributes {nv.max_registers = 255 : i64} {
  warp.specialize {
    warp.role @main warps(4) {
      %i = nv.index dim(0) : tensor<2048xi32, #w4>
      %v = nv.global_load %x[%i] {nv.run = array<i64: 0, 8>} : tensor<2048xi32, #w4> -> tensor<2048xbf16, #w4>
      %f = arith.extf %v : tensor<2048xbf16, #w4> to tensor<2048xf32, #w4>
      %at = nv.program_id 0
      %one = arith.constant 1.0 : f32
      nv.global_store %one to %w[%at] : f32, i32
      %s = nv.reduce add %f dim(0) : tensor<2048xf32, #w4> -> f32
      %all = nv.splat %s : f32 -> tensor<2048xf32, #w4>
      %d = arith.subf %f, %all : tensor<2048xf32, #w4>
      %j = nv.index dim(0) : tensor<2048xi32, #w4>
      %wl = nv.global_load %w[%j] {nv.run = array<i64: 0, 8>} : tensor<2048xi32, #w4> -> tensor<2048xbf16, #w4>
      %wf = arith.extf %wl : tensor<2048xbf16, #w4> to tensor<2048xf32, #w4>
      %m = arith.mulf %d, %wf : tensor<2048xf32, #w4>
      %bl = nv.global_load %b[%i] {invariant, nv.run = array<i64: 0, 8>} : tensor<2048xi32, #w4> -> tensor<2048xbf16, #w4>
      %bf = arith.extf %bl : tensor<2048xbf16, #w4> to tensor<2048xf32, #w4>
      %r = arith.addf %m, %bf : tensor<2048xf32, #w4>
      %o = arith.truncf %r : tensor<2048xf32, #w4> to tensor<2048xbf16, #w4>
      nv.global_store %o to %y[%i] {nv.run = array<i64: 0, 8>} : tensor<2048xbf16, #w4>, tensor<2048xi32, #w4>
    }
  }
  return
}

// Products: their registers are not known here.
// CHECK-LABEL: func.func @product
// CHECK-NOT: nv.wanted_registers
func.func @product() attributes {nv.max_registers = 255 : i64} {
  warp.specialize {
    warp.role @main warps(1) {
      %a = ub.poison : tensor<16x32xbf16, #nv.mma_a<rows = 1, columns = 1>>
      %b = ub.poison : tensor<32x8xbf16, #nv.mma_b<rows = 1, columns = 1>>
      %c = arith.constant dense<0.0> : tensor<16x8xf32, #nv.mma_acc<rows = 1, columns = 1>>
      %d = nv.mma %a, %b, %c : tensor<16x32xbf16, #nv.mma_a<rows = 1, columns = 1>>, tensor<32x8xbf16, #nv.mma_b<rows = 1, columns = 1>>,
        tensor<16x8xf32, #nv.mma_acc<rows = 1, columns = 1>>
    }
  }
  return
}
