// RUN: kernel-opt %S/../../programs/sequential/gelu_chain.mlir --pass-pipeline='builtin.module(warp-pipeline-role)' | FileCheck %s --check-prefix=GELU
// RUN: kernel-opt %s --pass-pipeline='builtin.module(warp-pipeline-role)' | FileCheck %s

// The second product runs an iteration late, so its operand is copied an iteration late.
// GELU: warp.role @load
// GELU: scf.if
// GELU: warp.acquire %[[A:.*]]
// GELU: nv.tma.load
// GELU: scf.for
// GELU-NEXT: warp.acquire %[[A]]
// GELU: nv.tma.load
// GELU: warp.release
// GELU: warp.acquire %[[B:.*]]
// GELU: nv.tma.load
// GELU: warp.release
// GELU: }
// GELU-NEXT: warp.acquire %[[B]]
// GELU: nv.tma.load

!b = !warp.buffer<2 x [64x64xbf16]>
!v = !nv.memdesc<64x64xbf16>
!h = tensor<64x64xbf16>
!t = tensor<64x64xf32>

// Another loop takes the same slots in order: the copies stay in order, too.
// CHECK-LABEL: @both_ways
// CHECK: warp.role @math
// CHECK: nv.wgmma.wait {{.*}} pending(1)
// CHECK: warp.role @load
// CHECK: scf.for {{.*}} : i32 {
// CHECK: warp.acquire
// CHECK: warp.acquire
// CHECK: }
// CHECK-NEXT: scf.for
func.func @both_ways(%A: !tile.desc<64x64xbf16>, %n: i32, %p: i64) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %a = warp.buffer : !b
  %a_free = warp.ring released %a : !b
  %a_ready = warp.ring %a : !b
  %b = warp.buffer : !b
  %b_free = warp.ring released %b : !b
  %b_ready = warp.ring %b : !b
  warp.specialize {
    warp.role @math warps(4) {
      %z = arith.constant dense<0.0> : !t
      %s = scf.for %k = %c0 to %n step %c1 iter_args(%x = %z) -> (!t) : i32 {
        %ta = warp.acquire %a_ready
        %av = warp.slot %ta : !v
        %d0 = nv.wgmma %av, %av : !v, !v -> !t
        %d = nv.wgmma.wait %d0 pending(0) : !t
        warp.release %ta to %a_free wgmma
        %f = math.exp2 %d : !t
        %g = math.exp2 %f : !t
        %h = arith.truncf %g : !t to !h
        %tb = warp.acquire %b_ready
        %bv = warp.slot %tb : !v
        %e0 = nv.wgmma %h, %bv acc(%x) : !h, !v -> !t
        %e = nv.wgmma.wait %e0 pending(0) : !t
        warp.release %tb to %b_free wgmma
        scf.yield %e : !t
      } {warp.min_trips = 1 : i64}
      %u = scf.for %k = %c0 to %n step %c1 iter_args(%x = %s) -> (!t) : i32 {
        %ta = warp.acquire %a_ready
        %av = warp.slot %ta : !v
        %d0 = nv.wgmma %av, %av acc(%x) : !v, !v -> !t
        %d = nv.wgmma.wait %d0 pending(0) : !t
        warp.release %ta to %a_free wgmma
        %tb = warp.acquire %b_ready
        %bv = warp.slot %tb : !v
        %e0 = nv.wgmma %bv, %bv acc(%d) : !v, !v -> !t
        %e = nv.wgmma.wait %e0 pending(0) : !t
        warp.release %tb to %b_free wgmma
        scf.yield %e : !t
      }
      %o = nv.index dim(1) : tensor<64x64xi64>
      nv.global_store %u to %p[%o] : !t, tensor<64x64xi64>
    }
    warp.role @load warps(1) {
      scf.for %k = %c0 to %n step %c1 : i32 {
        %ta = warp.acquire %a_free
        %av = warp.slot %ta : !v
        nv.tma.load %A[%k, %c0] to %av : !tile.desc<64x64xbf16>, !v
        warp.release %ta to %a_ready tma
        %tb = warp.acquire %b_free
        %bv = warp.slot %tb : !v
        nv.tma.load %A[%k, %c0] to %bv : !tile.desc<64x64xbf16>, !v
        warp.release %tb to %b_ready tma
      }
      scf.for %k = %c0 to %n step %c1 : i32 {
        %ta = warp.acquire %a_free
        %av = warp.slot %ta : !v
        nv.tma.load %A[%k, %c0] to %av : !tile.desc<64x64xbf16>, !v
        warp.release %ta to %a_ready tma
        %tb = warp.acquire %b_free
        %bv = warp.slot %tb : !v
        nv.tma.load %A[%k, %c0] to %bv : !tile.desc<64x64xbf16>, !v
        warp.release %tb to %b_ready tma
      }
    }
  }
  return
}
