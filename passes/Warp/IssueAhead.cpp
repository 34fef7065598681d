//===- IssueAhead.cpp - Products that wait for copies only, an iteration ahead ------------===//
//
// In: a loop of the role that issues products of tensor memory, in program order: scores, then the product of what other warps make of
// them. The thread that waits for the second operand issues nothing meanwhile: the tensor core would rest while those warps work, and
// they would wait for their next scores after it.
//
// Out: the products that wait for no other product of the loop are issued an iteration ahead: the first ones before the loop, in the loop
// those of the next iteration before the others of this one, which alone are left behind it. Where operands lie over scores, the next scores
// of a block of rows come right behind the product that reads the operand: of two blocks one is multiplied while warps work on the other.
//
// Products belong together that use the same slots: a slot is not held from one iteration to the next. A group waits for another one if
// whoever releases a slot to it took one from the other before, or took one from a role that did, and so on. What a role takes before a
// release in its loop is of the same iteration, all else in the loop of the one before; slots of a ring that starts released come back
// as many iterations later as the ring has slots for. Nothing changes where a group that would go ahead waits for what another one that
// would not did an iteration before: an operand that a role makes behind its wait for the last product of the iteration before. All
// others are live; warp-verify-rings proves it.
//
//===--------------------------------------------------------------------------------------===//

#include "IssueAhead.h"

#include "dialects/NV/NV.h"
#include "dialects/Warp/Warp.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tileloom;
using namespace tileloom::warp;

namespace {

class Issuer {
public:
  explicit Issuer(scf::ForOp loop) : loop(loop), builder(loop), loc(loop.getLoc()) {}

  bool run(SlotStages &slots, std::string &why) {
    if (!group(why) || !findAhead(why))
      return false;
    for (AcquireOp acquire : loop.getBody()->getOps<AcquireOp>())
      if (auto ring = acquire.getRing().getDefiningOp<RingOp>())
        (ahead.contains(groupOf(acquire)) ? slots.early : slots.late).insert(ring.getBuffer());
    rewrite();
    return true;
  }

private:
  /// The operation of the loop that takes the slot of a view, or null.
  Operation *slotOf(Value view) const {
    Operation *def = view.getDefiningOp();
    while (def && def->getBlock() == loop.getBody() && !isa<AcquireOp>(def)) {
      if (!def->getNumOperands())
        return nullptr;
      def = def->getOperand(0).getDefiningOp();
    }
    return def && def->getBlock() == loop.getBody() ? def : nullptr;
  }

  /// Joins products with the slots that they use.
  bool group(std::string &why) {
    if (loop.getNumResults())
      return why = "the loop carries values", false;
    for (Operation &op : loop.getBody()->without_terminator()) {
      if (isa<nv::Tcgen05MmaOp>(op)) {
        for (Value operand : op.getOperands())
          if (Operation *slot = isa<nv::MemDescType>(operand.getType()) ? slotOf(operand) : nullptr)
            groups.unionSets(&op, slot);
        groups.insert(&op);
        products.push_back(&op);
      } else if (auto release = dyn_cast<ReleaseOp>(op)) {
        Operation *acquire = release.getToken().getDefiningOp();
        if (!acquire || acquire->getBlock() != loop.getBody())
          return why = "a slot that another iteration took goes back", false;
        groups.unionSets(acquire, &op);
      } else if (isa<AcquireOp>(op)) {
        groups.insert(&op);
      } else if (op.getNumRegions() || !(isPure(&op) || isa<SlotOp>(op) || hasSingleEffect<MemoryEffects::Read>(&op))) {
        return why = ("'" + op.getName().getStringRef() + "' is not known to be possible an iteration ahead").str(), false;
      }
    }
    for (auto *member : groups) {
      if (!member->isLeader())
        continue;
      bool multiplies = false;
      for (auto it = groups.member_begin(*member); it != groups.member_end(); ++it)
        multiplies |= isa<nv::Tcgen05MmaOp>(*it);
      if (!multiplies)
        return why = "slots are taken that no product uses", false;
    }
    return true;
  }

  Operation *groupOf(Operation *op) const { return groups.getLeaderValue(op); }

  static unsigned depthOf(Operation *op) {
    unsigned depth = 0;
    while ((op = op->getParentOfType<scf::ForOp>()))
      ++depth;
    return depth;
  }

  /// After how many iterations, at least, `acquire` takes a slot again that was given back: at once if the ring hands slots over.
  static unsigned iterationsBack(AcquireOp acquire) {
    auto ring = acquire.getRing().getDefiningOp<RingOp>();
    if (!ring || !ring.getReleased())
      return 0;
    int64_t taken = 0, replicas = acquire->getParentOfType<RoleOp>().getReplicas();
    for (Operation *user : ring->getUsers())
      if (isa<AcquireOp>(user) && user->getParentOfType<scf::ForOp>() == acquire->getParentOfType<scf::ForOp>())
        taken += user->hasAttr(alternateAttrName) ? replicas : 1;
    return ring.getBuffer().getType().getDepth() / taken;
  }

  using Distances = llvm::MapVector<Operation *, unsigned>;

  /// What `acquire` waits for if what follows it is needed `distance` iterations later: acquires of other roles in `seen`, groups of the
  /// loop in `found`, with the least number of iterations between. Those of two and more do not matter.
  void trace(AcquireOp acquire, unsigned distance, Distances &seen, Distances &found) const {
    auto closer = [&](Distances &distances, Operation *op) {
      auto [it, isNew] = distances.try_emplace(op, distance);
      bool less = isNew || distance < it->second;
      it->second = std::min(it->second, distance);
      return less;
    };
    unsigned depth = depthOf(loop) + 1;
    if (!closer(seen, acquire))
      return;
    distance += acquire->getParentOfType<scf::ForOp>() && depthOf(acquire) <= depth ? iterationsBack(acquire) : 0;
    if (distance > 1)
      return;
    for (Operation *user : acquire.getRing().getUsers()) {
      auto release = dyn_cast<ReleaseOp>(user);
      if (!release)
        continue;
      if (release->getBlock() == loop.getBody()) {
        if (acquire->getBlock() != loop.getBody())
          closer(found, groupOf(release));
        continue;
      }
      if (release->getParentOfType<RoleOp>() != loop->getParentOfType<RoleOp>())
        traceRole(release, distance, seen, found);
    }
  }

  /// The same for what the role of `release` takes before it. In loops within the one that belongs to `loop`, and where replicas wait for
  /// each other's turns, what comes behind `release` may be of the same iteration too.
  void traceRole(ReleaseOp release, unsigned distance, Distances &seen, Distances &found) const {
    scf::ForOp outermost;
    for (auto outer = release->getParentOfType<scf::ForOp>(); outer; outer = outer->getParentOfType<scf::ForOp>())
      outermost = outer;
    if (!outermost)
      return;
    bool turns = outermost.walk([](AwaitOp) { return WalkResult::interrupt(); }).wasInterrupted(), behind = false;
    outermost.walk([&](Operation *op) {
      behind |= op == release;
      auto acquire = dyn_cast<AcquireOp>(op);
      if (!acquire)
        return;
      auto common = release->getParentOfType<scf::ForOp>();
      while (!common->isProperAncestor(acquire))
        common = common->getParentOfType<scf::ForOp>();
      bool within = depthOf(common) > depthOf(loop);
      trace(acquire, distance + (behind && !within && !turns), seen, found);
    });
  }

  /// Groups that have slots of `ring` in the loop.
  void collect(Value ring, bool released, llvm::SetVector<Operation *> &found) const {
    for (Operation *user : ring.getUsers())
      if (user->getBlock() == loop.getBody() && (released ? isa<ReleaseOp>(user) : isa<AcquireOp>(user)))
        found.insert(groupOf(user));
  }

  bool findAhead(std::string &why) {
    llvm::SetVector<Operation *> waiting;
    SmallVector<std::pair<Operation *, Operation *>> before; // of the next iteration: a group waits for what another one did in this one
    for (AcquireOp acquire : loop.getBody()->getOps<AcquireOp>()) {
      Distances seen, found;
      trace(acquire, 0, seen, found);
      for (auto [earlier, distance] : found) {
        Operation *later = groupOf(acquire);
        if (later != earlier && distance)
          before.push_back({later, earlier});
        else if (later != earlier)
          waiting.insert(later);
      }
    }
    for (Operation *product : products)
      (waiting.contains(groupOf(product)) ? behind : ahead).insert(groupOf(product));
    if (ahead.empty() || behind.empty())
      return why = "no product waits for another one's result", false;
    for (auto [later, earlier] : before)
      if (ahead.contains(later) && behind.contains(earlier))
        return why = "a slot that goes ahead is there only after the other products of the iteration before", false;
    size_t given = 0, needed = 0;
    for (Operation &op : *loop.getBody()) {
      if (!groups.contains(&op))
        continue;
      (ahead.contains(groupOf(&op)) ? first : second).push_back(&op);
      auto release = dyn_cast<ReleaseOp>(op);
      llvm::SetVector<Operation *> to;
      if (release && behind.contains(groupOf(release)))
        collect(release.getRing(), false, to);
      if (llvm::none_of(to, [&](Operation *other) { return ahead.contains(other); }))
        continue;
      if (shared && shared != release.getRing())
        return why = "slots of several rings that the other products give back are needed", false;
      shared = release.getRing();
      ++given;
    }
    for (Operation *op : first)
      needed += shared && isa<AcquireOp>(op) && cast<AcquireOp>(op).getRing() == shared;
    if (shared && (given != needed || needed == 1))
      return why = "the slot that the other products give back is needed", false;
    return true;
  }

  /// What groups do in one iteration; scalars and views of slots where they are needed first.
  void emit(Operation *op, IRMapping &map) {
    for (Value operand : op->getOperands()) {
      Operation *def = operand.getDefiningOp();
      if (def && def->getBlock() == loop.getBody() && !groups.contains(def) && !map.contains(operand))
        emit(def, map);
    }
    builder.clone(*op, map);
  }

  void emit(ArrayRef<Operation *> ops, Value position) {
    IRMapping map;
    map.map(loop.getInductionVar(), position);
    for (Operation *op : ops)
      emit(op, map);
  }

  /// One turn: the products of the next iteration before the others of this one; where they need the slots that those give back, each
  /// behind the one that does.
  void emitTurn(Value position, Value next) {
    if (!shared) {
      emit(first, next);
      return emit(second, position);
    }
    IRMapping now, then;
    now.map(loop.getInductionVar(), position);
    then.map(loop.getInductionVar(), next);
    size_t place = 0, given = 0, taken = 0;
    auto follow = [&] {
      for (; place < first.size(); ++place) {
        auto acquire = dyn_cast<AcquireOp>(first[place]);
        if (acquire && acquire.getRing() == shared && taken++ == given) {
          --taken;
          return;
        }
        emit(first[place], then);
      }
    };
    for (Operation *op : second) {
      if (isa<AcquireOp>(op) && given > taken)
        follow();
      emit(op, now);
      auto release = dyn_cast<ReleaseOp>(op);
      given += release && release.getRing() == shared;
    }
    follow();
  }

  void rewrite() {
    int64_t least = 0;
    if (auto trips = loop->getAttrOfType<IntegerAttr>(minTripsAttrName))
      least = trips.getInt();
    Value lower = loop.getLowerBound(), upper = loop.getUpperBound(), step = loop.getStep();
    if (least < 1) {
      Value any = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, lower, upper);
      builder.setInsertionPointToStart(scf::IfOp::create(builder, loc, any, false).thenBlock());
    }
    emit(first, lower);
    Value end = arith::SubIOp::create(builder, loc, upper, step);
    auto steady = scf::ForOp::create(builder, loc, lower, end, step);
    steady->setAttrs(loop->getAttrs());
    steady->removeAttr(minTripsAttrName);
    if (least > 1)
      steady->setAttr(minTripsAttrName, builder.getI64IntegerAttr(least - 1));
    {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(steady.getBody());
      Value next = arith::AddIOp::create(builder, loc, steady.getInductionVar(), step);
      emitTurn(steady.getInductionVar(), next);
    }
    // The last iteration begins where the steps of the others end.
    Value last = end;
    APInt size;
    if (!matchPattern(step, m_ConstantInt(&size)) || !size.isOne()) {
      Value one = arith::ConstantOp::create(builder, loc, builder.getIntegerAttr(step.getType(), 1));
      Value most = arith::SubIOp::create(builder, loc, arith::SubIOp::create(builder, loc, upper, lower), one);
      Value steps = arith::DivUIOp::create(builder, loc, most, step);
      last = arith::AddIOp::create(builder, loc, lower, arith::MulIOp::create(builder, loc, steps, step));
    }
    emit(second, last);
    loop->erase();
  }

  mutable scf::ForOp loop;
  OpBuilder builder;
  Location loc;
  llvm::EquivalenceClasses<Operation *> groups; // acquires, products, releases
  SmallVector<Operation *> products;
  llvm::SetVector<Operation *> ahead, behind; // leaders
  SmallVector<Operation *> first, second;     // what they do
  Value shared;                               // ring whose slots `second` gives back and `first` takes
};

} // namespace

bool tileloom::warp::issueAhead(scf::ForOp loop, SlotStages &slots, std::string &why) {
  if (Issuer(loop).run(slots, why))
    return true;
  slots.addInOrder(loop);
  return false;
}
