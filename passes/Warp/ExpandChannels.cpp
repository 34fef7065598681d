//===- ExpandChannels.cpp - Channels, and what passes through them, to ring operations -----===//
//
// In: the shorthand of the warp level. Out: buffers, rings, acquire, slot, release. Comes first, so
// that no other pass sees the shorthand.
//
//   warp.channel    a buffer, and a ring for each result
//   warp.take       acquire, slot
//   warp.load       acquire, slot, nv.tma.load, release (tma)
//   warp.put        acquire, slot, nv.local_store, release (generic)
//   warp.get        acquire, slot, nv.local_load, release (generic)
//
// `alternate`: the replicas of the role take the slots of a ring in turn, which is a place in the
// ring for each replica at the start (warp.skip), and R - 1 slots passed over after each acquire.
//
//===--------------------------------------------------------------------------------------===//

#include "passes/Warp/Passes.h"

#include "dialects/Warp/Warp.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/SetVector.h"

namespace tileloom::warp {
#define GEN_PASS_DEF_WARPEXPANDCHANNELS
#include "passes/Warp/Passes.h.inc"
} // namespace tileloom::warp

using namespace mlir;
using namespace tileloom;
using namespace tileloom::warp;

namespace {

void expand(ChannelOp channel) {
  OpBuilder builder(channel);
  Location loc = channel.getLoc();
  Value buffer =
      BufferOp::create(builder, loc, channel.getBuffer(), channel.getPerReplicaAttr());
  for (auto [index, result] : llvm::enumerate(channel.getRings())) {
    UnitAttr released = index == 0 ? builder.getUnitAttr() : UnitAttr();
    auto scope = ScopeAttr::get(builder.getContext(), Scope::Cta);
    result.replaceAllUsesWith(
        RingOp::create(builder, loc, result.getType(), buffer, released, scope));
  }
  channel.erase();
}

using AlternateRings = llvm::SetVector<std::pair<RoleOp, Value>>;

AcquireOp acquire(OpBuilder &builder, Operation *op, Value ring, bool alternate,
                  AlternateRings &rings) {
  Location loc = op->getLoc();
  auto token = AcquireOp::create(builder, loc, ring);
  auto role = op->getParentOfType<RoleOp>();
  if (alternate && role && role.getReplicas() > 1) {
    token->setAttr(alternateAttrName, builder.getUnitAttr());
    Value others = arith::ConstantIntOp::create(builder, loc, role.getReplicas() - 1, 32);
    SkipOp::create(builder, loc, ring, others);
    rings.insert({role, ring});
  }
  return token;
}

/// A role whose replicas take the slots of a ring in turn does so everywhere.
LogicalResult verifyAlternate(RoleOp role, Value ring) {
  for (Operation *user : ring.getUsers())
    if (auto token = dyn_cast<AcquireOp>(user);
        token && role->isAncestor(token) && !token->hasAttr(alternateAttrName))
      return token->emitError("alternate: expected in all that takes slots of this ring in role @")
             << role.getSymName() << ", as elsewhere in it";
  return success();
}

/// The view of the next slot of a ring over a buffer of one view.
Value slot(OpBuilder &builder, AcquireOp token) {
  BufferType buffer = token.getRing().getDefiningOp<RingOp>().getBuffer().getType();
  RankedTensorType view = buffer.getViews().front();
  auto space = static_cast<nv::MemorySpace>(buffer.getSpace());
  Type type = nv::MemDescType::get(builder.getContext(), view.getShape(), view.getElementType(),
                                   Attribute(), space);
  return SlotOp::create(builder, token.getLoc(), TypeRange{type}, token).getResult(0);
}

struct ExpandChannels : tileloom::warp::impl::WarpExpandChannelsBase<ExpandChannels> {
  void runOnOperation() override {
    AlternateRings rings;
    SmallVector<ChannelOp> channels;
    getOperation()->walk([&](ChannelOp op) { channels.push_back(op); });
    for (ChannelOp channel : channels)
      expand(channel);
    getOperation()->walk([&](Operation *op) {
      OpBuilder builder(op);
      Location loc = op->getLoc();
      if (auto take = dyn_cast<TakeOp>(op)) {
        auto token = acquire(builder, op, take.getRing(), take.getAlternate(), rings);
        auto views = SlotOp::create(builder, loc, take.getViews().getTypes(), token);
        take.getToken().replaceAllUsesWith(token);
        take.getViews().replaceAllUsesWith(views.getViews());
      } else if (auto load = dyn_cast<LoadOp>(op)) {
        auto token = acquire(builder, op, load.getRing(), false, rings);
        nv::TmaLoadOp::create(builder, loc, load.getDesc(), load.getCoordinates(),
                              slot(builder, token), Value(), Value(), nv::CacheHintAttr(), false);
        ReleaseOp::create(builder, loc, token, load.getTo(), ReleaseKind::Tma);
      } else if (auto put = dyn_cast<PutOp>(op)) {
        auto token = acquire(builder, op, put.getRing(), put.getAlternate(), rings);
        nv::LocalStoreOp::create(builder, loc, put.getValue(), slot(builder, token));
        ReleaseOp::create(builder, loc, token, put.getTo(), ReleaseKind::Generic);
      } else if (auto get = dyn_cast<GetOp>(op)) {
        auto token = acquire(builder, op, get.getRing(), false, rings);
        Value value = nv::LocalLoadOp::create(builder, loc, get.getValue().getType(),
                                              slot(builder, token));
        ReleaseOp::create(builder, loc, token, get.getTo(), ReleaseKind::Generic);
        get.getValue().replaceAllUsesWith(value);
      } else {
        return;
      }
      op->erase();
    });
    for (auto [role, ring] : rings) {
      if (failed(verifyAlternate(role, ring)))
        return signalPassFailure();
      OpBuilder builder = OpBuilder::atBlockBegin(&role.getBody().front());
      Value replica = ReplicaIndexOp::create(builder, role.getLoc(), builder.getI32Type());
      SkipOp::create(builder, role.getLoc(), ring, replica);
    }
  }
};

} // namespace
