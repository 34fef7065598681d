// RUN: kernel-opt %s --warp-expand-channels --verify-diagnostics

func.func @mixed() {
  %free, %ready = warp.channel : !warp.buffer<4 x [64x64xbf16]>
  warp.specialize {
    warp.role @math warps(4) replicas(2) {
      %t, %s = warp.take %ready alternate : !nv.memdesc<64x64xbf16>
      warp.release %t to %free generic
      // expected-error@+1 {{alternate: expected in all that takes slots of this ring in role @math, as elsewhere in it}}
      %u, %w = warp.take %ready : !nv.memdesc<64x64xbf16>
      warp.release %u to %free generic
    }
  }
  return
}
