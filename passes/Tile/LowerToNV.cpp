//===- LowerToNV.cpp - What is left of tile operations, by their nv names -----------------===//
//
// In: roles that still access memory through pointers, transpose and reshape registers, or ask for
// their place in the grid. Out: nv operations only. Offsets become 64-bit, which is what addresses
// are made of.
//
//===--------------------------------------------------------------------------------------===//

#include "passes/Tile/Passes.h"

#include "dialects/NV/NV.h"
#include "dialects/Tile/Tile.h"
#include "dialects/Warp/Warp.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace tileloom::tile {
#define GEN_PASS_DEF_TILELOWERTONV
#include "passes/Tile/Passes.h.inc"
} // namespace tileloom::tile

using namespace mlir;
using namespace tileloom;
using namespace tileloom::tile;

namespace {

Value wide(OpBuilder &builder, Value offset) {
  Type element = getElementTypeOrSelf(offset);
  if (element.isInteger(64))
    return offset;
  Type type = builder.getI64Type();
  if (auto tensor = dyn_cast<RankedTensorType>(offset.getType()))
    type = RankedTensorType::get(tensor.getShape(), type);
  return arith::ExtSIOp::create(builder, offset.getLoc(), type, offset);
}

struct LowerGather : OpRewritePattern<GatherOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(GatherOp op, PatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<nv::GlobalLoadOp>(
        op, op.getType(), op.getPointer(), wide(rewriter, op.getOffset()), op.getMask(),
        op.getOther(), nv::CacheHintAttr(), op.getInvariant());
    return success();
  }
};

struct LowerScatter : OpRewritePattern<ScatterOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ScatterOp op, PatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<nv::GlobalStoreOp>(op, op.getValue(), op.getPointer(),
                                                   wide(rewriter, op.getOffset()), op.getMask(),
                                                   nv::CacheHintAttr());
    return success();
  }
};

/// Reductions, of which the values before are not asked for; and counters in a role of one thread.
struct LowerAtomic : OpRewritePattern<AtomicOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(AtomicOp op, PatternRewriter &rewriter) const override {
    if (!op->use_empty()) {
      auto role = op->getParentOfType<warp::RoleOp>();
      bool counter = op.getKind() == ReduceKind::Add && !op.getMask() && role &&
                     role.getWarps() == 1 && !isa<RankedTensorType>(op.getType());
      if (!counter)
        return failure();
      rewriter.replaceOpWithNewOp<nv::AtomicAddOp>(op, op.getType(), op.getPointer(),
                                                   wide(rewriter, op.getOffset()), op.getValue());
      return success();
    }
    nv::GlobalReduceOp::create(rewriter, op.getLoc(), static_cast<nv::ReduceKind>(op.getKind()),
                               op.getValue(), op.getPointer(), wide(rewriter, op.getOffset()),
                               op.getMask());
    rewriter.eraseOp(op);
    return success();
  }
};

struct LowerTrans : OpRewritePattern<TransOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(TransOp op, PatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<nv::TransOp>(op, op.getType(), op.getSource(),
                                             rewriter.getDenseI64ArrayAttr({1, 0}), Value());
    return success();
  }
};

struct LowerReshape : OpRewritePattern<ReshapeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ReshapeOp op, PatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<nv::ReshapeOp>(op, op.getType(), op.getSource(), Value());
    return success();
  }
};

/// A dimension of extent one that no broadcast took.
struct LowerExpandDims : OpRewritePattern<ExpandDimsOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ExpandDimsOp op, PatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<nv::BroadcastOp>(op, op.getType(), op.getSource(), op.getDim());
    return success();
  }
};

struct LowerScan : OpRewritePattern<ScanOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ScanOp op, PatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<nv::ScanOp>(op, op.getType(),
                                            static_cast<nv::ReduceKind>(op.getKind()),
                                            op.getSource(), op.getDim(), false, Value());
    return success();
  }
};

struct LowerProgramId : OpRewritePattern<ProgramIdOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ProgramIdOp op, PatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<nv::ProgramIdOp>(op, op.getType(), op.getDim());
    return success();
  }
};

struct LowerNumPrograms : OpRewritePattern<NumProgramsOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(NumProgramsOp op, PatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<nv::NumProgramsOp>(op, op.getType(), op.getDim());
    return success();
  }
};

struct LowerToNV : tileloom::tile::impl::TileLowerToNVBase<LowerToNV> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<LowerGather, LowerScatter, LowerAtomic, LowerTrans, LowerReshape, LowerExpandDims,
                 LowerScan, LowerProgramId, LowerNumPrograms>(&getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      return signalPassFailure();
    getOperation()->walk([&](Operation *op) {
      if (isa_and_present<TileDialect>(op->getDialect()) && !isa<ReboxOp>(op)) {
        op->emitOpError(isa<AtomicOp>(op)
                            ? "result: expected a use of the value before only of an addition to one element "
                              "without mask, in a kernel that loads tiles through descriptors; "
                              "found another"
                            : "expected to be lowered by now; it has no form in registers");
        signalPassFailure();
      }
    });
  }
};

} // namespace
