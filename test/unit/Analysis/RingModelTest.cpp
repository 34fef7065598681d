//===- RingModelTest.cpp - The causal checker against the state explorer -----------------===//
//
// Small hand-overs built by hand, and many random ones: both checkers must agree on whether a model
// can go wrong.
//
//===--------------------------------------------------------------------------------------===//

#include "tileloom/Analysis/RingModel.h"

#include <gtest/gtest.h>
#include <random>

using namespace tileloom::rings;

namespace {

/// A buffer of `depth` slots that travels along a cycle of rings; ring 0 starts released.
struct Cycle {
  Model &model;
  int32_t depth, first, storage, name;

  Cycle(Model &model, int32_t depth, std::vector<int32_t> expected, int32_t storage = 0)
      : model(model), depth(depth), first(model.barriers.size()), storage(storage), name(first) {
    for (size_t ring = 0; ring < expected.size(); ++ring)
      for (int32_t slot = 0; slot < depth; ++slot) {
        Barrier barrier;
        barrier.expected = expected[ring];
        barrier.ring = name + ring;
        barrier.slot = slot;
        model.barriers.push_back(barrier);
      }
  }
  int32_t barrier(int32_t ring, int32_t position) const {
    return first + ring * depth + position % depth;
  }

  void take(int32_t agent, int32_t ring, int32_t position) {
    int32_t begin = model.agents[agent].steps.size();
    model.tenures.push_back(
        {storage + position % depth, agent, begin, begin, name + ring, position / depth});
    model.agents[agent].steps.push_back(
        {Step::Wait, barrier(ring, position), position / depth + (ring ? 1 : 0), 0});
  }
  void give(int32_t agent, int32_t ring, int32_t position) {
    int32_t end = model.agents[agent].steps.size();
    for (Tenure &tenure : model.tenures)
      if (tenure.agent == agent && tenure.begin == tenure.end &&
          tenure.storage == storage + position % depth && tenure.round == position / depth)
        tenure.end = end;
    model.agents[agent].steps.push_back(
        {Step::Arrive, barrier(ring, position), position / depth, 0});
  }
  void pass(int32_t agent, int32_t from, int32_t to, int32_t position) {
    take(agent, from, position);
    give(agent, to, position);
  }
};

void addAgents(Model &model, int32_t count) {
  for (int32_t agent = 0; agent < count; ++agent)
    model.agents.push_back({agent, 0, 0, {}});
}

Fault::Kind both(const Model &model) {
  Fault fault = checkCausality(model);
  Exploration exploration = exploreStates(model, 1000000);
  EXPECT_TRUE(exploration.complete);
  EXPECT_EQ(fault.kind != Fault::None, exploration.fault.kind != Fault::None);
  return fault.kind;
}

TEST(RingModel, ProducerAndConsumer) {
  for (int32_t depth : {1, 2, 4})
    for (int32_t trips : {0, 1, 2, 5, 9}) {
      Model model;
      addAgents(model, 2);
      Cycle cycle(model, depth, {1, 1});
      for (int32_t position = 0; position < trips; ++position) {
        cycle.pass(0, 0, 1, position);
        cycle.pass(1, 1, 0, position);
      }
      EXPECT_EQ(both(model), Fault::None);
    }
}

TEST(RingModel, MissingSlotDeadlocks) {
  Model model;
  addAgents(model, 2);
  Cycle cycle(model, 2, {1, 1});
  for (int32_t position = 0; position < 4; ++position)
    cycle.pass(1, 1, 0, position);
  for (int32_t position = 0; position < 3; ++position)
    cycle.pass(0, 0, 1, position);
  EXPECT_EQ(both(model), Fault::Deadlock);
  Fault fault = checkCausality(model);
  ASSERT_EQ(fault.blocked.size(), 1u);
  EXPECT_EQ(fault.at.agent, 1);
  EXPECT_EQ(fault.at.step, 6);
  EXPECT_EQ(fault.barrier, cycle.barrier(1, 3));
}

TEST(RingModel, HeldTokensBeyondTheDepthDeadlock) {
  Model model;
  addAgents(model, 2);
  Cycle cycle(model, 1, {1, 1});
  cycle.take(1, 1, 0);
  cycle.take(1, 1, 1);
  cycle.give(1, 0, 0);
  cycle.give(1, 0, 1);
  for (int32_t position = 0; position < 2; ++position)
    cycle.pass(0, 0, 1, position);
  EXPECT_EQ(both(model), Fault::Deadlock);
}

TEST(RingModel, ReplicasWithoutAnOrderRunAhead) {
  // Two consumers take alternate tiles of three slots of a ring of one: the second one waits for
  // completion 4.
  Model model;
  addAgents(model, 3);
  Cycle cycle(model, 1, {1, 1});
  for (int32_t position = 0; position < 6; ++position) {
    cycle.pass(0, 0, 1, position);
    cycle.pass(1 + position / 3 % 2, 1, 0, position);
  }
  EXPECT_EQ(both(model), Fault::Ahead);
}

TEST(RingModel, ABroadcastReaderThatDoesNotAnswerFallsBehind) {
  Model model;
  addAgents(model, 3);
  Cycle cycle(model, 1, {1, 1});
  for (int32_t position = 0; position < 3; ++position) {
    cycle.pass(0, 0, 1, position);
    cycle.pass(1, 1, 0, position);
  }
  model.agents[2].steps.push_back({Step::Wait, cycle.barrier(1, 0), 1, 0});
  EXPECT_EQ(both(model), Fault::Behind);
}

TEST(RingModel, SecondArrivalIsLateOrEarly) {
  Model model;
  addAgents(model, 2);
  Cycle cycle(model, 1, {1, 1});
  cycle.pass(0, 0, 1, 0);
  cycle.pass(1, 1, 0, 0);
  model.agents[1].steps.push_back({Step::Arrive, cycle.barrier(0, 0), 0, 0});
  EXPECT_EQ(both(model), Fault::Late);
  model.agents[1].steps.back().phase = 2;
  EXPECT_EQ(both(model), Fault::Early);
}

TEST(RingModel, TwoWritersOfOneSlotOverlap) {
  Model model;
  addAgents(model, 2);
  Cycle left(model, 1, {1}, 0), right(model, 1, {1}, 0);
  left.pass(0, 0, 0, 0);
  right.pass(1, 0, 0, 0);
  EXPECT_EQ(both(model), Fault::Overlap);
}

TEST(RingModel, EndChecks) {
  Model model;
  addAgents(model, 2);
  Cycle cycle(model, 2, {2, 1});
  cycle.pass(0, 0, 1, 0);
  cycle.pass(1, 1, 0, 0);
  EXPECT_EQ(both(model), Fault::Partial);
  model.barriers[0].expected = 1;
  EXPECT_EQ(both(model), Fault::None);
  for (int32_t slot = 0; slot < 2; ++slot) {
    model.barriers[cycle.barrier(1, slot)].mustDrain = true;
    model.barriers[cycle.barrier(1, slot)].readers = {{1, 1}};
  }
  EXPECT_EQ(both(model), Fault::None);
  cycle.pass(0, 0, 1, 1);
  EXPECT_EQ(both(model), Fault::Undrained);
}

/// Random agents over one or two cycles, mostly sensible, with a few steps dropped, repeated or
/// exchanged.
Model randomModel(std::mt19937 &random) {
  auto below = [&](int32_t n) { return static_cast<int32_t>(random() % n); };
  Model model;
  int32_t roles = 2 + below(2);
  addAgents(model, roles);
  int32_t storage = 0;
  for (int32_t cycles = 1 + below(2); cycles > 0; --cycles) {
    int32_t depth = 1 + below(2);
    Cycle cycle(model, depth, std::vector<int32_t>(roles, 1), storage);
    storage += below(4) ? depth : 0;
    int32_t trips = below(4), jump = below(6) ? 0 : 1 + below(3);
    for (int32_t role = 0; role < roles; ++role)
      for (int32_t position = 0; position < trips; ++position)
        cycle.pass(role, role, (role + 1) % roles, position + (role && !below(8) ? jump : 0));
  }
  for (int32_t changes = below(3); changes > 0; --changes) {
    std::vector<Step> &steps = model.agents[below(roles)].steps;
    if (steps.size() < 2)
      continue;
    size_t at = below(steps.size() - 1);
    // Only exchanges keep the tenures' step numbers in range; they also make waits come before what
    // they need.
    if (below(2))
      std::swap(steps[at].phase, steps[at + 1].phase);
    else
      steps[at].phase = std::max(0, steps[at].phase + 1 - below(3));
  }
  return model;
}

TEST(RingModel, CheckersAgreeOnRandomModels) {
  std::mt19937 random(1);
  int32_t right = 0, wrong = 0;
  std::vector<int32_t> kinds(Fault::Partial + 1);
  for (int32_t run = 0; run < 4000; ++run) {
    Model model = randomModel(random);
    Fault fault = checkCausality(model);
    Exploration exploration = exploreStates(model, 200000);
    if (!exploration.complete)
      continue;
    ASSERT_EQ(fault.kind != Fault::None, exploration.fault.kind != Fault::None)
        << "run " << run << ": causality says " << fault.kind << ", exploration "
        << exploration.fault.kind;
    ++(fault ? wrong : right);
    ++kinds[fault.kind];
  }
  EXPECT_GT(right, 500);
  EXPECT_GT(wrong, 500);
  for (Fault::Kind kind : {Fault::Deadlock, Fault::Early, Fault::Ahead, Fault::Overlap})
    EXPECT_GT(kinds[kind], 0) << "no random model shows fault " << kind;
}

} // namespace
