//===- WrittenMemory.cpp - Memory that a kernel reads and writes through pointers ---------===//

#include "passes/Warp/WrittenMemory.h"

#include "dialects/NV/NV.h"
#include "dialects/Tile/Kernel.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tileloom;

/// The address that an operation writes to; null if it writes none through a pointer.
static Value writtenPointer(Operation *op) {
  if (auto scatter = dyn_cast<tile::ScatterOp>(op))
    return scatter.getPointer();
  if (auto atomic = dyn_cast<tile::AtomicOp>(op))
    return atomic.getPointer();
  if (auto arrival = dyn_cast<tile::LastArrivalOp>(op))
    return arrival.getPointer();
  if (auto partial = dyn_cast<nv::StorePartialOp>(op))
    return partial.getPointer();
  return {};
}

WrittenMemory::WrittenMemory(func::FuncOp kernel) {
  kernel.walk([&](Operation *op) {
    if (Value pointer = writtenPointer(op))
      writers.emplace_back(op, basesOf(pointer));
  });
}

/// Follows sums of 64 bits: one term is the base, others are offsets.
WrittenMemory::Bases WrittenMemory::basesOf(Value pointer) {
  Bases marked, wide;
  bool known = true;
  llvm::SetVector<Value> work;
  auto push = [&](Value value) {
    if (value.getType().isInteger(64))
      work.insert(value);
  };
  auto carried = [&](scf::ForOp loop, unsigned index) {
    push(loop.getInitArgs()[index]);
    push(loop.getYieldedValues()[index]);
  };
  push(pointer);
  for (size_t next = 0; next < work.size(); ++next) {
    Value value = work[next];
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      Operation *owner = argument.getOwner()->getParentOp();
      if (auto function = dyn_cast<func::FuncOp>(owner))
        (function.getArgAttr(argument.getArgNumber(), tile::pointerAttrName) ? marked : wide).push_back(argument);
      else if (auto loop = dyn_cast<scf::ForOp>(owner); loop && argument != loop.getInductionVar())
        carried(loop, argument.getArgNumber() - 1);
      else
        known = false;
      continue;
    }
    auto result = cast<OpResult>(value);
    Operation *def = result.getOwner();
    if (auto loop = dyn_cast<scf::ForOp>(def))
      carried(loop, result.getResultNumber());
    else if (auto branch = dyn_cast<scf::IfOp>(def))
      for (Region *region : branch.getRegions())
        push(region->front().getTerminator()->getOperand(result.getResultNumber()));
    else if (isPure(def) && !def->getNumRegions())
      llvm::for_each(def->getOperands(), push);
    else
      known = false;
  }
  return !marked.empty() ? marked : known ? wide : Bases();
}

Operation *WrittenMemory::writerOf(tile::GatherOp gather,
                                   function_ref<bool(Operation *)> counts) const {
  if (gather.getInvariant())
    return nullptr;
  Bases read = basesOf(gather.getPointer());
  for (const auto &[op, bases] : writers) {
    bool same = read.empty() || bases.empty() ||
                llvm::any_of(bases, [&](Value base) { return llvm::is_contained(read, base); });
    if (same && counts(op))
      return op;
  }
  return nullptr;
}

bool WrittenMemory::isWritten(tile::GatherOp gather) const {
  return writerOf(gather, [](Operation *) { return true; });
}
