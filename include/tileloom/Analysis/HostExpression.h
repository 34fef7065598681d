//===- HostExpression.h - Scalars that the host can compute ----------------------*- C++ -*-===//

#ifndef TILELOOM_ANALYSIS_HOSTEXPRESSION_H
#define TILELOOM_ANALYSIS_HOSTEXPRESSION_H

#include "mlir/IR/Attributes.h"
#include "mlir/IR/Value.h"

namespace tileloom {

/// `value` as a recipe expression (docs/recipe.md): an integer or a dictionary. Null if it is not made of
/// constants and integer arguments of its function by what a recipe can say.
mlir::Attribute hostExpression(mlir::Value value);

/// "mul", "add", ... of two expressions.
mlir::Attribute hostExpression(llvm::StringRef op, mlir::Attribute left, mlir::Attribute right);

} // namespace tileloom

#endif // TILELOOM_ANALYSIS_HOSTEXPRESSION_H
