//===- ElementwisePatterns.cpp - Element-wise operations on register tiles ----------------===//
//
// One scalar (or packed) operation for each register. Operations whose operands and results pack
// alike work on packed values; others unpack. Conversions between fp32 and the narrow types use the
// packed conversion instructions.
//
//===--------------------------------------------------------------------------------------===//

#include "passes/Emit/TileConversion.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace tileloom;
using namespace tileloom::emit;

namespace {

class TilePattern : public ConversionPattern {
public:
  TilePattern(TileTypeConverter &converter, MLIRContext *context)
      : ConversionPattern(converter, MatchAnyOpTypeTag(), /*benefit=*/1, context),
        converter(converter) {}

protected:
  TileTypeConverter &converter;
};

/// f32 -> packed 16- or 8-bit float.
Value narrow(OpBuilder &builder, Location loc, Type element, ArrayRef<Value> from) {
  auto packed = VectorType::get({2}, element);
  if (element.isBF16())
    return NVVM::ConvertF32x2ToBF16x2Op::create(builder, loc, packed, from[1], from[0], Value(),
                                                NVVM::FPRoundingMode::RN,
                                                NVVM::SaturationMode::NONE, false);
  return NVVM::ConvertF32x2ToF16x2Op::create(builder, loc, packed, from[1], from[0], Value(),
                                             NVVM::FPRoundingMode::RN, NVVM::SaturationMode::NONE,
                                             false);
}

struct ElementwisePattern : TilePattern {
  using TilePattern::TilePattern;

  LogicalResult matchAndRewrite(Operation *op, ArrayRef<ValueRange> operands,
                                ConversionPatternRewriter &rewriter) const override {
    if (!OpTrait::hasElementwiseMappableTraits(op) || op->getNumResults() != 1)
      return failure();
    auto result = dyn_cast<RankedTensorType>(op->getResult(0).getType());
    if (!result)
      return failure();
    const layout::RegisterLayout *layout = converter.layoutOf(result, op->getLoc());
    if (!layout)
      return failure();
    unsigned registers = layout->registersPerThread(),
             packing = elementsPerValue(result, registers);
    bool alike = true;
    for (Value operand : op->getOperands())
      if (auto type = dyn_cast<RankedTensorType>(operand.getType()))
        alike &= elementsPerValue(type, registers) == packing;
    Location loc = op->getLoc();
    if (isa<arith::TruncFOp>(op) && packing == 2 && op->getOperand(0).getType() != result) {
      auto source = cast<RankedTensorType>(op->getOperand(0).getType());
      if (source.getElementType().isF32()) {
        SmallVector<Value> values;
        for (unsigned i = 0; i < registers; i += 2)
          values.push_back(
              narrow(rewriter, loc, result.getElementType(), {operands[0][i], operands[0][i + 1]}));
        rewriter.replaceOpWithMultiple(op, ArrayRef<ValueRange>{values});
        return success();
      }
    }
    if (packing == 4 || !alike)
      return rewriteUnpacked(op, operands, result, registers, rewriter);
    Type unit = valueType(result.getElementType(), packing);
    SmallVector<Value> values;
    for (unsigned i = 0; i < registers / packing; ++i) {
      OperationState state(loc, op->getName());
      for (auto [operand, converted] : llvm::zip(op->getOperands(), operands))
        state.operands.push_back(isa<RankedTensorType>(operand.getType()) ? converted[i]
                                                                          : converted[0]);
      state.addTypes(unit);
      state.addAttributes(op->getAttrs());
      values.push_back(rewriter.create(state)->getResult(0));
    }
    rewriter.replaceOpWithMultiple(op, ArrayRef<ValueRange>{values});
    return success();
  }

  LogicalResult rewriteUnpacked(Operation *op, ArrayRef<ValueRange> operands,
                                RankedTensorType result, unsigned registers,
                                ConversionPatternRewriter &rewriter) const {
    Location loc = op->getLoc();
    SmallVector<SmallVector<Value>> elements;
    for (auto [operand, converted] : llvm::zip(op->getOperands(), operands)) {
      auto type = dyn_cast<RankedTensorType>(operand.getType());
      elements.push_back(type ? unpack(rewriter, loc, type, converted)
                              : SmallVector<Value>(registers, converted[0]));
      if (type && tile::elementBits(type.getElementType()) == 8 &&
          isa<FloatType>(type.getElementType()))
        return rewriter.notifyMatchFailure(op, "no arithmetic on 8-bit floats");
    }
    SmallVector<Value> values;
    for (unsigned i = 0; i < registers; ++i) {
      OperationState state(loc, op->getName());
      for (ArrayRef<Value> operand : elements)
        state.operands.push_back(operand[i]);
      state.addTypes(scalarType(result.getElementType()));
      state.addAttributes(op->getAttrs());
      values.push_back(rewriter.create(state)->getResult(0));
    }
    rewriter.replaceOpWithMultiple(op, ArrayRef<ValueRange>{pack(rewriter, loc, result, values)});
    return success();
  }
};

/// Splat constants, poison and splats of a scalar: one value, used for every register.
struct SplatPattern : TilePattern {
  using TilePattern::TilePattern;

  LogicalResult matchAndRewrite(Operation *op, ArrayRef<ValueRange> operands,
                                ConversionPatternRewriter &rewriter) const override {
    if (!isa<arith::ConstantOp, ub::PoisonOp, nv::SplatOp>(op))
      return failure();
    auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
    if (!type)
      return failure();
    SmallVector<Type> types;
    if (failed(converter.convertType(type, types)))
      return failure();
    Location loc = op->getLoc();
    Value value;
    if (isa<ub::PoisonOp>(op) && type.getElementType().isF32() && types.size() > 1) {
      // Registers that nothing is written to. LLVM would merge poison with the other value that
      // reaches a phi (zero, on the path around a loop) and then write all of them on both paths.
      auto undefined = LLVM::InlineAsmOp::create(
          rewriter, loc, LLVM::LLVMStructType::getLiteral(getContext(), types), ValueRange(), "",
          llvm::join(SmallVector<std::string>(types.size(), "=f"), ","), /*has_side_effects=*/false,
          /*is_align_stack=*/false, LLVM::TailCallKind::None,
          LLVM::AsmDialectAttr::get(getContext(), LLVM::AsmDialect::AD_ATT), ArrayAttr());
      SmallVector<Value> values;
      for (size_t i = 0; i < types.size(); ++i)
        values.push_back(LLVM::ExtractValueOp::create(rewriter, loc, undefined.getResult(0), i));
      rewriter.replaceOpWithMultiple(op, ArrayRef<ValueRange>{values});
      return success();
    }
    if (isa<ub::PoisonOp>(op)) {
      value = LLVM::PoisonOp::create(rewriter, loc, types.front());
    } else {
      Value element;
      if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
        auto dense = dyn_cast<DenseElementsAttr>(constant.getValue());
        if (!dense || !dense.isSplat())
          return op->emitOpError("register tile constant: expected one value for all elements");
        TypedAttr scalar = dense.getSplatValue<TypedAttr>();
        if (auto vector = dyn_cast<VectorType>(types.front()))
          value = arith::ConstantOp::create(rewriter, loc,
                                            DenseElementsAttr::get(vector, Attribute(scalar)));
        else
          value = arith::ConstantOp::create(rewriter, loc, scalar);
      } else {
        element = operands[0][0];
        auto vector = dyn_cast<VectorType>(types.front());
        value = vector
                    ? pack(rewriter, loc, type,
                           SmallVector<Value>(vector.getNumElements() * types.size(), element))[0]
                    : element;
      }
    }
    rewriter.replaceOpWithMultiple(op,
                                   ArrayRef<ValueRange>{SmallVector<Value>(types.size(), value)});
    return success();
  }
};

/// Elementary functions on fp32 scalars: the hardware's approximations (PTX ISA 9.7.3: ex2 2 ulp,
/// lg2, rcp 1 ulp), subnormals flushed.
template <typename Op> struct ApproximatePattern : OpConversionPattern<Op> {
  ApproximatePattern(TypeConverter &converter, MLIRContext *context, StringRef name)
      : OpConversionPattern<Op>(converter, context, /*benefit=*/2), name(name) {}

  LogicalResult matchAndRewrite(Op op, typename Op::Adaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    if (!op.getType().isF32())
      return failure();
    rewriter.replaceOp(
        op, callIntrinsic(rewriter, op.getLoc(), name, op.getType(), adaptor.getOperands()));
    return success();
  }

  StringRef name;
};

/// Division that may be approximate (fastmath afn or arcp): by the reciprocal.
struct DividePattern : OpConversionPattern<arith::DivFOp> {
  DividePattern(TypeConverter &converter, MLIRContext *context)
      : OpConversionPattern(converter, context, /*benefit=*/2) {}

  LogicalResult matchAndRewrite(arith::DivFOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    if (!isApproximateDivision(op))
      return failure();
    Value reciprocal = callIntrinsic(rewriter, op.getLoc(), "llvm.nvvm.rcp.approx.ftz.f",
                                     op.getType(), adaptor.getRhs());
    rewriter.replaceOpWithNewOp<arith::MulFOp>(op, adaptor.getLhs(), reciprocal);
    return success();
  }
};

} // namespace

bool tileloom::emit::isApproximateDivision(arith::DivFOp op) {
  return op.getType().isF32() &&
         (op.getFastmath() & (arith::FastMathFlags::afn | arith::FastMathFlags::arcp)) !=
             arith::FastMathFlags::none;
}

void tileloom::emit::populateElementwisePatterns(TileTypeConverter &converter,
                                                 RewritePatternSet &patterns) {
  MLIRContext *context = patterns.getContext();
  patterns.add<ElementwisePattern, SplatPattern>(converter, context);
  patterns.add<DividePattern>(converter, context);
  patterns.add<ApproximatePattern<math::Exp2Op>>(converter, context, "llvm.nvvm.ex2.approx.ftz.f");
  patterns.add<ApproximatePattern<math::Log2Op>>(converter, context, "llvm.nvvm.lg2.approx.ftz.f");
  patterns.add<ApproximatePattern<math::RsqrtOp>>(converter, context,
                                                  "llvm.nvvm.rsqrt.approx.ftz.f");
}
