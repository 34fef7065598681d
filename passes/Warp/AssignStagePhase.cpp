//===- AssignStagePhase.cpp - Stage and phase of every acquire ----------------------------===//
//
// In: acquire, peek and await without operands, skip. Out: every acquire and peek has its stage and
// phase, every await its phase; skip is gone. What a peek found is a part of the role's place
// (false once the slot is taken), so that an acquire can only skip the wait for the slot that was
// peeked at.
//
// Each role carries its place in every ring that it takes slots of, through loops and branches: trip
// counts vary from tile to tile, so that it is no function of a loop index. The place is the number of
// slots taken, whose bits are stage and phase, or, for a depth that is no power of two, a stage that
// advances by one with wrap and a phase that flips on wrap. The first wait on a ring that starts released
// passes: its parity is that of the phase before the first (mbarrier.try_wait.parity with parity 1
// on a fresh barrier is true, PTX ISA 9.7.13.15.16).
//
//===--------------------------------------------------------------------------------------===//

#include "passes/Warp/Passes.h"

#include "dialects/Warp/Warp.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/MapVector.h"

namespace tileloom::warp {
#define GEN_PASS_DEF_WARPASSIGNSTAGEPHASE
#include "passes/Warp/Passes.h.inc"
} // namespace tileloom::warp

using namespace mlir;
using namespace tileloom::warp;

namespace {

/// A role's place in a ring (or an order, which has no stages).
struct Place {
  Value position; // the slots taken so far, where the depth is a power of two
  Value stage, phase;
  Value known; // what the last peek of the next slot found; none in roles that do not peek
};

/// Places by ring or order, in order of first use, so that the carried values have a fixed order.
using Places = llvm::MapVector<Value, Place>;

int64_t depthOf(Value ring) {
  auto op = ring.getDefiningOp<RingOp>();
  return op ? op.getBuffer().getType().getDepth() : 1;
}

/// Whether a role counts the slots that it takes: stage and phase are bits of the count then, two
/// instructions fewer a turn than a stage that wraps.
bool isCounted(Value ring) { return depthOf(ring) > 1 && llvm::isPowerOf2_64(depthOf(ring)); }

struct Assigner {
  OpBuilder builder;
  Value zero, one, unknown;

  explicit Assigner(RoleOp role) : builder(role.getContext()) {
    builder.setInsertionPointToStart(&role.getBody().front());
    zero = arith::ConstantIntOp::create(builder, role.getLoc(), 0, 32);
    one = arith::ConstantIntOp::create(builder, role.getLoc(), 1, 32);
    unknown = arith::ConstantIntOp::create(builder, role.getLoc(), 0, 1);
  }

  /// 1 in replica 0, 0 in the others.
  Value firstReplica(Location loc) {
    Value replica = ReplicaIndexOp::create(builder, loc, builder.getI32Type());
    Value first = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, replica, zero);
    return arith::ExtUIOp::create(builder, loc, builder.getI32Type(), first);
  }

  /// The rings whose place changes in a region.
  static SmallVector<Value> touched(Operation *op, const Places &places) {
    llvm::SmallDenseSet<Value> used;
    op->walk([&](Operation *inner) {
      if (isa<AcquireOp, PeekOp, SkipOp, AwaitOp>(inner))
        used.insert(inner->getOperand(0));
    });
    SmallVector<Value> result;
    for (auto &[ring, place] : places)
      if (used.contains(ring))
        result.push_back(ring);
    return result;
  }

  /// The values to carry for `rings`: the stage is left out where it is always 0.
  SmallVector<Value> flatten(ArrayRef<Value> rings, Places &places) {
    SmallVector<Value> values;
    for (Value ring : rings) {
      if (isCounted(ring)) {
        values.push_back(places[ring].position);
      } else {
        if (depthOf(ring) > 1)
          values.push_back(places[ring].stage);
        values.push_back(places[ring].phase);
      }
      if (places[ring].known)
        values.push_back(places[ring].known);
    }
    return values;
  }

  void unflatten(ArrayRef<Value> rings, ValueRange values, Places &places) {
    size_t next = 0;
    for (Value ring : rings) {
      if (isCounted(ring)) {
        places[ring].position = values[next++];
      } else {
        if (depthOf(ring) > 1)
          places[ring].stage = values[next++];
        places[ring].phase = values[next++];
      }
      if (places[ring].known)
        places[ring].known = values[next++];
    }
  }

  /// The stage and phase of `ring` that an operation at the insertion point sees.
  Place &locate(Location loc, Value ring, Places &places) {
    Place &place = places[ring];
    if (!isCounted(ring))
      return place;
    int64_t depth = depthOf(ring);
    auto constant = [&](int64_t value) {
      return arith::ConstantIntOp::create(builder, loc, value, 32).getResult();
    };
    place.stage = arith::AndIOp::create(builder, loc, place.position, constant(depth - 1));
    Value rounds = arith::ShRUIOp::create(builder, loc, place.position,
                                          constant(llvm::Log2_64(depth)));
    place.phase = arith::AndIOp::create(builder, loc, rounds, one);
    return place;
  }

  void advance(Location loc, Place &place, int64_t depth) {
    if (place.known)
      place.known = unknown;
    if (place.position) {
      place.position = arith::AddIOp::create(builder, loc, place.position, one);
      return;
    }
    if (depth == 1) {
      place.phase = arith::XOrIOp::create(builder, loc, place.phase, one);
      return;
    }
    Value next = arith::AddIOp::create(builder, loc, place.stage, one);
    Value end = arith::ConstantIntOp::create(builder, loc, depth, 32);
    Value wrap = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, next, end);
    place.stage = arith::SelectOp::create(builder, loc, wrap, zero, next);
    Value flip = arith::ExtUIOp::create(builder, loc, builder.getI32Type(), wrap);
    place.phase = arith::XOrIOp::create(builder, loc, place.phase, flip);
  }

  /// Moves on by any number of slots.
  void skip(SkipOp op, Place &place, int64_t depth) {
    Location loc = op.getLoc();
    if (place.known)
      place.known = unknown;
    if (place.position) {
      place.position = arith::AddIOp::create(builder, loc, place.position, op.getCount());
      return;
    }
    Value end = arith::ConstantIntOp::create(builder, loc, depth, 32);
    Value position = arith::AddIOp::create(builder, loc, place.stage, op.getCount());
    Value rounds = arith::DivUIOp::create(builder, loc, position, end);
    place.stage = arith::SubIOp::create(builder, loc, position,
                                        arith::MulIOp::create(builder, loc, rounds, end));
    Value flip = arith::AndIOp::create(builder, loc, rounds, one);
    place.phase = arith::XOrIOp::create(builder, loc, place.phase, flip);
  }

  LogicalResult processFor(scf::ForOp loop, Places &places) {
    SmallVector<Value> rings = touched(loop, places);
    SmallVector<Value> carried = flatten(rings, places);
    IRRewriter rewriter(builder);
    rewriter.setInsertionPoint(loop);
    size_t old = loop.getNumResults();
    auto yields = [&](OpBuilder &, Location, ArrayRef<BlockArgument> added) {
      return SmallVector<Value>(added.begin(), added.end());
    };
    auto replaced =
        loop.replaceWithAdditionalYields(rewriter, carried,
                                         /*replaceInitOperandUsesInLoop=*/false, yields);
    if (failed(replaced))
      return failure();
    auto newLoop = cast<scf::ForOp>(replaced->getOperation());
    Places inside = places;
    unflatten(rings, newLoop.getRegionIterArgs().drop_front(old), inside);
    if (failed(process(*newLoop.getBody(), inside)))
      return failure();
    SmallVector<Value> out = flatten(rings, inside);
    newLoop.getBody()->getTerminator()->setOperands(old, out.size(), out);
    unflatten(rings, newLoop.getResults().drop_front(old), places);
    return success();
  }

  LogicalResult processIf(scf::IfOp branch, Places &places) {
    SmallVector<Value> rings = touched(branch, places);
    if (rings.empty())
      return success();
    SmallVector<Value> carried = flatten(rings, places);
    SmallVector<Type> types(branch.getResultTypes());
    for (Value value : carried)
      types.push_back(value.getType());
    builder.setInsertionPoint(branch);
    auto newBranch = scf::IfOp::create(builder, branch.getLoc(), types, branch.getCondition(),
                                       /*addThenBlock=*/false, /*addElseBlock=*/false);
    newBranch->setDiscardableAttrs(branch->getDiscardableAttrDictionary());
    newBranch.getThenRegion().takeBody(branch.getThenRegion());
    newBranch.getElseRegion().takeBody(branch.getElseRegion());
    if (newBranch.getElseRegion().empty()) {
      builder.createBlock(&newBranch.getElseRegion());
      scf::YieldOp::create(builder, branch.getLoc());
    }
    size_t old = branch.getNumResults();
    for (Region *region : {&newBranch.getThenRegion(), &newBranch.getElseRegion()}) {
      Places inside = places;
      if (failed(process(region->front(), inside)))
        return failure();
      Operation *yield = region->front().getTerminator();
      yield->insertOperands(yield->getNumOperands(), flatten(rings, inside));
    }
    for (size_t i = 0; i < old; ++i)
      branch.getResult(i).replaceAllUsesWith(newBranch.getResult(i));
    branch.erase();
    unflatten(rings, newBranch.getResults().drop_front(old), places);
    return success();
  }

  LogicalResult processWhile(scf::WhileOp loop, Places &places) {
    SmallVector<Value> rings = touched(loop, places);
    if (rings.empty())
      return success();
    SmallVector<Value> carried = flatten(rings, places);
    SmallVector<Type> added;
    for (Value value : carried)
      added.push_back(value.getType());
    SmallVector<Type> types(loop.getResultTypes());
    types.append(added);
    SmallVector<Value> inits(loop.getInits());
    inits.append(carried);
    builder.setInsertionPoint(loop);
    auto newLoop = scf::WhileOp::create(builder, loop.getLoc(), types, inits);
    newLoop.getBefore().takeBody(loop.getBefore());
    newLoop.getAfter().takeBody(loop.getAfter());
    Places inside = places;
    SmallVector<Location> locs(added.size(), loop.getLoc());
    auto before = newLoop.getBefore().front().addArguments(added, locs);
    unflatten(rings, SmallVector<Value>(before.begin(), before.end()), inside);
    if (failed(process(newLoop.getBefore().front(), inside)))
      return failure();
    Operation *condition = newLoop.getBefore().front().getTerminator();
    condition->insertOperands(condition->getNumOperands(), flatten(rings, inside));
    auto after = newLoop.getAfter().front().addArguments(added, locs);
    unflatten(rings, SmallVector<Value>(after.begin(), after.end()), inside);
    if (failed(process(newLoop.getAfter().front(), inside)))
      return failure();
    Operation *yield = newLoop.getAfter().front().getTerminator();
    yield->insertOperands(yield->getNumOperands(), flatten(rings, inside));
    size_t old = loop.getNumResults();
    for (size_t i = 0; i < old; ++i)
      loop.getResult(i).replaceAllUsesWith(newLoop.getResult(i));
    loop.erase();
    unflatten(rings, newLoop.getResults().drop_front(old), places);
    return success();
  }

  LogicalResult process(Block &block, Places &places) {
    for (Operation &op : llvm::make_early_inc_range(block)) {
      if (auto acquire = dyn_cast<AcquireOp>(op)) {
        builder.setInsertionPoint(acquire);
        Place &place = locate(acquire.getLoc(), acquire.getRing(), places);
        acquire.getStageMutable().assign(place.stage);
        acquire.getPhaseMutable().assign(place.phase);
        if (place.known)
          acquire.getKnownMutable().assign(place.known);
        builder.setInsertionPointAfter(acquire);
        advance(acquire.getLoc(), place, depthOf(acquire.getRing()));
      } else if (auto peek = dyn_cast<PeekOp>(op)) {
        builder.setInsertionPoint(peek);
        Place &place = locate(peek.getLoc(), peek.getRing(), places);
        peek.getStageMutable().assign(place.stage);
        peek.getPhaseMutable().assign(place.phase);
        place.known = peek.getAvailable();
      } else if (auto await = dyn_cast<AwaitOp>(op)) {
        Place &place = places[await.getOrder()];
        await.getPhaseMutable().assign(place.phase);
        builder.setInsertionPointAfter(await);
        advance(await.getLoc(), place, 1);
      } else if (auto skipOp = dyn_cast<SkipOp>(op)) {
        builder.setInsertionPoint(skipOp);
        skip(skipOp, places[skipOp.getRing()], depthOf(skipOp.getRing()));
        skipOp.erase();
      } else if (auto loop = dyn_cast<scf::ForOp>(op)) {
        if (failed(processFor(loop, places)))
          return failure();
      } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
        if (failed(processIf(branch, places)))
          return failure();
      } else if (auto loop = dyn_cast<scf::WhileOp>(op)) {
        if (failed(processWhile(loop, places)))
          return failure();
      } else if (op.getNumRegions() && !touched(&op, places).empty()) {
        return op.emitOpError("around warp.acquire: expected scf.for, scf.if or scf.while");
      }
    }
    return success();
  }
};

LogicalResult assign(RoleOp role) {
  Assigner assigner(role);
  Places places;
  role.walk([&](Operation *op) {
    if (!isa<AcquireOp, PeekOp, SkipOp, AwaitOp>(op))
      return;
    Value ring = op->getOperand(0);
    if (places.contains(ring)) {
      if (isa<PeekOp>(op))
        places[ring].known = assigner.unknown;
      return;
    }
    auto ringOp = ring.getDefiningOp<RingOp>();
    Value phase = ringOp && ringOp.getReleased() ? assigner.one : assigner.zero;
    if (!ringOp) // an order: the first turn is replica 0's
      phase = assigner.firstReplica(role.getLoc());
    Value position;
    if (isCounted(ring)) // a released ring starts in the phase before the first
      position = ringOp.getReleased()
                     ? arith::ConstantIntOp::create(assigner.builder, role.getLoc(), depthOf(ring), 32)
                     : assigner.zero;
    places.insert({ring, {position, assigner.zero, phase, isa<PeekOp>(op) ? assigner.unknown : Value()}});
  });
  return assigner.process(role.getBody().front(), places);
}

struct AssignStagePhase : tileloom::warp::impl::WarpAssignStagePhaseBase<AssignStagePhase> {
  void runOnOperation() override {
    SmallVector<RoleOp> roles;
    getOperation()->walk([&](RoleOp role) { roles.push_back(role); });
    for (RoleOp role : roles)
      if (failed(assign(role)))
        return signalPassFailure();
  }
};

} // namespace
