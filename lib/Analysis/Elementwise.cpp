//===- Elementwise.cpp - Code that works element by element -------------------------------===//

#include "tileloom/Analysis/Elementwise.h"

#include "dialects/NV/NV.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace tileloom;

bool tileloom::isElementwise(Operation *op) {
  return op && OpTrait::hasElementwiseMappableTraits(op) && op->getNumResults() == 1 &&
         isa<RankedTensorType>(op->getResult(0).getType());
}

bool tileloom::isPureElementwise(Operation *op) { return isElementwise(op) && isPure(op); }

Value tileloom::cloneFor(OpBuilder &builder, Operation *op, ValueRange operands, RankedTensorType type) {
  OperationState state(op->getLoc(), op->getName(), operands, {Type(type)}, op->getAttrs());
  return builder.create(state)->getResult(0);
}

Value tileloom::splatFor(OpBuilder &builder, Value value, RankedTensorType type) {
  SplatElementsAttr constant;
  if (matchPattern(value, m_Constant(&constant)))
    return arith::ConstantOp::create(builder, value.getLoc(), constant.resizeSplat(type));
  if (auto splat = value.getDefiningOp<nv::SplatOp>())
    return nv::SplatOp::create(builder, splat.getLoc(), type, splat.getValue());
  if (auto splat = value.getDefiningOp<tile::SplatOp>())
    return tile::SplatOp::create(builder, splat.getLoc(), type, splat.getValue());
  return {};
}
