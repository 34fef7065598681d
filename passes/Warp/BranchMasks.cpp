//===- BranchMasks.cpp - Masks that seldom cut, under a branch ----------------------------===//
//
// In: what comes before a loop that warp-pipeline-role has made (its first iteration), with selects
// between a tile and a constant by comparisons of positions along one axis with scalars: the end of
// a tensor, which cuts the last of its tiles only, and none where it is a multiple of the tile. Out:
// the comparisons and the select under one scalar comparison, true where the tile is whole.
//
// Masks with a limit for each row stay: an iteration that has one is mostly cut by it.
//
//===--------------------------------------------------------------------------------------===//

#include "passes/Warp/Passes.h"

#include "PositionForms.h"
#include "dialects/Warp/Warp.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Matchers.h"

namespace tileloom::warp {
#define GEN_PASS_DEF_WARPBRANCHMASKS
#include "passes/Warp/Passes.h.inc"
} // namespace tileloom::warp

using namespace mlir;
using namespace tileloom;
using namespace tileloom::warp;
using schedule::LinearForm;

namespace {

/// Whether a loop with products in flight comes later in the block: `op` is of its first iteration.
bool isBeforeLoop(Operation *op) {
  for (Operation *next = op->getNextNode(); next; next = next->getNextNode())
    if (isa<scf::ForOp>(next) && next->hasAttr(overlapAttrName))
      return true;
  return false;
}

/// Whether positions along one axis and scalars are all there is.
bool isAlongOneAxis(const LinearForm &form, std::optional<int64_t> &axis) {
  for (auto [term, coefficient] : form.list()) {
    if (!term.isTile())
      continue;
    auto position = term.position();
    if (!position || (axis && *axis != position->axis))
      return false;
    axis = position->axis;
  }
  return true;
}

/// Forms of scalars that are all not negative where the select lets its tile through; none if it is not one to branch around.
SmallVector<LinearForm> boundsOf(arith::SelectOp select) {
  SmallVector<Conjunct> all;
  SmallVector<LinearForm> bounds;
  std::optional<int64_t> axis;
  if (!isa<RankedTensorType>(select.getType()) || !matchPattern(select.getFalseValue(), m_Constant()) ||
      !conjuncts(select.getCondition(), all))
    return {};
  for (const Conjunct &part : all) {
    std::optional<LinearForm> least = schedule::leastOverElements(part.form);
    if (!isAlongOneAxis(part.form, axis) || !least)
      return {};
    bounds.push_back(*least);
  }
  return axis ? bounds : SmallVector<LinearForm>();
}

void branch(arith::SelectOp select, ArrayRef<LinearForm> bounds) {
  OpBuilder builder(select);
  Location loc = select.getLoc();
  Value cuts, zero = constant(builder, loc, 0);
  for (const LinearForm &bound : bounds) {
    Value below = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, materialise(builder, loc, bound), zero);
    cuts = cuts ? arith::OrIOp::create(builder, loc, cuts, below).getResult() : below;
  }
  auto choice = scf::IfOp::create(builder, loc, select->getResultTypes(), cuts, /*withElseRegion=*/true);
  select.getResult().replaceAllUsesWith(choice.getResult(0));
  OpBuilder whole = choice.getElseBodyBuilder();
  scf::YieldOp::create(whole, loc, select.getTrueValue());
  // What only the select needs goes along: as values before the branch, the comparisons would be made in any case.
  SmallVector<Operation *> moved{select};
  Block *cut = choice.thenBlock();
  for (size_t i = 0; i < moved.size(); ++i) {
    moved[i]->moveBefore(cut, cut->begin());
    for (Value operand : moved[i]->getOperands()) {
      Operation *def = operand.getDefiningOp();
      if (def && def != select.getTrueValue().getDefiningOp() && def->getBlock() == choice->getBlock() && isPure(def) &&
          isa<RankedTensorType>(operand.getType()) && def->hasOneUse())
        moved.push_back(def);
    }
  }
  OpBuilder end = OpBuilder::atBlockEnd(cut);
  scf::YieldOp::create(end, loc, select.getResult());
}

struct BranchMasks : tileloom::warp::impl::WarpBranchMasksBase<BranchMasks> {
  void runOnOperation() override {
    SmallVector<std::pair<arith::SelectOp, SmallVector<LinearForm>>> masks;
    getOperation()->walk([&](arith::SelectOp select) {
      if (!select->getParentOfType<RoleOp>() || !isBeforeLoop(select))
        return;
      SmallVector<LinearForm> bounds = boundsOf(select);
      if (!bounds.empty())
        masks.push_back({select, bounds});
    });
    for (auto &[select, bounds] : masks)
      branch(select, bounds);
  }
};

} // namespace
