//===- OperandStaging.h - Operands of products that are not copied by TMA --------*- C++ -*-===//
//
// What warp-partition needs to know about products whose operands are read through pointers or
// computed: which go through shared memory, and which role writes them there.
//
//===--------------------------------------------------------------------------------------===//

#ifndef TILELOOM_PASSES_WARP_OPERANDSTAGING_H
#define TILELOOM_PASSES_WARP_OPERANDSTAGING_H

#include "dialects/Tile/Tile.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tileloom::schedule {
struct Machine;
}

namespace tileloom {

/// Whether the tensor core takes products of this shape from shared memory (wgmma, tcgen05).
bool fitsTensorCore(tile::DotOp dot, bool tensorMemory);

/// Blocks of rows that a sum in tensor memory is: one for each replica that shares its tile.
int64_t rowBlocks(tile::DotOp dot);

/// Whether an operation stacks loaded tiles for products to read: they are one tile in shared memory, which
/// the copies fill part by part.
bool isStack(mlir::Operation *op);

/// Puts tile.to_shared, in their roles, where operands need it. Gives whether the gather role has
/// any of them.
bool stageOperands(mlir::func::FuncOp function, const schedule::Machine &machine);

} // namespace tileloom

#endif // TILELOOM_PASSES_WARP_OPERANDSTAGING_H
