//===- RowPieces.h - Tiles taken apart by rows and columns ------------------------*- C++ -*-===//
//
// Parts of the tiles of a role, by the row slots that each thread holds and, of one slot, by columns.
// All are choices of registers: taking apart and putting together costs nothing.
//
//===--------------------------------------------------------------------------------------===//

#ifndef TILELOOM_PASSES_WARP_ROWPIECES_H
#define TILELOOM_PASSES_WARP_ROWPIECES_H

#include "dialects/NV/NV.h"

#include "mlir/IR/Builders.h"

namespace tileloom::warp {

/// A part of a tile: the rows of `slot`; of those all columns (`chunk` < 0), the first `cut` ones (0)
/// or the rest (1).
struct Part {
  unsigned slot = 0;
  int chunk = -1;
};

class RowPieces {
public:
  RowPieces(mlir::OpBuilder &builder, int64_t rows, unsigned slots, int64_t cut)
      : builder(builder), rows(rows), slots(slots), cut(cut) {}

  /// True for operations that work on each row by itself and whose tiles all have these rows.
  bool isSliceable(mlir::Operation *op) const;
  /// Sliceable and free: made again for each part that needs it.
  bool isRepeated(mlir::Operation *op) const;

  /// The part of a value, taken from what is known of it or made where the builder stands.
  mlir::Value get(mlir::Value value, Part part);
  mlir::Value whole(mlir::Value value);
  /// Repeats an operation for one part.
  void clone(mlir::Operation *op, Part part);
  void set(mlir::Value value, Part part, mlir::Value result);
  bool knows(mlir::Value value, Part part) const;

private:
  mlir::RankedTensorType typeOf(mlir::RankedTensorType type, Part part) const;
  mlir::Value make(mlir::Value value, Part part);

  mlir::OpBuilder &builder;
  int64_t rows;
  unsigned slots;
  int64_t cut;
  llvm::DenseMap<std::pair<mlir::Value, int>, mlir::Value> known;
  llvm::DenseMap<mlir::Value, mlir::Value> wholes;
};

} // namespace tileloom::warp

#endif // TILELOOM_PASSES_WARP_ROWPIECES_H
