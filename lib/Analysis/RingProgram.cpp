//===- RingProgram.cpp - Who uses which ring ----------------------------------------------===//
//
// Collects rings, orders, buffers and roles of a warp.specialize, numbers barriers and storage, and
// checks what does not depend on trip counts: each buffer's rings have one start, every ring that
// is waited for is released to and the other way round, a ring that crosses CTAs has a cluster to
// cross, and bulk_read stays within a role.
//
//===--------------------------------------------------------------------------------------===//

#include "tileloom/Analysis/RingProgram.h"

#include "tileloom/Analysis/Roles.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace tileloom;
using namespace tileloom::rings;

/// CTAs of a cluster that are traced: they are alike, so more of them show nothing new.
static constexpr int64_t mostCtas = 4;

static bool isRingOp(Operation *op) {
  return isa<warp::AcquireOp, warp::ReleaseOp, warp::SkipOp, warp::AwaitOp, warp::PassOp,
             warp::StoreOp>(op);
}

static Value ringOperand(Operation *op) {
  if (auto release = dyn_cast<warp::ReleaseOp>(op))
    return release.getRing();
  if (auto store = dyn_cast<warp::StoreOp>(op))
    return store.getRing();
  return op->getOperand(0);
}

static bool addUnique(SmallVector<int32_t> &list, int32_t value) {
  if (llvm::is_contained(list, value))
    return false;
  list.push_back(value);
  return true;
}

/// Whether an integer is computed from the replica index. Looks through what loops carry, not at
/// how often they run, and not at tiles.
static bool dependsOnReplica(Value value, llvm::SmallDenseSet<Value> &seen) {
  if (!value || !value.getType().isIntOrIndex() || !seen.insert(value).second)
    return false;
  auto any = [&](auto values) {
    return llvm::any_of(values, [&](Value operand) { return dependsOnReplica(operand, seen); });
  };
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    Operation *parent = argument.getOwner()->getParentOp();
    unsigned index = argument.getArgNumber();
    if (auto loop = dyn_cast<scf::ForOp>(parent))
      return index &&
             any(ValueRange{loop.getInitArgs()[index - 1], loop.getYieldedValues()[index - 1]});
    if (auto loop = dyn_cast<scf::WhileOp>(parent))
      return any(loop.getInits()) || any(loop.getYieldedValues());
    return false;
  }
  Operation *def = value.getDefiningOp();
  if (auto loop = dyn_cast<scf::ForOp>(def)) {
    unsigned index = cast<OpResult>(value).getResultNumber();
    return any(ValueRange{loop.getInitArgs()[index], loop.getYieldedValues()[index]});
  }
  unsigned index = cast<OpResult>(value).getResultNumber();
  for (Region &region : def->getRegions()) {
    if (region.empty())
      continue;
    ValueRange given = region.front().getTerminator()->getOperands();
    if (any(isa<scf::IfOp>(def) ? given.slice(index, 1) : given))
      return true;
  }
  return isa<warp::ReplicaIndexOp>(def) || any(def->getOperands());
}

FailureOr<RingProgram> RingProgram::get(warp::SpecializeOp specialize,
                                        const PrivateStorage &uses) {
  RingProgram program;
  program.privateStorage = uses;
  program.specialize = specialize;
  if (failed(program.collect()) || failed(program.checkStructure()))
    return failure();
  program.findRelevant();
  return program;
}

/// The ring, or the turns, that `op` of a role is about.
FailureOr<RingInfo> RingProgram::ringInfo(Operation *op, warp::RoleOp role) {
  RingInfo info;
  info.value = ringOperand(op);
  info.op = info.value.getDefiningOp<warp::RingOp>();
  if (auto order = info.value.getDefiningOp<warp::OrderOp>()) {
    info.instances = order.getReplicas();
    if (order.getReplicas() != role.getReplicas())
      return op->emitOpError("expected an order for the ")
             << role.getReplicas() << " replicas of role @" << role.getSymName()
             << ", found one for " << info.instances;
    return info;
  }
  if (!info.op)
    return op->emitOpError("ring: expected the result of warp.ring, found another value");
  info.depth = info.op.getBuffer().getType().getDepth();
  info.released = info.op.getReleased();
  info.storeEngine = countedByStoreEngine(info.op);
  info.tensorMemory = info.op.getBuffer().getType().getSpace() == warp::Space::Tmem;
  info.shared = info.op.getScope() != warp::Scope::Cta;
  if (!info.shared)
    return info;
  auto launch = warp::LaunchAttr();
  if (auto function = specialize->getParentOfType<FunctionOpInterface>())
    launch = function->getAttrOfType<warp::LaunchAttr>(warp::launchAttrName);
  int64_t cluster = launch ? launch.getCluster() : 1;
  if (cluster < 2)
    return info.op.emitOpError("scope ")
           << warp::stringifyScope(info.op.getScope())
           << ": expected a launch in clusters of at least 2 CTAs, found " << cluster;
  bool pair = info.op.getScope() == warp::Scope::Pair;
  ctas = std::max<int32_t>(ctas, pair ? 2 : std::min(cluster, mostCtas));
  return info;
}

LogicalResult RingProgram::collect() {
  for (warp::RoleOp role : specialize.getBody().getOps<warp::RoleOp>()) {
    roles.push_back({role,
                     static_cast<int32_t>(role.getReplicas()),
                     role->hasAttr("leader"),
                     isSingleThreadRole(role),
                     {},
                     false});
    WalkResult result = role.walk([&](Operation *op) {
      if (!isRingOp(op) || ringOf.contains(ringOperand(op)))
        return WalkResult::advance();
      FailureOr<RingInfo> info = ringInfo(op, role);
      if (failed(info))
        return WalkResult::interrupt();
      ringOf[info->value] = rings.size();
      rings.push_back(*info);
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      return failure();
  }
  for (size_t role = 0; role < roles.size(); ++role)
    collectRole(role);
  placeSlots();
  return success();
}

/// Numbers the slots of buffers and the barriers of rings.
void RingProgram::placeSlots() {
  for (const RoleInfo &role : roles)
    mostReplicas = std::max(mostReplicas, role.replicas);
  llvm::DenseMap<Value, int32_t> bufferOf;
  int32_t barriers = 0;
  for (auto [index, ring] : llvm::enumerate(rings)) {
    if (ring.op) {
      Value value = ring.op.getBuffer();
      auto op = value.getDefiningOp<warp::BufferOp>();
      auto [it, fresh] = bufferOf.try_emplace(value, buffers.size());
      if (fresh) {
        BufferInfo info;
        info.value = value;
        info.depth = ring.depth;
        info.instances = op && op.getPerReplica() ? mostReplicas : 1;
        info.firstStorage = slots;
        slots += info.depth * info.instances * ctas;
        buffers.push_back(info);
      }
      ring.buffer = it->second;
      ring.instances = buffers[ring.buffer].instances;
      buffers[ring.buffer].rings.push_back(index);
    }
    ring.firstBarrier = barriers;
    barriers += ctas * ring.instances * ring.depth;
  }
}

void RingProgram::collectRole(int32_t index) {
  RoleInfo &role = roles[index];
  role.op.walk([&](Operation *op) {
    if (isRingOp(op)) {
      siteOf[op] = sites.size();
      sites.push_back(op);
      int32_t ring = ringOf.lookup(ringOperand(op));
      if (isa<warp::AcquireOp, warp::AwaitOp, warp::StoreOp>(op))
        addUnique(rings[ring].acquirers, index);
      if (isa<warp::ReleaseOp, warp::PassOp, warp::StoreOp>(op))
        addUnique(rings[ring].releasers, index);
      auto tiles = op->getParentOfType<warp::ForEachTileOp>();
      bool alternates = tiles && tiles.getStep() == warp::TileStep::Replica && role.replicas > 1;
      auto acquire = dyn_cast<warp::AcquireOp>(op);
      if (acquire && acquire.getStage() && role.replicas > 1) { // skips have become arithmetic
        llvm::SmallDenseSet<Value> seen;
        bool shifted = dependsOnReplica(acquire.getStage(), seen) ||
                       dependsOnReplica(acquire.getPhase(), seen);
        placed |= shifted;
        alternates |= shifted;
      }
      if (isa<warp::SkipOp>(op) || (alternates && acquire))
        role.alternating.insert(ring);
      return;
    }
    role.writesScalars |= isa<nv::ScalarStoreOp>(op);
    // Views are found by walking back from the operations that use them.
    if (!isa_and_nonnull<nv::NVDialect>(op->getDialect()) ||
        isa<nv::MemDescSliceOp, nv::MemDescTransOp>(op))
      return;
    for (Value operand : op->getOperands()) {
      while (Operation *def = operand.getDefiningOp()) {
        if (auto slot = dyn_cast<warp::SlotOp>(def)) {
          if (!touches.contains(op))
            touchers.push_back(op);
          touches[op].push_back(slot.getToken());
          break;
        }
        if (!isa<nv::MemDescType>(operand.getType()) || !def->getNumOperands())
          break;
        operand = def->getOperand(0);
      }
    }
  });
}

SmallVector<int32_t, 2> RingProgram::targets(int32_t index, int32_t cta) const {
  const RingInfo &ring = rings[index];
  if (!ring.shared)
    return {cta};
  bool all = llvm::any_of(ring.acquirers, [&](int32_t role) { return !roles[role].leader; });
  SmallVector<int32_t, 2> result;
  for (int32_t target = 0; target < (all ? ctas : 1); ++target)
    result.push_back(target);
  return result;
}

int32_t RingProgram::expectedArrivals(int32_t index) const {
  const RingInfo &ring = rings[index];
  if (!ring.op)
    return 1;
  int32_t count = 0;
  for (int32_t index : ring.releasers) {
    const RoleInfo &role = roles[index];
    bool alternates = llvm::any_of(buffers[ring.buffer].rings,
                                   [&](int32_t other) { return role.alternating.contains(other); });
    int32_t replicas = alternates || ring.instances > 1 ? 1 : role.replicas;
    count += replicas * (ring.shared && !role.leader ? ctas : 1);
  }
  return count;
}

/// Replicas that hold the same slot may each write their part of it, but not all of it.
LogicalResult RingProgram::checkWholeSlot(Operation *op, int32_t ring) const {
  auto role = llvm::find_if(roles, [&](const RoleInfo &info) { return info.op->isAncestor(op); });
  if (role->replicas == 1 || rings[ring].instances > 1 || role->alternating.contains(ring))
    return success();
  return op->emitOpError("in role @")
         << role->op.getSymName() << ": expected a buffer per_replica or a part of the slot, found "
         << role->replicas << " replicas that write all of the same slot";
}

LogicalResult RingProgram::checkStructure() const {
  for (const BufferInfo &buffer : buffers) {
    const RingInfo *start = nullptr;
    for (int32_t index : buffer.rings) {
      const RingInfo &ring = rings[index];
      warp::RingOp op = ring.op;
      if (ring.released && start) {
        InFlightDiagnostic diag =
            op.emitOpError("released: expected one ring of a buffer to start released, found two");
        diag.attachNote(start->value.getLoc()) << "the other one is here";
        return diag;
      }
      if (ring.released)
        start = &ring;
      if (ring.acquirers.empty())
        return op.emitOpError("is never acquired: slots released to it are lost");
      if (ring.releasers.empty())
        return op.emitOpError("is never released to: ")
               << (ring.released ? "its slots are not used again"
                                 : "who acquires it waits forever");
    }
    if (!start) {
      Operation *op = buffer.value.getDefiningOp();
      op = op ? op : rings[buffer.rings.front()].value.getDefiningOp();
      return op->emitOpError(
          "expected one of its rings to start released, found none: nothing ever starts");
    }
  }
  LogicalResult result = success();
  for (Operation *op : sites) {
    int32_t index = ringOf.lookup(ringOperand(op));
    if (isa<warp::StoreOp>(op) && failed(checkWholeSlot(op, index)))
      return failure();
  }
  for (Operation *op : touchers) {
    bool writes = isa<nv::LocalStoreOp, nv::LocalTransposeOp>(op);
    auto slot = writes ? op->getOperand(1).getDefiningOp<warp::SlotOp>() : warp::SlotOp();
    if (!slot)
      continue;
    warp::AcquireOp acquire = warp::originOf(slot.getToken());
    if (failed(checkWholeSlot(op, ringOf.lookup(acquire.getRing()))))
      return failure();
  }
  return result;
}

/// Chooses the operations that tracing looks at, in each block.
void RingProgram::findRelevant() {
  auto depth = [&](Operation *op) -> int64_t {
    return rings[ringOf.lookup(ringOperand(op))].depth;
  };
  int64_t tripLimit = 0;
  for (const RoleInfo &role : roles)
    for (int32_t ring : role.alternating)
      if (int64_t limit = 2 * rings[ring].depth / std::max(1, role.replicas - 1); placed)
        tripLimit = tripLimit ? std::min(tripLimit, limit) : limit;
  inputs.analyze(specialize, isRingOp, depth, tripLimit);
  llvm::SmallPtrSet<Operation *, 32> keep;
  specialize.walk([&](Operation *op) {
    bool hardware = isa<nv::WgmmaOp, nv::WgmmaWaitOp, nv::BulkWaitOp>(op) || touches.contains(op) ||
                    privateStorage.contains(op);
    bool token = llvm::any_of(op->getResultTypes(), llvm::IsaPred<warp::TokenType>);
    bool scalar =
        llvm::any_of(op->getResults(), [&](Value result) { return inputs.relevant(result); });
    if (!isRingOp(op) && !hardware && !scalar && !token)
      return;
    for (Operation *up = op; up != specialize && keep.insert(up).second; up = up->getParentOp())
      ;
  });
  specialize.walk([&](Operation *op) {
    if (!keep.contains(op))
      return;
    relevant[op->getBlock()].push_back({op, ScalarOp::of(op)});
    for (Value operand : op->getOperands())
      if (Operation *def = operand.getDefiningOp(); def && def->hasTrait<OpTrait::ConstantLike>())
        if (std::optional<int64_t> value = fixedValue(def, 0, 0, 1))
          constants[operand] = *value;
  });
}
