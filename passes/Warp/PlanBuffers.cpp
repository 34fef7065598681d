//===- PlanBuffers.cpp - Depths and registers under a chip's limits -----------------------===//
//
// In: roles with rings of depth 1. Out: rings that feed innermost loops as deep as shared memory
// allows (or as the schedule says), and a register budget for each role.
//
// The loop's rings come first, all equally deep, up to the depth at which the copies' latency is
// hidden several times. What is loaded once for a loop has one slot, and a second one where memory
// is left: it hides the turn from tile to tile, as the next tile's copy need not wait for the last
// product that reads this one's. A tile that a role writes for itself has two slots: one is written
// while a product reads the other. What only a tile's end uses lies over the rings where that makes
// them deeper. Where tensor memory is full, tiles are written over those that they are made of (OverlaySlots).
//
//===--------------------------------------------------------------------------------------===//

#include "passes/Warp/Passes.h"

#include "dialects/NV/NV.h"
#include "dialects/Tile/Tile.h"
#include "dialects/Warp/Warp.h"
#include "passes/Warp/EpilogueSharing.h"
#include "passes/Warp/OverlaySlots.h"
#include "passes/Warp/PlannedExchanges.h"
#include "passes/Warp/Projection.h"
#include "passes/Warp/ValueRing.h"
#include "tileloom/Analysis/Lifetimes.h"
#include "tileloom/Analysis/StoragePlacer.h"
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
    bytes += llvm::alignTo(llvm::divideCeil(view.getNumElements() * view.getElementTypeBitWidth(), 8), 1024);
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

/// The most slots that a loop around a buffer's uses asks for (`tile.num_stages`); 0 if none does.
int64_t stagesAsked(BufferOp buffer) {
  int64_t asked = 0;
  for (Operation *ring : buffer.getBuffer().getUsers())
    for (Operation *user : ring->getUsers())
      for (Operation *op = user->getParentOp(); !isa<RoleOp>(op); op = op->getParentOp())
        if (auto stages = op->getAttrOfType<IntegerAttr>(tile::stagesAttrName))
          asked = std::max(asked, stages.getInt());
  return asked;
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

class DepthPlanner {
public:
  DepthPlanner(func::FuncOp function, tile::ScheduleAttr schedule)
      : function(function), schedule(schedule), exchanges(exchangesOf(function)), fixed(exchanges.bytes) {
    function.walk([&](RoleOp role) { replicas = std::max<int64_t>(replicas, role.getReplicas()); });
  }

  LogicalResult run() {
    collect();
    if (streams.empty())
      return success();
    int64_t fit = (sharedBytes - fixed) / perStage, depth = wanted(fit);
    share(depth, fit);
    if (depth > fit || depth < 1)
      return function.emitOpError("shared memory: need ")
             << fixed + perStage * std::max<int64_t>(depth, 1) << " bytes, have " << sharedBytes
             << ": " << std::max<int64_t>(depth, 1) << " stages of " << perStage << " and " << fixed
             << " for the rest; "
             << (fit > 0 ? std::to_string(fit) + " stages would fit"
                         : std::string("use smaller tiles"));
    setDepths(depth);
    addSecondSlots(sharedBytes - fixed - perStage * depth);
    return success();
  }

private:
  int64_t bytesOf(BufferOp buffer) const {
    BufferType type = buffer.getBuffer().getType();
    return slotBytes(type) * type.getDepth() * (buffer.getPerReplica() ? replicas : 1);
  }

  void collect() {
    function.walk([&](BufferOp buffer) {
      BufferType type = buffer.getBuffer().getType();
      if (type.getSpace() != Space::Smem)
        return;
      if (isValueBuffer(type)) {
        fixed += valueSlotBytes * type.getDepth();
      } else if (loopsAround(buffer) > 0 && !buffer.getPerReplica()) {
        streams.push_back(buffer);
        perStage += slotBytes(type);
        asked = std::max(asked, stagesAsked(buffer));
      } else {
        if (loopsAround(buffer) > 0)
          setDepth(buffer, 2);
        others.push_back(buffer);
        fixed += bytesOf(buffer);
      }
    });
  }

  /// The depth of streams, of which `fit` slots each fit.
  int64_t wanted(int64_t fit) const {
    if (std::optional<int64_t> stages = schedule.integer("stages"))
      return *stages;
    int64_t depth = std::min(fit, streams.size() > 1 ? deepestOfSeveral : deepestRing);
    return asked ? std::min(depth, asked) : depth; // a wish, not a must
  }

  void setDepths(int64_t depth) {
    for (BufferOp buffer : streams)
      setDepth(buffer, depth);
  }

  /// What a tile's end alone uses may lie over the streams, if that makes them deeper.
  void share(int64_t &depth, int64_t &fit) {
    EpilogueSharing sharing(function, streams, others, exchanges.ops);
    int64_t late = sharing.lateExchanges() ? exchanges.bytes : 0;
    for (BufferOp buffer : sharing.lateBuffers())
      late += bytesOf(buffer);
    int64_t fitShared = fixed > sharedBytes ? 0 : (sharedBytes - fixed + late) / perStage,
            deeper = wanted(fitShared);
    if (late == 0 || deeper > fitShared || deeper <= 0 || (deeper <= depth && depth <= fit))
      return;
    setDepths(deeper);
    if (!sharing.arrange())
      return;
    fixed -= std::min(late, deeper * perStage);
    fit = fitShared;
    depth = deeper;
  }

  /// For what is loaded once a tile, as far as the memory that is left goes.
  void addSecondSlots(int64_t left) {
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
  }

  func::FuncOp function;
  tile::ScheduleAttr schedule;
  Exchanges exchanges;
  SmallVector<BufferOp> streams, others; ///< that feed loops, and others in shared memory
  int64_t fixed, perStage = 0;           ///< bytes of others, and of one slot of each stream
  int64_t replicas = 1, asked = 0;
};

/// Columns that `buffers` take where those that are never used at the same time share.
int64_t packedColumns(func::FuncOp function, ArrayRef<BufferOp> buffers) {
  Lifetimes lifetimes;
  function.walk([&](SpecializeOp specialize) { lifetimes = findLifetimes(specialize, {}); });
  SmallVector<std::pair<int64_t, int64_t>> sizes; // largest first, as nv-allocate-tensor-memory
  for (BufferOp buffer : buffers) {
    BufferType type = buffer.getBuffer().getType();
    auto number = llvm::find(lifetimes.storages, buffer) - lifetimes.storages.begin();
    bool known = number < static_cast<int64_t>(lifetimes.storages.size());
    sizes.push_back({-columnsOf(type) * type.getDepth(), known ? number : -1});
  }
  llvm::sort(sizes);
  StoragePlacer placer(lifetimes.apart);
  for (auto [size, number] : sizes)
    placer.place(number, -size, 4);
  return placer.end();
}

/// Accumulators that a whole tile adds to get a second slot if tensor memory has room: the next
/// tile's products then run beside this one's epilogue.
LogicalResult planTensorMemory(func::FuncOp function) {
  constexpr int64_t columnsOfSM = tensorMemoryColumns;
  SmallVector<BufferOp> all, accumulators;
  int64_t columns = 0;
  function.walk([&](BufferOp buffer) {
    BufferType type = buffer.getBuffer().getType();
    if (type.getSpace() != Space::Tmem)
      return;
    columns += columnsOf(type) * type.getDepth();
    all.push_back(buffer);
    if (loopsAround(buffer) == 0)
      accumulators.push_back(buffer);
  });
  if (columns > columnsOfSM) {
    if (packedColumns(function, all) <= columnsOfSM)
      return success();
    for (BufferOp buffer : all)
      if (overlaySlots(buffer))
        return planTensorMemory(function);
    return function.emitOpError("tensor memory: need ")
           << columns << " columns, have " << columnsOfSM << "; use smaller tiles";
  }
  for (BufferOp buffer : accumulators) {
    BufferType type = buffer.getBuffer().getType();
    int64_t own = columnsOf(type) * type.getDepth(); // of all blocks of rows
    if (columns + own > columnsOfSM)
      continue;
    columns += own;
    setDepth(buffer, 2 * type.getDepth());
  }
  return success();
}

/// Registers of a thread that the sums of a role's products and their operands take, if all are held at once.
int64_t registersOfProducts(RoleOp role) {
  int64_t bits = 0;
  role.walk([&](nv::WgmmaOp product) {
    for (Value value : {Value(product.getA()), Value(product.getResult())})
      if (auto tile = dyn_cast<RankedTensorType>(value.getType()))
        bits += tile.getNumElements() * tile.getElementTypeBitWidth();
  });
  return bits / 32 / (32 * role.getWarps());
}

/// What the role that issues products needs for each further block of rows: views of its slots (with 88 in all for two, attention spilled 52
/// bytes there; the warpgroups of attention have enough with 192).
constexpr int64_t issuerRegistersOfBlock = 24;

/// The registers of an SM, shared so that the roles with products have what they can use. The role
/// that gathers operands holds what it has in flight. What remains is the narrow roles': 24 are few
/// for the addresses of several operands, and of no use to others.
void planRegisters(func::FuncOp function, tile::ScheduleAttr schedule) {
  SmallVector<RoleOp> wide, narrow, gathering;
  function.walk([&](RoleOp role) {
    (role.getWarps() < 4                ? narrow
     : role.getSymName() == gatherRole ? gathering
                                       : wide)
        .push_back(role);
  });
  if ((narrow.empty() && gathering.empty()) || wide.empty())
    return;
  int64_t groups = 0; // of four warps
  for (RoleOp role : wide)
    groups += role.getWarps() * role.getReplicas() / 4;
  // All narrow roles get the same: they share a warpgroup.
  int64_t least = narrowRegisters;
  for (RoleOp role : narrow)
    role.walk([&](nv::Tcgen05MmaOp) { least = issuerRegisters + (groups - 1) * issuerRegistersOfBlock; });
  if (least == narrowRegisters && llvm::any_of(narrow, [](RoleOp role) { return role.getSymName() == gatherRole; }))
    least = transposeRegisters;
  int64_t budget = std::min(wideRegisters(groups, least), (registersAtLaunch(groups + 1) - least) / groups / 8 * 8), gather = 0;
  for (RoleOp role : gathering) {
    std::tie(budget, gather) = gatherRegisters(groups, narrow.empty() ? 0 : least);
    role.setRegisters(gather);
  }
  // Sums that leave room give 8 of each thread's registers to the role that copies, which has 40 then: with 24 it spilled some of its places
  // beside results of 32 bits, `keep`, clusters and slices.
  // Where operands are made in registers, what they are made of is there, too.
  auto hasRoom = [](RoleOp role) {
    int64_t products = registersOfProducts(role);
    bool made = false;
    role.walk([&](nv::WgmmaOp product) { made |= isa<RankedTensorType>(product.getA().getType()); });
    return products > 0 && products <= (made ? 128 : widestSum);
  };
  if (budget == mostRegisters && groups > 1 && llvm::all_of(wide, hasRoom))
    budget -= 8;
  budget = schedule.integer("registers").value_or(budget);
  // One warpgroup of math leaves enough for roles that compute many places to copy from.
  if (gathering.empty() && registerPool - 128 * groups * budget >= 128 * issuerRegisters)
    least = issuerRegisters;
  for (RoleOp role : wide)
    role.setRegisters(budget);
  int64_t left = registersAtLaunch(groups + 1 + !gathering.empty()) - groups * budget - gather;
  for (RoleOp role : narrow)
    role.setRegisters(std::clamp(left / 8 * 8, least, mostRegisters));
}

struct PlanBuffers : tileloom::warp::impl::WarpPlanBuffersBase<PlanBuffers> {
  void runOnOperation() override {
    getOperation()->walk([&](func::FuncOp function) {
      auto schedule = function->getAttrOfType<tile::ScheduleAttr>(tile::scheduleAttrName);
      if (!schedule)
        return;
      giveReplicasSlots(function);
      if (failed(DepthPlanner(function, schedule).run()) || failed(planTensorMemory(function)))
        return signalPassFailure();
      planRegisters(function, schedule);
    });
  }
};

} // namespace
