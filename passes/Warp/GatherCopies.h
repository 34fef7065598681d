//===- GatherCopies.h - Operands that cp.async can fetch ---------------------------*- C++ -*-===//
//
// Tiles that the gather role reads through pointers and writes to shared memory as they are need no
// registers: cp.async moves 4, 8 or 16 bytes, and zeros where a mask is false.
//
//===--------------------------------------------------------------------------------------===//

#ifndef TILELOOM_PASSES_WARP_GATHERCOPIES_H
#define TILELOOM_PASSES_WARP_GATHERCOPIES_H

#include "dialects/NV/NV.h"
#include "dialects/Tile/Tile.h"
#include "tileloom/Analysis/AxisInfo.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tileloom {

class GatherCopies {
public:
  /// Looks for facts about the function as it is now.
  explicit GatherCopies(mlir::func::FuncOp function) : facts(function) {}

  /// Whether `source` is a tile.to_shared of nothing but a read through pointers, of which at least 4
  /// bytes can be moved at a time, with zeros where it is masked off.
  bool takes(mlir::Operation *source) const;

  /// The copy of what takes() accepts to its place in a slot.
  static nv::CpAsyncOp create(mlir::OpBuilder &builder, mlir::Operation *source, mlir::Value view);

private:
  AxisInfoAnalysis facts;
};

} // namespace tileloom

#endif // TILELOOM_PASSES_WARP_GATHERCOPIES_H
