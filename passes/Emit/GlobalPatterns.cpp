//===- GlobalPatterns.cpp - Global memory accesses of tiles and scalars --------===//
//
// nv.global_load, nv.global_store, nv.global_reduce and nv.atomic_add: one access for each run of
// elements that a thread holds and that is known to be contiguous, aligned and under one mask
// (`nv.run`), 64-bit addresses. An element that several threads hold is written by one of them.
//
//===--------------------------------------------------------------------------------------===//

#include "passes/Emit/GlobalAccess.h"
#include "passes/Emit/TileConversion.h"

#include "dialects/NV/NV.h"


#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tileloom;
using namespace tileloom::emit;

namespace {

/// Groups of registers that one access moves, as `nv.run` allows.
SmallVector<SmallVector<unsigned, 16>, 8> runsOf(Operation *op,
                                                 const layout::RegisterLayout &layout) {
  auto run = op->getAttrOfType<DenseI64ArrayAttr>(nv::runAttrName);
  return layout::registerRuns(layout, run ? run[0] : layout.rank() - 1, run ? run[1] : 1);
}

struct GlobalLoadPattern : OpPattern<nv::GlobalLoadOp> {
  using OpPattern::OpPattern;
  LogicalResult matchAndRewrite(nv::GlobalLoadOp op, OneToN adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    auto tensor = dyn_cast<RankedTensorType>(op.getResult().getType());
    Type element = getElementTypeOrSelf(op.getResult().getType());
    SmallVector<SmallVector<unsigned, 16>, 8> runs;
    SmallVector<Value> others(adaptor.getOther());
    if (tensor) {
      const layout::RegisterLayout *layout = converter.layoutOf(tensor, loc);
      if (!layout)
        return failure();
      runs = runsOf(op, *layout);
      if (op.getOther())
        others = unpack(rewriter, loc, tensor, adaptor.getOther());
    }
    if (!tensor)
      runs.push_back({0u});
    SmallVector<Value> loaded(runs.size() * runs.front().size());
    for (ArrayRef<unsigned> run : runs) {
      Words words(element, run.size());
      Value address = globalAddress(rewriter, loc, adaptor.getPointer().front(),
                                    adaptor.getOffset()[run[0]], element);
      SmallVector<Value> other;
      if (op.getOther()) {
        for (unsigned reg : run)
          other.push_back(others[reg]);
        other = words.from(rewriter, loc, other);
      }
      Value mask = op.getMask() ? adaptor.getMask()[run[0]] : Value();
      SmallVector<Value> values =
          loadWords(rewriter, loc, words, address, mask, other, op.getInvariant(), op.getCache());
      for (auto [reg, value] : llvm::zip(run, words.to(rewriter, loc, values)))
        loaded[reg] = value;
    }
    if (!tensor)
      rewriter.replaceOp(op, loaded);
    else
      rewriter.replaceOpWithMultiple(op, ArrayRef<ValueRange>{pack(rewriter, loc, tensor, loaded)});
    return success();
  }
};

/// What global_store and global_reduce share: which threads write which runs of elements.
template <typename Op> struct GlobalWritePattern : OpPattern<Op> {
  using OpPattern<Op>::OpPattern;
  using typename OpPattern<Op>::OneToN;

  virtual void write(OpBuilder &builder, Op op, ArrayRef<Value> elements, Value address,
                     Value mask) const = 0;

  LogicalResult matchAndRewrite(Op op, OneToN adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Type element = getElementTypeOrSelf(op.getValue().getType());
    auto tensor = dyn_cast<RankedTensorType>(op.getValue().getType());
    auto addressOf = [&](OpBuilder &builder, unsigned reg) {
      return globalAddress(builder, loc, adaptor.getPointer().front(), adaptor.getOffset()[reg],
                           element);
    };
    auto maskOf = [&](unsigned reg) { return op.getMask() ? adaptor.getMask()[reg] : Value(); };
    if (!tensor) {
      createIssued(rewriter, op, nv::Issuer::Role, [&](OpBuilder &builder) {
        write(builder, op, adaptor.getValue().front(), addressOf(builder, 0), maskOf(0));
      });
      rewriter.eraseOp(op);
      return success();
    }
    const layout::RegisterLayout *layout = this->converter.layoutOf(tensor, loc);
    if (!layout)
      return failure();
    ThreadPosition position(rewriter, op);
    SmallVector<Value> elements = unpack(rewriter, loc, tensor, adaptor.getValue());
    auto writeAll = [&](OpBuilder &builder) {
      for (ArrayRef<unsigned> run : runsOf(op, *layout)) {
        if (!layout->isPrimary(run[0], 0, 0))
          continue;
        SmallVector<Value> part;
        for (unsigned reg : run)
          part.push_back(elements[reg]);
        write(builder, op, part, addressOf(builder, run[0]), maskOf(run[0]));
      }
    };
    if (Value primary = withoutCopies(rewriter, loc, layout->replicatedLanes(),
                                      layout->replicatedWarps(), position)) {
      auto branch = scf::IfOp::create(rewriter, loc, primary, /*withElseRegion=*/false);
      OpBuilder inner = branch.getThenBodyBuilder();
      writeAll(inner);
    } else {
      writeAll(rewriter);
    }
    rewriter.eraseOp(op);
    return success();
  }
};

struct GlobalStorePattern : GlobalWritePattern<nv::GlobalStoreOp> {
  using GlobalWritePattern::GlobalWritePattern;
  void write(OpBuilder &builder, nv::GlobalStoreOp op, ArrayRef<Value> elements, Value address,
             Value mask) const override {
    Words words(getElementTypeOrSelf(op.getValue().getType()), elements.size());
    storeWords(builder, op.getLoc(), words, address, mask,
               words.from(builder, op.getLoc(), elements), op.getCache());
  }
};

/// red.global: one instruction for each element, pairs of 16-bit floats and fours of fp32 together
/// (PTX ISA 9.7.13.6).
struct GlobalReducePattern : GlobalWritePattern<nv::GlobalReduceOp> {
  using GlobalWritePattern::GlobalWritePattern;
  void write(OpBuilder &builder, nv::GlobalReduceOp op, ArrayRef<Value> elements, Value address,
             Value mask) const override {
    Location loc = op.getLoc();
    Type element = elements.front().getType();
    size_t bytes = tile::elementBits(element) / 8;
    // 16-bit floats one at a time still move 16 bits; .v2 and .v4 of fp32 and of pairs exist since
    // sm_90.
    size_t step = element.isF32() ? std::min<size_t>(4, elements.size())
                  : bytes == 2    ? std::min<size_t>(8, elements.size())
                                  : 1;
    for (size_t first = 0; first < elements.size(); first += step)
      reduceElements(builder, loc, op.getKind(), elements.slice(first, step),
                     Scalar{builder, loc}.advance(address, first * bytes), mask);
  }
};

struct AtomicAddPattern : OpPattern<nv::AtomicAddOp> {
  using OpPattern::OpPattern;
  LogicalResult matchAndRewrite(nv::AtomicAddOp op, OneToN adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Type element = op.getValue().getType();
    Value address = globalAddress(rewriter, loc, adaptor.getPointer().front(),
                                  adaptor.getOffset().front(), element);
    auto kind = isa<FloatType>(element) ? LLVM::AtomicBinOp::fadd : LLVM::AtomicBinOp::add;
    rewriter.replaceOpWithNewOp<LLVM::AtomicRMWOp>(op, kind, address, adaptor.getValue().front(),
                                                   LLVM::AtomicOrdering::monotonic, "device");
    return success();
  }
};

} // namespace

void tileloom::emit::populateGlobalPatterns(TileTypeConverter &converter,
                                            RewritePatternSet &patterns) {
  patterns.add<GlobalLoadPattern, GlobalStorePattern, GlobalReducePattern, AtomicAddPattern>(
      converter, patterns.getContext());
}
