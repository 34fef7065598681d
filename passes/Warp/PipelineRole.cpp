//===- PipelineRole.cpp - Products in flight while other work runs ------------------------===//
//
// In: roles whose loops await each product at once. Out: in innermost loops with two or more
// products, products issued together and awaited one by one, with synchronous work between the
// waits; where one product needs work on another one's result, it runs an iteration late. Loops of
// one product that ask for it (`warp.pending` = 1) keep it in flight over their back edge. Loops
// that their program has scheduled, or whose attribute `warp.pipeline` is "off", stay as they are.
//
// Relies on lib/Schedule for what is legal and what pays.
//
//===--------------------------------------------------------------------------------------===//

#include "passes/Warp/Passes.h"
#include "passes/Warp/Projection.h"

#include "KeepInFlight.h"
#include "SkewExpansion.h"
#include "dialects/Warp/Warp.h"

namespace tileloom::warp {
#define GEN_PASS_DEF_WARPPIPELINEROLE
#include "passes/Warp/Passes.h.inc"
} // namespace tileloom::warp

using namespace mlir;
using namespace tileloom;
using namespace tileloom::warp;

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
    SmallVector<scf::ForOp> loops, accumulating;
    getOperation()->walk([&](scf::ForOp loop) {
      auto products = loop.getBody()->getOps<nv::WgmmaOp>();
      if (!loop->getParentOfType<RoleOp>() || !isInnermost(loop) || isOff(loop))
        return;
      auto wanted = loop->getAttrOfType<IntegerAttr>(pendingAttrName);
      tile::ScheduleAttr given = scheduleOf(loop);
      int64_t pending = wanted ? wanted.getInt() : given ? given.integer("pending").value_or(0) : 0;
      if (std::distance(products.begin(), products.end()) >= 2)
        loops.push_back(loop);
      else if (pending == 1)
        accumulating.push_back(loop);
    });
    for (scf::ForOp loop : loops)
      pipeline(loop);
    for (scf::ForOp loop : accumulating) {
      Location loc = loop.getLoc();
      std::string why;
      if (!keepInFlight(loop, why) && report)
        emitRemark(loc) << "nothing stays in flight: " << why;
    }
  }

  bool isOff(scf::ForOp loop) {
    auto wanted = loop->getAttrOfType<StringAttr>(schedule::pipelineAttrName);
    tile::ScheduleAttr given = scheduleOf(loop);
    bool off = given && given.word("skew") == StringRef("off");
    return !skew || off || (wanted && wanted.getValue() == "off");
  }

  void pipeline(scf::ForOp loop) {
    auto role = loop->getParentOfType<RoleOp>();
    Location loc = loop.getLoc();
    std::string why;
    auto graph = schedule::RoleLoop::build(loop, why);
    if (!graph) {
      if (report)
        emitRemark(loc) << "kept in program order: " << why;
      return;
    }
    schedule::SkewOptions options;
    options.replicas = role.getReplicas();
    options.threads = 32 * role.getWarps();
    if (auto registers = role.getRegisters())
      options.registers = *registers;
    schedule::SkewPlan plan = schedule::planSkew(*graph, options, why);
    if (report)
      emitRemark(loc) << "schedule of role '" << role.getSymName() << "': " << why;
    if (!plan.body.empty())
      expandSkew(*graph, plan)->setAttr(overlapAttrName, UnitAttr::get(&getContext()));
  }
};

} // namespace
