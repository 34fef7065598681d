//===- ScalarValues.cpp - Scalars of a tile program as numbers ----------------------------===//

#include "tileloom/Schedule/ScalarValues.h"

#include "dialects/Tile/Tile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

#include <cmath>

using namespace mlir;

namespace tileloom::schedule {

ScalarValues::ScalarValues(func::FuncOp kernel, ArrayRef<std::optional<int64_t>> arguments) {
  for (auto [argument, value] : llvm::zip(kernel.getArguments(), arguments))
    if (value)
      given[argument] = *value;
  known = given;
}

ScalarValues ScalarValues::with(Value value, double number) const {
  ScalarValues other = *this;
  other.given[value] = number;
  other.known = other.given;
  return other;
}

std::optional<double> ScalarValues::operator()(Value value) {
  auto found = known.find(value);
  if (found != known.end())
    return found->second;
  std::optional<double> result = compute(value);
  if (result)
    known[value] = *result;
  return result;
}

std::optional<double> ScalarValues::compute(Value value) {
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    return constant.getSExtValue();
  if (auto argument = dyn_cast<BlockArgument>(value))
    return middle(argument);
  Operation *op = value.getDefiningOp();
  if (!op || op->getNumOperands() == 0 || op->getNumRegions() > 0)
    return std::nullopt;
  SmallVector<double> operands;
  for (Value operand : op->getOperands()) {
    std::optional<double> number = (*this)(operand);
    // The smaller one of a number and something from memory: a program that knows a limit says so.
    if (!number && isa<arith::MinSIOp, arith::MinUIOp>(op))
      continue;
    if (!number)
      return std::nullopt;
    operands.push_back(*number);
  }
  if (operands.empty())
    return std::nullopt;
  if (operands.size() < op->getNumOperands())
    return operands[0];
  double a = operands[0], b = operands.size() > 1 ? operands[1] : 0;
  if (isa<arith::AddIOp>(op))
    return a + b;
  if (isa<arith::SubIOp>(op))
    return a - b;
  if (isa<arith::MulIOp>(op))
    return a * b;
  if (isa<arith::DivSIOp, arith::DivUIOp, arith::FloorDivSIOp>(op) && b != 0)
    return std::floor(a / b);
  if (isa<arith::CeilDivSIOp, arith::CeilDivUIOp>(op) && b != 0)
    return std::ceil(a / b);
  if (isa<arith::RemSIOp, arith::RemUIOp>(op) && b != 0)
    return a - b * std::trunc(a / b);
  if (isa<arith::MinSIOp, arith::MinUIOp>(op))
    return std::min(a, b);
  if (isa<arith::MaxSIOp, arith::MaxUIOp>(op))
    return std::max(a, b);
  if (isa<arith::ExtSIOp, arith::ExtUIOp, arith::TruncIOp, arith::IndexCastOp>(op))
    return a;
  if (isa<arith::SelectOp>(op))
    return a != 0 ? b : operands[2];
  if (auto compare = dyn_cast<arith::CmpIOp>(op)) {
    switch (compare.getPredicate()) {
    case arith::CmpIPredicate::eq:
      return a == b;
    case arith::CmpIPredicate::ne:
      return a != b;
    case arith::CmpIPredicate::slt:
    case arith::CmpIPredicate::ult:
      return a < b;
    case arith::CmpIPredicate::sle:
    case arith::CmpIPredicate::ule:
      return a <= b;
    case arith::CmpIPredicate::sgt:
    case arith::CmpIPredicate::ugt:
      return a > b;
    case arith::CmpIPredicate::sge:
    case arith::CmpIPredicate::uge:
      return a >= b;
    }
  }
  return std::nullopt;
}

std::optional<double> ScalarValues::middle(BlockArgument argument) {
  Operation *parent = argument.getOwner()->getParentOp();
  if (auto tiles = dyn_cast<tile::ForEachTileOp>(parent)) {
    std::optional<double> extent = (*this)(tiles.getExtents()[argument.getArgNumber()]);
    return extent ? std::optional<double>(std::max(0.0, std::floor((*extent - 1) / 2)))
                  : std::nullopt;
  }
  if (auto loop = dyn_cast<scf::ForOp>(parent); loop && argument.getArgNumber() == 0) {
    std::optional<double> lower = (*this)(loop.getLowerBound());
    std::optional<double> upper = (*this)(loop.getUpperBound());
    if (lower && upper)
      return std::floor((*lower + std::max(*lower, *upper - 1)) / 2);
  }
  return std::nullopt;
}

} // namespace tileloom::schedule
