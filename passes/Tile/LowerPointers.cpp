//===- LowerPointers.cpp - Accesses through pointers --------------------------------------===//
//
// In: tile.gather and tile.scatter. Out: nv.global_load and nv.global_store with 64-bit offsets,
// which is what addresses are made of.
//
//===--------------------------------------------------------------------------------------===//

#include "passes/Tile/Passes.h"

#include "dialects/NV/NV.h"
#include "dialects/Tile/Tile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace tileloom::tile {
#define GEN_PASS_DEF_TILELOWERPOINTERS
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
    Value loaded = nv::GlobalLoadOp::create(rewriter, op.getLoc(), op.getType(), op.getPointer(),
                                            wide(rewriter, op.getOffset()), op.getMask(),
                                            op.getInvariant());
    if (op.getMask() && op.getOther())
      loaded = arith::SelectOp::create(rewriter, op.getLoc(), op.getMask(), loaded, op.getOther());
    rewriter.replaceOp(op, loaded);
    return success();
  }
};

struct LowerScatter : OpRewritePattern<ScatterOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ScatterOp op, PatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<nv::GlobalStoreOp>(op, op.getValue(), op.getPointer(),
                                                   wide(rewriter, op.getOffset()), op.getMask());
    return success();
  }
};

struct LowerPointers : tileloom::tile::impl::TileLowerPointersBase<LowerPointers> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<LowerGather, LowerScatter>(&getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
