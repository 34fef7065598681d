//===- GuardScales.cpp - Skip multiplications by one --------------------------------------===//
//
// In: loops that multiply a carried tile by a factor for each row, where the factor compares the
// old and new value of a running maximum or minimum. Out: the multiplication under a vote of the
// warp, taken where some factor is not one. A maximum seldom grows, so most iterations skip it.
//
// The vote is on the factors themselves, or on their exponents, which are there earlier; exp2 of
// zero is one. It is unordered (a NaN is multiplied), so the result is the same to the bit. Small
// tiles are multiplied anyway.
//
// A tile that stays in tensor memory is multiplied in place: then the read and the write are in the
// branch too.
//
//===--------------------------------------------------------------------------------------===//

#include "passes/Warp/Passes.h"
#include "passes/Warp/Projection.h"

#include "dialects/Warp/Warp.h"
#include "tileloom/Schedule/Engines.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Matchers.h"

namespace tileloom::warp {
#define GEN_PASS_DEF_WARPGUARDSCALES
#include "passes/Warp/Passes.h.inc"
} // namespace tileloom::warp

using namespace mlir;
using namespace tileloom;
using namespace tileloom::warp;

namespace {

/// Looks through a choice between a value and a constant, as for rows that are empty so far.
Value chosen(Value value) {
  if (auto select = value.getDefiningOp<arith::SelectOp>())
    for (auto [one, other] : {std::pair(select.getTrueValue(), select.getFalseValue()),
                              std::pair(select.getFalseValue(), select.getTrueValue())})
      if (matchPattern(one, m_Constant()))
        return other;
  return value;
}

/// Whether a value is an argument of the loop, moved by what does not change in it: a threshold.
bool isThreshold(scf::ForOp loop, Value value, BlockArgument argument) {
  if (value == argument)
    return true;
  Operation *def = value.getDefiningOp();
  if (!isa_and_nonnull<arith::AddFOp, arith::SubFOp>(def))
    return false;
  return (def->getOperand(0) == argument && loop.isDefinedOutsideOfLoop(def->getOperand(1))) ||
         (def->getOperand(1) == argument && loop.isDefinedOutsideOfLoop(def->getOperand(0)));
}

/// A value carried by the loop that is next the maximum or minimum of itself and something else, or
/// something else where that is beyond a threshold.
bool isExtremum(scf::ForOp loop, BlockArgument argument, Value next) {
  if (argument.getArgNumber() == 0 || loop.getYieldedValues()[argument.getArgNumber() - 1] != next)
    return false;
  Operation *def = next.getDefiningOp();
  if (isa_and_nonnull<arith::MaxNumFOp, arith::MaximumFOp, arith::MinNumFOp, arith::MinimumFOp>(def))
    return llvm::is_contained(def->getOperands(), argument);
  auto select = dyn_cast_or_null<arith::SelectOp>(def);
  auto compare = select ? select.getCondition().getDefiningOp<arith::CmpFOp>() : arith::CmpFOp();
  if (!compare || select.getFalseValue() != argument)
    return false;
  Value other = select.getTrueValue();
  return (compare.getLhs() == other && isThreshold(loop, compare.getRhs(), argument)) ||
         (compare.getRhs() == other && isThreshold(loop, compare.getLhs(), argument));
}

/// What an expression is once the extremum has stopped to change: zero, one, or something else.
/// (Of finite values: this decides only whether the vote is worth it.)
enum class Settled { Other, Zero, One, Old };

struct Ratio {
  mutable scf::ForOp loop;

  bool settles(Value a, Value b) const {
    a = chosen(a), b = chosen(b);
    for (auto [old, next] : {std::pair(a, b), std::pair(b, a)})
      if (auto argument = dyn_cast<BlockArgument>(old);
          argument && argument.getOwner() == loop.getBody() && isExtremum(loop, argument, next))
        return true;
    return false;
  }

  Settled evaluate(Value value) const {
    Operation *def = value.getDefiningOp();
    if (!def || def->getBlock() != loop.getBody())
      return Settled::Other;
    if (isa<arith::SubFOp>(def))
      return settles(def->getOperand(0), def->getOperand(1)) ? Settled::Zero : difference(def);
    if (isa<arith::DivFOp>(def))
      return settles(def->getOperand(0), def->getOperand(1)) ? Settled::One : Settled::Other;
    if (isa<arith::MulFOp>(def)) {
      for (Value operand : def->getOperands())
        if (evaluate(operand) == Settled::Zero)
          return Settled::Zero;
      return Settled::Other;
    }
    if (isa<arith::NegFOp>(def))
      return evaluate(def->getOperand(0)) == Settled::Zero ? Settled::Zero : Settled::Other;
    if (isa<math::Exp2Op, math::ExpOp>(def))
      return evaluate(def->getOperand(0)) == Settled::Zero ? Settled::One : Settled::Other;
    return Settled::Other;
  }

  /// Differences of the same multiple of both: a * s - b * s.
  Settled difference(Operation *def) const {
    auto a = def->getOperand(0).getDefiningOp<arith::MulFOp>(),
         b = def->getOperand(1).getDefiningOp<arith::MulFOp>();
    if (!a || !b)
      return Settled::Other;
    for (unsigned i : {0, 1})
      for (unsigned j : {0, 1})
        if (a->getOperand(i) == b->getOperand(j) &&
            settles(a->getOperand(1 - i), b->getOperand(1 - j)))
          return Settled::Zero;
    return Settled::Other;
  }
};

struct GuardScales : tileloom::warp::impl::WarpGuardScalesBase<GuardScales> {
  using WarpGuardScalesBase::WarpGuardScalesBase;

  void runOnOperation() override {
    SmallVector<arith::MulFOp> multiplications;
    getOperation()->walk([&](arith::MulFOp op) {
      if (op->getParentOfType<RoleOp>() && isa<RankedTensorType>(op.getType()))
        multiplications.push_back(op);
    });
    for (arith::MulFOp op : multiplications)
      guard(op);
  }

  void guard(arith::MulFOp op) {
    auto loop = dyn_cast<scf::ForOp>(op->getParentOp());
    auto role = op->getParentOfType<RoleOp>();
    tile::ScheduleAttr given = scheduleOf(op);
    if (given && given.word("guard") == StringRef("off"))
      return;
    if (!loop || schedule::registersOf(op.getType(), 32 * role.getWarps()) < minRegisters)
      return;
    for (unsigned i : {0, 1}) {
      auto factors = op->getOperand(1 - i).getDefiningOp<nv::BroadcastOp>();
      if (!factors || Ratio{loop}.evaluate(factors.getSource()) != Settled::One)
        continue;
      auto carried = dyn_cast<BlockArgument>(op->getOperand(i));
      if (carried && carried.getOwner() == loop.getBody() && carried.getArgNumber() > 0)
        return rewrite(op, carried, factors, 1 - i);
      auto load = op->getOperand(i).getDefiningOp<nv::TmemLoadOp>();
      if (nv::TmemStoreOp store = load ? storedInPlace(op, load) : nv::TmemStoreOp())
        return rewriteInPlace(op, load, store, factors, 1 - i);
    }
  }

  /// The store of the product to where its operand was read, if that is all that happens to them.
  static nv::TmemStoreOp storedInPlace(arith::MulFOp op, nv::TmemLoadOp load) {
    if (!op->hasOneUse() || !load->hasOneUse() || load->getBlock() != op->getBlock())
      return {};
    auto store = dyn_cast<nv::TmemStoreOp>(*op->user_begin());
    if (!store || store->getBlock() != op->getBlock() || store.getView() != load.getView())
      return {};
    for (Operation *between = load->getNextNode(); between != store; between = between->getNextNode())
      if (!isPure(between))
        return {};
    return store;
  }

  /// Whether a lane of the warp has a factor that is not one.
  static Value anyDiffers(OpBuilder &builder, Location loc, Value factor) {
    auto type = cast<RankedTensorType>(factor.getType());
    Operation *power = factor.getDefiningOp();
    bool isPower = isa<math::Exp2Op, math::ExpOp>(power);
    Value compared = isPower ? power->getOperand(0) : factor;
    Attribute neutral = builder.getFloatAttr(type.getElementType(), isPower ? 0.0 : 1.0);
    Value none = arith::ConstantOp::create(builder, loc, DenseElementsAttr::get(type, neutral));
    Value differs = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::UNE, compared, none);
    return nv::WarpAnyOp::create(builder, loc, builder.getI1Type(), differs);
  }

  void rewriteInPlace(arith::MulFOp op, nv::TmemLoadOp load, nv::TmemStoreOp store, nv::BroadcastOp factors,
                      unsigned factorOperand) {
    OpBuilder builder(store);
    Location loc = op.getLoc();
    Value any = anyDiffers(builder, loc, factors.getSource());
    auto branch = scf::IfOp::create(builder, loc, TypeRange(), any, /*withElse=*/false);
    builder.setInsertionPointToStart(branch.thenBlock());
    Value spread = nv::BroadcastOp::create(builder, loc, factors.getType(), factors.getSource(), factors.getDim());
    op->setOperand(factorOperand, spread);
    for (Operation *moved : {load.getOperation(), op.getOperation(), store.getOperation()})
      moved->moveBefore(branch.thenBlock()->getTerminator());
    if (factors->use_empty())
      factors.erase();
  }

  void rewrite(arith::MulFOp op, Value carried, nv::BroadcastOp factors, unsigned factorOperand) {
    OpBuilder builder(op);
    Location loc = op.getLoc();
    Value factor = factors.getSource();
    Value any = anyDiffers(builder, loc, factor);
    auto branch = scf::IfOp::create(builder, loc, op->getResultTypes(), any, /*withElse=*/true);
    builder.setInsertionPointToEnd(branch.thenBlock());
    Value spread =
        nv::BroadcastOp::create(builder, loc, factors.getType(), factor, factors.getDim());
    op->replaceAllUsesWith(branch.getResults());
    op->moveBefore(branch.thenBlock(), branch.thenBlock()->end());
    op->setOperand(factorOperand, spread);
    builder.setInsertionPointToEnd(branch.thenBlock());
    scf::YieldOp::create(builder, loc, op->getResults());
    builder.setInsertionPointToEnd(branch.elseBlock());
    scf::YieldOp::create(builder, loc, carried);
    if (factors->use_empty())
      factors.erase();
  }
};

} // namespace
