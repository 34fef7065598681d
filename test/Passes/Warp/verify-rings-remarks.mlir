// RUN: kernel-opt %s --pass-pipeline='builtin.module(warp-verify-rings{report=true})' -o /dev/null 2>&1 \
// RUN:   | FileCheck %s --check-prefix=REPORT
// RUN: kernel-opt %s --pass-pipeline='builtin.module(warp-verify-rings{max-steps=20})' -o /dev/null 2>&1 \
// RUN:   | FileCheck %s --check-prefix=STEPS
// RUN: kernel-opt %s --pass-pipeline='builtin.module(warp-verify-rings{max-cases=3})' -o /dev/null 2>&1 \
// RUN:   | FileCheck %s --check-prefix=CASES
// RUN: kernel-opt %s --pass-pipeline='builtin.module(warp-verify-rings{max-states=10})' -o /dev/null 2>&1 \
// RUN:   | FileCheck %s --check-prefix=STATES
// RUN: kernel-opt %s --pass-pipeline='builtin.module(warp-expand-tile-loops,warp-assign-stage-phase,warp-verify-rings)' -o /dev/null 2>&1 \
// RUN:   | FileCheck %s --check-prefix=PLACED

// What was checked is said when asked for; what was not checked is always said.
// REPORT: remark: rings: 4 combinations of scalars, 204 steps
// REPORT-NOT: remark:
// STEPS: remark: rings: some trip counts make more than 20 ring operations in a role; these were not checked
// CASES: remark: rings: too many combinations of scalars; each was varied alone
// STATES: remark: rings: more than 10 states; not all were visited
// PLACED: remark: rings: not checked: with stages assigned,

func.func @ping_pong(%m: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c8 = arith.constant 8 : i32
  %b = warp.buffer : !warp.buffer<2 x [64x64xbf16]>
  %free = warp.ring released %b : !warp.buffer<2 x [64x64xbf16]>
  %ready = warp.ring %b : !warp.buffer<2 x [64x64xbf16]>
  %turn = warp.order 2
  warp.specialize {
    warp.role @load warps(1) {
      warp.for_each_tile (%i, %j) in (%m, %c1) {
        scf.for %k = %c0 to %c8 step %c1 : i32 {
          %t = warp.acquire %free
          warp.release %t to %ready tma
        }
      }
    }
    warp.role @math warps(4) replicas(2) {
      warp.for_each_tile (%i, %j) in (%m, %c1) step(replica) {
        warp.await %turn
        scf.for %k = %c0 to %c8 step %c1 : i32 {
          %t = warp.acquire %ready
          warp.release %t to %free wgmma
        }
        warp.pass %turn
      }
    }
  }
  return
}
