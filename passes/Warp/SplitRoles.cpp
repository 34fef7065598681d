//===- SplitRoles.cpp - One sequential program to a program for each role -----------------===//
//
// In: a kernel whose operations carry `warp.in`. Out: warp.specialize with one role for each name
// in `warp.roles`: the operations of that role, what their operands are computed from, and the
// loops and branches around them. Of a loop a role keeps only the values that it needs.
//
// Pure operations and reads of memory are copied into every role that needs them. A scalar that only
// one role can compute (an atomic's result, a reduction of a tile) crosses through a ring of values:
// it is sent where the program computes it, and received at the same place by every role that needs
// it. So each role meets its rings in the order of the sequential program, and none can wait for
// another in a circle. A tile that would cross without a ring is an error.
//
//===--------------------------------------------------------------------------------------===//

#include "passes/Warp/Passes.h"

#include "dialects/NV/NV.h"
#include "dialects/Tile/Tile.h"
#include "dialects/Warp/Warp.h"
#include "passes/Warp/Projection.h"
#include "passes/Warp/RoleSlice.h"
#include "passes/Warp/ValueRing.h"
#include "passes/Warp/WrittenMemory.h"
#include "tileloom/Schedule/Limits.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

namespace tileloom::warp {
#define GEN_PASS_DEF_WARPSPLITROLES
#include "passes/Warp/Passes.h.inc"
} // namespace tileloom::warp

using namespace mlir;
using namespace tileloom;
using namespace tileloom::warp;

namespace {

/// Of a row of tiles that get shorter, the part that is drawn last: it has a sixteenth of the work, and of
/// what all of it reads a quarter, which L2 holds.
constexpr int64_t heldBackShare = 4;

/// How tiles fall to the CTAs.
struct TileOrder {
  int64_t raster;
  bool reverse, dynamic;
};

/// The rings of each operation whose results cross roles, one for each result.
using ValueRings = llvm::MapVector<Operation *, SmallVector<ValueRing>>;

/// Copies a role's slice into its region.
class Projector {
public:
  Projector(const RoleSlice &slice, const ValueRings &rings, TileOrder order)
      : slice(slice), rings(rings), order(order) {}

  void block(Block &from, OpBuilder &builder) {
    for (Operation &op : from.without_terminator())
      if (slice.has(&op))
        copy(&op, builder);
  }

private:
  void copy(Operation *op, OpBuilder &builder) {
    // Storage is the kernel's, not a role's.
    if (isa<BufferOp, RingOp, OrderOp>(op))
      return;
    if (auto loop = dyn_cast<scf::ForOp>(op))
      return copyLoop(loop, builder);
    if (auto loop = dyn_cast<scf::WhileOp>(op))
      return copyWhile(loop, builder);
    if (auto branch = dyn_cast<scf::IfOp>(op))
      return copyBranch(branch, builder);
    if (auto tiles = dyn_cast<tile::ForEachTileOp>(op))
      return copyTiles(tiles, builder);
    auto crossing = rings.find(op);
    if (crossing != rings.end() && slice.receives(op)) {
      for (auto [result, ring] : llvm::zip(op->getResults(), crossing->second))
        mapping.map(result, ring.receive(builder, op->getLoc()).front());
      return;
    }
    Operation *clone = builder.clone(*op, mapping);
    clone->removeAttr(inAttrName);
    if (crossing != rings.end())
      for (auto [result, ring] : llvm::zip(clone->getResults(), crossing->second))
        ring.send(builder, op->getLoc(), result);
  }

  void copyLoop(scf::ForOp loop, OpBuilder &builder) {
    SmallVector<unsigned> kept;
    SmallVector<Value> inits;
    for (auto [index, argument] : llvm::enumerate(loop.getRegionIterArgs()))
      if (slice.has(Value(argument))) {
        kept.push_back(index);
        inits.push_back(mapping.lookupOrDefault(loop.getInitArgs()[index]));
      }
    auto lookup = [&](Value value) { return mapping.lookupOrDefault(value); };
    auto copied = scf::ForOp::create(builder, loop.getLoc(), lookup(loop.getLowerBound()),
                                     lookup(loop.getUpperBound()), lookup(loop.getStep()), inits);
    copied->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
    mapping.map(loop.getInductionVar(), copied.getInductionVar());
    for (auto [place, index] : llvm::enumerate(kept)) {
      mapping.map(loop.getRegionIterArgs()[index], copied.getRegionIterArgs()[place]);
      mapping.map(loop.getResult(index), copied.getResult(place));
    }
    OpBuilder inside = OpBuilder::atBlockEnd(copied.getBody());
    if (!copied.getBody()->empty())
      inside.setInsertionPoint(copied.getBody()->getTerminator());
    block(*loop.getBody(), inside);
    SmallVector<Value> yields;
    for (unsigned index : kept)
      yields.push_back(lookup(loop.getYieldedValues()[index]));
    if (copied.getBody()->mightHaveTerminator())
      copied.getBody()->getTerminator()->setOperands(yields);
    else
      scf::YieldOp::create(inside, loop.getLoc(), yields);
  }

  void copyWhile(scf::WhileOp loop, OpBuilder &builder) {
    SmallVector<unsigned> carried, passed;
    SmallVector<Value> inits;
    SmallVector<Type> types;
    for (BlockArgument argument : loop.getBeforeArguments())
      if (slice.has(Value(argument))) {
        carried.push_back(argument.getArgNumber());
        inits.push_back(mapping.lookupOrDefault(loop.getInits()[argument.getArgNumber()]));
      }
    for (OpResult result : loop.getResults())
      if (slice.has(Value(result))) {
        passed.push_back(result.getResultNumber());
        types.push_back(result.getType());
      }
    auto copied = scf::WhileOp::create(builder, loop.getLoc(), types, inits);
    auto fill = [&](Block &from, Region &region, ArrayRef<unsigned> kept) {
      Block &target = region.emplaceBlock();
      for (unsigned index : kept) {
        BlockArgument argument = from.getArgument(index);
        mapping.map(argument, target.addArgument(argument.getType(), argument.getLoc()));
      }
      OpBuilder inside = OpBuilder::atBlockEnd(&target);
      block(from, inside);
      return inside;
    };
    auto mapped = [&](auto values, ArrayRef<unsigned> kept) {
      SmallVector<Value> result;
      for (unsigned index : kept)
        result.push_back(mapping.lookupOrDefault(values[index]));
      return result;
    };
    scf::ConditionOp condition = loop.getConditionOp();
    OpBuilder before = fill(*loop.getBeforeBody(), copied.getBefore(), carried);
    scf::ConditionOp::create(before, condition.getLoc(),
                             mapping.lookupOrDefault(condition.getCondition()),
                             mapped(condition.getArgs(), passed));
    OpBuilder after = fill(*loop.getAfterBody(), copied.getAfter(), passed);
    scf::YieldOp yield = loop.getYieldOp();
    scf::YieldOp::create(after, yield.getLoc(), mapped(yield.getOperands(), carried));
    for (auto [place, index] : llvm::enumerate(passed))
      mapping.map(loop.getResult(index), copied.getResult(place));
  }

  void copyBranch(scf::IfOp branch, OpBuilder &builder) {
    SmallVector<unsigned> kept;
    SmallVector<Type> types;
    for (OpResult result : branch.getResults())
      if (slice.has(Value(result))) {
        kept.push_back(result.getResultNumber());
        types.push_back(result.getType());
      }
    bool otherwise = !branch.getElseRegion().empty();
    auto copied = scf::IfOp::create(builder, branch.getLoc(), types,
                                    mapping.lookupOrDefault(branch.getCondition()),
                                    otherwise || !kept.empty());
    for (auto [place, index] : llvm::enumerate(kept))
      mapping.map(branch.getResult(index), copied.getResult(place));
    for (auto [from, to] : llvm::zip(branch.getRegions(), copied.getRegions())) {
      if (from->empty())
        continue;
      Block &target = to->front();
      OpBuilder inside = OpBuilder::atBlockEnd(&target);
      bool ended = target.mightHaveTerminator();
      if (ended)
        inside.setInsertionPoint(target.getTerminator());
      block(from->front(), inside);
      SmallVector<Value> yields;
      for (unsigned index : kept)
        yields.push_back(mapping.lookupOrDefault(from->front().getTerminator()->getOperand(index)));
      if (ended)
        target.getTerminator()->setOperands(yields);
      else
        scf::YieldOp::create(inside, branch.getLoc(), yields);
    }
  }

  /// Folds the extents into rows and columns: the last one is the columns.
  void copyTiles(tile::ForEachTileOp tiles, OpBuilder &builder) {
    Location loc = tiles.getLoc();
    SmallVector<Value> extents;
    for (Value extent : tiles.getExtents())
      extents.push_back(mapping.lookupOrDefault(extent));
    Value one = arith::ConstantIntOp::create(builder, loc, 1, 32);
    Value columns = extents.size() > 1 ? extents.back() : one;
    Value rows = extents.front();
    size_t last = std::max<size_t>(extents.size(), 2) - 1;
    for (size_t i = 1; i < last; ++i)
      rows = arith::MulIOp::create(builder, loc, rows, extents[i]);
    OperationState state(loc, ForEachTileOp::getOperationName());
    state.addOperands({rows, columns});
    state.addAttribute("group", builder.getI64IntegerAttr(order.raster));
    if (order.dynamic)
      state.addAttribute(schedulerAttrName, builder.getStringAttr("dynamic"));
    if (order.dynamic && order.reverse && extents.size() > 1)
      state.addAttribute(holdBackAttrName, builder.getI64IntegerAttr(heldBackShare));
    Region *region = state.addRegion();
    region->emplaceBlock();
    region->addArgument(builder.getI32Type(), loc);
    region->addArgument(builder.getI32Type(), loc);
    auto copied = cast<ForEachTileOp>(builder.create(state));
    Block &body = copied.getBody().front();
    OpBuilder inside = OpBuilder::atBlockEnd(&body);
    Block &source = tiles.getBody().front();
    auto place = [&](size_t index, Value coordinate) {
      mapping.map(source.getArgument(index), coordinate);
    };
    Value column = body.getArgument(1), rest = body.getArgument(0);
    if (order.reverse && extents.size() > 1) {
      Value top = arith::SubIOp::create(inside, loc, columns, one);
      column = arith::SubIOp::create(inside, loc, top, column);
    }
    if (extents.size() > 1)
      place(extents.size() - 1, column);
    for (size_t i = last; i-- > 1;) {
      Value outer = arith::DivUIOp::create(inside, loc, rest, extents[i]);
      Value scaled = arith::MulIOp::create(inside, loc, outer, extents[i]);
      place(i, arith::SubIOp::create(inside, loc, rest, scaled));
      rest = outer;
    }
    place(0, rest);
    // The body has no terminator.
    for (Operation &op : source)
      if (slice.has(&op))
        copy(&op, inside);
  }

  const RoleSlice &slice;
  const ValueRings &rings;
  TileOrder order;
  IRMapping mapping;
};

/// Whether `warps` warps can share every product of registers: 16 rows or 8 columns are the least of each.
bool shareProducts(func::FuncOp function, int64_t warps) {
  WalkResult result = function.walk([&](nv::MmaOp product) {
    auto shape = product.getResult().getType().getShape();
    int64_t rows = 1;
    while (warps % (2 * rows) == 0 && shape[0] % (32 * rows) == 0)
      rows *= 2;
    return shape[1] % (8 * (warps / rows)) ? WalkResult::interrupt() : WalkResult::advance();
  });
  return !result.wasInterrupted();
}

/// Warps of a role before anything is known about its replicas.
int64_t warpsOf(func::FuncOp function, StringRef role, tile::ScheduleAttr schedule) {
  if (role == loadRole || role == mmaRole)
    return 1;
  int64_t warps = role == mainRole && schedule ? schedule.integer("warps").value_or(4) : 4;
  while (role == mainRole && warps > 1 && !shareProducts(function, warps))
    warps /= 2;
  return warps;
}

/// Whether all that a role does with tiles is to write them from one slot to another, transposed (warp-form-transposes).
bool onlyTransposes(RoleOp role) {
  WalkResult result = role.walk([](Operation *op) {
    if (auto trans = dyn_cast<tile::TransOp>(op)) {
      auto type = trans.getType();
      bool whole = trans.isMatrix() && type.getElementTypeBitWidth() == 8 && type.getDimSize(1) % 32 == 0 && type.getDimSize(0) % 16 == 0;
      return whole && trans.getSource().getDefiningOp<nv::LocalLoadOp>() ? WalkResult::advance() : WalkResult::interrupt();
    }
    bool computes = llvm::any_of(op->getResultTypes(), llvm::IsaPred<RankedTensorType>) && !isa<nv::LocalLoadOp>(op);
    return computes || isa<nv::CpAsyncOp>(op) ? WalkResult::interrupt() : WalkResult::advance();
  });
  return !result.wasInterrupted();
}

/// What several roles read for themselves, only they may write.
LogicalResult checkReads(func::FuncOp function, const RoleSlices &slices) {
  WrittenMemory written(function);
  WalkResult result = function.walk([&](tile::GatherOp gather) {
    for (const RoleSlice &slice : slices.all()) {
      if (!slice.has(gather.getOperation()) || slice.receives(gather))
        continue;
      Operation *writer = written.writerOf(gather, [&](Operation *op) {
        Attribute role = op->getAttr(inAttrName);
        return role && role != slice.getRole();
      });
      if (!writer)
        continue;
      InFlightDiagnostic error = gather.emitOpError("in role '")
                                 << slice.getRole().getValue() << "': expected memory that no other role writes, found '"
                                 << writer->getName() << "' in role '"
                                 << cast<StringAttr>(writer->getAttr(inAttrName)).getValue() << "'";
      error.attachNote(writer->getLoc()) << "written here, in no order with the read";
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

LogicalResult split(func::FuncOp function) {
  auto schedule = function->getAttrOfType<tile::ScheduleAttr>(tile::scheduleAttrName);
  TileOrder order{schedule ? schedule.integer("raster").value_or(1) : 1,
                  schedule && schedule.word("order") == StringRef("reverse"),
                  schedule && schedule.word("scheduler") == StringRef("dynamic")};
  bool tiles = false;
  function.walk([&](tile::ForEachTileOp) { tiles = true; });

  FailureOr<RoleSlices> slices = RoleSlices::compute(function);
  if (failed(slices) || failed(checkReads(function, *slices)))
    return failure();

  Block &entry = function.getBody().front();
  OpBuilder builder(entry.getTerminator());
  Location loc = function.getLoc();
  ValueRings rings;
  for (auto [op, sender] : slices->sent())
    for (Type type : op->getResultTypes())
      rings[op].push_back(ValueRing(builder, op->getLoc(), type,
                                    ("value" + Twine(rings.size() - 1)).str()));
  OperationState state(loc, SpecializeOp::getOperationName());
  state.addRegion()->emplaceBlock();
  auto specialize = cast<SpecializeOp>(builder.create(state));
  for (const RoleSlice &slice : slices->all()) {
    StringAttr name = slice.getRole();
    OpBuilder inside = OpBuilder::atBlockEnd(&specialize.getBody().front());
    OperationState roleState(loc, RoleOp::getOperationName());
    roleState.addAttribute("sym_name", name);
    roleState.addAttribute("warps", builder.getI64IntegerAttr(warpsOf(function, name, schedule)));
    roleState.addRegion()->emplaceBlock();
    auto role = cast<RoleOp>(inside.create(roleState));
    OpBuilder body = OpBuilder::atBlockEnd(&role.getBody().front());
    Projector(slice, rings, order).block(entry, body);
    if (name == gatherRole && onlyTransposes(role))
      role.setWarps(schedule::transposeWarps);
  }
  // What is left outside is storage.
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(entry))) {
    if (&op == specialize || op.hasTrait<OpTrait::IsTerminator>() ||
        isa<BufferOp, RingOp, OrderOp>(op))
      continue;
    op.dropAllUses();
    op.erase();
  }
  function->removeAttr(rolesAttrName);
  bool persistent = tiles;
  if (schedule)
    if (auto given = schedule.getFields().getAs<BoolAttr>("persistent"))
      persistent = given.getValue();
  if (tiles && !persistent)
    return function.emitOpError("schedule: persistent = false expected a kernel without a loop "
                                "over tiles, found one: as many CTAs run as the machine holds");
  auto dependent = schedule ? schedule.getFields().getAs<BoolAttr>("dependent") : BoolAttr();
  if (!function->hasAttr(launchAttrName))
    function->setAttr(launchAttrName,
                      LaunchAttr::get(function.getContext(), persistent, schedule ? schedule.integer("cluster").value_or(1) : 1, 1));
  if (dependent && dependent.getValue())
    function->setAttr(nv::dependentAttrName, builder.getUnitAttr());
  return success();
}

struct SplitRoles : tileloom::warp::impl::WarpSplitRolesBase<SplitRoles> {
  void runOnOperation() override {
    getOperation()->walk([&](func::FuncOp function) {
      if (function->hasAttr(rolesAttrName) && failed(split(function)))
        signalPassFailure();
    });
  }
};

} // namespace
