//===- Expression.cpp - Integer expressions of a recipe -------------------===//
//
// Evaluation of grid expressions with overflow checks.
//
//===----------------------------------------------------------------------===//
#include "tileloom/Runtime/Expression.h"
#include "tileloom/Runtime/Element.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <limits>

namespace tileloom::runtime {

int64_t scalarValue(const TileloomArgument &argument) {
  Element element = static_cast<Element>(argument.element);
  if (element == TILELOOM_I1)
    return argument.value & 1;
  unsigned bits = elementBits(element);
  if (bits == 64)
    return static_cast<int64_t>(argument.value);
  uint64_t low = argument.value & llvm::maskTrailingOnes<uint64_t>(bits);
  return isSigned(element) ? llvm::SignExtend64(low, bits) : static_cast<int64_t>(low);
}

static llvm::Error overflow(const char *name, int64_t left, int64_t right) {
  return makeError(ErrorKind::Argument, llvm::Twine("size: ") + name + "(" + llvm::Twine(left) +
                                            ", " + llvm::Twine(right) +
                                            ") does not fit in 64 bits");
}

static llvm::Expected<int64_t> divide(bool up, int64_t left, int64_t right) {
  if (right <= 0)
    return makeError(ErrorKind::Argument, llvm::Twine("size: ") + llvm::Twine(left) +
                                              " divided by " + llvm::Twine(right) +
                                              "; needed a divisor above 0");
  int64_t quotient = left / right;
  int64_t rest = left % right;
  if (up && rest > 0)
    return quotient + 1;
  if (!up && rest < 0)
    return quotient - 1;
  return quotient;
}

llvm::Expected<int64_t> Expression::evaluate(llvm::ArrayRef<TileloomArgument> arguments) const {
  switch (op) {
  case Op::Constant:
    return value;
  case Op::Argument:
    return scalarValue(arguments[argument]);
  case Op::Dimension:
    return arguments[argument].shape[axis];
  default:
    break;
  }
  llvm::Expected<int64_t> left = of[0].evaluate(arguments);
  if (!left)
    return left;
  llvm::Expected<int64_t> right = of[1].evaluate(arguments);
  if (!right)
    return right;
  int64_t result = 0;
  switch (op) {
  case Op::Add:
    if (llvm::AddOverflow(*left, *right, result))
      return overflow("add", *left, *right);
    return result;
  case Op::Sub:
    if (llvm::SubOverflow(*left, *right, result))
      return overflow("sub", *left, *right);
    return result;
  case Op::Mul:
    if (llvm::MulOverflow(*left, *right, result))
      return overflow("mul", *left, *right);
    return result;
  case Op::CeilDiv:
    return divide(/*up=*/true, *left, *right);
  case Op::FloorDiv:
    return divide(/*up=*/false, *left, *right);
  case Op::Min:
    return std::min(*left, *right);
  default:
    return std::max(*left, *right);
  }
}

} // namespace tileloom::runtime
