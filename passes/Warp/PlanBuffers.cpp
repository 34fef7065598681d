//===- PlanBuffers.cpp - Depths and registers under a chip's limits -----------------------===//
//
// In: roles with rings of depth 1. Out: rings that feed innermost loops as deep as shared memory
// allows (or as the schedule says), and a register budget for each role.
//
// The loop's rings come first, all equally deep, up to the depth at which the copies' latency is
// hidden several times. What is loaded once for a loop has one slot, and a second one where memory
// is left: it hides the turn from tile to tile, as the next tile's copy need not wait for the last
// product that reads this one's.
//
//===--------------------------------------------------------------------------------------===//

#include "passes/Warp/Passes.h"

#include "dialects/NV/NV.h"
#include "dialects/Tile/Tile.h"
#include "dialects/Warp/Warp.h"
#include "passes/Warp/ValueRing.h"
#include "tileloom/Schedule/Limits.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tileloom::warp {
#define GEN_PASS_DEF_WARPPLANBUFFERS
#include "passes/Warp/Passes.h.inc"
} // namespace tileloom::warp

using namespace mlir;
using namespace tileloom;
using namespace tileloom::warp;
using namespace tileloom::schedule;

namespace {

int64_t slotBytes(BufferType type) {
  int64_t bytes = 0;
  for (RankedTensorType view : type.getViews())
    bytes += llvm::alignTo(view.getNumElements() * view.getElementTypeBitWidth() / 8, 1024);
  return bytes;
}

/// What a value of 16 bytes takes (slots begin at multiples of 128 bytes).
constexpr int64_t valueSlotBytes = 128;

/// Loops around the acquires of a buffer's rings, without the loop over tiles.
int64_t loopsAround(BufferOp buffer) {
  int64_t deepest = 0;
  for (Operation *ring : buffer.getBuffer().getUsers())
    for (Operation *user : ring->getUsers())
      if (isa<AcquireOp>(user)) {
        int64_t depth = 0;
        for (Operation *op = user->getParentOp(); !isa<RoleOp>(op); op = op->getParentOp())
          depth += isa<scf::ForOp, scf::WhileOp>(op);
        deepest = std::max(deepest, depth);
      }
  return deepest;
}

bool isInTileLoop(BufferOp buffer) {
  for (Operation *ring : buffer.getBuffer().getUsers())
    for (Operation *user : ring->getUsers())
      if (user->getParentOfType<ForEachTileOp>())
        return true;
  return false;
}

void setDepth(BufferOp buffer, int64_t depth) {
  BufferType type = buffer.getBuffer().getType();
  buffer.getBuffer().setType(
      BufferType::get(type.getContext(), depth, type.getViews(), type.getSpace()));
}

/// Replicas that take tiles in turn each need a slot of what is loaded once a tile: the parity of
/// one barrier does not tell a replica whether its own tile has come or still the one before.
void giveReplicasSlots(func::FuncOp function) {
  function.walk([&](AcquireOp acquire) {
    auto tiles = acquire->getParentOfType<ForEachTileOp>();
    if (!tiles || tiles.getStep() != TileStep::Replica)
      return;
    auto buffer = acquire.getRing().getDefiningOp<RingOp>().getBuffer().getDefiningOp<BufferOp>();
    BufferType type = buffer.getBuffer().getType();
    int64_t replicas = acquire->getParentOfType<RoleOp>().getReplicas();
    if (!buffer.getPerReplica() && type.getSpace() == Space::Smem && type.getDepth() < replicas)
      setDepth(buffer, replicas);
  });
}

LogicalResult planDepths(func::FuncOp function, tile::ScheduleAttr schedule) {
  SmallVector<BufferOp> streams;
  int64_t fixed = 0, perStage = 0, replicas = 1;
  function.walk([&](RoleOp role) { replicas = std::max<int64_t>(replicas, role.getReplicas()); });
  function.walk([&](BufferOp buffer) {
    BufferType type = buffer.getBuffer().getType();
    if (type.getSpace() != Space::Smem)
      return;
    if (isValueBuffer(type)) {
      fixed += valueSlotBytes * type.getDepth();
    } else if (loopsAround(buffer) > 0) {
      streams.push_back(buffer);
      perStage += slotBytes(type);
    } else {
      fixed += slotBytes(type) * type.getDepth() * (buffer.getPerReplica() ? replicas : 1);
    }
  });
  if (streams.empty())
    return success();
  int64_t fit = (sharedBytes - fixed) / perStage;
  int64_t depth = std::min(fit, deepestRing);
  if (std::optional<int64_t> stages = schedule ? schedule.integer("stages") : std::nullopt)
    depth = *stages;
  if (depth > fit || depth < 1)
    return function.emitOpError("shared memory: need ")
           << fixed + perStage * std::max<int64_t>(depth, 1) << " bytes, have " << sharedBytes
           << ": " << std::max<int64_t>(depth, 1) << " stages of " << perStage << " and " << fixed
           << " for the rest; "
           << (fit > 0 ? std::to_string(fit) + " stages would fit"
                       : std::string("use smaller tiles"));
  for (BufferOp buffer : streams)
    setDepth(buffer, depth);
  int64_t left = sharedBytes - fixed - perStage * depth;
  function.walk([&](BufferOp buffer) {
    BufferType type = buffer.getBuffer().getType();
    bool oncePerTile = type.getSpace() == Space::Smem && type.getDepth() == 1 &&
                       !buffer.getPerReplica() && !isValueBuffer(type) && isInTileLoop(buffer) &&
                       loopsAround(buffer) == 0;
    if (!oncePerTile || slotBytes(type) > left)
      return;
    left -= slotBytes(type);
    setDepth(buffer, 2);
  });
  return success();
}

/// Accumulators that a whole tile adds to get a second slot if tensor memory has room: the next
/// tile's products then run beside this one's epilogue.
LogicalResult planTensorMemory(func::FuncOp function) {
  constexpr int64_t columnsOfSM = tensorMemoryColumns;
  SmallVector<BufferOp> accumulators;
  int64_t columns = 0;
  auto width = [](BufferType type) {
    RankedTensorType view = type.getViews()[0];
    return view.getDimSize(1) * view.getElementTypeBitWidth() / 32;
  };
  function.walk([&](BufferOp buffer) {
    BufferType type = buffer.getBuffer().getType();
    if (type.getSpace() != Space::Tmem)
      return;
    columns += width(type) * type.getDepth();
    if (loopsAround(buffer) == 0)
      accumulators.push_back(buffer);
  });
  if (columns > columnsOfSM)
    return function.emitOpError("tensor memory: need ")
           << columns << " columns, have " << columnsOfSM << "; use smaller tiles";
  for (BufferOp buffer : accumulators) {
    BufferType type = buffer.getBuffer().getType();
    if (columns + width(type) > columnsOfSM)
      continue;
    columns += width(type);
    setDepth(buffer, 2);
  }
  return success();
}

/// The registers of an SM, shared so that the roles with products have what they can use.
void planRegisters(func::FuncOp function, tile::ScheduleAttr schedule) {
  SmallVector<RoleOp> wide, narrow;
  function.walk([&](RoleOp role) { (role.getWarps() >= 4 ? wide : narrow).push_back(role); });
  if (narrow.empty() || wide.empty())
    return;
  int64_t groups = 0; // of four warps
  for (RoleOp role : wide)
    groups += role.getWarps() * role.getReplicas() / 4;
  // All narrow roles get the same: they share a warpgroup.
  int64_t least = narrowRegisters;
  for (RoleOp role : narrow)
    role.walk([&](nv::Tcgen05MmaOp) { least = issuerRegisters; });
  int64_t budget = wideRegisters(groups, least);
  if (schedule)
    budget = schedule.integer("registers").value_or(budget);
  for (RoleOp role : wide)
    role.setRegisters(budget);
  for (RoleOp role : narrow)
    role.setRegisters(least);
}

struct PlanBuffers : tileloom::warp::impl::WarpPlanBuffersBase<PlanBuffers> {
  void runOnOperation() override {
    getOperation()->walk([&](func::FuncOp function) {
      auto schedule = function->getAttrOfType<tile::ScheduleAttr>(tile::scheduleAttrName);
      if (!schedule)
        return;
      giveReplicasSlots(function);
      if (failed(planDepths(function, schedule)) || failed(planTensorMemory(function)))
        return signalPassFailure();
      planRegisters(function, schedule);
    });
  }
};

} // namespace
