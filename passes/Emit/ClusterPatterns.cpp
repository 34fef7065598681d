//===- ClusterPatterns.cpp - CTAs of a cluster --------------------------------------------===//
//
// nv.cta_rank, nv.program_id, nv.num_programs, nv.mbarrier.arrive_at, nv.warp_sync and
// nv.tcgen05.commit to NVVM. Remote mbarriers are named by mapa, in the shared::cluster window.
//
//===--------------------------------------------------------------------------------------===//

#include "passes/Emit/TileConversion.h"

#include "dialects/NV/Packing.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace tileloom;
using namespace tileloom::emit;

Value tileloom::emit::ctaRank(OpBuilder &builder, Location loc) {
  return NVVM::ClusterId::create(builder, loc, builder.getI32Type(), LLVM::ConstantRangeAttr());
}

Value tileloom::emit::leaderRank(OpBuilder &builder, Location loc) {
  return Scalar{builder, loc}.bitAnd(ctaRank(builder, loc), ~int64_t(1) & 0xffffffff);
}

Value tileloom::emit::mapToCta(OpBuilder &builder, Location loc, Value address, Value rank) {
  return NVVM::MapaOp::create(builder, loc, LLVM::LLVMPointerType::get(builder.getContext(), 7),
                              address, rank);
}

Value tileloom::emit::sameBits(OpBuilder &builder, Location loc, Value address, unsigned space) {
  Value bits = LLVM::PtrToIntOp::create(builder, loc, builder.getI32Type(), address);
  return LLVM::IntToPtrOp::create(builder, loc,
                                  LLVM::LLVMPointerType::get(builder.getContext(), space), bits);
}

int64_t tileloom::emit::clusterSizeOf(Operation *op) {
  auto function = op->getParentOfType<FunctionOpInterface>();
  auto launch = function ? function->getAttrOfType<warp::LaunchAttr>(warp::launchAttrName)
                         : warp::LaunchAttr();
  return launch ? launch.getCluster() : 1;
}

namespace {

struct CtaRankPattern : OpPattern<nv::CtaRankOp> {
  using OpPattern::OpPattern;
  LogicalResult matchAndRewrite(nv::CtaRankOp op, Adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    // Outside a cluster launch the register is not defined to be useful: one CTA has rank 0.
    if (clusterSizeOf(op) == 1)
      rewriter.replaceOp(op, Scalar{rewriter, op.getLoc()}.i32(0));
    else
      rewriter.replaceOp(op, ctaRank(rewriter, op.getLoc()));
    return success();
  }
};

/// %ctaid and %nctaid; in x, times the programs of a CTA if there may be several, each a warp.
template <typename Op, typename X, typename Y, typename Z> struct GridPattern : OpPattern<Op> {
  using OpPattern<Op>::OpPattern;
  LogicalResult matchAndRewrite(Op op, typename Op::Adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Type i32 = rewriter.getI32Type();
    Location loc = op.getLoc();
    LLVM::ConstantRangeAttr range;
    auto function = op->template getParentOfType<FunctionOpInterface>();
    if (op.getAxis() == 0 && function && function->hasAttr(nv::packedAttrName)) {
      Scalar math{rewriter, loc};
      Value programs = math.shiftRight(NVVM::BlockDimXOp::create(rewriter, loc, i32, range), 5);
      Value index = arith::MulIOp::create(rewriter, loc, X::create(rewriter, loc, i32, range), programs);
      if (std::is_same_v<Op, nv::ProgramIdOp>)
        index = math.add(index, math.shiftRight(NVVM::ThreadIdXOp::create(rewriter, loc, i32, range), 5));
      rewriter.replaceOp(op, index);
      return success();
    }
    rewriter.replaceOp(op, op.getAxis() == 0   ? X::create(rewriter, loc, i32, range).getResult()
                           : op.getAxis() == 1 ? Y::create(rewriter, loc, i32, range).getResult()
                                               : Z::create(rewriter, loc, i32, range).getResult());
    return success();
  }
};
using ProgramIdPattern =
    GridPattern<nv::ProgramIdOp, NVVM::BlockIdXOp, NVVM::BlockIdYOp, NVVM::BlockIdZOp>;
using NumProgramsPattern =
    GridPattern<nv::NumProgramsOp, NVVM::GridDimXOp, NVVM::GridDimYOp, NVVM::GridDimZOp>;

struct WarpSyncPattern : OpPattern<nv::WarpSyncOp> {
  using OpPattern::OpPattern;
  LogicalResult matchAndRewrite(nv::WarpSyncOp op, Adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<NVVM::SyncWarpOp>(op, Scalar{rewriter, op.getLoc()}.i32(-1));
    return success();
  }
};

struct ArriveAtPattern : OpPattern<nv::MBarrierArriveAtOp> {
  using OpPattern::OpPattern;
  LogicalResult matchAndRewrite(nv::MBarrierArriveAtOp op, Adaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    int64_t size = clusterSizeOf(op);
    auto arrive = [&](OpBuilder &builder, Value rank) {
      NVVM::MBarrierArriveOp::create(builder, loc, Type(),
                                     mapToCta(builder, loc, adaptor.getBarrier(), rank), Value(),
                                     NVVM::MemScopeKind::CTA, false);
    };
    ThreadPosition position(rewriter, op);
    Scalar math{rewriter, loc};
    if (op.getTargets() == nv::Targets::Cluster && !position.single) {
      // A lane for each CTA.
      Value index = op.getIssuer() == nv::Issuer::Role ? position.thread : position.lane;
      Value member =
          arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::ult, index, math.i32(size));
      auto branch = scf::IfOp::create(rewriter, loc, member, /*withElseRegion=*/false);
      OpBuilder inner = branch.getThenBodyBuilder();
      arrive(inner, index);
      rewriter.eraseOp(op);
      return success();
    }
    createIssued(rewriter, op, op.getIssuer(), [&](OpBuilder &builder) {
      Scalar inner{builder, loc};
      switch (op.getTargets()) {
      case nv::Targets::Self:
        return arrive(builder, ctaRank(builder, loc));
      case nv::Targets::Leader:
        return arrive(builder, leaderRank(builder, loc));
      case nv::Targets::Pair: {
        Value even = leaderRank(builder, loc);
        arrive(builder, even);
        return arrive(builder, inner.add(even, 1));
      }
      case nv::Targets::Cluster:
        for (int64_t rank = 0; rank < size; ++rank)
          arrive(builder, inner.i32(rank));
        return;
      }
    });
    rewriter.eraseOp(op);
    return success();
  }
};

struct CommitPattern : OpPattern<nv::Tcgen05CommitOp> {
  using OpPattern::OpPattern;
  LogicalResult matchAndRewrite(nv::Tcgen05CommitOp op, Adaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    int64_t size = clusterSizeOf(op);
    nv::Targets targets = op.getTargets();
    if (targets == nv::Targets::Leader)
      return op.emitOpError("targets: expected self, pair or cluster (only a leader commits for a "
                            "pair), found leader");
    createIssued(rewriter, op, nv::Issuer::Role, [&](OpBuilder &builder) {
      Value mask;
      Type i16 = builder.getIntegerType(16);
      bool all = targets == nv::Targets::Cluster || size == 2;
      if (targets != nv::Targets::Self && all) {
        mask = arith::ConstantIntOp::create(builder, loc, (int64_t(1) << size) - 1, 16);
      } else if (targets == nv::Targets::Pair) {
        Value bits = arith::ShLIOp::create(builder, loc, Scalar{builder, loc}.i32(3),
                                           leaderRank(builder, loc));
        mask = arith::TruncIOp::create(builder, loc, i16, bits);
      }
      NVVM::Tcgen05CommitOp::create(builder, loc, adaptor.getBarrier(), mask,
                                    op.getCtaGroup() == 2 ? NVVM::CTAGroupKind::CTA_2
                                                          : NVVM::CTAGroupKind::CTA_1);
    });
    rewriter.eraseOp(op);
    return success();
  }
};

} // namespace

void tileloom::emit::populateClusterPatterns(TileTypeConverter &converter,
                                             RewritePatternSet &patterns) {
  patterns.add<CtaRankPattern, ProgramIdPattern, NumProgramsPattern, WarpSyncPattern,
               ArriveAtPattern, CommitPattern>(converter, patterns.getContext());
}
