//===- MmaPatterns.cpp - Products of register tiles as instructions -----------------------===//
//
// nv.mma to mma.sync m16n8 (PTX ISA 9.7.14.5): one instruction for each 16 x 8 block of a warp's
// share and 32 bytes of K, K outermost for each block, so that a block's sums stay in order.
// Assembly for all types: LLVM has no intrinsics for 8-bit floats.
//
//===--------------------------------------------------------------------------------------===//

#include "passes/Emit/TileConversion.h"

using namespace mlir;
using namespace tileloom;
using namespace tileloom::emit;

namespace {

StringRef operandName(Type type) {
  if (type.isF16())
    return "f16";
  if (type.isBF16())
    return "bf16";
  if (type.isF32())
    return "tf32";
  if (isa<Float8E4M3FNType>(type))
    return "e4m3";
  if (isa<Float8E5M2Type>(type))
    return "e5m2";
  if (type.isInteger(8))
    return type.isUnsignedInteger() ? "u8" : "s8";
  return "";
}

struct MmaPattern : OpPattern<nv::MmaOp> {
  using OpPattern::OpPattern;

  LogicalResult matchAndRewrite(nv::MmaOp op, OneToN adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    auto a = op.getA().getType(), b = op.getB().getType(), c = op.getC().getType();
    if (!isa_and_nonnull<nv::MmaAAttr>(a.getEncoding()) ||
        !isa_and_nonnull<nv::MmaBAttr>(b.getEncoding()) ||
        !isa_and_nonnull<nv::MmaAccAttr>(c.getEncoding()))
      return op.emitOpError("layouts: expected #nv.mma_a, #nv.mma_b and #nv.mma_acc: run "
                            "nv-assign-layouts first");
    StringRef aName = operandName(a.getElementType()), bName = operandName(b.getElementType());
    if (aName.empty() || bName.empty())
      return op.emitOpError("element types: expected f16, bf16, f32 (as tf32), f8E4M3FN, f8E5M2 or "
                            "i8, found ")
             << a.getElementType() << " and " << b.getElementType();
    SmallVector<Value> aWords = words(rewriter, loc, adaptor.getA()),
                       bWords = words(rewriter, loc, adaptor.getB()), sums(adaptor.getC());
    int64_t k = 256 / tile::elementBits(a.getElementType());
    int64_t steps = a.getDimSize(1) / k, columns = bWords.size() / (2 * steps),
            rows = aWords.size() / (4 * steps);
    bool integers = c.getElementType().isInteger(32), halves = c.getElementType().isF16();
    std::string type = integers ? "s32" : halves ? "f16" : "f32";
    if (halves)
      sums = words(rewriter, loc, sums);
    int64_t each = halves ? 2 : 4; // registers with sums
    auto list = [](int64_t first, int64_t count) {
      std::string text = "{";
      for (int64_t i = 0; i < count; ++i)
        text += (i ? ", $" : "$") + std::to_string(first + i);
      return text + "}";
    };
    std::string text = "mma.sync.aligned.m16n8k" + std::to_string(k) + ".row.col." + type + "." +
                       aName.str() + "." + bName.str() + "." + type + " " + list(0, each) + ", " +
                       list(each, 4) + ", " + list(each + 4, 2) + ", " + list(each + 6, each) + ";";
    StringRef one = integers || halves ? "r" : "f";
    std::string constraints, ties;
    for (int64_t i = 0; i < each; ++i) {
      constraints += ("=" + one + ",").str();
      ties += ("," + one).str();
    }
    constraints += "r,r,r,r,r,r" + ties;
    Type element = halves ? rewriter.getI32Type() : c.getElementType();
    Type result = LLVM::LLVMStructType::getLiteral(getContext(), SmallVector<Type>(each, element));
    for (int64_t step = 0; step < steps; ++step)
      for (int64_t row = 0; row < rows; ++row)
        for (int64_t column = 0; column < columns; ++column) {
          MutableArrayRef<Value> sum =
              MutableArrayRef(sums).slice((row * columns + column) * each, each);
          SmallVector<Value> operands(ArrayRef(aWords).slice((row * steps + step) * 4, 4));
          llvm::append_range(operands, ArrayRef(bWords).slice((column * steps + step) * 2, 2));
          llvm::append_range(operands, sum);
          auto product = LLVM::InlineAsmOp::create(
              rewriter, loc, result, operands, text, constraints, /*has_side_effects=*/false,
              /*is_align_stack=*/false, LLVM::TailCallKind::None,
              LLVM::AsmDialectAttr::get(getContext(), LLVM::AsmDialect::AD_ATT), ArrayAttr());
          for (int64_t i = 0; i < each; ++i)
            sum[i] = LLVM::ExtractValueOp::create(rewriter, loc, product.getResult(0), i);
        }
    if (halves)
      for (Value &value : sums)
        value = LLVM::BitcastOp::create(rewriter, loc, valueType(c.getElementType(), 2), value);
    rewriter.replaceOpWithMultiple(op, ArrayRef<ValueRange>{sums});
    return success();
  }

  static SmallVector<Value> words(OpBuilder &builder, Location loc, ValueRange values) {
    SmallVector<Value> result;
    for (Value value : values)
      result.push_back(LLVM::BitcastOp::create(builder, loc, builder.getI32Type(), value));
    return result;
  }
};

} // namespace

void tileloom::emit::populateMmaPatterns(TileTypeConverter &converter,
                                         RewritePatternSet &patterns) {
  patterns.add<MmaPattern>(converter, patterns.getContext());
}
