//===- WrittenMemory.h - Memory that a kernel reads and writes through pointers ---*- C++ -*-===//
//
// A read of memory is repeated by every role that needs it. That is right only as long as no other role
// writes there: nothing orders the accesses of two roles but rings.
//
//===--------------------------------------------------------------------------------------===//

#ifndef TILELOOM_PASSES_WARP_WRITTENMEMORY_H
#define TILELOOM_PASSES_WARP_WRITTENMEMORY_H

#include "dialects/Tile/Tile.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tileloom {

/// What a kernel writes through pointers, by the arguments that the pointers come from. Different
/// arguments are different memory.
class WrittenMemory {
public:
  explicit WrittenMemory(mlir::func::FuncOp kernel);

  /// The first operation that may write what `gather` reads, of those that `counts` holds for.
  mlir::Operation *writerOf(tile::GatherOp gather,
                            llvm::function_ref<bool(mlir::Operation *)> counts) const;
  bool isWritten(tile::GatherOp gather) const;

private:
  /// Arguments that an address is computed from; empty if it comes from memory.
  using Bases = llvm::SmallVector<mlir::Value, 2>;
  static Bases basesOf(mlir::Value pointer);

  llvm::SmallVector<std::pair<mlir::Operation *, Bases>> writers;
};

} // namespace tileloom

#endif // TILELOOM_PASSES_WARP_WRITTENMEMORY_H
