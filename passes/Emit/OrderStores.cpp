//===- OrderStores.cpp - Results of plain kernels one store after the other ---------------===//
//
// In: kernels whose registers are capped, as scalars. Out: the same, with what a store writes
// computed just after what the store before it writes.
//
// Operations on tiles leave a row's results side by side: all loads of weights, all products, all
// conversions, all stores. ptxas, which begins with what it reads first, then has most of them in
// registers at once. By stores, each thread's 16 bytes of weights are loaded where they are used
// (layer norm of 16384 columns on an H200: 3 % faster; softmax: no change). Loads stay before the
// stores of their block: a store may write what a load reads. What a block begins with keeps its
// order: there is nothing to do before its loads, so all should be in flight.
//
//===--------------------------------------------------------------------------------------===//

#include "passes/Emit/Passes.h"

#include "passes/Emit/GlobalAccess.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace tileloom::emit {
#define GEN_PASS_DEF_ORDERSTORES
#include "passes/Emit/Passes.h.inc"
} // namespace tileloom::emit

using namespace mlir;
using namespace tileloom;
using namespace tileloom::emit;

namespace {

bool isMarked(Operation *op, StringRef access) {
  auto mark = op->getAttrOfType<StringAttr>(accessAttrName);
  return mark && mark == access;
}

bool isLoad(Operation *op) {
  auto load = dyn_cast<LLVM::LoadOp>(op);
  return isMarked(op, "load") || (load && !load.getVolatile_());
}

bool isStore(Operation *op) {
  auto store = dyn_cast<LLVM::StoreOp>(op);
  return isMarked(op, "store") ||
         (store && !store.getVolatile_() &&
          cast<LLVM::LLVMPointerType>(store.getAddr().getType()).getAddressSpace() == 1);
}

/// Operations one after the other that may change places: loads, then stores, and pure ones.
struct Run {
  SmallVector<Operation *> operations, stores;

  /// Whether it could be taken in.
  bool add(Operation *op) {
    if (isStore(op))
      stores.push_back(op);
    else if (op->getNumRegions() || op->hasTrait<OpTrait::IsTerminator>() ||
             !(isMemoryEffectFree(op) || (isLoad(op) && stores.empty())))
      return false;
    operations.push_back(op);
    return true;
  }

  void order() const {
    if (stores.size() < 2)
      return;
    DenseSet<Operation *> pending(operations.begin(), operations.end());
    Operation *end = operations.back()->getNextNode();
    SmallVector<Operation *> ordered;
    auto visit = [&](auto &self, Operation *op) -> void {
      if (!pending.erase(op))
        return;
      for (Value operand : op->getOperands())
        if (Operation *from = operand.getDefiningOp())
          self(self, from);
      ordered.push_back(op);
    };
    for (Operation *store : stores)
      for (Value operand : store->getOperands())
        if (Operation *from = operand.getDefiningOp())
          visit(visit, from);
    for (Operation *op : operations)
      if (!isStore(op))
        visit(visit, op);
    llvm::append_range(ordered, stores);
    Block *block = operations.front()->getBlock();
    for (Operation *op : ordered)
      op->moveBefore(block, end ? end->getIterator() : block->end());
  }
};

struct OrderStores : tileloom::emit::impl::OrderStoresBase<OrderStores> {
  void runOnOperation() override {
    getOperation()->walk([](func::FuncOp function) {
      if (function->hasAttr(nv::wantedRegistersAttrName))
        function.walk([](Block *block) { order(*block); });
      function.walk([](LLVM::InlineAsmOp op) { op->removeAttr(accessAttrName); });
    });
  }

  static void order(Block &block) {
    SmallVector<Operation *> all;
    for (Operation &op : block)
      all.push_back(&op);
    Run run;
    bool first = true;
    for (Operation *op : all) {
      if (run.add(op))
        continue;
      if (!first)
        run.order();
      first = false;
      run = {};
      run.add(op);
    }
    if (!first)
      run.order();
  }
};

} // namespace
