//===- Tile.h - The tile dialect -------------------------------------------------*- C++ -*-===//
//
// What a kernel computes. See Tile.td for the reference and Rationale.md for the reasons.
//
//===--------------------------------------------------------------------------------------===//

#ifndef TILELOOM_DIALECTS_TILE_H
#define TILELOOM_DIALECTS_TILE_H

#include "dialects/Tile/TileNames.h"

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/Tile/TileDialect.h.inc"
#include "dialects/Tile/TileEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Tile/TileAttrs.h.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/Tile/TileTypes.h.inc"

#define GET_OP_CLASSES
#include "dialects/Tile/TileOps.h.inc"

namespace tileloom::tile {

/// Parses and prints `4x64xbf16` between angle brackets; shared by the shaped types of all
/// dialects.
mlir::LogicalResult parseShapedBody(mlir::AsmParser &parser, llvm::SmallVectorImpl<int64_t> &shape,
                                    mlir::Type &elementType);
void printShapedBody(mlir::AsmPrinter &printer, llvm::ArrayRef<int64_t> shape,
                     mlir::Type elementType);

/// Bits of one element as stored in memory; 0 if the type has no fixed width.
unsigned elementBits(mlir::Type elementType);

} // namespace tileloom::tile

#endif // TILELOOM_DIALECTS_TILE_H
