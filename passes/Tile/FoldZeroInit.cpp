//===- FoldZeroInit.cpp - Sums of products that start undefined ---------------------------===//
//
// In: scf.for loops that carry `tile.dot … acc(%carried)` from a constant zero. Out: the sum starts
// undefined and the first iteration's product has `use_acc` = false.
//
// Zero trips must still give zero. Such a loop then runs once at an index far outside of every
// tensor, so that what it loads is zero; that needs every operand of the product to be loaded in
// the loop at a coordinate which is the induction variable. Without that, a loop that may run not
// at all keeps its zeros: on a path around it LLVM and ptxas would write all registers of the sum
// twice (measured: 200 instructions a tile, docs/notes/lower-half.md).
//
//===--------------------------------------------------------------------------------------===//

#include "passes/Tile/Passes.h"

#include "dialects/NV/NV.h"
#include "dialects/Tile/Tile.h"
#include "dialects/Warp/WarpNames.h"
#include "tileloom/Schedule/LinearForm.h"
#include "tileloom/Schedule/LoopSums.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/IR/Matchers.h"

namespace tileloom::tile {
#define GEN_PASS_DEF_TILEFOLDZEROINIT
#include "passes/Tile/Passes.h.inc"
} // namespace tileloom::tile

using namespace mlir;
using namespace tileloom;
using namespace tileloom::tile;

namespace {

/// TMA coordinates are signed 32-bit numbers; no tensor that fits a GPU reaches this far in one
/// dimension, and adding the offset of a box to it does not overflow.
constexpr int64_t outside = int64_t(1) << 30;

/// Whether `operand` reads as zero when the induction variable lies outside of all tensors.
bool vanishesOutside(Value operand, scf::ForOp loop) {
  if (auto trans = operand.getDefiningOp<TransOp>())
    operand = trans.getSource();
  if (auto stack = operand.getDefiningOp<nv::ConcatOp>())
    return llvm::all_of(stack.getInputs(), [&](Value tile) { return vanishesOutside(tile, loop); });
  auto load = operand.getDefiningOp<LoadOp>();
  return load && load->getBlock() == loop.getBody() &&
         load.getCoordinates().size() ==
             cast<DescType>(load.getDesc().getType()).getShape().size() &&
         llvm::is_contained(load.getCoordinates(), loop.getInductionVar());
}

/// Whether the loop does nothing but load and sum products that vanish outside.
bool onlyVanishingSums(scf::ForOp loop, ArrayRef<DotOp> sums) {
  if (sums.size() != loop.getNumRegionIterArgs())
    return false;
  for (Operation &op : loop.getBody()->without_terminator()) {
    if (auto dot = dyn_cast<DotOp>(op)) {
      if (!llvm::is_contained(sums, dot) || !vanishesOutside(dot.getA(), loop) ||
          !vanishesOutside(dot.getB(), loop))
        return false;
    } else if (!isa<LoadOp>(op) && !isMemoryEffectFree(&op)) {
      return false;
    }
  }
  return true;
}

void fold(scf::ForOp loop) {
  SmallVector<DotOp> sums;
  SmallVector<unsigned> places;
  for (unsigned i = 0; i < loop.getNumRegionIterArgs(); ++i)
    if (DotOp dot = schedule::productSummedBy(loop, i)) {
      sums.push_back(dot);
      places.push_back(i);
    }
  if (sums.empty())
    return;
  OpBuilder builder(loop);
  Location loc = loop.getLoc();
  APInt lower, upper;
  bool runs = matchPattern(loop.getLowerBound(), m_ConstantInt(&lower)) &&
              matchPattern(loop.getUpperBound(), m_ConstantInt(&upper)) && lower.slt(upper);
  if (!runs) {
    if (!loop.getInductionVar().getType().isInteger(32) || !onlyVanishingSums(loop, sums))
      return;
    Value some = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt,
                                       loop.getLowerBound(), loop.getUpperBound());
    Value far = arith::ConstantIntOp::create(builder, loc, outside, 32);
    Value end = arith::ConstantIntOp::create(builder, loc, outside + 1, 32);
    loop.setLowerBound(arith::SelectOp::create(builder, loc, some, loop.getLowerBound(), far));
    loop.setUpperBound(arith::SelectOp::create(builder, loc, some, loop.getUpperBound(), end));
    // For later passes, which do not see it in the bounds.
    loop->setAttr(warp::minTripsAttrName, builder.getI64IntegerAttr(1));
  }
  for (auto [dot, place] : llvm::zip(sums, places)) {
    Value undefined = ub::PoisonOp::create(builder, loc, dot.getType());
    loop.getInitArgsMutable()[place].assign(undefined);
    OpBuilder inside(dot);
    Value later = arith::CmpIOp::create(inside, dot.getLoc(), arith::CmpIPredicate::ne,
                                        loop.getInductionVar(), loop.getLowerBound());
    dot.getUseAccMutable().assign(later);
  }
}

struct FoldZeroInit : tileloom::tile::impl::TileFoldZeroInitBase<FoldZeroInit> {
  void runOnOperation() override {
    getOperation()->walk([](scf::ForOp loop) { fold(loop); });
  }
};

} // namespace
