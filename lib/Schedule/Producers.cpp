//===- Producers.cpp - Who computes an operand of a product -------------------------------===//
//
// The rates are those of Engines; how far they are reached was measured.
//
//===--------------------------------------------------------------------------------------===//

#include "tileloom/Schedule/Producers.h"

#include "tileloom/Schedule/CostModel.h"
#include "tileloom/Schedule/Engines.h"
#include "tileloom/Schedule/Limits.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tileloom;
using namespace tileloom::schedule;

/// Fitted to 20 products on an H200 (docs/notes/upper-half.md): the share of the shorter of
/// products and work that is not hidden behind the other one, by one warpgroup and by several; what
/// one warpgroup takes more than its unit does; clocks of an iteration for fences, barriers and
/// waits.
static constexpr double aloneOverlap = 0.6, sharedOverlap = 0.5, oneGroup = 1.2,
                        writtenHandOver = 300, readHandOver = 100, roleHandOver = 250;
/// What ptxas needs beside the sum of one product in the registers of the launch (C7602).
static constexpr int64_t productRegisters = 16;

static double productClocks(tile::DotOp dot, const Machine &machine) {
  auto a = cast<RankedTensorType>(dot.getA().getType());
  auto d = cast<RankedTensorType>(dot.getType());
  return double(d.getNumElements()) * a.getDimSize(1) * tile::elementBits(a.getElementType()) / 16 /
         machine.macsPerClock;
}

/// Clocks of the busiest unit for operations on tiles.
static double clocksOf(ArrayRef<Operation *> operations) {
  double busy[engineCount] = {};
  for (Operation *op : operations) {
    OpCost cost = costOf(op);
    busy[static_cast<unsigned>(cost.engine)] += cost.busy;
  }
  return *std::max_element(busy, busy + static_cast<unsigned>(Engine::None));
}

namespace {

/// What an operand is computed from in the body of its loop.
struct Computation {
  explicit Computation(Block *body) : body(body) {}

  /// Takes in the operations on tiles before `value`. Whether it depends on copies.
  bool add(Value value) {
    Operation *def = value.getDefiningOp();
    if (!def || def->getBlock() != body || !isa<RankedTensorType>(value.getType()))
      return false;
    if (isa<tile::LoadOp>(def)) {
      if (copies.insert(def))
        bytes += bytesOf(value.getType());
      return true;
    }
    if (operations.contains(def))
      return fromCopies.contains(def);
    bool depends = false;
    for (Value operand : def->getOperands())
      depends |= add(operand);
    operations.insert(def);
    if (depends)
      fromCopies.insert(def);
    return depends;
  }

  /// Whether nothing but products needs the result of `op`, by way of the operand if it is not that itself.
  bool isOnly(Operation *op) const { return operations.contains(op) && isUsedHere(op, /*byProducts=*/op == operations.back()); }

  bool isUsedHere(Operation *op, bool byProducts) const {
    return llvm::all_of(op->getUsers(), [&](Operation *user) {
      return operations.contains(user) || (byProducts && isa<tile::DotOp, tile::TransOp>(user));
    });
  }

  Block *body;
  llvm::SetVector<Operation *> operations, fromCopies, copies;
  double bytes = 0; // of the copies
};

} // namespace

ProducerCost schedule::producerCost(tile::DotOp dot, Value source, bool isB, int64_t replicas,
                                    bool takesTurns, const Machine &machine) {
  Block *body = dot->getBlock();
  Computation own(body);
  own.add(source);

  // What the warps that multiply do anyway; what only this operand needs they do not with a role.
  SmallVector<Operation *> others, only;
  double products = 0;
  for (Operation &op : *body)
    if (auto other = dyn_cast<tile::DotOp>(op))
      products += productClocks(other, machine);
    else if (!isa<tile::LoadOp, tile::TransOp>(op))
      (own.isOnly(&op) ? only : others).push_back(&op);

  double rest = clocksOf(others), moved = clocksOf(only),
         whole = clocksOf(own.operations.getArrayRef());
  double overlap = takesTurns || replicas == 1 ? aloneOverlap : sharedOverlap;
  auto iteration = [&](double work) {
    return std::max(products, work) + overlap * std::min(products, work);
  };
  // B is written for each replica, A stays in registers; both are read from the copies.
  double bytes = own.bytes + (isB ? bytesOf(source.getType()) : 0);
  double together = (moved + bytes / sharedMemoryBytes) * (isB ? replicas : 1);
  double ahead = whole + (own.bytes + bytesOf(source.getType())) / sharedMemoryBytes;

  ProducerCost cost;
  cost.together = iteration(rest + together) + (isB ? writtenHandOver : readHandOver);
  cost.apart = std::max(iteration(rest), ahead * oneGroup + roleHandOver);

  auto sum = cast<RankedTensorType>(dot.getType());
  int64_t held = sum.getNumElements() / (128 * replicas) * (takesTurns ? replicas : 1);
  double stage = bytesOf(source.getType());
  dot->getParentOfType<func::FuncOp>().walk([&](tile::LoadOp load) {
    if (load->getBlock() == body)
      stage += bytesOf(load.getType());
  });
  // A tile that a product reads as well is copied for each of the two; what else is computed from it is not this role's.
  cost.possible = llvm::all_of(own.fromCopies, [&](Operation *op) { return own.isOnly(op); }) &&
                  llvm::all_of(own.copies, [&](Operation *op) { return own.isUsedHere(op, /*byProducts=*/true); }) &&
                  isa<scf::ForOp, scf::WhileOp>(body->getParentOp());
  int64_t groups = replicas + 2; // with those of the load and the gather role
  cost.fits = cost.possible && groups * 128 <= 1024 &&
              held + registersBesideSums <= gatherRegisters(replicas, narrowRegisters).first &&
              held + productRegisters <= registersAtLaunch(groups) / groups &&
              2 * stage <= 0.75 * sharedBytes;
  return cost;
}
