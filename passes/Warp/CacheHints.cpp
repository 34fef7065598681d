//===- CacheHints.cpp - What of a kernel's loads stays in L2 ------------------------------===//

#include "passes/Warp/CacheHints.h"

#include "mlir/Analysis/SliceAnalysis.h"

using namespace mlir;
using namespace tileloom;

nv::CacheHintAttr tileloom::cacheHintOf(tile::LoadOp load, tile::ScheduleAttr schedule) {
  StringRef keep = schedule ? schedule.word("keep").value_or("none") : "none";
  auto tiles = load->getParentOfType<tile::ForEachTileOp>();
  if (keep == "none" || !tiles)
    return {};
  // The last extent is the columns (warp-split-roles).
  SetVector<Operation *> slice;
  BackwardSliceOptions options;
  options.inclusive = true;
  options.filter = [&](Operation *op) { return tiles->isProperAncestor(op); };
  bool rows = false, columns = false;
  Value last = tiles.getBody().front().getArguments().back();
  auto look = [&](Value value) {
    auto argument = dyn_cast<BlockArgument>(value);
    if (argument && argument.getOwner() == &tiles.getBody().front())
      (value == last ? columns : rows) = true;
  };
  for (Value coordinate : load.getCoordinates()) {
    look(coordinate);
    (void)getBackwardSlice(coordinate, &slice, options);
  }
  for (Operation *op : slice)
    llvm::for_each(op->getOperands(), look);
  bool again = keep == "rows" ? !columns : !rows;
  return nv::CacheHintAttr::get(load.getContext(),
                                again ? nv::CacheHint::Last : nv::CacheHint::First);
}
