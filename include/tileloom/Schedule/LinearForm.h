//===- LinearForm.h - Integers as linear forms, and what bounds them --------------*- C++ -*-===//
//
// Enough of linear arithmetic to decide that a mask is true in an iteration or that a loop runs at
// all. Index arithmetic is taken not to overflow, and operands of unsigned operations not to be
// negative, as the loops that it counts take it.
//
//===--------------------------------------------------------------------------------------===//

#ifndef TILELOOM_SCHEDULE_LINEARFORM_H
#define TILELOOM_SCHEDULE_LINEARFORM_H

#include "dialects/NV/NV.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/MapVector.h"

namespace tileloom::schedule {

/// A scalar, or a tile of integers at some element of the tile that a form is about. A tile of one
/// dimension lies along `axis` of that; -1 for scalars and for tiles that have all its dimensions.
struct Term {
  mlir::Value value;
  int axis = -1;

  bool isTile() const { return mlir::isa<mlir::RankedTensorType>(value.getType()); }
  /// The axis that a position counts along, and to where; none if it is not a position.
  struct Position {
    int64_t axis, extent;
  };
  std::optional<Position> position() const;
};

/// constant + sum of coefficient * term. An element of a tile of integers is a form in the
/// positions (nv.index) and in scalars.
struct LinearForm {
  int64_t constant = 0;
  llvm::MapVector<std::pair<mlir::Value, int>, int64_t> terms;

  static LinearForm of(mlir::Value value);
  static LinearForm of(int64_t constant);
  LinearForm &add(const LinearForm &other, int64_t factor = 1);
  /// The terms with their coefficients, to change the form by.
  llvm::SmallVector<std::pair<Term, int64_t>> list() const;
  int64_t coefficientOf(mlir::Value value, int axis = -1) const;
  void erase(const Term &term) { terms.erase({term.value, term.axis}); }
  void substitute(const Term &term, const LinearForm &form);
  /// The form over `divisor`, if all of it can be divided.
  std::optional<LinearForm> dividedBy(int64_t divisor) const;
};

/// The iterations of a loop that a claim is about: `lower` <= induction variable < `upper`.
struct Iterations {
  mlir::Value variable;
  LinearForm lower, upper;

  static Iterations of(mlir::scf::ForOp loop);
};

/// True if `form` >= 0 in all of the iterations (if there is none, too). False if that is not
/// known.
bool isNonNegative(const LinearForm &form, const Iterations *iterations = nullptr);

/// The least value of `form` over the elements of a tile: what is left are scalars. None if a term
/// is a tile whose elements have no known range.
std::optional<LinearForm> leastOverElements(LinearForm form);

/// True if the loop is known to run: by its bounds, or because the program says so
/// (`warp.min_trips` of at least one).
bool runsAtLeastOnce(mlir::scf::ForOp loop);

} // namespace tileloom::schedule

#endif // TILELOOM_SCHEDULE_LINEARFORM_H
