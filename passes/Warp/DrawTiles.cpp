//===- DrawTiles.cpp - Tiles from a counter -----------------------------------------------===//
//
// In: for_each_tile with `warp.scheduler` = "dynamic" in the roles of a kernel. Out: scf.while
// loops. A CTA's first tile is its own number; one role (it runs in one thread and copies ahead of
// the others) draws the next from a counter in global memory and hands its coordinates to the other
// roles through a ring; those need no division, and none of the registers that one would keep between
// tiles. A row of -1 says that there is no further tile.
//
// What is drawn cannot go to another CTA any more. So the role asks for the next tile as late as the counter's latency
// does not show: in front of the copies that follow a tile's loops, which wait for a slot. Asked for in front of all of a tile's copies, a
// CTA with a long tile had its next one as early as the others: of 256 causal tiles of 1 to 8 parts on 132 processors
// the last was done after 1.27 times the mean, asked for late 1.03 (2048 tiles of 16 parts 1.015 and 1.006). Tiles without copies behind
// their loops still ask first. The other roles take the coordinates in front of their last wait for a product.
//
// Tiles start in the order of their numbers (longest first, for one), or as DrawOrder rearranges them,
// and a CTA with a short tile comes back sooner.
//
// Tiles without work (EmptyTiles.cpp) are not handed on: the other roles have no branch around their work then, and do not wait for what it depends on.
//
// The counter is a workspace of two zeros that the runtime keeps for each stream (docs/recipe.md):
// the last CTA to finish leaves it as it was.
//
//===--------------------------------------------------------------------------------------===//

#include "dialects/NV/NV.h"
#include "dialects/Tile/Kernel.h"
#include "passes/Warp/DrawOrder.h"
#include "passes/Warp/EmptyTiles.h"
#include "passes/Warp/Projection.h"
#include "passes/Warp/TileLoops.h"
#include "passes/Warp/ValueRing.h"
#include "tileloom/Analysis/Roles.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace tileloom;
using namespace tileloom::warp;

namespace {

bool isDynamic(ForEachTileOp loop) {
  auto scheduler = loop->getAttrOfType<StringAttr>(schedulerAttrName);
  return scheduler && scheduler.getValue() == "dynamic";
}

/// Whether `role` can draw: one thread, which copies.
bool canDraw(RoleOp role) {
  return isSingleThreadRole(role) &&
         role.walk([](nv::TmaLoadOp) { return WalkResult::interrupt(); }).wasInterrupted();
}

class Drawer {
public:
  Drawer(const ValueRing &ring, Value counter) : ring(ring), counter(counter) {}

  /// Draws tiles and hands their coordinates on. branch: null, or what all of a tile's work is in.
  void draw(ForEachTileOp tiles, scf::IfOp branch) {
    OpBuilder builder(tiles);
    TileMath math{builder, tiles.getLoc()};
    Type i32 = builder.getI32Type();
    Value cta = NVVM::BlockIdXOp::create(builder, math.loc, i32, LLVM::ConstantRangeAttr());
    Value ctas = NVVM::GridDimXOp::create(builder, math.loc, i32, LLVM::ConstantRangeAttr());
    DrawOrder order(tiles, ctas);
    Value one = math.constant(1);
    auto loop = scf::WhileOp::create(
        builder, math.loc, TypeRange{i32, i32}, ValueRange{cta},
        [&](OpBuilder &inside, Location loc, ValueRange draw) {
          TileMath insideMath{inside, loc};
          Value tile = order.tileOf(draw[0], insideMath);
          auto [i, j] = placeOfTile(tiles, tile, insideMath);
          Value more = arith::CmpIOp::create(inside, loc, arith::CmpIPredicate::slt, draw[0], order.total());
          if (branch) {
            Value end = arith::CmpIOp::create(inside, loc, arith::CmpIPredicate::sge, draw[0], order.total());
            OpBuilder last = scf::IfOp::create(inside, loc, end, false).getThenBodyBuilder();
            ring.send(last, loc, {TileMath{last, loc}.constant(-1), j});
          } else {
            ring.send(inside, loc, {insideMath.select(more, i, insideMath.constant(-1)), j});
          }
          scf::ConditionOp::create(inside, loc, more, {i, j});
        },
        [&](OpBuilder &inside, Location loc, ValueRange at) {
          Value taken = nv::AtomicAddOp::create(inside, loc, i32, counter, place(inside, loc, 0), one);
          runTile(tiles, {at[0], at[1]}, inside);
          if (Operation *last = lastCopies(*inside.getBlock()))
            taken.getDefiningOp()->moveBefore(last);
          if (branch) {
            OpBuilder working = OpBuilder::atBlockBegin(branch.thenBlock());
            ring.send(working, loc, at);
          }
          Value next = arith::AddIOp::create(inside, loc, taken, ctas);
          scf::YieldOp::create(inside, loc, next);
        });
    builder.setInsertionPointAfter(loop);
    restore(builder, math, ctas);
    tiles.erase();
  }

  /// Takes the coordinates that the drawing role hands on. branch: null, or what is taken for these tiles.
  void follow(ForEachTileOp tiles, scf::IfOp branch) {
    OpBuilder builder(tiles);
    Type i32 = builder.getI32Type();
    if (!branch)
      return followAhead(tiles, builder);
    scf::WhileOp::create(
        builder, tiles.getLoc(), TypeRange{i32, i32}, ValueRange(),
        [&](OpBuilder &inside, Location loc, ValueRange) {
          SmallVector<Value> at = ring.receive(inside, loc, 2);
          Value none = arith::ConstantIntOp::create(inside, loc, 0, 32);
          Value more = arith::CmpIOp::create(inside, loc, arith::CmpIPredicate::sge, at[0], none);
          scf::ConditionOp::create(inside, loc, more, at);
        },
        [&](OpBuilder &inside, Location loc, ValueRange at) {
          runTile(tiles, {at[0], at[1]}, inside);
          branch.thenYield().erase();
          branch->getBlock()->getOperations().splice(branch->getIterator(), branch.thenBlock()->getOperations());
          branch.erase();
          scf::YieldOp::create(inside, loc);
        });
    tiles.erase();
  }

private:
  /// The same where all tiles have work: the next tile's coordinates are taken in front of the last wait for a product, if all that other roles send for
  /// this tile has been taken by then, so that their latency is not in front of the next tile's first copy.
  void followAhead(ForEachTileOp tiles, OpBuilder &builder) {
    Location loc = tiles.getLoc();
    Type i32 = builder.getI32Type();
    SmallVector<Value> first = ring.receive(builder, loc, 2);
    auto loop = scf::WhileOp::create(
        builder, loc, TypeRange{i32, i32}, first,
        [&](OpBuilder &inside, Location, ValueRange at) {
          Value none = arith::ConstantIntOp::create(inside, loc, 0, 32);
          scf::ConditionOp::create(inside, loc, arith::CmpIOp::create(inside, loc, arith::CmpIPredicate::sge, at[0], none), at);
        },
        [&](OpBuilder &inside, Location, ValueRange at) {
          runTile(tiles, {at[0], at[1]}, inside);
          scf::YieldOp::create(inside, loc, at);
        });
    Block &body = loop.getAfter().front();
    Operation *wait = lastWait(body);
    OpBuilder early(wait ? wait : body.getTerminator());
    body.getTerminator()->setOperands(ring.receive(early, loc, 2));
    tiles.erase();
  }

  /// Where a tile's last copies begin, behind its loops: the first slot that is taken there; null if there is none.
  static Operation *lastCopies(Block &block) {
    Operation *first = nullptr;
    bool loops = false;
    for (Operation &op : block) {
      if (isa<LoopLikeOpInterface>(op))
        loops = true, first = nullptr;
      else if (isa<AcquireOp>(op) && loops && !first)
        first = &op;
    }
    return first;
  }

  /// The last wait for a product directly in `block`; null if there is none, or a slot that another role fills is taken behind it.
  static Operation *lastWait(Block &block) {
    auto role = block.getParentOp()->getParentOfType<RoleOp>();
    for (Operation &op : llvm::reverse(block)) {
      if (isa<nv::WgmmaWaitOp>(op))
        return &op;
      bool takes = op.walk([&](AcquireOp acquire) {
                       bool own = llvm::all_of(acquire.getRing().getUsers(), [&](Operation *user) { return user->getParentOfType<RoleOp>() == role; });
                       return own ? WalkResult::advance() : WalkResult::interrupt();
                     }).wasInterrupted();
      if (takes)
        return nullptr;
    }
    return nullptr;
  }

  static Value place(OpBuilder &builder, Location loc, int64_t index) {
    return arith::ConstantIntOp::create(builder, loc, index, 64);
  }

  /// The last CTA leaves the counter as it was. All others have drawn their last number: a CTA adds
  /// itself to the second word after that.
  void restore(OpBuilder &builder, TileMath &math, Value ctas) {
    Value one = math.constant(1), zero = math.constant(0);
    Value first = place(builder, math.loc, 0), second = place(builder, math.loc, 1);
    Value finished =
        nv::AtomicAddOp::create(builder, math.loc, builder.getI32Type(), counter, second, one);
    Value last = arith::CmpIOp::create(builder, math.loc, arith::CmpIPredicate::eq, finished,
                                       math.sub(ctas, one));
    auto branch = scf::IfOp::create(builder, math.loc, last, false);
    OpBuilder inside = branch.getThenBodyBuilder();
    for (Value word : {first, second})
      nv::GlobalStoreOp::create(inside, math.loc, zero, counter, word, Value(),
                                nv::CacheHintAttr());
  }

  const ValueRing &ring;
  Value counter;
};

} // namespace

LogicalResult tileloom::drawTiles(SpecializeOp kernel) {
  SmallVector<ForEachTileOp> loops;
  kernel.walk([&](ForEachTileOp loop) { loops.push_back(loop); });
  for (ForEachTileOp loop : loops)
    if (Attribute held = loop->getAttr(holdBackAttrName)) {
      auto share = dyn_cast<IntegerAttr>(held);
      if (!share || share.getInt() < 2)
        return loop.emitOpError("warp.hold_back: expected a number of at least 2, found ") << held;
      if (!isDynamic(loop))
        return loop.emitOpError("warp.hold_back: expected warp.scheduler = \"dynamic\" beside it");
    }
  if (llvm::none_of(loops, isDynamic))
    return success();
  auto function = kernel->getParentOfType<FunctionOpInterface>();
  auto launch = function->getAttrOfType<LaunchAttr>(launchAttrName);
  RoleOp drawing;
  llvm::SmallDenseSet<Operation *> roles;
  for (ForEachTileOp loop : loops) {
    auto role = loop->getParentOfType<RoleOp>();
    if (!isDynamic(loop))
      return loop.emitOpError("warp.scheduler: expected \"dynamic\" in all roles, found this loop "
                              "without");
    if (!roles.insert(role).second)
      return loop.emitOpError("warp.scheduler = \"dynamic\": expected one loop over tiles in role @")
             << role.getSymName() << ", found a second";
    if (loop.getStep() == TileStep::Replica && role.getReplicas() > 1)
      return loop.emitOpError("warp.scheduler = \"dynamic\": expected replicas that share each "
                              "tile, found step(replica)");
    if (!drawing && canDraw(role))
      drawing = role;
  }
  if (launch && launch.getCluster() > 1)
    return kernel.emitOpError("warp.scheduler = \"dynamic\": expected clusters of one CTA, found ")
           << launch.getCluster();
  if (!drawing)
    return kernel.emitOpError("warp.scheduler = \"dynamic\": expected a role of one thread that "
                              "copies tiles (nv.tma.load), found none to draw them");

  OpBuilder builder(kernel);
  unsigned index = function.getNumArguments();
  auto attributes = builder.getDictionaryAttr(
      {builder.getNamedAttr(tile::pointerAttrName, TypeAttr::get(builder.getI32Type())),
       builder.getNamedAttr(nv::workspaceAttrName, builder.getI64IntegerAttr(8))});
  if (failed(function.insertArgument(index, builder.getI64Type(), attributes, kernel.getLoc())))
    return failure();
  // One slot: what is drawn early cannot go to another CTA any more, when the last tiles are dealt.
  ValueRing ring(builder, kernel.getLoc(), builder.getI32Type(), "tile_place", 1);
  Drawer drawer(ring, function.getArgument(index));
  for (ForEachTileOp loop : loops)
    prepareTileLoop(loop);
  SmallVector<scf::IfOp> branches = branchesOverTiles(loops);
  branches.resize(loops.size());
  for (auto [loop, branch] : llvm::zip(loops, branches)) {
    if (loop->getParentOfType<RoleOp>() == drawing)
      drawer.draw(loop, branch);
    else
      drawer.follow(loop, branch);
  }
  return success();
}
