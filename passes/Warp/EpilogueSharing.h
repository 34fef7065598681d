//===- EpilogueSharing.h - A tile's results over its operands' slots ---------------*- C++ -*-===//
//
// In a kernel whose roles do one tile, what is written after the loop of products (exchanges between
// warps, results on their way out) may lie where the operands were, once all threads that used these
// know that they are done. Planned here, and proved on the rings; allocation proves it again.
//
//===--------------------------------------------------------------------------------------===//

#ifndef TILELOOM_PASSES_WARP_EPILOGUESHARING_H
#define TILELOOM_PASSES_WARP_EPILOGUESHARING_H

#include "dialects/Warp/Warp.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"

namespace tileloom {

class EpilogueSharing {
public:
  /// `streams`: buffers that feed loops; `buffers`: others in shared memory; `exchanges`: operations
  /// that will take scratch.
  EpilogueSharing(mlir::func::FuncOp function, llvm::ArrayRef<warp::BufferOp> streams,
                  llvm::ArrayRef<warp::BufferOp> buffers,
                  llvm::ArrayRef<mlir::Operation *> exchanges);

  /// What is used by the epilogue alone.
  llvm::ArrayRef<warp::BufferOp> lateBuffers() const { return buffers; }
  bool lateExchanges() const { return !exchanges.empty(); }

  /// Lets all who read the streams and all who do the epilogue meet between the two, and gives whether the
  /// rings then prove that these share no time. If not, nothing has changed.
  bool arrange();

private:
  mlir::func::FuncOp function;
  llvm::ArrayRef<warp::BufferOp> streams;
  warp::RoleOp role;                // that has the epilogue
  mlir::Operation *first = nullptr; // of it
  llvm::MapVector<mlir::Operation *, mlir::Operation *> lastUse; // of a stream, by role
  llvm::SmallVector<warp::BufferOp> buffers;
  llvm::SmallVector<mlir::Operation *> exchanges;

  bool proved() const;
};

} // namespace tileloom

#endif // TILELOOM_PASSES_WARP_EPILOGUESHARING_H
