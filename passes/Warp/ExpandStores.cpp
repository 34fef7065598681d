//===- ExpandStores.cpp - warp.store to ring operations -----------------------------------===//
//
// warp.store %v to %C[...] through %ring  becomes  acquire, slot, nv.local_store, nv.tma.store,
// release (bulk_read) of one slot of the ring. What the pieces need between them (proxy fence,
// barrier) is added by nv-insert-fences.
//
//===--------------------------------------------------------------------------------------===//

#include "passes/Warp/Passes.h"

#include "dialects/Warp/Warp.h"

#include "mlir/IR/Builders.h"

namespace tileloom::warp {
#define GEN_PASS_DEF_WARPEXPANDSTORES
#include "passes/Warp/Passes.h.inc"
} // namespace tileloom::warp

using namespace mlir;
using namespace tileloom;
using namespace tileloom::warp;

namespace {
struct ExpandStores : tileloom::warp::impl::WarpExpandStoresBase<ExpandStores> {
  void runOnOperation() override {
    getOperation()->walk([](StoreOp store) {
      OpBuilder builder(store);
      Location loc = store.getLoc();
      auto tile = cast<RankedTensorType>(store.getValue().getType());
      auto view = nv::MemDescType::get(tile.getContext(), tile.getShape(), tile.getElementType(),
                                       Attribute(), nv::MemorySpace::Smem);
      auto token = AcquireOp::create(builder, loc, store.getRing());
      auto slot = SlotOp::create(builder, loc, TypeRange{view}, token);
      nv::LocalStoreOp::create(builder, loc, store.getValue(), slot.getResult(0));
      nv::AtomicKindAttr reduce;
      if (auto kind = store.getReduce())
        reduce = nv::AtomicKindAttr::get(tile.getContext(), static_cast<nv::AtomicKind>(*kind));
      nv::TmaStoreOp::create(builder, loc, slot.getResult(0), store.getDesc(),
                             store.getCoordinates(), nv::CacheHintAttr(), reduce);
      ReleaseOp::create(builder, loc, token, store.getRing(), ReleaseKind::BulkRead);
      store.erase();
    });
  }
};
} // namespace
