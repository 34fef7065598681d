//===- SplitMasks.cpp - Loops without their masks where those are true --------------------===//
//
// In: loops whose body selects between a tile and a constant by comparisons that are affine in
// positions (nv.index), in the induction variable and in scalars of the whole loop. Out: where all
// of them are known to be true, the selects are gone; where that holds for a range of iterations,
// consecutive loops with the masks (before), without (between) and with those comparisons that do
// not hold to the end (after), which hand their carried values on.
//
// A limit that differs from row to row and is no position, but grows along the rows (chunks of
// positions), is bounded by that of the first or the last row.
//
// Comparisons that stay compare positions with scalars then, and conversions convert a position and what is beside it
// (PositionForms.h).
//
// The range comes from interval arithmetic on the comparison's two sides; its ends are computed at
// run time and clamped to the loop.
//
//===--------------------------------------------------------------------------------------===//

#include "passes/Warp/Passes.h"

#include "PositionForms.h"
#include "dialects/Warp/Warp.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

namespace tileloom::warp {
#define GEN_PASS_DEF_WARPSPLITMASKS
#include "passes/Warp/Passes.h.inc"
} // namespace tileloom::warp

using namespace mlir;
using namespace tileloom;
using namespace tileloom::warp;
using schedule::Iterations;
using schedule::LinearForm;

namespace {

/// A select of a tile or a constant, and what must not be negative for the tile to come through.
struct Mask {
  mutable arith::SelectOp select;
  SmallVector<Conjunct> bounds; // forms of scalars and the induction variable
};

bool isScalarOutside(Value value, scf::ForOp loop) {
  return value.getType().isInteger(32) && !loop.getRegion().isAncestor(value.getParentRegion());
}

/// Whether elements of a tile of one dimension do not get smaller along it. Multiples: x / c * c
/// does not where x does not, whatever c is.
bool isNonDecreasing(Value tile) {
  Operation *op = tile.getDefiningOp();
  if (isa_and_nonnull<nv::IndexOp, nv::SplatOp, arith::ConstantOp>(op))
    return true;
  if (isa_and_nonnull<arith::AddIOp, arith::MaxSIOp, arith::MinSIOp>(op))
    return isNonDecreasing(op->getOperand(0)) && isNonDecreasing(op->getOperand(1));
  auto multiple = dyn_cast_or_null<arith::MulIOp>(op);
  auto quotient = multiple ? multiple.getLhs().getDefiningOp<arith::DivSIOp>() : arith::DivSIOp();
  auto divisor = quotient ? quotient.getRhs().getDefiningOp<nv::SplatOp>() : nv::SplatOp(),
       factor = quotient ? multiple.getRhs().getDefiningOp<nv::SplatOp>() : nv::SplatOp();
  return divisor && factor && divisor.getValue() == factor.getValue() &&
         isNonDecreasing(quotient.getLhs());
}

/// An element of such a tile, computed for itself.
Value elementOf(OpBuilder &builder, Value tile, int64_t element) {
  Operation *op = tile.getDefiningOp();
  if (isa<nv::IndexOp>(op))
    return arith::ConstantIntOp::create(builder, op->getLoc(), element, 32);
  if (auto splat = dyn_cast<nv::SplatOp>(op))
    return splat.getValue();
  DenseIntElementsAttr dense;
  if (matchPattern(op, m_Constant(&dense)))
    return dense.isSplat()
               ? arith::ConstantIntOp::create(builder, op->getLoc(),
                                              dense.getSplatValue<APInt>().getSExtValue(), 32)
                     .getResult()
               : Value();
  Value left = elementOf(builder, op->getOperand(0), element),
        right = left ? elementOf(builder, op->getOperand(1), element) : Value();
  if (!right)
    return {};
  OperationState state(op->getLoc(), op->getName(), ValueRange{left, right},
                       TypeRange{left.getType()});
  return builder.create(state)->getResult(0);
}

/// Bounds tiles of a form that grow along their one dimension by their first or last element.
void boundByElements(LinearForm &form, scf::ForOp loop) {
  for (auto [term, coefficient] : form.list()) {
    auto type = dyn_cast<RankedTensorType>(term.value.getType());
    if (!type || type.getRank() != 1 || !type.getElementType().isInteger(32) || term.position() ||
        loop.getRegion().isAncestor(term.value.getParentRegion()) || !isNonDecreasing(term.value))
      continue;
    OpBuilder builder(loop);
    int64_t element = coefficient > 0 ? 0 : type.getDimSize(0) - 1;
    if (Value bound = elementOf(builder, term.value, element))
      form.substitute(term, LinearForm::of(bound));
  }
}

std::optional<Mask> maskOf(arith::SelectOp select, scf::ForOp loop) {
  Mask mask{select, {}};
  SmallVector<Conjunct> all;
  if (!isa<RankedTensorType>(select.getType()) || !matchPattern(select.getFalseValue(), m_Constant()) ||
      !conjuncts(select.getCondition(), all))
    return std::nullopt;
  for (auto &[compare, form] : all) {
    boundByElements(form, loop);
    std::optional<LinearForm> least = schedule::leastOverElements(form);
    if (!least)
      return std::nullopt;
    for (auto [term, coefficient] : least->list())
      if (term.value != loop.getInductionVar() && !isScalarOutside(term.value, loop))
        return std::nullopt;
    mask.bounds.push_back({compare, *least});
  }
  return mask;
}

void setTrue(Operation *compare) {
  OpBuilder builder(compare);
  Type type = compare->getResult(0).getType();
  Value always = isa<ShapedType>(type)
                     ? arith::ConstantOp::create(builder, compare->getLoc(), DenseElementsAttr::get(cast<ShapedType>(type), true)).getResult()
                     : arith::ConstantIntOp::create(builder, compare->getLoc(), 1, 1).getResult();
  compare->getResult(0).replaceAllUsesWith(always);
}

struct Splitter {
  scf::ForOp loop;
  OpBuilder builder;
  Location loc;

  explicit Splitter(scf::ForOp loop) : loop(loop), builder(loop), loc(loop.getLoc()) {}

  Value constant(int64_t value) { return ::constant(builder, loc, value); }
  Value materialise(const LinearForm &form) { return ::materialise(builder, loc, form); }

  /// The first iteration from which `bound` >= 0 holds (its coefficient is positive), or the first from
  /// which it does not (negative).
  Value turningPoint(LinearForm bound) {
    int64_t coefficient = bound.coefficientOf(loop.getInductionVar());
    bound.erase({loop.getInductionVar()});
    if (coefficient > 0) // i >= ceil(-rest / coefficient)
      return floorDivide(materialise(LinearForm::of(coefficient - 1).add(bound, -1)), coefficient);
    Value last = floorDivide(materialise(bound), -coefficient); // i <= floor(rest / -coefficient)
    return arith::AddIOp::create(builder, loc, last, constant(1));
  }

  Value floorDivide(Value dividend, int64_t divisor) {
    if (divisor == 1)
      return dividend;
    if (llvm::isPowerOf2_64(divisor))
      return arith::ShRSIOp::create(builder, loc, dividend, constant(llvm::Log2_64(divisor)));
    Value quotient = arith::DivSIOp::create(builder, loc, dividend, constant(divisor));
    Value whole = arith::MulIOp::create(builder, loc, quotient, constant(divisor));
    Value above = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sgt, whole, dividend);
    Value one = arith::SubIOp::create(builder, loc, quotient, constant(1));
    return arith::SelectOp::create(builder, loc, above, one, quotient);
  }

  /// Which comparisons a part of the loop leaves out.
  enum class True { None, FromHere, All };

  scf::ForOp part(Value lower, Value upper, ValueRange inits, True known, const SmallVectorImpl<Mask> &masks) {
    IRMapping mapping;
    auto copy = cast<scf::ForOp>(builder.clone(*loop, mapping));
    copy.setLowerBound(lower);
    copy.setUpperBound(upper);
    copy.getInitArgsMutable().assign(inits);
    for (Mask mask : masks) {
      auto select = cast<arith::SelectOp>(mapping.lookup(mask.select.getOperation()));
      bool any = false;
      for (auto &[compare, bound] : mask.bounds) {
        if (known != True::FromHere || bound.coefficientOf(loop.getInductionVar()) < 0) {
          any = true;
          continue;
        }
        Operation *own = mapping.lookupOrNull(compare.getOperation());
        if (own)
          setTrue(own);
      }
      if (known == True::All || !any) {
        select.getResult().replaceAllUsesWith(select.getTrueValue());
        select.erase();
      }
    }
    return copy;
  }

  void split(const SmallVectorImpl<Mask> &masks) {
    Value lower = loop.getLowerBound(), upper = loop.getUpperBound(), begin, end;
    for (const Mask &mask : masks)
      for (const auto &[compare, bound] : mask.bounds) {
        Value point = turningPoint(bound);
        if (bound.coefficientOf(loop.getInductionVar()) > 0)
          begin = begin ? arith::MaxSIOp::create(builder, loc, begin, point).getResult() : point;
        else
          end = end ? arith::MinSIOp::create(builder, loc, end, point).getResult() : point;
      }
    auto clamp = [&](Value value, Value low) -> Value {
      value = arith::MaxSIOp::create(builder, loc, value, low);
      return arith::MinSIOp::create(builder, loc, value, upper);
    };
    SmallVector<Value> state(loop.getInitArgs());
    auto run = [&](Value from, Value to, True known) {
      scf::ForOp next = part(from, to, state, known, masks);
      state.assign(next.getResults().begin(), next.getResults().end());
    };
    Value from = lower;
    if (begin) {
      begin = clamp(begin, lower);
      run(lower, begin, True::None);
      from = begin;
    }
    Value to = end ? clamp(end, from) : upper;
    run(from, to, True::All);
    if (end)
      run(to, upper, True::FromHere); // what holds from `begin` on does here
    loop.replaceAllUsesWith(state);
    loop.erase();
  }
};

struct SplitMasks : tileloom::warp::impl::WarpSplitMasksBase<SplitMasks> {
  void runOnOperation() override {
    SmallVector<scf::ForOp> loops;
    getOperation()->walk([&](scf::ForOp loop) {
      if (loop->getParentOfType<RoleOp>() && loop.getInductionVar().getType().isInteger(32) &&
          isConstantIntValue(loop.getStep(), 1))
        loops.push_back(loop);
    });
    for (scf::ForOp loop : loops)
      visit(loop);
    SmallVector<arith::CmpIOp> compares;
    getOperation()->walk([&](arith::CmpIOp compare) {
      if (compare->getParentOfType<RoleOp>())
        compares.push_back(compare);
    });
    for (arith::CmpIOp compare : compares)
      simplify(compare);
    getOperation()->walk([&](arith::SIToFPOp convert) {
      if (convert->getParentOfType<RoleOp>())
        simplify(convert);
    });
  }

  void visit(scf::ForOp loop) {
    Iterations iterations = Iterations::of(loop);
    SmallVector<Mask> masks;
    for (auto select : llvm::make_early_inc_range(loop.getBody()->getOps<arith::SelectOp>())) {
      std::optional<Mask> mask = maskOf(select, loop);
      if (!mask)
        continue;
      llvm::erase_if(mask->bounds, [&](const Conjunct &bound) {
        if (!schedule::isNonNegative(bound.form, &iterations))
          return false;
        if (loop->isProperAncestor(bound.compare))
          setTrue(bound.compare);
        return true;
      });
      if (mask->bounds.empty()) {
        select.getResult().replaceAllUsesWith(select.getTrueValue());
        select.erase();
      } else if (llvm::all_of(mask->bounds, [&](const Conjunct &bound) {
                   return bound.form.coefficientOf(loop.getInductionVar()) != 0;
                 })) {
        masks.push_back(*mask);
      }
    }
    if (!masks.empty())
      Splitter(loop).split(masks);
  }
};

} // namespace
