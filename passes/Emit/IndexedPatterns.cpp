//===- IndexedPatterns.cpp - Elements of tiles at computed places --------------------------===//
//
// nv.take and nv.histogram, through scratch memory. A tile is written there row by row, and each thread reads the elements
// that its indices name. Counters are set to zero, and the threads that hold an element first add one to its counter.
//
//===--------------------------------------------------------------------------------------===//

#include "passes/Emit/SharedAccess.h"
#include "passes/Emit/TileConversion.h"

#include "tileloom/Analysis/Exchange.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tileloom;
using namespace tileloom::emit;

namespace {

template <typename Op> LogicalResult withoutScratch(Op op) {
  return op.emitOpError("expected scratch memory: run nv-assign-scratch first");
}

struct TakePattern : OpPattern<nv::TakeOp> {
  using OpPattern::OpPattern;

  LogicalResult matchAndRewrite(nv::TakeOp op, OneToN adaptor, ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Scalar math{rewriter, loc};
    auto source = op.getSource().getType(), indices = op.getIndices().getType(), type = op.getType();
    const layout::RegisterLayout *from = converter.layoutOf(source, loc), *at = converter.layoutOf(indices, loc),
                                 *to = converter.layoutOf(type, loc);
    if (!from || !at || !to)
      return failure();
    if (*at != *to)
      return op.emitOpError("result layout: expected that of the indices, ") << at->str() << ", found " << to->str();
    if (!op.getScratch())
      return withoutScratch(op);
    auto stored = rowMajorLayout(source.getShape(), scratchBits(source.getElementType()));
    if (!stored)
      return op.emitOpError() << llvm::toString(stored.takeError());
    SmallVector<Value> elements = unpack(rewriter, loc, source, adaptor.getSource());
    Type element = elements.front().getType(), byte = rewriter.getI8Type();
    bool isBit = element.isInteger(1);
    if (isBit)
      for (Value &value : elements)
        value = arith::ExtUIOp::create(rewriter, loc, byte, value);
    Value base = adaptor.getScratch().front();
    if (failed(storeShared(rewriter, op, {*from, {}, *stored, base}, elements, {})))
      return failure();
    createRoleBarrier(rewriter, op);

    int64_t bytes = scratchBits(element) / 8, stride = bytes;
    SmallVector<Value> places(to->registersPerThread()), taken;
    ThreadPosition position(rewriter, op);
    for (int64_t dim = source.getRank(); dim-- > 0; stride *= source.getDimSize(dim)) {
      bool along = dim == static_cast<int64_t>(op.getDim());
      if (source.getDimSize(dim) == 1)
        continue;
      SmallVector<Value> numbers = along ? unpack(rewriter, loc, indices, adaptor.getIndices())
                                         : indicesAlong(rewriter, loc, *to, dim, position);
      for (auto [place, number] : llvm::zip_equal(places, numbers)) {
        Value part = math.mul(number, stride);
        place = place ? math.add(place, part) : part;
      }
    }
    for (Value place : places) {
      Value address = place ? math.advance(base, place) : base;
      Value value = LLVM::LoadOp::create(rewriter, loc, isBit ? byte : element, address, bytes);
      taken.push_back(isBit ? arith::TruncIOp::create(rewriter, loc, element, value).getResult() : value);
    }
    rewriter.replaceOpWithMultiple(op, ArrayRef<ValueRange>{pack(rewriter, loc, type, taken)});
    return success();
  }
};

struct HistogramPattern : OpPattern<nv::HistogramOp> {
  using OpPattern::OpPattern;

  LogicalResult matchAndRewrite(nv::HistogramOp op, OneToN adaptor, ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    auto source = op.getSource().getType(), type = op.getType();
    const layout::RegisterLayout *from = converter.layoutOf(source, loc), *to = converter.layoutOf(type, loc);
    if (!from || !to)
      return failure();
    if (!op.getScratch())
      return withoutScratch(op);
    Value base = adaptor.getScratch().front();
    ThreadPosition position(rewriter, op);
    clear(rewriter, op, base, position);
    createRoleBarrier(rewriter, op);
    SmallVector<Value> elements = unpack(rewriter, loc, source, adaptor.getSource());
    auto count = [&](OpBuilder &builder) {
      for (unsigned reg = 0; reg < from->registersPerThread(); ++reg)
        if (from->isPrimary(reg, 0, 0))
          add(builder, loc, base, elements[reg], type.getDimSize(0));
    };
    if (Value primary = withoutCopies(rewriter, loc, from->replicatedLanes(), from->replicatedWarps(), position)) {
      auto branch = scf::IfOp::create(rewriter, loc, primary, /*withElseRegion=*/false);
      OpBuilder inner = branch.getThenBodyBuilder();
      count(inner);
    } else {
      count(rewriter);
    }
    createRoleBarrier(rewriter, op);
    auto stored = rowMajorLayout(type.getShape(), 32);
    if (!stored)
      return op.emitOpError() << llvm::toString(stored.takeError());
    SmallVector<Value> counts(to->registersPerThread());
    if (failed(loadShared(rewriter, op, {*to, {}, *stored, base}, rewriter.getI32Type(), /*packing=*/1, counts, counts)))
      return failure();
    rewriter.replaceOpWithMultiple(op, ArrayRef<ValueRange>{pack(rewriter, loc, type, counts)});
    return success();
  }

private:
  static void whereBelow(OpBuilder &builder, Location loc, Value number, int64_t bound, llvm::function_ref<void(OpBuilder &)> body) {
    Value inside = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, number, Scalar{builder, loc}.i32(bound));
    auto branch = scf::IfOp::create(builder, loc, inside, /*withElseRegion=*/false);
    OpBuilder inner = branch.getThenBodyBuilder();
    body(inner);
  }

  static Value placeOf(OpBuilder &builder, Location loc, Value base, Value number) {
    Scalar math{builder, loc};
    return math.advance(base, math.mul(number, 4));
  }

  /// Threads take the counters in turn.
  static void clear(OpBuilder &builder, nv::HistogramOp op, Value base, const ThreadPosition &position) {
    Location loc = op.getLoc();
    Scalar math{builder, loc};
    int64_t counters = op.getType().getDimSize(0), threads = 32 * position.warps;
    for (int64_t first = 0; first < counters; first += threads) {
      Value number = math.add(position.thread, first);
      auto store = [&](OpBuilder &inner) {
        LLVM::StoreOp::create(inner, loc, Scalar{inner, loc}.i32(0), placeOf(inner, loc, base, number), 4);
      };
      if (first + threads <= counters)
        store(builder);
      else
        whereBelow(builder, loc, number, counters, store);
    }
  }

  static void add(OpBuilder &builder, Location loc, Value base, Value number, int64_t counters) {
    whereBelow(builder, loc, number, counters, [&](OpBuilder &inner) {
      LLVM::AtomicRMWOp::create(inner, loc, LLVM::AtomicBinOp::add, placeOf(inner, loc, base, number), Scalar{inner, loc}.i32(1),
                                LLVM::AtomicOrdering::monotonic, "block");
    });
  }
};

} // namespace

void tileloom::emit::populateIndexedPatterns(TileTypeConverter &converter, RewritePatternSet &patterns) {
  patterns.add<TakePattern, HistogramPattern>(converter, patterns.getContext());
}
