//===- RowBlocks.cpp - Tiles of tensor memory as blocks of rows ---------------------------===//
//
// A tile of more rows than the lanes of tensor memory is `replicas` blocks: each has slots of its own, which follow each other in the ring
// of the whole tile. The replica of a block takes every `replicas`-th slot (warp.alternate), the role that issues products takes all of
// them in turn: what it does with the slots of a product (acquire, multiply, release) it does for one block after the other, so that the
// warps of the first block have their sum while the second one is computed. Operands in shared memory are taken once before the first
// block and go back after the last one; of operand A each block reads its rows.
//
//===--------------------------------------------------------------------------------------===//

#include "passes/Warp/RowBlocks.h"

#include "dialects/NV/NV.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tileloom;
using namespace tileloom::warp;

static BufferOp bufferOf(Value ring) {
  auto op = ring.getDefiningOp<RingOp>();
  return op ? op.getBuffer().getDefiningOp<BufferOp>() : BufferOp();
}

bool tileloom::liesInTensorMemory(Value ring) {
  BufferOp buffer = bufferOf(ring);
  return buffer && buffer.getBuffer().getType().getSpace() == Space::Tmem;
}

static nv::MemDescType rowsOf(nv::MemDescType type, int64_t rows) {
  SmallVector<int64_t> shape(type.getShape());
  shape[0] = rows;
  return nv::MemDescType::get(type.getContext(), shape, type.getElementType(), type.getLayout(), type.getSpace());
}

/// Views of slots that `acquire` takes have the rows of one block.
static void narrowSlots(AcquireOp acquire, int64_t replicas) {
  for (Operation *user : acquire->getUsers())
    if (auto slot = dyn_cast<SlotOp>(user))
      for (Value view : slot.getViews()) {
        auto type = cast<nv::MemDescType>(view.getType());
        view.setType(rowsOf(type, type.getShape()[0] / replicas));
      }
}

namespace {

/// What one role does with slots of tensor memory, for each block.
class BlockIssuer {
public:
  BlockIssuer(RoleOp role, int64_t replicas) : role(role), builder(role.getContext()), blocks(replicas) {}

  LogicalResult run() {
    role.walk([&](AcquireOp acquire) {
      if (!liesInTensorMemory(acquire.getRing()))
        return;
      narrowSlots(acquire, blocks.size());
      add(acquire);
    });
    for (Operation *op : own)
      if (!isa<AcquireOp, SlotOp, ReleaseOp, nv::Tcgen05MmaOp>(op))
        return op->emitOpError("not known how it is done for blocks of rows");
    expand(role.getBody().front());
    for (Operation *op : llvm::reverse(done))
      op->erase();
    return success();
  }

private:
  /// `op`, and what is done with the slot that it takes.
  void add(Operation *op) {
    if (!own.insert(op))
      return;
    for (Operation *user : op->getUsers())
      add(user);
  }

  void expand(Block &block) {
    group.clear();
    bool issued = false;
    DenseSet<Value> taken; // rings, each in turn for all blocks
    SmallVector<Operation *> ops;
    for (Operation &op : block)
      ops.push_back(&op);
    SmallVector<ReleaseOp> shared; // of slots that all blocks read, within the group
    auto flush = [&] {
      issue(shared);
      taken.clear();
      issued = false;
    };
    for (Operation *op : ops) {
      if (op->getNumRegions()) {
        flush();
        for (Region &region : op->getRegions())
          for (Block &inner : region)
            expand(inner);
      } else if (own.contains(op)) {
        auto acquire = dyn_cast<AcquireOp>(op);
        if (acquire && (issued || taken.contains(acquire.getRing())))
          flush();
        if (acquire)
          taken.insert(acquire.getRing());
        group.push_back(op);
        issued |= isa<nv::Tcgen05MmaOp>(op);
      } else if (auto release = dyn_cast<ReleaseOp>(op); release && issued) {
        shared.push_back(release);
      }
    }
    flush();
  }

  /// The group, block by block, then the slots that they share go back.
  void issue(SmallVector<ReleaseOp> &shared) {
    if (!group.empty()) {
      Operation *last = group.back();
      builder.setInsertionPointAfter(last);
      for (size_t block = 0; block < blocks.size(); ++block)
        for (Operation *op : group) {
          Operation *copy = builder.clone(*op, blocks[block]);
          if (auto product = dyn_cast<nv::Tcgen05MmaOp>(copy))
            narrowOperand(product, block);
        }
      for (ReleaseOp release : shared)
        if (release->isBeforeInBlock(last))
          release->moveBefore(&*builder.getInsertionPoint());
      llvm::append_range(done, group);
    }
    group.clear();
    shared.clear();
  }

  /// Operand A in shared memory has the rows of all blocks.
  void narrowOperand(nv::Tcgen05MmaOp product, int64_t block) {
    nv::MemDescType all = product.getA().getType();
    int64_t rows = product.getD().getType().getShape()[0];
    if (all.getShape()[0] == rows)
      return;
    OpBuilder inner(product);
    Location loc = product.getLoc();
    SmallVector<Value> offsets(2, arith::ConstantIntOp::create(inner, loc, 0, 32));
    offsets[0] = arith::ConstantIntOp::create(inner, loc, block * rows, 32);
    product.getAMutable().assign(nv::MemDescSliceOp::create(inner, loc, rowsOf(all, rows), product.getA(), offsets));
  }

  RoleOp role;
  OpBuilder builder;
  SmallVector<IRMapping> blocks;
  llvm::SetVector<Operation *> own; // with slots of tensor memory
  SmallVector<Operation *> group, done;
};

} // namespace

/// Replicas take the slots of their own blocks.
static void takeOwnBlocks(RoleOp owner, int64_t replicas) {
  llvm::SetVector<Value> rings;
  owner.walk([&](AcquireOp acquire) {
    Value ring = acquire.getRing();
    if (!liesInTensorMemory(ring))
      return;
    OpBuilder builder(acquire);
    builder.setInsertionPointAfter(acquire);
    acquire->setAttr(alternateAttrName, builder.getUnitAttr());
    Value others = arith::ConstantIntOp::create(builder, acquire.getLoc(), replicas - 1, 32);
    SkipOp::create(builder, acquire.getLoc(), ring, others);
    rings.insert(ring);
    narrowSlots(acquire, replicas);
  });
  OpBuilder builder = OpBuilder::atBlockBegin(&owner.getBody().front());
  Value replica = ReplicaIndexOp::create(builder, owner.getLoc(), builder.getI32Type());
  for (Value ring : rings)
    SkipOp::create(builder, owner.getLoc(), ring, replica);
}

LogicalResult tileloom::splitBlocks(func::FuncOp function, RoleOp owner, int64_t replicas) {
  SmallVector<RoleOp> others;
  function.walk([&](RoleOp role) {
    if (role != owner)
      others.push_back(role);
  });
  takeOwnBlocks(owner, replicas);
  for (RoleOp role : others)
    if (failed(BlockIssuer(role, replicas).run()))
      return failure();
  function.walk([&](BufferOp buffer) {
    BufferType type = buffer.getBuffer().getType();
    if (type.getSpace() != Space::Tmem)
      return;
    SmallVector<RankedTensorType> views;
    for (RankedTensorType view : type.getViews()) {
      SmallVector<int64_t> shape(view.getShape());
      shape[0] /= replicas;
      views.push_back(RankedTensorType::get(shape, view.getElementType()));
    }
    buffer.getBuffer().setType(BufferType::get(type.getContext(), type.getDepth() * replicas, views, type.getSpace()));
  });
  return success();
}
