//===- ShapePatterns.cpp - Parts and broadcasts of register tiles -------------------------===//
//
// Each is a choice of registers that lib/Layout plans.
//
//===--------------------------------------------------------------------------------------===//

#include "passes/Emit/TileConversion.h"

#include "tileloom/Layout/ReducePlan.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace tileloom;
using namespace tileloom::emit;

namespace {

template <typename Op> class Pattern : public OpConversionPattern<Op> {
public:
  Pattern(TileTypeConverter &converter, MLIRContext *context)
      : OpConversionPattern<Op>(converter, context), converter(converter) {}
  using OneToN = typename OpConversionPattern<Op>::OneToNOpAdaptor;

protected:
  const layout::RegisterLayout *layoutOf(Value value) const {
    return converter.layoutOf(cast<RankedTensorType>(value.getType()), value.getLoc());
  }
  /// Replaces `op` by the elements at `registers` of `source`.
  LogicalResult choose(Op op, RankedTensorType source, ValueRange values,
                       ArrayRef<unsigned> registers, ConversionPatternRewriter &rewriter) const {
    rewriter.replaceOpWithMultiple(
        op, ArrayRef<ValueRange>{chooseRegisters(rewriter, op.getLoc(), source,
                                                 cast<RankedTensorType>(op->getResult(0).getType()),
                                                 values, registers)});
    return success();
  }
  template <typename T> LogicalResult fail(Op op, llvm::Expected<T> &expected) const {
    return op.emitOpError() << llvm::toString(expected.takeError());
  }

  TileTypeConverter &converter;
};

struct ExtractPattern : Pattern<nv::ExtractOp> {
  using Pattern::Pattern;
  LogicalResult matchAndRewrite(nv::ExtractOp op, OneToN adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    const layout::RegisterLayout *source = layoutOf(op.getSource());
    if (!source)
      return failure();
    layout::RegisterLayout part = *source;
    SmallVector<unsigned, 16> registers =
        llvm::to_vector(llvm::seq<unsigned>(0, source->registersPerThread()));
    for (auto [dim, offset, extent] : llvm::enumerate(op.getOffsets(), op.getType().getShape())) {
      auto sub = layout::extract(part, dim, offset, extent);
      if (!sub)
        return fail(op, sub);
      SmallVector<unsigned, 16> next;
      for (unsigned reg : sub->registers)
        next.push_back(registers[reg]);
      registers = next;
      part = sub->layout;
    }
    const layout::RegisterLayout *result = layoutOf(op.getResult());
    if (!result || *result != part)
      return op.emitOpError("result layout: expected ")
             << part.str() << ", found " << (result ? result->str() : "none");
    return choose(op, op.getSource().getType(), adaptor.getSource(), registers, rewriter);
  }
};

struct RowSlotPattern : Pattern<nv::RowSlotOp> {
  using Pattern::Pattern;
  LogicalResult matchAndRewrite(nv::RowSlotOp op, OneToN adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    const layout::RegisterLayout *source = layoutOf(op.getSource());
    if (!source)
      return failure();
    auto sub = layout::rowSlot(*source, 0, op.getSlot(), op.getCount());
    if (!sub)
      return fail(op, sub);
    return choose(op, op.getSource().getType(), adaptor.getSource(), sub->registers, rewriter);
  }
};

/// Puts parts back: `parts[i]` are the registers of the whole that input i holds.
template <typename Op>
LogicalResult assemble(Op op, ArrayRef<SmallVector<unsigned, 16>> parts,
                       ArrayRef<ValueRange> inputs, unsigned registers,
                       ConversionPatternRewriter &rewriter) {
  SmallVector<Value> elements(registers);
  for (auto [i, input, where] : llvm::enumerate(inputs, parts)) {
    auto part = cast<RankedTensorType>(op.getInputs()[i].getType());
    for (auto [value, reg] : llvm::zip(unpack(rewriter, op.getLoc(), part, input), where))
      elements[reg] = value;
  }
  if (llvm::is_contained(elements, Value()))
    return op.emitOpError("inputs: expected to cover the result");
  rewriter.replaceOpWithMultiple(
      op, ArrayRef<ValueRange>{
              pack(rewriter, op.getLoc(), cast<RankedTensorType>(op.getType()), elements)});
  return success();
}

struct JoinRowSlotsPattern : Pattern<nv::JoinRowSlotsOp> {
  using Pattern::Pattern;
  LogicalResult matchAndRewrite(nv::JoinRowSlotsOp op, OneToN adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    const layout::RegisterLayout *whole = layoutOf(op.getResult());
    if (!whole)
      return failure();
    SmallVector<SmallVector<unsigned, 16>> parts;
    for (size_t i = 0; i < op.getInputs().size(); ++i) {
      auto sub = layout::rowSlot(*whole, 0, i, op.getInputs().size());
      if (!sub)
        return fail(op, sub);
      parts.emplace_back(sub->registers);
    }
    return assemble(op, parts, adaptor.getInputs(), whole->registersPerThread(), rewriter);
  }
};

struct ConcatPattern : Pattern<nv::ConcatOp> {
  using Pattern::Pattern;
  LogicalResult matchAndRewrite(nv::ConcatOp op, OneToN adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    const layout::RegisterLayout *whole = layoutOf(op.getResult());
    if (!whole)
      return failure();
    SmallVector<SmallVector<unsigned, 16>> parts;
    int64_t begin = 0;
    for (Value input : op.getInputs()) {
      int64_t extent = cast<RankedTensorType>(input.getType()).getDimSize(op.getDim());
      auto sub = layout::extract(*whole, op.getDim(), begin, extent);
      if (!sub)
        return fail(op, sub);
      parts.emplace_back(sub->registers);
      begin += extent;
    }
    return assemble(op, parts, adaptor.getInputs(), whole->registersPerThread(), rewriter);
  }
};

struct BroadcastPattern : Pattern<nv::BroadcastOp> {
  using Pattern::Pattern;
  LogicalResult matchAndRewrite(nv::BroadcastOp op, OneToN adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    const layout::RegisterLayout *source = layoutOf(op.getSource()),
                                 *result = layoutOf(op.getResult());
    if (!source || !result)
      return failure();
    auto registers = layout::broadcastPlan(*source, *result, op.getDim());
    if (!registers)
      return fail(op, registers);
    return choose(op, op.getSource().getType(), adaptor.getSource(), *registers, rewriter);
  }
};

struct FoldPattern : Pattern<nv::FoldOp> {
  using Pattern::Pattern;
  LogicalResult matchAndRewrite(nv::FoldOp op, OneToN adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    const layout::RegisterLayout *source = layoutOf(op.getSource()),
                                 *result = layoutOf(op.getResult());
    if (!source || !result)
      return failure();
    if (tile::elementBits(op.getType().getElementType()) != 32)
      return op.emitOpError("element type: expected 32 bits, found ")
             << op.getType().getElementType();
    auto registers = layout::foldPlan(*source, *result);
    if (!registers)
      return fail(op, registers);
    SmallVector<Value> values(result->registersPerThread());
    for (auto [element, target] : llvm::zip_equal(adaptor.getSource(), *registers))
      values[target] = values[target]
                           ? combine(rewriter, op.getLoc(), op.getKind(), values[target], element)
                           : element;
    rewriter.replaceOpWithMultiple(op, ArrayRef<ValueRange>{values});
    return success();
  }
};

struct IndexPattern : Pattern<nv::IndexOp> {
  using Pattern::Pattern;
  LogicalResult matchAndRewrite(nv::IndexOp op, OneToN adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    const layout::RegisterLayout *layout = layoutOf(op.getResult());
    if (!layout)
      return failure();
    if (!op.getType().getElementType().isInteger(32))
      return op.emitOpError("element type: expected i32, found ") << op.getType().getElementType();
    ThreadPosition position(rewriter, op);
    rewriter.replaceOpWithMultiple(op, ArrayRef<ValueRange>{indicesAlong(
                                           rewriter, op.getLoc(), *layout, op.getDim(), position)});
    return success();
  }
};

struct WarpAnyPattern : Pattern<nv::WarpAnyOp> {
  using Pattern::Pattern;
  LogicalResult matchAndRewrite(nv::WarpAnyOp op, OneToN adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Value any;
    for (Value value : adaptor.getSource())
      any = any ? arith::OrIOp::create(rewriter, loc, any, value).getResult() : value;
    rewriter.replaceOpWithNewOp<NVVM::VoteSyncOp>(
        op, rewriter.getI1Type(), Scalar{rewriter, loc}.i32(-1), any, NVVM::VoteSyncKind::any);
    return success();
  }
};

} // namespace

void tileloom::emit::populateShapePatterns(TileTypeConverter &converter,
                                           RewritePatternSet &patterns) {
  patterns.add<ExtractPattern, RowSlotPattern, JoinRowSlotsPattern, ConcatPattern, BroadcastPattern,
               FoldPattern, IndexPattern, WarpAnyPattern>(converter, patterns.getContext());
}
