//===- FindLifetimes.cpp - What can share memory ------------------------------------------===//
//
// In: roles with rings and layouts. Out: buffers, and roles for their scratch, are numbered
// (`nv.storage`), and the function lists the pairs of numbers whose uses never meet (`nv.apart`):
// allocation may give them the same bytes, or the same columns of tensor memory.
//
//===--------------------------------------------------------------------------------------===//

#include "passes/NV/Passes.h"

#include "passes/NV/SharedStorage.h"
#include "tileloom/Analysis/Exchange.h"
#include "tileloom/Analysis/Lifetimes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tileloom::nv {
#define GEN_PASS_DEF_NVFINDLIFETIMES
#include "passes/NV/Passes.h.inc"
} // namespace tileloom::nv

using namespace mlir;
using namespace tileloom;

namespace {

struct FindLifetimes : tileloom::nv::impl::NVFindLifetimesBase<FindLifetimes> {
  void runOnOperation() override {
    getOperation()->walk([&](warp::SpecializeOp specialize) {
      auto function = specialize->getParentOfType<func::FuncOp>();
      if (!function)
        return;
      SmallVector<Operation *> users;
      specialize.walk([&](Operation *op) {
        if (!exchangesTile(op))
          return; // what partial results take is not worth it
        llvm::Expected<int64_t> bytes = scratchBytes(op);
        if (bytes && *bytes)
          users.push_back(op);
        else if (!bytes)
          llvm::consumeError(bytes.takeError()); // nv-assign-scratch says so
      });
      Lifetimes lifetimes = findLifetimes(specialize, users);
      if (lifetimes.apart.empty())
        return;
      Builder builder(&getContext());
      for (auto [number, storage] : llvm::enumerate(lifetimes.storages))
        storage->setAttr(nv::storageAttrName, builder.getI64IntegerAttr(number));
      SmallVector<int64_t> pairs;
      for (auto [first, second] : lifetimes.apart)
        pairs.append({first, second});
      function->setAttr(nv::apartAttrName, builder.getDenseI64ArrayAttr(pairs));
    });
  }
};

} // namespace
