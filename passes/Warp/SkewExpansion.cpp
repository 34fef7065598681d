//===- SkewExpansion.cpp - A role's loop, rewritten to a plan -----------------------------===//
//
// The steady loop works on stage 0 of the iteration that its induction variable names and on stage 1
// of the one before. Stage 0 of the first iteration comes before it, stage 1 of the last one after it.
// What stage 1 needs of stage 0 becomes a carried value; a value that stage 1 makes for the next
// iteration's stage 0 is used in the same turn.
//
//===--------------------------------------------------------------------------------------===//

#include "SkewExpansion.h"

#include "dialects/Warp/Warp.h"
#include "tileloom/Schedule/LinearForm.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tileloom;
using namespace tileloom::schedule;

namespace {

/// Something that the steady loop carries. `value` is what it is called in the loop as written.
struct Carried {
  Value value;
  unsigned stage;      // whose work uses it under that name
  Value next;          // what the turn yields for it ...
  unsigned nextStage;  // ... as computed in this stage
};

struct Expander {
  const RoleLoop &graph;
  const SkewPlan &plan;
  OpBuilder builder;
  Location loc;
  mutable scf::ForOp loop;
  scf::ForOp steady;
  SmallVector<Carried> carried;
  DenseMap<Value, Value> maps[2]; // by stage, within the part at work

  Expander(const RoleLoop &graph, const SkewPlan &plan)
      : graph(graph), plan(plan), builder(graph.loop), loc(graph.loop.getLoc()), loop(graph.loop) {}

  bool isInside(Value value) const { return loop.getRegion().isAncestor(value.getParentRegion()); }
  bool isVariable(Value value) const { return value == loop.getInductionVar(); }
  BlockArgument carriedArgument(Value value) const {
    auto argument = dyn_cast<BlockArgument>(value);
    return argument && argument.getOwner() == loop.getBody() && !isVariable(value)
               ? argument
               : BlockArgument();
  }
  /// The stage that computes the value that the loop as written yields for `argument`.
  unsigned yieldStage(BlockArgument argument) const {
    auto source = graph.sourceOf(argument);
    return source ? plan.stages[source->node] : 0;
  }

  /// What a node reads, by the names of the loop as written.
  SmallVector<Value> usedBy(unsigned index) const {
    const Node &node = graph.nodes[index];
    if (node.kind == NodeKind::Retire)
      return {graph.nodes[node.partner].op->getResult(0)};
    llvm::SetVector<Value> values;
    for (Value operand : node.op->getOperands())
      values.insert(node.kind == NodeKind::Issue ? accumulator(operand) : operand);
    if (node.op->getNumRegions())
      getUsedValuesDefinedAbove(node.op->getRegions(), values);
    return values.takeVector();
  }
  /// A product that adds to another one in flight takes its result unawaited.
  Value accumulator(Value operand) const {
    auto source = graph.sourceOf(operand);
    bool chained = source && source->distance == 0 &&
                   graph.nodes[source->node].kind == NodeKind::Retire &&
                   graph.isChained(source->node);
    return chained ? graph.nodes[graph.nodes[source->node].partner].op->getResult(0) : operand;
  }

  void addCarried(Value value, unsigned stage, Value next, unsigned nextStage) {
    for (const Carried &known : carried)
      if (known.value == value && known.stage == stage)
        return;
    carried.push_back({value, stage, next, nextStage});
  }

  void collectCarried() {
    bool skewed = plan.skewed();
    for (BlockArgument argument : loop.getRegionIterArgs())
      if (!skewed || yieldStage(argument) == 0)
        addCarried(argument, 0, graph.yielded(argument), 0);
    if (!skewed)
      return;
    for (const Step &step : plan.body) {
      if (step.stage == 0)
        continue;
      for (Value value : usedBy(step.node)) {
        if (!isInside(value))
          continue;
        if (BlockArgument argument = carriedArgument(value)) {
          if (yieldStage(argument) == 0)
            addCarried(argument, 1, argument, 0);
          else
            addCarried(argument, 1, graph.yielded(argument), 1);
        } else if (isVariable(value)) {
          addCarried(value, 1, value, 0);
        } else if (Operation *def = loop.getBody()->findAncestorOpInBlock(*value.getDefiningOp())) {
          unsigned node = graph.nodeOf.lookup(def);
          if (graph.nodes[node].kind != NodeKind::View && plan.stages[node] == 0)
            addCarried(value, 1, value, 0);
        }
      }
    }
  }

  Value lookup(Value value, unsigned stage) {
    if (!isInside(value))
      return value;
    if (Value found = maps[stage].lookup(value))
      return found;
    // Made by stage 1 of the iteration before, earlier in this turn.
    BlockArgument argument = carriedArgument(value);
    assert(argument && stage == 0 && "a value of another stage that nothing carries");
    return lookup(graph.yielded(argument), 1);
  }

  void emitRetire(ArrayRef<Step> steps) {
    SmallVector<Value> inputs;
    SmallVector<Step> kept;
    for (const Step &step : steps) {
      if (graph.isChained(step.node))
        continue;
      kept.push_back(step);
      inputs.push_back(lookup(usedBy(step.node)[0], step.stage));
    }
    auto wait = nv::WgmmaWaitOp::create(builder, graph.nodes[steps.back().node].op->getLoc(),
                                        TypeRange(ValueRange(inputs)), inputs, Value(),
                                        steps.back().pending);
    for (auto [step, result] : llvm::zip(kept, wait.getResults()))
      maps[step.stage][graph.nodes[step.node].op->getResult(0)] = result;
  }

  void emit(ArrayRef<Step> steps) {
    for (size_t i = 0; i < steps.size(); ++i) {
      const Node &node = graph.nodes[steps[i].node];
      if (node.kind == NodeKind::Retire) {
        size_t end = i + 1;
        while (end < steps.size() && graph.nodes[steps[end].node].kind == NodeKind::Retire)
          ++end;
        emitRetire(steps.slice(i, end - i));
        i = end - 1;
        continue;
      }
      IRMapping mapping;
      SmallVector<Value> operands;
      for (Value operand : node.op->getOperands())
        mapping.map(operand, lookup(node.kind == NodeKind::Issue ? accumulator(operand) : operand,
                                    steps[i].stage));
      for (Value value : usedBy(steps[i].node))
        if (!mapping.contains(value))
          mapping.map(value, lookup(value, steps[i].stage));
      Operation *clone = builder.clone(*node.op, mapping);
      for (auto [from, to] : llvm::zip(node.op->getResults(), clone->getResults()))
        maps[steps[i].stage][from] = to;
    }
  }

  void forget() {
    maps[0].clear();
    maps[1].clear();
  }

  /// Initial values of what the steady loop carries, after the prologue.
  SmallVector<Value> emitPrologue() {
    if (plan.skewed()) {
      maps[0][loop.getInductionVar()] = loop.getLowerBound();
      for (auto [argument, init] : llvm::zip(loop.getRegionIterArgs(), loop.getInitArgs()))
        maps[0][argument] = init;
      emit(plan.prologue);
    }
    SmallVector<Value> inits;
    for (const Carried &value : carried) {
      BlockArgument argument = carriedArgument(value.value);
      bool first = argument && (value.stage == 1 || !plan.skewed()); // as before the loop
      if (first)
        inits.push_back(loop.getInitArgs()[argument.getArgNumber() - 1]);
      else
        inits.push_back(lookup(argument ? value.next : value.value, 0));
    }
    forget();
    return inits;
  }

  void emitSteady(ValueRange inits) {
    Value lower = loop.getLowerBound();
    if (plan.skewed())
      lower = builder.createOrFold<arith::AddIOp>(loc, lower, loop.getStep());
    steady = scf::ForOp::create(builder, loc, lower, loop.getUpperBound(), loop.getStep(), inits);
    steady->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
    OpBuilder::InsertionGuard guard(builder);
    if (inits.empty())
      steady.getBody()->getTerminator()->erase();
    builder.setInsertionPointToStart(steady.getBody());
    maps[0][loop.getInductionVar()] = steady.getInductionVar();
    for (auto [value, argument] : llvm::zip(carried, steady.getRegionIterArgs()))
      maps[value.stage][value.value] = argument;
    emit(plan.body);
    SmallVector<Value> next;
    for (const Carried &value : carried)
      next.push_back(lookup(value.next, value.nextStage));
    scf::YieldOp::create(builder, loc, next);
    forget();
  }

  /// The results of the loop as written.
  SmallVector<Value> emitEpilogue() {
    for (auto [value, result] : llvm::zip(carried, steady.getResults()))
      maps[value.stage][value.value] = result;
    emit(plan.epilogue);
    SmallVector<Value> results;
    for (BlockArgument argument : loop.getRegionIterArgs()) {
      bool late = plan.skewed() && yieldStage(argument) == 1;
      results.push_back(late ? lookup(graph.yielded(argument), 1) : maps[0].lookup(argument));
    }
    return results;
  }

  SmallVector<Value> emitAll() {
    emitSteady(emitPrologue());
    return emitEpilogue();
  }

  void run() {
    collectCarried();
    SmallVector<Value> results;
    if (!plan.skewed() || runsAtLeastOnce(loop)) {
      results = emitAll();
    } else {
      Value any = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt,
                                        loop.getLowerBound(), loop.getUpperBound());
      auto branch = scf::IfOp::create(builder, loc, loop.getResultTypes(), any,
                                      /*withElseRegion=*/loop.getNumResults() > 0);
      OpBuilder::InsertionGuard guard(builder);
      auto fill = [&](Block *block, llvm::function_ref<SmallVector<Value>()> body) {
        if (!block->empty())
          block->getTerminator()->erase();
        builder.setInsertionPointToEnd(block);
        SmallVector<Value> values = body();
        scf::YieldOp::create(builder, loc, values);
      };
      fill(branch.thenBlock(), [&] { return emitAll(); });
      if (loop.getNumResults())
        fill(branch.elseBlock(), [&] { return SmallVector<Value>(loop.getInitArgs()); });
      results.assign(branch.getResults().begin(), branch.getResults().end());
    }
    loop.replaceAllUsesWith(results);
    loop.erase();
  }
};

} // namespace

scf::ForOp warp::expandSkew(const RoleLoop &graph, const SkewPlan &plan) {
  Expander expander(graph, plan);
  expander.run();
  return expander.steady;
}
