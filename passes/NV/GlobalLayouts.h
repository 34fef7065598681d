//===- GlobalLayouts.h - Layouts for accesses to global memory -------------------*- C++ -*-===//
//
// An access to global memory wants neighbours in memory in one thread (up to 16 bytes) and the next
// ones in the next lane. Every access is set apart from the code around it by an nv.convert_layout,
// which goes away again where the layout that the surroundings have is good enough, or where they
// have none and take the access's.
//
//===--------------------------------------------------------------------------------------===//

#ifndef TILELOOM_PASSES_NV_GLOBALLAYOUTS_H
#define TILELOOM_PASSES_NV_GLOBALLAYOUTS_H

#include "passes/NV/LayoutFlow.h"
#include "tileloom/Analysis/AxisInfo.h"

namespace tileloom::nv {

class GlobalLayouts {
public:
  /// Finds the accesses of the role, notes on each how many neighbours it can move together
  /// (`nv.run`), and sets it apart.
  explicit GlobalLayouts(warp::RoleOp role);
  /// Gives the accesses their layouts, the largest tiles first.
  void assign(LayoutFlow &flow);

private:
  struct Access {
    mlir::Operation *op;
    size_t number;                       // in program order
    mlir::RankedTensorType tile;         // of the elements
    mlir::Value near;                    // a value of the access itself
    mlir::Value far;                     // the same on the other side of the conversion
    llvm::SmallVector<int64_t, 2> order; // dimensions, the most contiguous first
    int64_t run = 1;
  };

  void add(mlir::Operation *op, mlir::Type elementType, mlir::Value pointer, mlir::Value offset,
           mlir::Value mask, const AxisInfoAnalysis &facts);
  mlir::Attribute preferred(const Access &access);

  warp::RoleOp role;
  llvm::SmallVector<Access> accesses;
};

} // namespace tileloom::nv

#endif // TILELOOM_PASSES_NV_GLOBALLAYOUTS_H
