//===- ScanPatterns.cpp - Running sums of register tiles ------------------------------------===//
//
// nv.scan over a layout whose threads each hold one run along the dimension, lanes and then warps
// further out (nv-assign-layouts sees to that). Each thread scans its run; the totals are scanned
// over the lanes by shuffles, and over the warps through scratch memory; each thread then adds what
// lies before it. In reverse everything runs from the other end.
//
//===--------------------------------------------------------------------------------------===//

#include "passes/Emit/TileConversion.h"

#include "tileloom/Analysis/Exchange.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <map>

using namespace mlir;
using namespace tileloom;
using namespace tileloom::emit;

namespace {

struct ScanPattern : OpPattern<nv::ScanOp> {
  using OpPattern::OpPattern;

  LogicalResult matchAndRewrite(nv::ScanOp op, OneToN adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Scalar math{rewriter, loc};
    auto type = op.getSource().getType();
    const layout::RegisterLayout *layout = converter.layoutOf(type, loc);
    if (!layout)
      return failure();
    auto plan = scanPlanOf(*layout, op.getDim());
    if (!plan)
      return op.emitOpError() << llvm::toString(plan.takeError());
    ThreadPosition position(rewriter, op);
    SmallVector<Value> elements = unpack(rewriter, loc, type, adaptor.getSource());
    auto join = [&](Value before, Value own) {
      return op.getReverse() ? combine(rewriter, loc, op.getKind(), own, before)
                             : combine(rewriter, loc, op.getKind(), before, own);
    };
    auto place = [&](Value index, int64_t first, int64_t count) {
      Value at = math.bitAnd(math.shiftRight(index, llvm::Log2_64(first)), count - 1);
      return op.getReverse()
                 ? arith::SubIOp::create(rewriter, loc, math.i32(count - 1), at).getResult()
                 : at;
    };
    auto atLeast = [&](Value index, int64_t bound) {
      return arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::uge, index,
                                   math.i32(bound));
    };
    Value lanePlace = place(position.lane, plan->laneStride, plan->lanes);
    SmallVector<Value> totals, befores; // of each run; `before`: what lies before it, if anything
    for (SmallVector<unsigned, 16> &run : plan->runs) {
      if (op.getReverse())
        std::reverse(run.begin(), run.end());
      for (size_t i = 1; i < run.size(); ++i)
        elements[run[i]] = join(elements[run[i - 1]], elements[run[i]]);
      Value total = elements[run.back()];
      for (int64_t step = 1; step < plan->lanes; step *= 2) {
        Value other = shuffleShift(rewriter, loc, total, step * plan->laneStride, op.getReverse());
        total = arith::SelectOp::create(rewriter, loc, atLeast(lanePlace, step), join(other, total),
                                        total);
      }
      totals.push_back(total);
      Value before;
      if (plan->lanes > 1)
        before = shuffleShift(rewriter, loc, total, plan->laneStride, op.getReverse());
      befores.push_back(before);
    }
    Value hasBefore = plan->lanes > 1 ? atLeast(lanePlace, 1).getResult() : Value();
    if (plan->warps > 1) {
      if (!op.getScratch())
        return op.emitOpError("expected scratch memory: run nv-assign-scratch first");
      Value warpPlace = place(position.warp, plan->warpStride, plan->warps);
      acrossWarps(op, *plan, adaptor.getScratch().front(), position, lanePlace, warpPlace, totals,
                  befores, hasBefore, join, atLeast, rewriter);
    }
    if (hasBefore)
      for (auto [run, before] : llvm::zip(plan->runs, befores))
        addBefore(rewriter, loc, elements, run, before, hasBefore, join);
    rewriter.replaceOpWithMultiple(op, ArrayRef<ValueRange>{pack(rewriter, loc, type, elements)});
    return success();
  }

  template <typename Join>
  static void addBefore(OpBuilder &builder, Location loc, MutableArrayRef<Value> elements,
                        ArrayRef<unsigned> run, Value before, Value has, Join join) {
    for (unsigned reg : run)
      elements[reg] =
          arith::SelectOp::create(builder, loc, has, join(before, elements[reg]), elements[reg]);
  }

  /// Turns `befores` and `hasBefore` into what lies before the thread in the whole role.
  template <typename Join, typename AtLeast>
  static void acrossWarps(nv::ScanOp op, const ScanPlan &plan, Value base,
                          const ThreadPosition &position, Value lanePlace, Value warpPlace,
                          ArrayRef<Value> totals, MutableArrayRef<Value> befores, Value &hasBefore,
                          Join join, AtLeast atLeast, OpBuilder &builder) {
    Location loc = op.getLoc();
    Scalar math{builder, loc};
    Type type = totals.front().getType();
    int64_t bytes = scratchBits(type) / 8;
    // Totals of one line of the tile, one for each warp, side by side.
    SmallVector<Value> lines;
    for (Value line : flatIndices(builder, loc, plan.lines, position))
      lines.push_back(math.mul(line, plan.warps * bytes));
    Value last = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, lanePlace,
                                       math.i32(plan.lanes - 1));
    auto branch = scf::IfOp::create(builder, loc, last, /*withElseRegion=*/false);
    {
      OpBuilder inner = branch.getThenBodyBuilder();
      Scalar innerMath{inner, loc};
      Value mine = innerMath.advance(base, innerMath.mul(warpPlace, bytes));
      for (auto [total, line] : llvm::zip(totals, lines))
        LLVM::StoreOp::create(inner, loc, total, innerMath.advance(mine, line), bytes);
    }
    createRoleBarrier(builder, op);
    for (auto [i, line] : llvm::enumerate(lines)) {
      Value first = math.advance(base, line), sum;
      for (int64_t warp = 0; warp + 1 < plan.warps; ++warp) {
        Value part =
            LLVM::LoadOp::create(builder, loc, type, math.advance(first, warp * bytes), bytes);
        Value next = sum ? join(sum, part) : part;
        sum = sum ? arith::SelectOp::create(builder, loc, atLeast(warpPlace, warp + 1), next, sum)
                        .getResult()
                  : next;
      }
      Value before = befores[i];
      Value joined = before ? join(sum, before) : sum, has = atLeast(warpPlace, 1);
      if (before)
        joined = arith::SelectOp::create(
            builder, loc, has,
            arith::SelectOp::create(builder, loc, hasBefore, joined, sum).getResult(), before);
      befores[i] = joined;
    }
    Value has = atLeast(warpPlace, 1);
    hasBefore = hasBefore ? arith::OrIOp::create(builder, loc, hasBefore, has).getResult() : has;
  }
};

} // namespace

void tileloom::emit::populateScanPatterns(TileTypeConverter &converter,
                                          RewritePatternSet &patterns) {
  patterns.add<ScanPattern>(converter, patterns.getContext());
}
