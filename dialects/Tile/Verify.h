//===- Verify.h - What verifiers of several dialects share ----------------------*- C++ -*-===//

#ifndef TILELOOM_DIALECTS_TILE_VERIFY_H
#define TILELOOM_DIALECTS_TILE_VERIFY_H

#include "dialects/Tile/Tile.h"

namespace tileloom::tile {

/// The shape without its unit extents (at least one extent is kept).
llvm::SmallVector<int64_t> squeeze(llvm::ArrayRef<int64_t> shape);

/// Whether `shape` is `box` (both without unit extents) with neighbours among its extents multiplied,
/// the last one apart: the same rows, counted by fewer indices.
bool mergesRows(llvm::ArrayRef<int64_t> box, llvm::ArrayRef<int64_t> shape);

/// Extents with an x between them.
std::string shapeText(llvm::ArrayRef<int64_t> shape);

/// Whether an atomic operation exists for the elements of `value`, and has a value to compare with
/// if it is a `cas`. `kind`: its name.
llvm::LogicalResult verifyAtomic(mlir::Operation *op, llvm::StringRef kind, mlir::Value value,
                                 mlir::Value compare);

} // namespace tileloom::tile

#endif // TILELOOM_DIALECTS_TILE_VERIFY_H
