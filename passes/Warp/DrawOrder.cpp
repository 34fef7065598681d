//===- DrawOrder.cpp - In which order tiles are drawn -------------------------------------===//

#include "passes/Warp/DrawOrder.h"

#include "passes/Warp/Projection.h"

using namespace mlir;
using namespace tileloom;
using namespace tileloom::warp;

/// Tiles that are held back, for each CTA.
static constexpr int64_t heldBack = 4;

/// Rows walked together from which on only the last rows hold tiles back: rows are short then, and what their shortest tiles read again costs more than an
/// even end of all parts is worth.
static constexpr int64_t shortRows = 32;

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
  lastOnly = !loop.getGroupSize() && static_cast<int64_t>(loop.getGroup()) >= shortRows;
  if (lastOnly) {
    holdLast(math, ctas);
    return;
  }
  // Rows that have enough of these tiles, in equal parts, each of whole groups.
  Value needed = math.divu(math.mul(ctas, math.constant(heldBack)), math.maxs(late, one));
  Value parts = math.maxs(math.divu(rows, math.maxs(needed, one)), one);
  auto roundUp = [&](Value value, Value by) {
    return math.divu(math.sub(math.add(value, by), one), by);
  };
  together = math.maxs(math.mul(roundUp(roundUp(rows, parts), group), group), one);
  tilesTogether = math.mul(together, columns);
}

void DrawOrder::holdLast(TileMath &math, Value ctas) {
  // The last rows, whole groups, that have enough of these tiles. What they read has left L2 where they are more than a group or two, which
  // costs the more the shorter they are.
  Value one = math.constant(1), two = math.constant(2);
  Value needed = math.divu(math.mul(ctas, math.constant(heldBack)), math.maxs(late, one));
  Value near = math.mul(group, math.maxs(math.divu(late, two), one));
  Value from = math.maxs(math.sub(rows, math.minu(needed, near)), math.constant(0));
  from = math.mul(math.divu(from, group), group);
  before = math.mul(from, columns);
  together = math.maxs(math.sub(rows, from), one);
}

Value DrawOrder::tileOf(Value draw, TileMath &math) const {
  if (!late)
    return draw;
  if (lastOnly) {
    Value rest = math.sub(draw, before);
    // Which draws are of these rows' tiles, and not those of the end: one comparison, as numbers below `before` wrap.
    return math.select(math.below(rest, math.mul(together, columns)), math.add(before, placeIn(rest, together, together, math)), draw);
  }
  Value part = math.divu(draw, tilesTogether);
  Value rest = math.sub(draw, math.mul(part, tilesTogether));
  Value start = math.sub(draw, rest); // the part's first tile
  Value own = math.minu(together, math.sub(rows, math.mul(part, together)));
  Value whole = math.isEqual(own, together);
  Value divisor = math.select(whole, together, math.maxs(math.remu(rows, together), math.constant(1)));
  Value tile = math.add(start, placeIn(rest, own, divisor, math));
  return math.select(math.below(draw, tiles), tile, draw);
}

/// The tile, from the part's first one on, of the draw `rest` of a part of `own` rows; divisor: the same number as `own`, as one that is the same for all draws.
Value DrawOrder::placeIn(Value rest, Value own, Value divisor, TileMath &math) const {
  Value ordinary = math.mul(own, early);

  // Ordinary tiles: those of each group are the first of it.
  Value groupEarly = math.mul(group, early);
  Value index = math.divu(rest, groupEarly);
  Value place = math.sub(rest, math.mul(index, groupEarly));
  Value ordinaryTile = math.add(math.mul(math.mul(index, group), columns), place);

  // Held back: a column of all rows after the other, whose last group can be shorter.
  Value held = math.sub(rest, ordinary);
  Value column = math.divu(held, divisor);
  Value row = math.sub(held, math.mul(column, divisor));
  Value heldGroup = math.divu(row, group);
  Value first = math.mul(heldGroup, group);
  Value groupRows = math.minu(group, math.sub(own, first));
  Value heldTile = math.add(math.mul(first, columns),
                            math.add(math.mul(math.add(early, column), groupRows),
                                     math.sub(row, first)));
  return math.select(math.below(rest, ordinary), ordinaryTile, heldTile);
}
