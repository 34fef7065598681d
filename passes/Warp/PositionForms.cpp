//===- PositionForms.cpp - Comparisons and conversions of positions -------------------------===//
//
// Sums that a program has on the two sides of a comparison, or under a conversion to floats, as one position (nv.index) and
// what lies beside it: other tiles of one dimension, and scalars.
//
//===--------------------------------------------------------------------------------------===//

#include "PositionForms.h"

#include "dialects/NV/NV.h"

using namespace mlir;
using namespace tileloom;
using namespace tileloom::warp;
using schedule::LinearForm;

bool warp::conjuncts(Value condition, SmallVectorImpl<Conjunct> &found) {
  Operation *def = condition.getDefiningOp();
  if (auto both = dyn_cast_or_null<arith::AndIOp>(def))
    return conjuncts(both.getLhs(), found) && conjuncts(both.getRhs(), found);
  if (isa_and_nonnull<nv::SplatOp, nv::BroadcastOp>(def))
    return conjuncts(def->getOperand(0), found);
  auto compare = dyn_cast_or_null<arith::CmpIOp>(def);
  if (!compare)
    return false;
  auto add = [&](const LinearForm &form) {
    found.push_back({compare, form});
    return true;
  };
  LinearForm left = LinearForm::of(compare.getLhs()), right = LinearForm::of(compare.getRhs());
  using Predicate = arith::CmpIPredicate;
  switch (compare.getPredicate()) {
  case Predicate::slt:
    return add(right.add(left, -1).add(LinearForm::of(-1)));
  case Predicate::sle:
    return add(right.add(left, -1));
  case Predicate::sgt:
    return add(left.add(right, -1).add(LinearForm::of(-1)));
  case Predicate::sge:
    return add(left.add(right, -1));
  default:
    return false;
  }
}

Value warp::constant(OpBuilder &builder, Location loc, int64_t value) {
  return arith::ConstantIntOp::create(builder, loc, value, 32);
}

Value warp::materialise(OpBuilder &builder, Location loc, const LinearForm &form) {
  Value sum;
  for (auto [term, coefficient] : form.list()) {
    Value value = term.value;
    if (coefficient != 1)
      value = arith::MulIOp::create(builder, loc, value, constant(builder, loc, coefficient));
    sum = sum ? arith::AddIOp::create(builder, loc, sum, value).getResult() : value;
  }
  if (sum && form.constant == 0)
    return sum;
  Value rest = constant(builder, loc, form.constant);
  return sum ? arith::AddIOp::create(builder, loc, sum, rest).getResult() : rest;
}

namespace {

/// A form of a tile's elements as sign * (position along the last axis that there is) + other tiles + scalars.
struct Separated {
  struct Tile {
    schedule::Term term;
    int64_t sign, axis;
    bool isPosition;
  };
  Tile inner;
  SmallVector<Tile> others;
  LinearForm rest;

  /// The other tiles and `scalars`, or what is left of these less the tiles.
  Value beside(OpBuilder &builder, Location loc, RankedTensorType type, const LinearForm &scalars, bool negative) const {
    Value sum = nv::SplatOp::create(builder, loc, type, materialise(builder, loc, scalars));
    for (const Tile &tile : others) {
      Value value = tile.isPosition ? nv::IndexOp::create(builder, loc, type, tile.axis).getResult()
                                    : nv::BroadcastOp::create(builder, loc, type, tile.term.value, 1 - tile.axis).getResult();
      sum = (tile.sign > 0) != negative ? arith::AddIOp::create(builder, loc, value, sum).getResult()
                                        : arith::SubIOp::create(builder, loc, sum, value).getResult();
    }
    return sum;
  }
};

std::optional<Separated> separate(const LinearForm &form, RankedTensorType type) {
  std::optional<Separated::Tile> inner;
  SmallVector<Separated::Tile> others;
  LinearForm rest = form;
  for (auto [term, coefficient] : form.list()) {
    if (!term.isTile())
      continue;
    auto position = term.position();
    int64_t axis = position ? position->axis : term.axis;
    int64_t extent = position ? position->extent : cast<RankedTensorType>(term.value.getType()).getDimSize(0);
    if (std::abs(coefficient) != 1 || axis < 0 || axis >= type.getRank() || extent != type.getDimSize(axis) || (!position && type.getRank() != 2))
      return std::nullopt;
    Separated::Tile tile{term, coefficient, axis, position.has_value()};
    rest.erase(term);
    if (!tile.isPosition || (inner && inner->axis >= axis)) {
      others.push_back(tile);
      continue;
    }
    if (inner)
      others.push_back(*inner);
    inner = tile;
  }
  if (!inner || llvm::any_of(others, [&](const Separated::Tile &tile) { return tile.axis == inner->axis; }))
    return std::nullopt;
  return Separated{*inner, others, rest};
}

} // namespace

void warp::simplify(arith::CmpIOp compare) {
  SmallVector<Conjunct> found;
  auto type = dyn_cast<RankedTensorType>(compare.getLhs().getType());
  if (!type || !type.getElementType().isInteger(32) || !conjuncts(compare.getResult(), found))
    return;
  std::optional<Separated> parts = separate(found.front().form, type);
  if (!parts)
    return;
  OpBuilder builder(compare);
  Location loc = compare.getLoc();
  // As `position < extent`, whose divisibility makes accesses wide, not `position <= extent - 1`;
  // but one is not added to a limit that the program gives, which may be the largest number.
  using Predicate = arith::CmpIPredicate;
  bool below = parts->inner.sign < 0;
  LinearForm bound = below ? parts->rest : LinearForm().add(parts->rest, -1);
  bool strict = llvm::is_contained({Predicate::slt, Predicate::sgt}, compare.getPredicate()) ||
                (below ? bound.constant < 0 : bound.constant > 0);
  if (strict)
    bound.constant += below ? 1 : -1;
  Value place = nv::IndexOp::create(builder, loc, type, parts->inner.axis);
  Value limit = parts->beside(builder, loc, type, bound, !below);
  Predicate predicate = below    ? strict ? Predicate::slt : Predicate::sle
                        : strict ? Predicate::sgt
                                 : Predicate::sge;
  Value result = arith::CmpIOp::create(builder, loc, predicate, place, limit);
  compare.replaceAllUsesWith(result);
  compare.erase();
}

void warp::simplify(arith::SIToFPOp convert) {
  auto type = dyn_cast<RankedTensorType>(convert.getIn().getType());
  if (!type || !type.getElementType().isInteger(32))
    return;
  std::optional<Separated> parts = separate(LinearForm::of(convert.getIn()), type);
  if (!parts)
    return;
  OpBuilder builder(convert);
  Location loc = convert.getLoc();
  Value place = nv::IndexOp::create(builder, loc, type, parts->inner.axis);
  Value beside = parts->beside(builder, loc, type, parts->rest, /*negative=*/false);
  auto noWrap = arith::IntegerOverflowFlags::nsw; // as all that is linear here
  convert.setOperand(parts->inner.sign > 0 ? arith::AddIOp::create(builder, loc, place, beside, noWrap).getResult()
                                           : arith::SubIOp::create(builder, loc, beside, place, noWrap).getResult());
}
