//===- CheckTarget.cpp - Mechanisms that the chip has -------------------------------------===//
//
// In: nv operations chosen by hand or by selection. Out: the same; an error for each operation that
// the target lacks, with what to use instead. wgmma exists on sm_90a only, tensor memory and
// tcgen05 on sm_100a and sm_103a (PTX ISA 9.7.15, 9.7.16).
//
//===--------------------------------------------------------------------------------------===//

#include "passes/NV/Passes.h"

#include "dialects/Warp/Warp.h"
#include "passes/NV/RingScopes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tileloom::nv {
#define GEN_PASS_DEF_NVCHECKTARGET
#include "passes/NV/Passes.h.inc"
} // namespace tileloom::nv

using namespace mlir;
using namespace tileloom;

namespace {

bool usesTensorMemory(Operation *op) {
  if (auto buffer = dyn_cast<warp::BufferOp>(op))
    return buffer.getBuffer().getType().getSpace() == warp::Space::Tmem;
  return isa<nv::Tcgen05MmaOp, nv::Tcgen05MmaScaledOp, nv::Tcgen05CpOp, nv::TmemLoadOp,
             nv::TmemStoreOp>(op);
}

struct CheckTarget : tileloom::nv::impl::NVCheckTargetBase<CheckTarget> {
  using NVCheckTargetBase::NVCheckTargetBase;

  void runOnOperation() override {
    bool hopper = chip == "sm_90a";
    getOperation()->walk([&](Operation *op) {
      if (usesTensorMemory(op) && hopper) {
        op->emitOpError("needs tensor memory, which target '")
            << chip
            << "' does not have (targets that have it: sm_100a, sm_103a; here use nv.wgmma)";
        signalPassFailure();
      }
      if (isa<nv::WgmmaOp, nv::WgmmaWaitOp>(op) && !hopper) {
        op->emitOpError("needs warpgroup products, which target '")
            << chip << "' does not have (target that has them: sm_90a; here use nv.tcgen05.mma)";
        signalPassFailure();
      }
    });
    getOperation()->walk([&](func::FuncOp function) {
      if (failed(checkScopes(function)))
        signalPassFailure();
    });
  }
};

} // namespace
