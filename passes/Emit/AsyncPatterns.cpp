//===- AsyncPatterns.cpp - Copies, barriers and fences ------------------------------------===//
//
// nv.tma, nv.bulk, nv.mbarrier, nv.named_barrier and nv.fence to NVVM. A tile wider than one copy
// (a swizzle atom, 256 rows) becomes several boxes. What one thread issues for its role is issued
// by the role's first thread, so that the store engine's groups are waited for by the thread that
// made them.
//
//===--------------------------------------------------------------------------------------===//

#include "passes/Emit/TileConversion.h"

#include "dialects/Warp/Warp.h"


#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tileloom;
using namespace tileloom::emit;

namespace {

/// L2 cache policies as `createpolicy.fractional` makes them for all of a copy (the encodings that
/// CUTLASS names TMA::CacheHintSm90).
Value cachePolicy(OpBuilder &builder, Location loc, std::optional<nv::CacheHint> hint) {
  if (!hint || *hint == nv::CacheHint::Normal)
    return {};
  int64_t policy = *hint == nv::CacheHint::First ? 0x12F0000000000000 : 0x14F0000000000000;
  return arith::ConstantIntOp::create(builder, loc, policy, 64);
}

/// Coordinates of a box, innermost first: `start` (outermost first) moved by the box's origin in
/// the tile, whose unit dimensions are dropped.
SmallVector<Value> boxCoordinates(OpBuilder &builder, Location loc, tile::DescType desc,
                                  ValueRange start, const layout::TmaBox &box) {
  Scalar math{builder, loc};
  SmallVector<Value> coordinates;
  size_t next = 0;
  for (size_t i = desc.getShape().size(); i-- > 0;) {
    Value coordinate = start[i];
    if (desc.getShape()[i] != 1 && next < box.origin.size())
      coordinate = math.add(coordinate, box.origin[next++]);
    coordinates.push_back(coordinate);
  }
  return coordinates;
}

struct TmaLoadPattern : OpPattern<nv::TmaLoadOp> {
  using OpPattern::OpPattern;
  LogicalResult matchAndRewrite(nv::TmaLoadOp op, Adaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    if (!op.getBarrier())
      return op.emitOpError("expected a barrier: the slot's release of kind tma names it");
    auto boxes = tmaBoxes(op.getView().getType());
    if (!boxes)
      return op.emitOpError() << llvm::toString(boxes.takeError());
    Location loc = op.getLoc();
    auto desc = cast<tile::DescType>(op.getDesc().getType());
    bool cluster = op.getMulticast() || op.getPair();
    createIssued(rewriter, op, nv::Issuer::Role, [&](OpBuilder &builder) {
      Value policy = cachePolicy(builder, loc, op.getCache()), barrier = adaptor.getBarrier();
      NVVM::CTAGroupKindAttr group;
      if (op.getPair()) {
        // cta_group::2 lets a copy count on the mbarrier of the peer (PTX ISA 9.7.9.25.5.2).
        group = NVVM::CTAGroupKindAttr::get(getContext(), NVVM::CTAGroupKind::CTA_2);
        barrier =
            sameBits(builder, loc, mapToCta(builder, loc, barrier, leaderRank(builder, loc)), 3);
      }
      for (const layout::TmaBox &box : *boxes) {
        Value target = Scalar{builder, loc}.advance(adaptor.getView(), box.byteOffset);
        if (cluster)
          target = sameBits(builder, loc, target, 7);
        NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp::create(
            builder, loc, target, adaptor.getDesc(),
            boxCoordinates(builder, loc, desc, op.getCoordinates(), box), barrier, ValueRange(),
            adaptor.getMulticast(), policy, NVVM::TMALoadMode::TILE, /*isCTAOnly=*/!cluster, group,
            Value());
      }
    });
    rewriter.eraseOp(op);
    return success();
  }
};

NVVM::TMAReduxKind reductionOf(nv::AtomicKind kind) {
  switch (kind) {
  case nv::AtomicKind::Max:
    return NVVM::TMAReduxKind::MAX;
  case nv::AtomicKind::Min:
    return NVVM::TMAReduxKind::MIN;
  case nv::AtomicKind::And:
    return NVVM::TMAReduxKind::AND;
  case nv::AtomicKind::Or:
    return NVVM::TMAReduxKind::OR;
  case nv::AtomicKind::Xor:
    return NVVM::TMAReduxKind::XOR;
  default: // the verifier admits no other
    return NVVM::TMAReduxKind::ADD;
  }
}

struct TmaStorePattern : OpPattern<nv::TmaStoreOp> {
  using OpPattern::OpPattern;
  LogicalResult matchAndRewrite(nv::TmaStoreOp op, Adaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    auto boxes = tmaBoxes(op.getView().getType());
    if (!boxes)
      return op.emitOpError() << llvm::toString(boxes.takeError());
    Location loc = op.getLoc();
    auto desc = cast<tile::DescType>(op.getDesc().getType());
    createIssued(rewriter, op, nv::Issuer::Role, [&](OpBuilder &builder) {
      Value policy = cachePolicy(builder, loc, op.getCache());
      for (const layout::TmaBox &box : *boxes) {
        Value source = Scalar{builder, loc}.advance(adaptor.getView(), box.byteOffset);
        if (auto reduce = op.getReduce()) {
          NVVM::CpAsyncBulkTensorReduceOp::create(
              builder, loc, adaptor.getDesc(), source, reductionOf(*reduce),
              NVVM::TMAStoreMode::TILE,
              boxCoordinates(builder, loc, desc, op.getCoordinates(), box), policy);
          continue;
        }
        NVVM::CpAsyncBulkTensorSharedCTAToGlobalOp::create(
            builder, loc, adaptor.getDesc(), source,
            boxCoordinates(builder, loc, desc, op.getCoordinates(), box), policy,
            NVVM::TMAStoreMode::TILE, Value());
      }
    });
    rewriter.eraseOp(op);
    return success();
  }
};

struct BulkCommitPattern : OpPattern<nv::BulkCommitOp> {
  using OpPattern::OpPattern;
  LogicalResult matchAndRewrite(nv::BulkCommitOp op, Adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    createIssued(rewriter, op, nv::Issuer::Role, [&](OpBuilder &builder) {
      NVVM::CpAsyncBulkCommitGroupOp::create(builder, op.getLoc());
    });
    rewriter.eraseOp(op);
    return success();
  }
};

struct BulkWaitPattern : OpPattern<nv::BulkWaitOp> {
  using OpPattern::OpPattern;
  LogicalResult matchAndRewrite(nv::BulkWaitOp op, Adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    createIssued(rewriter, op, nv::Issuer::Role, [&](OpBuilder &builder) {
      NVVM::CpAsyncBulkWaitGroupOp::create(builder, op.getLoc(), op.getPending(),
                                           op.getRead() ? builder.getUnitAttr() : UnitAttr());
    });
    rewriter.eraseOp(op);
    return success();
  }
};

struct MBarrierInitPattern : OpPattern<nv::MBarrierInitOp> {
  using OpPattern::OpPattern;
  LogicalResult matchAndRewrite(nv::MBarrierInitOp op, Adaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Scalar math{rewriter, op.getLoc()};
    for (uint64_t stage = 0; stage < op.getStages(); ++stage)
      NVVM::MBarrierInitOp::create(rewriter, op.getLoc(),
                                   math.advance(adaptor.getBase(), 8 * stage),
                                   math.i32(op.getArrivals()), Value());
    rewriter.eraseOp(op);
    return success();
  }
};

struct MBarrierWaitPattern : OpPattern<nv::MBarrierWaitOp> {
  using OpPattern::OpPattern;
  LogicalResult matchAndRewrite(nv::MBarrierWaitOp op, Adaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    // try_wait may give up after a system-dependent time (PTX ISA 9.7.13.15.16): it has to be asked
    // again.
    Location loc = op.getLoc();
    OpBuilder::InsertionGuard guard(rewriter);
    Value yes = arith::ConstantIntOp::create(rewriter, loc, 1, 1);
    if (op.getKnown()) {
      Value ask = arith::XOrIOp::create(rewriter, loc, adaptor.getKnown(), yes);
      auto branch = scf::IfOp::create(rewriter, loc, ask, /*withElseRegion=*/false);
      rewriter.setInsertionPointToStart(branch.thenBlock());
    }
    auto loop = scf::WhileOp::create(rewriter, loc, TypeRange(), ValueRange());
    rewriter.createBlock(&loop.getBefore());
    Value done = NVVM::MBarrierTryWaitOp::create(rewriter, loc, rewriter.getI1Type(),
                                                 adaptor.getBarrier(), adaptor.getPhase(), Value(),
                                                 NVVM::MemScopeKind::CTA, /*relaxed=*/false);
    Value again = arith::XOrIOp::create(rewriter, loc, done, yes);
    scf::ConditionOp::create(rewriter, loc, again, ValueRange());
    rewriter.createBlock(&loop.getAfter());
    scf::YieldOp::create(rewriter, loc);
    rewriter.eraseOp(op);
    return success();
  }
};

struct MBarrierTestPattern : OpPattern<nv::MBarrierTestOp> {
  using OpPattern::OpPattern;
  LogicalResult matchAndRewrite(nv::MBarrierTestOp op, Adaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<NVVM::MBarrierTestWaitOp>(
        op, rewriter.getI1Type(), adaptor.getBarrier(), adaptor.getPhase(), NVVM::MemScopeKind::CTA,
        /*relaxed=*/false);
    return success();
  }
};

struct MBarrierArrivePattern : OpPattern<nv::MBarrierArriveOp> {
  using OpPattern::OpPattern;
  LogicalResult matchAndRewrite(nv::MBarrierArriveOp op, Adaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    createIssued(rewriter, op, op.getIssuer(), [&](OpBuilder &builder) {
      if (op.getBytes())
        NVVM::MBarrierArriveExpectTxOp::create(builder, loc, Type(), adaptor.getBarrier(),
                                               Scalar{builder, loc}.i32(op.getBytes()),
                                               NVVM::MemScopeKind::CTA, false, Value());
      else
        NVVM::MBarrierArriveOp::create(builder, loc, builder.getI64Type(), adaptor.getBarrier(),
                                       Value(), NVVM::MemScopeKind::CTA, false);
    });
    rewriter.eraseOp(op);
    return success();
  }
};

struct NamedBarrierPattern : OpPattern<nv::NamedBarrierOp> {
  using OpPattern::OpPattern;
  LogicalResult matchAndRewrite(nv::NamedBarrierOp op, Adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    if (!op->getParentOfType<warp::RoleOp>()->hasAttr(nv::barrierAttrName))
      return op.emitOpError("expected a role with a hardware barrier: run nv-assign-warps first");
    createRoleBarrier(rewriter, op);
    rewriter.eraseOp(op);
    return success();
  }
};

struct FenceProxyPattern : OpPattern<nv::FenceProxyOp> {
  using OpPattern::OpPattern;
  LogicalResult matchAndRewrite(nv::FenceProxyOp op, Adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<NVVM::FenceProxyOp>(
        op, NVVM::ProxyKind::async_shared,
        NVVM::SharedSpaceAttr::get(getContext(), NVVM::SharedSpace::shared_cta));
    return success();
  }
};

/// fence.acq_rel (PTX ISA 9.7.13.4).
struct MemoryFencePattern : OpPattern<nv::MemoryFenceOp> {
  using OpPattern::OpPattern;
  LogicalResult matchAndRewrite(nv::MemoryFenceOp op, Adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<LLVM::FenceOp>(op, LLVM::AtomicOrdering::acq_rel,
                                               syncScopeOf(op.getScope()));
    return success();
  }
};

} // namespace

StringRef tileloom::emit::syncScopeOf(nv::MemScope scope) {
  switch (scope) {
  case nv::MemScope::Cta:
    return "block";
  case nv::MemScope::Gpu:
    return "device";
  case nv::MemScope::Sys:
    return "";
  }
  llvm_unreachable("unknown scope");
}

void tileloom::emit::populateAsyncPatterns(TileTypeConverter &converter,
                                           RewritePatternSet &patterns) {
  patterns.add<TmaLoadPattern, TmaStorePattern, BulkCommitPattern, BulkWaitPattern,
               MBarrierInitPattern, MBarrierWaitPattern, MBarrierTestPattern, MBarrierArrivePattern,
               NamedBarrierPattern, FenceProxyPattern, MemoryFencePattern>(converter, patterns.getContext());
}
