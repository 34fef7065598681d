//===- LayoutFlow.cpp - How layouts spread through a role ---------------------------------===//
//
// One function for each direction: to the same value elsewhere in control flow, to users, through
// an operation.
//
//===--------------------------------------------------------------------------------------===//

#include "passes/NV/LayoutFlow.h"

#include "dialects/User/User.h"
#include "passes/NV/LayoutNeeds.h"
#include "tileloom/Analysis/Exchange.h"
#include "tileloom/Analysis/TileLayouts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/UB/IR/UBOps.h"

using namespace mlir;
using namespace tileloom;
using namespace tileloom::nv;

bool tileloom::nv::isLeaf(Operation *op) {
  return op && isa<arith::ConstantOp, nv::SplatOp, nv::IndexOp, ub::PoisonOp>(op);
}

/// Operand A of a product has its own fragments where it is read from shared memory. What is
/// computed for it has the accumulator's instead: the same rows, one order of registers at every
/// width, and a conversion without an exchange just before the product. Of 8 bits, four neighbours of
/// the fragments share a register, but two of an accumulator: loops carry the fragments, and paired
/// ones, which are the accumulator's in another order, are converted from wider elements.
static Attribute sourceOfOperand(Value value, Attribute layout) {
  auto accumulator = [&](nv::WgmmaAAttr a) {
    return nv::WgmmaAccAttr::get(layout.getContext(), a.getWarps());
  };
  if (auto slice = dyn_cast_or_null<nv::SliceAttr>(layout))
    if (auto a = dyn_cast<nv::WgmmaAAttr>(slice.getParent()))
      return nv::SliceAttr::get(layout.getContext(), slice.getDim(), accumulator(a));
  auto a = dyn_cast_or_null<nv::WgmmaAAttr>(layout);
  if (!a)
    return layout;
  bool bytes = tile::elementBits(cast<RankedTensorType>(value.getType()).getElementType()) == 8;
  bool carried = isa<BlockArgument>(value) || value.getDefiningOp<scf::ForOp>();
  bool kept = value.getDefiningOp<nv::LocalLoadOp>() || (bytes && (carried || a.getPaired()));
  return kept ? layout : Attribute(accumulator(a));
}

/// Fragments of mma.sync operands are in another order at every width of elements, so that what converts, compares or chooses
/// cannot work on them: it works in another layout, and its result is converted.
static bool isOfOtherWidth(Value value, Attribute layout) {
  while (auto slice = dyn_cast_or_null<nv::SliceAttr>(layout))
    layout = slice.getParent();
  Operation *def = value.getDefiningOp();
  if (!isa_and_nonnull<nv::MmaAAttr, nv::MmaBAttr>(layout) || !def || !OpTrait::hasElementwiseMappableTraits(def))
    return false;
  auto bits = [](Value tile) { return tile::elementBits(cast<RankedTensorType>(tile.getType()).getElementType()); };
  return llvm::any_of(def->getOperands(), [&](Value operand) { return isTile(operand) && bits(operand) != bits(value); });
}

void LayoutFlow::assign(Value value, Attribute layout) {
  layout = sourceOfOperand(value, layout);
  if (auto scan = value.getDefiningOp<nv::ScanOp>(); scan && layout != scanLayout(scan.getSource().getType(), scan.getDim(), warps))
    return;
  if (layout && isTile(value) && !isOfOtherWidth(value, layout) && layouts.insert({value, layout}).second)
    worklist.push_back(value);
}

/// Whether a tile can have `layout`: the one that a line of it was cut from may be for other extents.
static bool fits(Value value, Attribute layout) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type)
    return true;
  auto found = registerLayout(cast<RankedTensorType>(withLayout(type, layout)));
  if (found)
    return true;
  llvm::consumeError(found.takeError());
  return false;
}

/// Values that are one value at different points of control flow.
void LayoutFlow::assignAliases(Value value, Attribute layout) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    Operation *parent = argument.getOwner()->getParentOp();
    if (auto loop = dyn_cast<scf::ForOp>(parent)) {
      unsigned index = argument.getArgNumber() - 1;
      assign(loop.getInitArgs()[index], layout);
      assign(loop.getYieldedValues()[index], layout);
      assign(loop.getResult(index), layout);
    } else if (auto loop = dyn_cast<scf::WhileOp>(parent)) {
      unsigned index = argument.getArgNumber();
      if (argument.getOwner()->getParent() == &loop.getBefore()) {
        assign(loop.getInits()[index], layout);
        assign(loop.getYieldOp().getOperand(index), layout);
      } else {
        assign(loop.getConditionOp().getArgs()[index], layout);
        assign(loop.getResult(index), layout);
      }
    }
    return;
  }
  Operation *def = value.getDefiningOp();
  unsigned index = cast<OpResult>(value).getResultNumber();
  if (auto loop = dyn_cast<scf::ForOp>(def)) {
    assign(loop.getRegionIterArg(index), layout);
    assign(loop.getYieldedValues()[index], layout);
    assign(loop.getInitArgs()[index], layout);
  } else if (auto branch = dyn_cast<scf::IfOp>(def)) {
    assign(branch.thenYield().getOperand(index), layout);
    assign(branch.elseYield().getOperand(index), layout);
  } else if (auto loop = dyn_cast<scf::WhileOp>(def)) {
    assign(loop.getConditionOp().getArgs()[index], layout);
    assign(loop.getAfterArguments()[index], layout);
  }
}

void LayoutFlow::propagateToUser(OpOperand &use, Attribute layout) {
  Operation *user = use.getOwner();
  if (auto yield = dyn_cast<scf::YieldOp>(user)) {
    Operation *parent = yield->getParentOp();
    if (auto loop = dyn_cast<scf::WhileOp>(parent))
      return assign(loop.getBeforeArguments()[use.getOperandNumber()], layout);
    assign(parent->getResult(use.getOperandNumber()), layout);
    return;
  }
  if (auto condition = dyn_cast<scf::ConditionOp>(user)) {
    auto loop = cast<scf::WhileOp>(condition->getParentOp());
    return assign(loop.getAfterArguments()[use.getOperandNumber() - 1], layout);
  }
  if (auto loop = dyn_cast<scf::ForOp>(user))
    return assign(loop.getRegionIterArg(use.getOperandNumber() - 3), layout);
  if (auto loop = dyn_cast<scf::WhileOp>(user))
    return assign(loop.getBeforeArguments()[use.getOperandNumber()], layout);
  if (auto wait = dyn_cast<nv::WgmmaWaitOp>(user)) {
    if (use.getOperandNumber() < wait.getInputs().size())
      assign(wait.getResult(use.getOperandNumber()), layout);
    return;
  }
  if (auto hold = dyn_cast<warp::HoldOp>(user))
    return assign(hold.getResult(use.getOperandNumber() - 1), layout);
  if (isa<nv::KeepOp>(user))
    return assign(user->getResult(use.getOperandNumber()), layout);
  propagateThrough(user, layout, use.getOperandNumber(), /*forward=*/true);
}

/// Layouts that follow for the results (forward, from operand `index`) or operands (backward, from
/// the result).
void LayoutFlow::propagateThrough(Operation *op, Attribute layout, unsigned index, bool forward) {
  auto to = [&](Attribute other) {
    for (Value value : forward ? ValueRange(op->getResults()) : ValueRange(op->getOperands()))
      assign(value, other);
  };
  if (OpTrait::hasElementwiseMappableTraits(op) ||
      isa<nv::ExtractOp, nv::ConcatOp, nv::FoldOp, nv::SumPartialsOp>(op)) {
    to(layout);
    // Operands of one element-wise operation agree.
    if (forward && OpTrait::hasElementwiseMappableTraits(op))
      for (Value operand : op->getOperands())
        assign(operand, layout);
    return;
  }
  if (auto reduce = dyn_cast<nv::ReduceOp>(op)) {
    if (forward)
      to(nv::SliceAttr::get(op->getContext(), reduce.getDim(), layout));
    else if (auto slice = dyn_cast<nv::SliceAttr>(layout);
             slice && slice.getDim() == static_cast<int64_t>(reduce.getDim()) &&
             fits(reduce.getSource(), slice.getParent()))
      to(slice.getParent());
    return;
  }
  if (auto broadcast = dyn_cast<nv::BroadcastOp>(op)) {
    if (!forward)
      to(nv::SliceAttr::get(op->getContext(), broadcast.getDim(), layout));
    else if (auto slice = dyn_cast<nv::SliceAttr>(layout);
             slice && slice.getDim() == static_cast<int64_t>(broadcast.getDim()) &&
             fits(broadcast.getResult(), slice.getParent()))
      to(slice.getParent());
    return;
  }
  if (auto slot = dyn_cast<nv::RowSlotOp>(op)) {
    if (forward)
      to(nv::RowSlotAttr::get(op->getContext(), slot.getSlot(), slot.getCount(), layout));
    else if (auto attr = dyn_cast<nv::RowSlotAttr>(layout))
      to(attr.getParent());
    else if (auto slice = dyn_cast<nv::SliceAttr>(layout)) // of each row
      if (auto attr = dyn_cast<nv::RowSlotAttr>(slice.getParent()))
        to(nv::SliceAttr::get(op->getContext(), slice.getDim(), attr.getParent()));
    return;
  }
  if (auto join = dyn_cast<nv::JoinRowSlotsOp>(op)) {
    if (!forward) {
      for (auto [i, input] : llvm::enumerate(join.getInputs()))
        assign(input, nv::RowSlotAttr::get(op->getContext(), i, join.getInputs().size(), layout));
    } else if (auto attr = dyn_cast<nv::RowSlotAttr>(layout)) {
      assign(join.getResult(), attr.getParent());
    } else if (auto slice = dyn_cast<nv::SliceAttr>(layout)) { // reduced within a slot
      if (auto attr = dyn_cast<nv::RowSlotAttr>(slice.getParent()))
        assign(join.getResult(),
               nv::SliceAttr::get(op->getContext(), slice.getDim(), attr.getParent()));
    }
    return;
  }
  if (isa<nv::GlobalLoadOp, nv::GlobalStoreOp, nv::GlobalReduceOp, nv::GlobalAtomicOp,
          nv::CpAsyncOp, user::PrintOp>(op)) {
    to(layout);
    for (Value operand : op->getOperands())
      assign(operand, layout);
  }
  // A scan works in its own layout only.
  if (isa<nv::ScanOp>(op) && !forward)
    assign(op->getOperand(0), layout);
  if (auto mma = dyn_cast<nv::MmaOp>(op)) {
    if (!forward)
      assign(mma.getC(), layout);
    else if (index == 2)
      assign(mma.getResult(), layout);
  }
  // What is taken lies as the indices do; the source is read from memory.
  if (auto take = dyn_cast<nv::TakeOp>(op)) {
    if (!forward)
      assign(take.getIndices(), layout);
    else if (index == 1)
      assign(take.getResult(), layout);
  }
  if (auto trans = dyn_cast<nv::TransOp>(op))
    to(transposedLayout(layout, trans.getOrder(), !forward));
  if (auto wgmma = dyn_cast<nv::WgmmaOp>(op); wgmma && !forward && wgmma.getC())
    assign(wgmma.getC(), layout);
  if (auto wait = dyn_cast<nv::WgmmaWaitOp>(op); wait && !forward)
    assign(wait.getInputs()[index], layout);
  if (auto hold = dyn_cast<warp::HoldOp>(op); hold && !forward)
    assign(hold.getValues()[index], layout);
  if (auto keep = dyn_cast<nv::KeepOp>(op); keep && !forward)
    assign(keep.getValues()[index], layout);
}

void LayoutFlow::run() {
  while (!worklist.empty()) {
    Value value = worklist.pop_back_val();
    Attribute layout = layouts[value];
    assignAliases(value, layout);
    Operation *def = value.getDefiningOp();
    if (!isLeaf(def) || fromLeaves)
      for (OpOperand &use : value.getUses())
        propagateToUser(use, layout);
    if (def && def->getNumRegions() == 0)
      propagateThrough(def, layout, cast<OpResult>(value).getResultNumber(), /*forward=*/false);
  }
}

void LayoutFlow::apply() {
  for (auto &[value, layout] : layouts) {
    value.setType(withLayout(value.getType(), layout));
    if (auto constant = value.getDefiningOp<arith::ConstantOp>())
      if (auto dense = dyn_cast<DenseElementsAttr>(constant.getValue()))
        constant.setValueAttr(dense.reshape(cast<ShapedType>(value.getType())));
  }
}

Attribute LayoutFlow::fallback(RankedTensorType type, ArrayRef<int64_t> pieces) const {
  MLIRContext *context = type.getContext();
  size_t rank = type.getRank();
  SmallVector<int64_t> size(rank, 1), threads(rank, 1), perRole(rank, 1), order;
  for (size_t i = rank; i-- > 0;)
    order.push_back(i);
  // Consecutive elements of the last dimension in one thread, up to 16 bytes; then lanes, then
  // warps, along it and outwards.
  int64_t bits = tile::elementBits(type.getElementType());
  int64_t vector = std::max<int64_t>(1, 128 / std::max<int64_t>(8, bits)), lanes = 32,
          warpsLeft = warps;
  for (size_t i = rank; i-- > 0;) {
    int64_t extent = pieces[i];
    while (i == rank - 1 && size[i] * 2 <= vector && extent % (size[i] * 2) == 0 &&
           type.getNumElements() >= size[i] * 2 * 32 * warps)
      size[i] *= 2;
    while (lanes > 1 && extent % (size[i] * threads[i] * 2) == 0)
      threads[i] *= 2, lanes /= 2;
    while (warpsLeft > 1 && extent % (size[i] * threads[i] * perRole[i] * 2) == 0)
      perRole[i] *= 2, warpsLeft /= 2;
  }
  threads[0] *= lanes;
  perRole[0] *= warpsLeft;
  return nv::BlockedAttr::get(context, size, threads, perRole, order);
}
