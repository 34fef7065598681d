//===- TileWork.cpp - Whether all tiles have the same work --------------------------------===//
//
// Bounds and conditions are followed back to where they come from: arguments and constants are the
// same for all tiles, the tile's coordinates and what is read from memory are not.
//
//===--------------------------------------------------------------------------------------===//

#include "tileloom/Schedule/TileWork.h"

#include "dialects/NV/NV.h"

#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/CastInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;

namespace tileloom::schedule {

namespace {

class Sources {
public:
  explicit Sources(tile::ForEachTileOp tiles) : tiles(tiles) {}

  bool vary(Value value) {
    if (!seen.insert(value).second || !tiles.getBody().isAncestor(value.getParentRegion()))
      return false;
    auto anyVaries = [&](ValueRange values) {
      return llvm::any_of(values, [&](Value one) { return vary(one); });
    };
    Operation *owner = value.getDefiningOp();
    if (!owner) {
      owner = value.getParentBlock()->getParentOp();
      if (owner == tiles)
        return true;
    }
    for (Region &region : owner->getRegions())
      for (Block &block : region)
        if (block.mightHaveTerminator() && anyVaries(block.getTerminator()->getOperands()))
          return true;
    bool reads = owner->getNumRegions() == 0 && !isPure(owner);
    return reads || anyVaries(owner->getOperands());
  }

private:
  tile::ForEachTileOp tiles;
  llvm::DenseSet<Value> seen;
};

bool hasWork(Operation *op) {
  return op->walk([](Operation *inner) {
             return isa<tile::LoadOp, tile::DotOp>(inner) ? WalkResult::interrupt()
                                                          : WalkResult::advance();
           })
      .wasInterrupted();
}

} // namespace

bool tilesDiffer(tile::ForEachTileOp tiles) {
  bool differ = false;
  tiles.walk([&](Operation *op) {
    if (!isa<scf::ForOp, scf::IfOp, scf::WhileOp>(op) || !hasWork(op))
      return;
    Sources sources(tiles);
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      for (Value bound : {loop.getLowerBound(), loop.getUpperBound(), loop.getStep()})
        differ |= sources.vary(bound);
    } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
      differ |= sources.vary(branch.getCondition());
    } else {
      differ = true;
    }
  });
  return differ;
}

bool placesAreRead(tile::ForEachTileOp tiles) {
  bool read = false;
  tiles.walk([&](tile::LoadOp load) {
    SetVector<Operation *> slice;
    BackwardSliceOptions options;
    options.inclusive = true;
    options.filter = [&](Operation *op) { return tiles->isProperAncestor(op); };
    for (Value coordinate : load.getCoordinates())
      (void)getBackwardSlice(coordinate, &slice, options);
    read |= llvm::any_of(slice, llvm::IsaPred<tile::GatherOp>);
  });
  return read;
}

bool isPlainResult(Value stored) {
  while (auto conversion = stored.getDefiningOp<CastOpInterface>())
    stored = conversion->getOperand(0);
  Operation *def = stored.getDefiningOp();
  return def && !def->hasTrait<OpTrait::Elementwise>();
}

/// Whether `value` is a sum of products, or computed from one element by element.
static bool isSum(Value value) {
  Operation *def = value.getDefiningOp();
  if (!def || isa<tile::LoadOp>(def))
    return false;
  if (isa<tile::DotOp, nv::WgmmaOp, nv::WgmmaWaitOp, nv::SumPartialsOp>(def))
    return true;
  if (auto loop = dyn_cast<scf::ForOp>(def))
    return isSum(loop.getYieldedValues()[cast<OpResult>(value).getResultNumber()]);
  bool together = def->hasTrait<OpTrait::Elementwise>() || isa<nv::ConcatOp, nv::ExtractOp>(def);
  return together && llvm::any_of(def->getOperands(), isSum);
}

bool isTransposed(Value stored) {
  Operation *def = stored.getDefiningOp();
  if (!def)
    return false;
  if (isa<tile::TransOp>(def))
    return isSum(def->getOperand(0));
  bool together = def->hasTrait<OpTrait::Elementwise>() || isa<nv::ConcatOp, nv::ExtractOp>(def);
  return together && llvm::any_of(def->getOperands(), isTransposed) && llvm::none_of(def->getOperands(), isSum);
}

static bool variesByTile(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return !isa<func::FuncOp>(argument.getOwner()->getParentOp());
  Operation *def = value.getDefiningOp();
  return isa<tile::GatherOp>(def) || llvm::any_of(def->getOperands(), variesByTile);
}

bool loadsDiffer(Operation *kernel) {
  WalkResult result = kernel->walk([](tile::LoadOp load) {
    for (Operation *op = load->getParentOp(); !isa<func::FuncOp, tile::ForEachTileOp>(op); op = op->getParentOp()) {
      bool varies = true; // how often a while loop runs is known as it runs
      if (auto loop = dyn_cast<scf::ForOp>(op))
        varies = llvm::any_of(loop->getOperands().take_front(loop.getNumControlOperands()), variesByTile);
      else if (auto branch = dyn_cast<scf::IfOp>(op))
        varies = variesByTile(branch.getCondition());
      if (varies)
        return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return result.wasInterrupted();
}

} // namespace tileloom::schedule
