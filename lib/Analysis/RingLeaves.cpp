//===- RingLeaves.cpp - Values to try for what decides trip counts -------------------------===//
//
// What the walk of RingInputs.cpp stops at: which values are one and the same in several roles, which
// values each is tried with, and all of them together.
//
//===--------------------------------------------------------------------------------------===//

#include "tileloom/Analysis/RingInputs.h"

#include "dialects/Warp/Warp.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

#include <cmath>
#include <set>

using namespace mlir;
using namespace tileloom;
using namespace tileloom::rings;

/// What an operation is in every role that has it: operands from outside of the roles are the same values, what a role computes in front of the
/// loops around the operation is computed alike if it reads the same, and the rest goes with the iteration.
static void describe(Operation *op, llvm::raw_ostream &stream) {
  stream << op->getName() << op->getAttrDictionary() << '(';
  for (Value operand : op->getOperands()) {
    Operation *def = operand.getDefiningOp();
    Operation *place = def ? def : operand.getParentRegion()->getParentOp();
    if (!place || isa<FunctionOpInterface>(place) || !place->getParentOfType<warp::RoleOp>())
      stream << operand.getAsOpaquePointer();
    else if (def && def->getParentRegion() != op->getParentRegion())
      describe(def, stream);
    stream << ' ';
  }
  stream << ')';
}

void Inputs::addLeaf(Value value, llvm::StringMap<int32_t> &functions) {
  Leaf leaf;
  leaf.value = value;
  Operation *op = value.getDefiningOp();
  if (!op) {
    if (!isa<FunctionOpInterface>(cast<BlockArgument>(value).getOwner()->getParentOp()))
      return;
    leaf.kind = Leaf::Argument;
  } else if (fixedValue(op, 0, 0, 1) || ScalarOp::of(op) ||
             isa<scf::ForOp, scf::IfOp, scf::WhileOp>(op)) {
    return;
  } else if (isa<nv::AtomicAddOp, nv::GlobalAtomicOp>(op)) {
    leaf.kind = Leaf::Counter;
  } else if (!sentTo(op).empty()) {
    leaf.kind = Leaf::Data;
    leaf.received = true;
  } else {
    bool tiles = llvm::any_of(op->getOperandTypes(), llvm::IsaPred<ShapedType>);
    leaf.kind = tiles || op->getNumRegions() ? Leaf::Data : Leaf::Function;
  }
  if (leaf.kind == Leaf::Function) {
    // The same operation in another role, up to operands that are computed alike, gives the same
    // value.
    std::string key;
    llvm::raw_string_ostream stream(key);
    describe(op, stream);
    stream << cast<OpResult>(value).getResultNumber();
    auto [it, fresh] = functions.try_emplace(key, leaves.size());
    leafIndex[value] = it->second;
    if (!fresh)
      return;
  } else {
    leafIndex[value] = leaves.size();
  }
  leaves.push_back(leaf);
}

/// The values to try for a leaf that `value` is, beside those that it has.
void Inputs::addCandidates(Leaf &leaf, Value value, int64_t tripLimit) {
  const Mark &how = marks[value];
  if (leaf.received) {
    leaf.candidates.assign({0});
    return;
  }
  std::set<int64_t> values(leaf.candidates.begin(), leaf.candidates.end());
  int64_t unit = std::max(1.0, std::ceil(how.unit));
  bool loops = how.tile || how.inner, isBit = value.getType().isInteger(1);
  if (isBit) {
    leaf.decidesWhile |= loops && leaf.kind != Leaf::Argument && whileConditions.contains(value);
    if (!leaf.decidesWhile)
      values.insert({0, 1});
  }
  if (how.tile) {
    int64_t least = std::ceil(how.least);
    for (int64_t trips = 0; trips <= how.mostTiles; ++trips)
      values.insert(trips * least);
    if (unit > least) // a share of the tiles as well: at its first trip, and one more tile
      values.insert({unit, unit + least});
  } else if (how.inner && (leaf.decidesWhile || !isBit)) {
    values.insert({0, unit, 2 * unit});
    for (int64_t depth : how.depths)
      for (int64_t trips : {depth, depth + 1, 2 * depth + 1})
        values.insert(trips * unit);
    if (tripLimit)
      values.erase(values.lower_bound(tripLimit * unit), values.end());
    if (unit > 1) // a ragged end
      values.insert(unit + 1);
  } else if (how.extra && !isBit) {
    values.insert({0, unit, 2 * unit});
  } else if (values.empty()) {
    values.insert(unit);
  }
  leaf.candidates.assign(values.begin(), values.end());
}

const Leaf *Inputs::leafOf(Value value) const {
  auto it = leafIndex.find(value);
  return it == leafIndex.end() ? nullptr : &leaves[it->second];
}

int64_t Inputs::valueOf(Value value, const Valuation &valuation, uint64_t context) const {
  int32_t index = leafIndex.lookup(value);
  const Leaf &leaf = leaves[index];
  int64_t chosen = leaf.candidates[valuation[index]];
  switch (leaf.kind) {
  case Leaf::Argument:
    return chosen;
  case Leaf::Counter:
    return context;
  case Leaf::Function:
  case Leaf::Data:
    if (leaf.decidesWhile) // true `chosen` times, then false once
      return context % (chosen + 1) < static_cast<uint64_t>(chosen);
    return leaf.candidates[(valuation[index] + context) % leaf.candidates.size()];
  }
  return 0;
}

std::vector<Valuation> Inputs::enumerate(size_t limit, bool &complete) const {
  size_t product = 1;
  for (const Leaf &leaf : leaves)
    product =
        std::min(product * (leaf.kind == Leaf::Counter ? 1 : leaf.candidates.size()), limit + 1);
  complete = product <= limit;
  std::vector<Valuation> result;
  Valuation current(leaves.size(), 0);
  if (complete) {
    while (true) {
      result.push_back(current);
      size_t leaf = leaves.size();
      while (leaf-- > 0) {
        if (leaves[leaf].kind != Leaf::Counter &&
            ++current[leaf] < static_cast<int32_t>(leaves[leaf].candidates.size()))
          break;
        current[leaf] = 0;
      }
      if (leaf == static_cast<size_t>(-1))
        return result;
    }
  }
  // Every leaf alone, with the others at each of a few levels.
  for (size_t level : {0, 1, 2, 3, 5})
    for (size_t leaf = 0; leaf < leaves.size(); ++leaf)
      for (size_t choice = 0; choice < leaves[leaf].candidates.size() && result.size() < limit;
           ++choice) {
        for (size_t other = 0; other < leaves.size(); ++other)
          current[other] = std::min(level, leaves[other].candidates.size() - 1);
        current[leaf] = choice;
        result.push_back(current);
      }
  return result;
}
