//===- Lifetimes.h - Which storage of a kernel can have the same bytes ------------*- C++ -*-===//
//
// Two storages can share bytes if every use of one is over, and known to be by all threads of the
// role concerned, before any use of the other begins, in every interleaving of the roles. That is
// decided on traces of the roles for the trip counts that ring verification tries.
//
//===--------------------------------------------------------------------------------------===//

#ifndef TILELOOM_ANALYSIS_LIFETIMES_H
#define TILELOOM_ANALYSIS_LIFETIMES_H

#include "dialects/Warp/Warp.h"

namespace tileloom {

struct Lifetimes {
  /// Buffers of rings (warp.buffer), and roles for the scratch of their replicas.
  llvm::SmallVector<mlir::Operation *> storages;
  /// Pairs of them, the smaller index first, that are never used at the same time.
  llvm::SmallVector<std::pair<int64_t, int64_t>> apart;
};

/// `scratchUsers`: the operations that use their role's scratch. No pair is apart in kernels of
/// clusters, or where a role cannot be traced.
Lifetimes findLifetimes(warp::SpecializeOp specialize,
                        llvm::ArrayRef<mlir::Operation *> scratchUsers);

} // namespace tileloom

#endif // TILELOOM_ANALYSIS_LIFETIMES_H
