//===- DrawOrder.cpp - In which order tiles are drawn -------------------------------------===//

#include "passes/Warp/DrawOrder.h"

#include "passes/Warp/Projection.h"

using namespace mlir;
using namespace tileloom;
using namespace tileloom::warp;

/// Tiles that are held back, for each CTA.
static constexpr int64_t heldBack = 4;

DrawOrder::DrawOrder(ForEachTileOp loop, Value ctas) : columns(loop.getN()), rows(loop.getM()) {
  OpBuilder builder(loop);
  TileMath math{builder, loop.getLoc()};
  tiles = math.mul(rows, columns);
  auto share = loop->getAttrOfType<IntegerAttr>(holdBackAttrName);
  if (!share)
    return;
  Value one = math.constant(1);
  group = loop.getGroupSize() ? loop.getGroupSize() : math.constant(loop.getGroup());
  late = math.divu(columns, math.constant(share.getInt()));
  early = math.maxs(math.sub(columns, late), one);
  // Rows that have enough of these tiles, in equal parts, each of whole groups.
  Value needed = math.divu(math.mul(ctas, math.constant(heldBack)), math.maxs(late, one));
  Value parts = math.maxs(math.divu(rows, math.maxs(needed, one)), one);
  auto roundUp = [&](Value value, Value by) {
    return math.divu(math.sub(math.add(value, by), one), by);
  };
  together = math.maxs(math.mul(roundUp(roundUp(rows, parts), group), group), one);
  tilesTogether = math.mul(together, columns);
}

Value DrawOrder::tileOf(Value draw, TileMath &math) const {
  if (!late)
    return draw;
  Value part = math.divu(draw, tilesTogether);
  Value rest = math.sub(draw, math.mul(part, tilesTogether));
  Value start = math.sub(draw, rest); // the part's first tile
  Value own = math.minu(together, math.sub(rows, math.mul(part, together)));
  Value ordinary = math.mul(own, early);
  Value groupTiles = math.mul(group, columns);

  // Ordinary tiles: those of each group are the first of it.
  Value groupEarly = math.mul(group, early);
  Value index = math.divu(rest, groupEarly);
  Value place = math.sub(rest, math.mul(index, groupEarly));
  Value ordinaryTile = math.add(math.mul(index, groupTiles), place);

  // Held back: a column of all rows after the other, whose last group can be shorter.
  Value held = math.sub(rest, ordinary);
  Value whole = math.isEqual(own, together);
  Value divisor = math.select(whole, together, math.maxs(math.remu(rows, together), math.constant(1)));
  Value column = math.divu(held, divisor);
  Value row = math.sub(held, math.mul(column, divisor));
  Value heldGroup = math.divu(row, group);
  Value first = math.mul(heldGroup, group);
  Value groupRows = math.minu(group, math.sub(own, first));
  Value heldTile = math.add(math.mul(heldGroup, groupTiles),
                            math.add(math.mul(math.add(early, column), groupRows),
                                     math.sub(row, first)));

  Value tile = math.add(start, math.select(math.below(rest, ordinary), ordinaryTile, heldTile));
  return math.select(math.below(draw, tiles), tile, draw);
}
