//===- ExtractPlacement.cpp - Results beside the call that gives them -----------------------===//
//
// LLVM's passes sink the extractvalue of a result that only a later block uses. Instruction
// selection then reads all results of the call anew for each of them: 96 times 96 copies, most of
// them dropped again, for the sums of one MMA. In the call's own block each is read once.
//
//===--------------------------------------------------------------------------------------===//

#include "ExtractPlacement.h"

#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"

void tileloom::placeExtracts(llvm::Module &module) {
  for (llvm::Function &function : module) {
    llvm::SmallVector<llvm::CallInst *> calls;
    for (llvm::Instruction &instruction : llvm::instructions(function))
      if (auto *call = llvm::dyn_cast<llvm::CallInst>(&instruction);
          call && call->getType()->isStructTy())
        calls.push_back(call);
    for (llvm::CallInst *call : calls)
      for (llvm::User *user : call->users())
        if (auto *extract = llvm::dyn_cast<llvm::ExtractValueInst>(user);
            extract && extract->getParent() != call->getParent())
          extract->moveAfter(call);
  }
}
