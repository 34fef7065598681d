//===- RingLoads.h - Loads into a slot and the mbarrier they count on ------------*- C++ -*-===//
//
// A slot that TMA loads fill is handed over when their bytes have come: one arrival, just before
// the first load, expects the bytes of all of them, and each names the mbarrier that it completes
// on.
//
//===--------------------------------------------------------------------------------------===//

#ifndef TILELOOM_PASSES_NV_RINGLOADS_H
#define TILELOOM_PASSES_NV_RINGLOADS_H

#include "dialects/Warp/Warp.h"

#include "mlir/IR/Builders.h"

namespace tileloom {

/// Lowers a release of kind `tma`; `barrier` makes the slot's mbarrier at the builder's place. The
/// loads have to be in the release's block.
/// - Loads that CTAs send each other (multicast) together fill every view that they load into: its
/// bytes are expected whole.
/// - For a pair whose even CTA waits, that CTA expects the bytes of both, and the loads of both
/// complete there.
mlir::LogicalResult completeLoads(mlir::OpBuilder &builder, warp::ReleaseOp release,
                                  llvm::function_ref<mlir::Value()> barrier);

} // namespace tileloom

#endif // TILELOOM_PASSES_NV_RINGLOADS_H
