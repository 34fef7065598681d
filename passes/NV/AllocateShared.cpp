//===- AllocateShared.cpp - Places in dynamic shared memory -------------------------------===//
//
// In: nv.alloc without offsets. Out: offsets, largest alignment first, barriers last; what is never
// used at the same time (nv-find-lifetimes) may have the same bytes. The function gets
// `nv.shared_bytes`. A kernel that needs more than the CTA can have is refused with a table of
// what takes the space.
//
//===--------------------------------------------------------------------------------------===//

#include "passes/NV/Passes.h"

#include "passes/NV/SharedStorage.h"
#include "tileloom/Analysis/Roles.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tileloom::nv {
#define GEN_PASS_DEF_NVALLOCATESHARED
#include "passes/NV/Passes.h.inc"
} // namespace tileloom::nv

using namespace mlir;
using namespace tileloom;

namespace {
struct AllocateShared : tileloom::nv::impl::NVAllocateSharedBase<AllocateShared> {
  using NVAllocateSharedBase::NVAllocateSharedBase;

  void runOnOperation() override {
    getOperation()->walk([&](func::FuncOp function) {
      SmallVector<std::pair<int64_t, nv::AllocOp>> ordered;
      function.walk([&](nv::AllocOp alloc) {
        ordered.push_back({static_cast<int64_t>(ordered.size()) -
                               (static_cast<int64_t>(alloc.getAlignment()) << 32),
                           alloc});
      });
      if (ordered.empty())
        return;
      llvm::sort(ordered, llvm::less_first());
      SmallVector<nv::AllocOp> allocs(llvm::make_second_range(ordered));
      StoragePlacer placer = nv::placerFor(function);
      Builder builder(&getContext());
      for (nv::AllocOp alloc : allocs) {
        alloc.setOffset(placer.place(nv::storageOf(alloc), alloc.getCount() * alloc.getStride(),
                                     alloc.getAlignment()));
        if (ArrayAttr names = nv::sharedWith(placer, ArrayRef(allocs)))
          alloc->setAttr(nv::overAttrName, names);
      }
      int64_t end = placer.end();
      function->setAttr(nv::sharedBytesAttrName, builder.getI64IntegerAttr(end));
      // An SM has 1 KiB more than a CTA can have, and keeps 1 KiB for each CTA (CUDA C++
      // Programming Guide, compute capability 9.0).
      int64_t ctas = ctasPerSm(function), have = (limit + 1024) / ctas - 1024;
      if (end > have) {
        InFlightDiagnostic diag = function.emitError("shared memory: need ")
                                  << end << " bytes, have " << have;
        if (ctas > 1)
          diag << " with " << ctas << " CTAs an SM";
        diag << ':';
        for (nv::AllocOp alloc : allocs)
          diag << ' ' << alloc.getName().value_or("?") << ' ' << alloc.getCount() << " x "
               << alloc.getStride() << ';';
        signalPassFailure();
      }
    });
  }
};
} // namespace
