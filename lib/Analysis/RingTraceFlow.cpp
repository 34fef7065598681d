//===- RingTraceFlow.cpp - Control flow and scalars of a traced role ----------------------===//
//
// Executes loops, branches and integer arithmetic on the chosen scalars. Only operations that
// RingProgram found relevant are looked at. A value that no chosen scalar decides is absent;
// control flow that depends on one holds no ring operations.
//
//===--------------------------------------------------------------------------------------===//

#include "RingTracer.h"

using namespace mlir;
using namespace tileloom;
using namespace tileloom::rings;

std::optional<int64_t> Tracer::lookup(Value value) {
  auto it = env.find(value);
  if (it != env.end())
    return it->second;
  if (auto constant = program.constants.find(value); constant != program.constants.end())
    return constant->second;
  if (Operation *def = value.getDefiningOp()) {
    std::optional<int64_t> fixed = fixedValue(def, replica, cta, program.ctas);
    if (fixed)
      env[value] = *fixed;
    return fixed;
  }
  if (const Leaf *leaf = program.inputs.leafOf(value))
    if (leaf->kind == Leaf::Argument)
      return program.inputs.valueOf(value, valuation, 0);
  return std::nullopt;
}

Token *Tracer::lookupToken(Value value) {
  auto name = tokenOf.find(value);
  auto it = name == tokenOf.end() ? tokens.end() : tokens.find(name->second);
  return it == tokens.end() ? nullptr : &it->second;
}

void Tracer::assign(ValueRange to, ValueRange from) {
  SmallVector<std::optional<int64_t>, 8> values; // in parallel: a yield may permute
  for (auto [value, target] : llvm::zip(from, to)) {
    if (!isa<warp::TokenType>(value.getType())) {
      values.push_back(program.inputs.relevant(target) ? lookup(value) : std::nullopt);
      continue;
    }
    auto name = tokenOf.find(value);
    values.push_back(name == tokenOf.end() ? std::nullopt : std::optional(name->second));
  }
  for (auto [value, target] : llvm::zip(values, to)) {
    if (!isa<warp::TokenType>(target.getType())) {
      if (value)
        env[target] = *value;
      continue;
    }
    tokenOf.erase(target);
    if (!value)
      continue;
    tokenOf[target] = *value;
    // What comes out of a block is named further out; what goes into one keeps its name outside.
    auto token = tokens.find(*value);
    Block *block = target.getParentBlock();
    if (token != tokens.end() && !token->second.scope->findAncestorOpInBlock(*block->getParentOp()))
      token->second.scope = block;
  }
}

bool Tracer::tick() {
  truncated = ++operations > 50 * maxSteps || model.agents[agent].steps.size() > maxSteps;
  return !truncated;
}

bool Tracer::runBlock(Block &block) {
  if (!tick()) // an empty block may be the body of a long loop
    return false;
  auto it = program.relevant.find(&block);
  if (it == program.relevant.end())
    return true;
  for (const Relevant &step : it->second) {
    if (!tick())
      return false;
    if (step.scalar)
      compute(step.op, step.scalar);
    else if (!execute(step.op))
      return false;
  }
  return leave(block);
}

bool Tracer::leave(Block &block) {
  llvm::SmallDenseSet<int64_t, 4> passedOn;
  if (block.mightHaveTerminator()) // the bodies of roles and tile loops have none
    for (Value operand : block.getTerminator()->getOperands())
      if (auto name = tokenOf.find(operand); name != tokenOf.end())
        passedOn.insert(name->second);
  for (auto it = tokens.begin(); it != tokens.end();) {
    const Token &token = it->second;
    if (token.scope != &block || passedOn.contains(it->first)) {
      ++it;
      continue;
    }
    if (!token.released)
      return fail(token.acquire, "its token is never released on a path that role @" +
                                     role->op.getSymName() + " takes");
    it = tokens.erase(it);
  }
  return true;
}

std::optional<SlotScalars::key_type> Tracer::slotScalar(Operation *op, Value index) {
  auto touched = program.touches.find(op);
  if (touched == program.touches.end())
    return std::nullopt;
  const Token *token = lookupToken(touched->second.front());
  std::optional<int64_t> at = lookup(index);
  if (!token)
    return std::nullopt;
  const RingInfo &ring = program.rings[token->ring];
  return SlotScalars::key_type(ring.buffer, cta * ring.instances + instance(ring), token->position,
                               at.value_or(0));
}

void Tracer::compute(Operation *op, ScalarOp scalar) {
  SmallVector<int64_t, 4> operands;
  for (Value operand : op->getOperands())
    operands.push_back(lookup(operand).value_or(0));
  env[op->getResult(0)] = scalar.evaluate(operands);
}

void Tracer::executeScalar(Operation *op) {
  if (auto store = dyn_cast<nv::ScalarStoreOp>(op)) {
    std::optional<int64_t> value = lookup(store.getValue());
    if (auto key = slotScalar(op, store.getIndex()); key && value)
      scalars[*key] = *value;
    return;
  }
  for (Value result : op->getResults()) {
    const Leaf *leaf = program.inputs.leafOf(result);
    if (!leaf)
      continue;
    uint64_t context = 0;
    if (leaf->kind == Leaf::Function) {
      for (Value operand : op->getOperands())
        context += lookup(operand).value_or(0);
    } else {
      context = executions[op]++;
      if (leaf->kind == Leaf::Data)
        context += replica + cta;
    }
    if (auto load = dyn_cast<nv::ScalarLoadOp>(op))
      if (auto key = slotScalar(op, load.getIndex())) {
        auto it = scalars.find(*key);
        if (it != scalars.end()) {
          env[result] = it->second;
          continue;
        }
        context += std::get<2>(*key); // the same for all readers of the slot
      }
    env[result] = program.inputs.valueOf(result, valuation, context);
  }
}

bool Tracer::execute(scf::ForOp loop) {
  // Without a bound the loop holds no ring operations: once is enough to see what it issues.
  std::optional<int64_t> lower = lookup(loop.getLowerBound()), upper = lookup(loop.getUpperBound()),
                         by = lookup(loop.getStep());
  int64_t first = lower && upper ? *lower : 0, last = lower && upper ? *upper : 1;
  int64_t stride = std::max<int64_t>(1, by.value_or(1));
  assign(loop.getRegionIterArgs(), loop.getInitArgs());
  auto *terminator = loop.getBody()->getTerminator();
  for (int64_t iv = first; iv < last; iv += stride) {
    if (program.inputs.relevant(loop.getInductionVar()))
      env[loop.getInductionVar()] = iv;
    if (!runBlock(*loop.getBody()))
      return false;
    assign(loop.getRegionIterArgs(), terminator->getOperands());
  }
  assign(loop.getResults(), loop.getRegionIterArgs());
  return true;
}

bool Tracer::execute(scf::WhileOp loop) {
  Block &before = loop.getBefore().front(), &after = loop.getAfter().front();
  assign(before.getArguments(), loop.getInits());
  auto condition = cast<scf::ConditionOp>(before.getTerminator());
  for (bool once = false;; once = true) { // as above, without a condition
    if (!runBlock(before))
      return false;
    std::optional<int64_t> more = lookup(condition.getCondition());
    if (more ? !*more : once)
      break;
    assign(after.getArguments(), condition.getArgs());
    if (!runBlock(after))
      return false;
    assign(before.getArguments(), after.getTerminator()->getOperands());
  }
  assign(loop.getResults(), condition.getArgs());
  return true;
}

bool Tracer::execute(scf::IfOp branch) {
  std::optional<int64_t> condition = lookup(branch.getCondition());
  for (bool then : {true, false}) {
    Region &region = then ? branch.getThenRegion() : branch.getElseRegion();
    if (region.empty() || (condition && then != (*condition != 0)))
      continue;
    if (!runBlock(region.front()))
      return false;
    assign(branch.getResults(), region.front().getTerminator()->getOperands());
  }
  return true;
}

bool Tracer::execute(warp::ForEachTileOp loop) {
  int64_t m = lookup(loop.getM()).value_or(1), n = lookup(loop.getN()).value_or(1);
  int64_t group = loop.getGroup();
  bool alternate = loop.getStep() == warp::TileStep::Replica && role->replicas > 1;
  Block &body = loop.getBody().front();
  for (int64_t tile = 0; tile < m * n; ++tile) {
    int64_t first = tile / (group * n) * group, rest = tile % (group * n);
    int64_t rows = std::min(m - first, group);
    env[body.getArgument(0)] = first + rest % rows;
    env[body.getArgument(1)] = rest / rows;
    skipping = alternate && tile % role->replicas != replica;
    bool done = runBlock(body);
    skipping = false;
    if (!done)
      return false;
  }
  return true;
}
