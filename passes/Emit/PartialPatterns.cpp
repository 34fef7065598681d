//===- PartialPatterns.cpp - Partial sums to global memory and back -----------------------===//
//
// Each thread's registers, 16 bytes at a time, beside those of the next thread: every access of a warp
// is one run of memory whatever the layout. The loads of all tiles are independent of each other, and
// ptxas issues as many ahead as it has registers for.
//
//===--------------------------------------------------------------------------------------===//

#include "passes/Emit/GlobalAccess.h"
#include "passes/Emit/TileConversion.h"

using namespace mlir;
using namespace tileloom;
using namespace tileloom::emit;

namespace {

/// Where the executing thread has its part of a tile.
struct OwnPart {
  OwnPart(OpBuilder &builder, Operation *op, Value pointer, unsigned registers)
      : vector(registers % 4 == 0 ? 4 : registers % 2 == 0 ? 2 : 1) {
    ThreadPosition position(builder, op);
    distance = position.warps * 32 * vector;
    Value first = Scalar{builder, op->getLoc()}.mul(position.thread, vector);
    base = globalAddress(builder, op->getLoc(), pointer, first, builder.getI32Type());
  }

  /// The address of registers [reg, reg + vector), `bytes` further on.
  Value at(OpBuilder &builder, Location loc, unsigned reg, int64_t bytes = 0) const {
    Value offset = arith::ConstantIntOp::create(builder, loc, reg / vector * distance + bytes / 4, 64);
    return LLVM::GEPOp::create(builder, loc, base.getType(), builder.getI32Type(), base,
                               ArrayRef<LLVM::GEPArg>{offset});
  }

  unsigned vector;
  int64_t distance; ///< of a thread's accesses, in words
  Value base;
};

/// The layout of a tile whose elements have one thread each.
const layout::RegisterLayout *distinctLayout(const TileTypeConverter &converter, Operation *op,
                                             RankedTensorType type) {
  const layout::RegisterLayout *layout = converter.layoutOf(type, op->getLoc());
  if (!layout)
    return nullptr;
  bool distinct = !layout->replicatedLanes() && !layout->replicatedWarps();
  for (unsigned reg = 0; reg < layout->registersPerThread(); ++reg)
    distinct &= layout->isPrimary(reg, 0, 0);
  if (distinct)
    return layout;
  op->emitOpError("layout: expected each element in one register of one thread, found several");
  return nullptr;
}

struct StorePartialPattern : OpPattern<nv::StorePartialOp> {
  using OpPattern::OpPattern;
  LogicalResult matchAndRewrite(nv::StorePartialOp op, OneToN adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    auto type = cast<RankedTensorType>(op.getValue().getType());
    const layout::RegisterLayout *layout = distinctLayout(converter, op, type);
    if (!layout)
      return failure();
    SmallVector<Value> elements = unpack(rewriter, loc, type, adaptor.getValue());
    OwnPart part(rewriter, op, adaptor.getPointer().front(), elements.size());
    Words words(type.getElementType(), part.vector);
    for (unsigned reg = 0; reg < elements.size(); reg += part.vector)
      storeWords(rewriter, loc, words, part.at(rewriter, loc, reg), Value(),
                 words.from(rewriter, loc, ArrayRef(elements).slice(reg, part.vector)), std::nullopt);
    rewriter.eraseOp(op);
    return success();
  }
};

struct SumPartialsPattern : OpPattern<nv::SumPartialsOp> {
  using OpPattern::OpPattern;
  LogicalResult matchAndRewrite(nv::SumPartialsOp op, OneToN adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    auto type = cast<RankedTensorType>(op.getType());
    const layout::RegisterLayout *layout = distinctLayout(converter, op, type);
    if (!layout)
      return failure();
    bool real = isa<FloatType>(type.getElementType());
    SmallVector<Value> sums(layout->registersPerThread());
    OwnPart part(rewriter, op, adaptor.getPointer().front(), sums.size());
    Words words(type.getElementType(), part.vector);
    for (int64_t tile = 0; tile < static_cast<int64_t>(op.getCount()); ++tile)
      for (unsigned reg = 0; reg < sums.size(); reg += part.vector) {
        SmallVector<Value> loaded =
            loadWords(rewriter, loc, words, part.at(rewriter, loc, reg, tile * op.getStride()), Value(), {},
                      /*invariant=*/false, std::nullopt);
        for (auto [i, value] : llvm::enumerate(words.to(rewriter, loc, loaded))) {
          Value &sum = sums[reg + i];
          if (!sum)
            sum = value;
          else if (real)
            sum = arith::AddFOp::create(rewriter, loc, sum, value);
          else
            sum = arith::AddIOp::create(rewriter, loc, sum, value);
        }
      }
    rewriter.replaceOpWithMultiple(op, ArrayRef<ValueRange>{pack(rewriter, loc, type, sums)});
    return success();
  }
};

} // namespace

void tileloom::emit::populatePartialPatterns(TileTypeConverter &converter, RewritePatternSet &patterns) {
  patterns.add<StorePartialPattern, SumPartialsPattern>(converter, patterns.getContext());
}
