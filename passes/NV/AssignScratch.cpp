//===- AssignScratch.cpp - Shared memory for exchanges between warps ----------------------===//
//
// In: tiles with layouts. Out: reductions and conversions whose values cross warps have a `scratch`
// operand; nv.named_barrier where scratch is written again while warps, or lanes of one, may still read
// it.
//
// An exchange is: write, meet, read. Two exchanges that take turns with two slots need no further
// meeting: whoever writes a slot again has met everybody since its readers were done. So the small
// scratch of reductions alternates between two slots, and whole tiles share a third. Where that is
// not enough (a loop with one exchange), a forward analysis of which slots may still be read finds
// out, and a barrier goes before the write.
//
//===--------------------------------------------------------------------------------------===//

#include "passes/NV/Passes.h"

#include "dialects/Warp/Warp.h"
#include "passes/NV/SharedStorage.h"
#include "tileloom/Analysis/Exchange.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "llvm/Support/MathExtras.h"

namespace tileloom::nv {
#define GEN_PASS_DEF_NVASSIGNSCRATCH
#include "passes/NV/Passes.h.inc"
} // namespace tileloom::nv

using namespace mlir;
using namespace tileloom;

namespace {

struct Slot {
  int64_t bytes = 0;
  SmallVector<Operation *> users;
};

class RoleScratch {
public:
  explicit RoleScratch(warp::RoleOp role) : role(role) {}

  LogicalResult run() {
    if (failed(chooseSlots()))
      return failure();
    for (Slot &slot : slots)
      if (slot.bytes)
        give(slot);
    visit(role.getBody().front(), 0, /*insert=*/true);
    return success();
  }

private:
  LogicalResult chooseSlots() {
    unsigned next = 0;
    WalkResult result = role.walk([&](Operation *op) {
      if (!takesScratch(op))
        return WalkResult::advance();
      llvm::Expected<int64_t> bytes = scratchBytes(op);
      if (!bytes) {
        op->emitOpError() << llvm::toString(bytes.takeError());
        return WalkResult::interrupt();
      }
      if (*bytes) {
        unsigned number = exchangesTile(op) ? 2 : next++ % 2;
        slots[number].bytes = std::max(slots[number].bytes, *bytes);
        slots[number].users.push_back(op);
        slotOf[op] = number;
      }
      return WalkResult::advance();
    });
    return failure(result.wasInterrupted());
  }

  /// Allocates a slot for each replica, and gives it to its users.
  void give(Slot &slot) {
    auto specialize = role->getParentOfType<warp::SpecializeOp>();
    OpBuilder builder(specialize);
    Location loc = role.getLoc();
    int64_t stride = llvm::alignTo(slot.bytes, 1024);
    if (slot.bytes <= 512)
      stride = llvm::alignTo(slot.bytes, 16);
    Type byte = builder.getI8Type();
    auto type =
        nv::MemDescType::get(role.getContext(), {stride}, byte, Attribute(), nv::MemorySpace::Smem);
    auto alloc = nv::AllocOp::create(builder, loc, type, role.getReplicas(), stride,
                                     slot.bytes <= 512 ? 16 : 1024, IntegerAttr(),
                                     builder.getStringAttr("scratch"));
    Attribute number = role->getAttr(nv::storageAttrName);
    if (number && exchangesTile(slot.users.front()))
      alloc->setAttr(nv::storageAttrName, number);
    Value base = alloc.getBase();
    builder.setInsertionPointToStart(&role.getBody().front());
    Value replica =
        role.getReplicas() > 1
            ? warp::ReplicaIndexOp::create(builder, loc, builder.getI32Type()).getResult()
            : arith::ConstantIntOp::create(builder, loc, 0, 32).getResult();
    Value view = nv::ViewOp::create(builder, loc, type, base, replica, stride, 0);
    for (Operation *user : slot.users)
      scratchOperand(user).assign(view);
  }

  /// The slots (a set of bits) that may still be read at the end of `block`, given those at its
  /// start.
  unsigned visit(Block &block, unsigned pending, bool insert) {
    for (Operation &op : llvm::make_early_inc_range(block)) {
      if (isa<nv::NamedBarrierOp>(op))
        pending = 0;
      if (auto found = slotOf.find(&op); found != slotOf.end()) {
        unsigned bit = 1u << found->second;
        if (insert && (pending & bit)) {
          OpBuilder builder(&op);
          nv::NamedBarrierOp::create(builder, op.getLoc());
        }
        pending = bit; // all have met since the others were read
        continue;
      }
      if (op.getNumRegions())
        pending = visitRegions(op, pending, insert);
    }
    return pending;
  }

  unsigned visitRegions(Operation &op, unsigned pending, bool insert) {
    auto once = [&](unsigned in, bool insertNow) {
      unsigned out = 0;
      if (isa<scf::WhileOp>(op)) { // before, after, before, ...
        unsigned state = in;
        for (Region &region : op.getRegions())
          state = visit(region.front(), state, insertNow), out |= state;
        return out;
      }
      for (Region &region : op.getRegions())
        out |= region.empty() ? in : visit(region.front(), in, insertNow);
      return out;
    };
    if (isa<LoopLikeOpInterface>(op)) {
      for (unsigned before = ~0u; before != pending;) {
        before = pending;
        pending |= once(pending, /*insertNow=*/false);
      }
      unsigned out = insert ? once(pending, /*insertNow=*/true) : pending;
      return pending | out;
    }
    return once(pending, insert);
  }

  warp::RoleOp role;
  Slot slots[3];
  llvm::DenseMap<Operation *, unsigned> slotOf;
};

struct AssignScratch : tileloom::nv::impl::NVAssignScratchBase<AssignScratch> {
  void runOnOperation() override {
    getOperation()->walk([&](warp::RoleOp role) {
      if (failed(RoleScratch(role).run()))
        signalPassFailure();
    });
  }
};

} // namespace
