//===- LoopSums.cpp - Sums of products that loops carry -----------------------------------===//

#include "passes/Tile/LoopSums.h"

#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using namespace tileloom;
using namespace tileloom::tile;

DotOp tileloom::tile::productSummedBy(scf::ForOp loop, unsigned index) {
  BlockArgument carried = loop.getRegionIterArgs()[index];
  Value init = loop.getInitArgs()[index];
  auto dot = loop.getYieldedValues()[index].getDefiningOp<DotOp>();
  bool own = dot && dot->getBlock() == loop.getBody() && dot->hasOneUse() && dot.getAcc() == carried && !dot.getUseAcc() &&
             carried.hasOneUse() && (matchPattern(init, m_AnyZeroFloat()) || matchPattern(init, m_Zero()));
  return own ? dot : DotOp();
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
