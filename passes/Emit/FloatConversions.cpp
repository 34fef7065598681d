//===- FloatConversions.cpp - Conversions between floats of other widths ------------------===//

#include "passes/Emit/FloatConversions.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

#include <array>

using namespace mlir;
using namespace tileloom;
using namespace tileloom::emit;

/// Two fp32 as one value of two 16-bit floats.
static Value narrow(OpBuilder &builder, Location loc, Type element, ArrayRef<Value> from) {
  auto packed = VectorType::get({2}, element);
  if (element.isBF16())
    return NVVM::ConvertF32x2ToBF16x2Op::create(builder, loc, packed, from[1], from[0], Value(),
                                                NVVM::FPRoundingMode::RN,
                                                NVVM::SaturationMode::NONE, false);
  return NVVM::ConvertF32x2ToF16x2Op::create(builder, loc, packed, from[1], from[0], Value(),
                                             NVVM::FPRoundingMode::RN, NVVM::SaturationMode::NONE,
                                             false);
}

/// bf16 is the upper half of fp32. In integers LLVM takes the upper one of two with one `and`; the
/// conversion instruction is two, a permutation and a shift.
static SmallVector<Value> widenBF16(OpBuilder &builder, Location loc, ArrayRef<Value> elements) {
  SmallVector<Value> values;
  for (Value element : elements) {
    Value bits = LLVM::BitcastOp::create(builder, loc, builder.getI16Type(), element);
    Value wide = arith::ExtUIOp::create(builder, loc, builder.getI32Type(), bits);
    wide = Scalar{builder, loc}.shiftLeft(wide, 16);
    values.push_back(LLVM::BitcastOp::create(builder, loc, builder.getF32Type(), wide));
  }
  return values;
}

static bool isFp8(Type type) { return isa<Float8E4M3FNType, Float8E5M2Type>(type); }

/// Element `i` of a vector of two.
static Value elementOf(OpBuilder &builder, Location loc, Value pair, int64_t i) {
  return LLVM::ExtractElementOp::create(builder, loc, pair, Scalar{builder, loc}.i32(i));
}

/// The bytes of two floats of 8 bits, which saturate.
static std::array<Value, 2> toFp8(OpBuilder &builder, Location loc, Type to, Value low, Value high) {
  MLIRContext *context = builder.getContext();
  Type f32 = builder.getF32Type();
  for (Value *value : {&low, &high}) {
    if (value->getType().isF64())
      *value = arith::TruncFOp::create(builder, loc, f32, *value);
    else if (value->getType() != f32)
      *value = arith::ExtFOp::create(builder, loc, f32, *value);
  }
  Value pair = NVVM::ConvertF32x2ToF8x2Op::create(
      builder, loc, VectorType::get({2}, builder.getI8Type()), high, low,
      NVVM::FPRoundingModeAttr::get(context, NVVM::FPRoundingMode::RN),
      NVVM::SaturationModeAttr::get(context, NVVM::SaturationMode::SATFINITE), builder.getBoolAttr(false), TypeAttr::get(to));
  return {elementOf(builder, loc, pair, 0), elementOf(builder, loc, pair, 1)};
}

/// Two floats of 8 bits as wider ones: fp16 is exact, and so is every format from there.
static std::array<Value, 2> fromFp8(OpBuilder &builder, Location loc, Type from, Type to, Value low, Value high) {
  Type f16 = builder.getF16Type();
  Value pair = LLVM::PoisonOp::create(builder, loc, VectorType::get({2}, builder.getI8Type()));
  pair = LLVM::InsertElementOp::create(builder, loc, pair, low, Scalar{builder, loc}.i32(0));
  pair = LLVM::InsertElementOp::create(builder, loc, pair, high, Scalar{builder, loc}.i32(1));
  Value halves = NVVM::ConvertF8x2ToF16x2Op::create(builder, loc, VectorType::get({2}, f16), pair, builder.getBoolAttr(false),
                                                    TypeAttr::get(from));
  std::array<Value, 2> result;
  for (int64_t k = 0; k < 2; ++k) {
    Value half = elementOf(builder, loc, halves, k);
    if (to != f16)
      half = arith::ExtFOp::create(builder, loc, to.isF64() ? to : builder.getF32Type(), half);
    if (to.isBF16())
      half = arith::TruncFOp::create(builder, loc, to, half);
    result[k] = half;
  }
  return result;
}

/// Conversions between 8-bit floats and wider ones, two at a time.
static SmallVector<Value> convertFp8(OpBuilder &builder, Location loc, RankedTensorType source, RankedTensorType result,
                                     ValueRange operand) {
  Type from = source.getElementType(), to = result.getElementType();
  SmallVector<Value> elements = unpack(builder, loc, source, operand), values;
  bool odd = elements.size() % 2;
  if (odd)
    elements.push_back(elements.back());
  for (size_t i = 0; i < elements.size(); i += 2)
    llvm::append_range(values, isFp8(to) ? toFp8(builder, loc, to, elements[i], elements[i + 1])
                                         : fromFp8(builder, loc, from, to, elements[i], elements[i + 1]));
  if (odd)
    values.pop_back();
  return pack(builder, loc, result, values);
}

/// Integers as floats of 8 bits, by way of fp32: what does not fit it is beyond all of them.
static Value floatOf(Operation *op, OpBuilder &builder, Value integer) {
  Type f32 = builder.getF32Type();
  if (isa<arith::UIToFPOp>(op))
    return arith::UIToFPOp::create(builder, op->getLoc(), f32, integer);
  return arith::SIToFPOp::create(builder, op->getLoc(), f32, integer);
}

std::optional<SmallVector<Value>> tileloom::emit::convertFloats(Operation *op, ValueRange operand, RankedTensorType result,
                                                                unsigned registers, OpBuilder &builder) {
  Location loc = op->getLoc();
  auto source = cast<RankedTensorType>(op->getOperand(0).getType());
  Type from = source.getElementType(), to = result.getElementType();
  if (isa<arith::TruncFOp>(op) && from.isF32() && elementsPerValue(result, registers) == 2) {
    SmallVector<Value> values;
    for (unsigned i = 0; i < registers; i += 2)
      values.push_back(narrow(builder, loc, to, {operand[i], operand[i + 1]}));
    return values;
  }
  if (isa<arith::SIToFPOp, arith::UIToFPOp>(op) && isFp8(to)) {
    SmallVector<Value> floats;
    for (Value integer : unpack(builder, loc, source, operand))
      floats.push_back(floatOf(op, builder, integer));
    return convertFp8(builder, loc, source.clone(builder.getF32Type()), result, floats);
  }
  if (isa<arith::ExtFOp, arith::TruncFOp>(op) && isFp8(from) != isFp8(to))
    return convertFp8(builder, loc, source, result, operand);
  if (isa<arith::ExtFOp>(op) && from.isBF16() && to.isF32())
    return widenBF16(builder, loc, unpack(builder, loc, source, operand));
  return std::nullopt;
}

namespace {

/// Scalars of 8 bits are integers with their bits, as the elements of tiles are.
class ScalarFp8Pattern : public ConversionPattern {
public:
  ScalarFp8Pattern(TileTypeConverter &converter, MLIRContext *context) : ConversionPattern(converter, MatchAnyOpTypeTag(), /*benefit=*/1, context) {}

  LogicalResult matchAndRewrite(Operation *op, ArrayRef<Value> operands, ConversionPatternRewriter &rewriter) const override {
    if (!isa<arith::ArithDialect>(op->getDialect()) || op->getNumResults() != 1)
      return failure();
    Type to = op->getResult(0).getType(), from = op->getNumOperands() ? op->getOperand(op->getNumOperands() - 1).getType() : to;
    if (!isFp8(from) && !isFp8(to))
      return failure();
    Value value = valueOf(op, operands, from, to, rewriter);
    if (!value)
      return failure();
    rewriter.replaceOp(op, value);
    return success();
  }

private:
  static Value valueOf(Operation *op, ArrayRef<Value> operands, Type from, Type to, OpBuilder &builder) {
    Location loc = op->getLoc();
    if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
      APInt bits = cast<FloatAttr>(constant.getValue()).getValue().bitcastToAPInt();
      return arith::ConstantOp::create(builder, loc, builder.getIntegerAttr(builder.getI8Type(), bits));
    }
    if (isa<arith::SelectOp>(op))
      return arith::SelectOp::create(builder, loc, operands[0], operands[1], operands[2]);
    if (isa<arith::BitcastOp>(op))
      return operands[0];
    if (isa<arith::SIToFPOp, arith::UIToFPOp>(op)) {
      Value wide = floatOf(op, builder, operands[0]);
      return toFp8(builder, loc, to, wide, wide)[0];
    }
    if (isa<arith::TruncFOp>(op) && isFp8(to))
      return toFp8(builder, loc, to, operands[0], operands[0])[0];
    if (isa<arith::ExtFOp>(op))
      return fromFp8(builder, loc, from, to, operands[0], operands[0])[0];
    return {};
  }
};

} // namespace

void tileloom::emit::populateScalarFp8Patterns(TileTypeConverter &converter, RewritePatternSet &patterns) {
  patterns.add<ScalarFp8Pattern>(converter, patterns.getContext());
}
