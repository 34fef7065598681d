//===- SlotStorage.h - The memory of a buffer's slots ----------------------------*- C++ -*-===//

#ifndef TILELOOM_PASSES_NV_SLOTSTORAGE_H
#define TILELOOM_PASSES_NV_SLOTSTORAGE_H

#include "dialects/Warp/Warp.h"

#include "mlir/IR/Builders.h"

namespace tileloom {

/// Storage of a buffer: one allocation of equal slots.
struct SlotStorage {
  mlir::Value base; // none for slots that hold nothing
  mlir::StringAttr name;
  int64_t depth = 0, stride = 0; // bytes, in tensor memory columns
  bool perReplica = false, tensorMemory = false;
  llvm::SmallVector<int64_t> offsets; // of the views in a slot
};

/// Replicas of the role that uses a ring, or the rings over a buffer; the most if there are
/// several.
int64_t replicasOf(mlir::Value ringOrBuffer);

/// Makes the allocation of a buffer in shared or tensor memory at the builder's place. The slots'
/// views have layouts.
mlir::FailureOr<SlotStorage> allocateSlots(mlir::OpBuilder &builder, warp::BufferOp buffer,
                                           mlir::StringAttr name);

} // namespace tileloom

#endif // TILELOOM_PASSES_NV_SLOTSTORAGE_H
