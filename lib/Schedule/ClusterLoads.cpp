//===- ClusterLoads.cpp - What neighbouring tiles load alike ------------------------------===//
//
// Places, bounds and conditions are followed back to the index of the tile along one extent.
//
//===--------------------------------------------------------------------------------------===//

#include "tileloom/Schedule/ClusterLoads.h"

#include "dialects/NV/NV.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;

namespace tileloom::schedule {

namespace {

constexpr int64_t swizzleRows = 8;

class Dependence {
public:
  Dependence(tile::ForEachTileOp tiles, unsigned extent) : tiles(tiles), index(tiles.getBody().getArgument(extent)) {}

  bool varies(Value value) {
    if (value == index)
      return true;
    if (!seen.insert(value).second || !tiles.getBody().isAncestor(value.getParentRegion()))
      return false;
    Operation *owner = value.getDefiningOp();
    if (!owner) {
      owner = value.getParentBlock()->getParentOp();
      if (owner == tiles)
        return false; // another extent
    }
    // A loop counts, and carries each value for itself.
    auto loop = dyn_cast<scf::ForOp>(owner);
    auto carried = dyn_cast<BlockArgument>(value);
    if (!loop)
      return varies(owner);
    if (value == loop.getInductionVar())
      return varies(loop.getLowerBound()) || varies(loop.getStep());
    unsigned place = carried ? carried.getArgNumber() - 1 : cast<OpResult>(value).getResultNumber();
    return varies(loop.getInitArgs()[place]) || varies(loop.getYieldedValues()[place]) || (!carried && boundsVary(loop));
  }

  bool boundsVary(scf::ForOp loop) {
    return varies(loop.getLowerBound()) || varies(loop.getUpperBound()) || varies(loop.getStep());
  }

  /// Whether how often `owner`'s blocks run, or what comes out of it, varies.
  bool varies(Operation *owner) {
    auto any = [&](ValueRange values) { return llvm::any_of(values, [&](Value one) { return varies(one); }); };
    for (Region &region : owner->getRegions())
      for (Block &block : region)
        if (block.mightHaveTerminator() && any(block.getTerminator()->getOperands()))
          return true;
    bool reads = isa<tile::GatherOp, tile::LoadOp>(owner);
    return (owner->getNumRegions() == 0 && !isPure(owner) && !reads) || any(owner->getOperands());
  }

private:
  tile::ForEachTileOp tiles;
  Value index;
  llvm::DenseSet<Value> seen;
};

/// Whether all that is done with a tile is to multiply it from where it lies.
bool onlyMultiplied(Value value) {
  return !value.use_empty() && llvm::all_of(value.getUses(), [](OpOperand &use) {
    Operation *user = use.getOwner();
    if (auto dot = dyn_cast<tile::DotOp>(user))
      return use.get() != dot.getAcc();
    auto stack = dyn_cast<nv::ConcatOp>(user); // of operands, one below the other
    return (isa<tile::TransOp>(user) || (stack && stack.getDim() == 0)) && onlyMultiplied(user->getResult(0));
  });
}

/// Whether `ctas` CTAs can load as many rows of the box each.
bool hasParts(tile::LoadOp load, int64_t ctas) {
  auto box = cast<tile::DescType>(load.getDesc().getType()).getShape();
  auto type = load.getType();
  if (type.getRank() != 2 || load.getCoordinates().size() != box.size())
    return false;
  const int64_t *outer = llvm::find_if(box, [](int64_t extent) { return extent != 1; });
  return type.getDimSize(0) % (swizzleRows * ctas) == 0 && *outer % ctas == 0;
}

} // namespace

std::optional<unsigned> clusterExtent(tile::ForEachTileOp tiles, StringRef multicast) {
  unsigned rank = tiles.getExtents().size();
  if (multicast == "columns")
    return rank > 1 ? rank - 2 : 0;
  return rank > 1 ? std::optional<unsigned>(rank - 1) : std::nullopt;
}

bool variesAlong(tile::ForEachTileOp tiles, unsigned extent, Value value) { return Dependence(tiles, extent).varies(value); }

SmallVector<tile::LoadOp> sharedLoads(tile::ForEachTileOp tiles, unsigned extent, int64_t ctas) {
  SmallVector<tile::LoadOp> shared;
  tiles.walk([&](tile::LoadOp load) {
    if (load->getParentOp() == tiles || !hasParts(load, ctas) || !onlyMultiplied(load))
      return;
    Dependence dependence(tiles, extent);
    bool loops = false;
    if (llvm::any_of(load.getCoordinates(), [&](Value coordinate) { return dependence.varies(coordinate); }))
      return;
    for (Operation *op = load->getParentOp(); op != tiles; op = op->getParentOp()) {
      if (!isa<scf::ForOp, scf::WhileOp, scf::IfOp>(op))
        return;
      loops |= isa<LoopLikeOpInterface>(op);
      auto loop = dyn_cast<scf::ForOp>(op);
      auto branch = dyn_cast<scf::IfOp>(op);
      if (loop ? dependence.boundsVary(loop) : branch ? dependence.varies(branch.getCondition()) : dependence.varies(op))
        return;
    }
    if (loops)
      shared.push_back(load);
  });
  return shared;
}

} // namespace tileloom::schedule
