//===- Exchange.h - Values that warps of a role hand to each other ---------------*- C++ -*-===//
//
// Reductions across warps, and tiles whose elements change warps, go through scratch shared memory:
// written, then a barrier of the role, then read. This says which operations do, and how much each
// needs.
//
//===--------------------------------------------------------------------------------------===//

#ifndef TILELOOM_ANALYSIS_EXCHANGE_H
#define TILELOOM_ANALYSIS_EXCHANGE_H

#include "dialects/NV/NV.h"
#include "tileloom/Layout/ConversionPlan.h"
#include "tileloom/Layout/ReducePlan.h"
#include "tileloom/Layout/SharedLayout.h"

namespace tileloom {

/// Bits that an element takes in scratch memory (i1: a byte).
unsigned scratchBits(mlir::Type element);

/// The layout of the source as one of rank 2 or more: a tile of rank 1 is a row.
llvm::Expected<layout::ReducePlan> reducePlanOf(mlir::RankedTensorType source, unsigned dim);

/// A scan along `dim`: each thread holds `runs` (one for each line of the tile that it has a part
/// of, in order along `dim`); then come `lanes` lanes, `laneStride` apart, then `warps` warps.
struct ScanPlan {
  llvm::SmallVector<llvm::SmallVector<unsigned, 16>, 4> runs;
  int64_t lanes = 1, laneStride = 1, warps = 1, warpStride = 1;
  layout::RegisterLayout lines; // the tile without `dim`; register i: the line of run i
};
llvm::Expected<ScanPlan> scanPlanOf(const layout::RegisterLayout &layout, unsigned dim);
/// A layout for which there is a plan.
nv::BlockedAttr scanLayout(mlir::RankedTensorType type, unsigned dim, int64_t warps);

/// How a tile gets from one layout to another: `from` is the source's as seen in the result's
/// dimensions (of nv.convert_layout or nv.trans).
struct Conversion {
  layout::RegisterLayout from, to;
  layout::ConversionPlan plan;
};
llvm::Expected<Conversion> conversionOf(nv::ConvertLayoutOp op);
llvm::Expected<Conversion> conversionOf(nv::TransOp op);

/// Where the elements lie on the way through scratch memory: swizzled if both sides can address it.
llvm::Expected<layout::SharedLayout>
exchangeLayout(const layout::RegisterLayout &from, const layout::RegisterLayout &to, unsigned bits);
/// Row-major, for a tile that is read in another shape.
llvm::Expected<layout::SharedLayout> rowMajorLayout(llvm::ArrayRef<int64_t> shape, unsigned bits);
/// The registers of the source in the order of the result's, if no element changes threads.
std::optional<llvm::SmallVector<unsigned, 16>> reshapeInThread(nv::ReshapeOp op);

/// Bytes of scratch that an operation needs; 0 for one that needs none.
llvm::Expected<int64_t> scratchBytes(mlir::Operation *op);
/// The scratch that an operation was given, as an operand; null if it takes none.
mlir::MutableOperandRange scratchOperand(mlir::Operation *op);
bool takesScratch(mlir::Operation *op);
/// Whether an operation that takes scratch puts a whole tile there, and not partial results only.
bool exchangesTile(mlir::Operation *op);

} // namespace tileloom

#endif // TILELOOM_ANALYSIS_EXCHANGE_H
