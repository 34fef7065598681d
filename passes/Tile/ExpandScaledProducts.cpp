//===- ExpandScaledProducts.cpp - Block scales by element-wise code -----------------------===//
//
// In: `dot_scaled`. Out: `dot` of operands in bf16 that have been multiplied by their scales, element
// by element, in f32: 2^(s - 127), put together from the bits of the exponent. An operand without a
// scale is converted alone. What the tensor core rounds is the same: products of such operands are
// exact in f32.
//
//===--------------------------------------------------------------------------------------===//

#include "passes/Tile/Passes.h"

#include "dialects/Tile/ScaledOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"

namespace tileloom::tile {
#define GEN_PASS_DEF_TILEEXPANDSCALEDPRODUCTS
#include "passes/Tile/Passes.h.inc"
} // namespace tileloom::tile

using namespace mlir;
using namespace tileloom;
using namespace tileloom::tile;

namespace {

constexpr int32_t mantissaBits = 23;

struct Expansion {
  OpBuilder builder;
  Location loc;

  Expansion(DotScaledOp dot) : builder(dot), loc(dot.getLoc()) {}

  static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }
  static RankedTensorType withElement(Value value, Type element) {
    return RankedTensorType::get(typeOf(value).getShape(), element);
  }
  Value constant(Value like, int32_t value) {
    auto type = withElement(like, builder.getI32Type());
    return arith::ConstantOp::create(builder, loc, DenseElementsAttr::get(type, value));
  }

  /// scale [rows, blocks] for every element of an operand whose dimension `k` goes along the blocks.
  Value forEachElement(Value scale, RankedTensorType operand, int64_t k) {
    Type i8 = builder.getI8Type();
    int64_t rows = typeOf(scale).getDimSize(0), blocks = typeOf(scale).getDimSize(1);
    if (k == 0)
      scale = TransOp::create(builder, loc, RankedTensorType::get({blocks, rows}, i8), scale);
    SmallVector<int64_t> shape(typeOf(scale).getShape());
    shape.insert(shape.begin() + k + 1, 1);
    Value spread =
        ExpandDimsOp::create(builder, loc, RankedTensorType::get(shape, i8), scale, k + 1);
    shape[k + 1] = DotScaledOp::block;
    spread = BroadcastOp::create(builder, loc, RankedTensorType::get(shape, i8), spread);
    return ReshapeOp::create(builder, loc, RankedTensorType::get(operand.getShape(), i8), spread);
  }

  /// 2^(scale - 127) in f32: an exponent. 0 is 2^-127, which has none; 255 is NaN unless `fast`.
  Value powerOfTwo(Value scale, bool fast) {
    Value wide = arith::ExtUIOp::create(builder, loc, withElement(scale, builder.getI32Type()), scale);
    Value bits = arith::ShLIOp::create(builder, loc, wide, constant(wide, mantissaBits));
    auto where = [&](int32_t value, int32_t instead) {
      Value equal = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, wide,
                                          constant(wide, value));
      bits = arith::SelectOp::create(builder, loc, equal, constant(wide, instead), bits);
    };
    where(0, 1 << (mantissaBits - 1));
    if (!fast)
      where(255, 0x7FC00000);
    return arith::BitcastOp::create(builder, loc, withElement(scale, builder.getF32Type()), bits);
  }

  Value scaled(Value operand, Value scale, int64_t k, bool fast) {
    Type bf16 = builder.getBF16Type();
    if (!scale && typeOf(operand).getElementType() == bf16)
      return operand;
    Value wide =
        arith::ExtFOp::create(builder, loc, withElement(operand, builder.getF32Type()), operand);
    if (scale)
      wide = arith::MulFOp::create(builder, loc, wide,
                                   powerOfTwo(forEachElement(scale, typeOf(operand), k), fast));
    return arith::TruncFOp::create(builder, loc, withElement(operand, bf16), wide);
  }
};

struct ExpandScaledProducts
    : tileloom::tile::impl::TileExpandScaledProductsBase<ExpandScaledProducts> {
  void runOnOperation() override {
    getOperation()->walk([](DotScaledOp dot) {
      Expansion expansion(dot);
      Value a = expansion.scaled(dot.getA(), dot.getScaleA(), 1, dot.getFast());
      Value b = expansion.scaled(dot.getB(), dot.getScaleB(), 0, dot.getFast());
      auto product = DotOp::create(expansion.builder, dot.getLoc(), dot.getType(), a, b,
                                   dot.getAcc(), Value());
      dot.replaceAllUsesWith(product.getResult());
      dot.erase();
    });
  }
};

} // namespace
