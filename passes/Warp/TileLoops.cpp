//===- TileLoops.cpp - What all expansions of for_each_tile share -------------------------===//

#include "passes/Warp/TileLoops.h"

#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace tileloom;
using namespace tileloom::warp;

/// The extents of the tile grid as recipe expressions (docs/recipe.md), for the host to size the
/// launch: an item of the loop is the work of a cluster.
static void recordTiles(ForEachTileOp tileLoop, FunctionOpInterface function) {
  Builder builder(tileLoop.getContext());
  SmallVector<Attribute> extents;
  for (Value extent : {tileLoop.getM(), tileLoop.getN()}) {
    APInt constant;
    auto argument = dyn_cast<BlockArgument>(extent);
    if (matchPattern(extent, m_ConstantInt(&constant)))
      extents.push_back(builder.getI64IntegerAttr(constant.getSExtValue()));
    else if (argument && argument.getOwner()->getParentOp() == function)
      extents.push_back(builder.getDictionaryAttr(
          builder.getNamedAttr("argument", builder.getI64IntegerAttr(argument.getArgNumber()))));
    else
      return; // computed on the device: the host launches the whole machine
  }
  auto launch = function->getAttrOfType<LaunchAttr>(launchAttrName);
  if (launch && launch.getCluster() > 1)
    extents.push_back(builder.getI64IntegerAttr(launch.getCluster()));
  function->setAttr(nv::tilesAttrName, builder.getArrayAttr(extents));
}

/// Moves scalar code that is the same for all tiles before the loop: bounds are then seen to be.
static void hoistInvariants(ForEachTileOp tileLoop) {
  for (Operation &op : llvm::make_early_inc_range(tileLoop.getBody().front())) {
    bool fixed = isPure(&op) && op.getNumRegions() == 0 && op.getNumResults() == 1 &&
                 op.getResult(0).getType().isIntOrIndex() &&
                 llvm::none_of(op.getOperands(), [&](Value operand) {
                   return tileLoop.getBody().isAncestor(operand.getParentRegion());
                 });
    if (fixed)
      op.moveBefore(tileLoop);
  }
}

void tileloom::prepareTileLoop(ForEachTileOp loop) {
  hoistInvariants(loop);
  if (auto function = loop->getParentOfType<FunctionOpInterface>())
    recordTiles(loop, function);
}

std::pair<Value, Value> tileloom::placeOfTile(ForEachTileOp tileLoop, Value tile, TileMath &math) {
  Value i, j;
  if (!tileLoop.getGroupSize() && tileLoop.getGroup() == 1) {
    i = math.divu(tile, tileLoop.getN());
    j = math.sub(tile, math.mul(i, tileLoop.getN()));
  } else {
    Value group = tileLoop.getGroupSize() ? tileLoop.getGroupSize()
                                          : math.constant(tileLoop.getGroup());
    Value perGroup = math.mul(group, tileLoop.getN());
    Value index = math.divu(tile, perGroup);
    Value first = math.mul(index, group);
    Value rest = math.sub(tile, math.mul(index, perGroup));
    // One of two numbers that are the same for all tiles, so that no division is left.
    Value whole = math.notAbove(math.add(first, group), tileLoop.getM());
    Value rows = math.select(whole, group, math.remu(tileLoop.getM(), group));
    j = math.divu(rest, rows);
    i = math.add(first, math.sub(rest, math.mul(j, rows)));
  }
  return {i, j};
}

void tileloom::runTile(ForEachTileOp tileLoop, std::pair<Value, Value> place, OpBuilder &builder) {
  Block &body = tileLoop.getBody().front();
  body.getArgument(0).replaceAllUsesWith(place.first);
  body.getArgument(1).replaceAllUsesWith(place.second);
  builder.getInsertionBlock()->getOperations().splice(builder.getInsertionPoint(), body.getOperations());
}
