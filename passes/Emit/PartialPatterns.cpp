//===- PartialPatterns.cpp - Partial sums to global memory and back -----------------------===//
//
// Each thread's registers, 16 bytes at a time, beside those of the next thread: every access of a warp
// is one run of memory whatever the layout. The loads of all tiles are independent of each other, and
// ptxas issues as many ahead as it has registers for.
//
//===--------------------------------------------------------------------------------------===//

#include "passes/Emit/GlobalAccess.h"
#include "passes/Emit/TileConversion.h"

#include "dialects/Warp/Warp.h"
#include "tileloom/Schedule/Limits.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

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

/// Registers beside sums and what is added to them: addresses, and what the tile's end needs.
constexpr int64_t otherRegisters = 32;

/// Of how many tiles the loads may be issued before the first is added. ptxas issues those of a block ahead as far as there are any, not
/// registers (192 x 192 spilled 76 of them for three slices, 740 for sixteen): what does not fit becomes a loop.
/// `sums`: registers of all sums of the role; the last ones are held beside those before them.
int64_t tilesAhead(nv::SumPartialsOp op, int64_t sums, int64_t own) {
  auto role = op->getParentOfType<warp::RoleOp>();
  int64_t there = role.getRegisters().value_or(schedule::mostRegisters) - otherRegisters;
  int64_t count = op.getCount();
  if (sums * count <= there)
    return count;
  int64_t most = std::clamp<int64_t>((there - sums) / own, 1, count / 2);
  return llvm::divideCeil(count, llvm::divideCeil(count, most)); // as evenly as they come
}

/// Elements of all sums of each role, before any of them is converted.
using RoleSums = llvm::DenseMap<Operation *, int64_t>;

struct SumPartialsPattern : OpPattern<nv::SumPartialsOp> {
  SumPartialsPattern(TileTypeConverter &converter, MLIRContext *context, RoleSums sums) : OpPattern(converter, context), roleSums(std::move(sums)) {}

  LogicalResult matchAndRewrite(nv::SumPartialsOp op, OneToN adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    auto type = cast<RankedTensorType>(op.getType());
    const layout::RegisterLayout *layout = distinctLayout(converter, op, type);
    if (!layout)
      return failure();
    unsigned own = layout->registersPerThread();
    Value pointer = adaptor.getPointer().front();
    int64_t count = op.getCount(), stride = op.getStride();
    int64_t all = roleSums.lookup(op->getParentOfType<warp::RoleOp>()) / (ThreadPosition(rewriter, op).warps * 32);
    int64_t ahead = tilesAhead(op, all, own), first = ahead == count ? count : count % ahead;
    SmallVector<Value> sums(own);
    add(rewriter, op, type.getElementType(), pointer, first, sums);
    if (first < count) {
      // At least two iterations: one alone would be no loop.
      if (!first)
        sums.assign(own, arith::ConstantOp::create(rewriter, loc, rewriter.getZeroAttr(type.getElementType())));
      Value from = arith::ConstantIntOp::create(rewriter, loc, first, 32), to = arith::ConstantIntOp::create(rewriter, loc, count, 32);
      Value step = arith::ConstantIntOp::create(rewriter, loc, ahead, 32);
      auto loop = scf::ForOp::create(rewriter, loc, from, to, step, sums);
      loop->setAttr("llvm.loop_annotation", notUnrolled());
      OpBuilder::InsertionGuard guard(rewriter);
      rewriter.setInsertionPointToStart(loop.getBody());
      Value bytes = arith::MulIOp::create(rewriter, loc, arith::ExtSIOp::create(rewriter, loc, rewriter.getI64Type(), loop.getInductionVar()),
                                          arith::ConstantIntOp::create(rewriter, loc, stride, 64));
      SmallVector<Value> next(loop.getRegionIterArgs());
      add(rewriter, op, type.getElementType(), arith::AddIOp::create(rewriter, loc, pointer, bytes), ahead, next);
      scf::YieldOp::create(rewriter, loc, next);
      sums.assign(loop.getResults().begin(), loop.getResults().end());
    }
    rewriter.replaceOpWithMultiple(op, ArrayRef<ValueRange>{pack(rewriter, loc, type, sums)});
    return success();
  }

private:
  /// Adds `count` tiles from `pointer` on to `sums` (empty: nothing yet), in order.
  static void add(OpBuilder &builder, nv::SumPartialsOp op, Type element, Value pointer, int64_t count, MutableArrayRef<Value> sums) {
    Location loc = op.getLoc();
    bool real = isa<FloatType>(element);
    OwnPart part(builder, op, pointer, sums.size());
    Words words(element, part.vector);
    for (int64_t tile = 0; tile < count; ++tile)
      for (unsigned reg = 0; reg < sums.size(); reg += part.vector) {
        SmallVector<Value> loaded = loadWords(builder, loc, words, part.at(builder, loc, reg, tile * op.getStride()), Value(), {},
                                              /*invariant=*/false, std::nullopt);
        for (auto [i, value] : llvm::enumerate(words.to(builder, loc, loaded))) {
          Value &sum = sums[reg + i];
          if (!sum)
            sum = value;
          else if (real)
            sum = arith::AddFOp::create(builder, loc, sum, value);
          else
            sum = arith::AddIOp::create(builder, loc, sum, value);
        }
      }
  }

  LLVM::LoopAnnotationAttr notUnrolled() const {
    MLIRContext *context = getContext();
    auto unroll = LLVM::LoopUnrollAttr::get(context, BoolAttr::get(context, true), {}, {}, {}, {}, {}, {});
    return LLVM::LoopAnnotationAttr::get(context, {}, {}, {}, unroll, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {});
  }

  RoleSums roleSums;
};

} // namespace

void tileloom::emit::populatePartialPatterns(TileTypeConverter &converter, RewritePatternSet &patterns, Operation *root) {
  RoleSums sums;
  root->walk([&](nv::SumPartialsOp op) {
    sums[op->getParentOfType<warp::RoleOp>()] += cast<RankedTensorType>(op.getType()).getNumElements();
  });
  patterns.add<StorePartialPattern>(converter, patterns.getContext());
  patterns.add<SumPartialsPattern>(converter, patterns.getContext(), std::move(sums));
}
