//===- RingModel.h - What ring verification looks at ----------------------------*- C++ -*-===//
//
// A concrete hand-over problem: agents (one replica of a role in one CTA), each with a straight
// list of waits and arrivals on mbarriers, and the intervals during which an agent holds a slot of
// storage. Trip counts have been chosen and branches decided, so nothing here depends on data. Two
// checkers read it: checkCausality (every interleaving at once, in polynomial time) and
// exploreStates (one state after another, the oracle of the first).
//
//===--------------------------------------------------------------------------------------===//

#ifndef TILELOOM_ANALYSIS_RINGMODEL_H
#define TILELOOM_ANALYSIS_RINGMODEL_H

#include <cstddef>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

namespace tileloom::rings {

/// One operation of an agent on one mbarrier.
struct Step {
  enum Kind : uint8_t { Wait, Arrive };
  Kind kind;
  int32_t barrier;
  /// Wait: the number of completions waited for; 0 passes at once (a fresh barrier that is waited
  /// for with the parity of the phase before the first). Arrive: the phase, counted from 0, that
  /// the arrival is meant for.
  int32_t phase;
  /// The caller's name for the operation that made the step.
  int32_t site;
  /// Arrive: every thread of the agent has come as far. Wait: they meet. Only findOverlaps asks.
  bool whole = false;
  /// Arrive: made by the hardware when all asynchronous work that the agent has issued before is done
  /// (tcgen05.commit, cp.async.mbarrier.arrive).
  bool commit = false;
};

/// One replica of a role in one CTA.
struct Agent {
  int32_t role = 0, replica = 0, cta = 0;
  std::vector<Step> steps;
  bool singleThread = false;
};

/// One mbarrier: the slot of a ring, or the turn of a replica.
struct Barrier {
  int32_t expected = 1;
  int32_t ring = 0, slot = 0, cta = 0;
  /// Whether slots that are handed over through this barrier must be taken before the program ends.
  bool mustDrain = false;
  /// Who must take them: (role, number of agents of the role that wait for each completion).
  std::vector<std::pair<int32_t, int32_t>> readers;
};

/// The time during which an agent holds a slot: from the wait at step `begin` to the arrival at
/// step `end`. Tenures of one slot may overlap only if they belong to the same round of the same
/// ring (concurrent readers).
struct Tenure {
  int32_t storage, agent, begin, end;
  int32_t ring, round;
  int32_t touched = -1; ///< the first step after what the first access to the slot knows of; -1: begin + 1
  bool later = false;   ///< ends when its arrival's phase completes, not with the arrival
  bool written = false; ///< by ordinary stores, which no proxy fence follows
  bool filled = false;  ///< written by the async proxy
};

/// Storage that an agent uses between two of its steps and nobody hands over (scratch), by ordinary
/// reads and writes.
struct Use {
  int32_t storage, agent, step; ///< `step` is the first after it
};

struct Model {
  std::vector<Barrier> barriers;
  std::vector<Agent> agents;
  std::vector<Tenure> tenures;
  std::vector<Use> uses;
};

/// A step of an agent.
struct Place {
  int32_t agent = -1, step = -1;
  bool valid() const { return agent >= 0; }
};

struct Fault {
  enum Kind {
    None,
    Deadlock,  ///< no agent can move; `blocked` lists those that wait
    Early,     ///< an arrival can come before the phase that it is meant for has begun
    Late,      ///< an arrival comes after its phase has completed without it
    Ahead,     ///< a wait can be reached two phases early, where the parity test passes wrongly
    Behind,    ///< a barrier can complete twice while a wait for the first completion is pending
    Overlap,   ///< a slot can be held by two agents that are not concurrent readers
    Undrained, ///< a completed hand-over is never taken
    Partial    ///< the program ends with some of the arrivals of a phase
  };
  Kind kind = None;
  Place at;    ///< the step at fault
  Place other; ///< the step that it collides with, if any
  int32_t barrier = -1;
  int32_t completed = 0, arrived = 0; ///< state of the barrier when the fault was found
  int32_t role = -1;                  ///< Undrained: the role that does not take it
  std::vector<Place> blocked;         ///< Deadlock: all waiting steps, `at` first
  explicit operator bool() const { return kind != None; }
};

/// Decides, for all interleavings at once, whether the model can go wrong. `steps` counts the steps
/// executed.
Fault checkCausality(const Model &model, size_t *steps = nullptr);

/// Finds the groups of storage that must not have the same bytes: some interleaving lets a use of one
/// begin before it knows that a use of the other has ended, or an asynchronous write follow ordinary
/// ones without a fence. `groups` has the group of each storage (-1: none), `tensorMemory` says which
/// groups lie there: only pairs in the same memory are compared. Adds to `overlaps`, and
/// does not look at pairs that are in it. The model is one that checkCausality finds right, in one CTA.
void findOverlaps(const Model &model, const std::vector<int32_t> &groups,
                  const std::vector<bool> &tensorMemory,
                  std::set<std::pair<int32_t, int32_t>> &overlaps);

struct Exploration {
  Fault fault;
  size_t states = 0;
  bool complete = true; ///< false if `limit` states did not suffice
};

/// Enumerates the states that interleavings can reach under the parity rule of
/// mbarrier.try_wait.parity.
Exploration exploreStates(const Model &model, size_t limit);

/// The checks of a finished program, given how often each barrier has completed and the arrivals
/// since.
Fault checkEnd(const Model &model, const std::vector<int32_t> &completed,
               const std::vector<int32_t> &arrived);

} // namespace tileloom::rings

#endif // TILELOOM_ANALYSIS_RINGMODEL_H
