//===- EmptyTiles.cpp - Tiles for which no role does anything -----------------------------===//
//
// A tile behind the end of its sequence, say: each role reads the length and finds that there is nothing to do. Where all roles decide by the same
// scalars, of the tile's coordinates, of arguments and of memory, one of them can decide for all.
//
//===--------------------------------------------------------------------------------------===//

#include "passes/Warp/EmptyTiles.h"

#include "dialects/NV/NV.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace tileloom;
using namespace tileloom::warp;

/// The branch that all work of `loop` is in, or null.
static scf::IfOp branchOver(ForEachTileOp loop) {
  Block &body = loop.getBody().front();
  auto branch = body.empty() ? scf::IfOp() : dyn_cast<scf::IfOp>(body.back());
  if (!branch || branch.getNumResults() || branch.elseBlock())
    return nullptr;
  for (Operation &op : body.without_terminator())
    if (&op != branch && !isMemoryEffectFree(&op) && !isa<nv::GlobalLoadOp>(op))
      return nullptr;
  return branch;
}

namespace {

/// Compares scalars of two roles.
struct Comparison {
  ForEachTileOp one, other;
  llvm::DenseSet<std::pair<Value, Value>> equal;

  bool isScalarCode(Operation *op) const {
    return op->getNumRegions() == 0 && (isa<arith::ArithDialect>(op->getDialect()) || isa<nv::GlobalLoadOp>(op));
  }

  bool same(Value a, Value b) {
    if (a == b || equal.contains({a, b}))
      return true;
    if (a.getType() != b.getType() || isa<ShapedType>(a.getType()))
      return false;
    auto first = dyn_cast<BlockArgument>(a), second = dyn_cast<BlockArgument>(b);
    if (first || second)
      return first && second && first.getOwner() == &one.getBody().front() && second.getOwner() == &other.getBody().front() &&
             first.getArgNumber() == second.getArgNumber();
    Operation *left = a.getDefiningOp(), *right = b.getDefiningOp();
    if (left->getName() != right->getName() || left->getAttrDictionary() != right->getAttrDictionary() ||
        left->getNumOperands() != right->getNumOperands() || !isScalarCode(left) ||
        cast<OpResult>(a).getResultNumber() != cast<OpResult>(b).getResultNumber())
      return false;
    for (auto [x, y] : llvm::zip(left->getOperands(), right->getOperands()))
      if (!same(x, y))
        return false;
    equal.insert({a, b});
    return true;
  }
};

} // namespace

SmallVector<scf::IfOp> tileloom::branchesOverTiles(ArrayRef<ForEachTileOp> loops) {
  SmallVector<scf::IfOp> branches;
  for (ForEachTileOp loop : loops) {
    scf::IfOp branch = branchOver(loop);
    if (!branch || (!branches.empty() && !Comparison{loops.front(), loop, {}}.same(branches.front().getCondition(), branch.getCondition())))
      return {};
    branches.push_back(branch);
  }
  return branches;
}
