// RUN: not kernel-opt %s --pass-pipeline='builtin.module(nv-check-target{chip=sm_90a})' --split-input-file 2>&1 | FileCheck %s --check-prefix=SM90
// RUN: not kernel-opt %s --pass-pipeline='builtin.module(nv-check-target{chip=sm_100a})' --split-input-file 2>&1 | FileCheck %s --check-prefix=SM100

// SM90: error: 'nv.tcgen05.mma' op needs tensor memory, which target 'sm_90a' does not have (targets that have it: sm_100a, sm_103a; here use nv.wgmma)
func.func @product(%a: !nv.memdesc<128x64xbf16>, %b: !nv.memdesc<64x128xbf16>, %d: !nv.memdesc<128x128xf32, tmem>, %p: i1) {
  nv.tcgen05.mma %a, %b, %d accumulate(%p) : !nv.memdesc<128x64xbf16>, !nv.memdesc<64x128xbf16>, !nv.memdesc<128x128xf32, tmem>
  return
}

// -----

// SM100: error: 'nv.wgmma' op needs warpgroup products, which target 'sm_100a' does not have (target that has them: sm_90a; here use nv.tcgen05.mma)
func.func @wgmma(%a: !nv.memdesc<64x64xbf16>, %b: !nv.memdesc<64x128xbf16>) {
  %d = nv.wgmma %a, %b : !nv.memdesc<64x64xbf16>, !nv.memdesc<64x128xbf16> -> tensor<64x128xf32>
  return
}

// -----

// SM100: error: 'warp.ring' op scope: expected clusters of an even number of CTAs for 'pair', found 1
func.func @pair() {
  %b = warp.buffer : !warp.buffer<1 x [32xf32]>
  %r = warp.ring released %b scope(pair) : !warp.buffer<1 x [32xf32]>
  return
}

// -----

// SM100: error: 'nv.tcgen05.mma' op cta_group: expected 2 as in the rest of the kernel, found 1
func.func @groups(%a: !nv.memdesc<128x64xbf16>, %b: !nv.memdesc<64x128xbf16>, %d: !nv.memdesc<128x128xf32, tmem>,
                  %d2: !nv.memdesc<128x256xf32, tmem>, %p: i1) {
  nv.tcgen05.mma %a, %b, %d accumulate(%p) : !nv.memdesc<128x64xbf16>, !nv.memdesc<64x128xbf16>, !nv.memdesc<128x128xf32, tmem>
  nv.tcgen05.mma %a, %b, %d2 accumulate(%p) cta_group(2) : !nv.memdesc<128x64xbf16>, !nv.memdesc<64x128xbf16>, !nv.memdesc<128x256xf32, tmem>
  return
}
