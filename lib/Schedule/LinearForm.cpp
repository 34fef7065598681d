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
  if (isa_and_nonnull<arith::DivUIOp, arith::DivSIOp, arith::FloorDivSIOp, arith::CeilDivUIOp,
                      arith::CeilDivSIOp>(def))
    if (auto divisor = constantOf(def->getOperand(1)); divisor && *divisor > 0)
      if (auto exact = of(def->getOperand(0)).dividedBy(*divisor))
        return *exact;
  if (isa_and_nonnull<nv::SplatOp, arith::IndexCastOp, arith::ExtSIOp>(def))
    return of(def->getOperand(0));
  if (auto broadcast = dyn_cast_or_null<nv::BroadcastOp>(def)) {
    // What had one dimension now lies along the other one.
    LinearForm source = of(broadcast.getSource()), result;
    result.constant = source.constant;
    for (auto [term, coefficient] : source.list()) {
      bool line = term.isTile() && cast<RankedTensorType>(term.value.getType()).getRank() == 1;
      result.terms[{term.value, line ? 1 - static_cast<int>(broadcast.getDim()) : term.axis}] =
          coefficient;
    }
    return result;
  }
  LinearForm form;
  auto tile = dyn_cast<RankedTensorType>(value.getType());
  form.terms[{value, tile && tile.getRank() == 1 ? 0 : -1}] = 1;
  return form;
}

std::optional<Term::Position> Term::position() const {
  auto index = value.getDefiningOp<nv::IndexOp>();
  if (!index)
    return std::nullopt;
  int64_t dim = index.getDim();
  return Position{index.getType().getRank() == 1 ? axis : dim, index.getType().getDimSize(dim)};
}

SmallVector<std::pair<Term, int64_t>> LinearForm::list() const {
  SmallVector<std::pair<Term, int64_t>> result;
  for (auto [key, coefficient] : terms)
    result.push_back({Term{key.first, key.second}, coefficient});
  return result;
}

LinearForm &LinearForm::add(const LinearForm &other, int64_t factor) {
  constant += factor * other.constant;
  for (auto [key, coefficient] : SmallVector<std::pair<std::pair<Value, int>, int64_t>>(
           other.terms.begin(), other.terms.end()))
    terms[key] += factor * coefficient;
  terms.remove_if([](auto &term) { return term.second == 0; });
  return *this;
}

int64_t LinearForm::coefficientOf(Value value, int axis) const {
  return terms.lookup({value, axis});
}

void LinearForm::substitute(const Term &term, const LinearForm &form) {
  int64_t coefficient = coefficientOf(term.value, term.axis);
  erase(term);
  add(form, coefficient);
}

std::optional<LinearForm> LinearForm::dividedBy(int64_t divisor) const {
  LinearForm result = of(constant / divisor);
  if (constant % divisor)
    return std::nullopt;
  for (auto [key, coefficient] : terms) {
    if (coefficient % divisor)
      return std::nullopt;
    result.terms[key] = coefficient / divisor;
  }
  return result;
}

Iterations Iterations::of(scf::ForOp loop) {
  return {loop.getInductionVar(), LinearForm::of(loop.getLowerBound()),
          LinearForm::of(loop.getUpperBound())};
}

/// True for the number of tiles of a loop over tiles that `where` is in: there is at least one.
static bool countsTilesAround(Value value, Operation *where) {
  for (; where; where = where->getParentOp())
    if (auto tiles = dyn_cast<warp::ForEachTileOp>(where);
        tiles && (value == tiles.getM() || value == tiles.getN()))
      return true;
  return false;
}

static bool prove(LinearForm form, const Iterations *iterations, unsigned left,
                  Operation *where = nullptr);

/// What a signed quotient is rounded from is not negative: in general, or because the loop would not
/// run (a quotient of something negative is at most zero).
static bool isRoundedDown(const LinearForm &dividend, Value quotient, const Iterations *iterations,
                          unsigned left, Operation *where) {
  if (prove(dividend, nullptr, left, where))
    return true;
  if (!iterations || iterations->upper.coefficientOf(quotient) <= 0)
    return false;
  LinearForm none = iterations->lower, upper = iterations->upper;
  upper.substitute({quotient}, LinearForm::of(0));
  return prove(none.add(upper, -1), nullptr, left, where);
}

/// Replaces `term` of `form` by its least (coefficient above zero) or greatest value.
static bool bound(LinearForm &form, Term term, const Iterations *iterations, unsigned left,
                  Operation *where) {
  Value value = term.value;
  int64_t coefficient = form.coefficientOf(value, term.axis);
  bool least = coefficient > 0;
  auto become = [&](const LinearForm &by) {
    form.substitute(term, by);
    return true;
  };
  if (least && countsTilesAround(value, where))
    return become(LinearForm::of(1));
  if (auto position = term.position())
    return become(LinearForm::of(least ? 0 : position->extent - 1));
  if (iterations && value == iterations->variable)
    return become(least ? iterations->lower : LinearForm::of(-1).add(iterations->upper));
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    Operation *parent = argument.getOwner()->getParentOp();
    if (auto loop = dyn_cast<scf::ForOp>(parent); loop && value == loop.getInductionVar()) {
      Iterations own = Iterations::of(loop);
      return become(least ? own.lower : LinearForm::of(-1).add(own.upper));
    }
    if (auto tiles = dyn_cast<warp::ForEachTileOp>(parent)) {
      Value count = argument.getArgNumber() == 0 ? tiles.getM() : tiles.getN();
      return become(least ? LinearForm::of(0) : LinearForm::of(-1).add(LinearForm::of(count)));
    }
    return false;
  }
  Operation *def = value.getDefiningOp();
  if (isa_and_nonnull<warp::ReplicaIndexOp>(def)) {
    int64_t replicas = def->getParentOfType<warp::RoleOp>().getReplicas();
    return become(LinearForm::of(least ? 0 : replicas - 1));
  }
  if (isa_and_nonnull<arith::RemUIOp>(def))
    if (auto divisor = constantOf(def->getOperand(1)))
      return become(LinearForm::of(least ? 0 : *divisor - 1));
  bool up = isa_and_nonnull<arith::CeilDivUIOp, arith::CeilDivSIOp>(def);
  if (!up && !isa_and_nonnull<arith::DivUIOp, arith::DivSIOp, arith::FloorDivSIOp>(def))
    return false;
  // dividend - (divisor - 1) <= quotient * divisor <= dividend, or as much higher, rounded up.
  auto divisor = constantOf(def->getOperand(1));
  LinearForm dividend = LinearForm::of(def->getOperand(0));
  if (isa<arith::DivSIOp>(def) && !isRoundedDown(dividend, value, iterations, left / 2, where))
    return false;
  if (divisor && *divisor > 0 && coefficient % *divisor == 0) {
    int64_t factor = coefficient / *divisor;
    form.erase(term);
    form.add(dividend, factor);
    if (least != up)
      form.constant += (up ? factor : -factor) * (*divisor - 1);
    return true;
  }
  return least && isa<arith::DivUIOp, arith::CeilDivUIOp>(def) && become(LinearForm::of(0));
}

/// The variable of a loop, or a place in a grid of tiles.
static bool isCoordinate(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  return argument && isa<scf::ForOp, warp::ForEachTileOp>(argument.getOwner()->getParentOp());
}

static bool isExtremum(Value value) {
  return isa_and_nonnull<arith::MaxSIOp, arith::MaxUIOp, arith::MinSIOp, arith::MinUIOp>(
      value.getDefiningOp());
}

/// Whether `value` is computed from `source` by arithmetic.
static bool dependsOn(Value value, Value source, unsigned depth = 8) {
  if (value == source)
    return true;
  Operation *def = value.getDefiningOp();
  return def && depth && def->getNumRegions() == 0 &&
         llvm::any_of(def->getOperands(),
                      [&](Value operand) { return dependsOn(operand, source, depth - 1); });
}

/// The order of replacements: what other terms are computed from comes last, so that it cancels where
/// those are bounded by it; of the others coordinates come first (their bounds name what they count up
/// to, which alone is bounded by a number) and extrema last, as each makes two claims of one.
static SmallVector<std::pair<Term, int64_t>> inOrder(const LinearForm &form) {
  SmallVector<std::pair<Term, int64_t>> terms = form.list(), groups[6], result;
  for (auto &own : terms) {
    bool within = llvm::any_of(terms, [&](auto &other) {
      return other.first.value != own.first.value && dependsOn(other.first.value, own.first.value);
    });
    unsigned kind = isCoordinate(own.first.value) ? 0 : isExtremum(own.first.value) ? 2 : 1;
    groups[3 * within + kind].push_back(own);
  }
  for (auto &group : groups)
    result.append(group);
  return result;
}

static bool prove(LinearForm form, const Iterations *iterations, unsigned left,
                  Operation *where) {
  while (!form.terms.empty() && left-- > 0) {
    bool changed = false;
    for (auto [term, coefficient] : inOrder(form)) {
      if (isExtremum(term.value)) {
        // The value is one of the two: the claim holds if it does for both; for the one of them that
        // bounds it from the right side one is enough.
        Operation *def = term.value.getDefiningOp();
        bool isMax = isa<arith::MaxSIOp, arith::MaxUIOp>(def), either = isMax == (coefficient > 0);
        bool holds[2];
        for (unsigned i : {0, 1}) {
          LinearForm one = form;
          one.substitute(term, LinearForm::of(def->getOperand(i)));
          holds[i] = prove(one, iterations, left / 2, where);
        }
        return either ? holds[0] || holds[1] : holds[0] && holds[1];
      }
      if (bound(form, term, iterations, left, where)) {
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
    for (auto [term, coefficient] : limit->list()) {
      if (!isExtremum(term.value))
        continue;
      for (Value operand : term.value.getDefiningOp()->getOperands()) {
        LinearForm with = LinearForm::of(operand), one = form;
        one.substitute(term, with);
        Iterations copy = *iterations;
        copy.lower.substitute(term, with);
        copy.upper.substitute(term, with);
        if (!isNonNegative(one, &copy))
          return false;
      }
      return true;
    }
  LinearForm none = iterations->lower;
  none.add(iterations->upper, -1);
  return prove(form, iterations, budget) || prove(none, nullptr, budget);
}

/// Least and greatest element of a tile of positions, or of their quotients and remainders by
/// constants; none if they may be negative or are not known.
static std::optional<std::pair<int64_t, int64_t>> rangeOfElements(Value tile) {
  Operation *def = tile.getDefiningOp();
  if (auto index = dyn_cast_or_null<nv::IndexOp>(def))
    return std::pair<int64_t, int64_t>(0, index.getType().getDimSize(index.getDim()) - 1);
  if (!isa_and_nonnull<arith::DivUIOp, arith::DivSIOp, arith::FloorDivSIOp, arith::ShRUIOp,
                       arith::ShRSIOp, arith::RemUIOp, arith::RemSIOp>(def))
    return std::nullopt;
  auto range = rangeOfElements(def->getOperand(0));
  auto by = constantOf(def->getOperand(1));
  if (!range || !by)
    return std::nullopt;
  if (isa<arith::ShRUIOp, arith::ShRSIOp>(def))
    by = *by >= 0 && *by < 31 ? INT64_C(1) << *by : 0;
  if (*by <= 0)
    return std::nullopt;
  if (isa<arith::RemUIOp, arith::RemSIOp>(def))
    return range->second < *by ? *range : std::pair<int64_t, int64_t>(0, *by - 1);
  return std::pair<int64_t, int64_t>(range->first / *by, range->second / *by);
}

std::optional<LinearForm> schedule::leastOverElements(LinearForm form) {
  for (auto [term, coefficient] : form.list())
    if (term.isTile()) {
      auto range = rangeOfElements(term.value);
      if (!range)
        return std::nullopt;
      form.substitute(term, LinearForm::of(coefficient > 0 ? range->first : range->second));
    }
  return form;
}

bool schedule::runsAtLeastOnce(scf::ForOp loop) {
  if (auto trips = loop->getAttrOfType<IntegerAttr>(warp::minTripsAttrName); trips && trips.getInt() > 0)
    return true;
  LinearForm span = LinearForm::of(loop.getUpperBound());
  span.add(LinearForm::of(loop.getLowerBound()), -1).add(LinearForm::of(1), -1);
  return prove(span, nullptr, budget, loop);
}
