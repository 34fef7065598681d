//===- CostModel.cpp - How long a tile program will take ----------------------------------===//
//
// One walk over the program: loops multiply what their bodies cost, and a loop with products takes
// in each iteration what its busiest unit needs. Scalars are evaluated with the arguments' values;
// what depends on the tile is taken at the middle tile.
//
//===--------------------------------------------------------------------------------------===//

#include "tileloom/Schedule/CostModel.h"

#include "tileloom/Schedule/ClusterLoads.h"
#include "tileloom/Schedule/Engines.h"
#include "tileloom/Schedule/Limits.h"
#include "tileloom/Schedule/ScalarValues.h"
#include "tileloom/Schedule/TileWork.h"

#include "ItemTime.h"
#include "LoopTime.h"
#include "RegisterNeeds.h"
#include "RowCosts.h"
#include "dialects/NV/NV.h"
#include "dialects/Tile/Tile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/StringExtras.h"

#include <cmath>

using namespace mlir;

namespace tileloom::schedule {

namespace {

double elements(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? tensor.getNumElements() : 0;
}

/// The share of `extent` tiles of a size that is within the tensor, where it is counted by rounding up.
double usefulShare(Value extent, ScalarValues &evaluate) {
  auto divide = extent.getDefiningOp<arith::DivSIOp>();
  auto sum = divide ? divide.getLhs().getDefiningOp<arith::AddIOp>() : nullptr;
  if (!sum)
    return 1;
  std::optional<double> elements = evaluate(sum.getLhs()), size = evaluate(divide.getRhs()), count = evaluate(extent);
  return elements && size && count && *count * *size > 0 ? *elements / (*count * *size) : 1;
}

class Walk {
public:
  Walk(func::FuncOp kernel, ArrayRef<std::optional<int64_t>> arguments, const Machine &machine)
      : kernel(kernel), machine(machine), evaluate(kernel, arguments) {
    auto schedule = kernel->getAttrOfType<tile::ScheduleAttr>(tile::scheduleAttrName);
    if (schedule) {
      replicas = schedule.integer("replicas").value_or(1);
      takesTurns = schedule.word("use") == StringRef("pingpong");
      byColumns = schedule.dividesColumns();
      stages = schedule.integer("stages").value_or(0);
      pending = schedule.integer("pending").value_or(0);
      piece = schedule.integer("epilogue");
      buffers = schedule.integer("buffers").value_or(1);
      raster = schedule.integer("raster").value_or(1);
      keep = schedule.word("keep").value_or("");
      reverse = schedule.word("order") == StringRef("reverse");
      split = schedule.integer("split");
      dynamic = schedule.word("scheduler") == StringRef("dynamic");
      fixedCluster = schedule.integer("cluster").has_value();
      if (int64_t cluster = schedule.integer("cluster").value_or(1); cluster > 1)
        share(cluster, schedule.word("multicast").value_or("columns"));
    }
  }

  /// Whether clusters may pay: rows of operands begin within a sector of 32 bytes, so that L2 is asked for more than it gives.
  /// Elsewhere they measured within 2 % of single CTAs.
  bool mayShare() const {
    return sectors && products == 1 && ctas == 1 && !fixedCluster && !dynamic && !machine.tensorMemory;
  }

  /// The CTAs of a cluster load `multicast` for each other.
  void share(int64_t cluster, StringRef multicast) {
    ctas = cluster;
    sharing = multicast;
  }

  Prediction run() {
    Prediction result;
    tile::ForEachTileOp tiles;
    kernel.walk([&](tile::ForEachTileOp op) { tiles = op; });
    result.tiles = 1;
    double columns = 1;
    std::optional<unsigned> along;
    if (tiles && ctas > 1) {
      along = clusterExtent(tiles, sharing);
      if (along)
        for (tile::LoadOp load : sharedLoads(tiles, *along, ctas))
          shared.insert(load);
      result.cluster = ctas;
      result.multicast = sharing;
      if (shared.empty()) {
        result.reason = "cluster: nothing that tiles share in a loop";
        return result;
      }
    }
    if (tiles)
      for (auto [index, extent] : llvm::enumerate(tiles.getExtents())) {
        double count = std::max(0.0, evaluate(extent).value_or(1));
        count = along == index ? std::ceil(count / ctas) * ctas : count;
        result.tiles *= count;
        columns = std::max(count, 1.0);
      }
    Block &body = tiles ? tiles.getBody().front() : kernel.getBody().front();

    // A replica counts the slots of the tiles that it leaves out before the first one: all have to load as much (warp-expand-tile-loops).
    if (takesTurns && loadsDiffer(kernel)) {
      result.reason = "in turns: what a tile loads differs from tile to tile";
      return result;
    }
    if (!planStages(result))
      return result;
    result.reason = refusedRegisters(kernel, machine, replicas, takesTurns, overlaid);
    if (!result.reason.empty())
      return result;
    Cost outside;
    double loops = 0;
    time(body, outside, loops, result);

    double piece = machine.storePiece / (buffers > 1 ? 1.3 : 1);
    double drain = outside.stores / machine.storeBytes;
    double still = outside.other + (outside.stores > 0 ? machine.storeBase : 0) + outside.pieces * piece +
                   (outside.products > 0 ? outside.products + machine.copyLatency : 0);
    // What the buffers hold leaves while the next tile begins.
    double held = outside.pieces > 0 ? std::min(outside.pieces, double(buffers)) / outside.pieces : 0;
    double turn = still + drain * (1 - held * machine.storeBeside);
    if (replicas > 2 && !takesTurns)
      turn *= machine.sharedTurn;
    result.turnClocks = turn;
    result.bytes = traffic.through();
    bool ordered = !reverse && products == 1 && tiles && tiles.getExtents().size() == 2 && !placesAreRead(tiles);
    TileTime whole{kernel, machine, evaluate, traffic, loops, turn, still + drain + lastProduct, outside.narrow * piece, drain, filled, deep(),
                   lines, firstCopy, raster, split, keep, takesTurns, reverse, ordered};
    whole.columns = columns;
    whole.twoSums = machine.tensorMemory && products == 1 && 2 * sumColumns <= tensorMemoryColumns;
    whole.plain = ordered && isPlain();
    if (whole.plain)
      whole.terms = termsOfTile(tiles, outside);
    whole.trips = wholeTrips;
    return timeOfItems(whole, result);
  }

private:
  /// One product of 16-bit operands by rows, of which nothing is known by index. The learned factor was trained on these.
  bool isPlain() const { return byRows && products == 1 && operands == 2 && !dynamic && !machine.tensorMemory; }

  /// What does not depend on the number of slices.
  Terms termsOfTile(tile::ForEachTileOp tiles, const Cost &outside) {
    Terms terms;
    double busy = std::max(iterationClocks, 1.0);
    terms[Term::Products] = iterationProducts / busy;
    terms[Term::Waits] = iterationWaits / busy;
    terms[Term::Copies] = iterationCopies / busy;
    terms[Term::Held] = iterationHeld / busy;
    terms[Term::Iteration] = std::log(busy);
    terms[Term::Rows] = std::log2(tileRows);
    terms[Term::Columns] = std::log2(tileColumns);
    terms[Term::Depth] = leastRow;
    terms[Term::Turns] = takesTurns;
    terms[Term::Replicas] = double(replicas);
    terms[Term::Pending] = double(pending);
    terms[Term::Registers] = iterationRegisters;
    terms[Term::UsefulRows] = usefulShare(tiles.getExtents()[0], evaluate);
    terms[Term::UsefulColumns] = usefulShare(tiles.getExtents()[1], evaluate);
    terms[Term::UsefulDepth] = usefulDepth;
    terms[Term::Pieces] = outside.pieces;
    terms[Term::Leave] = resultLeave;
    terms[Term::Write] = resultWrite;
    terms[Term::Deep] = deep();
    terms[Term::CopyRows] = operandCopy;
    terms[Term::FetchRows] = operandFetch;
    terms[Term::Multicast] = ctas == 1 ? 0 : sharing == "rows" ? 1 : 2;
    terms[Term::Cluster] = double(ctas);
    return terms;
  }

  double rows(double whole) const { return takesTurns ? whole : whole / replicas; }

  /// Shared memory left for the copies of innermost loops decides how many are in flight.
  bool planStages(Prediction &result) {
    double fixed = 0, perStage = 0;
    kernel.walk([&](tile::LoadOp load) {
      (isStreamed(load) ? perStage : fixed) += bytesOf(load.getType());
    });
    double staging = 0;
    kernel.walk([&](Operation *store) {
      if (!isa<tile::StoreOp, tile::StoreReduceOp>(store))
        return;
      auto type = cast<RankedTensorType>(store->getOperand(0).getType());
      double share = double(columnsOfPiece(type)) / type.getShape().back();
      if (leavesTransposed(store))
        share = 1 / piecesOfTransposed(type);
      else if ((takesTurns || byColumns) && !machine.tensorMemory && type.getRank() > 1 && isPlainResult(store->getOperand(0))) {
        int64_t rows = type.getDimSize(type.getRank() - 2);
        share *= double(pieceRowsInTurn(rows, columnsOfPiece(type), type.getElementTypeBitWidth())) / rows;
      }
      staging = std::max(staging, bytesOf(type) * share * buffers * (takesTurns ? replicas : 1));
    });
    fixed += staging;
    int64_t fit = perStage > 0 ? int64_t((sharedBytes - fixed) / perStage) : 1;
    kernel.walk([&](tile::DotOp) { ++products; });
    int64_t wanted = stages ? stages : std::min(fit, products > 1 ? deepestOfSeveral : deepestRing);
    result.stages = wanted;
    if (wanted < 1 || wanted > fit || fixed > sharedBytes) {
      result.reason = "shared memory: " +
                      llvm::utostr(uint64_t(std::max<int64_t>(wanted, 1) * perStage + fixed)) +
                      " bytes needed, " + llvm::utostr(sharedBytes) + " there";
      return false;
    }
    // With several products the slots of one are filled while the other is at work.
    if (perStage > 0 && wanted < 2 && products < 2) {
      result.reason = "one stage: copies cannot run ahead";
      return false;
    }
    return true;
  }

  bool leavesTransposed(Operation *store) const {
    return !machine.tensorMemory && cast<RankedTensorType>(store->getOperand(0).getType()).getRank() == 2 && isTransposed(store->getOperand(0));
  }

  double piecesOfTransposed(RankedTensorType type) const {
    double rows = type.getDimSize(0), columns = type.getDimSize(1);
    return rows / transposedRows(int64_t(rows)) * (takesTurns || byColumns ? columns / transposedColumns(int64_t(columns)) : 1);
  }

  int64_t columnsOfPiece(RankedTensorType type) const {
    int64_t parts = byColumns ? replicas : 1;
    return parts * pieceColumns(type.getShape().back() / parts, type.getElementTypeBitWidth(), piece, machine.tensorMemory);
  }

  /// `loops`: clocks of the loops with products; `outside`: what is between them.
  void time(Block &block, Cost &outside, double &loops, Prediction &result) {
    for (Operation &op : block)
      if (auto loop = dyn_cast<scf::ForOp>(op)) {
        timeLoop(loop.getBody(), tripsOf(loop, evaluate), outside, loops, result);
        std::optional<double> upper = evaluate(loop.getUpperBound()), step = evaluate(loop.getStep());
        if (upper && step && *upper > 0)
          usefulDepth = *upper / (*step * std::ceil(*upper / *step));
      } else if (auto loop = dyn_cast<scf::WhileOp>(op)) {
        timeLoop({loop.getBeforeBody(), loop.getAfterBody()}, unknownTrips, outside, loops, result);
      } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
        time(branch.getThenRegion().front(), outside, loops, result);
      } else {
        one(&op, outside);
      }
  }

  void timeLoop(ArrayRef<Block *> blocks, double trips, Cost &outside, double &loops, Prediction &result) {
    Cost body;
    double inner = 0;
    for (Block *block : blocks)
      time(*block, body, inner, result);
    if (body.dots > 0 || body.copies > 0)
      loops += trips * (inner + iteration(body, trips, result));
    else
      outside.add(body, trips);
  }

  LoopTime loopTime() const { return {machine, replicas, pending, takesTurns, overlaid}; }

  /// Clocks of one iteration of a loop with copies or products.
  double iteration(const Cost &body, double trips, Prediction &result) {
    double copies = body.copies / machine.copyBytes;
    LoopTime time = loopTime();
    if (body.dots <= 1) {
      double whole = time.stream(body, copies, result.stages, trips);
      filled += std::min<double>(result.stages, trips) * std::max(0.0, whole - body.products - time.waitOf(body) - body.other);
      firstCopy = std::max(firstCopy, copies);
      lastProduct = std::max(lastProduct, body.products);
      iterationProducts = body.products, iterationWaits = time.waitOf(body), iterationCopies = copies, iterationClocks = whole;
      iterationHeld = time.heldBy(body, copies, result.stages, trips);
      wholeTrips = trips, iterationRegisters = body.widest;
    }
    result.productClocks += body.products * trips;
    result.copyClocks += copies * trips;
    result.otherClocks += body.other * trips;
    return body.dots > 1 ? time.chain(body, copies, result.stages) : time.stream(body, copies, result.stages, trips);
  }

  /// Lines of 128 bytes of a tensor's row that one iteration reads.
  double deep() const { return std::clamp(leastRow / 128, 1.0, 2.0); }

  void one(Operation *op, Cost &cost) {
    if (auto dot = dyn_cast<tile::DotOp>(op)) {
      auto a = cast<RankedTensorType>(dot.getA().getType());
      double n = cast<RankedTensorType>(dot.getType()).getDimSize(1);
      double parts = byColumns ? replicas : 1;
      double bits = a.getElementTypeBitWidth();
      double issues = parts * a.getDimSize(0) / 64.0 * a.getDimSize(1) * bits / 256;
      double issue = std::max(64 * 16 * n / parts / machine.macsPerClock, machine.productBase + n / parts * machine.productPerColumn);
      cost.products += issues * issue;
      cost.dots += 1;
      cost.widest = std::max(cost.widest, rows(a.getDimSize(0)) * n / 128);
      cost.first = cost.first > 0 ? cost.first : rows(a.getDimSize(0)) * n / 128;
      cost.sums += rows(a.getDimSize(0)) * n / 128;
      sumColumns = std::max(sumColumns, n * (takesTurns ? 1 : replicas));
      tileRows = double(a.getDimSize(0)), tileColumns = n;
      byRows = bits == 16 && dot.getA().getDefiningOp<tile::LoadOp>() && dot.getB().getDefiningOp<tile::TransOp>();
    } else if (auto load = dyn_cast<tile::LoadOp>(op)) {
      LoadedRows rows = loadedRows(load, evaluate, machine);
      // Of what a cluster shares L2 is asked once; the way into each SM is as long.
      double part = shared.contains(load) ? 1.0 / ctas : 1, each = std::max(rows.copy, rows.narrow);
      cost.copies += bytesOf(load.getType()) * std::max(part * each, std::min(each, 1.0));
      double before = traffic.through();
      traffic.add(load, evaluate, rows.split, rows.fetch * part);
      lines += (traffic.through() - before) * rows.copy * part;
      sectors |= rows.sectors && isStreamed(load);
      operands += isStreamed(load);
      operandCopy = std::max(operandCopy, each), operandFetch = std::max(operandFetch, rows.fetch);
      if (isStreamed(load))
        leastRow = std::min(leastRow, rowBytes(load.getType()));
    } else if (isa<tile::StoreOp, tile::StoreReduceOp>(op)) {
      auto type = cast<RankedTensorType>(op->getOperand(0).getType());
      bool transposed = leavesTransposed(op);
      int64_t columns = transposed ? transposedColumns(type.getShape().back()) : columnsOfPiece(type);
      StoredRows rows = storedRows(op, columns, evaluate, machine);
      resultLeave = rows.leave, resultWrite = rows.write;
      cost.stores += bytesOf(type) * rows.leave;
      double pieces = transposed ? piecesOfTransposed(type) : double(type.getShape().back()) / columns;
      double row = columns * type.getElementTypeBitWidth() / 8.0;
      cost.pieces += pieces;
      cost.narrow += pieces * std::max(0.0, 64 / row - 1) * 0.8;
      traffic.add(op, evaluate, false, rows.write);
    } else if (auto gather = dyn_cast<tile::GatherOp>(op)) {
      cost.other += elements(gather.getType()) / 32;
    } else if (auto scatter = dyn_cast<tile::ScatterOp>(op)) {
      cost.other += elements(scatter.getValue().getType()) / 32;
    } else if (op->getNumResults() == 1) {
      // Masks are split off the loops, and products with sums become one instruction: what is left of arithmetic measured as
      // half.
      double count = std::max(elements(op->getResult(0).getType()),
                              op->getNumOperands() ? elements(op->getOperand(0).getType()) : 0);
      bool moves = isa<tile::BroadcastOp, tile::ExpandDimsOp, tile::SplatOp, tile::TransOp,
                       tile::TakeOp, tile::ReshapeOp, tile::IotaOp, nv::ConcatOp, nv::ExtractOp, arith::ConstantOp>(op);
      bool masks = isa<arith::SelectOp, arith::CmpIOp, arith::AndIOp, arith::OrIOp>(op);
      cost.other += moves || masks ? 0
                                   : count / (isSpecial(op)             ? specialLanes
                                              : isa<tile::ReduceOp>(op) ? aluLanes
                                                                        : 2 * aluLanes);
    }
  }

  func::FuncOp kernel;
  const Machine &machine;
  ScalarValues evaluate;
  Traffic traffic;
  double lines = 0; // bytes through L2, with what half lines cost
  double filled = 0;   // clocks of the loops that a ring filled before would save
  double firstCopy = 0, lastProduct = 0; // clocks of one iteration
  // Terms of a plain product.
  double iterationProducts = 0, iterationWaits = 0, iterationCopies = 0, iterationHeld = 0, iterationClocks = 0;
  double iterationRegisters = 0, wholeTrips = 0, usefulDepth = 1;
  double tileRows = 1, tileColumns = 1, operandCopy = 1, operandFetch = 1, resultLeave = 1, resultWrite = 1;
  int64_t operands = 0;
  bool byRows = false;
  double leastRow = 1e9; // bytes of a row of a box in a loop
  double sumColumns = 0; // of tensor memory, for the blocks of rows of one sum
  int64_t products = 0, replicas = 1, stages = 0, pending = 0, buffers = 1, raster = 1;
  std::optional<int64_t> piece, split;
  StringRef keep, sharing;
  bool overlaid = false; // operands in tensor memory lie over sums
  bool takesTurns = false, byColumns = false, reverse = false, dynamic = false, fixedCluster = false, sectors = false;
  int64_t ctas = 1;
  llvm::DenseSet<Operation *> shared;
};

/// Clusters have to be faster than single CTAs by this much.
constexpr double clusterGain = 0.97;

} // namespace

Prediction predict(func::FuncOp kernel, ArrayRef<std::optional<int64_t>> arguments, const Machine &machine) {
  Walk alone(kernel, arguments, machine);
  Prediction best = alone.run();
  if (!best.reason.empty() || !alone.mayShare())
    return best;
  for (StringRef multicast : {"columns", "rows"}) {
    Walk cluster(kernel, arguments, machine);
    cluster.share(2, multicast);
    Prediction other = cluster.run();
    if (other.reason.empty() && other.microseconds < best.microseconds * (best.cluster == 1 ? clusterGain : 1))
      best = other;
  }
  return best;
}

} // namespace tileloom::schedule
