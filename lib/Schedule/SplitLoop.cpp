//===- SplitLoop.cpp - Loops whose iterations may be shared out ---------------------------===//
//
// What is asked of the body of a loop over tiles: one loop with products, which carries sums that start
// at zero and nothing else, and no copies or products beside it but tiles loaded before or after it.
//
//===--------------------------------------------------------------------------------------===//

#include "tileloom/Schedule/SplitLoop.h"

#include "dialects/User/User.h"
#include "tileloom/Schedule/LoopSums.h"

using namespace mlir;

namespace tileloom::schedule {

static bool has(Operation *op, function_ref<bool(Operation *)> wanted) {
  return op->walk([&](Operation *inner) {
             return wanted(inner) ? WalkResult::interrupt() : WalkResult::advance();
           })
      .wasInterrupted();
}

static bool isProduct(Operation *op) { return isa<tile::DotOp>(op); }
static bool isCopy(Operation *op) { return isa<tile::LoadOp>(op); }
static bool writes(Operation *op) {
  return isa<tile::StoreOp, tile::StoreReduceOp, tile::ScatterOp, tile::AtomicOp, user::PrintOp>(op) ||
         (isa<user::AsmOp>(op) && !isPure(op));
}

/// Whether iteration argument `index` is a sum of 32-bit elements that starts at zero.
static bool isSum(scf::ForOp loop, unsigned index) {
  auto type = dyn_cast<RankedTensorType>(loop.getRegionIterArgs()[index].getType());
  return type && type.getRank() == 2 && (type.getElementType().isF32() || type.getElementType().isInteger(32)) &&
         additionTo(loop, index);
}

SplitLoop findSplitLoop(FunctionOpInterface kernel) {
  SplitLoop found;
  auto refuse = [&](Operation *at, const char *expected) {
    found.loop = {};
    found.at = at;
    found.expected = expected;
    return found;
  };
  kernel->walk([&](tile::ForEachTileOp tiles) { found.tiles = tiles; });
  if (!found.tiles)
    return refuse(kernel, "a loop over tiles");
  for (Operation &op : found.tiles.getBody().front()) {
    auto loop = dyn_cast<scf::ForOp>(op);
    bool products = has(&op, isProduct);
    if (products && (found.loop || !loop))
      return refuse(&op, "one loop with all products of a tile, in no branch or other loop");
    if (products)
      found.loop = loop;
    else if (op.getNumRegions() && has(&op, isCopy))
      return refuse(&op, "no copies through descriptors in other loops or branches");
    else if (!found.loop && has(&op, writes))
      return refuse(&op, "nothing written before the loop with products");
  }
  if (!found.loop)
    return refuse(found.tiles, "a loop with products");
  if (!found.loop.getInductionVar().getType().isInteger(32))
    return refuse(found.loop, "a loop that counts in i32");
  if (has(found.loop, writes))
    return refuse(found.loop, "a loop that writes nothing");
  for (unsigned i = 0; i < found.loop.getNumRegionIterArgs(); ++i)
    if (!isSum(found.loop, i))
      return refuse(found.loop, "a loop that carries sums of 32-bit elements from zero, and nothing else");
  return found;
}

} // namespace tileloom::schedule
