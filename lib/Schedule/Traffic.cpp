//===- Traffic.cpp - What a tile program reads and writes ---------------------------------===//

#include "tileloom/Schedule/Traffic.h"

#include <cmath>

using namespace mlir;

namespace tileloom::schedule {

double tripsOf(scf::ForOp loop, ScalarValues &evaluate) {
  std::optional<double> lower = evaluate(loop.getLowerBound());
  std::optional<double> upper = evaluate(loop.getUpperBound());
  std::optional<double> step = evaluate(loop.getStep());
  if (!lower || !upper || !step || *step <= 0)
    return unknownTrips;
  return std::max(0.0, std::ceil((*upper - *lower) / *step));
}

/// What `value` is computed from. What memory says is one value: nothing is known of how many
/// places an index from a table names. `ends`: bounds of loops; a place that is counted from the
/// end of its loop moves with the loop only.
static void collect(Value value, const llvm::DenseSet<Value> &ends,
                    llvm::DenseSet<Value> &sources) {
  Operation *def = value.getDefiningOp();
  if (!sources.insert(value).second || !def || isa<tile::GatherOp>(def) || ends.contains(value))
    return;
  for (Value operand : def->getOperands())
    collect(operand, ends, sources);
}

/// How many boxes all tiles along `index` (of `count`) and the loops around `op` read between them, by the range of each
/// coordinate at the first and last tile and iterations. None if a coordinate is not known.
static std::optional<double> boxesBetween(tile::LoadOp op, Value index, double count, ScalarValues &evaluate) {
  auto box = dyn_cast<tile::DescType>(op.getDesc().getType());
  if (!box || box.getShape().size() != op.getCoordinates().size())
    return std::nullopt;
  SmallVector<ScalarValues> corners{evaluate.with(index, 0), evaluate.with(index, std::max(count - 1, 0.0))};
  SmallVector<scf::ForOp> loops;
  for (auto loop = op->getParentOfType<scf::ForOp>(); loop; loop = loop->getParentOfType<scf::ForOp>())
    loops.insert(loops.begin(), loop);
  for (scf::ForOp loop : loops)
    for (ScalarValues &corner : llvm::to_vector(corners)) {
      std::optional<double> lower = corner(loop.getLowerBound()), upper = corner(loop.getUpperBound());
      if (!lower || !upper)
        return std::nullopt;
      corners.push_back(corner.with(loop.getInductionVar(), *lower));
      corners.push_back(corner.with(loop.getInductionVar(), std::max(*lower, *upper - 1)));
    }
  corners.erase(corners.begin(), corners.end() - (2 << loops.size()));
  double boxes = 1;
  for (auto [coordinate, extent] : llvm::zip(op.getCoordinates(), box.getShape())) {
    double least = 0, most = 0;
    for (auto [i, corner] : llvm::enumerate(corners)) {
      std::optional<double> value = corner(coordinate);
      if (!value)
        return std::nullopt;
      least = i ? std::min(least, *value) : *value;
      most = i ? std::max(most, *value) : *value;
    }
    boxes *= (most - least) / double(extent) + 1;
  }
  return boxes;
}

void Traffic::add(Operation *op, ScalarValues &evaluate, bool splits, double spread) {
  bool load = isa<tile::LoadOp>(op);
  auto type =
      cast<RankedTensorType>(load ? op->getResult(0).getType() : op->getOperand(0).getType());
  double bytes = double(type.getNumElements()) * type.getElementTypeBitWidth() / 8;
  double row = double(type.getShape().back()) * type.getElementTypeBitWidth() / 8;
  Box box{load, splits, splits && row < 256, false, false, bytes, bytes, spread};
  double total = bytes;
  llvm::DenseSet<Value> ends, sources;
  for (auto loop = op->getParentOfType<scf::ForOp>(); loop;
       loop = loop->getParentOfType<scf::ForOp>())
    ends.insert(loop.getUpperBound());
  for (Value operand : op->getOperands())
    if (operand.getType().isInteger(32))
      collect(operand, ends, sources);
  for (Operation *parent = op->getParentOp(); !isa<func::FuncOp>(parent);
       parent = parent->getParentOp()) {
    if (auto loop = dyn_cast<scf::ForOp>(parent)) {
      double trips = tripsOf(loop, evaluate);
      double own = sources.contains(loop.getInductionVar()) ? trips : 1;
      total *= trips;
      box.distinct *= own;
      box.tile *= own;
    } else if (isa<scf::WhileOp>(parent)) { // each time another box
      total *= unknownTrips;
      box.distinct *= unknownTrips;
      box.tile *= unknownTrips;
    } else if (auto tiles = dyn_cast<tile::ForEachTileOp>(parent)) {
      auto indices = tiles.getBody().getArguments();
      for (auto [index, extent] : llvm::zip(indices, tiles.getExtents())) {
        double count = evaluate(extent).value_or(1);
        bool used = sources.contains(index);
        total *= count;
        box.distinct *= used ? count : 1;
        if (used)
          (index == indices.back() ? box.byColumn : box.byRow) = true;
      }
    }
  }
  // Tiles of the last extent that read nearly the same (windows over rows) share it.
  if (load && box.byColumn && op->getParentOfType<scf::ForOp>()) {
    auto tiles = op->getParentOfType<tile::ForEachTileOp>();
    Value last = tiles.getBody().getArguments().back();
    double columns = std::max(evaluate(tiles.getExtents().back()).value_or(1), 1.0), each = box.tile / bytes;
    std::optional<double> boxes = boxesBetween(cast<tile::LoadOp>(op), last, columns, evaluate);
    if (boxes && *boxes * 2 < columns * each) {
      box.distinct *= *boxes / (columns * each);
      box.byColumn = false;
    }
  }
  if (load) {
    all += total;
    auto loop = op->getParentOfType<scf::ForOp>();
    if (isStreamed(op))
      perTile += bytes * (loop ? tripsOf(loop, evaluate) : unknownTrips);
  }
  boxes.push_back(box);
}

double Traffic::distinctOf(bool byRow, bool byColumn) const {
  double sum = 0;
  for (const Box &box : boxes)
    sum += box.load && box.byRow == byRow && box.byColumn == byColumn ? box.distinct : 0;
  return sum;
}

double Traffic::dram(const Order &order) const {
  double together = std::clamp(order.together, 1.0, std::max(order.rows, 1.0));
  double columnsAtOnce = std::max(1.0, order.atOnce / together);
  double column = 0, section = 0; // bytes between two uses
  for (const Box &box : boxes) {
    if (!box.load || box.byRow == box.byColumn)
      continue;
    column += box.tile * (box.byRow ? together : columnsAtOnce);
    section += box.tile * (box.byRow ? together : order.columns);
  }
  double rowTimes = column < order.cacheBytes ? 1 : std::max(1.0, order.columns / columnsAtOnce);
  double columnTimes = section < order.cacheBytes ? 1 : std::ceil(order.rows / together);
  double sum = 0;
  for (const Box &box : boxes) {
    bool again = box.load && box.byRow != box.byColumn;
    sum += box.distinct * (!again ? 1 : box.byRow ? rowTimes : columnTimes) * (box.load ? 1 : box.spread);
  }
  return sum;
}

/// Rows (slices of them, too) and columns of tiles that `count` neighbours in the order of the work have.
static std::pair<double, double> rowsAndColumns(const Traffic::Order &order, double count) {
  double allRows = std::max(order.rows, 1.0) * order.slices, allColumns = std::max(order.columns, 1.0);
  double rows = std::min({count, order.together * order.slices, allRows});
  double columns = std::clamp(count / rows, 1.0, allColumns);
  if (columns == allColumns)
    rows = std::min(count / columns, allRows);
  return {std::max(rows, 1.0), columns};
}

constexpr double neighbours = 16; // about the SMs of a GPC

double Traffic::apart(const Order &order) const {
  auto [rows, columns] = rowsAndColumns(order, neighbours);
  double sum = 0;
  for (const Box &box : boxes) {
    if (!box.load || box.byRow == box.byColumn)
      continue;
    // By how many groups of neighbours each byte is read.
    double groups = box.byRow ? order.columns / columns : order.rows / rows * std::min(rows, order.slices);
    sum += box.distinct * std::clamp(groups - 1, 0.0, 1.0);
  }
  return sum;
}

double Traffic::fetched(const Order &order) const {
  auto [rows, columns] = rowsAndColumns(order, neighbours);
  double groups = std::max(order.rows * order.columns * order.slices / (rows * columns), 1.0), sum = 0;
  for (const Box &box : boxes) {
    double read = box.tile / order.slices * (box.byRow ? rows : std::min(rows, order.slices)) * (box.byColumn ? columns : 1);
    sum += box.load ? groups * read * box.spread : box.distinct * box.spread;
  }
  return sum;
}

double Traffic::workingSet(const Order &order) const {
  auto [rows, columns] = rowsAndColumns(order, order.atOnce * order.slices);
  double sum = 0;
  for (const Box &box : boxes)
    if (box.load)
      sum += box.tile * (box.byRow ? rows / order.slices : 1) * (box.byColumn ? columns : 1);
  return sum;
}

Keep Traffic::keep(const Order &order) const {
  // Streams of 12 to 300 MB gained 3 to 15 % (H200), longer and shorter ones nothing. Lines that rows split are asked for twice, by
  // neighbours in K. Where one or two rows of tiles read each (M up to 128), streams of 17 MB on gained as much; where more do, the
  // second half is often evicted before: up to 13 % lost, but for two lines of a row at a time (71 and 129 MB: 6 and 8 % gained, less: up
  // to 3 % lost). All as multiples of what tiles find again in L2, 32 MB there.
  double most = 9.375 * order.cacheBytes;
  auto any = [&](auto which) { return llvm::any_of(boxes, [&](const Box &box) { return box.load && which(box); }); };
  bool splits = any([](const Box &box) { return box.splits; }), halves = any([](const Box &box) { return box.halves; });
  double byRow = distinctOf(true, false), byColumn = distinctOf(false, true);
  double together = std::clamp(order.together, 1.0, std::max(order.rows, 1.0));
  auto pays = [&](double kept, double streamed, bool few) {
    double least = !splits ? 0.375 : few ? 0.55 : 1.875;
    return kept > 0 && streamed >= 8 * kept && streamed >= least * order.cacheBytes && streamed <= most && (few || !halves);
  };
  if (order.rows <= together && pays(byRow, byColumn, order.rows <= 2))
    return Keep::Rows;
  if (order.columns <= std::max(1.0, order.atOnce / together) && pays(byColumn, byRow, false))
    return Keep::Columns;
  return Keep::None;
}

} // namespace tileloom::schedule
