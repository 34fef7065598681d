//===- Projection.h - Names shared by the passes that make roles -----------------*- C++ -*-===//
//
// Between warp-partition and warp-split-roles a kernel is still one sequential program, whose
// operations carry the role that will perform them.
//
//===--------------------------------------------------------------------------------------===//

#ifndef TILELOOM_PASSES_WARP_PROJECTION_H
#define TILELOOM_PASSES_WARP_PROJECTION_H

#include "dialects/Tile/Tile.h"
#include "dialects/Warp/Warp.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tileloom {

inline constexpr llvm::StringLiteral loadRole = "load", mathRole = "math", mmaRole = "mma",
                                     mainRole = "main", gatherRole = "gather";

/// The schedule of the kernel around `op`; null if it has none.
inline tile::ScheduleAttr scheduleOf(mlir::Operation *op) {
  auto function = op->getParentOfType<mlir::func::FuncOp>();
  return function ? function->getAttrOfType<tile::ScheduleAttr>(tile::scheduleAttrName)
                  : tile::ScheduleAttr();
}

/// Whether the kernel was written with roles.
inline bool isAlreadySplit(mlir::func::FuncOp function) {
  return function.walk([](warp::SpecializeOp) { return mlir::WalkResult::interrupt(); })
      .wasInterrupted();
}

} // namespace tileloom

#endif // TILELOOM_PASSES_WARP_PROJECTION_H
