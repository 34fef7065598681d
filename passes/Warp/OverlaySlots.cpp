//===- OverlaySlots.cpp - Tiles written over those that they are made of ------------------===//
//
// In: two storages of tensor memory with two rings each. A role takes a slot of the first (a sum), reads it and gives it back, then takes one
// of the second (an operand of the next product) and writes it. Out: one storage with three rings: the role keeps the slot and writes over
// what it has read; who waits for the second tile finds it there and then gives the slot back for the first:
//   free -> issuer: sum -> full -> warps: operand over it -> ready -> issuer -> free.
//
// Each turn passes the two storages once, in this order, in all roles. The tile written has to fit in the columns of the one before. The
// price: the next sum waits until the operand was multiplied.
//
//===--------------------------------------------------------------------------------------===//

#include "passes/Warp/OverlaySlots.h"

#include "dialects/NV/NV.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace tileloom;
using namespace tileloom::warp;

int64_t tileloom::columnsOf(BufferType type) {
  RankedTensorType view = type.getViews()[0];
  return view.getDimSize(1) * view.getElementTypeBitWidth() / 32;
}

namespace {

/// Storage that goes there and back: who takes slots of the ring that starts released, and who of the other one.
struct Storage {
  BufferOp buffer;
  RingOp free, full;
  SmallVector<AcquireOp> writers, readers;

  static std::optional<Storage> of(BufferOp buffer) {
    Storage storage{buffer, {}, {}, {}, {}};
    BufferType type = buffer.getBuffer().getType();
    if (type.getSpace() != Space::Tmem || type.getViews().size() != 1)
      return std::nullopt;
    for (Operation *user : buffer.getBuffer().getUsers()) {
      auto ring = cast<RingOp>(user);
      RingOp &place = ring.getReleased() ? storage.free : storage.full;
      if (place)
        return std::nullopt;
      place = ring;
    }
    if (!storage.free || !storage.full)
      return std::nullopt;
    auto collect = [](RingOp ring, SmallVector<AcquireOp> &takers) {
      for (Operation *user : ring.getRing().getUsers())
        if (auto acquire = dyn_cast<AcquireOp>(user))
          takers.push_back(acquire);
      llvm::sort(takers, [](AcquireOp a, AcquireOp b) { return a->getBlock() == b->getBlock() && a->isBeforeInBlock(b); });
      return !takers.empty() && llvm::all_of(takers, [&](AcquireOp acquire) { return acquire->getBlock() == takers[0]->getBlock(); });
    };
    if (!collect(storage.free, storage.writers) || !collect(storage.full, storage.readers))
      return std::nullopt;
    return storage;
  }
};

/// The release of a token that has one, in the block where it was taken.
ReleaseOp releaseIn(AcquireOp acquire) {
  ReleaseOp found;
  for (Operation *user : acquire->getUsers())
    if (auto release = dyn_cast<ReleaseOp>(user)) {
      if (found || release->getBlock() != acquire->getBlock())
        return {};
      found = release;
    }
  return found;
}

SlotOp slotIn(AcquireOp acquire) {
  SlotOp found;
  for (Operation *user : acquire->getUsers())
    if (auto slot = dyn_cast<SlotOp>(user))
      found = slot;
  return found;
}

/// Whether the last access to the views of `slot` is before `place`, which is in the same block.
bool isReadBefore(SlotOp slot, Operation *place) {
  SmallVector<Operation *> work(slot->user_begin(), slot->user_end());
  while (!work.empty()) {
    Operation *user = work.pop_back_val(), *around = place->getBlock()->findAncestorOpInBlock(*user);
    if (!around || !around->isBeforeInBlock(place))
      return false;
    if (isa<nv::MemDescSliceOp, nv::MemDescTransOp, nv::MemDescReinterpretOp>(user))
      work.append(user->user_begin(), user->user_end());
  }
  return true;
}

/// Whether `below` is read by the role that then writes `above`, and each takes turns with the other.
bool fits(Storage below, Storage above) {
  BufferType lower = below.buffer.getBuffer().getType(), upper = above.buffer.getBuffer().getType();
  if (lower.getDepth() != upper.getDepth() || columnsOf(upper) > columnsOf(lower) ||
      lower.getViews()[0].getDimSize(0) != upper.getViews()[0].getDimSize(0))
    return false;
  // One role reads and writes, once a turn.
  if (below.readers.size() != 1 || above.writers.size() != 1 || below.readers[0]->getBlock() != above.writers[0]->getBlock())
    return false;
  AcquireOp read = below.readers[0], write = above.writers[0];
  ReleaseOp back = releaseIn(read), on = releaseIn(write);
  SlotOp from = slotIn(read), to = slotIn(write);
  if (!back || !on || !from || !to || !read->isBeforeInBlock(write) || !isReadBefore(from, to))
    return false;
  // Another one writes and reads, each as often, the first before the second.
  if (below.writers.size() != above.readers.size() || below.writers[0]->getBlock() != above.readers[0]->getBlock())
    return false;
  for (auto [first, second] : llvm::zip(below.writers, above.readers)) {
    ReleaseOp given = releaseIn(first);
    if (!given || !releaseIn(second) || !slotIn(second) || !given->isBeforeInBlock(second))
      return false;
  }
  return true;
}

/// The slot of a tile as that of another one.
void reinterpret(SlotOp slot, Value view) {
  OpBuilder builder(slot);
  builder.setInsertionPointAfterValue(view);
  auto as = nv::MemDescReinterpretOp::create(builder, slot.getLoc(), slot.getViews()[0].getType(), view, 0);
  slot.getViews()[0].replaceAllUsesWith(as);
}

void overlay(Storage below, Storage above) {
  AcquireOp read = below.readers[0], write = above.writers[0];
  RingOp ready = above.full, spent = above.free;
  releaseIn(read)->erase();
  reinterpret(slotIn(write), slotIn(read).getViews()[0]);
  releaseIn(write).getTokenMutable().assign(read.getToken());
  slotIn(write)->erase();
  ready.getBufferMutable().assign(below.buffer.getBuffer());
  ready->moveAfter(below.full);
  for (AcquireOp taker : above.readers) {
    releaseIn(taker).getRingMutable().assign(below.free.getRing());
    SlotOp slot = slotIn(taker);
    OpBuilder builder(slot);
    Value whole = SlotOp::create(builder, slot.getLoc(), TypeRange{slotIn(read).getViews()[0].getType()}, taker.getToken()).getViews()[0];
    reinterpret(slot, whole);
    slot->erase();
  }
  // The other ring of the second storage is no more.
  for (Operation *user : llvm::make_early_inc_range(spent.getRing().getUsers()))
    user->erase();
  spent->erase();
  above.buffer->erase();
}

} // namespace

bool tileloom::overlaySlots(BufferOp buffer) {
  std::optional<Storage> above = Storage::of(buffer);
  if (!above)
    return false;
  for (Operation &op : *buffer->getBlock()) {
    auto other = dyn_cast<BufferOp>(op);
    std::optional<Storage> below = other && other != buffer ? Storage::of(other) : std::nullopt;
    if (below && fits(*below, *above)) {
      overlay(*below, *above);
      return true;
    }
  }
  return false;
}
