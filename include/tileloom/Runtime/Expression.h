//===- Expression.h - Integer expressions of a recipe ---------------------===//
//
// The small language in which a recipe writes its grid and workspaces: integers, integer scalar arguments, tensor
// extents, and seven operations on them. Evaluation is exact on 64 bits: overflow and division by
// zero are errors, not wraps.
//
//===----------------------------------------------------------------------===//
#ifndef TILELOOM_RUNTIME_EXPRESSION_H
#define TILELOOM_RUNTIME_EXPRESSION_H

#include "tileloom-c/Runtime.h"
#include "tileloom/Runtime/Error.h"
#include "llvm/ADT/ArrayRef.h"
#include <vector>

namespace tileloom::runtime {

struct Expression {
  enum class Op : uint8_t {
    Constant,
    Argument,  ///< value of integer scalar `argument`
    Dimension, ///< extent `axis` of tensor `argument`
    Add,
    Sub,
    Mul,
    CeilDiv,
    FloorDiv,
    Min,
    Max
  };

  Op op = Op::Constant;
  int64_t value = 0;
  unsigned argument = 0;
  unsigned axis = 0;
  std::vector<Expression> of; ///< two operands for Add and later

  /// The arguments must have passed the checks (kind, rank) of the recipe.
  llvm::Expected<int64_t> evaluate(llvm::ArrayRef<TileloomArgument> arguments) const;
};

/// The value of an integer scalar argument, sign- or zero-extended from its type.
int64_t scalarValue(const TileloomArgument &argument);

} // namespace tileloom::runtime
#endif // TILELOOM_RUNTIME_EXPRESSION_H
