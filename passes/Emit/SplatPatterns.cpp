//===- SplatPatterns.cpp - Register tiles of equal elements -------------------------------===//
//
// Splat constants, poison and splats of a scalar: one value, used for every register.
//
//===--------------------------------------------------------------------------------------===//

#include "passes/Emit/TileConversion.h"

#include "mlir/Dialect/UB/IR/UBOps.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace tileloom;
using namespace tileloom::emit;

namespace {

/// A tile's share of a thread from what makes one register of it.
template <typename Op> class UniformPattern : public OpPattern<Op> {
public:
  using OpPattern<Op>::OpPattern;
  using OneToN = typename OpPattern<Op>::OneToN;

  LogicalResult matchAndRewrite(Op op, OneToN adaptor, ConversionPatternRewriter &rewriter) const override {
    auto type = dyn_cast<RankedTensorType>(op.getType());
    SmallVector<Type> types;
    if (!type || failed(this->converter.convertType(type, types)))
      return failure();
    SmallVector<Value> values;
    if constexpr (std::is_same_v<Op, ub::PoisonOp>) {
      values = poison(op, type, types, rewriter);
    } else {
      Value value = valueOf(op, adaptor, type, types, rewriter);
      if (!value)
        return failure();
      values.assign(types.size(), value);
    }
    rewriter.replaceOpWithMultiple(op, ArrayRef<ValueRange>{values});
    return success();
  }

private:
  static Value valueOf(arith::ConstantOp op, OneToN, RankedTensorType, ArrayRef<Type> types, OpBuilder &builder) {
    auto dense = dyn_cast<DenseElementsAttr>(op.getValue());
    if (!dense || !dense.isSplat()) {
      op.emitOpError("register tile constant: expected one value for all elements");
      return {};
    }
    auto scalar = dense.getSplatValue<TypedAttr>();
    if (auto narrow = dyn_cast<FloatAttr>(scalar); narrow && tile::elementBits(narrow.getType()) == 8) // registers have their bits
      scalar = builder.getIntegerAttr(builder.getIntegerType(8), narrow.getValue().bitcastToAPInt());
    if (auto vector = dyn_cast<VectorType>(types.front()))
      return arith::ConstantOp::create(builder, op.getLoc(), DenseElementsAttr::get(vector, Attribute(scalar)));
    return arith::ConstantOp::create(builder, op.getLoc(), scalar);
  }

  static Value valueOf(nv::SplatOp op, OneToN adaptor, RankedTensorType type, ArrayRef<Type> types, OpBuilder &builder) {
    Value element = adaptor.getOperands()[0][0];
    auto vector = dyn_cast<VectorType>(types.front());
    if (!vector)
      return element;
    return pack(builder, op.getLoc(), type, SmallVector<Value>(vector.getNumElements() * types.size(), element))[0];
  }

  /// Sums are registers that nothing is written to. LLVM would merge poison with the other value that
  /// reaches a phi (zero, on the path around a loop) and then write all of them on both paths.
  static SmallVector<Value> poison(ub::PoisonOp op, RankedTensorType type, ArrayRef<Type> types, OpBuilder &builder) {
    Location loc = op.getLoc();
    Type element = type.getElementType();
    bool sums = element.isF32() || element.isInteger(32) || element.isF16();
    if (!sums || types.size() == 1)
      return SmallVector<Value>(types.size(), LLVM::PoisonOp::create(builder, loc, types.front()));
    MLIRContext *context = builder.getContext();
    bool packed = isa<VectorType>(types.front());
    SmallVector<Type> registers(types.size(), packed ? builder.getI32Type() : types.front());
    StringRef one = registers.front().isF32() ? "=f" : "=r";
    auto undefined = LLVM::InlineAsmOp::create(
        builder, loc, LLVM::LLVMStructType::getLiteral(context, registers), ValueRange(), "",
        llvm::join(SmallVector<StringRef>(types.size(), one), ","), /*has_side_effects=*/false,
        /*is_align_stack=*/false, LLVM::TailCallKind::None, LLVM::AsmDialectAttr::get(context, LLVM::AsmDialect::AD_ATT), ArrayAttr());
    SmallVector<Value> values;
    for (auto [i, own] : llvm::enumerate(types)) {
      values.push_back(LLVM::ExtractValueOp::create(builder, loc, undefined.getResult(0), i));
      if (packed)
        values.back() = LLVM::BitcastOp::create(builder, loc, own, values.back());
    }
    return values;
  }
};

} // namespace

void tileloom::emit::populateSplatPatterns(TileTypeConverter &converter, RewritePatternSet &patterns) {
  patterns.add<UniformPattern<arith::ConstantOp>, UniformPattern<ub::PoisonOp>, UniformPattern<nv::SplatOp>>(
      converter, patterns.getContext());
}
