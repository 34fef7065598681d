//===- LoopSums.cpp - Sums that loops carry -----------------------------------------------===//

#include "tileloom/Schedule/LoopSums.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace tileloom;

Operation *schedule::additionTo(scf::ForOp loop, unsigned index) {
  BlockArgument carried = loop.getRegionIterArgs()[index];
  Value init = loop.getInitArgs()[index];
  Operation *step = loop.getYieldedValues()[index].getDefiningOp();
  bool zero = matchPattern(init, m_AnyZeroFloat()) || matchPattern(init, m_Zero());
  if (!zero || !step || step->getBlock() != loop.getBody() || !carried.hasOneUse() || *carried.user_begin() != step)
    return nullptr;
  if (auto dot = dyn_cast<tile::DotOp>(step))
    return dot.getAcc() == carried && !dot.getUseAcc() ? step : nullptr;
  return isa<arith::AddFOp, arith::AddIOp>(step) ? step : nullptr;
}

tile::DotOp schedule::productSummedBy(scf::ForOp loop, unsigned index) {
  return dyn_cast_or_null<tile::DotOp>(additionTo(loop, index));
}
