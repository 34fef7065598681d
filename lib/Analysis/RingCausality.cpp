//===- RingCausality.cpp - All interleavings in one run -----------------------------------===//
//
// As long as no wait is fooled by parity, waiting for a completion is monotone: what is enabled
// stays enabled, so all maximal runs execute the same steps and only their order differs. One run
// with vector clocks therefore decides every interleaving: a step can come before another one
// exactly if it is not in the other's causal past.
//
// That no wait is fooled is checked on the same clocks. mbarrier.try_wait.parity (PTX
// ISA 9.7.13.15.16) only tells the current phase from the one before: a wait for completion q is
// right if, whenever it is pending, q - 1 or q completions have happened. So q - 1 must be in the
// past of the wait, and the wait in the past of q + 1.
//
//===--------------------------------------------------------------------------------------===//

#include "tileloom/Analysis/RingModel.h"

#include <algorithm>
#include <map>

using namespace tileloom::rings;

namespace {

class Run {
public:
  explicit Run(const Model &model)
      : model(model), width(model.agents.size()), pc(width), clock(width * width),
        barriers(model.barriers.size()), waitClocks(width) {
    for (State &state : barriers)
      state.pending.resize(width);
    for (size_t agent = 0; agent < width; ++agent)
      waitClocks[agent].assign(model.agents[agent].steps.size(), -1);
  }

  Fault check(size_t *steps) {
    Fault fault = execute();
    if (steps)
      for (int32_t count : pc)
        *steps += count;
    if (!fault)
      fault = checkDeadlock();
    if (!fault)
      fault = checkBehind();
    if (!fault)
      fault = checkOverlap();
    if (!fault) {
      std::vector<int32_t> completed, arrived;
      for (const State &state : barriers) {
        completed.push_back(state.completed);
        arrived.push_back(state.arrived);
      }
      fault = checkEnd(model, completed, arrived);
    }
    return fault;
  }

private:
  struct State {
    int32_t completed = 0, arrived = 0;
    std::vector<int32_t> pending; ///< joined clocks of the arrivals of the current phase
    std::vector<int32_t> done;    ///< clock of each completion, `width` entries each
    std::vector<int32_t> waiting; ///< agents to wake
  };

  const Model &model;
  size_t width;
  std::vector<int32_t> pc;
  std::vector<int32_t> clock; ///< per agent: how many steps of each agent are in its past
  std::vector<State> barriers;
  std::vector<std::vector<int32_t>>
      waitClocks; ///< per agent and step: offset of its clock in `saved`
  std::vector<int32_t> saved;

  const int32_t *completion(const State &state, int32_t number) const {
    return &state.done[(number - 1) * width];
  }

  static void join(int32_t *into, const int32_t *from, size_t width) {
    for (size_t i = 0; i < width; ++i)
      into[i] = std::max(into[i], from[i]);
  }

  /// Whether completion `number` is in the past of the agent.
  bool knows(int32_t agent, const State &state, int32_t number) const {
    if (number <= 0)
      return true;
    if (state.completed < number)
      return false;
    const int32_t *past = completion(state, number);
    const int32_t *mine = &clock[agent * width];
    for (size_t i = 0; i < width; ++i)
      if (past[i] > mine[i])
        return false;
    return true;
  }

  Fault make(Fault::Kind kind, int32_t agent, int32_t step) const {
    Fault fault;
    fault.kind = kind;
    fault.at = {agent, step};
    fault.barrier = model.agents[agent].steps[step].barrier;
    fault.completed = barriers[fault.barrier].completed;
    fault.arrived = barriers[fault.barrier].arrived;
    return fault;
  }

  Fault execute() {
    std::vector<int32_t> ready;
    for (size_t agent = width; agent-- > 0;)
      ready.push_back(agent);
    while (!ready.empty()) {
      int32_t agent = ready.back();
      ready.pop_back();
      const std::vector<Step> &steps = model.agents[agent].steps;
      int32_t *mine = &clock[agent * width];
      while (pc[agent] < static_cast<int32_t>(steps.size())) {
        int32_t index = pc[agent];
        const Step &step = steps[index];
        State &state = barriers[step.barrier];
        if (step.kind == Step::Wait) {
          if (!knows(agent, state, step.phase - 1))
            return make(Fault::Ahead, agent, index);
          if (state.completed < step.phase) {
            state.waiting.push_back(agent);
            break;
          }
          if (step.phase > 0)
            join(mine, completion(state, step.phase), width);
          mine[agent] = index + 1;
          waitClocks[agent][index] = saved.size();
          saved.insert(saved.end(), mine, mine + width);
        } else {
          if (step.phase < state.completed)
            return make(Fault::Late, agent, index);
          if (step.phase > state.completed || !knows(agent, state, step.phase))
            return make(Fault::Early, agent, index);
          mine[agent] = index + 1;
          join(state.pending.data(), mine, width);
          if (++state.arrived == model.barriers[step.barrier].expected) {
            state.done.insert(state.done.end(), state.pending.begin(), state.pending.end());
            ++state.completed;
            state.arrived = 0;
            ready.insert(ready.end(), state.waiting.begin(), state.waiting.end());
            state.waiting.clear();
          }
        }
        ++pc[agent];
      }
    }
    return {};
  }

  Fault checkDeadlock() const {
    Fault fault;
    for (size_t agent = 0; agent < width; ++agent) {
      if (pc[agent] == static_cast<int32_t>(model.agents[agent].steps.size()))
        continue;
      if (!fault)
        fault = make(Fault::Deadlock, agent, pc[agent]);
      fault.blocked.push_back({static_cast<int32_t>(agent), pc[agent]});
    }
    return fault;
  }

  Fault checkBehind() const {
    for (size_t agent = 0; agent < width; ++agent) {
      const std::vector<Step> &steps = model.agents[agent].steps;
      for (size_t index = 0; index < steps.size(); ++index) {
        const Step &step = steps[index];
        const State &state = barriers[step.barrier];
        if (step.kind != Step::Wait || state.completed <= step.phase)
          continue;
        if (completion(state, step.phase + 1)[agent] <= static_cast<int32_t>(index))
          return make(Fault::Behind, agent, index);
      }
    }
    return {};
  }

  /// Successive rounds of a slot must follow one another: it is enough to compare each with the
  /// next, as the clocks are transitive.
  Fault checkOverlap() const {
    std::vector<const Tenure *> order;
    for (const Tenure &tenure : model.tenures)
      order.push_back(&tenure);
    auto began = [&](const Tenure *tenure) { return waitClocks[tenure->agent][tenure->begin]; };
    std::sort(order.begin(), order.end(), [&](const Tenure *a, const Tenure *b) {
      return std::make_pair(a->storage, began(a)) < std::make_pair(b->storage, began(b));
    });
    auto same = [](const Tenure *a, const Tenure *b) {
      return a->storage == b->storage && a->ring == b->ring && a->round == b->round;
    };
    size_t previous = 0, current = 0;
    while (current < order.size()) {
      size_t next = current;
      while (next < order.size() && same(order[current], order[next]))
        ++next;
      if (current > previous && order[previous]->storage == order[current]->storage)
        for (size_t later = current; later < next; ++later)
          for (size_t earlier = previous; earlier < current; ++earlier) {
            const Tenure &a = *order[earlier], &b = *order[later];
            if (saved[began(&b) + a.agent] > a.end)
              continue;
            Fault fault = make(Fault::Overlap, b.agent, b.begin);
            fault.other = {a.agent, a.begin};
            return fault;
          }
      previous = current;
      current = next;
    }
    return {};
  }
};

} // namespace

Fault tileloom::rings::checkCausality(const Model &model, size_t *steps) {
  return Run(model).check(steps);
}

Fault tileloom::rings::checkEnd(const Model &model, const std::vector<int32_t> &completed,
                                const std::vector<int32_t> &arrived) {
  // Who waits for the last completion of each barrier.
  std::vector<std::map<int32_t, int32_t>> takers(model.barriers.size());
  std::vector<Place> lastArrival(model.barriers.size());
  for (size_t agent = 0; agent < model.agents.size(); ++agent) {
    const std::vector<Step> &steps = model.agents[agent].steps;
    for (size_t index = 0; index < steps.size(); ++index) {
      const Step &step = steps[index];
      if (step.kind == Step::Arrive)
        lastArrival[step.barrier] = {static_cast<int32_t>(agent), static_cast<int32_t>(index)};
      else if (step.phase == completed[step.barrier])
        ++takers[step.barrier][model.agents[agent].role];
    }
  }
  // A hand-over that is not taken often leaves arrivals behind as well; it is the better
  // explanation.
  for (bool partial : {false, true})
    for (size_t barrier = 0; barrier < model.barriers.size(); ++barrier) {
      Fault fault;
      fault.barrier = barrier;
      fault.at = lastArrival[barrier];
      fault.completed = completed[barrier];
      fault.arrived = arrived[barrier];
      if (partial && arrived[barrier]) {
        fault.kind = Fault::Partial;
        return fault;
      }
      if (partial || !model.barriers[barrier].mustDrain || !completed[barrier])
        continue;
      for (auto [role, count] : model.barriers[barrier].readers)
        if (takers[barrier][role] < count) {
          fault.kind = Fault::Undrained;
          fault.role = role;
          return fault;
        }
    }
  return {};
}
