//===- InsertTcgen05Fences.cpp - Waits and fences around tensor memory --------------------===//
//
// In: roles with ring tokens still visible; tmem.load and tmem.store as if they were synchronous.
// Out, from data flow:
// - nv.tmem.wait_load, which gives the values back, before the first use of a loaded tile (loads in
//   a row share one wait);
// - nv.tmem.wait_store before a load that may read what a store of the same thread wrote, and
//   before a slot that was written is released;
// - nv.tcgen05.fence before the `generic` release of a slot that the role read or wrote in tensor
//   memory, and `after` the acquire of a slot that tcgen05 operations use (PTX ISA 9.7.16.6: they
//   are ordered with other threads only through these fences; commits need none).
// A slot that a product reads or writes has to be released by kind tcgen05: its completion is not
// known to the issuing thread.
//
//===--------------------------------------------------------------------------------------===//

#include "passes/NV/Passes.h"

#include "dialects/Warp/Warp.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"

namespace tileloom::nv {
#define GEN_PASS_DEF_NVINSERTTCGEN05FENCES
#include "passes/NV/Passes.h.inc"
} // namespace tileloom::nv

using namespace mlir;
using namespace tileloom;

namespace {

bool isTransfer(Operation *op) { return isa<nv::TmemLoadOp, nv::TmemStoreOp>(op); }
bool isEngine(Operation *op) {
  return isa<nv::Tcgen05MmaOp, nv::Tcgen05MmaScaledOp, nv::Tcgen05CpOp>(op);
}

/// The token that a view's slot was acquired with.
Value tokenOf(Value view) {
  warp::AcquireOp origin = warp::originOf(warp::tokenOf(view));
  return origin ? origin.getToken() : Value();
}

/// Whether a load of `a` may read what a store to `b` wrote: not in slots held at the same time, and
/// not in different columns of one tile.
bool mayOverlap(Value a, Value b) {
  Value tokenA = tokenOf(a), tokenB = tokenOf(b);
  if (tokenA && tokenB && tokenA != tokenB)
    return false;
  auto sliceA = a.getDefiningOp<nv::MemDescSliceOp>(), sliceB = b.getDefiningOp<nv::MemDescSliceOp>();
  APInt firstA, firstB;
  if (!sliceA || !sliceB || sliceA.getSource() != sliceB.getSource() ||
      !matchPattern(sliceA.getOffsets().back(), m_ConstantInt(&firstA)) ||
      !matchPattern(sliceB.getOffsets().back(), m_ConstantInt(&firstB)))
    return true;
  int64_t columnsA = cast<nv::MemDescType>(a.getType()).getShape().back(),
          columnsB = cast<nv::MemDescType>(b.getType()).getShape().back();
  return firstA.getSExtValue() < firstB.getSExtValue() + columnsB &&
         firstB.getSExtValue() < firstA.getSExtValue() + columnsA;
}

struct Inserter {
  /// Tokens whose slots tmem.load or store, or the tensor core, use in this role.
  llvm::DenseSet<Value> transferred, computed;
  SmallVector<Value> loads;             // in flight
  llvm::SmallSetVector<Value, 4> stores; // views of those in flight
  LogicalResult result = success();

  void scan(Block &block) {
    block.walk([&](Operation *op) {
      if (!isTransfer(op) && !isEngine(op))
        return;
      for (Value operand : op->getOperands())
        if (isa<nv::MemDescType>(operand.getType()))
          if (Value token = tokenOf(operand))
            (isEngine(op) ? computed : transferred).insert(token);
    });
  }

  void waitLoads(Operation *before) {
    if (loads.empty())
      return;
    OpBuilder builder(before);
    auto wait =
        nv::TmemWaitLoadOp::create(builder, before->getLoc(), TypeRange(ValueRange(loads)), loads);
    for (auto [load, waited] : llvm::zip(loads, wait.getResults()))
      load.replaceAllUsesExcept(waited, wait);
    loads.clear();
  }

  void waitStores(Operation *before) {
    if (stores.empty())
      return;
    OpBuilder builder(before);
    nv::TmemWaitStoreOp::create(builder, before->getLoc());
    stores.clear();
  }

  bool usesLoad(Operation *op) {
    return llvm::any_of(op->getOperands(),
                        [&](Value operand) { return llvm::is_contained(loads, operand); });
  }

  void release(warp::ReleaseOp op) {
    Value token = warp::originOf(op.getToken()).getToken();
    if (op.getKind() == warp::ReleaseKind::Tcgen05)
      return;
    if (computed.contains(token)) {
      result = op.emitOpError("kind: expected 'tcgen05' for a slot that tcgen05 operations of this "
                              "role use, found '")
               << warp::stringifyReleaseKind(op.getKind()) << "'";
      return;
    }
    if (!transferred.contains(token))
      return;
    waitLoads(op);
    waitStores(op);
    OpBuilder builder(op);
    nv::Tcgen05FenceOp::create(builder, op.getLoc(), /*after=*/false);
  }

  void process(Block &block) {
    for (Operation &op : llvm::make_early_inc_range(block)) {
      if (usesLoad(&op) || op.getNumRegions() || op.hasTrait<OpTrait::IsTerminator>())
        waitLoads(&op);
      if (auto acquire = dyn_cast<warp::AcquireOp>(op)) {
        if (!transferred.contains(acquire.getToken()) && !computed.contains(acquire.getToken()))
          continue;
        OpBuilder builder(op.getContext());
        builder.setInsertionPointAfter(&op);
        nv::Tcgen05FenceOp::create(builder, op.getLoc(), /*after=*/true);
      } else if (auto load = dyn_cast<nv::TmemLoadOp>(op)) {
        if (llvm::any_of(stores, [&](Value view) { return mayOverlap(load.getView(), view); }))
          waitStores(&op);
        loads.push_back(load.getResult());
      } else if (auto store = dyn_cast<nv::TmemStoreOp>(op)) {
        waitLoads(&op);
        stores.insert(store.getView());
      } else if (auto releaseOp = dyn_cast<warp::ReleaseOp>(op)) {
        release(releaseOp);
      }
      for (Region &region : op.getRegions()) {
        llvm::SmallSetVector<Value, 4> before = stores;
        for (Block &inner : region) {
          // A loop comes back to its start with the stores of its end in flight.
          if (isa<LoopLikeOpInterface>(op))
            inner.walk([&](nv::TmemStoreOp store) { stores.insert(store.getView()); });
          process(inner);
        }
        stores.insert(before.begin(), before.end());
      }
    }
    if (!block.empty() && !loads.empty())
      waitLoads(&block.back()); // nothing uses them: the wait comes before the end all the same
  }
};

struct InsertTcgen05Fences : tileloom::nv::impl::NVInsertTcgen05FencesBase<InsertTcgen05Fences> {
  void runOnOperation() override {
    getOperation()->walk([&](warp::RoleOp role) {
      Inserter inserter;
      inserter.scan(role.getBody().front());
      inserter.process(role.getBody().front());
      if (failed(inserter.result))
        signalPassFailure();
    });
  }
};

} // namespace
