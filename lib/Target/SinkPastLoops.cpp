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

/// Instructions that take a cycle and no memory.
static bool isCheap(const Instruction &instruction) {
  if (!instruction.getType()->isIntOrPtrTy())
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

/// Moves `instruction` to the blocks that use it, if all of them are in `after`.
static void sink(Instruction &instruction, const SmallPtrSetImpl<BasicBlock *> &after) {
  MapVector<BasicBlock *, SmallVector<Use *>> uses;
  for (Use &use : instruction.uses()) {
    auto *user = cast<Instruction>(use.getUser());
    if (isa<PHINode>(user) || !after.contains(user->getParent()))
      return;
    uses[user->getParent()].push_back(&use);
  }
  for (auto &[block, own] : uses) {
    Instruction *first = cast<Instruction>(own.front()->getUser());
    for (Use *use : own)
      if (auto *user = cast<Instruction>(use->getUser()); user->comesBefore(first))
        first = user;
    Instruction *copy = instruction.clone();
    copy->insertBefore(first->getIterator());
    for (Use *use : own)
      use->set(copy);
  }
  if (!uses.empty())
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
      for (DomTreeNode *node = dominators[loop->getHeader()]->getIDom(); node; node = node->getIDom())
        for (Instruction &instruction : make_early_inc_range(reverse(*node->getBlock())))
          if (isCheap(instruction))
            sink(instruction, after);
    }
  }
}
