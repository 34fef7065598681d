//===- SlotStorage.cpp - The memory of a buffer's slots -----------------------------------===//

#include "passes/NV/SlotStorage.h"

#include "dialects/NV/NV.h"
#include "passes/NV/SharedStorage.h"
#include "tileloom/Analysis/TileLayouts.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tileloom;

int64_t tileloom::replicasOf(Value ringOrBuffer) {
  int64_t replicas = 1;
  for (Operation *user : ringOrBuffer.getUsers()) {
    if (auto role = user->getParentOfType<warp::RoleOp>())
      replicas = std::max<int64_t>(replicas, role.getReplicas());
    if (auto ring = dyn_cast<warp::RingOp>(user))
      replicas = std::max(replicas, replicasOf(ring.getRing()));
  }
  return replicas;
}

/// The views of a slot with their layouts, which are on the slots of the rings over the buffer.
static SmallVector<nv::MemDescType> viewsOf(warp::BufferOp buffer) {
  SmallVector<nv::MemDescType> views;
  for (Operation *ring : buffer.getBuffer().getUsers())
    for (Operation *acquire : ring->getResult(0).getUsers())
      if (isa<warp::AcquireOp>(acquire))
        for (Operation *slot : acquire->getResult(0).getUsers())
          if (isa<warp::SlotOp>(slot) && views.empty())
            for (Value view : slot->getResults())
              views.push_back(cast<nv::MemDescType>(view.getType()));
  return views;
}

static SmallVector<NamedAttribute> numberOf(warp::BufferOp buffer) {
  Attribute number = buffer->getAttr(nv::storageAttrName);
  if (!number)
    return {};
  return {NamedAttribute(StringAttr::get(buffer.getContext(), nv::storageAttrName), number)};
}

FailureOr<SlotStorage> tileloom::allocateSlots(OpBuilder &builder, warp::BufferOp buffer,
                                               StringAttr name) {
  SlotStorage storage;
  warp::BufferType type = buffer.getBuffer().getType();
  storage.depth = type.getDepth();
  storage.name = name;
  storage.perReplica = buffer.getPerReplica();
  storage.tensorMemory = type.getSpace() == warp::Space::Tmem;
  int64_t slots = storage.depth * (storage.perReplica ? replicasOf(buffer.getBuffer()) : 1);
  SmallVector<nv::MemDescType> views = viewsOf(buffer);
  if (views.empty() && !type.getViews().empty())
    return buffer.emitOpError("expected a role that uses its slots");
  if (views.empty()) // only the hand-over matters
    return storage;
  if (storage.tensorMemory) {
    for (nv::MemDescType view : views) {
      auto layout = tensorMemoryLayout(view);
      if (!layout)
        return buffer.emitOpError("view: ") << llvm::toString(layout.takeError());
      storage.offsets.push_back(storage.stride);
      storage.stride += llvm::alignTo(layout->columns(), 4);
    }
    auto alloc = nv::TmemAllocOp::create(builder, buffer.getLoc(), builder.getI32Type(), slots,
                                         storage.stride, IntegerAttr(), name);
    alloc->setDiscardableAttrs(numberOf(buffer));
    storage.base = alloc;
    return storage;
  }
  int64_t alignment = 128, end = 0;
  for (nv::MemDescType view : views) {
    auto layout = sharedLayout(view);
    if (!layout)
      return buffer.emitOpError("view: ") << llvm::toString(layout.takeError());
    int64_t need = layout->requiredAlignment(); // at least 128, which tensor copies need
    alignment = std::max(alignment, need);
    end = llvm::alignTo(end, need);
    storage.offsets.push_back(end);
    end += layout->sizeBytes();
  }
  storage.stride = llvm::alignTo(end, alignment);
  auto alloc = nv::AllocOp::create(builder, buffer.getLoc(), type, slots, storage.stride, alignment,
                                   IntegerAttr(), name);
  alloc->setDiscardableAttrs(numberOf(buffer));
  storage.base = alloc.getBase();
  return storage;
}
