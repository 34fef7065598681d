//===- EpilogueSharing.cpp - A tile's results over its operands' slots --------------------===//

#include "passes/Warp/EpilogueSharing.h"

#include "tileloom/Analysis/Lifetimes.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace tileloom;
using namespace tileloom::warp;

/// Ring operations on a buffer.
static SmallVector<Operation *> usesOf(BufferOp buffer) {
  SmallVector<Operation *> uses;
  for (Operation *ring : buffer.getBuffer().getUsers())
    llvm::append_range(uses, ring->getUsers());
  return uses;
}

EpilogueSharing::EpilogueSharing(func::FuncOp function, ArrayRef<BufferOp> streams,
                                 ArrayRef<BufferOp> others, ArrayRef<Operation *> exchangeOps)
    : function(function), streams(streams) {
  bool tiles = function.walk([](ForEachTileOp) { return WalkResult::interrupt(); }).wasInterrupted();
  if (tiles) // the next tile's operands come while this one's results leave
    return;
  auto roleOf = [](Operation *op) { return op->getParentOfType<RoleOp>(); };
  if (!exchangeOps.empty())
    role = roleOf(exchangeOps.front());
  for (BufferOp buffer : others) { // results on their way out belong to one role
    SmallVector<Operation *> uses = usesOf(buffer);
    if (!role && !uses.empty() && llvm::all_equal(llvm::map_range(uses, roleOf)))
      role = roleOf(uses.front());
  }
  if (!role)
    return;
  Block &body = role.getBody().front();
  for (BufferOp stream : streams)
    for (Operation *use : usesOf(stream)) {
      auto acquire = dyn_cast<AcquireOp>(use);
      if (acquire && !acquire.getRing().getDefiningOp<RingOp>().getReleased())
        lastUse.insert({roleOf(use), nullptr}); // it reads
    }
  for (BufferOp stream : streams)
    for (Operation *use : usesOf(stream)) {
      auto reader = lastUse.find(roleOf(use));
      if (reader == lastUse.end())
        continue;
      Operation *own = roleOf(use).getBody().front().findAncestorOpInBlock(*use);
      if (!reader->second || reader->second->isBeforeInBlock(own))
        reader->second = own;
    }
  Operation *last = lastUse.lookup(role);
  auto isLate = [&](Operation *op) {
    if (roleOf(op) != role)
      return false;
    Operation *own = body.findAncestorOpInBlock(*op);
    return !last || last->isBeforeInBlock(own);
  };
  auto begins = [&](Operation *op) {
    Operation *own = body.findAncestorOpInBlock(*op);
    if (!first || own->isBeforeInBlock(first))
      first = own;
  };
  if (llvm::all_of(exchangeOps, isLate)) {
    exchanges.assign(exchangeOps.begin(), exchangeOps.end());
    llvm::for_each(exchanges, begins);
  }
  for (BufferOp buffer : others) {
    SmallVector<Operation *> uses = usesOf(buffer);
    if (uses.empty() || !llvm::all_of(uses, isLate))
      continue;
    buffers.push_back(buffer);
    llvm::for_each(uses, begins);
  }
}

bool EpilogueSharing::proved() const {
  auto specialize = role->getParentOfType<SpecializeOp>();
  Lifetimes lifetimes = findLifetimes(specialize, exchanges);
  auto apart = [&](Operation *stream, Operation *late) {
    int64_t first = llvm::find(lifetimes.storages, stream) - lifetimes.storages.begin();
    int64_t second = llvm::find(lifetimes.storages, late) - lifetimes.storages.begin();
    return llvm::is_contained(lifetimes.apart, std::pair(std::min(first, second), std::max(first, second)));
  };
  return llvm::all_of(streams, [&](BufferOp stream) {
    bool scratch = exchanges.empty() || apart(stream, role);
    return scratch && llvm::all_of(buffers, [&](BufferOp late) { return apart(stream, late); });
  });
}

bool EpilogueSharing::arrange() {
  if (!first)
    return false;
  // Everybody says that it is there; who goes on to the epilogue waits for all. Two rings, since a
  // ring's slots go round.
  OpBuilder builder(function.getContext());
  builder.setInsertionPointToStart(&function.getBody().front());
  Location loc = first->getLoc();
  auto type = BufferType::get(function.getContext(), 1, {}, Space::Smem);
  auto ringType = RingType::get(function.getContext());
  auto buffer = BufferOp::create(builder, loc, type, /*per_replica=*/false);
  auto open = RingOp::create(builder, loc, ringType, buffer, true, Scope::Cta);
  auto met = RingOp::create(builder, loc, ringType, buffer, false, Scope::Cta);
  met->setAttr("name", builder.getStringAttr("meeting"));
  SmallVector<Operation *> added{met, open, buffer};
  auto pass = [&](RingOp from, RingOp to) {
    auto token = AcquireOp::create(builder, loc, from);
    auto release = ReleaseOp::create(builder, loc, token, to, ReleaseKind::Generic);
    added.insert(added.begin(), {release, token});
  };
  for (auto [reader, last] : lastUse) {
    if (reader == role)
      continue;
    builder.setInsertionPointAfter(last);
    pass(open, met);
  }
  builder.setInsertionPoint(first);
  if (lastUse.contains(role))
    pass(open, met);
  pass(met, open);
  if (proved())
    return true;
  for (Operation *op : added)
    op->erase();
  return false;
}
