//===- AxisInfoRules.cpp - How operations hand on facts about integers --------------------===//
//
// One function for each kind of operation. Groups are aligned, so that facts about groups of a and
// of b elements hold together for groups of gcd(a, b).
//
//===--------------------------------------------------------------------------------------===//

#include "AxisInfoRules.h"

#include "dialects/NV/NV.h"
#include "dialects/User/User.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <numeric>

using namespace mlir;
using namespace tileloom;

static constexpr int64_t largest = int64_t(1) << 30;

int64_t tileloom::powerOfTwoDivisor(int64_t value) {
  return value == 0 ? largest : std::min<int64_t>(value & -value, largest);
}

static SmallVector<int64_t> shapeOf(Operation *op) {
  auto tensor = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  return tensor ? SmallVector<int64_t>(tensor.getShape()) : SmallVector<int64_t>{1};
}

/// Equal where all operands are equal; nothing else known.
static AxisInfo equalTogether(Operation *op, ArrayRef<AxisInfo> operands) {
  AxisInfo info = AxisInfo::unknown(op->getResult(0).getType());
  for (size_t dim = 0; dim < info.rank(); ++dim) {
    info.constancy[dim] = operands[0].constancy[dim];
    for (const AxisInfo &operand : operands.drop_front())
      info.constancy[dim] = std::gcd(info.constancy[dim], operand.constancy[dim]);
  }
  return info;
}

static AxisInfo constantOf(Operation *op, int64_t value) {
  AxisInfo info = AxisInfo::unknown(op->getResult(0).getType());
  SmallVector<int64_t> shape = shapeOf(op);
  info.constancy.assign(shape.begin(), shape.end());
  info.divisibility.assign(info.rank(), powerOfTwoDivisor(value));
  info.constant = value;
  return info;
}

static AxisInfo sumOf(Operation *op, const AxisInfo &a, const AxisInfo &b, bool difference) {
  AxisInfo info = equalTogether(op, {a, b});
  for (size_t dim = 0; dim < info.rank(); ++dim) {
    int64_t &run = info.contiguity[dim];
    run = std::gcd(a.contiguity[dim], b.constancy[dim]);
    if (!difference)
      run = std::max(run, std::gcd(a.constancy[dim], b.contiguity[dim]));
    info.divisibility[dim] = std::gcd(a.divisibilityOf(dim, run), b.divisibilityOf(dim, run));
  }
  if (a.constant && b.constant)
    info.constant = difference ? *a.constant - *b.constant : *a.constant + *b.constant;
  return info;
}

static AxisInfo productOf(Operation *op, const AxisInfo &a, const AxisInfo &b) {
  if (a.constant == 1)
    return b;
  if (b.constant == 1)
    return a;
  AxisInfo info = equalTogether(op, {a, b});
  int64_t divisor = std::min(a.divisibilityOfAll() * b.divisibilityOfAll(), largest);
  info.divisibility.assign(info.rank(), divisor);
  if (a.constant && b.constant)
    info.constant = *a.constant * *b.constant;
  return info;
}

/// Quotient or remainder by a constant power of two: what lies between its multiples has one
/// quotient and consecutive remainders.
static AxisInfo quotientOf(Operation *op, const AxisInfo &a, const AxisInfo &b, bool remainder) {
  if (b.constant == 1 && !remainder)
    return a;
  AxisInfo info = equalTogether(op, {a, b});
  if (!b.constant || *b.constant < 1 || !llvm::isPowerOf2_64(*b.constant))
    return info;
  for (size_t dim = 0; dim < info.rank(); ++dim) {
    int64_t group = std::gcd(std::gcd(a.contiguity[dim], a.divisibility[dim]), *b.constant);
    if (remainder) {
      info.contiguity[dim] = group;
      info.divisibility[dim] = std::gcd(a.divisibilityOf(dim, group), *b.constant);
    } else {
      info.constancy[dim] = std::max(info.constancy[dim], group);
    }
  }
  int64_t divisor = a.divisibilityOfAll();
  if (!remainder && divisor >= *b.constant)
    info.divisibility.assign(info.rank(), divisor / *b.constant);
  return info;
}

/// x < bound and its kin are the same for a group of consecutive x that starts at a multiple of the
/// group's size if bound is such a multiple too.
static AxisInfo comparisonOf(arith::CmpIOp op, const AxisInfo &a, const AxisInfo &b) {
  AxisInfo info = equalTogether(op, {a, b});
  using P = arith::CmpIPredicate;
  bool boundRight = llvm::is_contained({P::slt, P::ult, P::sge, P::uge}, op.getPredicate());
  bool boundLeft = llvm::is_contained({P::sgt, P::ugt, P::sle, P::ule}, op.getPredicate());
  if (!boundRight && !boundLeft)
    return info;
  const AxisInfo &x = boundRight ? a : b, &bound = boundRight ? b : a;
  for (size_t dim = 0; dim < info.rank(); ++dim) {
    int64_t group = std::gcd(x.contiguity[dim], bound.constancy[dim]);
    group =
        std::gcd(group, std::gcd(x.divisibilityOf(dim, group), bound.divisibilityOf(dim, group)));
    info.constancy[dim] = std::max(info.constancy[dim], group);
  }
  return info;
}

static AxisInfo selectOf(Operation *op, ArrayRef<AxisInfo> operands) {
  const AxisInfo &a = operands[1], &b = operands[2];
  AxisInfo info = AxisInfo::join(a, b), equal = info;
  bool scalar = !isa<RankedTensorType>(op->getOperand(0).getType());
  for (size_t dim = 0; dim < info.rank(); ++dim) {
    int64_t same = scalar ? shapeOf(op)[dim] : operands[0].constancy[dim];
    info.contiguity[dim] = std::gcd(info.contiguity[dim], same);
    info.constancy[dim] = std::gcd(info.constancy[dim], same);
    info.divisibility[dim] = equal.divisibilityOf(dim, info.contiguity[dim]);
  }
  return info;
}

static AxisInfo broadcastOf(nv::BroadcastOp op, const AxisInfo &source) {
  AxisInfo info = source;
  unsigned dim = op.getDim();
  info.contiguity.insert(info.contiguity.begin() + dim, 1);
  info.divisibility.insert(info.divisibility.begin() + dim, source.divisibilityOfAll());
  info.constancy.insert(info.constancy.begin() + dim, op.getType().getDimSize(dim));
  return info;
}

static AxisInfo indexOf(nv::IndexOp op) {
  AxisInfo info = AxisInfo::unknown(op.getType());
  SmallVector<int64_t> shape = shapeOf(op);
  for (unsigned dim = 0; dim < info.rank(); ++dim)
    if (dim != op.getDim())
      info.constancy[dim] = shape[dim];
  info.contiguity[op.getDim()] = shape[op.getDim()];
  info.divisibility[op.getDim()] = largest; // it starts at zero
  return info;
}

static AxisInfo splatOf(nv::SplatOp op, const AxisInfo &scalar) {
  AxisInfo info = AxisInfo::unknown(op.getResult().getType());
  SmallVector<int64_t> shape = shapeOf(op);
  info.constancy.assign(shape.begin(), shape.end());
  info.divisibility.assign(info.rank(), scalar.divisibility[0]);
  info.constant = scalar.constant;
  return info;
}

static AxisInfo transposeOf(nv::TransOp op, const AxisInfo &source) {
  AxisInfo info = source;
  for (auto [to, from] : llvm::enumerate(op.getOrder())) {
    info.contiguity[to] = source.contiguity[from];
    info.divisibility[to] = source.divisibility[from];
    info.constancy[to] = source.constancy[from];
  }
  return info;
}

std::optional<AxisInfo> tileloom::axisInfoOf(Operation *op, ArrayRef<AxisInfo> in) {
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    if (auto value = dyn_cast<IntegerAttr>(constant.getValue()))
      return constantOf(op, value.getValue().getSExtValue());
    auto dense = dyn_cast<DenseIntElementsAttr>(constant.getValue());
    if (dense && dense.isSplat())
      return constantOf(op, dense.getSplatValue<APInt>().getSExtValue());
    return std::nullopt;
  }
  if (auto index = dyn_cast<nv::IndexOp>(op))
    return indexOf(index);
  if (auto splat = dyn_cast<nv::SplatOp>(op))
    return splatOf(splat, in[0]);
  if (auto broadcast = dyn_cast<nv::BroadcastOp>(op))
    return broadcastOf(broadcast, in[0]);
  if (auto transpose = dyn_cast<nv::TransOp>(op))
    return transposeOf(transpose, in[0]);
  if (isa<arith::AddIOp>(op))
    return sumOf(op, in[0], in[1], /*difference=*/false);
  if (isa<arith::SubIOp>(op))
    return sumOf(op, in[0], in[1], /*difference=*/true);
  if (isa<arith::MulIOp>(op))
    return productOf(op, in[0], in[1]);
  if (isa<arith::ShLIOp>(op) && in[1].constant && *in[1].constant >= 0 && *in[1].constant < 30)
    return productOf(op, in[0], constantOf(op, int64_t(1) << *in[1].constant));
  if (isa<arith::DivSIOp, arith::DivUIOp>(op))
    return quotientOf(op, in[0], in[1], /*remainder=*/false);
  if (isa<arith::RemSIOp, arith::RemUIOp>(op))
    return quotientOf(op, in[0], in[1], /*remainder=*/true);
  if (isa<arith::ExtSIOp, arith::ExtUIOp, arith::IndexCastOp, arith::IndexCastUIOp>(op))
    return in[0];
  if (isa<arith::TruncIOp>(op)) {
    AxisInfo info = in[0];
    info.constant = std::nullopt; // the bits may be cut off
    return info;
  }
  if (auto compare = dyn_cast<arith::CmpIOp>(op))
    return comparisonOf(compare, in[0], in[1]);
  if (isa<arith::SelectOp>(op))
    return selectOf(op, in);
  if (isa<arith::MaxSIOp, arith::MaxUIOp, arith::MinSIOp, arith::MinUIOp>(op)) {
    AxisInfo info = equalTogether(op, in);
    info.divisibility.assign(info.rank(),
                             std::gcd(in[0].divisibilityOfAll(), in[1].divisibilityOfAll()));
    return info;
  }
  // What a user's assembly gives for equal elements may differ from thread to thread.
  if (op->getNumOperands() && OpTrait::hasElementwiseMappableTraits(op) && !isa<user::AsmOp>(op) &&
      llvm::all_of(in, [&](const AxisInfo &info) { return info.rank() == in[0].rank(); }))
    return equalTogether(op, in);
  return std::nullopt;
}
