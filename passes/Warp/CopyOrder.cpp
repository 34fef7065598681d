//===- CopyOrder.cpp - Copies in the order in which their slots are taken -----------------===//
//
// A role that takes the slots of one buffer an iteration later than those of another one (a skewed
// loop) is fed by copies in the order of the program. With rings of few slots that order makes the
// copy that is needed first wait for a slot that becomes free last: K of the next iteration but one
// behind V of the next. Here the copies run as late as what takes them.
//
//===--------------------------------------------------------------------------------------===//

#include "CopyOrder.h"

#include "SkewExpansion.h"
#include "tileloom/Schedule/Order.h"

using namespace mlir;
using namespace tileloom;
using namespace tileloom::warp;
using schedule::NodeKind;
using schedule::Part;

static Value bufferOf(Operation *acquire) {
  auto ring = cast<AcquireOp>(acquire).getRing().getDefiningOp<RingOp>();
  return ring ? ring.getBuffer() : Value();
}

void SlotStages::add(const schedule::RoleLoop &graph, const schedule::SkewPlan &plan) {
  for (auto [node, stage] : llvm::zip(graph.nodes, plan.stages))
    if (node.kind == NodeKind::Acquire)
      (stage == 0 ? early : late).insert(bufferOf(node.op));
}

void SlotStages::addInOrder(scf::ForOp loop) {
  loop.walk([&](AcquireOp acquire) { early.insert(bufferOf(acquire)); });
}

/// The stages of a loop that only copies, to slots of both kinds; none for any other loop.
static std::optional<SmallVector<unsigned>> stagesOf(const schedule::RoleLoop &graph,
                                                     const SlotStages &slots) {
  SmallVector<unsigned> stages(graph.nodes.size(), 0);
  bool early = false;
  for (auto [i, node] : llvm::enumerate(graph.nodes)) {
    if (node.kind == NodeKind::Acquire) {
      stages[i] = slots.late.contains(bufferOf(node.op));
      if (!stages[i] && !slots.early.contains(bufferOf(node.op)))
        return std::nullopt;
      early |= !stages[i];
    } else if (node.kind == NodeKind::Issue ||
               (node.kind == NodeKind::Sync && !isa<nv::TmaLoadOp>(node.op))) {
      return std::nullopt;
    }
    for (const schedule::Edge &edge : graph.edges)
      if (edge.to == i && edge.distance == 0)
        stages[i] = std::max(stages[i], stages[edge.from]);
  }
  bool late = llvm::is_contained(stages, 1u);
  return early && late ? std::optional(stages) : std::nullopt;
}

static void skew(scf::ForOp loop, const SlotStages &slots) {
  std::string why;
  auto graph = schedule::RoleLoop::build(loop, why);
  auto stages = graph ? stagesOf(*graph, slots) : std::nullopt;
  if (!stages)
    return;
  auto body = orderSteps(*graph, *stages, Part::Body, why),
       prologue = orderSteps(*graph, *stages, Part::Prologue, why),
       epilogue = orderSteps(*graph, *stages, Part::Epilogue, why);
  if (!body || !prologue || !epilogue)
    return;
  schedule::SkewPlan plan;
  plan.stages = *stages;
  plan.body = *body;
  plan.prologue = *prologue;
  plan.epilogue = *epilogue;
  expandSkew(*graph, plan);
}

void SlotStages::skewCopies(SpecializeOp specialize) {
  late.remove_if([&](Value buffer) { return early.contains(buffer); });
  if (late.empty())
    return;
  SmallVector<scf::ForOp> loops;
  specialize.walk([&](scf::ForOp loop) {
    if (!loop.getBody()->getOps<nv::TmaLoadOp>().empty())
      loops.push_back(loop);
  });
  for (scf::ForOp loop : loops)
    skew(loop, *this);
}
