//===- AxisInfo.h - Contiguity, divisibility and constancy of integers -----------*- C++ -*-===//
//
// What is known, for every value, of its integer elements along each dimension. It decides how many
// elements one memory access can move: neighbours must be consecutive in memory, the first aligned,
// and all under one mask. Facts start at nv.index, nv.splat, constants, loop bounds and the
// attribute `tile.divisibility` of kernel arguments, and flow through arith and control flow.
//
//===--------------------------------------------------------------------------------------===//

#ifndef TILELOOM_ANALYSIS_AXISINFO_H
#define TILELOOM_ANALYSIS_AXISINFO_H

#include "mlir/Analysis/DataFlowFramework.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/SmallVector.h"

#include <memory>
#include <optional>

namespace tileloom {

/// A scalar counts as a tensor of one element. All numbers are powers of two where they are not the
/// extent of a dimension.
struct AxisInfo {
  /// Along dimension d the elements form aligned groups of contiguity[d] (constancy[d]) elements
  /// that are consecutive (equal) integers; the first element of each group of contiguity[d] is a
  /// multiple of divisibility[d].
  llvm::SmallVector<int64_t, 2> contiguity, divisibility, constancy;
  /// The value of all elements, if it is known.
  std::optional<int64_t> constant;

  /// Nothing known: a tensor of this shape (none: a scalar).
  static AxisInfo unknown(llvm::ArrayRef<int64_t> shape);
  static AxisInfo unknown(mlir::Type type);
  size_t rank() const { return contiguity.size(); }
  /// What every element is a multiple of.
  int64_t divisibilityOfAll() const;
  /// What the first elements of aligned groups of `size` along `dim` are multiples of.
  int64_t divisibilityOf(unsigned dim, int64_t size) const;

  bool operator==(const AxisInfo &o) const {
    return contiguity == o.contiguity && divisibility == o.divisibility &&
           constancy == o.constancy && constant == o.constant;
  }
  /// What holds for both.
  static AxisInfo join(const AxisInfo &a, const AxisInfo &b);
  void print(llvm::raw_ostream &os) const;
};

/// The facts of all values below an operation.
class AxisInfoAnalysis {
public:
  explicit AxisInfoAnalysis(mlir::Operation *root);
  AxisInfo of(mlir::Value value) const;
  /// How many neighbours along `dim` one access of up to 16 bytes can move; elements have `bytes` bytes, `mask` may be null.
  int64_t neighbours(mlir::Value pointer, mlir::Value offset, mlir::Value mask, unsigned dim,
                     int64_t bytes) const;

private:
  std::unique_ptr<mlir::DataFlowSolver> solver;
};

} // namespace tileloom

#endif // TILELOOM_ANALYSIS_AXISINFO_H
