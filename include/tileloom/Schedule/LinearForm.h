//===- LinearForm.h - Integers as linear forms, and what bounds them --------------*- C++ -*-===//
//
// Enough of linear arithmetic to decide that a mask is true in an iteration or that a loop runs at
// all. Index arithmetic is taken not to overflow, and operands of unsigned operations not to be
// negative, as the loops that it counts take it.
//
//===--------------------------------------------------------------------------------------===//

#ifndef TILELOOM_SCHEDULE_LINEARFORM_H
#define TILELOOM_SCHEDULE_LINEARFORM_H

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/MapVector.h"

namespace tileloom::schedule {

/// constant + sum of coefficient * value. An element of a tile of integers is a form in the positions
/// (nv.index) and in scalars.
struct LinearForm {
  int64_t constant = 0;
  llvm::MapVector<mlir::Value, int64_t> terms;

  static LinearForm of(mlir::Value value);
  static LinearForm of(int64_t constant);
  LinearForm &add(const LinearForm &other, int64_t factor = 1);
  int64_t coefficientOf(mlir::Value value) const;
  void substitute(mlir::Value value, const LinearForm &form);
};

/// The iterations of a loop that a claim is about: `lower` <= induction variable < `upper`.
struct Iterations {
  mlir::Value variable;
  LinearForm lower, upper;

  static Iterations of(mlir::scf::ForOp loop);
};

/// True if `form` >= 0 in all of the iterations (if there is none, too). False if that is not known.
bool isNonNegative(const LinearForm &form, const Iterations *iterations = nullptr);

/// The least value of `form` over the elements of a tile: what is left are scalars. None if a term is a
/// tile whose elements have no known range.
std::optional<LinearForm> leastOverElements(LinearForm form);

/// True if the loop is known to run: by its bounds, or because the program says so
/// (`warp.min_trips` of at least one).
bool runsAtLeastOnce(mlir::scf::ForOp loop);

/// Attribute of a loop: a number of iterations that it has at least.
inline constexpr llvm::StringLiteral minTripsAttrName = "warp.min_trips";

} // namespace tileloom::schedule

#endif // TILELOOM_SCHEDULE_LINEARFORM_H
