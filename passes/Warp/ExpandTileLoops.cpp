//===- ExpandTileLoops.cpp - for_each_tile to scf.for -------------------------------------===//
//
// In: warp.for_each_tile over an m x n grid of tiles. Out: scf.for over the linear tile index of
// this CTA (stride = CTAs, or clusters of them), with the tile coordinates decoded so that `group`
// rows of tiles share B in L2.
//
// With `warp.scheduler` = "dynamic" the CTAs draw their tiles from a counter (DrawTiles.cpp).
//
// Where replicas take alternate tiles, replica r starts r tiles on and steps by R; the slots of the
// tiles it leaves out pass it by: warp.skip moves its place in every shared ring by the number of
// acquires of one tile, which must not depend on the tile.
//
//===--------------------------------------------------------------------------------------===//

#include "passes/Warp/Passes.h"

#include "dialects/Warp/Warp.h"
#include "passes/Warp/TileLoops.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/MapVector.h"

namespace tileloom::warp {
#define GEN_PASS_DEF_WARPEXPANDTILELOOPS
#include "passes/Warp/Passes.h.inc"
} // namespace tileloom::warp

using namespace mlir;
using namespace tileloom;
using namespace tileloom::warp;

namespace {

/// How often `acquire` runs in one tile: the product of the trip counts of the loops around it, as
/// a value before `tileLoop`. Fails with a message when that depends on the tile.
FailureOr<Value> acquiresPerTile(AcquireOp acquire, ForEachTileOp tileLoop, TileMath &math) {
  Value count = math.constant(1);
  for (Operation *parent = acquire->getParentOp(); parent != tileLoop;
       parent = parent->getParentOp()) {
    auto invariant = [&](Value value) {
      return !tileLoop.getBody().isAncestor(value.getParentRegion());
    };
    if (auto branch = dyn_cast<scf::IfOp>(parent)) {
      if (!invariant(branch.getCondition()))
        return acquire.emitOpError("in warp.for_each_tile step(replica): expected scf.if "
                                   "conditions that are the same for all "
                                   "tiles, found one computed in the tile loop");
      Value taken = arith::ExtUIOp::create(math.builder, math.loc, math.builder.getI32Type(),
                                           branch.getCondition());
      if (branch.getElseRegion().isAncestor(acquire->getParentRegion()))
        taken = math.sub(math.constant(1), taken);
      count = math.mul(count, taken);
      continue;
    }
    auto loop = dyn_cast<scf::ForOp>(parent);
    if (!loop)
      return acquire.emitOpError("in warp.for_each_tile step(replica): expected to be nested in "
                                 "scf.for only, found '")
             << parent->getName() << "'";
    for (Value bound : {loop.getLowerBound(), loop.getUpperBound(), loop.getStep()})
      if (!invariant(bound))
        return acquire.emitOpError(
            "in warp.for_each_tile step(replica): expected loop bounds that are the same for all "
            "tiles, found one computed in the tile loop; replicas that take alternate tiles "
            "(schedule: use = \"pingpong\") pass as many slots as the others take");
    Value one = math.constant(1);
    Value span = math.sub(loop.getUpperBound(), loop.getLowerBound());
    Value trips = math.divu(
        math.sub(math.add(math.maxs(span, math.constant(0)), loop.getStep()), one), loop.getStep());
    count = math.mul(count, trips);
  }
  return count;
}

LogicalResult expand(ForEachTileOp tileLoop) {
  prepareTileLoop(tileLoop);
  OpBuilder builder(tileLoop);
  Location loc = tileLoop.getLoc();
  TileMath math{builder, loc};
  auto role = tileLoop->getParentOfType<RoleOp>();
  auto function = tileLoop->getParentOfType<FunctionOpInterface>();
  auto launch = function ? function->getAttrOfType<LaunchAttr>(launchAttrName) : LaunchAttr();
  bool clusters = launch && launch.getCluster() > 1;
  bool alternate = tileLoop.getStep() == TileStep::Replica && role && role.getReplicas() > 1;
  Type i32 = builder.getI32Type();

  Value cta, ctas;
  if (clusters) {
    cta = NVVM::ClusterIdXOp::create(builder, loc, i32, LLVM::ConstantRangeAttr());
    ctas = NVVM::ClusterDimXOp::create(builder, loc, i32, LLVM::ConstantRangeAttr());
  } else {
    cta = NVVM::BlockIdXOp::create(builder, loc, i32, LLVM::ConstantRangeAttr());
    ctas = NVVM::GridDimXOp::create(builder, loc, i32, LLVM::ConstantRangeAttr());
  }
  Value total = math.mul(tileLoop.getM(), tileLoop.getN());
  Value start = cta, step = ctas;
  llvm::MapVector<Value, Value> skipped; // ring -> slots of one tile
  if (alternate) {
    Value replica = ReplicaIndexOp::create(builder, loc, builder.getI32Type());
    start = math.add(cta, math.mul(replica, ctas));
    step = math.mul(ctas, math.constant(role.getReplicas()));
    LogicalResult result = success();
    tileLoop.walk([&](AcquireOp acquire) {
      auto ring = acquire.getRing().getDefiningOp<RingOp>();
      auto buffer = ring.getBuffer().getDefiningOp<BufferOp>();
      if (buffer && buffer.getPerReplica())
        return;
      FailureOr<Value> count = acquiresPerTile(acquire, tileLoop, math);
      if (failed(count)) {
        result = failure();
        return;
      }
      acquire->setAttr(alternateAttrName, builder.getUnitAttr());
      Value &sum = skipped[acquire.getRing()];
      sum = sum ? math.add(sum, *count) : *count;
    });
    if (failed(result))
      return failure();
    for (auto [ring, count] : skipped)
      SkipOp::create(builder, loc, ring, math.mul(count, replica));
  }

  auto loop = scf::ForOp::create(builder, loc, start, total, step);
  builder.setInsertionPoint(loop.getBody()->getTerminator());
  runTile(tileLoop, placeOfTile(tileLoop, loop.getInductionVar(), math), builder);
  builder.setInsertionPoint(loop.getBody()->getTerminator());
  for (auto [ring, count] : skipped)
    SkipOp::create(builder, loc, ring, math.mul(count, math.constant(role.getReplicas() - 1)));
  tileLoop.erase();
  return success();
}

struct ExpandTileLoops : tileloom::warp::impl::WarpExpandTileLoopsBase<ExpandTileLoops> {
  void runOnOperation() override {
    WalkResult drawn = getOperation()->walk([](SpecializeOp kernel) {
      return failed(drawTiles(kernel)) ? WalkResult::interrupt() : WalkResult::advance();
    });
    if (drawn.wasInterrupted())
      return signalPassFailure();
    SmallVector<ForEachTileOp> loops;
    getOperation()->walk([&](ForEachTileOp loop) { loops.push_back(loop); });
    for (ForEachTileOp loop : loops)
      if (failed(expand(loop)))
        return signalPassFailure();
  }
};

} // namespace
