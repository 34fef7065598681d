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
  // The last rows, whole groups, that have enough of these tiles. What they read has left L2 where they are more than a group or two, which
  // costs the more the shorter they are.
  Value two = math.constant(2);
  Value needed = math.divu(math.mul(ctas, math.constant(heldBack)), math.maxs(late, one));
  Value near = math.mul(group, math.maxs(math.divu(late, two), one));
  Value from = math.maxs(math.sub(rows, math.minu(needed, near)), math.constant(0));
  from = math.mul(math.divu(from, group), group);
  before = math.mul(from, columns);
  own = math.maxs(math.sub(rows, from), one);
}

Value DrawOrder::tileOf(Value draw, TileMath &math) const {
  if (!late)
    return draw;
  Value rest = math.sub(draw, before);
  Value ordinary = math.mul(own, early);

  // Ordinary tiles: those of each group are the first of it.
  Value groupEarly = math.mul(group, early);
  Value index = math.divu(rest, groupEarly);
  Value place = math.sub(rest, math.mul(index, groupEarly));
  Value ordinaryTile = math.add(math.mul(math.mul(index, group), columns), place);

  // Held back: a column of all these rows after the other, whose last group can be shorter.
  Value held = math.sub(rest, ordinary);
  Value column = math.divu(held, own);
  Value row = math.sub(held, math.mul(column, own));
  Value heldGroup = math.divu(row, group);
  Value first = math.mul(heldGroup, group);
  Value groupRows = math.minu(group, math.sub(own, first));
  Value heldTile = math.add(math.mul(first, columns),
                            math.add(math.mul(math.add(early, column), groupRows),
                                     math.sub(row, first)));

  Value tile = math.add(before, math.select(math.below(rest, ordinary), ordinaryTile, heldTile));
  // Which draws are of these rows' tiles, and not those of the end: one comparison, as numbers below `before` wrap.
  return math.select(math.below(rest, math.mul(own, columns)), tile, draw);
}
