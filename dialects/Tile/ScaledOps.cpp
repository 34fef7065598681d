//===- ScaledOps.cpp - Products with block scales -----------------------------------------===//

#include "dialects/Tile/ScaledOps.h"

#include "dialects/Tile/Verify.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace tileloom::tile;

#define GET_OP_CLASSES
#include "dialects/Tile/ScaledOps.cpp.inc"

LogicalResult DotScaledOp::verify() {
  auto a = cast<RankedTensorType>(getA().getType()), b = cast<RankedTensorType>(getB().getType()),
       result = cast<RankedTensorType>(getResult().getType());
  if (a.getRank() != 2 || b.getRank() != 2 || result.getRank() != 2)
    return emitOpError("operand ranks: expected 2, found a ")
           << a.getRank() << ", b " << b.getRank() << ", result " << result.getRank();
  int64_t m = a.getDimSize(0), k = a.getDimSize(1), n = b.getDimSize(1);
  if (k != b.getDimSize(0))
    return emitOpError("inner extents: expected equal, found a ")
           << shapeText(a.getShape()) << " and b " << shapeText(b.getShape());
  if (result != RankedTensorType::get({m, n}, Float32Type::get(getContext())))
    return emitOpError("result: expected ")
           << RankedTensorType::get({m, n}, Float32Type::get(getContext())) << ", found " << result;
  for (auto [name, type] : {std::pair("a", a), std::pair("b", b)})
    if (!isa<FloatType>(type.getElementType()) || elementBits(type.getElementType()) > 16 ||
        elementBits(type.getElementType()) < 8)
      return emitOpError("element type of ")
             << name << ": expected a float of 8 or 16 bits, found " << type.getElementType();
  if (!getScaleA() && !getScaleB())
    return emitOpError("scales: expected at least one, found none");
  if (k % block)
    return emitOpError("K: expected a multiple of ") << block << ", found " << k;
  for (auto [name, scale, rows] :
       {std::tuple("scale_a", getScaleA(), m), std::tuple("scale_b", getScaleB(), n)}) {
    auto wanted = RankedTensorType::get({rows, k / block}, IntegerType::get(getContext(), 8));
    if (scale && scale.getType() != wanted)
      return emitOpError(name) << ": expected " << wanted << ", found " << scale.getType();
  }
  return success();
}
