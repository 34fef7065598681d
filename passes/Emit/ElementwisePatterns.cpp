//===- ElementwisePatterns.cpp - Element-wise operations on register tiles ----------------===//
//
// One scalar (or packed) operation for each register. Operations whose operands and results pack
// alike work on packed values; others unpack.
//
//===--------------------------------------------------------------------------------------===//

#include "passes/Emit/FloatConversions.h"
#include "passes/Emit/PlaceArithmetic.h"
#include "passes/Emit/TileConversion.h"
#include "tileloom/Analysis/Elementwise.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/TypeUtilities.h"

#include <map>

using namespace mlir;
using namespace tileloom;
using namespace tileloom::emit;

namespace {

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

bool comparesSigned(Operation *op) {
  auto compare = dyn_cast<arith::CmpIOp>(op);
  return compare && !llvm::is_contained({arith::CmpIPredicate::ult, arith::CmpIPredicate::ule,
                                         arith::CmpIPredicate::ugt, arith::CmpIPredicate::uge},
                                        compare.getPredicate());
}

class ElementwisePattern : public ConversionPattern {
public:
  ElementwisePattern(TileTypeConverter &converter, MLIRContext *context)
      : ConversionPattern(converter, MatchAnyOpTypeTag(), /*benefit=*/1, context),
        converter(converter) {}

  LogicalResult matchAndRewrite(Operation *op, ArrayRef<ValueRange> operands,
                                ConversionPatternRewriter &rewriter) const override {
    if (!isElementwise(op))
      return failure();
    auto result = cast<RankedTensorType>(op->getResult(0).getType());
    const layout::RegisterLayout *layout = converter.layoutOf(result, op->getLoc());
    if (!layout)
      return failure();
    unsigned registers = layout->registersPerThread(),
             packing = elementsPerValue(result, registers);
    if (auto cast = dyn_cast<arith::BitcastOp>(op))
      if (scalarType(getElementTypeOrSelf(cast.getIn())) == scalarType(result.getElementType())) { // floats of 8 bits are integers here
        rewriter.replaceOpWithMultiple(op, ArrayRef<ValueRange>{operands[0]});
        return success();
      }
    if (isa<arith::ExtFOp, arith::TruncFOp, arith::SIToFPOp, arith::UIToFPOp>(op))
      if (auto converted = convertFloats(op, operands[0], result, registers, rewriter)) {
        rewriter.replaceOpWithMultiple(op, ArrayRef<ValueRange>{*converted});
        return success();
      }
    if (auto cast = dyn_cast<arith::BitcastOp>(op)) // 8-bit floats are bytes in registers already
      if (scalarType(getElementTypeOrSelf(cast.getIn().getType())) == scalarType(result.getElementType())) {
        rewriter.replaceOpWithMultiple(op, ArrayRef<ValueRange>{operands[0]});
        return success();
      }
    bool alike = true;
    for (Value operand : op->getOperands())
      if (auto type = dyn_cast<RankedTensorType>(operand.getType()))
        alike &= elementsPerValue(type, registers) == packing;
    if (packing == 4 || !alike || needsFp32(op))
      return rewriteUnpacked(op, operands, result, registers, rewriter);
    rewriter.replaceOpWithMultiple(op, ArrayRef<ValueRange>{rewritePacked(op, operands, result, *layout, packing, rewriter)});
    return success();
  }

private:
  /// One operation for each register, of one or two elements.
  static SmallVector<Value> rewritePacked(Operation *op, ArrayRef<ValueRange> operands,
                                          RankedTensorType result, const layout::RegisterLayout &layout,
                                          unsigned packing, ConversionPatternRewriter &rewriter) {
    Type unit = valueType(result.getElementType(), packing);
    SmallVector<unsigned> firsts = firstsOf(op, layout);
    SmallVector<Value> values;
    PlaceArithmetic places(rewriter, op->getLoc());
    for (unsigned i = 0; i < layout.registersPerThread() / packing; ++i) {
      if (packing == 1 && firsts[i] != i) {
        values.push_back(values[firsts[i]]);
        continue;
      }
      OperationState state(op->getLoc(), op->getName());
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
    return values;
  }

  /// One operation for each element; of 16-bit floats in fp32 where there is no other.
  static LogicalResult rewriteUnpacked(Operation *op, ArrayRef<ValueRange> operands,
                                       RankedTensorType result, unsigned registers,
                                       ConversionPatternRewriter &rewriter) {
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

  TileTypeConverter &converter;
};

} // namespace

void tileloom::emit::populateElementwisePatterns(TileTypeConverter &converter,
                                                 RewritePatternSet &patterns) {
  patterns.add<ElementwisePattern>(converter, patterns.getContext());
  populateScalarFp8Patterns(converter, patterns);
}
