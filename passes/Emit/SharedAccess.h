//===- SharedAccess.h - Register tiles to and from shared memory -----------------*- C++ -*-===//
//
// Prints the accesses that lib/Layout plans: stmatrix, ldmatrix or vectors of each thread. All
// accesses of a plan share one thread-dependent address, one XOR for each distinct constant, and
// immediates.
//
//===--------------------------------------------------------------------------------------===//

#ifndef TILELOOM_PASSES_EMIT_SHAREDACCESS_H
#define TILELOOM_PASSES_EMIT_SHAREDACCESS_H

#include "passes/Emit/TileConversion.h"

namespace tileloom::emit {

/// A tile in shared memory at `base`, and how threads hold it. `registers[i]` is the number that
/// register i of `regs` has in the lists of elements (a part of a larger tile); empty: i.
struct SharedTile {
  const layout::RegisterLayout &regs;
  llvm::ArrayRef<unsigned> registers;
  const layout::SharedLayout &shared;
  mlir::Value base;
};

/// Writes `elements`; `packed` are the same in 32-bit values, where they exist.
llvm::LogicalResult storeShared(mlir::OpBuilder &builder, mlir::Operation *op,
                                const SharedTile &tile, llvm::ArrayRef<mlir::Value> elements,
                                mlir::ValueRange packed);
/// Reads elements of type `element` into `values` (one for each `packing` elements) where a loaded
/// word is one of them, else into `elements`.
llvm::LogicalResult loadShared(mlir::OpBuilder &builder, mlir::Operation *op,
                               const SharedTile &tile, mlir::Type element, unsigned packing,
                               llvm::MutableArrayRef<mlir::Value> elements,
                               llvm::MutableArrayRef<mlir::Value> values);

} // namespace tileloom::emit

#endif // TILELOOM_PASSES_EMIT_SHAREDACCESS_H
