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
#include "passes/Warp/Projection.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
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

/// The order is the whole role's: its threads meet before a release and after an acquire, and fence
/// on the side of the memory. Values before that nobody asks for need only a reduction.
/// A counter of the load role is its one thread\'s.
struct LowerAtomic : OpRewritePattern<AtomicOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(AtomicOp op, PatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    auto scope = static_cast<nv::MemScope>(op.getScope());
    bool releases = op.getOrder() == MemOrder::Release || op.getOrder() == MemOrder::AcqRel;
    bool acquires = op.getOrder() == MemOrder::Acquire || op.getOrder() == MemOrder::AcqRel;
    if (releases) {
      // What the store engine still has under way comes before, too.
      auto own = op->getParentOfType<warp::RoleOp>();
      if (own && own.walk([](warp::StoreOp) { return WalkResult::interrupt(); }).wasInterrupted())
        nv::BulkWaitOp::create(rewriter, loc, 0, /*read=*/false);
      nv::NamedBarrierOp::create(rewriter, loc);
      nv::MemoryFenceOp::create(rewriter, loc, scope);
    }
    Value offset = wide(rewriter, op.getOffset());
    bool unused = op->use_empty();
    auto role = op->getParentOfType<warp::RoleOp>();
    if (!unused && role && role.getSymName() == loadRole) {
      rewriter.replaceOpWithNewOp<nv::AtomicAddOp>(op, op.getType(), op.getPointer(), offset,
                                                   op.getValue());
      return success();
    }
    if (unused && isReduction(op)) {
      nv::GlobalReduceOp::create(rewriter, loc, static_cast<nv::ReduceKind>(op.getKind()),
                                 op.getValue(), op.getPointer(), offset, op.getMask());
    } else {
      auto atomic = nv::GlobalAtomicOp::create(
          rewriter, loc, op.getType(), static_cast<nv::AtomicKind>(op.getKind()), op.getValue(),
          op.getPointer(), offset, op.getMask(), op.getCompare(), scope, Value());
      op.getResult().replaceAllUsesWith(atomic.getResult());
    }
    if (acquires && !unused) {
      nv::MemoryFenceOp::create(rewriter, loc, scope);
      nv::NamedBarrierOp::create(rewriter, loc);
    }
    rewriter.eraseOp(op);
    return success();
  }

  static bool isReduction(AtomicOp op) {
    Type element = getElementTypeOrSelf(op.getValue().getType());
    bool kind = op.getKind() == AtomicKind::Add || op.getKind() == AtomicKind::Max ||
                op.getKind() == AtomicKind::Min;
    return kind && op.getScope() == MemScope::Gpu && !element.isF64();
  }
};

/// Everything that this replica did comes before its arrival, and all others' before what follows the
/// last one.
struct LowerLastArrival : OpRewritePattern<LastArrivalOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(LastArrivalOp op, PatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Value offset = wide(rewriter, op.getIndex());
    Value one = arith::ConstantIntOp::create(rewriter, loc, 1, 32), zero = arith::ConstantIntOp::create(rewriter, loc, 0, 32);
    if (storesCopies(op))
      nv::BulkWaitOp::create(rewriter, loc, 0, /*read=*/false);
    nv::NamedBarrierOp::create(rewriter, loc);
    nv::MemoryFenceOp::create(rewriter, loc, nv::MemScope::Gpu);
    Value before = nv::GlobalAtomicOp::create(rewriter, loc, one.getType(), nv::AtomicKind::Add, one, op.getPointer(),
                                              offset, Value(), Value(), nv::MemScope::Gpu, Value());
    nv::MemoryFenceOp::create(rewriter, loc, nv::MemScope::Gpu);
    nv::NamedBarrierOp::create(rewriter, loc);
    Value others = arith::SubIOp::create(rewriter, loc, op.getCount(), one);
    Value last = arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::eq, before, others);
    auto branch = scf::IfOp::create(rewriter, loc, last, /*withElseRegion=*/false);
    OpBuilder inside = branch.getThenBodyBuilder();
    nv::GlobalStoreOp::create(inside, loc, zero, op.getPointer(), offset, Value(), nv::CacheHintAttr());
    rewriter.replaceOp(op, last);
    return success();
  }

  /// Whether the store engine may have something of this tile under way.
  static bool storesCopies(LastArrivalOp op) {
    auto stores = [](Operation *other) { return other->walk([](warp::StoreOp) { return WalkResult::interrupt(); }).wasInterrupted(); };
    for (Operation *at = op; !isa<warp::ForEachTileOp, warp::RoleOp, FunctionOpInterface>(at); at = at->getParentOp()) {
      if (isa<scf::ForOp, scf::WhileOp>(at) && stores(at))
        return true;
      for (Operation &other : llvm::make_range(at->getBlock()->begin(), at->getIterator()))
        if (stores(&other))
          return true;
    }
    return false;
  }
};

struct LowerTrans : OpRewritePattern<TransOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(TransOp op, PatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<nv::TransOp>(op, op.getType(), op.getSource(),
                                             rewriter.getDenseI64ArrayAttr(op.permutation()), Value());
    return success();
  }
};

struct LowerTake : OpRewritePattern<TakeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(TakeOp op, PatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<nv::TakeOp>(op, op.getType(), op.getSource(), op.getIndices(), op.getDim(), Value());
    return success();
  }
};

struct LowerHistogram : OpRewritePattern<HistogramOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(HistogramOp op, PatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<nv::HistogramOp>(op, op.getType(), op.getSource(), Value());
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

/// Extents of one that no expand_dims made: each is taken out and put in again. A tensor of one dimension, which has no form without
/// it, gets one behind that is taken out.
struct LowerBroadcast : OpRewritePattern<BroadcastOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(BroadcastOp op, PatternRewriter &rewriter) const override {
    auto source = cast<RankedTensorType>(op.getSource().getType());
    auto result = cast<RankedTensorType>(op.getType());
    SmallVector<int64_t> shape(source.getShape());
    Value value = op.getSource();
    auto typeOf = [&] { return RankedTensorType::get(shape, source.getElementType()); };
    if (shape.size() == 1) {
      shape.insert(shape.begin(), result.getDimSize(0));
      value = nv::BroadcastOp::create(rewriter, op.getLoc(), typeOf(), value, 0);
      rewriter.replaceOpWithNewOp<nv::ReshapeOp>(op, result, value, Value());
      return success();
    }
    for (auto [dim, extent] : llvm::enumerate(result.getShape())) {
      if (shape[dim] == extent)
        continue;
      shape.erase(shape.begin() + dim);
      value = nv::ReshapeOp::create(rewriter, op.getLoc(), typeOf(), value, Value());
      shape.insert(shape.begin() + dim, extent);
      value = nv::BroadcastOp::create(rewriter, op.getLoc(), typeOf(), value, dim);
    }
    rewriter.replaceOp(op, value);
    return success();
  }
};

struct LowerScan : OpRewritePattern<ScanOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ScanOp op, PatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<nv::ScanOp>(op, op.getType(),
                                            static_cast<nv::ReduceKind>(op.getKind()),
                                            op.getSource(), op.getDim(), op.getReverse(), Value());
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
    patterns.add<LowerGather, LowerScatter, LowerAtomic, LowerLastArrival, LowerTrans, LowerTake, LowerHistogram, LowerReshape, LowerExpandDims,
                 LowerBroadcast, LowerScan, LowerProgramId, LowerNumPrograms>(&getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      return signalPassFailure();
    getOperation()->walk([&](Operation *op) {
      if (isa_and_present<TileDialect>(op->getDialect()) && !isa<ReboxOp>(op)) {
        op->emitOpError("expected to be lowered by now; it has no form in registers");
        signalPassFailure();
      }
    });
  }
};

} // namespace
