//===- ReplacedSums.cpp - Sums of loops, computed another way -----------------------------===//

#include "passes/Tile/ReplacedSums.h"

#include "tileloom/Schedule/LoopSums.h"

#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using namespace tileloom;
using namespace tileloom::tile;

DotOp tileloom::tile::replaceableProduct(scf::ForOp loop, unsigned index) {
  DotOp dot = schedule::productSummedBy(loop, index);
  return dot && dot->hasOneUse() ? dot : DotOp();
}

void tileloom::tile::replaceSum(RewriterBase &rewriter, scf::ForOp loop, unsigned index, DotOp product, Value result) {
  loop.getResult(index).replaceAllUsesWith(result);
  // Carried unchanged and unused.
  loop.getBody()->getTerminator()->setOperand(index, loop.getRegionIterArgs()[index]);
  rewriter.eraseOp(product);
}

LogicalResult tileloom::tile::removeReplacedSums(Operation *root) {
  RewritePatternSet patterns(root->getContext());
  scf::ForOp::getCanonicalizationPatterns(patterns, root->getContext());
  return applyPatternsGreedily(root, std::move(patterns));
}
