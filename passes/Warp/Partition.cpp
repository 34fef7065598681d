//===- Partition.cpp - Which role performs what -------------------------------------------===//
//
// In: a tile kernel. Out: every operation that moves or changes memory, or runs asynchronously, has
// `warp.in` = the name of its role; the function has `warp.roles`, in order. Everything else is
// pure and goes along with its users.
//
// Roles follow from what an engine needs, not from what a kernel is:
// - copies through descriptors are issued by one thread and run ahead of all that uses them:
//   `load`. A kernel without them has enough bytes in flight from many CTAs an SM, and is not
//   specialised, unless it has products;
// - operands of products that are read through pointers are written to shared memory by threads
//   that run ahead, too: `gather` (OperandStaging.h);
// - scalar counters that hand out values (an atomic whose result is used, without an order) are
//   the load thread's too;
// - Hopper's products write registers, so the warps that own the sums issue them, and do all that
//   is done with the sums: `math`. Blackwell's are issued by one thread and write tensor memory:
//   `mma` and `math`. Products too small for either, without copies, are mma.sync's in the one
//   role.
//
//===--------------------------------------------------------------------------------------===//

#include "passes/Warp/Passes.h"

#include "dialects/NV/NV.h"
#include "dialects/Tile/Tile.h"
#include "dialects/User/User.h"
#include "dialects/Warp/Warp.h"
#include "passes/Warp/OperandStaging.h"
#include "passes/Warp/Projection.h"
#include "tileloom/Schedule/CostModel.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace tileloom::warp {
#define GEN_PASS_DEF_WARPPARTITION
#include "passes/Warp/Passes.h.inc"
} // namespace tileloom::warp

using namespace mlir;
using namespace tileloom;

namespace {

/// A counter: an addition to one element whose value before is asked for; only one thread may ask.
/// What orders the whole program, or does something else, is done by the warps that do the rest.
bool drawsScalar(Operation *op) {
  auto atomic = dyn_cast<tile::AtomicOp>(op);
  return atomic && !atomic->use_empty() && !isa<RankedTensorType>(atomic.getType()) &&
         atomic.getKind() == tile::AtomicKind::Add && !atomic.getMask() &&
         atomic.getOrder() == tile::MemOrder::Relaxed && atomic.getScope() == tile::MemScope::Gpu;
}

LogicalResult partition(func::FuncOp function, const schedule::Machine &machine) {
  auto schedule = function->getAttrOfType<tile::ScheduleAttr>(tile::scheduleAttrName);
  StringRef specialize = schedule ? schedule.word("specialize").value_or("auto") : "auto";
  SmallVector<tile::DotOp> dots;
  bool copies = false;
  function.walk([&](Operation *op) {
    copies |= isa<tile::LoadOp>(op);
    if (auto dot = dyn_cast<tile::DotOp>(op))
      dots.push_back(dot);
  });
  if (!copies && specialize == "on")
    return function.emitOpError("schedule: specialize = \"on\" expected a tile that is loaded "
                                "through a descriptor, found none");
  if (copies && specialize == "off")
    return function.emitOpError("schedule: specialize = \"off\" expected a kernel without tiles "
                                "loaded through descriptors, found one: a role issues them");
  bool keeps = schedule && schedule.word("keep").value_or("none") != "none";
  bool tiles =
      function.walk([](tile::ForEachTileOp) { return WalkResult::interrupt(); }).wasInterrupted();
  if (keeps && !(copies && tiles))
    return function.emitOpError("schedule: keep expected a loop over tiles that loads through "
                                "descriptors, found none");
  bool fit = llvm::all_of(dots, [&](tile::DotOp dot) { return fitsTensorCore(dot, machine.tensorMemory); });
  bool roles = copies || (!dots.empty() && fit);

  Builder builder(function.getContext());
  SmallVector<Attribute> names;
  auto name = [&](StringRef role) { return builder.getStringAttr(role); };
  bool gathers = roles && stageOperands(function, machine);
  if (!gathers && schedule && schedule.word("operands") == gatherRole)
    return function.emitOpError(
        "schedule: operands = \"gather\" expected an operand of a product that "
        "is computed, but not from products, found none");
  if (roles) {
    names.push_back(name(mathRole));
    if (copies)
      names.push_back(name(loadRole));
    if (gathers)
      names.push_back(name(gatherRole));
    if (machine.tensorMemory && !dots.empty())
      names.push_back(name(mmaRole));
  } else {
    names.push_back(name(mainRole));
  }
  function->setAttr(warp::rolesAttrName, builder.getArrayAttr(names));
  function.walk([&](Operation *op) {
    if (isa<tile::LoadOp>(op) || (copies && drawsScalar(op)))
      op->setAttr(warp::inAttrName, name(loadRole));
    else if (isa<tile::DotOp>(op))
      op->setAttr(warp::inAttrName, name(!roles ? mainRole : machine.tensorMemory ? mmaRole : mathRole));
    else if (isa<tile::StoreOp, tile::StoreReduceOp, tile::ScatterOp, tile::AtomicOp, tile::LastArrivalOp, nv::StorePartialOp, nv::NamedBarrierOp,
                 user::PrintOp, user::AssertOp>(op) ||
             (isa<user::AsmOp>(op) && !isPure(op)))
      op->setAttr(warp::inAttrName, name(roles ? mathRole : mainRole));
  });
  return success();
}

struct Partition : tileloom::warp::impl::WarpPartitionBase<Partition> {
  using WarpPartitionBase::WarpPartitionBase;

  void runOnOperation() override {
    auto machine = schedule::Machine::of(chip);
    getOperation()->walk([&](func::FuncOp function) {
      if (function->hasAttr(tile::kernelAttrName) && !isAlreadySplit(function) && failed(partition(function, machine)))
        signalPassFailure();
    });
  }
};

} // namespace
