//===- InsertFences.cpp - Proxy fences from data flow -------------------------------------===//
//
// In: roles with ring tokens still visible. Out: nv.fence.proxy (and nv.named_barrier where one
// thread acts for the role) between ordinary writes to a slot and what reads it through the async
// proxy (PTX ISA 8.6, 9.7.13.4): a TMA store or MMA of the same role, or a role that acquires the
// slot after a `generic` release and reads it asynchronously. What cp.async writes is ordinary, too, but
// still under way when its issuer releases the slot: there the reader fences, before its first read.
//
// And between ordinary reads of a slot and its release to a role that copies into it by TMA: the copy is of
// another proxy, and an arrival does not wait for loads that are under way. (Measured on an H200: without
// the fence, one of 25 launches of a product with scales read those of a later tile.)
//
// Writes are tracked by token through branches (what one side leaves unfenced stays so) and around
// loops.
//
//===--------------------------------------------------------------------------------------===//

#include "passes/NV/Passes.h"

#include "dialects/Warp/Warp.h"
#include "tileloom/Analysis/Roles.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/SetVector.h"

namespace tileloom::nv {
#define GEN_PASS_DEF_NVINSERTFENCES
#include "passes/NV/Passes.h.inc"
} // namespace tileloom::nv

using namespace mlir;
using namespace tileloom;

namespace {

/// Views that an operation reads through the async proxy.
SmallVector<Value> asyncReads(Operation *op) {
  SmallVector<Value> views;
  if (isa<nv::TmaStoreOp, nv::WgmmaOp, nv::Tcgen05MmaOp, nv::Tcgen05MmaScaledOp, nv::Tcgen05CpOp>(
          op))
    for (Value operand : op->getOperands())
      if (auto type = dyn_cast<nv::MemDescType>(operand.getType());
          type && type.getSpace() == nv::MemorySpace::Smem)
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
        if (warp::AcquireOp origin = warp::originOf(warp::tokenOf(view));
            origin && origin.getRing() == ring)
          return WalkResult::interrupt();
      return WalkResult::advance();
    });
    if (found.wasInterrupted())
      return true;
  }
  return false;
}

/// Views that an operation reads by ordinary loads.
SmallVector<Value> ordinaryReads(Operation *op) {
  if (isa<nv::LocalLoadOp, nv::ScalarLoadOp, nv::LocalTransposeOp>(op))
    return {op->getOperand(0)};
  return {};
}

/// True if some role that acquires `ring` copies into its slots by TMA.
bool refilledByTma(Value ring) {
  return llvm::any_of(ring.getUsers(), [&](Operation *user) {
    auto acquire = dyn_cast<warp::AcquireOp>(user);
    if (!acquire)
      return false;
    return acquire->getParentOfType<warp::RoleOp>()
        .getBody()
        .walk([&](nv::TmaLoadOp load) {
          warp::AcquireOp origin = warp::originOf(warp::tokenOf(load.getView()));
          return origin && origin.getRing() == ring ? WalkResult::interrupt() : WalkResult::advance();
        })
        .wasInterrupted();
  });
}

/// True if copies that their issuer does not wait for fill the slots of `ring`.
bool filledByCopies(Value ring) {
  return llvm::any_of(ring.getUsers(), [&](Operation *user) {
    auto release = dyn_cast<warp::ReleaseOp>(user);
    return release && release.getRing() == ring && release.getKind() == warp::ReleaseKind::CpAsync;
  });
}

/// Whether two tokens may be of one slot. A token that a loop carries may be any of its buffer.
bool mayAlias(Value a, Value b) {
  if (a == b || (a.getDefiningOp<warp::AcquireOp>() && b.getDefiningOp<warp::AcquireOp>()))
    return a == b;
  auto bufferOf = [](Value token) -> Value {
    warp::AcquireOp origin = warp::originOf(token);
    auto ring = origin ? origin.getRing().getDefiningOp<warp::RingOp>() : warp::RingOp();
    return ring ? ring.getBuffer() : Value();
  };
  return bufferOf(a) == bufferOf(b);
}

/// Slots (by token) that were written: not fenced yet; fenced by the writers, who have not met yet; filled
/// by copies of another role, and not fenced here. `read`: read by ordinary loads, and not fenced.
struct Written {
  llvm::SetVector<Value> unfenced, apart, received, read;

  static bool contains(const llvm::SetVector<Value> &tokens, Value token) {
    return token && llvm::any_of(tokens, [&](Value other) { return mayAlias(token, other); });
  }
  void fence() {
    apart.insert(unfenced.begin(), unfenced.end());
    unfenced.clear();
    received.clear();
    read.clear();
  }
  void join(const Written &other) {
    unfenced.insert(other.unfenced.begin(), other.unfenced.end());
    apart.insert(other.apart.begin(), other.apart.end());
    received.insert(other.received.begin(), other.received.end());
    read.insert(other.read.begin(), other.read.end());
  }
};

struct Inserter {
  bool singleThread;
  Written written;

  /// Fence and barrier, as far as they are missing for `token`.
  void order(Operation *before, Value token, bool meet) {
    OpBuilder builder(before);
    if (Written::contains(written.unfenced, token) || Written::contains(written.received, token)) {
      nv::FenceProxyOp::create(builder, before->getLoc());
      written.fence();
    }
    if (!meet || !Written::contains(written.apart, token))
      return;
    if (!singleThread)
      nv::NamedBarrierOp::create(builder, before->getLoc());
    written.apart.clear();
  }

  void processRegions(Operation &op) {
    // A second turn sees what the first one leaves behind; a region may also be passed by.
    bool loop = isa<LoopLikeOpInterface, warp::ForEachTileOp>(op);
    for (int turn = 0; turn < (loop ? 2 : 1); ++turn) {
      Written before = written, after;
      for (Region &region : op.getRegions()) {
        written = before;
        for (Block &inner : region)
          process(inner);
        after.join(written);
      }
      bool everyPath =
          !loop && llvm::none_of(op.getRegions(), [](Region &region) { return region.empty(); });
      written = after;
      if (!everyPath)
        written.join(before);
    }
  }

  void process(Block &block) {
    for (Operation &op : llvm::make_early_inc_range(block)) {
      if (auto copy = dyn_cast<nv::CpAsyncOp>(op)) {
        if (Value token = warp::tokenOf(copy.getView()))
          written.unfenced.insert(token);
        continue;
      }
      for (Value view : ordinaryReads(&op))
        if (Value token = warp::tokenOf(view))
          written.read.insert(token);
      if (isa<nv::LocalStoreOp, nv::ScalarStoreOp, nv::LocalTransposeOp>(op)) {
        if (Value token = warp::tokenOf(op.getOperand(1)))
          written.unfenced.insert(token);
        continue;
      }
      if (isa<nv::FenceProxyOp>(op))
        written.fence();
      if (isa<nv::NamedBarrierOp>(op))
        written.apart.clear();
      if (auto acquire = dyn_cast<warp::AcquireOp>(op); acquire && filledByCopies(acquire.getRing()))
        written.received.insert(acquire.getToken());
      for (Value view : asyncReads(&op))
        order(&op, warp::tokenOf(view), /*meet=*/true);
      // The release itself orders the threads.
      auto release = dyn_cast<warp::ReleaseOp>(op);
      if (release && release.getKind() == warp::ReleaseKind::Generic &&
          readAsynchronously(release.getRing()))
        order(&op, release.getToken(), /*meet=*/false);
      if (release && Written::contains(written.read, release.getToken()) && refilledByTma(release.getRing())) {
        OpBuilder builder(&op);
        nv::FenceProxyOp::create(builder, op.getLoc());
        written.fence();
      }
      if (op.getNumRegions())
        processRegions(op);
    }
  }
};

struct InsertFences : tileloom::nv::impl::NVInsertFencesBase<InsertFences> {
  void runOnOperation() override {
    getOperation()->walk([&](warp::RoleOp role) {
      Inserter inserter{isSingleThreadRole(role), {}};
      inserter.process(role.getBody().front());
      // Shared memory goes back when the CTA ends: not before the store engine has read it.
      if (role.getBody()
              .walk([](nv::TmaStoreOp) { return WalkResult::interrupt(); })
              .wasInterrupted()) {
        OpBuilder builder = OpBuilder::atBlockEnd(&role.getBody().front());
        nv::BulkWaitOp::create(builder, role.getLoc(), 0, /*read=*/false);
      }
    });
  }
};

} // namespace
