//===- InsertFences.cpp - Proxy fences from data flow -------------------------------------===//
//
// In: roles with ring tokens still visible. Out: nv.fence.proxy (and nv.named_barrier where one thread acts for the role) between
// ordinary writes to a slot and what reads it through the async proxy (PTX ISA 8.6, 9.7.13.4): a TMA store or MMA of the
// same role, or a role that acquires the slot after a `generic` release and reads it asynchronously.
//
// Writes are tracked by token along straight-line code; at the end of a block a slot that is still unfenced stays so for the code after
// the enclosing operation.
//
//===--------------------------------------------------------------------------------------===//

#include "passes/NV/Passes.h"

#include "dialects/Warp/Warp.h"
#include "tileloom/Analysis/Roles.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseSet.h"

namespace tileloom::nv {
#define GEN_PASS_DEF_NVINSERTFENCES
#include "passes/NV/Passes.h.inc"
} // namespace tileloom::nv

using namespace mlir;
using namespace tileloom;

namespace {

/// The token whose slot a view belongs to.
Value tokenOf(Value view) {
  while (Operation *def = view.getDefiningOp()) {
    if (auto slot = dyn_cast<warp::SlotOp>(def))
      return slot.getToken();
    if (!isa<nv::MemDescSliceOp, nv::MemDescTransOp>(def))
      return {};
    view = def->getOperand(0);
  }
  return {};
}

/// Views that an operation reads through the async proxy.
SmallVector<Value> asyncReads(Operation *op) {
  SmallVector<Value> views;
  if (isa<nv::TmaStoreOp, nv::WgmmaOp, nv::Tcgen05MmaOp, nv::Tcgen05MmaScaledOp, nv::Tcgen05CpOp>(op))
    for (Value operand : op->getOperands())
      if (auto type = dyn_cast<nv::MemDescType>(operand.getType()); type && type.getSpace() == nv::MemorySpace::Smem)
        views.push_back(operand);
  return views;
}

/// True if some role that acquires `ring` reads its slots through the async proxy.
bool readAsynchronously(Value ring) {
  for (Operation *user : ring.getUsers()) {
    auto acquire = dyn_cast<warp::AcquireOp>(user);
    if (!acquire)
      continue;
    WalkResult found = acquire->getParentOfType<warp::RoleOp>().getBody().walk([&](Operation *op) {
      for (Value view : asyncReads(op))
        if (tokenOf(view) == acquire.getToken())
          return WalkResult::interrupt();
      return WalkResult::advance();
    });
    if (found.wasInterrupted())
      return true;
  }
  return false;
}

struct Inserter {
  bool singleThread;
  llvm::DenseSet<Value> written;

  void fence(Operation *before, bool barrier) {
    OpBuilder builder(before);
    nv::FenceProxyOp::create(builder, before->getLoc());
    if (barrier && !singleThread)
      nv::NamedBarrierOp::create(builder, before->getLoc());
    written.clear();
  }

  void process(Block &block) {
    for (Operation &op : llvm::make_early_inc_range(block)) {
      if (isa<nv::LocalStoreOp, nv::ScalarStoreOp>(op)) {
        if (Value token = tokenOf(op.getOperand(1)))
          written.insert(token);
        continue;
      }
      for (Value view : asyncReads(&op)) {
        if (written.contains(tokenOf(view))) {
          fence(&op, /*barrier=*/true);
          break;
        }
      }
      // The release itself orders the threads.
      auto release = dyn_cast<warp::ReleaseOp>(op);
      if (release && release.getKind() == warp::ReleaseKind::Generic &&
          written.contains(release.getToken()) && readAsynchronously(release.getRing()))
        fence(&op, /*barrier=*/false);
      for (Region &region : op.getRegions())
        for (Block &inner : region)
          process(inner);
    }
  }
};

struct InsertFences : tileloom::nv::impl::NVInsertFencesBase<InsertFences> {
  void runOnOperation() override {
    getOperation()->walk([](warp::RoleOp role) {
      Inserter{isSingleThreadRole(role), {}}.process(role.getBody().front());
      // Shared memory goes back when the CTA ends: not before the store engine has read it.
      if (role.getBody().walk([](nv::TmaStoreOp) { return WalkResult::interrupt(); }).wasInterrupted()) {
        OpBuilder builder = OpBuilder::atBlockEnd(&role.getBody().front());
        nv::BulkWaitOp::create(builder, role.getLoc(), 0, /*read=*/false);
      }
    });
  }
};

} // namespace
