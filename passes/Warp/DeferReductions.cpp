//===- DeferReductions.cpp - Sums across lanes once, after the loop -----------------------===//
//
// In: loops that carry t and add (or take the maximum or minimum of) a reduction of a tile to it, with
// nothing else reading t: t' = t + sum(x), t' = t * f + sum(x), t' = max(t, max(x)). Out: the loop
// carries what each thread has of t, one tile of the columns that a warp covers side by side
// (nv.fold), and the lanes meet once, after the loop.
//
// The order of a sum is not the program's; a factor is applied to each part. Only for tiles that come
// from wgmma accumulators: there a row lies in four lanes, elsewhere in one or in an unknown number.
//
//===--------------------------------------------------------------------------------------===//

#include "passes/Warp/Passes.h"

#include "dialects/Warp/Warp.h"
#include "tileloom/Analysis/Elementwise.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Matchers.h"

namespace tileloom::warp {
#define GEN_PASS_DEF_WARPDEFERREDUCTIONS
#include "passes/Warp/Passes.h.inc"
} // namespace tileloom::warp

using namespace mlir;
using namespace tileloom;
using namespace tileloom::warp;

/// Columns of a wgmma accumulator that the four lanes of a row hold side by side (PTX ISA
/// 9.7.15.5.1).
static constexpr int64_t foldColumns = 8;

namespace {

/// True if the tile has the layout of an accumulator: it is made of one, element by element.
bool comesFromProduct(Value value, unsigned depth = 0) {
  Operation *def = value.getDefiningOp();
  if (isa_and_nonnull<nv::WgmmaOp, nv::WgmmaWaitOp>(def))
    return true;
  return isElementwise(def) && depth < 16 && llvm::any_of(def->getOperands(), [&](Value operand) {
    return isa<RankedTensorType>(operand.getType()) && comesFromProduct(operand, depth + 1);
  });
}

nv::ReduceKind kindOf(Operation *op) {
  if (isa<arith::MaxNumFOp, arith::MaximumFOp, arith::MaxSIOp>(op))
    return nv::ReduceKind::Max;
  if (isa<arith::MinNumFOp, arith::MinimumFOp, arith::MinSIOp>(op))
    return nv::ReduceKind::Min;
  return nv::ReduceKind::Add;
}

/// The update of one carried value, rewritten for parts of it.
struct Update {
  scf::ForOp loop;
  BlockArgument argument;
  Value parts; // in the loop, once it is rewritten
  RankedTensorType partType;
  nv::ReduceKind kind = nv::ReduceKind::Add;
  bool reduces = false, scales = false;
  llvm::DenseMap<Operation *, unsigned> factors; // operands that are multiplied with, not taken apart

  bool dependsOnArgument(Value value) const {
    SmallVector<Value> worklist{value};
    llvm::DenseSet<Operation *> seen;
    while (!worklist.empty()) {
      Value next = worklist.pop_back_val();
      if (next == argument)
        return true;
      Operation *def = next.getDefiningOp();
      if (def && loop->isProperAncestor(def) && seen.insert(def).second)
        worklist.append(def->operand_begin(), def->operand_end());
    }
    return false;
  }

  bool isCombination(Operation *op) const {
    return isa_and_nonnull<arith::AddFOp, arith::AddIOp, arith::MaxNumFOp, arith::MaximumFOp,
                           arith::MaxSIOp, arith::MinNumFOp, arith::MinimumFOp, arith::MinSIOp>(op);
  }

  /// Whether `value` is linear in the carried value and in reductions, each used once.
  bool matches(Value value) {
    if (value == argument)
      return value.hasOneUse();
    Operation *def = value.getDefiningOp();
    if (!def || def->getBlock() != loop.getBody() || !value.hasOneUse())
      return false;
    if (auto reduce = dyn_cast<nv::ReduceOp>(def)) {
      auto source = reduce.getSource().getType();
      if (source.getRank() != 2 || reduce.getDim() != 1 || source.getDimSize(1) % foldColumns ||
          !comesFromProduct(reduce.getSource()) || (reduces && kind != reduce.getKind()))
        return false;
      kind = reduce.getKind();
      return reduces = true;
    }
    if (isCombination(def)) {
      bool both = matches(def->getOperand(0)) && matches(def->getOperand(1));
      return both && kind == kindOf(def);
    }
    if (isa<arith::MulFOp>(def))
      return matchesProduct(def, 0) || matchesProduct(def, 1);
    if (auto fma = dyn_cast<math::FmaOp>(def))
      return matchesProduct(def, 0) && matches(fma.getC());
    return false;
  }

  /// Whether operand `part` (0 or 1) is linear and the other one a factor; nothing changes if not.
  bool matchesProduct(Operation *op, unsigned part) {
    auto before = std::tuple(kind, reduces, scales);
    scales = true;
    factors[op] = 1 - part;
    if (!dependsOnArgument(op->getOperand(1 - part)) && matches(op->getOperand(part)) &&
        kind == nv::ReduceKind::Add)
      return true;
    std::tie(kind, reduces, scales) = before;
    return false;
  }

  bool applies(Value yielded) {
    return matches(yielded) && reduces && (!scales || kind == nv::ReduceKind::Add) &&
           dependsOnArgument(yielded);
  }

  Value rewrite(OpBuilder &builder, Value value) {
    if (value == argument)
      return parts;
    Operation *def = value.getDefiningOp();
    Location loc = def->getLoc();
    builder.setInsertionPoint(def);
    if (auto reduce = dyn_cast<nv::ReduceOp>(def))
      return nv::FoldOp::create(builder, loc, partType, reduce.getKind(), reduce.getSource());
    SmallVector<Value> operands;
    auto factor = factors.find(def);
    for (auto [i, operand] : llvm::enumerate(def->getOperands())) {
      bool whole = factor != factors.end() && factor->second == i;
      Value part = whole ? nv::BroadcastOp::create(builder, loc, partType, operand, 1).getResult()
                         : rewrite(builder, operand);
      builder.setInsertionPoint(def);
      operands.push_back(part);
    }
    return cloneFor(builder, def, operands, partType);
  }
};

/// What each thread has at first: for a sum the value in one column and zero in the others.
Value initialParts(OpBuilder &builder, Location loc, Value init, const Update &update) {
  RankedTensorType type = update.partType;
  Value all = nv::BroadcastOp::create(builder, loc, type, init, 1);
  Attribute zero = builder.getZeroAttr(type.getElementType());
  if (update.kind != nv::ReduceKind::Add)
    return all;
  Value zeros = arith::ConstantOp::create(builder, loc, DenseElementsAttr::get(type, zero));
  DenseElementsAttr constant;
  if (matchPattern(init, m_Constant(&constant)) && constant.isSplat() &&
      constant.getSplatValue<Attribute>() == zero)
    return zeros;
  auto indices = RankedTensorType::get(type.getShape(), builder.getI32Type());
  Value column = nv::IndexOp::create(builder, loc, indices, 1);
  Value first = arith::ConstantOp::create(
      builder, loc, DenseElementsAttr::get(indices, builder.getI32IntegerAttr(0)));
  Value isFirst =
      arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, column, first);
  return arith::SelectOp::create(builder, loc, isFirst, all, zeros);
}

/// Replaces the loop by one that carries parts in the place of argument `index`.
scf::ForOp rewriteLoop(scf::ForOp loop, Update &update) {
  OpBuilder builder(loop);
  Location loc = loop.getLoc();
  unsigned index = update.argument.getArgNumber() - 1;
  SmallVector<Value> inits(loop.getInitArgs());
  inits[index] = initialParts(builder, loc, inits[index], update);
  auto next = scf::ForOp::create(builder, loc, loop.getLowerBound(), loop.getUpperBound(),
                                 loop.getStep(), inits);
  next->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
  update.parts = next.getRegionIterArg(index);
  Value yielded = loop.getYieldedValues()[index];
  Value parts = update.rewrite(builder, yielded);
  auto yield = cast<scf::YieldOp>(loop.getBody()->getTerminator());
  yield->setOperand(index, parts);
  // The old update, from its end backwards.
  SmallVector<Value> dead{yielded};
  while (!dead.empty()) {
    Operation *def = dead.pop_back_val().getDefiningOp();
    if (!def || !loop->isProperAncestor(def) || !def->use_empty() || !isPure(def))
      continue;
    dead.append(def->operand_begin(), def->operand_end());
    def->erase();
  }
  Block *body = next.getBody();
  for (auto [from, to] : llvm::zip(loop.getBody()->getArguments(), body->getArguments()))
    if (from != update.argument)
      from.replaceAllUsesWith(to);
  if (!body->empty())
    body->getTerminator()->erase();
  body->getOperations().splice(body->end(), loop.getBody()->getOperations());
  builder.setInsertionPointAfter(next);
  for (auto [from, to] : llvm::zip(loop.getResults(), next.getResults())) {
    if (from.getResultNumber() != index)
      from.replaceAllUsesWith(to);
    else if (!from.use_empty())
      from.replaceAllUsesWith(
          nv::ReduceOp::create(builder, loc, from.getType(), update.kind, to, 1,
                               /*chains=*/2, /*scratch=*/Value()));
  }
  loop.erase();
  return next;
}

struct DeferReductions : tileloom::warp::impl::WarpDeferReductionsBase<DeferReductions> {
  void runOnOperation() override {
    SmallVector<scf::ForOp> loops;
    getOperation()->walk([&](scf::ForOp loop) {
      if (loop->getParentOfType<RoleOp>())
        loops.push_back(loop);
    });
    for (scf::ForOp loop : loops)
      for (unsigned i = 0; i < loop.getNumRegionIterArgs(); ++i) {
        BlockArgument argument = loop.getRegionIterArg(i);
        auto type = dyn_cast<RankedTensorType>(argument.getType());
        if (!type || type.getRank() != 1 || tile::elementBits(type.getElementType()) != 32)
          continue;
        Update update;
        update.loop = loop;
        update.argument = argument;
        update.partType =
            RankedTensorType::get({type.getDimSize(0), foldColumns}, type.getElementType());
        if (update.applies(loop.getYieldedValues()[i]))
          loop = rewriteLoop(loop, update);
      }
  }
};

} // namespace
