//===- RingOverlaps.cpp - Which storage is never used at the same time --------------------===//
//
// Runs a model once and keeps, for each agent, what all its threads know: how far all threads of
// each agent have come, and which completions of each barrier have happened. Both are learned by
// waiting, and passed on by arrivals. A commit comes after what its thread has waited for, which is
// enough for tensor memory, where tcgen05 operations and their fences alone count; for ordinary accesses
// to shared memory it only tells of the work that it is for. An agent's own order says nothing by itself: one of its warps
// may be a step ahead of another. As in RingCausality.cpp, one run decides every interleaving.
//
//===--------------------------------------------------------------------------------------===//

#include "tileloom/Analysis/RingModel.h"

#include <algorithm>
#include <map>

using namespace tileloom::rings;

namespace {

/// One use of storage. `begin` is the first step that does not come before it.
struct Interval {
  int32_t agent, begin, end;
  bool later, written, filled;
};

class Run {
public:
  Run(const Model &model, bool commitsCarry)
      : model(model), commitsCarry(commitsCarry), agents(model.agents.size()), width(2 * agents + model.barriers.size()),
        known(agents, Facts(width, -1)), snapshots(agents), barriers(model.barriers.size()), pc(agents) {
    for (State &state : barriers)
      state.pending.resize(width, -1);
    for (const Tenure &tenure : model.tenures)
      if (tenure.filled)
        fills[{tenure.agent, tenure.end}] = tenure.begin + 1;
  }

  void execute() {
    for (bool moved = true; moved;) {
      moved = false;
      for (int32_t agent = 0; agent < static_cast<int32_t>(agents); ++agent)
        while (pc[agent] < model.agents[agent].steps.size() && advance(agent))
          moved = true;
    }
  }

  /// Whether `b` begins when all threads of its agent know that `a` has ended.
  bool follows(const Interval &b, const Interval &a) const {
    if (a.written && b.filled)
      return false;
    const Agent &agent = model.agents[a.agent];
    if (!a.later && a.agent == b.agent && agent.singleThread)
      return a.end < b.begin;
    const Facts *facts = knownAt(b.agent, b.begin);
    if (!facts)
      return false;
    if (!a.later)
      return (*facts)[a.agent] >= a.end;
    const Step &release = agent.steps[a.end];
    return (*facts)[barrierFact(release.barrier)] > release.phase ||
           (release.commit && (*facts)[agents + a.agent] >= a.end);
  }

  bool ran(const Interval &use) const {
    return pc[use.agent] >= static_cast<size_t>(use.begin) &&
           pc[use.agent] >= static_cast<size_t>(use.end);
  }

private:
  /// For each agent, the step before which all its threads have done everything; for each agent, its
  /// last commit that has completed; for each barrier, its completions.
  using Facts = std::vector<int32_t>;
  struct State {
    int32_t arrived = 0;
    Facts pending;
    std::vector<Facts> done;
  };

  const Model &model;
  bool commitsCarry; ///< pass on what their agent knows
  size_t agents, width;
  std::vector<Facts> known;
  std::vector<std::vector<std::pair<int32_t, Facts>>> snapshots; ///< after each wait, by agent
  std::vector<State> barriers;
  std::vector<size_t> pc;
  std::map<std::pair<int32_t, int32_t>, int32_t> fills; ///< (agent, release) -> step after the acquire

  size_t barrierFact(int32_t barrier) const { return 2 * agents + barrier; }

  static void join(Facts &into, const Facts &from) {
    for (size_t i = 0; i < into.size(); ++i)
      into[i] = std::max(into[i], from[i]);
  }

  bool advance(int32_t agent) {
    int32_t index = pc[agent];
    const Step &step = model.agents[agent].steps[index];
    bool whole = step.whole || model.agents[agent].singleThread;
    State &state = barriers[step.barrier];
    if (step.kind == Step::Wait) {
      if (static_cast<int32_t>(state.done.size()) < step.phase)
        return false;
      if (step.phase > 0) {
        join(known[agent], state.done[step.phase - 1]);
        int32_t &completed = known[agent][barrierFact(step.barrier)];
        completed = std::max(completed, step.phase);
      }
      if (whole)
        known[agent][agent] = index;
      snapshots[agent].push_back({index, known[agent]});
    } else {
      if (step.commit)
        state.pending[agents + agent] = std::max(state.pending[agents + agent], index);
      if (!step.commit || commitsCarry) {
        // The arrival of copies is made before the first of them.
        auto fill = fills.find({agent, index});
        int32_t made = fill == fills.end() ? index : fill->second;
        if (const Facts *facts = knownAt(agent, made))
          join(state.pending, *facts);
        if (whole)
          state.pending[agent] = std::max(state.pending[agent], made);
      }
      if (++state.arrived == model.barriers[step.barrier].expected) {
        state.done.push_back(state.pending);
        state.arrived = 0;
      }
    }
    ++pc[agent];
    return true;
  }

  /// What an agent knew after its waits before `step`.
  const Facts *knownAt(int32_t agent, int32_t step) const {
    const auto &list = snapshots[agent];
    auto after = std::partition_point(list.begin(), list.end(),
                                      [&](const auto &entry) { return entry.first < step; });
    return after == list.begin() ? nullptr : &std::prev(after)->second;
  }
};

/// What is handed over: written by one use, read by another.
struct Content {
  Interval write, read;
};

Interval intervalOf(const Tenure &tenure) {
  return {tenure.agent, std::max(tenure.begin + 1, tenure.touched), tenure.end, tenure.later, tenure.written, tenure.filled};
}

/// All of each storage. A slot of a ring that is released at first comes without contents, but for sums in tensor memory that their agent
/// hands to itself to change them in place.
std::vector<std::vector<Content>> contentsOf(const Model &model, const std::vector<int32_t> &groups, const std::vector<bool> &tensorMemory) {
  std::map<std::pair<int32_t, int32_t>, std::vector<const Tenure *>> givers; // (barrier, round) -> tenures that end with an arrival there
  for (const Tenure &tenure : model.tenures) {
    const std::vector<Step> &steps = model.agents[tenure.agent].steps;
    if (tenure.end < static_cast<int32_t>(steps.size()) && steps[tenure.end].kind == Step::Arrive)
      givers[{steps[tenure.end].barrier, steps[tenure.end].phase}].push_back(&tenure);
  }
  std::vector<std::vector<Content>> contents(tensorMemory.size());
  for (const Tenure &tenure : model.tenures) {
    const Step &wait = model.agents[tenure.agent].steps[tenure.begin];
    bool released = wait.phase == tenure.round; // the first completion has happened already
    auto found = givers.find({wait.barrier, wait.phase - 1});
    if (groups[tenure.storage] < 0 || found == givers.end())
      continue;
    for (const Tenure *giver : found->second)
      if (!released || (tensorMemory[groups[tenure.storage]] && giver->agent == tenure.agent))
        contents[groups[tenure.storage]].push_back({intervalOf(*giver), intervalOf(tenure)});
  }
  return contents;
}

} // namespace

void tileloom::rings::findOverlaps(const Model &model, const std::vector<int32_t> &groups,
                                   const std::vector<bool> &tensorMemory,
                                   std::set<std::pair<int32_t, int32_t>> &overlaps) {
  Run strict(model, false), carrying(model, true);
  strict.execute();
  if (std::find(tensorMemory.begin(), tensorMemory.end(), true) != tensorMemory.end())
    carrying.execute();
  size_t count = tensorMemory.size();
  std::vector<std::vector<Interval>> uses(count);
  std::vector<std::vector<Content>> contents = contentsOf(model, groups, tensorMemory);
  auto add = [&](int32_t storage, const Interval &use) {
    if (groups[storage] >= 0)
      uses[groups[storage]].push_back(use);
  };
  for (const Tenure &tenure : model.tenures)
    add(tenure.storage, intervalOf(tenure));
  for (const Use &use : model.uses)
    add(use.storage, {use.agent, use.step, use.step, false, true, false});
  auto meet = [](const Run &run, const Interval &a, const Interval &b) {
    return !run.ran(a) || !run.ran(b) || (!run.follows(a, b) && !run.follows(b, a));
  };
  // What one use leaves for another is there all the time between them.
  auto between = [](const Run &run, const Content &content, const Interval &use) {
    return !run.follows(use, content.read) && !run.follows(content.write, use);
  };
  for (size_t first = 0; first < count; ++first)
    for (size_t second = first + 1; second < count; ++second) {
      std::pair<int32_t, int32_t> pair(first, second);
      bool found = overlaps.count(pair) != 0;
      for (size_t a = 0; !found && a < uses[first].size(); ++a)
        for (size_t b = 0; !found && b < uses[second].size(); ++b)
          found = meet(tensorMemory[first] ? carrying : strict, uses[first][a], uses[second][b]);
      const Run &run = tensorMemory[first] ? carrying : strict;
      for (auto [holder, other] : {std::pair(first, second), std::pair(second, first)})
        for (size_t a = 0; !found && a < contents[holder].size(); ++a)
          for (size_t b = 0; !found && b < uses[other].size(); ++b)
            found = between(run, contents[holder][a], uses[other][b]);
      if (found)
        overlaps.insert(pair);
    }
}
