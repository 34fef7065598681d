// RUN: kernel-opt %s --pass-pipeline='builtin.module(warp-verify-rings{report=true})' -o /dev/null 2>&1 | FileCheck %s

// A number of tiles of which a share is counted as well is tried as itself (0 to 3) and where the
// share grows (4 and 5), not as 0 to 3 times 4.
// CHECK: remark: rings: 6 combinations of scalars

func.func @held_back(%tiles: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c4 = arith.constant 4 : i32
  %b = warp.buffer : !warp.buffer<2 x [64x64xbf16]>
  %free = warp.ring released %b : !warp.buffer<2 x [64x64xbf16]>
  %ready = warp.ring %b : !warp.buffer<2 x [64x64xbf16]>
  warp.specialize {
    warp.role @load warps(1) {
      %held = arith.divui %tiles, %c4 : i32
      %early = arith.subi %tiles, %held : i32
      scf.for %i = %c0 to %early step %c1 : i32 {
        %t = warp.acquire %free
        warp.release %t to %ready tma
      }
      scf.for %i = %c0 to %held step %c1 : i32 {
        %t = warp.acquire %free
        warp.release %t to %ready tma
      }
    }
    warp.role @math warps(4) {
      scf.for %i = %c0 to %tiles step %c1 : i32 {
        %t = warp.acquire %ready
        warp.release %t to %free generic
      }
    }
  }
  return
}
