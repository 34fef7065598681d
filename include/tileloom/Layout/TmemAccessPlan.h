//===- TmemAccessPlan.h - Register tiles to and from tensor memory ----------===//
//
// Covers RegisterLayout::tmem with tcgen05.ld or tcgen05.st instructions of the largest legal
// counts.
//
//===----------------------------------------------------------------------===//
#ifndef TILELOOM_LAYOUT_TMEMACCESSPLAN_H
#define TILELOOM_LAYOUT_TMEMACCESSPLAN_H

#include "tileloom/Layout/RegisterLayout.h"

namespace tileloom::layout {

/// One instruction: SHAPE.xCOUNT at lane + laneOffset, column + columnOffset.
struct TmemAccess {
  unsigned count = 1; ///< N of .xN
  unsigned laneOffset = 0, columnOffset = 0;
  /// The instruction's 32-bit registers in order, each as its element registers, lowest bits first.
  llvm::SmallVector<llvm::SmallVector<unsigned, 4>, 8> words;
};

struct TmemAccessPlan {
  llvm::SmallVector<TmemAccess, 4> accesses;
  /// Warpgroup g of the CTA adds g times this to the column.
  unsigned columnsPerWarpgroup = 0;
};

/// For the layout RegisterLayout::tmem(shape, extents, warps, elementBits). `maxWords` bounds the
/// 32-bit registers of one instruction (at most 128), so that code generation can interleave waits.
llvm::Expected<TmemAccessPlan> tmemAccessPlan(TmemShape shape, llvm::ArrayRef<int64_t> extents,
                                              unsigned warps, unsigned elementBits = 32,
                                              unsigned maxWords = 128);

} // namespace tileloom::layout

#endif // TILELOOM_LAYOUT_TMEMACCESSPLAN_H
