//===- RingTrace.cpp - Running roles on chosen scalars ------------------------------------===//
//
// One Tracer runs one replica of a role in one CTA: control flow and scalars are computed, ring
// operations become waits and arrivals. The token of round q of a slot is what completion q (+ 1 on
// a ring that does not start released) of the slot's barrier hands over, and its release is an
// arrival of phase q on the next ring, as a slot passes each ring of its cycle once a round. Also
// checked on the way, because only the executed order tells: a token is released exactly once, what
// still reads or fills its slot then is covered by the kind of the release, and nothing touches the
// slot afterwards.
//
//===--------------------------------------------------------------------------------------===//

#include "RingTracer.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace tileloom;
using namespace tileloom::rings;

bool Tracer::run(int32_t roleIndex, int32_t replicaIndex, int32_t ctaIndex) {
  role = &program.roles[roleIndex];
  replica = replicaIndex;
  cta = ctaIndex;
  agent = model.agents.size();
  model.agents.push_back({roleIndex, replicaIndex, ctaIndex, {}, role->singleThread});
  next.assign(program.rings.size(), 0);
  passed.assign(program.rings.size(), 0);
  stored.assign(program.rings.size(), 0);
  return runBlock(role->op.getBody().front());
}

bool Tracer::fail(Operation *op, const Twine &message, Operation *noteOp, StringRef note) {
  fault = {op, message.str(), noteOp, note.str()};
  return false;
}

bool Tracer::execute(Operation *op) {
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
      step(Step::Wait, program.barrier(ring, cta, replica, 0), next[ring]++ + (replica ? 1 : 0),
           false, op);
    return true;
  }
  if (auto pass = dyn_cast<warp::PassOp>(op)) {
    int32_t ring = program.ringOf.lookup(pass.getOrder());
    int32_t turn = (replica + 1) % program.rings[ring].instances;
    if (!skipping)
      step(Step::Arrive, program.barrier(ring, cta, turn, 0), passed[ring]++, true, op);
    return true;
  }
  if (auto store = dyn_cast<warp::StoreOp>(op)) {
    Token token;
    token.ring = program.ringOf.lookup(store.getRing());
    return take(token, op) && give(token, token.ring, warp::ReleaseKind::BulkRead, op);
  }
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return execute(loop);
  if (auto loop = dyn_cast<scf::WhileOp>(op))
    return execute(loop);
  if (auto loop = dyn_cast<warp::ForEachTileOp>(op))
    return execute(loop);
  if (auto branch = dyn_cast<scf::IfOp>(op))
    return execute(branch);
  auto select = dyn_cast<arith::SelectOp>(op);
  if (select && isa<warp::TokenType>(select.getType())) {
    bool first = lookup(select.getCondition()).value_or(1) != 0;
    assign(select.getResult(), first ? select.getTrueValue() : select.getFalseValue());
    return true;
  }
  if (op->getNumRegions()) {
    // Other regions may hold tile work, but not ring operations, whose number they would have to
    // tell.
    WalkResult ring = op->walk([&](Operation *inner) {
      return program.siteOf.contains(inner) ? WalkResult::interrupt() : WalkResult::advance();
    });
    if (ring.wasInterrupted())
      return fail(op, "around ring operations: expected scf.for, scf.if, scf.while or "
                      "warp.for_each_tile");
    for (Region &region : op->getRegions())
      for (Block &block : region)
        if (!runBlock(block))
          return false;
  }
  if (!executeHardware(op))
    return false;
  executeScalar(op);
  return true;
}

Step &Tracer::step(Step::Kind kind, int32_t barrier, int64_t phase, bool whole, Operation *op) {
  model.agents[agent].steps.push_back(
      {kind, barrier, static_cast<int32_t>(phase), program.siteOf.lookup(op), whole});
  return model.agents[agent].steps.back();
}

int32_t Tracer::instance(const RingInfo &ring) const {
  return ring.instances > 1 && role->replicas > 1 ? replica : 0;
}

int32_t Tracer::storage(const RingInfo &ring, int32_t inCta, int64_t slot) const {
  const BufferInfo &buffer = program.buffers[ring.buffer];
  return buffer.firstStorage + (inCta * buffer.instances + instance(ring)) * buffer.depth + slot;
}

bool Tracer::take(Token &token, Operation *op) {
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
  model.tenures.push_back(
      {storage(ring, cta, slot), agent, begin, begin, token.ring, static_cast<int32_t>(round)});
  step(Step::Wait, program.barrier(token.ring, cta, instance(ring), slot),
       round + (ring.released ? 0 : 1), ring.storeEngine, op);
  if (ring.tensorMemory)
    tensorWaits = model.agents[agent].steps.size();
  return true;
}

bool Tracer::give(Token &token, int32_t to, warp::ReleaseKind kind, Operation *op) {
  if (token.position < 0)
    return true;
  const RingInfo &ring = program.rings[to];
  warp::Scope scope = ring.op.getScope();
  bool allCtas = (kind == warp::ReleaseKind::Tma && scope == warp::Scope::Cluster) ||
                 (kind == warp::ReleaseKind::Tcgen05 && scope == warp::Scope::Pair);
  bool eachWarp = kind == warp::ReleaseKind::Generic || kind == warp::ReleaseKind::Wgmma;
  int64_t slot = token.position % ring.depth, round = token.position / ring.depth;
  Tenure &held = model.tenures[token.tenure];
  held.end = model.agents[agent].steps.size();
  held.later = !eachWarp;
  held.written = token.written && kind != warp::ReleaseKind::BulkRead;
  held.filled = token.filled;
  for (int32_t other = 0; allCtas && other < program.ctas; ++other)
    if (other != cta) {
      Tenure there = model.tenures[token.tenure];
      there.storage = storage(ring, other, slot);
      model.tenures.push_back(there);
    }
  for (int32_t target : program.targets(to, cta))
    step(Step::Arrive, program.barrier(to, target, instance(ring), slot), round, eachWarp, op)
        .commit = kind == warp::ReleaseKind::Tcgen05 || kind == warp::ReleaseKind::CpAsync;
  return true;
}

bool Tracer::execute(warp::AcquireOp op) {
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
  if (op->hasAttr(warp::drainAttrName)) { // waits and uses nothing (warp-drain-rings)
    if (token.position >= 0)
      model.tenures.pop_back();
    return true;
  }
  token.acquire = op;
  token.scope = op->getBlock();
  tokenOf[op.getToken()] = acquired;
  tokens[acquired++] = token;
  return true;
}

bool Tracer::execute(warp::ReleaseOp op) {
  Token *held = lookupToken(op.getToken());
  if (!held)
    return fail(op, "token: expected one that is held here, found one that has gone");
  Token &token = *held;
  const RingInfo &to = program.rings[program.ringOf.lookup(op.getRing())];
  if (program.rings[token.ring].buffer != to.buffer)
    return fail(op, "ring: expected one over the buffer that the token was acquired from",
                token.acquire, "acquired here");
  if (token.released)
    return fail(op, "releases a token a second time", token.release, "first released here");
  token.released = true;
  token.release = op;
  warp::ReleaseKind kind = op.getKind();
  if (token.lastRead > retired)
    return fail(op,
                "expected an nv.wgmma.wait that covers the last nv.wgmma that reads the slot, "
                "found none before the release",
                token.user, "still in flight");
  if (token.filled && kind != warp::ReleaseKind::Tma)
    return fail(op,
                "kind: expected tma for a slot that nv.tma.load fills, found " +
                    warp::stringifyReleaseKind(kind) + ": nothing waits for the bytes",
                token.user, "filled here");
  if (!token.drained && kind != warp::ReleaseKind::BulkRead)
    return fail(op,
                "kind: expected bulk_read for a slot that nv.tma.store reads, found " +
                    warp::stringifyReleaseKind(kind) + ": nothing waits for the store engine",
                token.user, "read here");
  if (kind == warp::ReleaseKind::BulkRead && &program.rings[token.ring] == &to &&
      token.position >= 0) {
    // The store engine's groups count the slots of a ring that a role releases to itself.
    int64_t &done = stored[token.ring];
    if (token.position < done)
      return fail(op, "bulk_read: expected releases in the order of the acquires, found that of an "
                      "older slot after that of a newer one");
    done = token.position + 1;
  }
  if (token.multicast && !to.shared)
    return fail(token.multicast,
                "multicast: expected the slot to be released to a ring of scope cluster, found "
                "scope cta",
                op, "released here");
  return give(token, program.ringOf.lookup(op.getRing()), kind, op);
}

bool Tracer::executeHardware(Operation *op) {
  if (auto use = program.privateStorage.find(op); use != program.privateStorage.end() && !skipping)
    model.uses.push_back({program.storageOf(use->second, replica, cta), agent,
                          static_cast<int32_t>(model.agents[agent].steps.size())});
  // Each nv.wgmma is a group; a wait retires all but the newest `pending`, whoever issued them.
  if (auto wait = dyn_cast<nv::WgmmaWaitOp>(op)) {
    retired = std::max<int64_t>(retired, issued - static_cast<int64_t>(wait.getPending()));
    return true;
  }
  if (auto wait = dyn_cast<nv::BulkWaitOp>(op)) {
    for (auto &[number, token] : tokens)
      token.drained |= wait.getPending() == 0;
    return true;
  }
  bool wgmma = isa<nv::WgmmaOp>(op), store = isa<nv::TmaStoreOp>(op);
  auto load = dyn_cast<nv::TmaLoadOp>(op);
  issued += wgmma;
  auto touched = program.touches.find(op);
  if (touched == program.touches.end())
    return true;
  for (Value name : touched->second) {
    Token *token = lookupToken(name);
    if (!token)
      return fail(op, "touches a slot: expected one that is held here, found one that has gone");
    if (token->released)
      return fail(op, "touches a slot that has been released", token->release, "released here");
    token->user = op;
    if (Tenure &tenure = model.tenures[token->tenure]; token->position >= 0 && tenure.touched < 0)
      tenure.touched = program.rings[token->ring].tensorMemory ? tensorWaits
                                                               : model.agents[agent].steps.size();
    if (wgmma)
      token->lastRead = issued;
    token->filled |= load != nullptr;
    token->drained &= !store;
    token->written |= isa<nv::LocalStoreOp, nv::ScalarStoreOp, nv::CpAsyncOp>(op) ||
                      (isa<nv::LocalTransposeOp>(op) && name == touched->second.back());
    if (load && load.getMulticast())
      token->multicast = op;
  }
  return true;
}

/// Roles that decide for each other by turns make long chains; what they decide is then left as the
/// valuation has it.
static constexpr size_t mostScalarRounds = 6;

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
          Barrier barrier{expected, static_cast<int32_t>(index), slot,
                          cta,      !orders && !ring.released,   {}};
          if (barrier.mustDrain)
            for (auto [role, count] : readers)
              if (!roles[role].leader || cta == 0)
                barrier.readers.push_back({role, count});
          model.barriers.push_back(std::move(barrier));
        }
  }
  // Roles that write scalars into slots go first, so that readers see what was written. Where several
  // roles write, they may read each other's: all run again until nothing changes.
  SmallVector<int32_t> order, others;
  for (size_t role = 0; role < roles.size(); ++role)
    (roles[role].writesScalars ? order : others).push_back(role);
  size_t rounds = order.size() > 1 ? mostScalarRounds : 1;
  order.append(others);
  for (size_t round = 1; round <= rounds; ++round) {
    SlotScalars before = scalars;
    Model attempt = model;
    fault = {};
    truncated = false;
    for (int32_t role : order)
      for (int32_t cta = 0; cta < (roles[role].leader ? 1 : ctas); ++cta)
        for (int32_t replica = 0; replica < roles[role].replicas; ++replica) {
          TraceFault own;
          Tracer tracer(*this, valuation, attempt, scalars, maxSteps, own);
          if (tracer.run(role, replica, cta))
            continue;
          truncated |= tracer.truncated;
          if (!fault.op)
            fault = own;
        }
    if (round == rounds || scalars == before)
      return attempt;
  }
  return model;
}
