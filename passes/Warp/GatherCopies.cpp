//===- GatherCopies.cpp - Operands that cp.async can fetch --------------------------------===//

#include "passes/Warp/GatherCopies.h"

#include "passes/Warp/Projection.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace tileloom;

bool GatherCopies::takes(Operation *source) const {
  auto tile = dyn_cast<tile::ToSharedOp>(source);
  auto role = source->getAttrOfType<StringAttr>(warp::inAttrName);
  auto gather = tile ? tile.getSource().getDefiningOp<tile::GatherOp>() : tile::GatherOp();
  if (!gather || !gather->hasOneUse() || !role || role.getValue() != gatherRole)
    return false;
  Value other = gather.getOther();
  if (other && !matchPattern(other, m_PosZeroFloat()) && !matchPattern(other, m_Zero()))
    return false;
  auto type = cast<RankedTensorType>(gather.getType());
  int64_t bits = tile::elementBits(type.getElementType());
  if (bits < 8 || type.getRank() != 2)
    return false;
  int64_t together =
      facts.neighbours(gather.getPointer(), gather.getOffset(), gather.getMask(), 1, bits / 8);
  return together * bits / 8 >= 4;
}

nv::CpAsyncOp GatherCopies::create(OpBuilder &builder, Operation *source, Value view) {
  auto gather = cast<tile::ToSharedOp>(source).getSource().getDefiningOp<tile::GatherOp>();
  return nv::CpAsyncOp::create(builder, source->getLoc(), gather.getPointer(), gather.getOffset(),
                               gather.getMask(), view);
}
