//===- NormalizeShapes.cpp - Unit dimensions out of element-wise code ---------------------===//
//
// In: tile operations with Triton's shapes: a row maximum becomes [M, 1] before it is subtracted
// from [M, N]. Out: no dimension of extent one that `expand_dims` made: element-wise code runs on
// [M], and `nv.broadcast` inserts the missing dimension. Register operations have their nv names.
//
//===--------------------------------------------------------------------------------------===//

#include "passes/Tile/Passes.h"

#include "dialects/NV/NV.h"
#include "dialects/Tile/Tile.h"
#include "tileloom/Analysis/Elementwise.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace tileloom::tile {
#define GEN_PASS_DEF_TILENORMALIZESHAPES
#include "passes/Tile/Passes.h.inc"
} // namespace tileloom::tile

using namespace mlir;
using namespace tileloom;
using namespace tileloom::tile;

namespace {

RankedTensorType without(RankedTensorType type, int64_t dim) {
  SmallVector<int64_t> shape(type.getShape());
  shape.erase(shape.begin() + dim);
  return RankedTensorType::get(shape, type.getElementType());
}

/// `value` without its unit dimension `dim`, if that needs no code: what was expanded, or a splat.
Value squeezed(OpBuilder &builder, Value value, int64_t dim) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type)
    return value; // the scalar condition of a select
  if (auto expand = value.getDefiningOp<ExpandDimsOp>())
    return static_cast<int64_t>(expand.getDim()) == dim ? expand.getSource() : Value();
  return splatFor(builder, value, without(type, dim));
}

/// Whether squeezed() gives a value: asked before anything is made, as the rewrite would not end otherwise.
bool canSqueeze(Value value, int64_t dim) {
  if (!isa<RankedTensorType>(value.getType()))
    return true;
  if (auto expand = value.getDefiningOp<ExpandDimsOp>())
    return static_cast<int64_t>(expand.getDim()) == dim;
  SplatElementsAttr constant;
  return value.getDefiningOp<SplatOp>() || value.getDefiningOp<nv::SplatOp>() || matchPattern(value, m_Constant(&constant));
}

/// elementwise(expand_dims x, ...) -> expand_dims(elementwise(x, ...)).
struct SinkExpandDims : RewritePattern {
  explicit SinkExpandDims(MLIRContext *context) : RewritePattern(MatchAnyOpTypeTag(), 1, context) {}

  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    if (!isElementwise(op))
      return failure();
    auto type = cast<RankedTensorType>(op->getResult(0).getType());
    ExpandDimsOp expand;
    for (Value operand : op->getOperands())
      if (!expand)
        expand = operand.getDefiningOp<ExpandDimsOp>();
    if (!expand)
      return failure();
    int64_t dim = expand.getDim();
    if (!llvm::all_of(op->getOperands(), [&](Value operand) { return canSqueeze(operand, dim); }))
      return failure();
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(squeezed(rewriter, operand, dim));
    Value inner = cloneFor(rewriter, op, operands, without(type, dim));
    rewriter.replaceOpWithNewOp<ExpandDimsOp>(op, type, inner, dim);
    return success();
  }
};

/// elementwise(splat x, ...) of one element -> splat(elementwise(x, ...)): the scalar of a row of one dimension.
struct SinkSplat : RewritePattern {
  explicit SinkSplat(MLIRContext *context) : RewritePattern(MatchAnyOpTypeTag(), 1, context) {}

  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    if (!isElementwise(op) || !isa<arith::ArithDialect, math::MathDialect>(op->getDialect()))
      return failure();
    auto type = cast<RankedTensorType>(op->getResult(0).getType());
    if (type.getNumElements() != 1)
      return failure();
    auto isSplat = [](Value operand) {
      SplatElementsAttr constant;
      return operand.getDefiningOp<SplatOp>() || matchPattern(operand, m_Constant(&constant));
    };
    if (!llvm::all_of(op->getOperands(), isSplat))
      return failure();
    SmallVector<Value> scalars;
    for (Value operand : op->getOperands()) {
      SplatElementsAttr constant;
      if (matchPattern(operand, m_Constant(&constant)))
        scalars.push_back(arith::ConstantOp::create(rewriter, op->getLoc(), cast<TypedAttr>(constant.getSplatValue<Attribute>())));
      else
        scalars.push_back(operand.getDefiningOp<SplatOp>().getValue());
    }
    OperationState state(op->getLoc(), op->getName(), scalars, {type.getElementType()}, op->getAttrs());
    rewriter.replaceOpWithNewOp<SplatOp>(op, type, rewriter.create(state)->getResult(0));
    return success();
  }
};

/// expand_dims(splat x) -> splat x.
struct ExpandSplat : OpRewritePattern<ExpandDimsOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ExpandDimsOp op, PatternRewriter &rewriter) const override {
    auto splat = op.getSource().getDefiningOp<SplatOp>();
    if (!splat)
      return failure();
    rewriter.replaceOpWithNewOp<SplatOp>(op, op.getType(), splat.getValue());
    return success();
  }
};

/// broadcast(expand_dims x) -> nv.broadcast x.
struct BroadcastExpanded : OpRewritePattern<BroadcastOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(BroadcastOp op, PatternRewriter &rewriter) const override {
    auto type = cast<RankedTensorType>(op.getType());
    Value source = op.getSource();
    if (auto splat = source.getDefiningOp<SplatOp>()) {
      rewriter.replaceOpWithNewOp<SplatOp>(op, type, splat.getValue());
      return success();
    }
    // Grow the innermost expanded dimension first: what is left is expanded from what is grown.
    auto expand = source.getDefiningOp<ExpandDimsOp>();
    if (!expand || expand.getSource().getDefiningOp<SplatOp>()) // a splat takes the dimension itself
      return failure();
    int64_t dim = expand.getDim();
    auto inner = cast<RankedTensorType>(expand.getSource().getType());
    RankedTensorType wanted = without(type, dim);
    Value grown = expand.getSource();
    if (inner != wanted)
      grown = BroadcastOp::create(rewriter, op.getLoc(), wanted, grown);
    rewriter.replaceOpWithNewOp<nv::BroadcastOp>(op, type, grown, dim);
    return success();
  }
};

/// reduce(expand_dims x) along the unit dimension -> x, along another one -> expand_dims(reduce x), which a scalar is splat for.
struct ReduceExpanded : OpRewritePattern<ReduceOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ReduceOp op, PatternRewriter &rewriter) const override {
    auto expand = op.getSource().getDefiningOp<ExpandDimsOp>();
    if (!expand)
      return failure();
    int64_t unit = expand.getDim(), dim = op.getDim();
    if (unit == dim) {
      rewriter.replaceOp(op, expand.getSource());
      return success();
    }
    auto source = cast<RankedTensorType>(expand.getSource().getType());
    int64_t own = dim - (dim > unit ? 1 : 0);
    Type reduced = source.getRank() == 1 ? source.getElementType() : Type(without(source, own));
    Value inner = ReduceOp::create(rewriter, op.getLoc(), reduced, op.getKind(), expand.getSource(), own);
    if (source.getRank() == 1)
      rewriter.replaceOpWithNewOp<SplatOp>(op, op.getType(), inner);
    else
      rewriter.replaceOpWithNewOp<ExpandDimsOp>(op, op.getType(), inner, unit - (unit > dim ? 1 : 0));
    return success();
  }
};

struct LowerReduce : OpRewritePattern<ReduceOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ReduceOp op, PatternRewriter &rewriter) const override {
    if (op.getSource().getDefiningOp<ExpandDimsOp>())
      return failure();
    auto kind = static_cast<nv::ReduceKind>(op.getKind());
    // Of a long row a thread has so much that it waits for two chains of comparisons (2 % of attention with 192 keys). Sums keep
    // their order.
    bool isLong = cast<RankedTensorType>(op.getSource().getType()).getDimSize(op.getDim()) >= 192;
    int64_t chains = isLong && kind == nv::ReduceKind::Max ? 4 : 2;
    rewriter.replaceOpWithNewOp<nv::ReduceOp>(op, op.getType(), kind, op.getSource(), op.getDim(), chains, /*scratch=*/Value());
    return success();
  }
};

struct LowerSplat : OpRewritePattern<SplatOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(SplatOp op, PatternRewriter &rewriter) const override {
    // Those that still have a unit dimension fold into what uses them first.
    if (llvm::any_of(op->getUsers(), [](Operation *user) { return isa<BroadcastOp>(user); }))
      return failure();
    rewriter.replaceOpWithNewOp<nv::SplatOp>(op, op.getType(), op.getValue());
    return success();
  }
};

struct LowerIota : OpRewritePattern<IotaOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(IotaOp op, PatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<nv::IndexOp>(op, op.getType(), 0);
    return success();
  }
};

/// broadcast(index) -> index along the other dimension: needs no value that threads share.
struct IndexOfTile : OpRewritePattern<nv::BroadcastOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(nv::BroadcastOp op, PatternRewriter &rewriter) const override {
    auto index = op.getSource().getDefiningOp<nv::IndexOp>();
    if (!index)
      return failure();
    int64_t dim = index.getDim() + (index.getDim() >= op.getDim() ? 1 : 0);
    rewriter.replaceOpWithNewOp<nv::IndexOp>(op, op.getType(), dim);
    return success();
  }
};

/// Whether `value` is computed from positions and scalars alone.
bool isPositional(Value value) {
  Operation *def = value.getDefiningOp();
  if (!isa<RankedTensorType>(value.getType()))
    return true;
  if (!def)
    return false;
  if (isa<nv::IndexOp, nv::SplatOp, SplatOp>(def) ||
      matchPattern(value, m_Constant<SplatElementsAttr>(nullptr)))
    return true;
  return isElementwise(def) && llvm::all_of(def->getOperands(), isPositional);
}

/// broadcast along the rows of a position computed for each column -> the same computed for each
/// element: the rows of a thread share it again, and masks are comparisons of positions that later
/// passes can solve.
struct PositionsOfColumns : OpRewritePattern<nv::BroadcastOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(nv::BroadcastOp op, PatternRewriter &rewriter) const override {
    Operation *def = op.getSource().getDefiningOp();
    auto type = cast<RankedTensorType>(op.getType());
    if (op.getDim() != 0 || type.getRank() != 2 || !def || !isPositional(op.getSource()))
      return failure();
    auto wide = [&](Type element) { return RankedTensorType::get(type.getShape(), element); };
    if (Value splat = splatFor(rewriter, op.getSource(), type)) {
      rewriter.replaceOp(op, splat);
      return success();
    }
    if (!isElementwise(def))
      return failure();
    SmallVector<Value> operands;
    for (Value operand : def->getOperands()) {
      auto tensor = dyn_cast<RankedTensorType>(operand.getType());
      operands.push_back(tensor ? nv::BroadcastOp::create(rewriter, op.getLoc(),
                                                          wide(tensor.getElementType()), operand, 0)
                                : operand);
    }
    rewriter.replaceOp(op, cloneFor(rewriter, def, operands, type));
    return success();
  }
};

struct NormalizeShapes : tileloom::tile::impl::TileNormalizeShapesBase<NormalizeShapes> {
  void runOnOperation() override {
    MLIRContext *context = &getContext();
    RewritePatternSet shapes(context);
    shapes.add<SinkExpandDims, SinkSplat, ExpandSplat, BroadcastExpanded, ReduceExpanded>(context);
    BroadcastOp::getCanonicalizationPatterns(shapes, context);
    RewritePatternSet names(context);
    names.add<BroadcastExpanded, LowerReduce, LowerSplat, LowerIota, IndexOfTile, PositionsOfColumns>(context);
    if (failed(applyPatternsGreedily(getOperation(), std::move(shapes))) ||
        failed(applyPatternsGreedily(getOperation(), std::move(names))))
      return signalPassFailure();
  }
};

} // namespace
