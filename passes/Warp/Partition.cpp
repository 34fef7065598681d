//===- Partition.cpp - Which role performs what -------------------------------------------===//
//
// In: a tile kernel. Out: every operation that moves or changes memory, or runs asynchronously, has
// `warp.in` = the name of its role; the function has `warp.roles`, in order. Everything else is
// pure and goes along with its users.
//
// Roles follow from what an engine needs, not from what a kernel is:
// - a kernel is specialised where a product reads its operands from shared memory, because only
//   then a copy engine can run ahead of the tensor core. Other code has enough bytes in flight
//   from many CTAs an SM;
// - copies into shared memory are issued by one thread: `load`;
// - Hopper's products write registers, so the warps that own the sums issue them, and do all that
//   is done with the sums: `math`. Blackwell's are issued by one thread and write tensor memory:
//   `mma` and `math`.
//
//===--------------------------------------------------------------------------------------===//

#include "passes/Warp/Passes.h"

#include "dialects/Tile/Tile.h"
#include "dialects/Warp/Warp.h"
#include "passes/Warp/Projection.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"

namespace tileloom::warp {
#define GEN_PASS_DEF_WARPPARTITION
#include "passes/Warp/Passes.h.inc"
} // namespace tileloom::warp

using namespace mlir;
using namespace tileloom;

namespace {

/// The load that a product's operand is a view of, if it is one.
tile::LoadOp loadOf(Value operand) {
  if (auto trans = operand.getDefiningOp<tile::TransOp>())
    operand = trans.getSource();
  return operand.getDefiningOp<tile::LoadOp>();
}

LogicalResult partition(func::FuncOp function, bool tensorMemory) {
  auto schedule = function->getAttrOfType<tile::ScheduleAttr>(tile::scheduleAttrName);
  StringRef specialize = schedule ? schedule.word("specialize").value_or("auto") : "auto";
  SetVector<Operation *> fed;
  SmallVector<tile::DotOp> dots;
  function.walk([&](tile::DotOp dot) {
    dots.push_back(dot);
    for (Value operand : {dot.getA(), dot.getB()})
      if (tile::LoadOp load = loadOf(operand))
        fed.insert(load);
  });
  if (fed.empty() && specialize == "on")
    return function.emitOpError("schedule: specialize = \"on\" expected a product of tiles that "
                                "are loaded through descriptors, found none");
  bool roles = !fed.empty() && specialize != "off";
  if (!roles && !dots.empty())
    return dots.front().emitOpError("operands: expected a or b to be loaded through a descriptor, "
                                    "found neither");

  Builder builder(function.getContext());
  SmallVector<Attribute> names;
  auto name = [&](StringRef role) { return builder.getStringAttr(role); };
  if (roles) {
    names.push_back(name(mathRole));
    names.push_back(name(loadRole));
    if (tensorMemory)
      names.push_back(name(mmaRole));
  } else {
    names.push_back(name(mainRole));
  }
  function->setAttr(rolesAttrName, builder.getArrayAttr(names));
  function.walk([&](Operation *op) {
    if (fed.contains(op) && roles)
      op->setAttr(inAttrName, name(loadRole));
    else if (isa<tile::DotOp>(op))
      op->setAttr(inAttrName, name(tensorMemory ? mmaRole : mathRole));
    else if (isa<tile::LoadOp, tile::StoreOp, tile::ScatterOp, tile::AtomicOp>(op))
      op->setAttr(inAttrName, name(roles ? mathRole : mainRole));
  });
  return success();
}

struct Partition : tileloom::warp::impl::WarpPartitionBase<Partition> {
  using WarpPartitionBase::WarpPartitionBase;

  void runOnOperation() override {
    getOperation()->walk([&](func::FuncOp function) {
      if (function->hasAttr(tile::kernelAttrName) && !isAlreadySplit(function) &&
          failed(partition(function, StringRef(chip).starts_with("sm_10"))))
        signalPassFailure();
    });
  }
};

} // namespace
