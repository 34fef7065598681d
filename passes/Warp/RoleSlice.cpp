//===- RoleSlice.cpp - What each role needs of a sequential program -----------------------===//

#include "passes/Warp/RoleSlice.h"

#include "dialects/Tile/Tile.h"
#include "passes/Warp/Projection.h"
#include "passes/Warp/ValueRing.h"

using namespace mlir;
using namespace tileloom;

void RoleSlice::need(Operation *op) {
  if (op == function || !ops.insert(op))
    return;
  work.push_back(op);
  need(op->getParentOp());
}

void RoleSlice::need(Value value) {
  if (!values.insert(value))
    return;
  if (auto result = dyn_cast<OpResult>(value)) {
    need(result.getOwner());
    if (auto loop = dyn_cast<scf::ForOp>(result.getOwner()))
      needCarried(loop, result.getResultNumber());
    else if (auto loop = dyn_cast<scf::WhileOp>(result.getOwner()))
      needPassed(loop, result.getResultNumber());
    else if (auto branch = dyn_cast<scf::IfOp>(result.getOwner()))
      for (Region *region : branch.getRegions())
        need(region->front().getTerminator()->getOperand(result.getResultNumber()));
    return;
  }
  auto argument = cast<BlockArgument>(value);
  Operation *owner = argument.getOwner()->getParentOp();
  need(owner);
  unsigned index = argument.getArgNumber();
  if (auto loop = dyn_cast<scf::ForOp>(owner)) {
    if (index > 0)
      needCarried(loop, index - 1);
  } else if (auto loop = dyn_cast<scf::WhileOp>(owner)) {
    if (argument.getOwner() == loop.getBeforeBody()) {
      need(loop.getInits()[index]);
      need(loop.getYieldOp().getOperand(index));
    } else {
      needPassed(loop, index);
    }
  }
}

void RoleSlice::needPassed(scf::WhileOp loop, unsigned index) {
  need(loop.getConditionOp().getArgs()[index]);
  need(Value(loop.getAfterArguments()[index]));
  need(loop.getResult(index));
}

void RoleSlice::needCarried(scf::ForOp loop, unsigned index) {
  need(loop.getInitArgs()[index]);
  need(loop.getYieldedValues()[index]);
  need(Value(loop.getRegionIterArgs()[index]));
  need(loop.getResult(index));
}

LogicalResult RoleSlice::visit(Operation *op, function_ref<StringAttr(Operation *)> owner) {
  StringAttr own = owner(op);
  if (own && own != role) {
    bool scalars = op->getNumResults() > 0 &&
                   llvm::all_of(op->getResultTypes(), [](Type type) { return ValueRing::takes(type); });
    if (!scalars)
      return op->emitOpError("in role '")
             << own.getValue() << "': expected its value to be used by that role only, found it "
             << "needed by role '" << role.getValue() << "'";
    received.insert(op);
    return success();
  }
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    for (Value bound : {loop.getLowerBound(), loop.getUpperBound(), loop.getStep()})
      need(bound);
    return success();
  }
  if (auto loop = dyn_cast<scf::WhileOp>(op)) {
    need(loop.getConditionOp().getCondition());
    return success();
  }
  if (auto branch = dyn_cast<scf::IfOp>(op)) {
    need(branch.getCondition());
    return success();
  }
  if (op->getNumRegions() > 0 && !isa<tile::ForEachTileOp>(op))
    return op->emitOpError("control flow: expected scf.for, scf.while, scf.if or "
                           "tile.for_each_tile, found '")
           << op->getName() << "'";
  for (Value operand : op->getOperands())
    need(operand);
  return success();
}

LogicalResult RoleSlice::follow(function_ref<StringAttr(Operation *)> owner) {
  while (!work.empty())
    if (failed(visit(work.pop_back_val(), owner)))
      return failure();
  return success();
}

FailureOr<RoleSlices> RoleSlices::compute(func::FuncOp function) {
  RoleSlices result;
  StringAttr tiles; // the role that holds tiles in registers
  for (Attribute attribute : function->getAttrOfType<ArrayAttr>(warp::rolesAttrName)) {
    auto name = cast<StringAttr>(attribute);
    result.slices.emplace_back(function, name);
    if (name == mathRole)
      tiles = name;
  }
  auto owner = [&](Operation *op) {
    auto own = op->getAttrOfType<StringAttr>(warp::inAttrName);
    if (own || !tiles || op->getNumRegions())
      return own;
    // A scalar made from tiles (a reduction, a vote).
    bool fromTiles = llvm::any_of(op->getOperandTypes(), llvm::IsaPred<RankedTensorType>) &&
                     llvm::none_of(op->getResultTypes(), llvm::IsaPred<RankedTensorType>);
    return fromTiles ? tiles : StringAttr();
  };
  for (RoleSlice &slice : result.slices)
    function.walk([&](Operation *op) {
      if (op->getAttrOfType<StringAttr>(warp::inAttrName) == slice.role)
        slice.need(op);
    });
  // What a role receives, its owner needs.
  for (bool changed = true; changed;) {
    changed = false;
    for (RoleSlice &slice : result.slices) {
      if (failed(slice.follow(owner)))
        return failure();
      for (Operation *op : slice.received)
        for (RoleSlice &other : result.slices)
          if (other.role == owner(op) && !other.has(op)) {
            changed = true;
            other.need(op);
          }
    }
  }
  function.walk([&](Operation *op) {
    if (llvm::any_of(result.slices, [&](const RoleSlice &slice) { return slice.receives(op); }))
      result.senders[op] = owner(op);
  });
  return result;
}
