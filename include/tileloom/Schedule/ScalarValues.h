//===- ScalarValues.h - Scalars of a tile program as numbers ---------------------*- C++ -*-===//
//
// What a scalar is when the kernel's arguments have given values. What depends on the tile, or on
// the iteration of a loop, is taken in the middle.
//
//===--------------------------------------------------------------------------------------===//

#ifndef TILELOOM_SCHEDULE_SCALARVALUES_H
#define TILELOOM_SCHEDULE_SCALARVALUES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <optional>

namespace tileloom::schedule {

class ScalarValues {
public:
  /// `arguments`: values of the kernel's scalar arguments, as far as they are known.
  ScalarValues(mlir::func::FuncOp kernel, llvm::ArrayRef<std::optional<int64_t>> arguments);

  /// Nothing where an argument that is not known, or memory, decides.
  std::optional<double> operator()(mlir::Value value);

  /// The same with another value of one scalar: a tile coordinate or an induction variable that is not in the middle.
  ScalarValues with(mlir::Value value, double number) const;

private:
  std::optional<double> compute(mlir::Value value);
  /// The middle of what a tile coordinate or an induction variable runs over.
  std::optional<double> middle(mlir::BlockArgument argument);

  llvm::DenseMap<mlir::Value, double> given, known;
};

} // namespace tileloom::schedule

#endif // TILELOOM_SCHEDULE_SCALARVALUES_H
