//===- Monotone.cpp - How a scalar moves with another one ---------------------------------===//
//
// Signs through sums, differences, minima, maxima, and products and quotients by constants.
//
//===--------------------------------------------------------------------------------------===//

#include "tileloom/Schedule/Monotone.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace tileloom::schedule {

static std::optional<int> together(std::optional<int> a, std::optional<int> b) {
  if (!a || !b)
    return std::nullopt;
  if (*a == 0 || *b == 0 || *a == *b)
    return *a ? a : b;
  return std::nullopt;
}

static std::optional<int> times(std::optional<int> direction, int sign) {
  return direction ? std::optional<int>(*direction * sign) : std::nullopt;
}

static std::optional<int> signOf(Value value) {
  APInt constant;
  if (!matchPattern(value, m_ConstantInt(&constant)))
    return std::nullopt;
  return constant.isNegative() ? -1 : constant.isZero() ? 0 : 1;
}

std::optional<int> directionOf(Value value, Value source) {
  if (value == source)
    return 1;
  Operation *op = value.getDefiningOp();
  if (!op || op->getNumOperands() == 0)
    return 0; // an argument, a constant, another loop's variable
  if (op->getNumRegions() > 0)
    return std::nullopt;
  SmallVector<std::optional<int>> directions;
  bool depends = false;
  for (Value operand : op->getOperands()) {
    directions.push_back(directionOf(operand, source));
    depends |= directions.back() != std::optional<int>(0);
  }
  if (!depends)
    return 0;
  if (isa<arith::AddIOp, arith::MinSIOp, arith::MinUIOp, arith::MaxSIOp, arith::MaxUIOp>(op))
    return together(directions[0], directions[1]);
  if (isa<arith::SubIOp>(op))
    return together(directions[0], times(directions[1], -1));
  if (isa<arith::ExtSIOp, arith::ExtUIOp, arith::TruncIOp, arith::IndexCastOp>(op))
    return directions[0];
  if (isa<arith::MulIOp>(op)) {
    if (std::optional<int> sign = signOf(op->getOperand(1)))
      return times(directions[0], *sign);
    if (std::optional<int> sign = signOf(op->getOperand(0)))
      return times(directions[1], *sign);
  }
  if (isa<arith::DivSIOp, arith::DivUIOp, arith::CeilDivSIOp, arith::CeilDivUIOp,
          arith::FloorDivSIOp>(op))
    if (std::optional<int> sign = signOf(op->getOperand(1)); sign && *sign != 0)
      return times(directions[0], *sign);
  return std::nullopt;
}

} // namespace tileloom::schedule
