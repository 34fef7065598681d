// RUN: kernel-opt %s --nv-assign-warps --split-input-file --verify-diagnostics

// Sixteen warps start with 128 registers a thread.
func.func @too_wide(%a: !nv.memdesc<64x64xbf16>, %b: !nv.memdesc<64x208xbf16>) attributes {tile.kernel} {
  warp.specialize {
    warp.role @math warps(4) replicas(3) registers(160) {
      // expected-error @+1 {{columns: a product of 208 columns needs 130 registers a thread when the kernel starts, of which 512 threads have 128: expected fewer columns}}
      %d = nv.wgmma %a, %b : !nv.memdesc<64x64xbf16>, !nv.memdesc<64x208xbf16> -> tensor<64x208xf32>
    }
    warp.role @load warps(1) registers(24) {
    }
  }
  return
}

// -----

func.func @twelve_warps(%a: !nv.memdesc<64x64xbf16>, %b: !nv.memdesc<64x208xbf16>) attributes {tile.kernel} {
  warp.specialize {
    warp.role @math warps(4) replicas(2) registers(240) {
      %d = nv.wgmma %a, %b : !nv.memdesc<64x64xbf16>, !nv.memdesc<64x208xbf16> -> tensor<64x208xf32>
    }
    warp.role @load warps(1) registers(24) {
    }
  }
  return
}
