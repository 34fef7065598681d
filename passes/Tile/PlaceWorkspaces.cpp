//===- PlaceWorkspaces.cpp - Workspaces as arguments --------------------------------------===//
//
// In: tile.workspace anywhere in a kernel. Out: an argument for each behind the kernel's own, with the size as
// a recipe expression, so that the runtime gives the memory: the same one to all CTAs and all tiles. Sizes are
// known before the launch, so they must be made of constants and of the kernel's integer arguments.
//
//===--------------------------------------------------------------------------------------===//

#include "passes/Tile/Passes.h"

#include "dialects/Tile/Kernel.h"
#include "dialects/Tile/Tile.h"
#include "tileloom/Analysis/AxisInfo.h"
#include "tileloom/Analysis/HostExpression.h"
#include "tileloom/Analysis/Roles.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"

namespace tileloom::tile {
#define GEN_PASS_DEF_TILEPLACEWORKSPACES
#include "passes/Tile/Passes.h.inc"
} // namespace tileloom::tile

using namespace mlir;
using namespace tileloom;
using namespace tileloom::tile;

namespace {

LogicalResult place(WorkspaceOp op) {
  auto kernel = op->getParentOfType<func::FuncOp>();
  if (!kernel || !kernel->hasAttr(kernelAttrName))
    return op.emitOpError("expected to be in a kernel (a function with '") << kernelAttrName << "')";
  Attribute bytes = hostExpression(op.getBytes());
  if (!bytes)
    return op.emitOpError("bytes: expected a number that the host can compute from the kernel's arguments, found one that it cannot");
  Builder builder(op.getContext());
  NamedAttrList attributes;
  attributes.set(pointerAttrName, op.getElementAttr());
  attributes.set(nv::workspaceAttrName, bytes);
  attributes.set(divisibilityAttrName, builder.getI32IntegerAttr(256));
  if (!op.getZero())
    attributes.set(nv::unsetAttrName, builder.getUnitAttr());
  unsigned index = kernel.getNumArguments();
  if (failed(kernel.insertArgument(index, builder.getI64Type(), attributes.getDictionary(op.getContext()), op.getLoc())))
    return failure();
  op.getPointer().replaceAllUsesWith(kernel.getArgument(index));
  op.erase();
  return success();
}

struct PlaceWorkspaces : tile::impl::TilePlaceWorkspacesBase<PlaceWorkspaces> {
  void runOnOperation() override {
    SmallVector<WorkspaceOp> found;
    getOperation()->walk([&](WorkspaceOp op) { found.push_back(op); });
    for (WorkspaceOp op : found)
      if (failed(place(op)))
        return signalPassFailure();
  }
};

} // namespace
