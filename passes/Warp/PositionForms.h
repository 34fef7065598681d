//===- PositionForms.h - Comparisons and conversions of positions ------------------*- C++ -*-===//

#ifndef TILELOOM_PASSES_WARP_POSITIONFORMS_H
#define TILELOOM_PASSES_WARP_POSITIONFORMS_H

#include "tileloom/Schedule/LinearForm.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"

namespace tileloom::warp {

/// A comparison, and a form that is not negative where it is true.
struct Conjunct {
  mlir::arith::CmpIOp compare;
  schedule::LinearForm form;
};

/// Comparisons that are all true where `condition` is. False if some part of the condition is something else.
bool conjuncts(mlir::Value condition, llvm::SmallVectorImpl<Conjunct> &found);

mlir::Value constant(mlir::OpBuilder &builder, mlir::Location loc, int64_t value);

/// The value of a form of scalars.
mlir::Value materialise(mlir::OpBuilder &builder, mlir::Location loc, const schedule::LinearForm &form);

/// Compares a position with a scalar, or with something that lies along another axis and a scalar, whatever sums the program
/// has on the two sides: no arithmetic is left for each element.
void simplify(mlir::arith::CmpIOp compare);

/// Converts a sum of positions and scalars as a position and what is beside it, which the conversion of places
/// (convert-to-llvm) then does once for each row.
void simplify(mlir::arith::SIToFPOp convert);

} // namespace tileloom::warp

#endif // TILELOOM_PASSES_WARP_POSITIONFORMS_H
