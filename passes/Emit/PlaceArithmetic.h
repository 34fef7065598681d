//===- PlaceArithmetic.h - Comparisons and conversions of places ------------------*- C++ -*-===//
//
// A place is the sum of a thread's part and a constant, neither negative.
//
// Comparisons of places with a value are those of the constant with what the value is beyond the thread's
// part: one register a row, where the places would be one a column, which the masks of a loop keep.
// Saturation gives what too small a value would.
//
// Conversions to float of the sum of a place and a value, if it does not wrap: what both make without the
// constant is converted once, and the constant is added as a float (the same number but for sums beyond
// 2^24, which are rounded twice).
//
//===--------------------------------------------------------------------------------------===//

#ifndef TILELOOM_PASSES_EMIT_PLACEARITHMETIC_H
#define TILELOOM_PASSES_EMIT_PLACEARITHMETIC_H

#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseMap.h"

namespace tileloom::emit {

/// Knows what it has made for the elements of one tile.
class PlaceArithmetic {
public:
  PlaceArithmetic(mlir::OpBuilder &builder, mlir::Location loc) : builder(builder), loc(loc) {}

  /// The sides of a signed comparison.
  void simplify(mlir::Value &a, mlir::Value &b);

  /// `sum` as a float, or null if it has no place in it.
  mlir::Value converted(mlir::Value sum, mlir::Type result);

private:
  bool split(mlir::Value &place, mlir::Value &other);

  mlir::OpBuilder &builder;
  mlir::Location loc;
  llvm::DenseMap<std::pair<mlir::Value, mlir::Value>, mlir::Value> known, floats;
};

} // namespace tileloom::emit

#endif // TILELOOM_PASSES_EMIT_PLACEARITHMETIC_H
