//===- LayoutFlow.h - How layouts spread through a role --------------------------*- C++ -*-===//
//
// Layouts flow from where they are given through element-wise code, slices, reductions and the
// values that loops and branches carry, forwards and backwards, first come first served. They stop
// at nv.convert_layout, and they do not leave values that are cheap to make again for their other
// users.
//
//===--------------------------------------------------------------------------------------===//

#ifndef TILELOOM_PASSES_NV_LAYOUTFLOW_H
#define TILELOOM_PASSES_NV_LAYOUTFLOW_H

#include "dialects/Warp/Warp.h"

#include "llvm/ADT/MapVector.h"

namespace tileloom::nv {

inline bool isTile(mlir::Value value) { return mlir::isa<mlir::RankedTensorType>(value.getType()); }

inline mlir::RankedTensorType withLayout(mlir::Type type, mlir::Attribute layout) {
  auto tensor = mlir::cast<mlir::RankedTensorType>(type);
  return mlir::RankedTensorType::get(tensor.getShape(), tensor.getElementType(), layout);
}

inline mlir::Attribute layoutOf(mlir::Value value) {
  return mlir::cast<mlir::RankedTensorType>(value.getType()).getEncoding();
}

/// Made of nothing: constants, splats, indices, poison.
bool isLeaf(mlir::Operation *op);

class LayoutFlow {
public:
  explicit LayoutFlow(int64_t warps) : warps(warps) {}

  /// Gives a tile its layout, unless it has one.
  void assign(mlir::Value value, mlir::Attribute layout);
  /// Spreads what was assigned.
  void run();
  /// None so far?
  mlir::Attribute lookup(mlir::Value value) const { return layouts.lookup(value); }
  /// A layout for what nothing else decides. pieces: extents of what is taken out of such a tile, which every thread has to hold in whole registers.
  mlir::Attribute fallback(mlir::RankedTensorType type, llvm::ArrayRef<int64_t> pieces) const;
  /// From now on layouts leave leaves too.
  void leaveLeaves() { fromLeaves = true; }
  /// Writes the layouts into the types.
  void apply();

private:
  void assignAliases(mlir::Value value, mlir::Attribute layout);
  void propagateToUser(mlir::OpOperand &use, mlir::Attribute layout);
  void propagateThrough(mlir::Operation *op, mlir::Attribute layout, unsigned index, bool forward);

  llvm::MapVector<mlir::Value, mlir::Attribute> layouts;
  llvm::SmallVector<mlir::Value> worklist;
  int64_t warps;
  bool fromLeaves = false;
};

} // namespace tileloom::nv

#endif // TILELOOM_PASSES_NV_LAYOUTFLOW_H
