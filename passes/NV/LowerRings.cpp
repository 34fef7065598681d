//===- LowerRings.cpp - Buffers, rings and orders to mbarriers ----------------------------===//
//
// In: warp.buffer / ring / order and the operations on them, with stages and phases assigned. Out:
// nv.alloc, nv.view, nv.mbarrier.*, nv.bulk.*; no ring is left.
//
// - Each ring has one mbarrier for each slot (each replica's slot, if the buffer is per replica).
//   Its count is the sum over the releasing roles (analysis: arrivalsOf). An acquire waits on it,
//   a release arrives on it.
// - A `tma` release arrives once, expecting the summed bytes of the loads into the slot, just
//   before the first of them; the loads complete on that barrier (RingLoads.h).
// - Where a release arrives, and from how many CTAs, follows from the ring's scope (RingScopes.h).
// - A ring that one role alone acquires and releases, by `bulk_read` only, needs no mbarrier: an
//   acquire waits until the store engine has at most depth - 1 groups still to read, in the thread
//   that issued them, then joins the role's threads. If another role takes the slots, the
//   releasing thread waits for its groups to be read, then arrives.
// - Turns are hardware barriers (OrderTurns.cpp); where those do not do, turn r of an order is an
//   mbarrier that replica r waits on and replica r - 1 arrives on.
//
//===--------------------------------------------------------------------------------------===//

#include "passes/NV/Passes.h"

#include "passes/NV/OrderTurns.h"
#include "passes/NV/RingLoads.h"
#include "passes/NV/RingScopes.h"
#include "passes/NV/SharedStorage.h"
#include "passes/NV/SlotStorage.h"
#include "tileloom/Analysis/Roles.h"
#include "tileloom/Analysis/TileLayouts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/MathExtras.h"

namespace tileloom::nv {
#define GEN_PASS_DEF_NVLOWERRINGS
#include "passes/NV/Passes.h.inc"
} // namespace tileloom::nv

using namespace mlir;
using namespace tileloom;

namespace {

struct RingState {
  Value barriers; // none for a ring that the store engine counts
  bool perReplica = false;
  int64_t depth = 0;
};

struct Lowering {
  func::FuncOp function;
  OpBuilder builder;
  llvm::MapVector<Value, SlotStorage> storages;
  llvm::MapVector<Value, RingState> rings;
  llvm::DenseMap<Operation *, warp::AcquireOp> origins; // of slots and releases, before tokens become stages
  SmallVector<Operation *> dead, deadTokens, deadRings, deadBuffers;

  int64_t cluster;

  explicit Lowering(func::FuncOp function)
      : function(function), builder(function.getContext()), cluster(clusterSize(function)) {}

  Type barrierType() { return nv::BarrierType::get(function.getContext()); }

  LogicalResult lowerBuffer(warp::BufferOp buffer) {
    builder.setInsertionPoint(buffer);
    FailureOr<SlotStorage> storage = allocateSlots(builder, buffer, nameOf(buffer, "buffer"));
    if (failed(storage))
      return failure();
    storages[buffer.getBuffer()] = *storage;
    deadBuffers.push_back(buffer);
    return success();
  }

  StringAttr nameOf(Operation *op, StringRef otherwise) {
    if (auto named = op->getAttrOfType<StringAttr>("name"))
      return named;
    return builder.getStringAttr(otherwise + std::to_string(storages.size() + rings.size()));
  }

  LogicalResult lowerRing(warp::RingOp ring) {
    RingState state;
    const SlotStorage &storage = storages[ring.getBuffer()];
    state.depth = storage.depth;
    state.perReplica = storage.perReplica;
    llvm::MapVector<Operation *, int64_t> counts; // by releasing role
    for (Operation *user : ring.getRing().getUsers()) {
      auto release = dyn_cast<warp::ReleaseOp>(user);
      if (!release)
        continue;
      auto role = release->getParentOfType<warp::RoleOp>();
      int64_t count =
          state.perReplica ? arrivalsOf(release) / role.getReplicas() : arrivalsOf(release);
      if (release.getKind() != warp::ReleaseKind::Tma)
        count *= releasingCtas(ring, role, cluster);
      auto [entry, inserted] = counts.insert({role, count});
      if (!inserted && entry->second != count)
        return release.emitOpError("arrivals: expected the same count from every release of role @")
               << role.getSymName() << " to this ring, found " << entry->second << " and " << count;
    }
    if (!counts.empty() && !countedByStoreEngine(ring)) {
      int64_t arrivals = 0,
              slots = state.depth * (state.perReplica ? replicasOf(ring.getRing()) : 1);
      for (auto [role, count] : counts)
        arrivals += count;
      builder.setInsertionPoint(ring);
      auto alloc = nv::AllocOp::create(builder, ring.getLoc(), barrierType(), slots, 8, 8,
                                       IntegerAttr(), nameOf(ring, "ring"));
      if (storage.base)
        alloc->setAttr(nv::slotsAttrName, storage.name);
      state.barriers = alloc;
      nv::MBarrierInitOp::create(builder, ring.getLoc(), state.barriers, slots, arrivals);
    }
    rings[ring.getRing()] = state;
    deadRings.push_back(ring);
    return success();
  }

  void lowerOrder(warp::OrderOp order) {
    deadRings.push_back(order);
    if (nv::lowerToHardwareBarriers(order))
      return;
    builder.setInsertionPoint(order);
    RingState state;
    state.barriers =
        nv::AllocOp::create(builder, order.getLoc(), barrierType(), order.getReplicas(), 8, 8,
                            IntegerAttr(), nameOf(order, "order"));
    int64_t warps = 1;
    for (Operation *user : order.getOrder().getUsers())
      if (isa<warp::PassOp>(user))
        warps = user->getParentOfType<warp::RoleOp>().getWarps();
    nv::MBarrierInitOp::create(builder, order.getLoc(), state.barriers, order.getReplicas(), warps);
    rings[order.getOrder()] = state;
  }

  Value constant(Location loc, int64_t value) {
    return arith::ConstantIntOp::create(builder, loc, value, 32);
  }

  /// The stage of a token. Tokens that loops carry have become their stages (see carryStages).
  static Value stageOf(Value token) {
    auto acquire = token.getDefiningOp<warp::AcquireOp>();
    return acquire ? acquire.getStage() : token;
  }

  /// Index of a slot in storage or of its barrier in a ring.
  Value slotIndex(Location loc, Value token, bool perReplica, int64_t depth) {
    if (!perReplica)
      return stageOf(token);
    Value replica = warp::ReplicaIndexOp::create(builder, loc, builder.getI32Type());
    if (depth == 1)
      return replica;
    return arith::AddIOp::create(builder, loc,
                                 arith::MulIOp::create(builder, loc, replica, constant(loc, depth)),
                                 stageOf(token));
  }

  Value barrierOf(Location loc, Value token, Value ring) {
    RingState &state = rings[ring];
    Value index = slotIndex(loc, token, state.perReplica, state.depth);
    return nv::BarrierAtOp::create(builder, loc, barrierType(), state.barriers, index);
  }

  /// What control flow carries of a token is its stage: gives such values their new type and their
  /// sources the stage.
  void carryStages() {
    Type i32 = builder.getI32Type();
    function.walk([&](Operation *op) {
      for (Region &region : op->getRegions())
        for (Block &block : region)
          for (BlockArgument argument : block.getArguments())
            if (isa<warp::TokenType>(argument.getType()))
              argument.setType(i32);
      if (isa<warp::AcquireOp>(op))
        return;
      for (OpResult result : op->getResults())
        if (isa<warp::TokenType>(result.getType()))
          result.setType(i32);
      if (isa<warp::SlotOp, warp::ReleaseOp, warp::HoldOp>(op))
        return;
      for (OpOperand &operand : op->getOpOperands())
        if (auto acquire = operand.get().getDefiningOp<warp::AcquireOp>())
          operand.set(acquire.getStage());
    });
  }

  LogicalResult lowerAcquire(warp::AcquireOp acquire) {
    auto ring = acquire.getRing().getDefiningOp<warp::RingOp>();
    RingState &state = rings[acquire.getRing()];
    builder.setInsertionPoint(acquire);
    if (state.barriers) {
      nv::MBarrierWaitOp::create(builder, acquire.getLoc(),
                                 barrierOf(acquire.getLoc(), acquire.getToken(), acquire.getRing()),
                                 acquire.getPhase(), acquire.getKnown());
      return success();
    }
    bool released = llvm::any_of(ring.getRing().getUsers(), llvm::IsaPred<warp::ReleaseOp>);
    if (!released) {
      if (ring.getReleased())
        return success(); // nobody takes the slots away: they are free for ever
      return acquire.emitOpError("ring: expected a role that releases slots to it");
    }
    auto role = acquire->getParentOfType<warp::RoleOp>();
    nv::BulkWaitOp::create(builder, acquire.getLoc(), state.depth - 1, /*read=*/true);
    if (!isSingleThreadRole(role))
      nv::NamedBarrierOp::create(builder, acquire.getLoc());
    return success();
  }

  LogicalResult lowerPeek(warp::PeekOp peek) {
    Location loc = peek.getLoc();
    RingState &state = rings[peek.getRing()];
    if (!state.barriers)
      return peek.emitOpError(
          "ring: expected one whose slots other roles pass on, found one without barriers");
    if (!peek.getStage())
      return peek.emitOpError("expected a stage and phase: run warp-assign-stage-phase first");
    builder.setInsertionPoint(peek);
    Value index = slotIndex(loc, peek.getStage(), state.perReplica, state.depth);
    Value barrier = nv::BarrierAtOp::create(builder, loc, barrierType(), state.barriers, index);
    peek.getAvailable().replaceAllUsesWith(
        nv::MBarrierTestOp::create(builder, loc, builder.getI1Type(), barrier, peek.getPhase()));
    dead.push_back(peek);
    return success();
  }

  void lowerHold(warp::HoldOp hold) {
    Location loc = hold.getLoc();
    auto acquire = hold.getToken().getDefiningOp<warp::AcquireOp>();
    builder.setInsertionPoint(hold);
    auto keep = nv::KeepOp::create(builder, loc, hold.getResultTypes(), hold.getValues());
    hold.replaceAllUsesWith(keep);
    if (rings[acquire.getRing()].barriers)
      nv::MBarrierWaitOp::create(builder, loc,
                                 barrierOf(loc, acquire.getToken(), acquire.getRing()),
                                 acquire.getPhase(), Value());
    dead.push_back(hold);
  }

  void lowerSlot(warp::SlotOp slot) {
    Value buffer = origins[slot].getRing().getDefiningOp<warp::RingOp>().getBuffer();
    SlotStorage &storage = storages[buffer];
    builder.setInsertionPoint(slot);
    Value index = slotIndex(slot.getLoc(), slot->getOperand(0), storage.perReplica, storage.depth);
    for (auto [view, offset] : llvm::zip(slot.getViews(), storage.offsets)) {
      Value lowered = storage.tensorMemory
                          ? nv::TmemViewOp::create(builder, slot.getLoc(),
                                                   cast<nv::MemDescType>(view.getType()),
                                                   storage.base, index, storage.stride, offset)
                                .getResult()
                          : nv::ViewOp::create(builder, slot.getLoc(), view.getType(), storage.base,
                                               index, storage.stride, offset)
                                .getResult();
      view.replaceAllUsesWith(lowered);
    }
    dead.push_back(slot);
  }

  LogicalResult lowerRelease(warp::ReleaseOp release) {
    Location loc = release.getLoc();
    dead.push_back(release);
    auto ring = release.getRing().getDefiningOp<warp::RingOp>();
    auto role = release->getParentOfType<warp::RoleOp>();
    nv::Targets targets = releaseTargets(ring, role);
    builder.setInsertionPoint(release);
    switch (release.getKind()) {
    case warp::ReleaseKind::BulkRead:
      nv::BulkCommitOp::create(builder, loc);
      if (rings[release.getRing()].barriers) {
        nv::BulkWaitOp::create(builder, loc, 0, /*read=*/true);
        arrive(loc, barrierOf(loc, release->getOperand(0), release.getRing()), nv::Issuer::Role,
               targets);
      }
      return success();
    case warp::ReleaseKind::Generic:
    case warp::ReleaseKind::Wgmma: {
      bool single = isSingleThreadRole(role);
      // One thread signals for its warp: what the others did has to come before.
      if (release.getKind() == warp::ReleaseKind::Generic && !single)
        nv::WarpSyncOp::create(builder, loc);
      arrive(loc, barrierOf(loc, release->getOperand(0), release.getRing()),
             single ? nv::Issuer::All : nv::Issuer::Warp, targets);
      return success();
    }
    case warp::ReleaseKind::Tcgen05:
      nv::Tcgen05CommitOp::create(builder, loc,
                                  barrierOf(loc, release->getOperand(0), release.getRing()),
                                  targets, tcgen05Group(function));
      return success();
    case warp::ReleaseKind::Tma:
      return completeLoads(builder, release, [&] {
        return barrierOf(loc, release->getOperand(0), release.getRing());
      });
    case warp::ReleaseKind::CpAsync:
      if (targets != nv::Targets::Self)
        return release.emitOpError("kind 'cp_async': expected a ring of scope cta");
      nv::CpAsyncArriveOp::create(builder, loc,
                                  barrierOf(loc, release->getOperand(0), release.getRing()));
      return success();
    }
    llvm_unreachable("unknown release kind");
  }

  void arrive(Location loc, Value barrier, nv::Issuer issuer, nv::Targets targets) {
    if (targets == nv::Targets::Self)
      nv::MBarrierArriveOp::create(builder, loc, barrier, 0, issuer);
    else
      nv::MBarrierArriveAtOp::create(builder, loc, barrier, issuer, targets);
  }

  void lowerTurn(Operation *op) {
    Location loc = op->getLoc();
    builder.setInsertionPoint(op);
    Value replica = warp::ReplicaIndexOp::create(builder, loc, builder.getI32Type());
    Value barriers = rings[op->getOperand(0)].barriers;
    if (auto await = dyn_cast<warp::AwaitOp>(op)) {
      Value barrier = nv::BarrierAtOp::create(builder, loc, barrierType(), barriers, replica);
      nv::MBarrierWaitOp::create(builder, loc, barrier, await.getPhase(), Value());
    } else {
      int64_t replicas = op->getOperand(0).getDefiningOp<warp::OrderOp>().getReplicas();
      Value next = arith::AddIOp::create(builder, loc, replica, constant(loc, 1));
      Value wrap = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, next,
                                         constant(loc, replicas));
      next = arith::SelectOp::create(builder, loc, wrap, constant(loc, 0), next);
      Value barrier = nv::BarrierAtOp::create(builder, loc, barrierType(), barriers, next);
      nv::MBarrierArriveOp::create(builder, loc, barrier, 0, nv::Issuer::Warp);
    }
    dead.push_back(op);
  }

  LogicalResult run() {
    LogicalResult result = success();
    auto check = [&](LogicalResult step) { result = failure(failed(result) || failed(step)); };
    function.walk([&](Operation *op) {
      if (isa<warp::SlotOp, warp::ReleaseOp>(op))
        origins[op] = warp::originOf(op->getOperand(0));
    });
    function.walk([&](warp::AcquireOp op) {
      if (!op.getStage())
        check(op.emitOpError("expected a stage and phase: run warp-assign-stage-phase first"));
    });
    if (failed(result))
      return result;
    function.walk([&](warp::BufferOp op) { check(lowerBuffer(op)); });
    if (failed(result))
      return result;
    function.walk([&](warp::RingOp op) { check(lowerRing(op)); });
    if (failed(result))
      return result;
    function.walk([&](warp::OrderOp op) { lowerOrder(op); });
    carryStages();
    function.walk([&](Operation *op) {
      if (auto acquire = dyn_cast<warp::AcquireOp>(op))
        check(lowerAcquire(acquire));
      else if (auto release = dyn_cast<warp::ReleaseOp>(op))
        check(lowerRelease(release));
      else if (auto peek = dyn_cast<warp::PeekOp>(op))
        check(lowerPeek(peek));
      else if (auto hold = dyn_cast<warp::HoldOp>(op))
        lowerHold(hold);
      else if (isa<warp::AwaitOp, warp::PassOp>(op))
        lowerTurn(op);
    });
    if (failed(result))
      return result;
    function.walk([&](warp::SlotOp op) { lowerSlot(op); });
    // Users first: releases and slots, then acquires, rings, buffers.
    function.walk([&](warp::AcquireOp op) { deadTokens.push_back(op); });
    for (SmallVectorImpl<Operation *> *list : {&dead, &deadTokens, &deadRings, &deadBuffers})
      for (Operation *op : *list)
        op->erase();
    return success();
  }
};

struct LowerRings : tileloom::nv::impl::NVLowerRingsBase<LowerRings> {
  void runOnOperation() override {
    getOperation()->walk([&](func::FuncOp function) {
      if (failed(Lowering(function).run()))
        signalPassFailure();
    });
  }
};

} // namespace
