//===- HostExpression.cpp - Scalars that the host can compute -----------------------------===//
//
// Division in a recipe rounds to a side and not to zero; the sizes that it is used for are not
// negative.
//
//===--------------------------------------------------------------------------------------===//

#include "tileloom/Analysis/HostExpression.h"

#include "dialects/Tile/Kernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

Attribute tileloom::hostExpression(StringRef op, Attribute left, Attribute right) {
  Builder builder(left.getContext());
  return builder.getDictionaryAttr({builder.getNamedAttr("op", builder.getStringAttr(op)),
                                    builder.getNamedAttr("of", builder.getArrayAttr({left, right}))});
}

static StringRef nameOf(Operation *op) {
  return llvm::TypeSwitch<Operation *, StringRef>(op)
      .Case<arith::AddIOp>([](auto) { return "add"; })
      .Case<arith::SubIOp>([](auto) { return "sub"; })
      .Case<arith::MulIOp>([](auto) { return "mul"; })
      .Case<arith::DivSIOp, arith::DivUIOp, arith::FloorDivSIOp>([](auto) { return "floordiv"; })
      .Case<arith::CeilDivSIOp, arith::CeilDivUIOp>([](auto) { return "ceildiv"; })
      .Case<arith::MinSIOp>([](auto) { return "min"; })
      .Case<arith::MaxSIOp>([](auto) { return "max"; })
      .Default(StringRef());
}

Attribute tileloom::hostExpression(Value value) {
  Builder builder(value.getContext());
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    return builder.getI64IntegerAttr(constant.getSExtValue());
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto function = dyn_cast<FunctionOpInterface>(argument.getOwner()->getParentOp());
    if (!function || function.getArgAttr(argument.getArgNumber(), tile::pointerAttrName) || !value.getType().isInteger())
      return {};
    return builder.getDictionaryAttr(
        builder.getNamedAttr("argument", builder.getI64IntegerAttr(argument.getArgNumber())));
  }
  Operation *op = value.getDefiningOp();
  if (isa<arith::ExtSIOp>(op))
    return hostExpression(op->getOperand(0));
  StringRef name = nameOf(op);
  if (name.empty())
    return {};
  Attribute left = hostExpression(op->getOperand(0)), right = hostExpression(op->getOperand(1));
  return left && right ? hostExpression(name, left, right) : Attribute();
}
