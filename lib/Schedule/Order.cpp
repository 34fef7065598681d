//===- Order.cpp - The order of work within one turn of a loop ----------------------------===//
//
// List scheduling. Products go first, each directly behind the acquires and the work that it alone
// waits for; products retire in the order in which they were issued (PTX ISA 9.7.15.7.1), and as
// late as anything else can be done.
//
//===--------------------------------------------------------------------------------------===//

#include "tileloom/Schedule/Order.h"

#include "tileloom/Schedule/Engines.h"

#include "dialects/Warp/Warp.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallSet.h"

using namespace mlir;
using namespace tileloom;
using namespace tileloom::schedule;

namespace {

/// Element by element on integers and truth values: where it is used it takes no registers of its
/// own.
bool isIndexArithmetic(const Node &node) {
  return node.kind == NodeKind::Sync && isPure(node.op) &&
         llvm::all_of(node.op->getResultTypes(),
                      [](Type type) { return getElementTypeOrSelf(type).isIntOrIndex(); });
}

struct Lister {
  const RoleLoop &graph;
  ArrayRef<unsigned> stages;
  Part part;
  std::string &why;
  SmallVector<Step> instances;
  SmallVector<SmallVector<unsigned>> before; // in-turn edges
  SmallVector<bool> done;
  SmallVector<unsigned> inFlight; // issue nodes, oldest first
  SmallVector<Step> result;

  NodeKind kindOf(unsigned instance) const { return graph.nodes[instances[instance].node].kind; }

  /// Views and index arithmetic, done where their result is used: it costs little and would take
  /// registers for long.
  bool isLazy(unsigned instance) const {
    const Node &node = graph.nodes[instances[instance].node];
    return node.kind == NodeKind::View || isIndexArithmetic(node);
  }

  /// Views work in every stage that uses them, everything else in its own.
  void addInstances() {
    SmallVector<llvm::SmallSet<unsigned, 2>> wanted(graph.nodes.size());
    for (unsigned i = graph.nodes.size(); i-- > 0;) {
      bool view = graph.nodes[i].kind == NodeKind::View;
      if (!view)
        wanted[i].insert(stages[i]);
      for (const Edge &edge : graph.edges)
        if (edge.to == i && graph.nodes[edge.from].kind == NodeKind::View)
          wanted[edge.from].insert(wanted[i].begin(), wanted[i].end());
    }
    for (unsigned i = 0; i < graph.nodes.size(); ++i)
      for (unsigned stage : {0, 1})
        if (wanted[i].count(stage) && (part == Part::Body || stage == (part == Part::Epilogue)))
          instances.push_back({i, stage});
    done.assign(instances.size(), false);
    before.resize(instances.size());
  }

  bool addEdges() {
    for (const Edge &edge : graph.edges)
      for (auto [to, target] : llvm::enumerate(instances)) {
        if (target.node != edge.to)
          continue;
        for (auto [from, source] : llvm::enumerate(instances)) {
          if (source.node != edge.from)
            continue;
          bool view = graph.nodes[edge.from].kind == NodeKind::View;
          if (view && source.stage != target.stage)
            continue;
          int lag = static_cast<int>(edge.distance + target.stage) - source.stage;
          if (lag == 0 && (part == Part::Body || edge.distance == 0))
            before[to].push_back(from);
          if (lag < 0)
            return contradict(from, to);
        }
      }
    return true;
  }

  bool contradict(unsigned from, unsigned to) {
    auto name = [&](unsigned i) {
      return graph.nodes[instances[i].node].op->getName().getStringRef().str();
    };
    why = "'" + name(to) + "' would come before '" + name(from) + "' that it needs";
    return false;
  }

  bool isReady(unsigned instance) const {
    return !done[instance] &&
           llvm::all_of(before[instance], [&](unsigned other) { return done[other]; });
  }

  void place(unsigned instance) {
    Step step = instances[instance];
    const Node &node = graph.nodes[step.node];
    if (node.kind == NodeKind::Issue)
      inFlight.push_back(step.node);
    if (node.kind == NodeKind::Retire) {
      auto *at = llvm::find(inFlight, static_cast<unsigned>(node.partner));
      step.pending = inFlight.end() - at - 1;
      inFlight.erase(inFlight.begin(), at + 1);
    }
    result.push_back(step);
    done[instance] = true;
  }

  /// What `instance` still waits for, itself included; none if that includes a retirement or
  /// another product.
  std::optional<llvm::SetVector<unsigned>> closure(unsigned instance) const {
    llvm::SetVector<unsigned> set;
    set.insert(instance);
    for (size_t i = 0; i < set.size(); ++i)
      for (unsigned other : before[set[i]])
        if (!done[other]) {
          if (kindOf(other) == NodeKind::Retire || kindOf(other) == NodeKind::Issue)
            return std::nullopt;
          set.insert(other);
        }
    return set;
  }

  bool placeProduct() {
    for (unsigned stage : {0, 1})
      for (unsigned i = 0; i < instances.size(); ++i) {
        if (done[i] || instances[i].stage != stage || kindOf(i) != NodeKind::Issue)
          continue;
        auto set = closure(i);
        if (!set)
          continue;
        while (!done[i]) {
          unsigned next = i;
          for (unsigned member : *set)
            if (isReady(member) && (member < next || done[next] || !isReady(next)))
              next = member;
          if (!isReady(next))
            return false;
          place(next);
        }
        return true;
      }
    return false;
  }

  /// One step of work, after the lazy steps that it alone waits for.
  bool placeWork() {
    for (unsigned i = 0; i < instances.size(); ++i) {
      if (done[i] || kindOf(i) != NodeKind::Sync || isLazy(i))
        continue;
      auto set = closure(i);
      if (!set || !llvm::all_of(*set, [&](unsigned other) { return other == i || isLazy(other); }))
        continue;
      auto members = set->takeVector();
      llvm::sort(members, [&](unsigned a, unsigned b) { return a < b; });
      for (unsigned member : members)
        place(member);
      return true;
    }
    return false;
  }

  bool placeReady(llvm::function_ref<bool(unsigned)> wanted) {
    for (unsigned i = 0; i < instances.size(); ++i)
      if (wanted(i) && isReady(i)) {
        place(i);
        return true;
      }
    return false;
  }

  bool placeRetirement() {
    for (unsigned issue : inFlight)
      for (unsigned i = 0; i < instances.size(); ++i)
        if (instances[i].node == static_cast<unsigned>(graph.nodes[issue].partner) && isReady(i)) {
          place(i);
          return true;
        }
    return false;
  }

  bool run() {
    addInstances();
    if (!addEdges())
      return false;
    // Products that an earlier turn has left in flight.
    if (part != Part::Prologue)
      for (unsigned issue : graph.products())
        if (stages[issue] < stages[graph.nodes[issue].partner])
          inFlight.push_back(issue);
    while (result.size() < instances.size()) {
      auto is = [&](NodeKind kind) {
        return [this, kind](unsigned i) { return kindOf(i) == kind; };
      };
      if (placeReady(is(NodeKind::Release)) || placeProduct() || placeWork() || placeRetirement() ||
          placeReady(is(NodeKind::Acquire)) || placeReady([&](unsigned i) { return isLazy(i); }))
        continue;
      for (unsigned i = 0; i < instances.size(); ++i)
        for (unsigned other : before[i])
          if (!done[i] && !done[other])
            return contradict(other, i);
      return false;
    }
    return true;
  }
};

} // namespace

std::optional<SmallVector<Step>> schedule::orderSteps(const RoleLoop &graph,
                                                      ArrayRef<unsigned> stages, Part part,
                                                      std::string &why) {
  Lister lister{graph, stages, part, why, {}, {}, {}, {}, {}};
  if (!lister.run())
    return std::nullopt;
  return lister.result;
}

double schedule::turnTime(const RoleLoop &graph, ArrayRef<Step> body) {
  double now = 0, tensorFree = 0, last = 0;
  llvm::DenseMap<unsigned, double> finished;
  constexpr int turns = 4;
  for (int turn = 0; turn < turns; ++turn) {
    last = now;
    for (const Step &step : body) {
      const Node &node = graph.nodes[step.node];
      OpCost cost = costOf(node.op);
      if (node.kind == NodeKind::Issue) {
        now += 10;
        double start = std::max(now, tensorFree);
        tensorFree = start + cost.busy;
        finished[step.node] = start + cost.latency;
      } else if (node.kind == NodeKind::Retire) {
        now = std::max(now, finished.lookup(node.partner));
      } else {
        now += cost.busy + (cost.engine == Engine::Alu ? (cost.latency - cost.busy) : 0);
      }
    }
  }
  return now - last;
}

int64_t schedule::peakRegisters(const RoleLoop &graph, ArrayRef<unsigned> stages,
                                ArrayRef<Step> body, int64_t threads) {
  SmallVector<int64_t> live(body.size() + 1, 0); // between steps
  int64_t always = 0;
  llvm::DenseSet<Value> outside;
  auto positionOf = [&](unsigned node, unsigned stage) -> int {
    for (auto [i, step] : llvm::enumerate(body))
      if (step.node == node && step.stage == stage)
        return i;
    return -1;
  };
  // Tiles that the loop computes, from the step that makes one to the last that reads it, which may
  // be in a later turn.
  for (auto [i, node] : llvm::enumerate(graph.nodes)) {
    if (node.kind == NodeKind::View || isa<nv::BroadcastOp>(node.op) || isIndexArithmetic(node))
      continue;
    for (Value operand : node.op->getOperands())
      if (!graph.sourceOf(operand) && !isa<BlockArgument>(operand) &&
          !operand.getDefiningOp<nv::SplatOp>() &&
          !isa_and_nonnull<arith::ConstantOp>(operand.getDefiningOp()) &&
          outside.insert(operand).second)
        always += registersOf(operand.getType(), threads);
    if (node.kind == NodeKind::Retire)
      continue; // the registers of its product
    int64_t size = 0;
    for (Type type : node.op->getResultTypes())
      size += registersOf(type, threads);
    int begin = positionOf(i, stages[i]);
    if (!size || begin < 0)
      continue;
    int end = begin, turns = 0;
    for (const Edge &edge : graph.edges) {
      bool reads = edge.from == i || (node.kind == NodeKind::Issue &&
                                      edge.from == static_cast<unsigned>(node.partner));
      if (!reads || !edge.data || graph.nodes[edge.to].kind == NodeKind::View)
        continue;
      unsigned reader = edge.to;
      auto product = dyn_cast<nv::WgmmaOp>(graph.nodes[reader].op);
      if (product && llvm::is_contained(node.op->getResults(), product.getA()))
        reader = graph.nodes[reader].partner; // read until it has retired
      int lag = static_cast<int>(edge.distance + stages[reader]) - stages[i];
      int position = positionOf(reader, stages[reader]);
      if (lag > turns || (lag == turns && position > end))
        turns = lag, end = position;
    }
    if (turns == 0) {
      for (int at = begin; at < end; ++at)
        live[at] += size;
      continue;
    }
    always += size * (turns - 1);
    for (int at = 0, count = body.size(); at < count; ++at)
      live[at] += at >= begin || at < end ? size : 0;
  }
  return always + *std::max_element(live.begin(), live.end());
}
