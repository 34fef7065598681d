//===- FormClusters.cpp - Tiles of a cluster as one item of work --------------------------===//
//
// In: a tile kernel whose schedule has `cluster` = n above 1 and `multicast`. Out: for_each_tile over groups of
// n tiles that differ in one extent; the CTA of rank r works on the r-th of a group. Loads in loops that all of
// them have in common (schedule/ClusterLoads.h) are marked tile.multicast: warp-insert-rings lets each CTA load a
// part for all.
//
// A group may reach beyond the last tile. Its CTAs load and multiply what the others wait for; what they store is
// moved outside of the tensor, where nothing is written, or masked. Places that are read through pointers, which
// nothing bounds, are then those of the last tile.
//
// A group has tiles of one batch or matrix only, as the other extents are the same for all of it.
//
//===--------------------------------------------------------------------------------------===//

#include "passes/Tile/Passes.h"

#include "dialects/NV/NV.h"
#include "dialects/Tile/Tile.h"
#include "tileloom/Schedule/ClusterLoads.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace tileloom::tile {
#define GEN_PASS_DEF_TILEFORMCLUSTERS
#include "passes/Tile/Passes.h.inc"
} // namespace tileloom::tile

using namespace mlir;
using namespace tileloom;
using namespace tileloom::tile;

namespace {

/// A coordinate outside of every tensor, and of boxes that begin a tile's extent further on.
constexpr int64_t outside = 1 << 30;

class ClusterFormer {
public:
  ClusterFormer(FunctionOpInterface kernel, ScheduleAttr schedule, int64_t ctas)
      : kernel(kernel), schedule(schedule), ctas(ctas), builder(kernel.getContext()) {}

  LogicalResult run() {
    kernel->walk([&](ForEachTileOp op) { tiles = op; });
    if (!tiles)
      return refuse(kernel) << "a loop over tiles, found none";
    if (schedule.word("scheduler") == StringRef("dynamic"))
      return refuse(kernel) << "scheduler = \"static\", found \"dynamic\": each CTA would draw tiles of its own";
    StringRef multicast = schedule.word("multicast").value_or("columns");
    std::optional<unsigned> found = schedule::clusterExtent(tiles, multicast);
    if (!found)
      return refuse(tiles) << "tiles of two extents or more for multicast = \"" << multicast << "\", found one";
    extent = *found;
    SmallVector<LoadOp> shared = schedule::sharedLoads(tiles, extent, ctas);
    if (shared.empty())
      return refuse(tiles) << "operands of products that are loaded in a loop, the same for all tiles along extent " << extent
                           << " (multicast = \"" << multicast << "\"), in boxes of a multiple of " << 8 * ctas << " rows, found none";
    for (LoadOp load : shared)
      load->setAttr(schedule::multicastAttrName, builder.getUnitAttr());
    if (failed(collect()))
      return failure();
    placeTiles();
    maskStores();
    if (extent + 1 < tiles.getExtents().size())
      divideRaster();
    return success();
  }

private:
  InFlightDiagnostic refuse(Operation *op) { return op->emitOpError("schedule: cluster = ") << ctas << " expected "; }

  Value constant(int64_t value) { return arith::ConstantIntOp::create(builder, tiles.getLoc(), value, 32); }

  LogicalResult collect() {
    WalkResult result = tiles.walk([&](Operation *op) {
      if (isa<StoreOp, StoreReduceOp, ScatterOp, AtomicOp>(op))
        stores.push_back(op);
      else if (auto gather = dyn_cast<GatherOp>(op))
        reads |= llvm::any_of(gather->getOperands(), [&](Value operand) { return schedule::variesAlong(tiles, extent, operand); });
      else if (op != tiles && op->getNumRegions() == 0 && !isPure(op) && !isa<LoadOp>(op) && !op->hasTrait<OpTrait::IsTerminator>())
        return refuse(op) << "loads, stores and atomic operations, found '" << op->getName() << "'", WalkResult::interrupt();
      return WalkResult::advance();
    });
    return failure(result.wasInterrupted());
  }

  /// Groups in the place of tiles, and this CTA's tile of each.
  void placeTiles() {
    Location loc = tiles.getLoc();
    Value count = tiles.getExtents()[extent];
    APInt known;
    bool whole = matchPattern(count, m_ConstantInt(&known)) && known.getSExtValue() % ctas == 0;
    for (Operation *store : stores) // before their coordinates change
      places.push_back(placeOf(store));
    builder.setInsertionPoint(tiles);
    tiles.getExtentsMutable()[extent].assign(arith::CeilDivSIOp::create(builder, loc, count, constant(ctas)));

    BlockArgument group = tiles.getBody().getArgument(extent);
    builder.setInsertionPointToStart(&tiles.getBody().front());
    Value first = arith::MulIOp::create(builder, loc, group, constant(ctas));
    Value rank = nv::CtaRankOp::create(builder, loc, builder.getI32Type());
    Value tile = arith::AddIOp::create(builder, loc, first, rank);
    if (!whole)
      exists = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, tile, count);
    Value place = tile;
    if (!whole && reads) {
      Value last = arith::SubIOp::create(builder, loc, count, constant(1));
      place = arith::MinSIOp::create(builder, loc, tile, last);
    }
    group.replaceUsesWithIf(place, [&](OpOperand &use) { return use.getOwner() != first.getDefiningOp(); });
  }

  static MutableOperandRange coordinatesOf(Operation *store) {
    if (auto reduce = dyn_cast<StoreReduceOp>(store))
      return reduce.getCoordinatesMutable();
    return cast<StoreOp>(store).getCoordinatesMutable();
  }

  /// The coordinate that says whose tile is stored.
  unsigned placeOf(Operation *store) {
    if (isa<ScatterOp, AtomicOp>(store))
      return 0;
    MutableOperandRange coordinates = coordinatesOf(store);
    for (unsigned i = 0; i < coordinates.size(); ++i)
      if (schedule::variesAlong(tiles, extent, coordinates[i].get()))
        return i;
    return 0;
  }

  /// A CTA without a tile stores nothing.
  void maskStores() {
    if (!exists)
      return;
    for (auto [store, place] : llvm::zip(stores, places)) {
      builder.setInsertionPoint(store);
      if (auto scatter = dyn_cast<ScatterOp>(store)) {
        scatter.getMaskMutable().assign(masked(scatter.getMask(), scatter.getOffset().getType()));
      } else if (auto atomic = dyn_cast<AtomicOp>(store)) {
        atomic.getMaskMutable().assign(masked(atomic.getMask(), atomic.getOffset().getType()));
      } else {
        OpOperand &coordinate = coordinatesOf(store)[place];
        coordinate.set(arith::SelectOp::create(builder, store->getLoc(), exists, coordinate.get(), constant(outside)));
      }
    }
  }

  Value masked(Value mask, Type offset) {
    Value own = exists;
    Location loc = tiles.getLoc();
    if (auto type = dyn_cast<RankedTensorType>(offset))
      own = SplatOp::create(builder, loc, type.clone(builder.getI1Type()), exists);
    return mask ? arith::AndIOp::create(builder, loc, mask, own).getResult() : own;
  }

  /// As many rows of tiles together as without clusters.
  void divideRaster() {
    NamedAttrList fields(schedule.getFields());
    fields.set("raster", builder.getI64IntegerAttr(std::max<int64_t>(schedule.integer("raster").value_or(1) / ctas, 1)));
    kernel->setAttr(scheduleAttrName, ScheduleAttr::get(kernel.getContext(), fields.getDictionary(kernel.getContext())));
  }

  FunctionOpInterface kernel;
  ScheduleAttr schedule;
  int64_t ctas;
  OpBuilder builder;
  ForEachTileOp tiles;
  unsigned extent = 0;
  bool reads = false; ///< through pointers, at places of its own for each tile
  SmallVector<Operation *> stores;
  SmallVector<unsigned> places;
  Value exists; ///< whether this CTA has a tile; null: it always has
};

struct FormClusters : tileloom::tile::impl::TileFormClustersBase<FormClusters> {
  void runOnOperation() override {
    getOperation()->walk([&](FunctionOpInterface function) {
      auto schedule = function->getAttrOfType<ScheduleAttr>(scheduleAttrName);
      int64_t ctas = schedule ? schedule.integer("cluster").value_or(1) : 1;
      if (ctas > 1 && failed(ClusterFormer(function, schedule, ctas).run()))
        signalPassFailure();
    });
  }
};

} // namespace
