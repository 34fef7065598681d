//===- Skew.cpp - Which iteration's work meets in one turn of a loop ----------------------===//
//
// A product that needs synchronous work on another product's result leaves the tensor core idle
// while that work runs, unless it runs one iteration late. Tried are: no skew, and a cut after each
// level of such dependences. Each legal order is timed by the engine table; the shortest interval
// wins, where one that has little slack for jitter counts as longer. Ties go to the order with less
// skew, but of three replicas and more to the one with more: what one of them waits for is then not its own next
// product (D 64 in tiles of 192 x 128 keys 1.02 to 1.07 times as fast as in order).
//
//===--------------------------------------------------------------------------------------===//

#include "tileloom/Schedule/Skew.h"

#include "tileloom/Schedule/Engines.h"
#include "tileloom/Schedule/Order.h"

#include "dialects/Warp/Warp.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tileloom;
using namespace tileloom::schedule;

/// Registers beside tiles: addresses, stages and phases, what the compiler needs.
static constexpr int64_t otherRegisters = 35;
/// The fewest of these that were enough (D 64, 192 x 128 keys late: 138 of tiles and 160 in all, nothing spilled; 192 x 144 spilled).
static constexpr int64_t fewestRegisters = 22;

/// How many products, each with synchronous work behind it, come before each product.
static SmallVector<unsigned> levelsOf(const RoleLoop &graph) {
  SmallVector<unsigned> levels(graph.nodes.size(), 0);
  for (size_t i = 0; i < graph.nodes.size(); ++i)
    for (const Edge &edge : graph.edges)
      if (edge.to == i && edge.distance == 0) {
        bool hop = graph.nodes[edge.from].kind == NodeKind::Retire &&
                   graph.nodes[i].kind == NodeKind::Sync;
        levels[i] = std::max(levels[i], levels[edge.from] + hop);
      }
  return levels;
}

/// Stages of all nodes, given which products are late.
static SmallVector<unsigned> stagesFor(const RoleLoop &graph, ArrayRef<unsigned> levels,
                                       unsigned cut) {
  SmallVector<unsigned> stages(graph.nodes.size(), 0);
  SmallVector<bool> fromEarly(graph.nodes.size(), false); // needs an early product
  for (auto [i, node] : llvm::enumerate(graph.nodes)) {
    if (node.kind == NodeKind::Issue || node.kind == NodeKind::Retire)
      stages[i] = levels[node.kind == NodeKind::Issue ? i : node.partner] >= cut;
    if (node.kind == NodeKind::Retire)
      fromEarly[i] = !stages[i];
    for (const Edge &edge : graph.edges) {
      if (edge.to != i || edge.distance)
        continue;
      fromEarly[i] = fromEarly[i] || fromEarly[edge.from];
      stages[i] = std::max(stages[i], stages[edge.from]);
    }
  }
  // What only late work needs, and no early product feeds, is late.
  for (size_t i = graph.nodes.size(); i-- > 0;) {
    NodeKind kind = graph.nodes[i].kind;
    if (stages[i] || fromEarly[i] || kind == NodeKind::Issue || kind == NodeKind::Retire ||
        llvm::is_contained(graph.nodes[i].op->getUsers(), graph.loop.getBody()->getTerminator()))
      continue;
    bool used = false, late = true;
    for (const Edge &edge : graph.edges)
      if (edge.from == i && edge.distance == 0 && graph.nodes[edge.to].kind != NodeKind::Acquire) {
        used = true;
        late = late && stages[edge.to];
      }
    stages[i] = used && late;
  }
  // The slots of one ring are taken in one stage.
  for (auto [i, node] : llvm::enumerate(graph.nodes))
    for (auto [j, other] : llvm::enumerate(graph.nodes))
      if (node.kind == NodeKind::Acquire && other.kind == NodeKind::Acquire && !stages[j] &&
          cast<warp::AcquireOp>(node.op).getRing() == cast<warp::AcquireOp>(other.op).getRing())
        stages[i] = 0;
  return stages;
}

static std::optional<SkewPlan> planFor(const RoleLoop &graph, SmallVector<unsigned> stages,
                                       const SkewOptions &options, std::string &why) {
  SkewPlan plan;
  plan.stages = std::move(stages);
  auto body = orderSteps(graph, plan.stages, Part::Body, why);
  if (!body)
    return std::nullopt;
  plan.body = *body;
  if (llvm::is_contained(plan.stages, 1u)) {
    auto prologue = orderSteps(graph, plan.stages, Part::Prologue, why);
    auto epilogue = orderSteps(graph, plan.stages, Part::Epilogue, why);
    if (!prologue || !epilogue)
      return std::nullopt;
    plan.prologue = *prologue;
    plan.epilogue = *epilogue;
  }
  double busy[engineCount] = {};
  for (const Step &step : plan.body) {
    OpCost cost = costOf(graph.nodes[step.node].op);
    if (graph.nodes[step.node].kind != NodeKind::Retire)
      busy[static_cast<unsigned>(cost.engine)] += cost.busy * options.replicas;
  }
  plan.chain = turnTime(graph, plan.body);
  plan.bound = *std::max_element(std::begin(busy), std::begin(busy) + 3);
  plan.interval = std::max(plan.bound, plan.chain);
  // The units are only kept busy if a replica has time to spare for waits the model does not see.
  double slack = (plan.interval - plan.chain) / (0.1 * plan.interval);
  plan.interval *= 1 + 0.05 * std::max(0.0, 1 - slack);
  plan.registers = peakRegisters(graph, plan.stages, plan.body, options.threads) + otherRegisters;
  return plan;
}

SkewPlan schedule::planSkew(const RoleLoop &graph, const SkewOptions &options, std::string &why) {
  SmallVector<unsigned> levels = levelsOf(graph);
  unsigned most = 0;
  for (unsigned product : graph.products())
    most = std::max(most, levels[product]);
  SkewPlan best;
  for (unsigned cut = most + 1; cut > 0; --cut) { // the first one: nothing is late
    std::string reason;
    std::optional<SkewPlan> plan = planFor(graph, stagesFor(graph, levels, cut), options, reason);
    std::string name = cut > most ? "in order" : "late from product level " + std::to_string(cut);
    why += (why.empty() ? "" : "; ") + name + ": ";
    if (!plan) {
      why += "impossible, " + reason;
      continue;
    }
    why += llvm::formatv("{0:f0} clocks ({1:f0} of one replica, {2:f0} of the busiest unit), {3} registers", plan->interval,
                         plan->chain, plan->bound, plan->registers)
               .str();
    bool fits = plan->registers <= options.registers;
    if (!fits && cut <= most)
      why += " of " + std::to_string(options.registers);
    // Within 1 % the simpler one.
    bool enough = plan->registers - otherRegisters + fewestRegisters <= options.registers;
    bool tie = options.replicas > 2 && enough && plan->interval < best.interval * 1.01;
    bool wanted = (options.late || tie) && plan->skewed() && !best.skewed();
    if (best.body.empty() || wanted || (fits && plan->interval < best.interval * 0.99))
      best = *plan;
  }
  return best;
}
