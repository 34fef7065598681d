//===- InvariantDivisions.cpp - Divisions of a loop by what the loop does not change ------===//
//
// In: unsigned 32-bit divisions and remainders within loops, by divisors from outside (the tiles of
// a row or a batch, say), or by one of two such divisors. Out: one division before the loop, and in it a multiplication, whose high
// half is the quotient or one less:
//
//   m = floor((2^32 - 1) / d),  q = floor(x m / 2^32):  0 <= floor(x / d) - q <= 1
//
// for 2^32 / d - m <= 1, so x / d - x m / 2^32 <= x / 2^32 < 1. The processor has no division: the
// usual sequence takes about 20 instructions and 200 clocks.
//
//===--------------------------------------------------------------------------------------===//

#include "passes/Warp/Passes.h"

#include "dialects/Warp/Warp.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

namespace tileloom::warp {
#define GEN_PASS_DEF_WARPINVARIANTDIVISIONS
#include "passes/Warp/Passes.h.inc"
} // namespace tileloom::warp

using namespace mlir;
using namespace tileloom;
using namespace tileloom::warp;

namespace {

/// The outermost loop of the role around `op` that all of `values` come from outside of.
Operation *loopOutsideOf(Operation *op, ValueRange values) {
  Operation *found = nullptr;
  for (Operation *parent = op->getParentOp(); parent && !isa<RoleOp>(parent);
       parent = parent->getParentOp()) {
    if (llvm::any_of(values, [&](Value value) {
          return parent->isAncestor(value.getParentBlock()->getParentOp());
        }))
      break;
    if (isa<LoopLikeOpInterface>(parent))
      found = parent;
  }
  return found;
}

class Divider {
public:
  void visit(Operation *op) {
    Value dividend = op->getOperand(0), divisor = op->getOperand(1);
    if (!dividend.getType().isInteger(32) || matchPattern(divisor, m_Constant()))
      return;
    OpBuilder builder(op);
    Location loc = op->getLoc();
    auto choice = divisor.getDefiningOp<arith::SelectOp>();
    Value factor;
    if (Operation *loop = loopOutsideOf(op, divisor)) {
      factor = factorOf(loop, divisor);
    } else if (choice) {
      SmallVector<Value, 2> divisors{choice.getTrueValue(), choice.getFalseValue()};
      if ((loop = loopOutsideOf(op, divisors)))
        factor = arith::SelectOp::create(builder, loc, choice.getCondition(),
                                         factorOf(loop, divisors[0]), factorOf(loop, divisors[1]));
    }
    if (!factor)
      return;
    Value high = arith::MulUIExtendedOp::create(builder, loc, dividend, factor).getHigh();
    Value product = arith::MulIOp::create(builder, loc, high, divisor);
    Value rest = arith::SubIOp::create(builder, loc, dividend, product);
    Value more = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::uge, rest, divisor);
    bool quotient = isa<arith::DivUIOp>(op);
    Value next = quotient
                     ? arith::AddIOp::create(builder, loc, high, constant(builder, loc, 1)).getResult()
                     : arith::SubIOp::create(builder, loc, rest, divisor).getResult();
    Value result =
        arith::SelectOp::create(builder, loc, more, next, quotient ? high : rest);
    op->replaceAllUsesWith(ValueRange{result});
    op->erase();
  }

private:
  static Value constant(OpBuilder &builder, Location loc, int64_t value) {
    return arith::ConstantIntOp::create(builder, loc, value, 32);
  }

  Value factorOf(Operation *loop, Value divisor) {
    Value &factor = factors[{loop, divisor}];
    if (factor)
      return factor;
    OpBuilder builder(loop);
    Location loc = divisor.getLoc();
    // A loop without iterations may have a divisor of zero.
    Value least = arith::MaxUIOp::create(builder, loc, divisor, constant(builder, loc, 1));
    return factor = arith::DivUIOp::create(builder, loc, constant(builder, loc, -1), least);
  }

  llvm::DenseMap<std::pair<Operation *, Value>, Value> factors;
};

struct InvariantDivisions : tileloom::warp::impl::WarpInvariantDivisionsBase<InvariantDivisions> {
  void runOnOperation() override {
    SmallVector<Operation *> divisions;
    getOperation()->walk([&](Operation *op) {
      if (isa<arith::DivUIOp, arith::RemUIOp>(op))
        divisions.push_back(op);
    });
    Divider divider;
    for (Operation *op : divisions)
      divider.visit(op);
  }
};

} // namespace
