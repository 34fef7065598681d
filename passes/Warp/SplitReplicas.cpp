//===- SplitReplicas.cpp - The work of a role over its replicas ---------------------------===//
//
// In: roles for whole tiles, and `tile.schedule`. Out: the role that owns the sums of products has
// `replicas` copies of four warps.
//
// cooperative: each replica takes its share of the rows of every tile, or of its columns (`divide`; RowSplitter). Of tensor memory each has slots of its own, and
// products are issued for one block of rows after the other (RowBlocks).
//
// pingpong: each replica takes every other tile, whole. Turns (warp.order) keep one replica's
// products together, so that the other's epilogue runs beside them.
//
//===--------------------------------------------------------------------------------------===//

#include "passes/Warp/Passes.h"

#include "dialects/NV/NV.h"
#include "dialects/Tile/Tile.h"
#include "dialects/Warp/Warp.h"
#include "passes/Tile/Passes.h"
#include "passes/Warp/RowBlocks.h"
#include "passes/Warp/RowSplitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"

namespace tileloom::warp {
#define GEN_PASS_DEF_WARPSPLITREPLICAS
#include "passes/Warp/Passes.h.inc"
} // namespace tileloom::warp

using namespace mlir;
using namespace tileloom;
using namespace tileloom::warp;

namespace {

/// The outermost loop or product of a tile that issues products, and so needs the turn.
void takeTurns(RoleOp role, Value order) {
  role.walk([&](ForEachTileOp tiles) {
    tiles.setStep(TileStep::Replica);
    Operation *first = nullptr, *last = nullptr;
    Block &body = tiles.getBody().front();
    for (Operation &op : body) {
      bool issues = op.walk([](nv::WgmmaOp) { return WalkResult::interrupt(); }).wasInterrupted();
      if (!issues)
        continue;
      first = first ? first : &op;
      last = &op;
    }
    if (!first)
      return;
    OpBuilder builder(first);
    AwaitOp::create(builder, first->getLoc(), order, Value());
    builder.setInsertionPointAfter(last);
    PassOp::create(builder, last->getLoc(), order);
  });
}

/// Whether a role has the sums of products that another one issues.
bool readsSums(RoleOp role) {
  return role
      .walk([](AcquireOp acquire) { return liesInTensorMemory(acquire.getRing()) ? WalkResult::interrupt() : WalkResult::advance(); })
      .wasInterrupted() &&
      !role.walk([](nv::Tcgen05MmaOp) { return WalkResult::interrupt(); }).wasInterrupted();
}

LogicalResult split(func::FuncOp function) {
  auto schedule = function->getAttrOfType<tile::ScheduleAttr>(tile::scheduleAttrName);
  if (!schedule)
    return success();
  int64_t replicas = schedule.integer("replicas").value_or(1);
  bool byColumns = schedule.dividesColumns();
  StringRef shared = byColumns ? "columns" : "rows";
  bool pingpong = schedule.word("use") == StringRef("pingpong");
  LogicalResult result = success();
  function.walk([&](RoleOp role) {
    bool products = role.walk([](nv::WgmmaOp) { return WalkResult::interrupt(); }).wasInterrupted();
    bool sums = readsSums(role);
    if (!(products || sums) || replicas == 1 || failed(result))
      return;
    role.setReplicas(replicas);
    if (!pingpong) {
      std::optional<RowsRefused> refused = splitTiles(role, replicas, byColumns);
      if (!refused) {
        if (sums)
          result = splitBlocks(function, role, replicas);
        return;
      }
      // Only who asked for replicas is refused; else one does all the work, unless a tile has more rows than tensor memory.
      if (function->hasAttr(tile::replicasChosenAttrName) && !sums) {
        role.setReplicas(1);
        refused->op->emitRemark("one warpgroup for all ") << shared << ": they cannot be split over " << replicas << ": " << refused->reason;
        return;
      }
      result = refused->op->emitOpError("cannot be split over ")
               << replicas << " replicas by " << shared << ": " << refused->reason;
      return;
    }
    if (!role.walk([](ForEachTileOp) { return WalkResult::interrupt(); }).wasInterrupted()) {
      result =
          function.emitOpError("schedule: use = \"pingpong\" expected a loop over tiles, which "
                               "the replicas take in turn, found none");
      return;
    }
    OpBuilder builder(role->getParentOp());
    auto order =
        OrderOp::create(builder, role.getLoc(), OrderType::get(function.getContext()), replicas);
    takeTurns(role, order);
  });
  return result;
}

struct SplitReplicas : tileloom::warp::impl::WarpSplitReplicasBase<SplitReplicas> {
  void runOnOperation() override {
    getOperation()->walk([&](func::FuncOp function) {
      if (failed(split(function)))
        signalPassFailure();
    });
  }
};

} // namespace
