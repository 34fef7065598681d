//===- DrainRings.cpp - Wait for the last hand-overs --------------------------------------===//
//
// A CTA must not end while an arrival on one of its mbarriers is under way: from another CTA of its
// cluster, or by a tcgen05 commit. In: roles. Out: a role that takes slots of such a ring, which
// starts released, takes all its slots once more at its end: they are all there when every slot has
// been released. Those acquires are marked `warp.drain`.
//
//===--------------------------------------------------------------------------------------===//

#include "passes/Warp/Passes.h"

#include "dialects/Warp/Warp.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/SetVector.h"

namespace tileloom::warp {
#define GEN_PASS_DEF_WARPDRAINRINGS
#include "passes/Warp/Passes.h.inc"
} // namespace tileloom::warp

using namespace mlir;
using namespace tileloom;
using namespace tileloom::warp;

namespace {

bool arrivesLate(RingOp ring) {
  bool commit = llvm::any_of(ring.getRing().getUsers(), [](Operation *user) {
    auto release = dyn_cast<ReleaseOp>(user);
    return release && release.getKind() == ReleaseKind::Tcgen05;
  });
  return ring.getReleased() && (commit || ring.getScope() != Scope::Cta);
}

struct DrainRings : tileloom::warp::impl::WarpDrainRingsBase<DrainRings> {
  void runOnOperation() override {
    getOperation()->walk([](RingOp ring) {
      if (!arrivesLate(ring))
        return;
      llvm::SetVector<Operation *> roles;
      for (Operation *user : ring.getRing().getUsers())
        if (auto acquire = dyn_cast<AcquireOp>(user);
            acquire && !acquire->hasAttr(alternateAttrName))
          roles.insert(acquire->getParentOfType<RoleOp>());
      for (Operation *role : roles) {
        OpBuilder builder = OpBuilder::atBlockEnd(&cast<RoleOp>(role).getBody().front());
        for (int64_t slot = 0; slot < ring.getBuffer().getType().getDepth(); ++slot)
          AcquireOp::create(builder, ring.getLoc(), ring.getRing())
              ->setAttr(drainAttrName, builder.getUnitAttr());
      }
    });
  }
};

} // namespace
