//===- PipelineRole.cpp - Products in flight while other work runs ------------------------===//
//
// In: roles whose loops await each product at once. Out: in innermost loops with two or more
// products, products issued together and awaited one by one, with synchronous work between the
// waits; where one product needs work on another one's result, it runs an iteration late. Loops of
// one product that ask for it (`warp.pending` = 1) keep it in flight over their back edge. Where one
// thread issues all products, those that wait for no other one are issued an iteration ahead. Loops
// that their program has scheduled, or whose attribute `warp.pipeline` is "off", stay as they are.
//
// Other roles' copies follow: what is taken late is copied late.
//
// Relies on lib/Schedule for what is legal and what pays.
//
//===--------------------------------------------------------------------------------------===//

#include "passes/Warp/Passes.h"
#include "passes/Warp/Projection.h"

#include "CopyOrder.h"
#include "IssueAhead.h"
#include "KeepInFlight.h"
#include "SkewExpansion.h"
#include "dialects/Warp/Warp.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallPtrSet.h"

namespace tileloom::warp {
#define GEN_PASS_DEF_WARPPIPELINEROLE
#include "passes/Warp/Passes.h.inc"
} // namespace tileloom::warp

using namespace mlir;
using namespace tileloom;
using namespace tileloom::warp;

/// Where one replica takes so much longer than the busiest unit does for all of them, replicas do not compete for it, and turns only
/// add to the chain. By the model: 1.08 to 1.12 for attention in 8 bits and D 64 in tiles of 128 rows (1 to 7 % and 0 to 3 % slower
/// with turns), at most 1.03 where turns pay.
static constexpr double idleChain = 1.05;

namespace {

bool isInnermost(scf::ForOp loop) {
  return !loop.getBody()
              ->walk([](Operation *op) {
                return isa<LoopLikeOpInterface>(op) ? WalkResult::interrupt()
                                                    : WalkResult::advance();
              })
              .wasInterrupted();
}

struct PipelineRole : tileloom::warp::impl::WarpPipelineRoleBase<PipelineRole> {
  using WarpPipelineRoleBase::WarpPipelineRoleBase;

  void runOnOperation() override {
    SmallVector<scf::ForOp> loops, accumulating, issuing;
    getOperation()->walk([&](scf::ForOp loop) {
      if (!loop.getBody()->getOps<nv::Tcgen05MmaOp>().empty() && scheduleOf(loop) && isInnermost(loop) && !isOff(loop))
        issuing.push_back(loop);
      auto products = loop.getBody()->getOps<nv::WgmmaOp>();
      if (products.empty() || !loop->getParentOfType<RoleOp>() || !isInnermost(loop) || isOff(loop))
        return;
      auto wanted = loop->getAttrOfType<IntegerAttr>(pendingAttrName);
      tile::ScheduleAttr given = scheduleOf(loop);
      int64_t pending = wanted ? wanted.getInt() : given ? given.integer("pending").value_or(0) : 0;
      if (std::distance(products.begin(), products.end()) >= 2)
        loops.push_back(loop);
      else if (pending == 1)
        accumulating.push_back(loop);
    });
    llvm::MapVector<SpecializeOp, SlotStages> slots;
    for (scf::ForOp loop : loops)
      pipeline(loop, slots[loop->getParentOfType<SpecializeOp>()]);
    for (scf::ForOp loop : issuing) {
      Location loc = loop.getLoc();
      std::string why;
      if (!issueAhead(loop, slots[loop->getParentOfType<SpecializeOp>()], why) && report)
        emitRemark(loc) << "products are issued in program order: " << why;
    }
    for (auto &[specialize, stages] : slots)
      stages.skewCopies(specialize);
    for (scf::ForOp loop : accumulating) {
      Location loc = loop.getLoc();
      std::string why;
      if (!keepInFlight(loop, why) && report)
        emitRemark(loc) << "nothing stays in flight: " << why;
    }
  }

  bool isOff(scf::ForOp loop) {
    auto wanted = loop->getAttrOfType<StringAttr>(warp::pipelineAttrName);
    tile::ScheduleAttr given = scheduleOf(loop);
    bool off = given && given.word("skew") == StringRef("off");
    return !skew || off || (wanted && wanted.getValue() == "off");
  }

  void pipeline(scf::ForOp loop, SlotStages &slots) {
    auto role = loop->getParentOfType<RoleOp>();
    Location loc = loop.getLoc();
    std::string why;
    auto graph = schedule::RoleLoop::build(loop, why);
    if (!graph) {
      if (report)
        emitRemark(loc) << "kept in program order: " << why;
      return slots.addInOrder(loop);
    }
    schedule::SkewOptions options;
    options.replicas = role.getReplicas();
    options.threads = 32 * role.getWarps();
    tile::ScheduleAttr given = scheduleOf(loop);
    options.late = given && given.word("skew") == StringRef("late");
    if (auto registers = role.getRegisters())
      options.registers = *registers;
    schedule::SkewPlan plan = schedule::planSkew(*graph, options, why);
    if (report)
      emitRemark(loc) << "schedule of role '" << role.getSymName() << "': " << why;
    if (plan.body.empty())
      return slots.addInOrder(loop);
    slots.add(*graph, plan);
    scf::ForOp steady = expandSkew(*graph, plan);
    steady->setAttr(overlapAttrName, UnitAttr::get(&getContext()));
    if (plan.chain > idleChain * plan.bound) {
      steady->setAttr(longChainAttrName, UnitAttr::get(&getContext()));
      if (options.replicas > 1 && !steady->hasAttr(turnsAttrName))
        steady->setAttr(turnsAttrName, StringAttr::get(&getContext(), "off"));
    }
    if (plan.skewed())
      retireLate(steady);
  }

  /// Work behind the loop that does not need its last product is done while that is in flight.
  static void retireLate(scf::ForOp loop) {
    Operation *wait = loop->getNextNode();
    while (wait && !isa<nv::WgmmaWaitOp>(wait))
      wait = wait->getNextNode();
    if (!wait)
      return;
    SmallPtrSet<Operation *, 8> waiting{wait};
    for (Operation *op = wait->getNextNode(), *next; op; op = next) {
      next = op->getNextNode();
      if (isa<ReleaseOp>(op))
        continue;
      if (!isPure(op) || op->hasTrait<OpTrait::IsTerminator>())
        return;
      bool needs = llvm::any_of(op->getOperands(), [&](Value value) {
        return value.getDefiningOp() && waiting.contains(value.getDefiningOp());
      });
      if (needs)
        waiting.insert(op);
      else
        op->moveBefore(wait);
    }
  }
};

} // namespace
