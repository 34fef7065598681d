//===- RingInputs.cpp - The scalars that decide trip counts -------------------------------===//
//
// A backward walk from every bound, condition and skip count of control flow that contains ring
// operations. What the walk passes is computed when a role is traced; where it stops is a leaf with
// values to try (RingLeaves.cpp). The walk carries the unit of a leaf (the constants that it is divided by), so that
// a loop over (K + 63) / 64 blocks gets the trip counts wanted.
//
//===--------------------------------------------------------------------------------------===//

#include "tileloom/Analysis/RingInputs.h"

#include "dialects/Warp/Warp.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace tileloom;
using namespace tileloom::rings;

static std::optional<int64_t> constantOf(Value value) {
  Operation *op = value.getDefiningOp();
  APInt constant;
  if (op && matchPattern(value, m_ConstantInt(&constant)) && constant.getSignificantBits() <= 32)
    return constant.getSExtValue();
  return std::nullopt;
}

/// The buffer and the element in its slots that an access to a scalar means.
static std::optional<std::pair<Value, int64_t>> elementOf(Value view, Value index) {
  auto slot = view.getDefiningOp<warp::SlotOp>();
  warp::AcquireOp origin = slot ? warp::originOf(slot.getToken()) : warp::AcquireOp();
  auto ring = origin ? origin.getRing().getDefiningOp<warp::RingOp>() : warp::RingOp();
  std::optional<int64_t> at = constantOf(index);
  if (!ring || !at)
    return std::nullopt;
  return std::make_pair(ring.getBuffer(), *at);
}

ArrayRef<Value> Inputs::sentTo(Operation *op) const {
  if (auto load = dyn_cast<nv::ScalarLoadOp>(op))
    if (auto element = elementOf(load.getView(), load.getIndex()))
      if (auto found = sent.find(*element); found != sent.end())
        return found->second;
  return {};
}

/// Adds `how` to the mark of a value; returns whether that changed it.
bool Inputs::merge(Value value, const Mark &how) {
  auto [it, fresh] = marks.try_emplace(value, how);
  Mark &mark = it->second;
  double unit = std::max(1.0, how.unit);
  bool changed = how.tile && (!mark.least || unit < mark.least);
  if (changed)
    mark.least = unit;
  if (fresh)
    return true;
  changed |= how.unit > mark.unit || how.mostTiles > mark.mostTiles || how.tile > mark.tile ||
             how.inner > mark.inner || how.extra > mark.extra;
  mark.unit = std::max(mark.unit, how.unit);
  mark.mostTiles = std::max(mark.mostTiles, how.mostTiles);
  mark.tile |= how.tile;
  mark.inner |= how.inner;
  mark.extra |= how.extra;
  for (int64_t depth : how.depths)
    if (!llvm::is_contained(mark.depths, depth)) {
      mark.depths.push_back(depth);
      changed = true;
    }
  return changed;
}

static Value yielded(Region &region, unsigned index) {
  return region.front().getTerminator()->getOperand(index);
}

void Inputs::mark(Value value, const Mark &how) {
  if (!merge(value, how))
    return;
  if (auto argument = dyn_cast<BlockArgument>(value))
    return markSources(argument, how);
  Operation *op = value.getDefiningOp();
  unsigned index = cast<OpResult>(value).getResultNumber();
  if (fixedValue(op, 0, 0, 1))
    return;
  if (auto branch = dyn_cast<scf::IfOp>(op)) {
    mark(branch.getCondition(), Mark::condition());
    mark(yielded(branch.getThenRegion(), index), how);
    mark(yielded(branch.getElseRegion(), index), how);
  } else if (auto loop = dyn_cast<scf::ForOp>(op)) {
    for (Value bound : {loop.getLowerBound(), loop.getUpperBound(), loop.getStep()})
      mark(bound, Mark());
    mark(loop.getInitArgs()[index], how);
    mark(yielded(loop.getRegion(), index), how);
  } else if (auto loop = dyn_cast<scf::WhileOp>(op)) {
    mark(yielded(loop.getBefore(), 0), Mark());
    mark(yielded(loop.getBefore(), index + 1), how);
  } else if (ScalarOp::of(op)) {
    markOperands(op, how);
  } else {
    for (Value value : sentTo(op))
      mark(value, how);
    for (Value operand : op->getOperands())
      if (operand.getType().isIntOrIndex())
        mark(operand, Mark());
  }
}

/// What the argument of a loop's body is, in the first iteration and in others.
void Inputs::markSources(BlockArgument argument, const Mark &how) {
  Operation *parent = argument.getOwner()->getParentOp();
  unsigned index = argument.getArgNumber();
  if (auto loop = dyn_cast<scf::ForOp>(parent)) {
    if (index == 0) {
      for (Value bound : {loop.getLowerBound(), loop.getUpperBound(), loop.getStep()})
        mark(bound, Mark());
      return;
    }
    mark(loop.getInitArgs()[index - 1], how);
    mark(yielded(loop.getRegion(), index - 1), how);
  } else if (auto loop = dyn_cast<scf::WhileOp>(parent)) {
    if (argument.getOwner()->getParent() == &loop.getBefore()) {
      mark(loop.getInits()[index], how);
      mark(yielded(loop.getAfter(), index), how);
    } else {
      mark(yielded(loop.getBefore(), index + 1), how);
    }
  } else if (auto loop = dyn_cast<warp::ForEachTileOp>(parent)) {
    mark(loop.getM(), Mark());
    mark(loop.getN(), Mark());
  }
}

/// The operands of a scalar operation. One that only shifts or scales what decides is marked as nothing: its own size is not
/// worth varying.
void Inputs::markOperands(Operation *op, const Mark &how) {
  Mark left = how, right = how;
  std::optional<int64_t> constant =
      op->getNumOperands() == 2 ? constantOf(op->getOperand(1)) : std::nullopt;
  bool division = isa<arith::DivUIOp, arith::DivSIOp, arith::CeilDivUIOp, arith::CeilDivSIOp,
                      arith::FloorDivSIOp>(op);
  // Skip counts and stages are divided too, but no trip count comes of the quotient.
  bool counts = how.tile || how.inner || how.extra;
  if (constant && *constant < 0 && isa<arith::MulIOp>(op))
    constant = -*constant;
  if (constant && *constant > 0 && counts) {
    if (division)
      left.unit *= *constant;
    else if (isa<arith::ShRUIOp, arith::ShRSIOp>(op) && *constant < 16)
      left.unit *= int64_t(1) << *constant;
    else if (isa<arith::MulIOp>(op))
      left.unit /= *constant;
    left.unit = std::min<double>(left.unit, 1 << 20);
  } else if (division || isa<arith::MulIOp, arith::RemUIOp, arith::RemSIOp>(op)) {
    right = Mark();
  }
  for (OpOperand &operand : op->getOpOperands())
    mark(operand.get(), operand.getOperandNumber() == 0 ? left : right);
}

/// What is known of a loop or branch from the ring operations in it; no depths if it has none.
Inputs::Mark Inputs::markOf(Operation *op, IsRing isRing, RingDepth ringDepth) {
  Mark how;
  op->walk([&](Operation *inner) {
    if (int64_t depth = isRing(inner) ? ringDepth(inner) : 0)
      if (!llvm::is_contained(how.depths, depth))
        how.depths.push_back(depth);
  });
  // What chooses between tokens decides as much as what makes them.
  for (Value result : op->getResults())
    if (isa<warp::TokenType>(result.getType()))
      if (warp::AcquireOp origin = warp::originOf(result))
        how.depths.push_back(ringDepth(origin));
  // Products count as groups in flight, so how many there are matters too.
  bool products = op->walk([](nv::WgmmaOp) { return WalkResult::interrupt(); }).wasInterrupted();
  if (how.depths.empty() && products)
    how.depths.push_back(1);
  if (auto role = op->getParentOfType<warp::RoleOp>())
    how.mostTiles = std::max<int64_t>(how.mostTiles, role.getReplicas() + 1);
  return how;
}

/// The scalars that decide how often the ring operations in a loop or branch run.
void Inputs::markControl(Operation *op, Mark how, int64_t tripLimit) {
  bool outermost = !op->getParentOfType<scf::ForOp>() && !op->getParentOfType<scf::WhileOp>() &&
                   !op->getParentOfType<warp::ForEachTileOp>();
  bool loopInside = false;
  op->walk([&](Operation *inner) { loopInside |= inner != op && isa<scf::ForOp, scf::WhileOp>(inner); });
  if (auto branch = dyn_cast<scf::IfOp>(op)) {
    mark(branch.getCondition(), Mark::condition());
  } else if (auto loop = dyn_cast<warp::ForEachTileOp>(op)) {
    how.tile = true;
    mark(loop.getM(), how);
    mark(loop.getN(), Mark());
  } else if (auto loop = dyn_cast<scf::ForOp>(op)) {
    bool launch = !constantOf(loop.getLowerBound());
    std::optional<int64_t> step = constantOf(loop.getStep());
    how.tile = outermost && (loopInside || (launch && !step));
    how.inner = !how.tile;
    // Replicas that start at different tiles stride over all of them: odd counts matter.
    if (step && !(launch && how.tile))
      how.unit = std::max<int64_t>(1, *step);
    mark(loop.getUpperBound(), how);
    mark(loop.getLowerBound(), Mark());
    mark(loop.getStep(), Mark());
    std::optional<int64_t> lower = constantOf(loop.getLowerBound()),
                           upper = constantOf(loop.getUpperBound());
    constantTripsExceedLimit |=
        tripLimit && lower && upper && (*upper - *lower) / static_cast<int64_t>(how.unit) >= tripLimit;
  } else {
    auto whileLoop = cast<scf::WhileOp>(op);
    how.tile = outermost && loopInside;
    how.inner = !how.tile;
    Value condition = whileLoop.getBefore().front().getTerminator()->getOperand(0);
    mark(condition, how);
    whileConditions.insert(condition);
  }
}

void Inputs::analyze(Operation *root, IsRing isRing, RingDepth ringDepth, int64_t tripLimit) {
  root->walk([&](nv::ScalarStoreOp store) {
    if (auto element = elementOf(store.getView(), store.getIndex()))
      sent[*element].push_back(store.getValue());
  });
  root->walk([&](Operation *op) {
    if (isRing(op)) { // skip counts, stages and phases
      if (isa<warp::SkipOp, warp::AcquireOp>(op))
        for (Value operand : op->getOperands().drop_front())
          if (!operand.getType().isInteger(1)) // what a peek found changes no place
            mark(operand, Mark());
      return;
    }
    auto select = dyn_cast<arith::SelectOp>(op);
    if (select && isa<warp::TokenType>(select.getType()))
      mark(select.getCondition(), Mark::condition());
    if (!isa<scf::ForOp, scf::IfOp, scf::WhileOp, warp::ForEachTileOp>(op))
      return;
    if (Mark how = markOf(op, isRing, ringDepth); !how.depths.empty())
      markControl(op, how, tripLimit);
  });

  llvm::StringMap<int32_t> functions;
  root->walk([&](Operation *op) {
    for (Value operand : op->getOperands())
      if (relevant(operand) && !leafIndex.contains(operand))
        addLeaf(operand, functions);
  });
  for (auto [value, index] : leafIndex)
    addCandidates(leaves[index], value, tripLimit);
}
