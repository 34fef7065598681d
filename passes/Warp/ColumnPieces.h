//===- ColumnPieces.h - Columns of element-wise code ------------------------------*- C++ -*-===//
//
// Some columns of a tile, computed by themselves: element-wise code is repeated for them, tensor memory
// read for them alone. What cannot be repeated is extracted from the whole tile, a choice of registers.
//
//===--------------------------------------------------------------------------------------===//

#ifndef TILELOOM_PASSES_WARP_COLUMNPIECES_H
#define TILELOOM_PASSES_WARP_COLUMNPIECES_H

#include "dialects/NV/NV.h"

#include "mlir/IR/Builders.h"

namespace tileloom::warp {

/// Whether the results of a reduction over parts of a tile, combined, are that of the tile: partial
/// results of 16 bits would be rounded twice.
bool canCombineParts(nv::ReduceOp reduce);

/// The results of a reduction over two parts of a tile as one.
mlir::Value combineParts(mlir::OpBuilder &builder, mlir::Location loc, nv::ReduceKind kind,
                         mlir::Value before, mlir::Value part);

/// Columns [column, column + columns) of values, made where the builder stands.
class ColumnPiece {
public:
  ColumnPiece(mlir::OpBuilder &builder, int64_t column, int64_t columns)
      : builder(builder), column(column), columns(columns) {}

  /// The piece is taken from what this load has in registers.
  void keep(nv::TmemLoadOp load) { kept.insert(load); }
  /// Of this row of shared memory, too, only the columns are read.
  void narrowRow(nv::LocalLoadOp row) { rows.insert(row); }
  /// Comparisons are not those that another group has made of the same numbers: a bit for each element of a row, in registers
  /// meanwhile, costs more than to compare it once more.
  void compareAgain() { again = true; }
  mlir::Value of(mlir::Value value);
  /// The view of these columns in tensor memory.
  mlir::Value viewOf(mlir::Value view);

private:
  mlir::RankedTensorType narrow(mlir::Type type) const;
  mlir::Value make(mlir::Value value);
  mlir::Value rowOf(mlir::Value row);

  mlir::OpBuilder &builder;
  int64_t column, columns;
  llvm::DenseMap<mlir::Value, mlir::Value> known;
  llvm::DenseSet<mlir::Operation *> kept, rows;
  bool again = false;
};

} // namespace tileloom::warp

#endif // TILELOOM_PASSES_WARP_COLUMNPIECES_H
