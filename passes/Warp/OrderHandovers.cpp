//===- OrderHandovers.cpp - What a tile gives back and waits for, beside its products --------===//
//
// In: roles whose tiles of work copy, multiply and store, with stores expanded. Out: the same operations, with
// two hand-overs where a product runs meanwhile:
//
// - A slot that was read into registers goes back behind the products that are issued next, in front
//   of the wait for them. The fence that a copy over ordinary reads needs, and the arrival, took 100 clocks
//   between two tiles (1 % of attention over 1024 keys).
// - The first slot for results, which the role's own stores give back, is taken in front of the wait for
//   the product whose result goes there.
//
// Only directly in loops over tiles. There a slot is taken once a tile and by its number, in every role: what a
// role takes in this tile was sent without the slot that it still keeps, which is for a later one. And no memory is
// shared by lifetimes there, which an earlier use of a slot would end.
//
//===--------------------------------------------------------------------------------------===//

#include "passes/Warp/Passes.h"

#include "dialects/Warp/Warp.h"

#include "llvm/ADT/STLExtras.h"

namespace tileloom::warp {
#define GEN_PASS_DEF_WARPORDERHANDOVERS
#include "passes/Warp/Passes.h.inc"
} // namespace tileloom::warp

using namespace mlir;
using namespace tileloom;
using namespace tileloom::warp;

namespace {

/// Whether each role that acquires slots of `ring` does so once in its loop over tiles, in that loop's body.
bool isTakenOnceATile(Value ring) {
  llvm::SmallDenseSet<Operation *> roles;
  for (Operation *user : ring.getUsers()) {
    if (isa<PeekOp, SkipOp>(user))
      return false;
    if (isa<AcquireOp>(user) && (!isa<ForEachTileOp>(user->getParentOp()) || !roles.insert(user->getParentOfType<RoleOp>()).second))
      return false;
  }
  return true;
}

/// Whether a slot is read by ordinary loads only, all in front of `release`.
bool isReadIntoRegisters(Value slot, ReleaseOp release) {
  return llvm::all_of(slot.getUsers(), [&](Operation *user) {
    if (user->getBlock() != release->getBlock())
      return false;
    if (isa<nv::LocalLoadOp>(user))
      return user->isBeforeInBlock(release);
    return isa<nv::MemDescSliceOp, nv::MemDescTransOp>(user) && isReadIntoRegisters(user->getResult(0), release);
  });
}

/// The wait for the products that are issued next behind `op`; null if there is none before control flow, or a ring of `rings` is used first.
nv::WgmmaWaitOp nextWait(Operation *op, ArrayRef<Value> rings) {
  bool issued = false;
  for (op = op->getNextNode(); op && op->getNumRegions() == 0; op = op->getNextNode()) {
    issued |= isa<nv::WgmmaOp>(op);
    if (auto wait = dyn_cast<nv::WgmmaWaitOp>(op))
      return issued ? wait : nv::WgmmaWaitOp();
    if (llvm::any_of(op->getOperands(), [&](Value operand) { return llvm::is_contained(rings, operand); }))
      return {};
  }
  return {};
}

/// Gives a slot back behind the products that are issued next.
void delay(ReleaseOp release) {
  auto acquire = release->getOperand(0).getDefiningOp<AcquireOp>();
  if (release.getKind() != ReleaseKind::Generic || !acquire || acquire->getBlock() != release->getBlock() || !isTakenOnceATile(acquire.getRing()) ||
      !isTakenOnceATile(release.getRing()))
    return;
  for (Operation *user : acquire->getResult(0).getUsers())
    if (user != release && !(isa<SlotOp>(user) && llvm::all_of(user->getResults(), [&](Value view) { return isReadIntoRegisters(view, release); })))
      return;
  if (nv::WgmmaWaitOp wait = nextWait(release, {acquire.getRing(), release.getRing()}))
    release->moveBefore(wait);
}

/// Whether the slots of a ring go round within `role`, from its stores to its stores.
bool isOwnOfStores(Value ring, RoleOp role) {
  return llvm::all_of(ring.getUsers(), [&](Operation *user) {
    auto release = dyn_cast<ReleaseOp>(user);
    return user->getParentOfType<RoleOp>() == role && (isa<AcquireOp>(user) || (release && release.getKind() == ReleaseKind::BulkRead));
  });
}

/// Takes a slot for results in front of the wait for the last product before it.
void advance(AcquireOp acquire) {
  if (!isOwnOfStores(acquire.getRing(), acquire->getParentOfType<RoleOp>()))
    return;
  for (Operation *op = acquire->getPrevNode(); op && op->getNumRegions() == 0; op = op->getPrevNode()) {
    if (isa<AcquireOp>(op) || llvm::is_contained(op->getOperands(), acquire.getRing()))
      return;
    if (isa<nv::WgmmaWaitOp>(op)) {
      acquire->moveBefore(op);
      return;
    }
  }
}

struct OrderHandovers : tileloom::warp::impl::WarpOrderHandoversBase<OrderHandovers> {
  void runOnOperation() override {
    getOperation()->walk([](ForEachTileOp tiles) {
      for (Operation &op : llvm::make_early_inc_range(tiles.getBody().front())) {
        if (auto release = dyn_cast<ReleaseOp>(op))
          delay(release);
        else if (auto acquire = dyn_cast<AcquireOp>(op))
          advance(acquire);
      }
    });
  }
};

} // namespace
