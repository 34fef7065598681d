//===- Products.h - Products of tiles to the tensor core of a target -------------*- C++ -*-===//
//
// What warp-insert-rings needs to know about products: where their operands live, when an operand
// has been read, and which operations they become.
//
//===--------------------------------------------------------------------------------------===//

#ifndef TILELOOM_PASSES_WARP_PRODUCTS_H
#define TILELOOM_PASSES_WARP_PRODUCTS_H

#include "dialects/NV/NV.h"
#include "dialects/Tile/Tile.h"
#include "dialects/Warp/Warp.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"

namespace tileloom {

/// The view in shared or tensor memory of a tile of this type.
nv::MemDescType memoryType(mlir::RankedTensorType type,
                           nv::MemorySpace space = nv::MemorySpace::Smem);

/// Columns of a piece in which a tile is staged for its store.
int64_t pieceColumns(mlir::RankedTensorType type, tile::ScheduleAttr schedule, bool tensorMemory);

class ProductLowering {
public:
  ProductLowering(mlir::func::FuncOp function, bool tensorMemory);

  /// Whether a loaded operand should be read to registers where it arrives.
  bool operandInRegisters(tile::LoadOp load);
  /// The role that performs `user`.
  mlir::StringAttr roleOfUser(mlir::Operation *user);
  /// Says where a loaded tile lives.
  void setMemory(mlir::Value tile, mlir::Value view) { memory[tile] = view; }
  /// Replaces all products.
  mlir::LogicalResult lower();
  /// The operation after which what `user` did with a slot is over, and in `kind` what completes
  /// it; null if it read the slot's contents from registers.
  mlir::Operation *endOf(mlir::Operation *user, mlir::Value token, warp::ReleaseKind &kind);

  /// Erases the products that lower() has replaced.
  void eraseProducts();

private:
  mlir::FailureOr<mlir::Value> memoryOf(mlir::OpBuilder &builder, mlir::Value operand);
  mlir::LogicalResult lowerToWgmma(tile::DotOp dot);
  mlir::LogicalResult lowerToTensorMemory(tile::DotOp dot);
  /// mma.sync, whose operands and sum are in the registers of the one role.
  mlir::LogicalResult lowerToRegisters(tile::DotOp dot);

  mlir::func::FuncOp function;
  bool tensorMemory;
  llvm::DenseMap<mlir::Value, mlir::Value> memory;
  llvm::DenseMap<mlir::Operation *, mlir::Operation *> ends; // product -> its end
};

} // namespace tileloom

#endif // TILELOOM_PASSES_WARP_PRODUCTS_H
