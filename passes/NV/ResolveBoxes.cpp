//===- ResolveBoxes.cpp - One kernel argument for each shape of box -----------------------===//
//
// In: descriptors seen through other boxes (tile.rebox). Out: none; a descriptor that is only used
// through one other box has that box itself, and each further box is an argument at the end of
// the kernel, marked with the argument whose tensor it shares (`tile.same_as`): the host passes the
// tensor once, and the recipe makes a tensor map for each.
//
//===--------------------------------------------------------------------------------------===//

#include "passes/NV/Passes.h"

#include "dialects/Tile/Tile.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"

namespace tileloom::nv {
#define GEN_PASS_DEF_NVRESOLVEBOXES
#include "passes/NV/Passes.h.inc"
} // namespace tileloom::nv

using namespace mlir;
using namespace tileloom;

namespace {

LogicalResult resolve(func::FuncOp function) {
  SmallVector<tile::ReboxOp> reboxes;
  WalkResult result = function.walk([&](tile::ReboxOp rebox) {
    Value source = rebox.getSource();
    while (auto inner = source.getDefiningOp<tile::ReboxOp>())
      source = inner.getSource();
    auto argument = dyn_cast<BlockArgument>(source);
    if (!argument || argument.getOwner() != &function.getBody().front()) {
      rebox.emitOpError("source: expected a kernel argument, found another value");
      return WalkResult::interrupt();
    }
    rebox.setOperand(argument);
    reboxes.push_back(rebox);
    return WalkResult::advance();
  });
  if (result.wasInterrupted())
    return failure();
  // Of a chain of boxes only the last one is used.
  while (true) {
    auto dead = llvm::find_if(reboxes, [](tile::ReboxOp rebox) { return rebox.use_empty(); });
    if (dead == reboxes.end())
      break;
    dead->erase();
    reboxes.erase(dead);
  }
  Builder builder(function.getContext());
  DenseMap<std::pair<unsigned, Type>, Value> known;
  for (tile::ReboxOp rebox : reboxes) {
    auto argument = cast<BlockArgument>(rebox.getSource());
    unsigned index = argument.getArgNumber();
    Type type = rebox.getType();
    bool own = llvm::all_of(argument.getUsers(), [&](Operation *user) {
      auto other = dyn_cast<tile::ReboxOp>(user);
      return other && other.getType() == type;
    });
    Value &view = known[{index, type}];
    if (!view && (own || argument.getType() == type)) {
      argument.setType(type);
      view = argument;
    }
    if (!view) {
      unsigned place = function.getNumArguments();
      auto attributes = builder.getDictionaryAttr(
          builder.getNamedAttr(tile::sameAsAttrName, builder.getI64IntegerAttr(index)));
      if (failed(function.insertArgument(place, type, attributes, rebox.getLoc())))
        return failure();
      view = function.getArgument(place);
    }
    rebox.replaceAllUsesWith(view);
    rebox.erase();
  }
  function.setType(
      builder.getFunctionType(llvm::to_vector(function.getBody().front().getArgumentTypes()),
                              function.getFunctionType().getResults()));
  return success();
}

struct ResolveBoxes : tileloom::nv::impl::NVResolveBoxesBase<ResolveBoxes> {
  void runOnOperation() override {
    getOperation()->walk([&](func::FuncOp function) {
      if (function->hasAttr(tile::kernelAttrName) && failed(resolve(function)))
        signalPassFailure();
    });
  }
};

} // namespace
