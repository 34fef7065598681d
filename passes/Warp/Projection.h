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

/// String attribute of an operation: the role that performs it.
inline constexpr llvm::StringLiteral inAttrName = "warp.in";
/// Array of strings on a function: its roles, in order.
inline constexpr llvm::StringLiteral rolesAttrName = "warp.roles";

/// On warp.for_each_tile of all roles: "dynamic" where CTAs draw tiles from a counter.
inline constexpr llvm::StringLiteral schedulerAttrName = "warp.scheduler";
/// On for_each_tile whose tiles are drawn and get shorter along a row: 4 holds the last quarter of each
/// row back, see DrawOrder.
inline constexpr llvm::StringLiteral holdBackAttrName = "warp.hold_back";

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
