//===- ColumnPieces.cpp - Columns of element-wise code ------------------------------------===//

#include "passes/Warp/ColumnPieces.h"

#include "tileloom/Analysis/Elementwise.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace tileloom;
using namespace tileloom::warp;

bool tileloom::warp::canCombineParts(nv::ReduceOp reduce) {
  Type element = reduce.getSource().getType().getElementType();
  return element.isF32() || element.isInteger(32);
}

Value tileloom::warp::combineParts(OpBuilder &builder, Location loc, nv::ReduceKind kind,
                                   Value before, Value part) {
  bool isFloat = isa<FloatType>(getElementTypeOrSelf(before.getType()));
  switch (kind) {
  case nv::ReduceKind::Add:
    return isFloat ? arith::AddFOp::create(builder, loc, before, part).getResult()
                   : arith::AddIOp::create(builder, loc, before, part).getResult();
  case nv::ReduceKind::Mul:
    return isFloat ? arith::MulFOp::create(builder, loc, before, part).getResult()
                   : arith::MulIOp::create(builder, loc, before, part).getResult();
  case nv::ReduceKind::Max:
    return isFloat ? arith::MaxNumFOp::create(builder, loc, before, part).getResult()
                   : arith::MaxSIOp::create(builder, loc, before, part).getResult();
  case nv::ReduceKind::Min:
    return isFloat ? arith::MinNumFOp::create(builder, loc, before, part).getResult()
                   : arith::MinSIOp::create(builder, loc, before, part).getResult();
  }
  llvm_unreachable("unknown reduction");
}

RankedTensorType ColumnPiece::narrow(Type type) const {
  auto tensor = cast<RankedTensorType>(type);
  return RankedTensorType::get({tensor.getDimSize(0), columns}, tensor.getElementType());
}

Value ColumnPiece::of(Value value) {
  if (!isa<RankedTensorType>(value.getType()))
    return value;
  if (Value made = known.lookup(value))
    return made;
  return known[value] = make(value);
}

Value ColumnPiece::viewOf(Value view) {
  auto whole = cast<nv::MemDescType>(view.getType());
  Location loc = view.getLoc();
  Value zero = arith::ConstantIntOp::create(builder, loc, 0, 32);
  Value first = arith::ConstantIntOp::create(builder, loc, column, 32);
  auto part = nv::MemDescType::get(whole.getContext(), {whole.getShape()[0], columns}, whole.getElementType(),
                                   whole.getLayout(), whole.getSpace());
  return nv::MemDescSliceOp::create(builder, loc, part, view, ValueRange{zero, first});
}

Value ColumnPiece::make(Value value) {
  Operation *def = value.getDefiningOp();
  RankedTensorType type = narrow(value.getType());
  Location loc = value.getLoc();
  if (auto load = dyn_cast_or_null<nv::TmemLoadOp>(def); load && !kept.contains(load))
    return nv::TmemLoadOp::create(builder, loc, type, viewOf(load.getView()));
  if (auto same = dyn_cast_or_null<nv::SplatOp>(def); same && again && type.getElementType().isInteger(32)) {
    auto rows = RankedTensorType::get(type.getDimSize(0), type.getElementType());
    Value row = nv::SplatOp::create(builder, loc, rows, same.getValue());
    row = nv::KeepOp::create(builder, loc, TypeRange(rows), row).getResult(0);
    return nv::BroadcastOp::create(builder, loc, type, row, 1);
  }
  if (Value splat = splatFor(builder, value, type))
    return splat;
  if (auto rows = dyn_cast_or_null<nv::BroadcastOp>(def); rows && rows.getDim() == 1)
    return nv::BroadcastOp::create(builder, loc, type, rows.getSource(), rows.getDim());
  if (auto spread = dyn_cast_or_null<nv::BroadcastOp>(def); spread && spread.getDim() == 0)
    if (Value row = rowOf(spread.getSource()))
      return nv::BroadcastOp::create(builder, loc, type, row, 0);
  // What is computed in front of a loop is not computed again in it.
  if (isPureElementwise(def) && def->getBlock() == builder.getInsertionBlock()) {
    SmallVector<Value> operands;
    for (Value operand : def->getOperands())
      operands.push_back(of(operand));
    return cloneFor(builder, def, operands, type);
  }
  return nv::ExtractOp::create(builder, loc, type, value, builder.getDenseI64ArrayAttr({0, column}));
}

/// The columns of a tile of one dimension; null if they are not read by themselves.
Value ColumnPiece::rowOf(Value row) {
  Operation *def = row.getDefiningOp();
  auto type = cast<RankedTensorType>(row.getType()).clone({columns});
  if (Value made = known.lookup(row))
    return made;
  if (auto load = dyn_cast_or_null<nv::LocalLoadOp>(def); load && rows.contains(load)) {
    Location loc = load.getLoc();
    nv::MemDescType whole = load.getView().getType();
    auto part = nv::MemDescType::get(whole.getContext(), {columns}, whole.getElementType(), whole.getLayout(), whole.getSpace());
    Value first = arith::ConstantIntOp::create(builder, loc, column, 32);
    Value view = nv::MemDescSliceOp::create(builder, loc, part, load.getView(), first);
    return known[row] = nv::LocalLoadOp::create(builder, loc, type, view);
  }
  // A conversion of such a row.
  if (!isElementwise(def) || def->getNumOperands() != 1)
    return {};
  Value operand = rowOf(def->getOperand(0));
  if (!operand)
    return {};
  return known[row] = cloneFor(builder, def, operand, type);
}
