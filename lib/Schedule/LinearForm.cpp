//===- LinearForm.cpp - Integers as linear forms, and what bounds them --------------------===//
//
// A form is bounded by replacing one term after the other by a bound of it: positions by the
// extents of their tile, induction variables by their loop's bounds, quotients by what they were
// divided from. Maxima and minima are both of their operands in turn.
//
//===--------------------------------------------------------------------------------------===//

#include "tileloom/Schedule/LinearForm.h"

#include "dialects/Warp/Warp.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace tileloom;
using namespace tileloom::schedule;

/// Replacements before a proof is given up.
static constexpr unsigned budget = 64;

static std::optional<int64_t> constantOf(Value value) {
  APInt integer;
  if (matchPattern(value, m_ConstantInt(&integer)))
    return integer.getSExtValue();
  DenseIntElementsAttr dense;
  if (matchPattern(value, m_Constant(&dense)) && dense.isSplat())
    return dense.getSplatValue<APInt>().getSExtValue();
  return std::nullopt;
}

LinearForm LinearForm::of(int64_t constant) {
  LinearForm form;
  form.constant = constant;
  return form;
}

LinearForm LinearForm::of(Value value) {
  if (auto constant = constantOf(value))
    return of(*constant);
  Operation *def = value.getDefiningOp();
  if (auto sum = dyn_cast_or_null<arith::AddIOp>(def))
    return of(sum.getLhs()).add(of(sum.getRhs()));
  if (auto difference = dyn_cast_or_null<arith::SubIOp>(def))
    return of(difference.getLhs()).add(of(difference.getRhs()), -1);
  if (auto product = dyn_cast_or_null<arith::MulIOp>(def)) {
    LinearForm a = of(product.getLhs()), b = of(product.getRhs());
    if (a.terms.empty() || b.terms.empty())
      return a.terms.empty() ? LinearForm().add(b, a.constant) : LinearForm().add(a, b.constant);
  }
  if (isa_and_nonnull<nv::SplatOp, nv::BroadcastOp, arith::IndexCastOp, arith::ExtSIOp>(def))
    return of(def->getOperand(0));
  LinearForm form;
  form.terms[value] = 1;
  return form;
}

LinearForm &LinearForm::add(const LinearForm &other, int64_t factor) {
  constant += factor * other.constant;
  for (auto [value, coefficient] : other.terms)
    terms[value] += factor * coefficient;
  terms.remove_if([](auto &term) { return term.second == 0; });
  return *this;
}

int64_t LinearForm::coefficientOf(Value value) const { return terms.lookup(value); }

void LinearForm::substitute(Value value, const LinearForm &form) {
  int64_t coefficient = coefficientOf(value);
  terms.erase(value);
  add(form, coefficient);
}

Iterations Iterations::of(scf::ForOp loop) {
  return {loop.getInductionVar(), LinearForm::of(loop.getLowerBound()),
          LinearForm::of(loop.getUpperBound())};
}

/// Positions along a dimension: from zero to the extent.
static std::optional<int64_t> extentOf(Value value) {
  auto index = value.getDefiningOp<nv::IndexOp>();
  if (!index)
    return std::nullopt;
  return index.getType().getDimSize(index.getDim());
}

/// True for the number of tiles of a loop over tiles that `where` is in: there is at least one.
static bool countsTilesAround(Value value, Operation *where) {
  for (; where; where = where->getParentOp())
    if (auto tiles = dyn_cast<warp::ForEachTileOp>(where);
        tiles && (value == tiles.getM() || value == tiles.getN()))
      return true;
  return false;
}

/// Replaces `value` in `form` by its least (coefficient above zero) or greatest value.
static bool bound(LinearForm &form, Value value, const Iterations *iterations,
                  Operation *where = nullptr) {
  int64_t coefficient = form.coefficientOf(value);
  bool least = coefficient > 0;
  if (least && countsTilesAround(value, where)) {
    form.substitute(value, LinearForm::of(1));
    return true;
  }
  auto range = [&](int64_t low, int64_t high) {
    form.substitute(value, LinearForm::of(least ? low : high));
    return true;
  };
  if (auto extent = extentOf(value))
    return range(0, *extent - 1);
  if (iterations && value == iterations->variable) {
    LinearForm end = least ? iterations->lower : LinearForm::of(-1).add(iterations->upper);
    form.substitute(value, end);
    return true;
  }
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    Operation *parent = argument.getOwner()->getParentOp();
    if (auto loop = dyn_cast<scf::ForOp>(parent); loop && value == loop.getInductionVar()) {
      Iterations own = Iterations::of(loop);
      form.substitute(value, least ? own.lower : LinearForm::of(-1).add(own.upper));
      return true;
    }
    if (auto tiles = dyn_cast<warp::ForEachTileOp>(parent)) {
      Value count = argument.getArgNumber() == 0 ? tiles.getM() : tiles.getN();
      form.substitute(value,
                      least ? LinearForm::of(0) : LinearForm::of(-1).add(LinearForm::of(count)));
      return true;
    }
    return false;
  }
  Operation *def = value.getDefiningOp();
  if (isa_and_nonnull<warp::ReplicaIndexOp>(def))
    return range(0, def->getParentOfType<warp::RoleOp>().getReplicas() - 1);
  if (isa_and_nonnull<arith::RemUIOp>(def))
    if (auto divisor = constantOf(def->getOperand(1)))
      return range(0, *divisor - 1);
  bool up = isa_and_nonnull<arith::CeilDivUIOp, arith::CeilDivSIOp>(def);
  if (up || isa_and_nonnull<arith::DivUIOp, arith::FloorDivSIOp>(def)) {
    // dividend - (divisor - 1) <= quotient * divisor <= dividend, or as much higher, rounded up.
    auto divisor = constantOf(def->getOperand(1));
    LinearForm dividend = LinearForm::of(def->getOperand(0));
    if (divisor && *divisor > 0 && coefficient % *divisor == 0) {
      int64_t factor = coefficient / *divisor;
      form.terms.erase(value);
      form.add(dividend, factor);
      if (least != up)
        form.constant += (up ? factor : -factor) * (*divisor - 1);
      return true;
    }
    if (least && isa<arith::DivUIOp, arith::CeilDivUIOp>(def)) { // not negative
      form.terms.erase(value);
      return true;
    }
  }
  return false;
}

static bool prove(LinearForm form, const Iterations *iterations, unsigned left,
                  Operation *where = nullptr) {
  while (!form.terms.empty() && left-- > 0) {
    bool changed = false;
    for (auto [value, coefficient] :
         SmallVector<std::pair<Value, int64_t>>(form.terms.begin(), form.terms.end())) {
      Operation *def = value.getDefiningOp();
      if (isa_and_nonnull<arith::MaxSIOp, arith::MaxUIOp, arith::MinSIOp, arith::MinUIOp>(def)) {
        // The value is one of the two: the claim holds if it does for either, and for the one that
        // bounds it from the right side one of them is enough.
        bool isMax = isa<arith::MaxSIOp, arith::MaxUIOp>(def), either = isMax == (coefficient > 0);
        bool holds[2];
        for (unsigned i : {0, 1}) {
          LinearForm one = form, with = LinearForm::of(def->getOperand(i));
          one.substitute(value, with);
          Iterations copy;
          if (iterations) {
            copy = *iterations;
            copy.lower.substitute(value, with);
            copy.upper.substitute(value, with);
          }
          holds[i] = prove(one, iterations ? &copy : nullptr, left / 2, where);
        }
        return either ? holds[0] || holds[1] : holds[0] && holds[1];
      }
      if (bound(form, value, iterations, where)) {
        changed = true;
        break;
      }
    }
    if (!changed)
      return false;
  }
  return form.terms.empty() && form.constant >= 0;
}

bool schedule::isNonNegative(const LinearForm &form, const Iterations *iterations) {
  if (!iterations)
    return prove(form, nullptr, budget);
  // Bounds of the loop first: they may contain a maximum that decides both.
  for (const LinearForm *limit : {&iterations->lower, &iterations->upper})
    for (auto [value, coefficient] : limit->terms) {
      Operation *def = value.getDefiningOp();
      if (!isa_and_nonnull<arith::MaxSIOp, arith::MaxUIOp, arith::MinSIOp, arith::MinUIOp>(def))
        continue;
      for (Value operand : def->getOperands()) {
        LinearForm with = LinearForm::of(operand), one = form;
        one.substitute(value, with);
        Iterations copy = *iterations;
        copy.lower.substitute(value, with);
        copy.upper.substitute(value, with);
        if (!isNonNegative(one, &copy))
          return false;
      }
      return true;
    }
  LinearForm none = iterations->lower;
  none.add(iterations->upper, -1);
  return prove(form, iterations, budget) || prove(none, nullptr, budget);
}

std::optional<LinearForm> schedule::leastOverElements(LinearForm form) {
  for (auto [value, coefficient] :
       SmallVector<std::pair<Value, int64_t>>(form.terms.begin(), form.terms.end()))
    if (isa<RankedTensorType>(value.getType()))
      if (!extentOf(value) || !bound(form, value, nullptr))
        return std::nullopt;
  return form;
}

bool schedule::runsAtLeastOnce(scf::ForOp loop) {
  if (auto trips = loop->getAttrOfType<IntegerAttr>(minTripsAttrName); trips && trips.getInt() > 0)
    return true;
  LinearForm span = LinearForm::of(loop.getUpperBound());
  span.add(LinearForm::of(loop.getLowerBound()), -1).add(LinearForm::of(1), -1);
  return prove(span, nullptr, budget, loop);
}
