//===- RowPieces.cpp - Tiles taken apart by rows and columns ------------------------------===//

#include "RowPieces.h"

#include "tileloom/Analysis/Elementwise.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace tileloom;
using namespace tileloom::warp;

static int keyOf(Part part) { return static_cast<int>(part.slot) * 4 + part.chunk + 1; }

/// Whether a tile of one dimension has an element for each column: that is what it is used for.
static bool isColumnVector(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || type.getRank() != 1)
    return false;
  return llvm::any_of(value.getUsers(), [](Operation *user) {
    if (auto broadcast = dyn_cast<nv::BroadcastOp>(user))
      return broadcast.getDim() == 0;
    return isElementwise(user) && isColumnVector(user->getResult(0));
  });
}

bool RowPieces::isSliceable(Operation *op) const {
  // A square tile has as many columns as rows, so extents alone do not tell them apart.
  if (op->getNumResults() != 1 || isColumnVector(op->getResult(0)))
    return false;
  auto fits = [&](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && tensor.getRank() <= 2 && tensor.getDimSize(0) == rows;
  };
  if (!fits(op->getResult(0).getType()))
    return false;
  for (Type type : op->getOperandTypes())
    if (isa<RankedTensorType>(type) && !fits(type))
      return false;
  if (auto reduce = dyn_cast<nv::ReduceOp>(op))
    return reduce.getDim() == 1;
  if (auto broadcast = dyn_cast<nv::BroadcastOp>(op))
    return broadcast.getDim() == 1;
  return isElementwise(op) || isa<nv::FoldOp>(op) || isRepeated(op);
}

bool RowPieces::isRepeated(Operation *op) const {
  if (auto index = dyn_cast<nv::IndexOp>(op))
    return index.getDim() == 1;
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    auto dense = dyn_cast<DenseElementsAttr>(constant.getValue());
    return dense && dense.isSplat();
  }
  if (auto broadcast = dyn_cast<nv::BroadcastOp>(op))
    return broadcast.getDim() == 1; // along the other dimension it is a row of different columns
  return isa<nv::SplatOp>(op);
}

RankedTensorType RowPieces::typeOf(RankedTensorType type, Part part) const {
  SmallVector<int64_t> shape(type.getShape());
  shape[0] /= slots;
  if (part.chunk >= 0 && shape.size() == 2)
    shape[1] = part.chunk == 0 ? cut : shape[1] - cut;
  return RankedTensorType::get(shape, type.getElementType());
}

bool RowPieces::knows(Value value, Part part) const { return known.count({value, keyOf(part)}); }

void RowPieces::set(Value value, Part part, Value result) { known[{value, keyOf(part)}] = result; }

Value RowPieces::get(Value value, Part part) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type)
    return value;
  if (type.getRank() == 1)
    part.chunk = -1;
  if (Value found = known.lookup({value, keyOf(part)}))
    return found;
  Value made = make(value, part);
  set(value, part, made);
  return made;
}

Value RowPieces::make(Value value, Part part) {
  auto type = cast<RankedTensorType>(value.getType());
  RankedTensorType result = typeOf(type, part);
  Operation *def = value.getDefiningOp();
  Location loc = value.getLoc();
  if (def && isRepeated(def)) {
    if (Value splat = splatFor(builder, value, result))
      return splat;
    if (auto broadcast = dyn_cast<nv::BroadcastOp>(def))
      return nv::BroadcastOp::create(builder, loc, result, get(broadcast.getSource(), part), 1);
    if (part.chunk != 1) // the second chunk's positions start at the cut
      return nv::IndexOp::create(builder, loc, result, 1);
  }
  if (part.chunk >= 0) {
    SmallVector<int64_t> offsets{0, part.chunk == 0 ? 0 : cut};
    return nv::ExtractOp::create(builder, loc, result, get(value, {part.slot, -1}), offsets);
  }
  Part first{part.slot, 0}, second{part.slot, 1};
  if (knows(value, first) && knows(value, second))
    return nv::ConcatOp::create(builder, loc, result,
                                ValueRange{get(value, first), get(value, second)}, 1);
  return nv::RowSlotOp::create(builder, loc, result, value, part.slot, slots);
}

Value RowPieces::whole(Value value) {
  if (Value found = wholes.lookup(value))
    return found;
  SmallVector<Value> parts;
  for (unsigned slot = 0; slot < slots; ++slot)
    parts.push_back(get(value, {slot, -1}));
  return wholes[value] =
             nv::JoinRowSlotsOp::create(builder, value.getLoc(), value.getType(), parts);
}

void RowPieces::clone(Operation *op, Part part) {
  SmallVector<Value> operands;
  for (Value operand : op->getOperands())
    operands.push_back(get(operand, part));
  RankedTensorType type = typeOf(cast<RankedTensorType>(op->getResult(0).getType()),
                                 isa<nv::FoldOp>(op) ? Part{part.slot, -1} : part);
  set(op->getResult(0), part, cloneFor(builder, op, operands, type));
}
