//===- AssignLayouts.cpp - Layouts of register and shared memory tiles --------------------===//
//
// In: tensors without encodings, memdescs without layouts. Out: every tensor has a layout attribute
// as its encoding, every memdesc in shared memory a `#nv.smem`; `nv.convert_layout` where a value
// is needed in two layouts.
//
// Layouts flow from anchors (operations whose hardware fixes them) through element-wise code,
// slices, reductions and the values that loops and branches carry, forwards and backwards, first
// come first served; what is left takes a blocked layout. Values that cost nothing to make again
// (constants, splats, indices, poison) are made again in the other layout instead of converted.
//
//===--------------------------------------------------------------------------------------===//

#include "passes/NV/Passes.h"

#include "dialects/Warp/Warp.h"
#include "tileloom/Analysis/TileLayouts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/MapVector.h"

namespace tileloom::nv {
#define GEN_PASS_DEF_NVASSIGNLAYOUTS
#include "passes/NV/Passes.h.inc"
} // namespace tileloom::nv

using namespace mlir;
using namespace tileloom;

namespace {

bool isTile(Value value) { return isa<RankedTensorType>(value.getType()); }

RankedTensorType withLayout(Type type, Attribute layout) {
  auto tensor = cast<RankedTensorType>(type);
  return RankedTensorType::get(tensor.getShape(), tensor.getElementType(), layout);
}

/// Cheap to make again in another layout.
bool isRematerialisable(Operation *op) {
  return op && (isa<arith::ConstantOp, nv::SplatOp, nv::IndexOp, ub::PoisonOp>(op));
}

//===--------------------------------------------------------------------------------------===//
// Shared memory
//===--------------------------------------------------------------------------------------===//

/// Rows of the tile to which TMA, the tensor core and stmatrix apply their swizzles have two
/// dimensions; others are plain.
nv::SmemAttr chooseSmem(nv::MemDescType type) {
  SmallVector<int64_t> shape = squeezeShape(type.getShape());
  unsigned bits = tile::elementBits(type.getElementType());
  int64_t swizzle = 0;
  if (bits == 4 && shape.back() % 2 == 0) { // two elements in a byte
    bits = 8;
    shape.back() /= 2;
  }
  if (shape.size() >= 2 && bits >= 8)
    swizzle = layout::swizzleWidth(layout::SharedLayout::widestSwizzle(shape, bits));
  return nv::SmemAttr::get(type.getContext(), swizzle, /*transposed=*/false, /*rows=*/0);
}

/// Layout of the result of a view operation.
Attribute viewLayout(Operation *op, nv::MemDescType source, nv::MemDescType result) {
  auto smem = cast<nv::SmemAttr>(source.getLayout());
  if (isa<nv::MemDescTransOp>(op))
    return nv::SmemAttr::get(op->getContext(), smem.getSwizzle(), !smem.getTransposed(),
                             smem.getRows());
  // A slice keeps the row count of its allocation: columns of atoms are that far apart.
  SmallVector<int64_t> whole = squeezeShape(source.getShape()),
                       part = squeezeShape(result.getShape());
  int64_t rows = smem.getRows();
  if (!rows && whole.size() >= 2) {
    size_t rowDim = smem.getTransposed() ? whole.size() - 1 : whole.size() - 2;
    rows = whole[rowDim];
  }
  return nv::SmemAttr::get(op->getContext(), smem.getSwizzle(), smem.getTransposed(), rows);
}

void assignShared(Operation *root) {
  root->walk([](Operation *op) {
    if (auto slot = dyn_cast<warp::SlotOp>(op)) {
      for (Value view : slot.getViews()) {
        auto type = cast<nv::MemDescType>(view.getType());
        if (type.getSpace() == nv::MemorySpace::Smem && !type.getLayout())
          view.setType(type.withLayout(chooseSmem(type)));
      }
    } else if (isa<nv::MemDescSliceOp, nv::MemDescTransOp>(op)) {
      auto source = cast<nv::MemDescType>(op->getOperand(0).getType());
      auto result = cast<nv::MemDescType>(op->getResult(0).getType());
      if (source.getLayout() && source.getSpace() == nv::MemorySpace::Smem)
        op->getResult(0).setType(result.withLayout(viewLayout(op, source, result)));
    }
  });
}

//===--------------------------------------------------------------------------------------===//
// Registers
//===--------------------------------------------------------------------------------------===//

struct Assigner {
  llvm::MapVector<Value, Attribute> layouts;
  SmallVector<Value> worklist;
  int64_t warps;

  void assign(Value value, Attribute layout) {
    if (layout && isTile(value) && layouts.insert({value, layout}).second)
      worklist.push_back(value);
  }

  /// Values that are one value at different points of control flow.
  void assignAliases(Value value, Attribute layout) {
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

  void propagateToUser(OpOperand &use, Attribute layout) {
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
    forEachRequired(user, layout, use.getOperandNumber(), /*forward=*/true);
  }

  /// Layouts that follow for the results (forward, from operand `index`) or operands (backward,
  /// from the result).
  void forEachRequired(Operation *op, Attribute layout, unsigned index, bool forward) {
    auto to = [&](Attribute other) {
      for (Value value : forward ? ValueRange(op->getResults()) : ValueRange(op->getOperands()))
        assign(value, other);
    };
    if (OpTrait::hasElementwiseMappableTraits(op) ||
        isa<nv::ExtractOp, nv::ConcatOp, nv::FoldOp>(op)) {
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
               slice && slice.getDim() == static_cast<int64_t>(reduce.getDim()))
        to(slice.getParent());
      return;
    }
    if (auto broadcast = dyn_cast<nv::BroadcastOp>(op)) {
      if (!forward)
        to(nv::SliceAttr::get(op->getContext(), broadcast.getDim(), layout));
      else if (auto slice = dyn_cast<nv::SliceAttr>(layout);
               slice && slice.getDim() == static_cast<int64_t>(broadcast.getDim()))
        to(slice.getParent());
      return;
    }
    if (auto slot = dyn_cast<nv::RowSlotOp>(op)) {
      if (forward)
        to(nv::RowSlotAttr::get(op->getContext(), slot.getSlot(), slot.getCount(), layout));
      else if (auto attr = dyn_cast<nv::RowSlotAttr>(layout))
        to(attr.getParent());
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
          assign(join.getResult(), nv::SliceAttr::get(op->getContext(), slice.getDim(),
                                                      attr.getParent()));
      }
      return;
    }
    if (isa<nv::GlobalLoadOp, nv::GlobalStoreOp>(op)) {
      to(layout);
      for (Value operand : op->getOperands())
        assign(operand, layout);
    }
    if (auto wgmma = dyn_cast<nv::WgmmaOp>(op); wgmma && !forward && wgmma.getC())
      assign(wgmma.getC(), layout);
    if (auto wait = dyn_cast<nv::WgmmaWaitOp>(op); wait && !forward)
      assign(wait.getInputs()[index], layout);
    if (auto hold = dyn_cast<warp::HoldOp>(op); hold && !forward)
      assign(hold.getValues()[index], layout);
    if (auto keep = dyn_cast<nv::KeepOp>(op); keep && !forward)
      assign(keep.getValues()[index], layout);
  }

  void run() {
    while (!worklist.empty()) {
      Value value = worklist.pop_back_val();
      Attribute layout = layouts[value];
      assignAliases(value, layout);
      for (OpOperand &use : value.getUses())
        propagateToUser(use, layout);
      if (Operation *def = value.getDefiningOp(); def && def->getNumRegions() == 0)
        forEachRequired(def, layout, cast<OpResult>(value).getResultNumber(), /*forward=*/false);
    }
  }

  Attribute fallback(RankedTensorType type) {
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
      int64_t extent = type.getDimSize(i);
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
};

/// The layout that `use` needs its operand in, given the layouts of everything else; none if any
/// will do.
Attribute required(OpOperand &use) {
  Operation *user = use.getOwner();
  auto layoutOf = [](Value value) { return cast<RankedTensorType>(value.getType()).getEncoding(); };
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
    return nv::WgmmaAAttr::get(context, acc.getWarps());
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
  if (isa<nv::GlobalLoadOp>(user))
    return layoutOf(user->getResult(0));
  if (auto store = dyn_cast<nv::GlobalStoreOp>(user))
    return layoutOf(store.getValue());
  return {};
}

/// The layout that an operation gives its result, where that follows from its operand's.
Attribute derived(Operation *op) {
  auto operandLayout = [&] {
    return cast<RankedTensorType>(op->getOperand(0).getType()).getEncoding();
  };
  if (auto reduce = dyn_cast<nv::ReduceOp>(op))
    return nv::SliceAttr::get(op->getContext(), reduce.getDim(), operandLayout());
  if (auto slot = dyn_cast<nv::RowSlotOp>(op))
    return nv::RowSlotAttr::get(op->getContext(), slot.getSlot(), slot.getCount(), operandLayout());
  return {};
}

/// Results that their uses want in another layout (or in another name of the same one).
void convertDerivedResults(warp::RoleOp role) {
  SmallVector<Operation *> ops;
  role.walk([&](Operation *op) {
    if (Attribute layout = derived(op);
        layout && layout != cast<RankedTensorType>(op->getResult(0).getType()).getEncoding())
      ops.push_back(op);
  });
  for (Operation *op : ops) {
    Value result = op->getResult(0);
    auto wanted = cast<RankedTensorType>(result.getType());
    OpBuilder builder(op->getContext());
    builder.setInsertionPointAfter(op);
    result.setType(withLayout(wanted, derived(op)));
    auto converted = nv::ConvertLayoutOp::create(builder, op->getLoc(), wanted, result);
    result.replaceAllUsesExcept(converted, converted);
  }
}

LogicalResult assignRegisters(warp::RoleOp role) {
  Assigner assigner;
  assigner.warps = role.getWarps();
  MLIRContext *context = role.getContext();
  // Constants live outside the roles; give each role its own.
  role.walk([&](Operation *op) {
    for (OpOperand &operand : op->getOpOperands()) {
      Operation *def = operand.get().getDefiningOp();
      if (isTile(operand.get()) && def && !role->isAncestor(def)) {
        OpBuilder builder(op);
        Operation *copy = builder.clone(*def);
        operand.set(copy->getResult(cast<OpResult>(operand.get()).getResultNumber()));
      }
    }
  });
  role.walk([&](Operation *op) {
    if (auto wgmma = dyn_cast<nv::WgmmaOp>(op))
      assigner.assign(wgmma.getResult(), nv::WgmmaAccAttr::get(context, role.getWarps()));
    else if (auto load = dyn_cast<nv::TmemLoadOp>(op))
      assigner.assign(load.getResult(),
                      tensorMemoryRegisters(load.getView().getType(), role.getWarps()));
  });
  assigner.run();
  role.walk([&](nv::WgmmaOp wgmma) {
    if (isTile(wgmma.getA()))
      assigner.assign(wgmma.getA(), nv::WgmmaAAttr::get(context, role.getWarps()));
  });
  assigner.run();
  role.walk([&](nv::TmemStoreOp store) {
    assigner.assign(store.getValue(),
                    tensorMemoryRegisters(store.getView().getType(), role.getWarps()));
  });
  assigner.run();
  // What no anchor reaches.
  role.walk([&](Operation *op) {
    for (Value result : op->getResults())
      if (isTile(result)) {
        assigner.assign(result, assigner.layouts.count(result)
                                    ? Attribute()
                                    : assigner.fallback(cast<RankedTensorType>(result.getType())));
        assigner.run();
      }
  });
  for (auto &[value, layout] : assigner.layouts)
    value.setType(withLayout(value.getType(), layout));
  role.walk([&](arith::ConstantOp constant) {
    if (auto dense = dyn_cast<DenseElementsAttr>(constant.getValue()))
      constant.setValueAttr(dense.reshape(cast<ShapedType>(constant.getType())));
  });

  convertDerivedResults(role);
  SmallVector<OpOperand *> mismatched;
  role.walk([&](Operation *op) {
    for (OpOperand &operand : op->getOpOperands())
      if (isTile(operand.get())) {
        Attribute need = required(operand);
        auto type = cast<RankedTensorType>(operand.get().getType());
        if (need && need != type.getEncoding())
          mismatched.push_back(&operand);
      }
  });
  for (OpOperand *operand : mismatched) {
    Value value = operand->get();
    Operation *user = operand->getOwner(), *def = value.getDefiningOp();
    Attribute need = required(*operand);
    OpBuilder builder(user);
    RankedTensorType type = withLayout(value.getType(), need);
    if (isRematerialisable(def)) {
      Operation *copy = builder.clone(*def);
      copy->getResult(0).setType(type);
      if (auto constant = dyn_cast<arith::ConstantOp>(copy))
        constant.setValueAttr(cast<DenseElementsAttr>(constant.getValue()).reshape(type));
      operand->set(copy->getResult(0));
      continue;
    }
    operand->set(nv::ConvertLayoutOp::create(builder, user->getLoc(), type, value));
  }
  return success();
}

struct AssignLayouts : tileloom::nv::impl::NVAssignLayoutsBase<AssignLayouts> {
  void runOnOperation() override {
    assignShared(getOperation());
    getOperation()->walk([&](warp::RoleOp role) {
      if (failed(assignRegisters(role)))
        signalPassFailure();
    });
  }
};

} // namespace
