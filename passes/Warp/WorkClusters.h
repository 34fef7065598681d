//===- WorkClusters.h - Synchronous work in clusters ------------------------------*- C++ -*-===//
//
// The operations between two waits, put together as far as they are done together, with what each
// cluster costs on the unit that has most to do.
//
//===--------------------------------------------------------------------------------------===//

#ifndef TILELOOM_PASSES_WARP_WORKCLUSTERS_H
#define TILELOOM_PASSES_WARP_WORKCLUSTERS_H

#include "RowPieces.h"

namespace tileloom::warp {

/// Element-wise operations that feed one another, or one operation.
struct Cluster {
  llvm::SmallVector<mlir::Operation *> ops; // the last one gives the result
  bool kept = false;                        // not sliced
  bool elementwise = false;                 // and of two dimensions
  bool critical = false;                    // on the unit with most to do, of whole rows
  bool chunked = false;                     // comes in two chunks of columns in the last slot
  double criticalBusy = 0, otherBusy = 0;

  mlir::Value result() const { return ops.back()->getResult(0); }
};

/// All values from outside that an operation uses, those in its regions included.
llvm::SmallVector<mlir::Value> valuesUsedBy(mlir::Operation *op);

struct WorkClusters {
  llvm::SmallVector<mlir::Operation *> sliced; // in program order
  llvm::SmallVector<Cluster> clusters;         // in program order of their last operations
  llvm::DenseMap<mlir::Operation *, unsigned> clusterOf;

  /// False if there is nothing to slice, or no unit to keep busy.
  bool collect(nv::WgmmaWaitOp start, nv::WgmmaWaitOp retire, const RowPieces &pieces);
  /// Of tiles of `columns` columns, what is critical is chunked, with the element-wise work and the folds
  /// behind it.
  void chooseChunks(int64_t columns);

  bool isSliced(mlir::Operation *op) const { return llvm::is_contained(sliced, op); }
  /// Calls `visit` with the clusters that the operands of `cluster` come from.
  void forEachSource(const Cluster &cluster, llvm::function_ref<void(unsigned)> visit) const;

private:
  void addClusters(llvm::ArrayRef<mlir::Operation *> kept, nv::WgmmaWaitOp start,
                   nv::WgmmaWaitOp retire, const RowPieces &pieces);
  bool findCritical(int64_t columns);
};

} // namespace tileloom::warp

#endif // TILELOOM_PASSES_WARP_WORKCLUSTERS_H
