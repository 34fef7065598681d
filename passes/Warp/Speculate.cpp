//===- Speculate.cpp - Compute with the old value, again if it changed --------------------===//
//
// In: loops in which a tile is computed from a value of each row that seldom changes: a choice between
// something new, where that is beyond what the loop carries by a threshold, and what the loop carries.
// Everything that depends on the choice waits for the reduction that it asks. Out: the first such tile
// of an iteration that keeps the special function unit busy is computed with the carried value at once,
// beside the reductions; a vote of the warp asks whether the choice took something new for any row, and
// in its branch the tile is computed again. Without a vote both values are the same, so the result is the
// same to the bit; what was computed for nothing is not read.
//
// Only the first tile: those of the other row slots begin when the reductions are over. By default in loops
// in which one replica's chain of work is longer than what the busiest unit does for all (the mark of
// warp-pipeline-role): elsewhere the chain is hidden. `speculate = "on"` asks for all loops, "off" for none.
// The tile and what it is computed from live side by side up to the vote; where a thread has no registers
// for both, nothing changes. Nor do iterations with masks: warp-split-masks leaves them for the edges, which
// are few and come first, when the choice does take something new.
//
//===--------------------------------------------------------------------------------------===//

#include "passes/Warp/Passes.h"
#include "passes/Warp/Projection.h"

#include "SkewExpansion.h"
#include "dialects/Warp/Warp.h"
#include "tileloom/Schedule/Engines.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"

namespace tileloom::warp {
#define GEN_PASS_DEF_WARPSPECULATE
#include "passes/Warp/Passes.h.inc"
} // namespace tileloom::warp

using namespace mlir;
using namespace tileloom;
using namespace tileloom::warp;

/// Registers of a thread beside its tiles. Tiles of 90 + 80 and a second 40 fit in 232 (attention in 8 bits, 160 keys), 94 + 96 and 48 spill
/// 104 bytes, 134 + 64 and 32 in 240 spill 24.
static constexpr int64_t otherRegisters = 16;

namespace {

bool isElementwise(Operation *op) {
  return OpTrait::hasElementwiseMappableTraits(op) || isa<nv::BroadcastOp, nv::SplatOp>(op);
}

int64_t rankOf(Operation *op) {
  auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  return type ? type.getRank() : 0;
}

/// A choice between what the loop carries and something new, and what is computed from it.
struct Speculation {
  scf::ForOp loop;
  arith::SelectOp choice;
  Operation *tile = nullptr;          // first special functions of a tile that depend on the choice
  nv::FoldOp fold;                    // of that tile, or none
  llvm::SetVector<Operation *> chain; // from the choice to the tile
  Operation *anchor = nullptr;        // the reduction that the choice waits for

  Speculation(scf::ForOp loop, arith::SelectOp choice) : loop(loop), choice(choice) {}

  Block *body() { return loop.getBody(); }

  /// What the loop carries, seen through slices of rows.
  BlockArgument carried(Value value) {
    while (auto slot = value.getDefiningOp<nv::RowSlotOp>())
      value = slot.getSource();
    auto argument = dyn_cast<BlockArgument>(value);
    return argument && argument.getOwner() == body() && argument.getArgNumber() ? argument : BlockArgument();
  }

  /// A carried value, moved by what does not change in the loop.
  bool isThreshold(Value value, BlockArgument argument) {
    while (auto slot = value.getDefiningOp<nv::RowSlotOp>())
      value = slot.getSource();
    if (value == argument)
      return true;
    Operation *def = value.getDefiningOp();
    if (!isa_and_nonnull<arith::AddFOp, arith::SubFOp>(def))
      return false;
    auto fixed = [&](Value operand) { return loop.isDefinedOutsideOfLoop(operand); };
    return (carried(def->getOperand(0)) == argument && fixed(def->getOperand(1))) ||
           (carried(def->getOperand(1)) == argument && fixed(def->getOperand(0)));
  }

  bool isSeldom() {
    auto compare = choice.getCondition().getDefiningOp<arith::CmpFOp>();
    BlockArgument argument = carried(choice.getFalseValue());
    if (!compare || !argument)
      return false;
    Value other = choice.getTrueValue();
    return (compare.getLhs() == other && isThreshold(compare.getRhs(), argument)) ||
           (compare.getRhs() == other && isThreshold(compare.getLhs(), argument));
  }

  /// Everything in the loop that `value` is computed from.
  llvm::SetVector<Operation *> sourcesOf(Value value) {
    llvm::SetVector<Operation *> found;
    SmallVector<Value> work{value};
    while (!work.empty())
      if (Operation *def = work.pop_back_val().getDefiningOp(); def && def->getBlock() == body() && found.insert(def))
        work.append(def->operand_begin(), def->operand_end());
    return found;
  }

  /// Finds the tile, its chain and the reduction; false if there is nothing to gain.
  bool find() {
    if (!isSeldom())
      return false;
    llvm::DenseSet<Operation *> dependent{choice};
    for (Operation *op = choice->getNextNode(); op && !tile; op = op->getNextNode()) {
      if (llvm::none_of(op->getOperands(), [&](Value value) { return dependent.contains(value.getDefiningOp()); }))
        continue;
      if (!isElementwise(op) || !isPure(op))
        continue;
      dependent.insert(op);
      if (rankOf(op) == 2 && schedule::costOf(op).engine == schedule::Engine::Special)
        tile = op;
    }
    if (!tile)
      return false;
    SmallVector<Operation *> ordered;
    for (Operation *op : sourcesOf(tile->getResult(0))) {
      if (isa<arith::SelectOp>(op) && rankOf(op) == 2)
        return false; // a mask
      if (dependent.contains(op) && op != choice)
        ordered.push_back(op);
    }
    llvm::sort(ordered, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
    chain.insert(ordered.begin(), ordered.end());
    for (Operation *op : sourcesOf(choice.getCondition()))
      if (isa<nv::ReduceOp>(op) && (!anchor || op->isBeforeInBlock(anchor)))
        anchor = op;
    for (Operation *user : tile->getUsers())
      if (auto own = dyn_cast<nv::FoldOp>(user); own && own->getBlock() == body())
        fold = own;
    return anchor != nullptr;
  }

  /// What is computed with the carried value, before the reduction: the chain, and what it needs of constants and slices.
  bool collectCopies(llvm::SetVector<Operation *> &copies) {
    llvm::SetVector<Operation *> needed;
    SmallVector<Operation *> work(chain.begin(), chain.end());
    auto follow = [&](Value value) {
      if (value == choice.getResult())
        value = choice.getFalseValue();
      if (Operation *def = value.getDefiningOp(); def && def->getBlock() == body() && !def->isBeforeInBlock(anchor))
        work.push_back(def);
    };
    while (!work.empty()) {
      Operation *op = work.pop_back_val();
      if (!needed.insert(op))
        continue;
      bool cheap = isElementwise(op) || isa<nv::RowSlotOp, nv::ExtractOp>(op) || op->hasTrait<OpTrait::ConstantLike>();
      if (!cheap || !isPure(op))
        return false;
      for (Value operand : op->getOperands())
        follow(operand);
    }
    SmallVector<Operation *> ordered(needed.begin(), needed.end());
    llvm::sort(ordered, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
    copies.insert(ordered.begin(), ordered.end());
    return true;
  }

  /// Registers of a thread: what the loop carries and reads, the tiles that it waits for, and the second tile.
  int64_t registers(int64_t threads) {
    int64_t sum = schedule::registersOf(tile->getResult(0).getType(), threads) + otherRegisters;
    for (Value value : body()->getArguments())
      sum += schedule::registersOf(value.getType(), threads);
    llvm::SetVector<Value> outside;
    getUsedValuesDefinedAbove(loop.getRegion(), outside);
    for (Value value : outside) {
      Operation *def = value.getDefiningOp();
      auto type = dyn_cast<RankedTensorType>(value.getType());
      if (def && type && type.getRank() == 2 && !isa<nv::SplatOp, nv::IndexOp>(def) && !def->hasTrait<OpTrait::ConstantLike>())
        sum += schedule::registersOf(type, threads);
    }
    for (Operation *op : sourcesOf(tile->getResult(0)))
      if (isa<nv::WgmmaWaitOp, nv::GlobalLoadOp, nv::LocalLoadOp>(op))
        sum += schedule::registersOf(op->getResult(0).getType(), threads);
    return sum;
  }

  /// Where the vote stands: before the next work of the special function unit on a tile, when the other rows' reductions are over, too; before
  /// a wait; or before what cannot wait for it.
  Operation *votePlace(SmallVectorImpl<Operation *> &delayed) {
    llvm::DenseSet<Operation *> waiting{tile};
    if (fold)
      waiting.insert(fold);
    for (Operation *op = tile->getNextNode();; op = op->getNextNode()) {
      if (fold && op == fold.getOperation())
        continue;
      bool waits = llvm::any_of(op->getOperands(), [&](Value value) { return waiting.contains(value.getDefiningOp()); });
      bool special = op->getNumResults() && rankOf(op) == 2 && schedule::costOf(op).engine == schedule::Engine::Special;
      if (op->hasTrait<OpTrait::IsTerminator>() || special || op->getNumRegions() || isa<nv::WgmmaWaitOp>(op) || (waits && !isPure(op)))
        return op;
      if (waits) {
        waiting.insert(op);
        delayed.push_back(op);
      }
    }
  }

  void rewrite(const llvm::SetVector<Operation *> &copies) {
    OpBuilder builder(anchor);
    Location loc = tile->getLoc();
    IRMapping early;
    early.map(choice.getResult(), choice.getFalseValue());
    if (Operation *def = choice.getFalseValue().getDefiningOp(); def && copies.contains(def))
      early.map(choice.getResult(), builder.clone(*def, early)->getResult(0));
    for (Operation *op : copies)
      if (!early.contains(op->getResult(0)))
        builder.clone(*op, early);
    SmallVector<Value> first{early.lookup(tile->getResult(0))}, results{tile->getResult(0)};
    if (fold) {
      first.push_back(builder.clone(*fold, early)->getResult(0));
      results.push_back(fold.getResult());
    }
    SmallVector<Operation *> delayed;
    builder.setInsertionPoint(votePlace(delayed));
    Value any = nv::WarpAnyOp::create(builder, loc, builder.getI1Type(), choice.getCondition());
    auto branch = scf::IfOp::create(builder, loc, TypeRange(ValueRange(results)), any, /*withElse=*/true);
    for (auto [old, next] : llvm::zip(results, branch.getResults()))
      old.replaceAllUsesWith(next);
    if (fold)
      fold.getSourceMutable().assign(tile->getResult(0));
    builder.setInsertionPointToEnd(branch.thenBlock());
    auto last = scf::YieldOp::create(builder, loc, results);
    moveIntoBranch(last, branch);
    fuse(branch);
    builder.setInsertionPointToEnd(branch.elseBlock());
    scf::YieldOp::create(builder, loc, first);
    Operation *after = branch;
    for (Operation *op : delayed) {
      op->moveAfter(after);
      after = op;
    }
  }

  /// A product outside of the branch and a sum in it are one operation here, as the back end makes them of the early copy: it does not see
  /// across blocks, and the bits are to be the same.
  static void fuse(scf::IfOp branch) {
    auto contracts = [](Operation *op) {
      auto flags = cast<arith::ArithFastMathInterface>(op).getFastMathFlagsAttr();
      return flags && arith::bitEnumContainsAll(flags.getValue(), arith::FastMathFlags::contract);
    };
    for (Operation &op : llvm::make_early_inc_range(branch.thenBlock()->without_terminator())) {
      if (!isa<arith::AddFOp, arith::SubFOp>(op) || !contracts(&op))
        continue;
      for (unsigned i : {0, 1}) {
        auto product = op.getOperand(i).getDefiningOp<arith::MulFOp>();
        if (!product || branch->isAncestor(product) || !contracts(product))
          continue;
        OpBuilder builder(&op);
        auto negated = [&](Value value) { return arith::NegFOp::create(builder, op.getLoc(), value).getResult(); };
        bool minus = isa<arith::SubFOp>(op);
        Value a = minus && i == 1 ? negated(product.getLhs()) : product.getLhs();
        Value c = minus && i == 0 ? negated(op.getOperand(1)) : op.getOperand(1 - i);
        op.replaceAllUsesWith(math::FmaOp::create(builder, op.getLoc(), a, product.getRhs(), c));
        op.erase();
        if (product->use_empty())
          product->erase();
        break;
      }
    }
  }

  /// What only the tile needs is computed in the branch.
  void moveIntoBranch(Operation *last, scf::IfOp branch) {
    if (fold)
      fold->moveBefore(last);
    for (Operation *op : llvm::reverse(chain.getArrayRef())) {
      bool only = llvm::all_of(op->getUsers(), [&](Operation *user) { return branch->isAncestor(user); });
      if (only)
        op->moveBefore(branch.thenBlock(), branch.thenBlock()->begin());
    }
  }
};

struct Speculate : tileloom::warp::impl::WarpSpeculateBase<Speculate> {
  using WarpSpeculateBase::WarpSpeculateBase;

  void getDependentDialects(DialectRegistry &registry) const override {
    WarpSpeculateBase::getDependentDialects(registry);
    registry.insert<math::MathDialect>();
  }

  void runOnOperation() override {
    getOperation()->walk([&](scf::ForOp loop) {
      bool marked = static_cast<bool>(loop->removeAttr(longChainAttrName));
      tile::ScheduleAttr given = scheduleOf(loop);
      auto word = given ? given.word("speculate") : std::nullopt;
      auto role = loop->getParentOfType<RoleOp>();
      if (!role || word == StringRef("off") || !(marked || word == StringRef("on")))
        return;
      for (auto choice : loop.getBody()->getOps<arith::SelectOp>()) {
        Speculation first(loop, choice);
        if (!first.find())
          continue;
        llvm::SetVector<Operation *> copies;
        if (first.collectCopies(copies) && first.registers(32 * role.getWarps()) <= static_cast<int64_t>(role.getRegisters().value_or(255)))
          first.rewrite(copies);
        return; // the others begin when the reductions are over
      }
    });
  }
};

} // namespace
