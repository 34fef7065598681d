//===- LoopHints.cpp - Keep main loops as they were scheduled -------------------------------===//
//
// A loop that carries an accumulator was shaped by the schedule: its k-steps are written out, and
// its stage and phase advance once an iteration. LLVM sees few instructions in it (an MMA is one)
// and would unroll it, which moves accumulators and doubles the code. Loops that carry more values
// than a threshold are marked; `llvm.loop` metadata that the program has on a loop goes before.
//
//===--------------------------------------------------------------------------------------===//

#include "LoopHints.h"

#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"

void tileloom::keepLoopsThatCarry(llvm::Module &module, unsigned maxCarried) {
  for (llvm::Function &function : module) {
    if (function.isDeclaration())
      continue;
    llvm::DominatorTree dominators(function);
    llvm::LoopInfo loops(dominators);
    for (llvm::Loop *loop : loops.getLoopsInPreorder()) {
      auto phis = loop->getHeader()->phis();
      if (!loop->getLoopID() &&
          std::distance(phis.begin(), phis.end()) > static_cast<std::ptrdiff_t>(maxCarried))
        loop->setLoopAlreadyUnrolled();
    }
  }
}
