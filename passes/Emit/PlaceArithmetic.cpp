//===- PlaceArithmetic.cpp - Comparisons and conversions of places ------------------------===//

#include "passes/Emit/PlaceArithmetic.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace tileloom::emit;

/// The constant of a place.
static std::optional<APInt> constantOf(Value place) {
  auto sum = place.getDefiningOp<arith::AddIOp>();
  auto noWrap = arith::IntegerOverflowFlags::nsw | arith::IntegerOverflowFlags::nuw;
  APInt constant;
  if (!sum || sum.getOverflowFlags() != noWrap || !sum.getType().isInteger(32) ||
      !matchPattern(sum.getRhs(), m_ConstantInt(&constant)) || constant.isNegative())
    return std::nullopt;
  return constant;
}

void PlaceArithmetic::simplify(Value &a, Value &b) {
  if (!split(a, b))
    split(b, a);
}

Value PlaceArithmetic::converted(Value sum, Type result) {
  Operation *op = sum.getDefiningOp();
  bool subtracts = isa_and_nonnull<arith::SubIOp>(op);
  auto flags = dyn_cast_or_null<arith::ArithIntegerOverflowFlagsInterface>(op);
  if ((!subtracts && !isa_and_nonnull<arith::AddIOp>(op)) || !flags.hasNoSignedWrap())
    return {};
  Value place = op->getOperand(1), other = op->getOperand(0);
  std::optional<APInt> constant = constantOf(place);
  if (!constant && !subtracts) {
    std::swap(place, other);
    constant = constantOf(place);
  }
  if (!constant)
    return {};
  Value thread = place.getDefiningOp()->getOperand(0);
  Value &first = floats[{other, thread}];
  if (!first) {
    Value whole = subtracts ? arith::SubIOp::create(builder, loc, other, thread).getResult()
                            : arith::AddIOp::create(builder, loc, other, thread).getResult();
    first = arith::SIToFPOp::create(builder, loc, result, whole);
  }
  Value rest = arith::ConstantOp::create(builder, loc, builder.getFloatAttr(result, double(constant->getSExtValue())));
  return subtracts ? arith::SubFOp::create(builder, loc, first, rest).getResult()
                   : arith::AddFOp::create(builder, loc, first, rest).getResult();
}

bool PlaceArithmetic::split(Value &place, Value &other) {
  if (!constantOf(place))
    return false;
  auto sum = place.getDefiningOp<arith::AddIOp>();
  Value &beyond = known[{other, sum.getLhs()}];
  if (!beyond)
    beyond = LLVM::SSubSat::create(builder, loc, other.getType(), other, sum.getLhs());
  other = beyond;
  place = sum.getRhs();
  return true;
}
