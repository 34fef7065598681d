//===- RingExplorer.cpp - State by state under the parity rule ----------------------------===//
//
// Breadth-first search over the agents' positions. A barrier's state follows from them: it has
// completed as often as its arrivals fill its expected count. A wait passes by parity alone, as the
// hardware does it; a state in which it would pass or block wrongly is a fault, as is a slot that
// two agents hold. Exponential in the number of agents: the oracle for checkCausality on small
// programs, and a second opinion (`exhaustive`) on larger ones.
//
//===--------------------------------------------------------------------------------------===//

#include "tileloom/Analysis/RingModel.h"

#include <deque>
#include <unordered_set>

using namespace tileloom::rings;

namespace {

using State = std::vector<int32_t>; // position of each agent

struct StateHash {
  size_t operator()(const State &state) const {
    uint64_t hash = 0x9E3779B97F4A7C15u;
    for (int32_t position : state)
      hash = (hash ^ static_cast<uint64_t>(position)) * 0x100000001B3u + (hash >> 29);
    return hash;
  }
};

class Explorer {
public:
  explicit Explorer(const Model &model) : model(model), arrivals(model.agents.size()) {
    size_t count = model.barriers.size();
    for (size_t agent = 0; agent < model.agents.size(); ++agent) {
      std::vector<int32_t> now(count);
      arrivals[agent].push_back(now);
      for (const Step &step : model.agents[agent].steps) {
        now[step.barrier] += step.kind == Step::Arrive;
        arrivals[agent].push_back(now);
      }
    }
  }

  Exploration run(size_t limit) {
    Exploration result;
    std::unordered_set<State, StateHash> seen;
    std::deque<State> queue{State(model.agents.size(), 0)};
    seen.insert(queue.front());
    while (!queue.empty() && !result.fault) {
      State state = queue.front();
      queue.pop_front();
      ++result.states;
      if (result.states > limit) {
        result.complete = false;
        return result;
      }
      std::vector<State> next;
      result.fault = visit(state, next);
      for (State &successor : next)
        if (seen.insert(successor).second)
          queue.push_back(std::move(successor));
    }
    return result;
  }

private:
  const Model &model;
  /// Per agent and position: arrivals so far on each barrier.
  std::vector<std::vector<std::vector<int32_t>>> arrivals;

  Fault visit(const State &state, std::vector<State> &next) const {
    std::vector<int32_t> completed(model.barriers.size()), arrived(model.barriers.size());
    for (size_t barrier = 0; barrier < completed.size(); ++barrier) {
      for (size_t agent = 0; agent < state.size(); ++agent)
        arrived[barrier] += arrivals[agent][state[agent]][barrier];
      completed[barrier] = arrived[barrier] / model.barriers[barrier].expected;
      arrived[barrier] %= model.barriers[barrier].expected;
    }
    auto make = [&](Fault::Kind kind, int32_t agent) {
      Fault fault;
      fault.kind = kind;
      fault.at = {agent, state[agent]};
      fault.barrier = model.agents[agent].steps[state[agent]].barrier;
      fault.completed = completed[fault.barrier];
      fault.arrived = arrived[fault.barrier];
      return fault;
    };
    if (Fault fault = overlap(state))
      return fault;
    std::vector<int32_t> waiting;
    for (int32_t agent = 0; agent < static_cast<int32_t>(state.size()); ++agent) {
      const std::vector<Step> &steps = model.agents[agent].steps;
      if (state[agent] == static_cast<int32_t>(steps.size()))
        continue;
      const Step &step = steps[state[agent]];
      int32_t ahead = step.phase - completed[step.barrier];
      if (step.kind == Step::Arrive && ahead)
        return make(ahead > 0 ? Fault::Early : Fault::Late, agent);
      if (step.kind == Step::Wait && (ahead > 1 || ahead < 0))
        return make(ahead > 1 ? Fault::Ahead : Fault::Behind, agent);
      if (step.kind == Step::Wait && ahead) {
        waiting.push_back(agent);
        continue;
      }
      next.push_back(state);
      ++next.back()[agent];
    }
    if (!next.empty())
      return {};
    if (waiting.empty())
      return checkEnd(model, completed, arrived);
    Fault fault = make(Fault::Deadlock, waiting.front());
    for (int32_t agent : waiting)
      fault.blocked.push_back({agent, state[agent]});
    return fault;
  }

  Fault overlap(const State &state) const {
    auto held = [&](const Tenure &tenure) {
      return tenure.begin < state[tenure.agent] && state[tenure.agent] <= tenure.end;
    };
    for (const Tenure &a : model.tenures)
      if (held(a))
        for (const Tenure &b : model.tenures)
          if (b.storage == a.storage && (b.ring != a.ring || b.round != a.round) && held(b)) {
            Fault fault;
            fault.kind = Fault::Overlap;
            fault.at = {b.agent, b.begin};
            fault.other = {a.agent, a.begin};
            fault.barrier = model.agents[b.agent].steps[b.begin].barrier;
            return fault;
          }
    return {};
  }
};

} // namespace

Exploration tileloom::rings::exploreStates(const Model &model, size_t limit) {
  return Explorer(model).run(limit);
}
