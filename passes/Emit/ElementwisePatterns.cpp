//===- ElementwisePatterns.cpp - Element-wise operations on register tiles ----------------===//
//
// One scalar (or packed) operation for each register. Operations whose operands and results pack
// alike work on packed values; others unpack. Conversions between fp32 and the narrow types use the
// packed conversion instructions.
//
//===--------------------------------------------------------------------------------------===//

#include "passes/Emit/TileConversion.h"

#include "tileloom/Analysis/Roles.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/StringExtras.h"

#include <map>

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

/// Functions and quotients of 16-bit floats, which the hardware has for fp32 only.
bool needsFp32(Operation *op) {
  Type element = getElementTypeOrSelf(op->getOperand(0).getType());
  if (!element.isF16() && !element.isBF16())
    return false;
  bool sign = isa<math::AbsFOp, math::CopySignOp, math::FmaOp>(op);
  return (isa<math::MathDialect>(op->getDialect()) && !sign) ||
         isa<arith::DivFOp, arith::RemFOp>(op);
}

/// For each register the first one that holds an element of the same group of equal elements
/// (`nv.equal`).
SmallVector<unsigned> firstsOf(Operation *op, const layout::RegisterLayout &layout) {
  SmallVector<unsigned> firsts;
  auto equal = op->getAttrOfType<DenseI64ArrayAttr>(nv::equalAttrName);
  std::map<layout::Index, unsigned> groups;
  for (unsigned reg = 0; reg < layout.registersPerThread(); ++reg) {
    if (!equal) {
      firsts.push_back(reg);
      continue;
    }
    layout::Index index = layout.indexOf(reg, 0, 0);
    for (auto [at, size] : llvm::zip(index, equal.asArrayRef()))
      at /= size;
    firsts.push_back(groups.try_emplace(index, reg).first->second);
  }
  return firsts;
}

/// bf16 is the upper half of fp32. In integers LLVM takes the upper one of two with one `and`; the
/// conversion instruction is two, a permutation and a shift.
SmallVector<Value> widenBF16(OpBuilder &builder, Location loc, ArrayRef<Value> elements) {
  SmallVector<Value> values;
  for (Value element : elements) {
    Value bits = LLVM::BitcastOp::create(builder, loc, builder.getI16Type(), element);
    Value wide = arith::ExtUIOp::create(builder, loc, builder.getI32Type(), bits);
    wide = Scalar{builder, loc}.shiftLeft(wide, 16);
    values.push_back(LLVM::BitcastOp::create(builder, loc, builder.getF32Type(), wide));
  }
  return values;
}

/// Conversions between 8-bit floats and wider ones, two at a time: fp32 -> fp8 saturates; fp8 ->
/// fp16 is exact, and so is every format from there. Nothing for other types.
std::optional<SmallVector<Value>> convertFp8(Operation *op, ValueRange operand,
                                             RankedTensorType result, unsigned registers,
                                             ConversionPatternRewriter &rewriter) {
  auto source = cast<RankedTensorType>(op->getOperand(0).getType());
  Type from = source.getElementType(), to = result.getElementType();
  auto isFp8 = [](Type type) { return isa<Float8E4M3FNType, Float8E5M2Type>(type); };
  Location loc = op->getLoc();
  Type f32 = rewriter.getF32Type(), f16 = rewriter.getF16Type();
  auto byte = VectorType::get({2}, rewriter.getI8Type());
  MLIRContext *context = rewriter.getContext();
  BoolAttr noRelu = rewriter.getBoolAttr(false);
  SmallVector<Value> elements, values;
  if ((!isFp8(from) && !isFp8(to)) || (isFp8(from) && isFp8(to)))
    return std::nullopt;
  elements = unpack(rewriter, loc, source, operand);
  bool odd = registers % 2;
  if (odd)
    elements.push_back(elements.back());
  auto at = [&](Value pair, int64_t i) -> Value {
    return LLVM::ExtractElementOp::create(rewriter, loc, pair, Scalar{rewriter, loc}.i32(i));
  };
  for (size_t i = 0; i < elements.size(); i += 2) {
    Value low = elements[i], high = elements[i + 1];
    if (isFp8(to)) {
      for (Value *value : {&low, &high})
        if (value->getType() != f32)
          *value = arith::ExtFOp::create(rewriter, loc, f32, *value);
      Value pair = NVVM::ConvertF32x2ToF8x2Op::create(
          rewriter, loc, byte, high, low,
          NVVM::FPRoundingModeAttr::get(context, NVVM::FPRoundingMode::RN),
          NVVM::SaturationModeAttr::get(context, NVVM::SaturationMode::SATFINITE), noRelu,
          TypeAttr::get(to));
      values.append({at(pair, 0), at(pair, 1)});
      continue;
    }
    Value pair = LLVM::PoisonOp::create(rewriter, loc, byte);
    pair = LLVM::InsertElementOp::create(rewriter, loc, pair, low, Scalar{rewriter, loc}.i32(0));
    pair = LLVM::InsertElementOp::create(rewriter, loc, pair, high, Scalar{rewriter, loc}.i32(1));
    Value halves = NVVM::ConvertF8x2ToF16x2Op::create(rewriter, loc, VectorType::get({2}, f16),
                                                      pair, noRelu, TypeAttr::get(from));
    for (int64_t k = 0; k < 2; ++k) {
      Value half = at(halves, k);
      if (to != f16)
        half = arith::ExtFOp::create(rewriter, loc, f32, half);
      if (to.isBF16())
        half = arith::TruncFOp::create(rewriter, loc, to, half);
      values.push_back(half);
    }
  }
  if (odd)
    values.pop_back();
  return pack(rewriter, loc, result, values);
}

/// Comparisons of places (thread part + constant, neither negative) with a value: of the constant with
/// what the value is beyond the thread part. That is one register a row, where the places would be
/// one a column, which the masks of a loop keep. Saturation gives what too small a value would.
///
/// Conversions to float of such a place and a value whose sum does not wrap: what both make without the constant is converted
/// once, and the constant is added as a float (the same number but for sums beyond 2^24, which are rounded twice).
class PlaceArithmetic {
public:
  PlaceArithmetic(OpBuilder &builder, Location loc) : builder(builder), loc(loc) {}

  void simplify(Value &a, Value &b) {
    if (!split(a, b))
      split(b, a);
  }

  /// `sum` as a float, or null if it has no place in it.
  Value converted(Value sum, Type result) {
    Operation *op = sum.getDefiningOp();
    bool subtracts = isa_and_nonnull<arith::SubIOp>(op);
    auto flags = dyn_cast_or_null<arith::ArithIntegerOverflowFlagsInterface>(op);
    if ((!subtracts && !isa_and_nonnull<arith::AddIOp>(op)) || !flags.hasNoSignedWrap())
      return {};
    Value place = op->getOperand(1), other = op->getOperand(0);
    std::optional<APInt> constant = constantOf(place);
    if (!constant && !subtracts) {
      std::swap(place, other);
      constant = constantOf(place);
    }
    if (!constant)
      return {};
    Value thread = place.getDefiningOp()->getOperand(0);
    Value &first = floats[{other, thread}];
    if (!first) {
      Value whole = subtracts ? arith::SubIOp::create(builder, loc, other, thread).getResult()
                              : arith::AddIOp::create(builder, loc, other, thread).getResult();
      first = arith::SIToFPOp::create(builder, loc, result, whole);
    }
    Value rest = arith::ConstantOp::create(builder, loc, builder.getFloatAttr(result, double(constant->getSExtValue())));
    return subtracts ? arith::SubFOp::create(builder, loc, first, rest).getResult()
                     : arith::AddFOp::create(builder, loc, first, rest).getResult();
  }

private:
  /// The constant of a place.
  static std::optional<APInt> constantOf(Value place) {
    auto sum = place.getDefiningOp<arith::AddIOp>();
    auto noWrap = arith::IntegerOverflowFlags::nsw | arith::IntegerOverflowFlags::nuw;
    APInt constant;
    if (!sum || sum.getOverflowFlags() != noWrap || !sum.getType().isInteger(32) ||
        !matchPattern(sum.getRhs(), m_ConstantInt(&constant)) || constant.isNegative())
      return std::nullopt;
    return constant;
  }

  bool split(Value &place, Value &other) {
    if (!constantOf(place))
      return false;
    auto sum = place.getDefiningOp<arith::AddIOp>();
    Value &beyond = known[{other, sum.getLhs()}];
    if (!beyond)
      beyond = LLVM::SSubSat::create(builder, loc, other.getType(), other, sum.getLhs());
    other = beyond;
    place = sum.getRhs();
    return true;
  }

  OpBuilder &builder;
  Location loc;
  llvm::DenseMap<std::pair<Value, Value>, Value> known, floats;
};

bool comparesSigned(Operation *op) {
  auto compare = dyn_cast<arith::CmpIOp>(op);
  return compare && !llvm::is_contained({arith::CmpIPredicate::ult, arith::CmpIPredicate::ule,
                                         arith::CmpIPredicate::ugt, arith::CmpIPredicate::uge},
                                        compare.getPredicate());
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
    if (isa<arith::ExtFOp, arith::TruncFOp>(op))
      if (auto converted = convertFp8(op, operands[0], result, registers, rewriter)) {
        rewriter.replaceOpWithMultiple(op, ArrayRef<ValueRange>{*converted});
        return success();
      }
    if (isa<arith::ExtFOp>(op) && result.getElementType().isF32()) {
      auto source = cast<RankedTensorType>(op->getOperand(0).getType());
      if (source.getElementType().isBF16()) {
        SmallVector<Value> values =
            widenBF16(rewriter, loc, unpack(rewriter, loc, source, operands[0]));
        rewriter.replaceOpWithMultiple(op, ArrayRef<ValueRange>{values});
        return success();
      }
    }
    if (packing == 4 || !alike || needsFp32(op))
      return rewriteUnpacked(op, operands, result, registers, rewriter);
    Type unit = valueType(result.getElementType(), packing);
    SmallVector<unsigned> firsts = firstsOf(op, *layout);
    SmallVector<Value> values;
    PlaceArithmetic places(rewriter, loc);
    for (unsigned i = 0; i < registers / packing; ++i) {
      if (packing == 1 && firsts[i] != i) {
        values.push_back(values[firsts[i]]);
        continue;
      }
      OperationState state(loc, op->getName());
      for (auto [operand, converted] : llvm::zip(op->getOperands(), operands))
        state.operands.push_back(isa<RankedTensorType>(operand.getType()) ? converted[i]
                                                                          : converted[0]);
      if (comparesSigned(op))
        places.simplify(state.operands[0], state.operands[1]);
      if (isa<arith::SIToFPOp>(op) && unit.isF32())
        if (Value value = places.converted(state.operands[0], unit)) {
          values.push_back(value);
          continue;
        }
      state.addTypes(unit);
      state.addAttributes(op->getAttrs());
      state.attributes.erase(nv::equalAttrName);
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
          isa<FloatType>(type.getElementType()) && !isa<arith::SelectOp>(op))
        return op->emitOpError("element type: expected one with arithmetic, found ")
               << type.getElementType() << ", which can only be converted";
    }
    SmallVector<Value> values;
    bool wide = needsFp32(op);
    Type scalar = scalarType(result.getElementType()), f32 = rewriter.getF32Type();
    for (unsigned i = 0; i < registers; ++i) {
      OperationState state(loc, op->getName());
      for (ArrayRef<Value> operand : elements)
        state.operands.push_back(
            wide && isa<FloatType>(operand[i].getType())
                ? arith::ExtFOp::create(rewriter, loc, f32, operand[i]).getResult()
                : operand[i]);
      bool narrow = wide && isa<FloatType>(scalar);
      state.addTypes(narrow ? f32 : scalar);
      state.addAttributes(op->getAttrs());
      state.attributes.erase(nv::equalAttrName);
      Value value = rewriter.create(state)->getResult(0);
      values.push_back(narrow ? arith::TruncFOp::create(rewriter, loc, scalar, value).getResult()
                              : value);
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
    bool sums = type.getElementType().isF32() || type.getElementType().isInteger(32) ||
                type.getElementType().isF16();
    if (isa<ub::PoisonOp>(op) && sums && types.size() > 1) {
      // Registers that nothing is written to. LLVM would merge poison with the other value that
      // reaches a phi (zero, on the path around a loop) and then write all of them on both paths.
      bool packed = isa<VectorType>(types.front());
      SmallVector<Type> registers(types.size(), packed ? rewriter.getI32Type() : types.front());
      StringRef one = registers.front().isF32() ? "=f" : "=r";
      auto undefined = LLVM::InlineAsmOp::create(
          rewriter, loc, LLVM::LLVMStructType::getLiteral(getContext(), registers), ValueRange(), "",
          llvm::join(SmallVector<StringRef>(types.size(), one), ","), /*has_side_effects=*/false,
          /*is_align_stack=*/false, LLVM::TailCallKind::None,
          LLVM::AsmDialectAttr::get(getContext(), LLVM::AsmDialect::AD_ATT), ArrayAttr());
      SmallVector<Value> values;
      for (size_t i = 0; i < types.size(); ++i) {
        values.push_back(LLVM::ExtractValueOp::create(rewriter, loc, undefined.getResult(0), i));
        if (packed)
          values.back() = LLVM::BitcastOp::create(rewriter, loc, types[i], values.back());
      }
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
        if (auto narrow = dyn_cast<FloatAttr>(scalar); narrow && tile::elementBits(narrow.getType()) == 8) // registers have their bits
          scalar = rewriter.getIntegerAttr(rewriter.getIntegerType(8), narrow.getValue().bitcastToAPInt());
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

} // namespace

void tileloom::emit::populateElementwisePatterns(TileTypeConverter &converter,
                                                 RewritePatternSet &patterns) {
  patterns.add<ElementwisePattern, SplatPattern>(converter, patterns.getContext());
}
