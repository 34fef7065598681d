//===- CpAsyncPatterns.cpp - Copies from global to shared memory without registers ----------===//
//
// nv.cp_async and its groups. A copy moves 4, 8 or 16 bytes of a thread (PTX ISA 9.7.9.25.3.1; 16
// bytes pass by the L1 cache); where the mask is false it reads nothing and writes zeros.
//
//===--------------------------------------------------------------------------------------===//

#include "passes/Emit/TileConversion.h"

#include "dialects/NV/NV.h"


#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tileloom;
using namespace tileloom::emit;

namespace {

struct CpAsyncPattern : OpPattern<nv::CpAsyncOp> {
  using OpPattern::OpPattern;

  LogicalResult matchAndRewrite(nv::CpAsyncOp op, OneToN adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Scalar math{rewriter, loc};
    auto run = op->getAttrOfType<DenseI64ArrayAttr>(nv::runAttrName);
    Type element = op.getView().getType().getElementType();
    int64_t bytes = tile::elementBits(element) / 8;
    // The layout of the elements, not of the offsets, which are wider.
    auto tile = RankedTensorType::get(op.getOffset().getType().getShape(), element,
                                      op.getOffset().getType().getEncoding());
    const layout::RegisterLayout *layout = converter.layoutOf(tile, loc);
    auto shared = sharedLayout(op.getView().getType());
    if (!layout)
      return failure();
    if (!shared)
      return op.emitOpError() << llvm::toString(shared.takeError());
    int64_t together = (run ? run[1] : 1) * bytes;
    auto plan = layout::vectorStorePlan(*layout, *shared, std::min<int64_t>(16, together));
    if (!plan)
      return op.emitOpError() << llvm::toString(plan.takeError());
    if (plan->vectorBytes < 4)
      return op.emitOpError("expected offsets that are contiguous and aligned for at least 4 bytes "
                            "at a time, found ")
             << plan->vectorBytes << "; load to registers and store instead";
    SharedAddresses addresses(rewriter, op, plan->laneBytes, adaptor.getView().front());
    Type global = LLVM::LLVMPointerType::get(getContext(), 1);
    Value base = LLVM::IntToPtrOp::create(rewriter, loc, global, adaptor.getPointer().front());
    auto copy = [&](OpBuilder &builder) {
      for (const layout::SharedAccess &access : plan->accesses) {
        unsigned reg = access.words.front().front();
        Value offset = adaptor.getOffset()[reg];
        if (offset.getType().isInteger(32))
          offset = arith::ExtSIOp::create(builder, loc, builder.getI64Type(), offset);
        Value source = LLVM::GEPOp::create(builder, loc, global, scalarType(element), base,
                                           ArrayRef<LLVM::GEPArg>{offset});
        Value size;
        if (op.getMask())
          size = arith::SelectOp::create(builder, loc, adaptor.getMask()[reg],
                                         math.i32(plan->vectorBytes), math.i32(0));
        NVVM::CpAsyncOp::create(builder, loc, addresses.at(builder, access), source,
                                plan->vectorBytes,
                                plan->vectorBytes == 16 ? NVVM::LoadCacheModifierKind::CG
                                                        : NVVM::LoadCacheModifierKind::CA,
                                size);
      }
    };
    if (Value primary =
            withoutCopies(rewriter, loc, plan->copyLanes, plan->copyWarps, addresses.position)) {
      auto branch = scf::IfOp::create(rewriter, loc, primary, /*withElseRegion=*/false);
      OpBuilder inner = branch.getThenBodyBuilder();
      copy(inner);
    } else {
      copy(rewriter);
    }
    rewriter.eraseOp(op);
    return success();
  }
};

struct CommitPattern : OpPattern<nv::CpAsyncCommitOp> {
  using OpPattern::OpPattern;
  LogicalResult matchAndRewrite(nv::CpAsyncCommitOp op, Adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<NVVM::CpAsyncCommitGroupOp>(op);
    return success();
  }
};

struct WaitPattern : OpPattern<nv::CpAsyncWaitOp> {
  using OpPattern::OpPattern;
  LogicalResult matchAndRewrite(nv::CpAsyncWaitOp op, Adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<NVVM::CpAsyncWaitGroupOp>(op, op.getPending());
    return success();
  }
};

/// The barrier counts every thread of the role: the arrival is one of those expected (.noinc).
struct ArrivePattern : OpPattern<nv::CpAsyncArriveOp> {
  using OpPattern::OpPattern;
  LogicalResult matchAndRewrite(nv::CpAsyncArriveOp op, Adaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<NVVM::CpAsyncMBarrierArriveOp>(op, adaptor.getBarrier(),
                                                               /*noinc=*/true);
    return success();
  }
};

} // namespace

void tileloom::emit::populateCpAsyncPatterns(TileTypeConverter &converter,
                                             RewritePatternSet &patterns) {
  patterns.add<CpAsyncPattern, CommitPattern, WaitPattern, ArrivePattern>(converter,
                                                                          patterns.getContext());
}
