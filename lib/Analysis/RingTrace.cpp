//===- RingTrace.cpp - Running roles on chosen scalars ------------------------------------===//
//
// One Tracer runs one replica of a role in one CTA: control flow and scalars are computed, ring operations become waits
// and arrivals. The token of round q of a slot is what completion q (+ 1 on a ring that does not start released) of the
// slot's barrier hands over, and its release is an arrival of phase q on the next ring, as a slot passes each ring of its cycle once a
// round. Also checked on the way, because only the executed order tells: a token is released exactly once, and what
// still reads or fills its slot then is covered by the kind of the release.
//
//===--------------------------------------------------------------------------------------===//

#include "tileloom/Analysis/RingProgram.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

#include <map>
#include <tuple>

using namespace mlir;
using namespace tileloom;
using namespace tileloom::rings;

namespace {

/// Scalars left in slots by other agents: (ring of the buffer, instance, position, view index) -> value.
using SlotScalars = std::map<std::tuple<int32_t, int32_t, int64_t, int64_t>, int64_t>;

struct Token {
  int32_t ring = -1;
  int64_t position = 0;
  size_t tenure = 0;
  bool released = false, filled = false, drained = true;
  int64_t lastRead = 0; ///< ordinal of the last nv.wgmma that reads the slot
  Operation *release = nullptr, *user = nullptr;
};

class Tracer {
public:
  Tracer(const RingProgram &program, const Valuation &valuation, Model &model, SlotScalars &scalars,
         size_t maxSteps, TraceFault &fault)
      : program(program), valuation(valuation), model(model), scalars(scalars), maxSteps(maxSteps),
        fault(fault) {}

  /// Returns whether the agent ran to its end.
  bool run(int32_t roleIndex, int32_t replicaIndex, int32_t ctaIndex) {
    role = &program.roles[roleIndex];
    replica = replicaIndex;
    cta = ctaIndex;
    agent = model.agents.size();
    model.agents.push_back({roleIndex, replicaIndex, ctaIndex, {}});
    next.assign(program.rings.size(), 0);
    passed.assign(program.rings.size(), 0);
    return runBlock(role->op.getBody().front());
  }

  bool truncated = false;

private:
  const RingProgram &program;
  const Valuation &valuation;
  Model &model;
  SlotScalars &scalars;
  size_t maxSteps;
  TraceFault &fault;

  const RoleInfo *role = nullptr;
  int32_t replica = 0, cta = 0, agent = 0;
  bool skipping = false; ///< in a tile that another replica takes
  llvm::DenseMap<Value, int64_t> env;
  llvm::DenseMap<Operation *, Token> tokens;
  llvm::DenseMap<Operation *, int64_t> executions;
  std::vector<int64_t> next, passed; ///< per ring: position of the next acquire, passes so far
  int64_t issued = 0, retired = 0;   ///< nv.wgmma
  size_t operations = 0;

  bool fail(Operation *op, const Twine &message, Operation *noteOp = nullptr, StringRef note = "") {
    fault = {op, message.str(), noteOp, note.str()};
    return false;
  }

  std::optional<int64_t> lookup(Value value) const {
    auto it = env.find(value);
    if (it != env.end())
      return it->second;
    if (Operation *def = value.getDefiningOp())
      return fixedValue(def, replica, cta, program.ctas);
    if (const Leaf *leaf = program.inputs.leafOf(value))
      if (leaf->kind == Leaf::Argument)
        return program.inputs.valueOf(value, valuation, 0);
    return std::nullopt;
  }

  void assign(Value to, Value from) {
    if (!program.inputs.relevant(to))
      return;
    if (std::optional<int64_t> value = lookup(from))
      env[to] = *value;
  }

  void assign(ValueRange to, ValueRange from) {
    SmallVector<std::optional<int64_t>, 8> values; // in parallel: a yield may permute
    for (Value value : from)
      values.push_back(lookup(value));
    for (auto [value, target] : llvm::zip(values, to))
      if (value && program.inputs.relevant(target))
        env[target] = *value;
  }

  bool runBlock(Block &block) {
    auto it = program.relevant.find(&block);
    if (it == program.relevant.end())
      return true;
    for (Operation *op : it->second) {
      if (++operations > 50 * maxSteps || model.agents[agent].steps.size() > maxSteps) {
        truncated = true;
        return false;
      }
      if (!execute(op))
        return false;
    }
    for (Operation *op : it->second)
      if (isa<warp::AcquireOp>(op)) {
        auto token = tokens.find(op);
        if (token == tokens.end())
          continue;
        if (!token->second.released)
          return fail(op, "its token is never released on a path that role @" +
                              role->op.getSymName() + " takes");
        tokens.erase(token);
      }
    return true;
  }

  bool execute(Operation *op) {
    if (auto acquire = dyn_cast<warp::AcquireOp>(op))
      return execute(acquire);
    if (auto release = dyn_cast<warp::ReleaseOp>(op))
      return execute(release);
    if (auto skip = dyn_cast<warp::SkipOp>(op)) {
      next[program.ringOf.lookup(skip.getRing())] += lookup(skip.getCount()).value_or(0);
      return true;
    }
    if (auto await = dyn_cast<warp::AwaitOp>(op)) {
      int32_t ring = program.ringOf.lookup(await.getOrder());
      if (!skipping)
        step(Step::Wait, program.barrier(ring, cta, replica, 0), next[ring]++ + (replica ? 1 : 0), op);
      return true;
    }
    if (auto pass = dyn_cast<warp::PassOp>(op)) {
      int32_t ring = program.ringOf.lookup(pass.getOrder());
      int32_t turn = (replica + 1) % program.rings[ring].instances;
      if (!skipping)
        step(Step::Arrive, program.barrier(ring, cta, turn, 0), passed[ring]++, op);
      return true;
    }
    if (auto store = dyn_cast<warp::StoreOp>(op)) {
      Token token;
      token.ring = program.ringOf.lookup(store.getRing());
      return take(token, op) && give(token, token.ring, false, op);
    }
    if (auto loop = dyn_cast<scf::ForOp>(op))
      return execute(loop);
    if (auto loop = dyn_cast<scf::WhileOp>(op))
      return execute(loop);
    if (auto loop = dyn_cast<warp::ForEachTileOp>(op))
      return execute(loop);
    if (auto branch = dyn_cast<scf::IfOp>(op))
      return execute(branch);
    if (op->getNumRegions())
      return fail(op, "around ring operations: expected scf.for, scf.if, scf.while or warp.for_each_tile");
    executeHardware(op);
    executeScalar(op);
    return true;
  }

  void step(Step::Kind kind, int32_t barrier, int64_t phase, Operation *op) {
    model.agents[agent].steps.push_back(
        {kind, barrier, static_cast<int32_t>(phase), program.siteOf.lookup(op)});
  }

  int32_t instance(const RingInfo &ring) const {
    return ring.instances > 1 && role->replicas > 1 ? replica : 0;
  }

  int32_t storage(const RingInfo &ring, int32_t inCta, int64_t slot) const {
    const BufferInfo &buffer = program.buffers[ring.buffer];
    return buffer.firstStorage + (inCta * buffer.instances + instance(ring)) * buffer.depth + slot;
  }

  bool take(Token &token, Operation *op) {
    const RingInfo &ring = program.rings[token.ring];
    if (skipping) { // own slots stay; shared ones pass by
      next[token.ring] += ring.instances == 1;
      token.position = -1;
      return true;
    }
    token.position = next[token.ring]++;
    int64_t slot = token.position % ring.depth, round = token.position / ring.depth;
    token.tenure = model.tenures.size();
    int32_t begin = model.agents[agent].steps.size();
    model.tenures.push_back({storage(ring, cta, slot), agent, begin, begin, token.ring,
                             static_cast<int32_t>(round)});
    step(Step::Wait, program.barrier(token.ring, cta, instance(ring), slot),
         round + (ring.released ? 0 : 1), op);
    return true;
  }

  bool give(Token &token, int32_t to, bool allCtas, Operation *op) {
    if (token.position < 0)
      return true;
    const RingInfo &ring = program.rings[to];
    int64_t slot = token.position % ring.depth, round = token.position / ring.depth;
    Tenure held = model.tenures[token.tenure];
    held.end = model.agents[agent].steps.size();
    model.tenures[token.tenure].end = held.end;
    for (int32_t other = 0; allCtas && other < program.ctas; ++other)
      if (other != cta) {
        held.storage = storage(ring, other, slot);
        model.tenures.push_back(held);
      }
    for (int32_t target : program.targets(to, cta))
      step(Step::Arrive, program.barrier(to, target, instance(ring), slot), round, op);
    return true;
  }

  bool execute(warp::AcquireOp op) {
    Token token;
    token.ring = program.ringOf.lookup(op.getRing());
    const RingInfo &ring = program.rings[token.ring];
    if (op.getStage() && !skipping) {
      // Stage and phase name the position up to a multiple of 2 x depth; roles only move forward.
      std::optional<int64_t> stage = lookup(op.getStage()), phase = lookup(op.getPhase());
      if (stage && phase) {
        int64_t parity = (*phase ^ (ring.released ? 1 : 0)) & 1;
        int64_t wanted = *stage + parity * ring.depth, turn = 2 * ring.depth;
        int64_t &position = next[token.ring];
        position += ((wanted - position) % turn + turn) % turn;
      }
    }
    take(token, op);
    tokens[op] = token;
    return true;
  }

  bool execute(warp::ReleaseOp op) {
    auto acquire = op.getToken().getDefiningOp<warp::AcquireOp>();
    auto it = tokens.find(acquire);
    if (it == tokens.end())
      return fail(op, "token: expected one that is held here, found one of an earlier iteration");
    Token &token = it->second;
    if (token.released)
      return fail(op, "releases a token a second time", token.release, "first released here");
    token.released = true;
    token.release = op;
    warp::ReleaseKind kind = op.getKind();
    if (token.lastRead > retired)
      return fail(op, "expected an nv.wgmma.wait that covers the last nv.wgmma that reads the slot, "
                      "found none before the release",
                  token.user, "still in flight");
    if (token.filled && kind != warp::ReleaseKind::Tma)
      return fail(op, "kind: expected tma for a slot that nv.tma.load fills, found " +
                          warp::stringifyReleaseKind(kind) + ": nothing waits for the bytes",
                  token.user, "filled here");
    if (!token.drained && kind != warp::ReleaseKind::BulkRead)
      return fail(op, "kind: expected bulk_read for a slot that nv.tma.store reads, found " +
                          warp::stringifyReleaseKind(kind) + ": nothing waits for the store engine",
                  token.user, "read here");
    warp::RingOp target = op.getRing().getDefiningOp<warp::RingOp>();
    bool allCtas = (kind == warp::ReleaseKind::Tma && target.getScope() == warp::Scope::Cluster) ||
                   (kind == warp::ReleaseKind::Tcgen05 && target.getScope() == warp::Scope::Pair);
    return give(token, program.ringOf.lookup(op.getRing()), allCtas, op);
  }

  /// What reads or fills slots asynchronously.
  void executeHardware(Operation *op) {
    if (auto wait = dyn_cast<nv::WgmmaWaitOp>(op)) {
      retired = std::max<int64_t>(retired, issued - static_cast<int64_t>(wait.getPending()));
      return;
    }
    if (auto wait = dyn_cast<nv::BulkWaitOp>(op)) {
      for (auto &[acquire, token] : tokens)
        token.drained |= wait.getPending() == 0;
      return;
    }
    bool wgmma = isa<nv::WgmmaOp>(op), load = isa<nv::TmaLoadOp>(op), store = isa<nv::TmaStoreOp>(op);
    issued += wgmma;
    if (!wgmma && !load && !store)
      return;
    auto touched = program.touches.find(op);
    if (touched == program.touches.end())
      return;
    for (warp::AcquireOp acquire : touched->second) {
      auto it = tokens.find(acquire);
      if (it == tokens.end())
        continue;
      Token &token = it->second;
      token.user = op;
      if (wgmma)
        token.lastRead = issued;
      token.filled |= load;
      token.drained &= !store;
    }
  }

  /// The place in a slot that a scalar access names, if it is a slot.
  std::optional<SlotScalars::key_type> slotScalar(Operation *op, Value index) const {
    auto touched = program.touches.find(op);
    if (touched == program.touches.end())
      return std::nullopt;
    auto token = tokens.find(touched->second.front());
    std::optional<int64_t> at = lookup(index);
    if (token == tokens.end())
      return std::nullopt;
    const RingInfo &ring = program.rings[token->second.ring];
    return SlotScalars::key_type(ring.buffer, cta * ring.instances + instance(ring),
                                 token->second.position, at.value_or(0));
  }

  void executeScalar(Operation *op) {
    if (auto store = dyn_cast<nv::ScalarStoreOp>(op)) {
      std::optional<int64_t> value = lookup(store.getValue());
      if (auto key = slotScalar(op, store.getIndex()); key && value)
        scalars[*key] = *value;
      return;
    }
    if (op->getNumResults() == 1 && program.inputs.relevant(op->getResult(0))) {
      SmallVector<int64_t, 4> operands;
      for (Value operand : op->getOperands())
        operands.push_back(lookup(operand).value_or(0));
      if (std::optional<int64_t> value = evaluateScalar(op, operands)) {
        env[op->getResult(0)] = *value;
        return;
      }
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

  bool execute(scf::ForOp loop) {
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

  bool execute(scf::WhileOp loop) {
    Block &before = loop.getBefore().front(), &after = loop.getAfter().front();
    assign(before.getArguments(), loop.getInits());
    auto condition = cast<scf::ConditionOp>(before.getTerminator());
    while (true) {
      if (!runBlock(before))
        return false;
      if (!lookup(condition.getCondition()).value_or(0))
        break;
      assign(after.getArguments(), condition.getArgs());
      if (!runBlock(after))
        return false;
      assign(before.getArguments(), after.getTerminator()->getOperands());
    }
    assign(loop.getResults(), condition.getArgs());
    return true;
  }

  bool execute(scf::IfOp branch) {
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

  bool execute(warp::ForEachTileOp loop) {
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
};

} // namespace

Model RingProgram::trace(const Valuation &valuation, size_t maxSteps, TraceFault &fault,
                         bool &truncated) const {
  Model model;
  SlotScalars scalars;
  for (auto [index, ring] : llvm::enumerate(rings)) {
    bool orders = !ring.op;
    int32_t expected = expectedArrivals(index);
    std::vector<std::pair<int32_t, int32_t>> readers;
    for (int32_t role : ring.acquirers) {
      bool one = ring.instances > 1 || roles[role].alternating.contains(index);
      readers.push_back({role, one ? 1 : roles[role].replicas});
    }
    for (int32_t cta = 0; cta < ctas; ++cta)
      for (int32_t instance = 0; instance < ring.instances; ++instance)
        for (int32_t slot = 0; slot < ring.depth; ++slot) {
          Barrier barrier{expected, static_cast<int32_t>(index), slot, cta, !orders && !ring.released, {}};
          if (barrier.mustDrain)
            for (auto [role, count] : readers)
              if (!roles[role].leader || cta == 0)
                barrier.readers.push_back({role, count});
          model.barriers.push_back(std::move(barrier));
        }
  }
  // Roles that write scalars into slots go first, so that readers see what was written.
  SmallVector<int32_t> order;
  for (bool writers : {true, false})
    for (size_t role = 0; role < roles.size(); ++role) {
      bool writes = roles[role].op.walk([](nv::ScalarStoreOp) { return WalkResult::interrupt(); })
                        .wasInterrupted();
      if (writes == writers)
        order.push_back(role);
    }
  for (int32_t role : order)
    for (int32_t cta = 0; cta < (roles[role].leader ? 1 : ctas); ++cta)
      for (int32_t replica = 0; replica < roles[role].replicas; ++replica) {
        Tracer tracer(*this, valuation, model, scalars, maxSteps, fault);
        if (!tracer.run(role, replica, cta)) {
          truncated = tracer.truncated;
          return model;
        }
      }
  return model;
}
