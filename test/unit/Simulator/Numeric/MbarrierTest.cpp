//===- MbarrierTest.cpp - Scenarios on one mbarrier
//-----------------------------------------------===//
//
// Phases, transactions, dropping, waiting and every error of the object's rules (PTX
// ISA 9.7.13.15).
//
//===----------------------------------------------------------------------------------------------===//
#include "tileloom/Simulator/Mbarrier.h"

#include <gtest/gtest.h>

#include <random>

using namespace tileloom::sim;

static bool passes(uint64_t word, uint32_t parity) {
  bool done;
  EXPECT_EQ(mbarrierTestParity(word, parity, done), "");
  return done;
}

TEST(Mbarrier, FreshBarrierAndPhases) {
  uint64_t word = 0;
  EXPECT_FALSE(isMbarrier(word));
  ASSERT_TRUE(mbarrierInit(word, 3).ok());
  EXPECT_TRUE(passes(word, 1)); // the preceding phase
  EXPECT_FALSE(passes(word, 0));
  uint64_t token = 0;
  for (int phase = 0; phase < 6; ++phase)
    for (int i = 0; i < 3; ++i) {
      MbarrierResult r = mbarrierArrive(word);
      ASSERT_TRUE(r.ok());
      token = r.token;
      EXPECT_EQ(r.completed, i == 2);
      bool done;
      ASSERT_EQ(mbarrierTestState(word, token, done), "");
      EXPECT_EQ(done, i == 2);
      EXPECT_EQ(passes(word, phase & 1), i == 2);
    }
  bool done;
  mbarrierArrive(word, 3);
  EXPECT_NE(mbarrierTestState(word, token, done), ""); // two phases old
}

TEST(Mbarrier, TransactionsMayComeFirst) {
  uint64_t word = 0;
  mbarrierInit(word, 1);
  EXPECT_FALSE(mbarrierCompleteTx(word, 4096).completed); // bytes before they are expected
  MbarrierState state;
  unpackMbarrier(word, state);
  EXPECT_EQ(state.tx, -4096);
  ArriveOptions expect;
  expect.expectTx = true;
  expect.txBytes = 8192;
  EXPECT_FALSE(mbarrierArrive(word, 1, expect).completed);
  EXPECT_EQ(describeMbarrier(word), "parity 0, 0 of 1 arrivals pending, tx 4096");
  EXPECT_TRUE(mbarrierCompleteTx(word, 4096).completed);
  EXPECT_TRUE(passes(word, 0));
  // expect_tx that cancels earlier bytes with the arrival already there does not complete by itself
  // until the next arrive-on or complete_tx.
  mbarrierCompleteTx(word, 64);
  EXPECT_FALSE(mbarrierExpectTx(word, 64).completed);
  EXPECT_TRUE(mbarrierArrive(word).completed);
}

TEST(Mbarrier, DropLowersLaterPhases) {
  uint64_t word = 0;
  mbarrierInit(word, 3);
  ArriveOptions drop;
  drop.drop = true;
  EXPECT_FALSE(mbarrierArrive(word, 1, drop).completed);
  EXPECT_TRUE(mbarrierArrive(word, 2).completed);
  EXPECT_FALSE(mbarrierArrive(word).completed);
  EXPECT_TRUE(mbarrierArrive(word).completed); // two are enough now
}

TEST(Mbarrier, NoCompleteAndPendingCount) {
  uint64_t word = 0;
  mbarrierInit(word, 5);
  ArriveOptions noComplete;
  noComplete.noComplete = true;
  MbarrierResult r = mbarrierArrive(word, 3, noComplete);
  ASSERT_TRUE(r.ok());
  uint32_t count;
  ASSERT_EQ(mbarrierPendingCount(r.token, count), "");
  EXPECT_EQ(count, 5u);
  uint64_t before = word;
  r = mbarrierArrive(word, 2, noComplete);
  EXPECT_NE(r.error.find("noComplete"), std::string::npos);
  EXPECT_EQ(word, before);
  EXPECT_TRUE(mbarrierIncrementPending(word).ok());
  EXPECT_FALSE(mbarrierArrive(word, 2).completed);
  EXPECT_TRUE(mbarrierArrive(word, 1).completed);
}

TEST(Mbarrier, Errors) {
  uint64_t word = 0;
  bool done;
  EXPECT_FALSE(mbarrierArrive(word).ok());
  EXPECT_FALSE(mbarrierExpectTx(word, 1).ok());
  EXPECT_FALSE(mbarrierCompleteTx(word, 1).ok());
  EXPECT_FALSE(mbarrierInval(word).ok());
  EXPECT_FALSE(mbarrierIncrementPending(word).ok());
  EXPECT_NE(mbarrierTestParity(word, 0, done), "");
  EXPECT_FALSE(mbarrierInit(word, 0).ok());
  EXPECT_FALSE(mbarrierInit(word, 1u << 20).ok());
  ASSERT_TRUE(mbarrierInit(word, mbarrierMaxCount).ok());
  EXPECT_FALSE(mbarrierInit(word, 1, true).ok());
  EXPECT_TRUE(isMbarrier(word));
  EXPECT_NE(mbarrierTestParity(word, 2, done), "");
  EXPECT_FALSE(mbarrierArrive(word, 0).ok());
  EXPECT_FALSE(mbarrierIncrementPending(word).ok());
  ASSERT_TRUE(mbarrierExpectTx(word, (1 << 20) - 1).ok());
  EXPECT_NE(mbarrierExpectTx(word, 1).error.find("1048576"), std::string::npos);
  ASSERT_TRUE(mbarrierCompleteTx(word, (1 << 20) - 1).ok());
  ASSERT_TRUE(mbarrierCompleteTx(word, (1 << 20) - 1).ok());
  EXPECT_FALSE(mbarrierCompleteTx(word, 1).ok());
  EXPECT_FALSE(mbarrierCompleteTx(word, ~uint64_t(0)).ok());
  ASSERT_TRUE(mbarrierInval(word).ok());
  EXPECT_FALSE(isMbarrier(word));
  ASSERT_TRUE(mbarrierInit(word, 2).ok());
  EXPECT_NE(mbarrierArrive(word, 3).error.find("only 2"), std::string::npos);
  ArriveOptions expect;
  expect.expectTx = true;
  EXPECT_FALSE(mbarrierArrive(word, 2, expect).ok());
}

TEST(Mbarrier, FollowsThePlainModel) {
  // Random legal operations against unbounded counters.
  std::mt19937 rng(9);
  uint64_t word = 0;
  mbarrierInit(word, 4);
  int64_t pending = 4, expected = 4, tx = 0, phase = 0;
  for (int i = 0; i < 20000; ++i) {
    bool test = true;
    uint32_t n = rng() % 1000;
    switch (rng() % 3) {
    case 0:
      if (tx + n > 100000)
        continue;
      ASSERT_TRUE(mbarrierExpectTx(word, n).ok());
      tx += n;
      test = false;
      break;
    case 1:
      if (rng() % 2 && tx > 0)
        n = uint32_t(tx);
      if (tx - int64_t(n) < -100000)
        continue;
      ASSERT_TRUE(mbarrierCompleteTx(word, n).ok());
      tx -= n;
      break;
    default:
      if (pending == 0)
        continue;
      n = 1 + n % uint32_t(pending);
      ASSERT_TRUE(mbarrierArrive(word, n).ok());
      pending -= n;
      break;
    }
    if (test && pending == 0 && tx == 0) {
      ++phase;
      pending = expected;
    }
    MbarrierState state;
    ASSERT_TRUE(unpackMbarrier(word, state));
    ASSERT_EQ(state.pending, pending);
    ASSERT_EQ(state.tx, tx);
    ASSERT_EQ(state.phase, phase & 3);
    ASSERT_EQ(packMbarrier(state), word);
  }
  EXPECT_GT(phase, 50);
}
