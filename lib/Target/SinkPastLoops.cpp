//===- SinkPastLoops.cpp - Compute after a loop what only that needs ------------------------===//
//
// The addresses that a tile's result is stored to do not depend on the tile, so that licm computes
// them once for a kernel; they are then in registers through the loop over the tile's products,
// which has none to spare (eight of them spilled in attention with 160 keys a tile). Once a tile
// their instructions cost nothing: they go back into the blocks that use them, if these blocks are
// part of an outer loop and come after an inner one. A loop of one block is one that waits.
//
//===--------------------------------------------------------------------------------------===//

#include "SinkPastLoops.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"

using namespace llvm;

/// Fewer registers than this are not worth another order of instructions: with two, attention of head dimension 64 lost 2 to 7 %
/// (another turn of ptxas); with eight, 128 gained 1 to 1.7 %.
static constexpr int leastAddresses = 4;

/// Instructions that take a cycle, a register and no memory.
static bool isCheap(const Instruction &instruction) {
  Type *type = instruction.getType();
  if (!type->isIntegerTy(32) && !(type->isPointerTy() && type->getPointerAddressSpace() == 3))
    return false;
  switch (instruction.getOpcode()) {
  case Instruction::Add:
  case Instruction::Sub:
  case Instruction::And:
  case Instruction::Or:
  case Instruction::Xor:
  case Instruction::Shl:
  case Instruction::LShr:
  case Instruction::AShr:
  case Instruction::ZExt:
  case Instruction::Trunc:
  case Instruction::IntToPtr:
  case Instruction::PtrToInt:
  case Instruction::GetElementPtr:
    return true;
  default:
    return false;
  }
}

/// Blocks of `loop`, but not of its inner loops, that its inner loops lead to within one iteration.
static SmallPtrSet<BasicBlock *, 16> blocksAfterInnerLoops(Loop &loop, const LoopInfo &loops) {
  SmallVector<BasicBlock *> waiting;
  for (Loop *inner : loop)
    if (inner->getNumBlocks() > 1) {
      SmallVector<BasicBlock *> exits;
      inner->getExitBlocks(exits);
      waiting.append(exits);
    }
  SmallPtrSet<BasicBlock *, 16> reached, after;
  while (!waiting.empty()) {
    BasicBlock *block = waiting.pop_back_val();
    if (!loop.contains(block) || block == loop.getHeader() || !reached.insert(block).second)
      continue;
    if (loops.getLoopFor(block) == &loop)
      after.insert(block);
    waiting.append(succ_begin(block), succ_end(block));
  }
  return after;
}

/// Whether all users of `instruction` are in `after`, and take it as an address (or are in `sunk`).
static bool isNeededAfter(Instruction &instruction, const SmallPtrSetImpl<BasicBlock *> &after,
                          const SmallPtrSetImpl<Instruction *> &sunk) {
  return !instruction.use_empty() && all_of(instruction.uses(), [&](Use &use) {
    auto *user = cast<Instruction>(use.getUser());
    bool accesses = isa<CallBase>(user) || (isa<StoreInst>(user) && use.getOperandNo() == 1);
    return after.contains(user->getParent()) && (accesses || sunk.contains(user));
  });
}

/// Moves `instruction` to the blocks that use it, in front of the first use there.
static void sink(Instruction &instruction, SmallPtrSetImpl<Instruction *> &sunk) {
  MapVector<BasicBlock *, SmallVector<Use *>> uses;
  for (Use &use : instruction.uses())
    uses[cast<Instruction>(use.getUser())->getParent()].push_back(&use);
  for (auto &[block, own] : uses) {
    auto *first = cast<Instruction>(own.front()->getUser());
    for (Use *use : own)
      if (auto *user = cast<Instruction>(use->getUser()); user->comesBefore(first))
        first = user;
    Instruction *copy = instruction.clone();
    copy->insertBefore(first->getIterator());
    sunk.insert(copy);
    for (Use *use : own)
      use->set(copy);
  }
  instruction.eraseFromParent();
}

void tileloom::sinkPastLoops(Module &module) {
  for (Function &function : module) {
    if (function.isDeclaration())
      continue;
    DominatorTree dominators(function);
    LoopInfo loops(dominators);
    for (Loop *loop : loops.getLoopsInPreorder()) {
      SmallPtrSet<BasicBlock *, 16> after = blocksAfterInnerLoops(*loop, loops);
      if (after.empty())
        continue;
      // Users before what they use: a chain goes with its end.
      SmallVector<Instruction *> cheap;
      for (DomTreeNode *node = dominators[loop->getHeader()]->getIDom(); node; node = node->getIDom())
        for (Instruction &instruction : reverse(*node->getBlock()))
          if (isCheap(instruction))
            cheap.push_back(&instruction);
      SmallPtrSet<Instruction *, 32> sunk;
      if (count_if(cheap, [&](Instruction *end) { return isNeededAfter(*end, after, sunk); }) < leastAddresses)
        continue;
      for (Instruction *instruction : cheap)
        if (isNeededAfter(*instruction, after, sunk))
          sink(*instruction, sunk);
    }
  }
}
