//===- RingLoads.cpp - Loads into a slot and the mbarrier they count on -------------------===//

#include "passes/NV/RingLoads.h"

#include "passes/NV/RingScopes.h"
#include "tileloom/Analysis/Roles.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tileloom;

static void collect(Value view, SmallVectorImpl<nv::TmaLoadOp> &loads) {
  for (Operation *user : view.getUsers()) {
    if (auto load = dyn_cast<nv::TmaLoadOp>(user))
      loads.push_back(load);
    else if (isa<nv::MemDescSliceOp, nv::MemDescTransOp>(user))
      collect(user->getResult(0), loads);
  }
}

/// The loads into the slot of `token`; returns the bytes to expect of them.
static int64_t collectSlot(Value token, SmallVectorImpl<nv::TmaLoadOp> &loads) {
  int64_t bytes = 0;
  for (Operation *slot : token.getUsers()) {
    if (!isa<warp::SlotOp>(slot))
      continue;
    for (Value view : slot->getResults()) {
      size_t before = loads.size();
      collect(view, loads);
      auto own = ArrayRef(loads).drop_front(before);
      if (llvm::any_of(own, [](nv::TmaLoadOp load) { return load.getMulticast() != nullptr; }))
        bytes += cast<nv::MemDescType>(view.getType()).getSizeBytes();
      else
        for (nv::TmaLoadOp load : own)
          bytes += load.getView().getType().getSizeBytes();
    }
  }
  return bytes;
}

LogicalResult tileloom::completeLoads(OpBuilder &builder, warp::ReleaseOp release,
                                      llvm::function_ref<Value()> makeBarrier) {
  Location loc = release.getLoc();
  auto ring = release.getRing().getDefiningOp<warp::RingOp>();
  auto role = release->getParentOfType<warp::RoleOp>();
  SmallVector<nv::TmaLoadOp> loads;
  int64_t bytes = collectSlot(release->getOperand(0), loads);
  bool pair = ring.getScope() == warp::Scope::Pair && waitsInLeader(ring);
  Operation *first = release;
  for (nv::TmaLoadOp load : loads) {
    if (load->getBlock() != release->getBlock())
      return load.emitOpError(
                 "into a slot: expected in the same block as its release, found under '")
             << load->getParentOp()->getName() << "'";
    if (pair && load.getMulticast())
      return load.emitOpError("multicast: expected none into a slot that a leader role waits for");
    if (load->isBeforeInBlock(first))
      first = load;
  }
  builder.setInsertionPoint(first);
  Value barrier = makeBarrier();
  for (nv::TmaLoadOp load : loads) {
    load.getBarrierMutable().assign(barrier);
    load.setPair(pair);
  }
  if (pair && !role.getLeader()) {
    auto constant = [&](int64_t value) {
      return arith::ConstantIntOp::create(builder, loc, value, 32);
    };
    Value rank = nv::CtaRankOp::create(builder, loc, builder.getI32Type());
    Value odd = arith::AndIOp::create(builder, loc, rank, constant(1));
    Value even = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, odd, constant(0));
    auto branch = scf::IfOp::create(builder, loc, even, /*withElseRegion=*/false);
    builder.setInsertionPointToStart(branch.thenBlock());
    bytes *= 2;
  }
  nv::MBarrierArriveOp::create(builder, loc, barrier, bytes,
                               isSingleThreadRole(role) ? nv::Issuer::All : nv::Issuer::Role);
  return success();
}
