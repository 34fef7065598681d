//===- LayoutNeeds.cpp - Layouts that operations need -------------------------------------===//
//
// Needs are read off the results' layouts: an element-wise operation works in its result's, a
// broadcast on a slice of it, a product on its fragments.
//
//===--------------------------------------------------------------------------------------===//

#include "passes/NV/LayoutNeeds.h"

#include "dialects/User/User.h"
#include "passes/NV/LayoutFlow.h"
#include "tileloom/Analysis/TileLayouts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Iterators.h"

using namespace mlir;
using namespace tileloom;
using namespace tileloom::nv;

nv::WgmmaAAttr tileloom::nv::fragmentsOfA(nv::WgmmaOp wgmma, int64_t warps) {
  auto shared = dyn_cast_or_null<nv::SmemAttr>(wgmma.getB().getType().getLayout());
  return nv::WgmmaAAttr::get(wgmma.getContext(), warps, shared && shared.getPaired());
}

Attribute tileloom::nv::neededLayout(OpOperand &use) {
  Operation *user = use.getOwner();
  unsigned index = use.getOperandNumber();
  MLIRContext *context = user->getContext();
  if (auto yield = dyn_cast<scf::YieldOp>(user)) {
    if (auto loop = dyn_cast<scf::WhileOp>(yield->getParentOp()))
      return layoutOf(loop.getBeforeArguments()[index]);
    return layoutOf(yield->getParentOp()->getResult(index));
  }
  if (auto condition = dyn_cast<scf::ConditionOp>(user))
    return layoutOf(cast<scf::WhileOp>(condition->getParentOp()).getAfterArguments()[index - 1]);
  if (auto loop = dyn_cast<scf::ForOp>(user))
    return layoutOf(loop.getRegionIterArg(index - 3));
  if (auto loop = dyn_cast<scf::WhileOp>(user))
    return layoutOf(loop.getBeforeArguments()[index]);
  if (auto wgmma = dyn_cast<nv::WgmmaOp>(user)) {
    if (use.get() == wgmma.getC() && index != 0)
      return layoutOf(wgmma.getResult());
    auto acc = cast<nv::WgmmaAccAttr>(layoutOf(wgmma.getResult()));
    return fragmentsOfA(wgmma, acc.getWarps());
  }
  if (auto wait = dyn_cast<nv::WgmmaWaitOp>(user))
    return index < wait.getInputs().size() ? layoutOf(wait.getResult(index)) : Attribute();
  if (isa<warp::HoldOp>(user))
    return layoutOf(user->getResult(index - 1));
  if (isa<nv::KeepOp>(user))
    return layoutOf(user->getResult(index));
  if (auto broadcast = dyn_cast<nv::BroadcastOp>(user))
    return nv::SliceAttr::get(context, broadcast.getDim(), layoutOf(broadcast.getResult()));
  if (auto join = dyn_cast<nv::JoinRowSlotsOp>(user))
    return nv::RowSlotAttr::get(context, index, join.getInputs().size(),
                                layoutOf(join.getResult()));
  if (isa<nv::ExtractOp, nv::ConcatOp, nv::FoldOp>(user) ||
      OpTrait::hasElementwiseMappableTraits(user)) {
    if (user->getNumResults() && isTile(user->getResult(0)))
      return layoutOf(user->getResult(0));
  }
  if (auto store = dyn_cast<nv::TmemStoreOp>(user))
    return tensorMemoryRegisters(store.getView().getType(),
                                 user->getParentOfType<warp::RoleOp>().getWarps());
  if (isa<nv::GlobalLoadOp, nv::GlobalAtomicOp, nv::ScanOp>(user))
    return layoutOf(user->getResult(0));
  if (auto take = dyn_cast<nv::TakeOp>(user))
    return index == 1 ? layoutOf(take.getResult()) : Attribute();
  if (auto store = dyn_cast<nv::GlobalStoreOp>(user))
    return layoutOf(store.getValue());
  if (auto reduce = dyn_cast<nv::GlobalReduceOp>(user))
    return layoutOf(reduce.getValue());
  if (auto copy = dyn_cast<nv::CpAsyncOp>(user))
    return layoutOf(copy.getOffset());
  if (auto print = dyn_cast<user::PrintOp>(user)) // that of the last one: places are made again
    for (Value value : llvm::reverse(print.getValues()))
      if (isTile(value))
        return layoutOf(value);
  if (auto mma = dyn_cast<nv::MmaOp>(user)) {
    auto acc = cast<nv::MmaAccAttr>(layoutOf(mma.getResult()));
    if (index == 2)
      return acc;
    return index == 0 ? Attribute(nv::MmaAAttr::get(context, acc.getRows(), acc.getColumns()))
                      : Attribute(nv::MmaBAttr::get(context, acc.getRows(), acc.getColumns()));
  }
  return {};
}

Attribute tileloom::nv::transposedLayout(Attribute layout, ArrayRef<int64_t> order, bool inverse) {
  if (order == ArrayRef<int64_t>{1, 0}) {
    if (auto transposed = dyn_cast_or_null<nv::TransposedAttr>(layout))
      return transposed.getParent();
    if (isa_and_nonnull<nv::WgmmaAccAttr>(layout)) // sums: stmatrix writes 16 bits of them transposed, too
      return nv::TransposedAttr::get(layout.getContext(), layout);
  }
  auto blocked = dyn_cast_or_null<nv::BlockedAttr>(layout);
  if (!blocked)
    return {};
  // New dimension i is old dimension from[i].
  SmallVector<int64_t> from(order), to(order.size());
  for (auto [i, dim] : llvm::enumerate(order))
    to[dim] = i;
  if (inverse)
    std::swap(from, to);
  auto permuted = [&](ArrayRef<int64_t> values) {
    SmallVector<int64_t> result;
    for (int64_t dim : from)
      result.push_back(values[dim]);
    return result;
  };
  SmallVector<int64_t> fastest;
  for (int64_t dim : blocked.getOrder())
    fastest.push_back(to[dim]);
  return nv::BlockedAttr::get(layout.getContext(), permuted(blocked.getSizePerThread()),
                              permuted(blocked.getThreadsPerWarp()),
                              permuted(blocked.getWarpsPerRole()), fastest);
}

/// The layout that an operation gives its result, where that follows from its operand's.
static Attribute derivedLayout(Operation *op) {
  auto operandLayout = [&] { return layoutOf(op->getOperand(0)); };
  if (auto reduce = dyn_cast<nv::ReduceOp>(op); reduce && isTile(reduce.getResult()))
    return nv::SliceAttr::get(op->getContext(), reduce.getDim(), operandLayout());
  if (auto sum = dyn_cast<nv::SumPartialsOp>(op)) // as it was stored
    return layoutOf(sum.getLike());
  if (auto slot = dyn_cast<nv::RowSlotOp>(op))
    return nv::RowSlotAttr::get(op->getContext(), slot.getSlot(), slot.getCount(), operandLayout());
  return {};
}

/// `result` in `layout`, and converted to what it had for all its uses.
static void deriveResult(Value result, Attribute layout) {
  auto wanted = cast<RankedTensorType>(result.getType());
  OpBuilder builder(result.getContext());
  builder.setInsertionPointAfterValue(result);
  result.setType(withLayout(wanted, layout));
  auto converted = nv::ConvertLayoutOp::create(builder, result.getLoc(), wanted, result);
  result.replaceAllUsesExcept(converted, converted);
}

/// Results that their uses want in another layout (or in another name of the same one).
static void convertDerivedResults(warp::RoleOp role) {
  SmallVector<Operation *> ops;
  // Several results of one assembly are in one layout.
  role.walk([&](user::AsmOp op) {
    for (Value result : op.getResults())
      if (isTile(result) && layoutOf(result) != layoutOf(op.getResult(0)))
        deriveResult(result, layoutOf(op.getResult(0)));
  });
  role.walk([&](Operation *op) {
    if (Attribute layout = derivedLayout(op); layout && layout != layoutOf(op->getResult(0)))
      ops.push_back(op);
  });
  for (Operation *op : ops)
    deriveResult(op->getResult(0), derivedLayout(op));
}

namespace {

/// Values in layouts that they do not have, each made once.
class Remaker {
public:
  /// `value` in `layout`, for `user`.
  Value get(Value value, Attribute layout, Operation *user) {
    if (layoutOf(value) == layout)
      return value;
    int64_t budget = 24;
    if (isCheap(value, budget))
      return remake(value, layout);
    OpBuilder builder(user);
    return nv::ConvertLayoutOp::create(builder, user->getLoc(), withLayout(value.getType(), layout),
                                       value);
  }

private:
  /// At most `budget` operations, all on integers, make it from leaves.
  static bool isCheap(Value value, int64_t &budget) {
    Operation *op = value.getDefiningOp();
    if (isLeaf(op))
      return true;
    if (!op || --budget < 0)
      return false;
    bool integers = isa<IntegerType>(cast<RankedTensorType>(value.getType()).getElementType()) &&
                    OpTrait::hasElementwiseMappableTraits(op) && isPure(op);
    if (!integers && !isa<nv::BroadcastOp>(op))
      return false;
    return llvm::all_of(op->getOperands(), [&](Value operand) {
      return !isTile(operand) || isCheap(operand, budget);
    });
  }

  Value remake(Value value, Attribute layout) {
    if (layoutOf(value) == layout)
      return value;
    Value &made = known[{value, layout}];
    if (made)
      return made;
    Operation *op = value.getDefiningOp();
    SmallVector<Value> operands;
    for (Value operand : op->getOperands()) {
      Attribute need = layout;
      if (auto broadcast = dyn_cast<nv::BroadcastOp>(op))
        need = nv::SliceAttr::get(op->getContext(), broadcast.getDim(), layout);
      operands.push_back(isTile(operand) ? remake(operand, need) : operand);
    }
    OpBuilder builder(op);
    builder.setInsertionPointAfter(op);
    Operation *copy = builder.clone(*op);
    copy->setOperands(operands);
    RankedTensorType type = withLayout(value.getType(), layout);
    copy->getResult(0).setType(type);
    if (auto constant = dyn_cast<arith::ConstantOp>(copy))
      constant.setValueAttr(cast<DenseElementsAttr>(constant.getValue()).reshape(type));
    return known[{value, layout}] = copy->getResult(0);
  }

  llvm::DenseMap<std::pair<Value, Attribute>, Value> known;
};

} // namespace

void tileloom::nv::meetNeeds(warp::RoleOp role) {
  convertDerivedResults(role);
  SmallVector<OpOperand *> mismatched;
  role.walk([&](Operation *op) {
    for (OpOperand &operand : op->getOpOperands())
      if (isTile(operand.get())) {
        Attribute need = neededLayout(operand);
        if (need && need != layoutOf(operand.get()))
          mismatched.push_back(&operand);
      }
  });
  Remaker remaker;
  for (OpOperand *operand : mismatched)
    operand->set(remaker.get(operand->get(), neededLayout(*operand), operand->getOwner()));
  // What the copies have replaced.
  role.walk<WalkOrder::PostOrder, ReverseIterator>([](Operation *op) {
    if (isOpTriviallyDead(op) && op->getNumResults() && isTile(op->getResult(0)))
      op->erase();
  });
}
