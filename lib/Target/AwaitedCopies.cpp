//===- AwaitedCopies.cpp - No copy between a product and its wait ---------------------------===//
//
// The assembly of a wait for wgmma has the sums as operands that it leaves as they are. A sum that a loop changes for the next product, and that
// is used behind the loop as it was, is in two registers at once; LLVM makes the copy in front of the assembly, where the product still
// owns what it reads. Empty assembly behind the wait takes the place of the wait there: copies are then made in front of that.
//
//===--------------------------------------------------------------------------------------===//

#include "AwaitedCopies.h"

#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Module.h"

using namespace llvm;

/// Whether some of the results is changed in the loop, and used behind it as it is.
static bool isUsedTwice(CallInst *wait, const Loop *loop) {
  for (User *extract : wait->users()) {
    bool changed = false, kept = false;
    for (User *user : extract->users()) {
      auto *instruction = cast<Instruction>(user);
      bool inside = loop->contains(instruction);
      changed |= inside && !isa<PHINode>(instruction);
      kept |= !inside;
    }
    if (changed && kept)
      return true;
  }
  return false;
}

static void copyBehind(CallInst *wait) {
  auto *assembly = cast<InlineAsm>(wait->getCalledOperand());
  SmallVector<User *> extracts(wait->users());
  IRBuilder<> builder(wait->getNextNode());
  SmallVector<Value *> results;
  for (unsigned i = 0; i < wait->arg_size(); ++i)
    results.push_back(builder.CreateExtractValue(wait, i));
  InlineAsm *none = InlineAsm::get(assembly->getFunctionType(), "", assembly->getConstraintString(), /*hasSideEffects=*/false);
  Value *copies = builder.CreateCall(none, results);
  for (unsigned i = 0; i < wait->arg_size(); ++i) {
    Value *copy = builder.CreateExtractValue(copies, i);
    for (User *user : extracts)
      if (auto *extract = cast<ExtractValueInst>(user); extract->getIndices() == ArrayRef<unsigned>(i))
        extract->replaceAllUsesWith(copy);
  }
  for (User *extract : extracts)
    cast<Instruction>(extract)->eraseFromParent();
}

void tileloom::copyAwaited(Module &module) {
  for (Function &function : module) {
    SmallVector<CallInst *> waits;
    for (Instruction &instruction : instructions(function)) {
      auto *call = dyn_cast<CallInst>(&instruction);
      auto *assembly = call ? dyn_cast<InlineAsm>(call->getCalledOperand()) : nullptr;
      auto *type = call ? dyn_cast<StructType>(call->getType()) : nullptr;
      if (assembly && type && type->getNumElements() == call->arg_size() && assembly->getAsmString().starts_with("wgmma.wait_group"))
        waits.push_back(call);
    }
    if (waits.empty())
      continue;
    DominatorTree dominators(function);
    LoopInfo loops(dominators);
    for (CallInst *wait : waits)
      if (const Loop *loop = loops.getLoopFor(wait->getParent()); loop && isUsedTwice(wait, loop))
        copyBehind(wait);
  }
}
