//===- SplitLoops.cpp - Slices of a loop as items of work ---------------------------------===//
//
// In: a tile kernel whose schedule has `split` = S above 1, and whose tiles sum products in one loop
// (schedule/SplitLoop.h). Out: for_each_tile over tiles and S slices. Each item runs its share of the
// iterations, leaves its sums in a workspace and counts its arrival; the item that arrives last adds the
// sums of all slices, in the order of the slices whoever comes last, and does what came after the loop.
// Nobody waits for anybody, and the bits of the result do not depend on the order of arrival.
//
// The CTAs of a cluster take the same slice of a tile each, so that they load for each other as without slices; each tile has its own
// sums and counter, which its CTA counts for itself.
//
// Tiles that are loaded after the loop are loaded by every slice, so that the copies need not know
// who is the last. Sums are stored in pieces of 32 registers of a thread: no more of a tile that lies in
// tensor memory need be in registers at once.
//
//===--------------------------------------------------------------------------------------===//

#include "passes/Tile/Passes.h"

#include "dialects/NV/NV.h"
#include "dialects/Tile/Kernel.h"
#include "tileloom/Analysis/HostExpression.h"
#include "tileloom/Schedule/SplitLoop.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace tileloom::tile {
#define GEN_PASS_DEF_TILESPLITLOOPS
#include "passes/Tile/Passes.h.inc"
} // namespace tileloom::tile

using namespace mlir;
using namespace tileloom;
using namespace tileloom::tile;

namespace {

constexpr int64_t wordBytes = 4;
constexpr int64_t pieceRegisters = 32, replicaThreads = 128;
constexpr int64_t mostRaster = 16384; // that a #tile.schedule takes

class LoopSplitter {
public:
  LoopSplitter(FunctionOpInterface kernel, ScheduleAttr schedule, int64_t slices)
      : kernel(kernel), schedule(schedule), slices(slices), builder(kernel.getContext()) {}

  LogicalResult run() {
    schedule::SplitLoop found = schedule::findSplitLoop(kernel);
    if (!found.loop)
      return found.at->emitOpError("schedule: split = ") << slices << " expected " << found.expected;
    if (schedule.word("use") == StringRef("pingpong"))
      return kernel.emitOpError("schedule: split = ")
             << slices << " expected use = \"cooperative\", found \"pingpong\": slices differ in length";
    tiles = found.tiles;
    loop = found.loop;
    replicas = schedule.integer("replicas").value_or(1);
    columnParts = schedule.dividesColumns() ? replicas : 1;
    ctas = schedule.integer("cluster").value_or(1);
    if (failed(addWorkspaces()))
      return failure();
    addSlices();
    moveEnd();
    NamedAttrList fields(schedule.getFields());
    fields.erase("split");
    // As many rows of tiles together as without slices.
    int64_t raster = std::min(schedule.integer("raster").value_or(1) * slices, mostRaster);
    fields.set("raster", builder.getI64IntegerAttr(raster));
    kernel->setAttr(scheduleAttrName, ScheduleAttr::get(kernel.getContext(), fields.getDictionary(kernel.getContext())));
    return success();
  }

private:
  Value constant(int64_t value, unsigned bits = 32) {
    return arith::ConstantIntOp::create(builder, loop.getLoc(), value, bits);
  }
  template <typename Op> Value make(Value a, Value b) { return Op::create(builder, loop.getLoc(), a, b); }

  /// Arguments for the sums of all items and a counter for each tile.
  LogicalResult addWorkspaces() {
    Attribute count;
    for (Value extent : tiles.getExtents()) {
      Attribute own = hostExpression(extent);
      if (!own)
        return tiles.emitOpError("schedule: split = ")
               << slices << " expected extents that the host can compute from the kernel's arguments, found one that "
               << "it cannot: the workspace has room for all tiles";
      count = count ? hostExpression("mul", count, own) : own;
    }
    if (ctas > 1) // an item of work is a cluster's
      count = hostExpression("mul", count, builder.getI64IntegerAttr(ctas));
    for (Value sum : loop.getResults())
      slotBytes += cast<RankedTensorType>(sum.getType()).getNumElements() * wordBytes;
    auto add = [&](Type element, int64_t bytes, bool zero) -> FailureOr<Value> {
      unsigned index = kernel.getNumArguments();
      NamedAttrList attributes;
      attributes.set(pointerAttrName, TypeAttr::get(element));
      attributes.set(nv::workspaceAttrName, hostExpression("mul", count, builder.getI64IntegerAttr(bytes)));
      if (!zero)
        attributes.set(nv::unsetAttrName, builder.getUnitAttr());
      if (failed(kernel.insertArgument(index, builder.getI64Type(), attributes.getDictionary(kernel.getContext()),
                                       kernel.getLoc())))
        return failure();
      return kernel.getArgument(index);
    };
    FailureOr<Value> sums = add(builder.getF32Type(), slotBytes * slices, false);
    FailureOr<Value> arrivals = add(builder.getI32Type(), replicas * wordBytes, true);
    if (failed(sums) || failed(arrivals))
      return failure();
    partials = *sums;
    counters = *arrivals;
    return success();
  }

  /// The slices of a tile are neighbours in the order of the work; the columns stay last.
  void addSlices() {
    Location loc = tiles.getLoc();
    Block &body = tiles.getBody().front();
    builder.setInsertionPoint(tiles);
    unsigned rank = tiles.getExtents().size(), place = std::max(rank - 1, 1u);
    SmallVector<Value> extents(tiles.getExtents());
    extents.insert(extents.begin() + place, constant(slices));
    BlockArgument slice = body.insertArgument(place, builder.getI32Type(), loc);
    if (rank == 1) {
      extents.push_back(constant(1));
      body.addArgument(builder.getI32Type(), loc);
    }
    SmallVector<Value> own(tiles.getExtents());
    tiles.getExtentsMutable().assign(extents);

    builder.setInsertionPoint(loop);
    // The number of the tile, without its slices.
    tile = constant(0);
    for (unsigned i = 0, next = 0; i < rank; ++i, ++next) {
      next += body.getArgument(next) == slice;
      tile = make<arith::AddIOp>(make<arith::MulIOp>(tile, own[i]), body.getArgument(next));
    }
    if (ctas > 1)
      tile = make<arith::AddIOp>(make<arith::MulIOp>(tile, constant(ctas)), nv::CtaRankOp::create(builder, loc, builder.getI32Type()));
    // Iterations as evenly as they come.
    Value zero = constant(0), one = constant(1), count = constant(slices), step = loop.getStep();
    Value length = make<arith::SubIOp>(loop.getUpperBound(), loop.getLowerBound());
    Value trips = make<arith::CeilDivSIOp>(make<arith::MaxSIOp>(length, zero), step);
    Value each = make<arith::DivUIOp>(trips, count);
    Value more = make<arith::SubIOp>(trips, make<arith::MulIOp>(each, count));
    Value before = make<arith::AddIOp>(make<arith::MulIOp>(slice, each), make<arith::MinSIOp>(slice, more));
    Value longer = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, slice, more);
    Value mine = arith::SelectOp::create(builder, loc, longer, make<arith::AddIOp>(each, one), each);
    Value lower = make<arith::AddIOp>(loop.getLowerBound(), make<arith::MulIOp>(before, step));
    loop.setLowerBound(lower);
    loop.setUpperBound(make<arith::AddIOp>(lower, make<arith::MulIOp>(mine, step)));
    this->slice = slice;
  }

  /// Columns of a tile that are at most 32 registers of a thread.
  int64_t columnsOf(RankedTensorType type) const {
    int64_t rows = std::max<int64_t>(type.getDimSize(0) / replicas, 1), unit = 8 * columnParts;
    return std::clamp<int64_t>(pieceRegisters * replicaThreads / rows / unit * unit, unit, type.getDimSize(1));
  }

  /// Address of the sums of slice `number` of this tile.
  Value slotOf(Value number) {
    Type wide = builder.getI64Type();
    auto extended = [&](Value value) { return arith::ExtSIOp::create(builder, loop.getLoc(), wide, value); };
    Value first = make<arith::MulIOp>(extended(tile), constant(slices, 64));
    Value slot = make<arith::AddIOp>(first, extended(number));
    return make<arith::AddIOp>(partials, make<arith::MulIOp>(slot, constant(slotBytes, 64)));
  }

  struct Piece {
    Value value;
    int64_t offset; ///< in bytes, within the slot
  };

  /// Leaves the sums in this slice's slot.
  SmallVector<SmallVector<Piece>> storeSums() {
    SmallVector<SmallVector<Piece>> result;
    Value slot = slotOf(slice);
    int64_t offset = 0;
    Location loc = loop.getLoc();
    for (Value sum : loop.getResults()) {
      auto type = cast<RankedTensorType>(sum.getType());
      int64_t all = type.getDimSize(1), most = columnsOf(type);
      SmallVector<Piece> &pieces = result.emplace_back();
      for (int64_t column = 0; column < all; column += most) {
        int64_t columns = std::min(most, all - column);
        auto own = RankedTensorType::get({type.getDimSize(0), columns}, type.getElementType());
        Value piece = sum;
        if (columns != all)
          piece = nv::ExtractOp::create(builder, loc, own, sum, builder.getDenseI64ArrayAttr({0, column}));
        nv::StorePartialOp::create(builder, loc, piece, make<arith::AddIOp>(slot, constant(offset, 64)));
        pieces.push_back({piece, offset});
        offset += own.getNumElements() * wordBytes;
      }
    }
    return result;
  }

  /// The sums of all slices.
  SmallVector<Value> addSums(ArrayRef<SmallVector<Piece>> sums) {
    SmallVector<Value> result;
    Location loc = loop.getLoc();
    Value first = slotOf(constant(0));
    for (auto [whole, pieces] : llvm::zip(loop.getResults(), sums)) {
      SmallVector<Value> totals;
      for (const Piece &piece : pieces)
        totals.push_back(nv::SumPartialsOp::create(builder, loc, make<arith::AddIOp>(first, constant(piece.offset, 64)),
                                                   piece.value, slices, slotBytes));
      result.push_back(totals.size() == 1 ? totals.front()
                                          : nv::ConcatOp::create(builder, loc, whole.getType(), totals, 1).getResult());
    }
    return result;
  }

  /// Whether an operation after the loop is every slice's: copies and scalars that need no sum.
  static bool isEverySlices(Operation *op, const llvm::DenseSet<Operation *> &last) {
    bool scalar = isPure(op) && op->getNumRegions() == 0 &&
                  llvm::none_of(op->getResultTypes(), llvm::IsaPred<RankedTensorType>);
    return (scalar || isa<LoadOp>(op)) && llvm::none_of(op->getOperands(), [&](Value operand) {
             return operand.getDefiningOp() && last.contains(operand.getDefiningOp());
           });
  }

  /// What comes after the loop is done by the last to arrive.
  void moveEnd() {
    Block &body = tiles.getBody().front();
    SmallVector<Operation *> moved;
    llvm::DenseSet<Operation *> last{loop};
    for (Operation &op : llvm::make_range(std::next(loop->getIterator()), body.end()))
      if (!isEverySlices(&op, last)) {
        moved.push_back(&op);
        last.insert(&op);
      }
    builder.setInsertionPointToEnd(&body);
    SmallVector<SmallVector<Piece>> sums = storeSums();
    Value counter = make<arith::MulIOp>(tile, constant(replicas));
    auto isLast = LastArrivalOp::create(builder, loop.getLoc(), builder.getI1Type(), counters, counter, constant(slices));
    isLast->setAttr(byRowsAttrName, builder.getUnitAttr());
    auto branch = scf::IfOp::create(builder, loop.getLoc(), isLast, /*withElseRegion=*/false);
    builder.setInsertionPointToStart(branch.thenBlock());
    for (auto [whole, total] : llvm::zip(loop.getResults(), addSums(sums)))
      whole.replaceUsesWithIf(total, [&](OpOperand &use) {
        return llvm::any_of(moved, [&](Operation *op) { return op->isAncestor(use.getOwner()); });
      });
    for (Operation *op : moved)
      op->moveBefore(branch.thenBlock()->getTerminator());
  }

  FunctionOpInterface kernel;
  ScheduleAttr schedule;
  int64_t slices, replicas = 1, columnParts = 1, ctas = 1, slotBytes = 0; ///< columnParts: of a piece that replicas share
  OpBuilder builder;
  ForEachTileOp tiles;
  scf::ForOp loop;
  Value partials, counters, tile, slice;
};

struct SplitLoops : tileloom::tile::impl::TileSplitLoopsBase<SplitLoops> {
  void runOnOperation() override {
    getOperation()->walk([&](FunctionOpInterface function) {
      auto schedule = function->getAttrOfType<ScheduleAttr>(scheduleAttrName);
      int64_t slices = schedule ? schedule.integer("split").value_or(1) : 1;
      if (slices > 1 && failed(LoopSplitter(function, schedule, slices).run()))
        signalPassFailure();
    });
  }
};

} // namespace
