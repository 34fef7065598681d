//===- Mbarrier.cpp - Operations on the mbarrier word
//---------------------------------------------===//
//
// Word layout (ours): pending 19:0, expected 39:20, tx + 2^20 60:40, phase 62:61, live mark 63. An
// invalidation zeroes the word; a word of zeros is no object.
//
//===----------------------------------------------------------------------------------------------===//
#include "tileloom/Simulator/Mbarrier.h"

using namespace tileloom::sim;

static constexpr int32_t txLimit = (1 << 20) - 1;

static std::string notLive(const char *op) {
  return std::string(op) + " on memory that holds no mbarrier (not initialised, invalidated or "
                           "overwritten)";
}

bool tileloom::sim::isMbarrier(uint64_t word) {
  // The tx field of a live object is never 0: it is biased by 2^20 and at least 1.
  return (word >> 63) && ((word >> 40) & 0x1FFFFF);
}

bool tileloom::sim::unpackMbarrier(uint64_t word, MbarrierState &state) {
  state.pending = uint32_t(word & 0xFFFFF);
  state.expected = uint32_t((word >> 20) & 0xFFFFF);
  state.tx = int32_t((word >> 40) & 0x1FFFFF) - (1 << 20);
  state.phase = uint32_t((word >> 61) & 3);
  return isMbarrier(word);
}

uint64_t tileloom::sim::packMbarrier(const MbarrierState &state) {
  return uint64_t(state.pending & 0xFFFFF) | uint64_t(state.expected & 0xFFFFF) << 20 |
         uint64_t(uint32_t(state.tx + (1 << 20)) & 0x1FFFFF) << 40 |
         uint64_t(state.phase & 3) << 61 | uint64_t(1) << 63;
}

// Completes the phase if nothing is pending. Tested after every arrive-on and complete_tx.
static bool testPhase(MbarrierState &state) {
  if (state.pending != 0 || state.tx != 0)
    return false;
  state.phase = (state.phase + 1) & 3;
  state.pending = state.expected;
  return true;
}

static MbarrierResult fail(std::string message) {
  MbarrierResult result;
  result.error = std::move(message);
  return result;
}

static std::string badTx(const char *op, int64_t value) {
  return std::string(op) + " makes the transaction count " + std::to_string(value) + ", needs -" +
         std::to_string(txLimit) + " to " + std::to_string(txLimit);
}

MbarrierResult tileloom::sim::mbarrierInit(uint64_t &word, uint64_t count, bool live) {
  if (live)
    return fail("mbarrier.init on a live mbarrier (" + describeMbarrier(word) +
                "); mbarrier.inval comes first");
  if (count < 1 || count > mbarrierMaxCount)
    return fail("mbarrier.init: count is " + std::to_string(count) + ", needs 1 to " +
                std::to_string(mbarrierMaxCount));
  MbarrierState state;
  state.pending = state.expected = uint32_t(count);
  word = packMbarrier(state);
  return {};
}

MbarrierResult tileloom::sim::mbarrierInval(uint64_t &word) {
  if (!isMbarrier(word))
    return fail(notLive("mbarrier.inval"));
  word = 0;
  return {};
}

MbarrierResult tileloom::sim::mbarrierExpectTx(uint64_t &word, uint64_t bytes) {
  MbarrierState state;
  if (!unpackMbarrier(word, state))
    return fail(notLive("mbarrier.expect_tx"));
  int64_t tx = int64_t(state.tx) + int64_t(bytes);
  if (bytes > uint64_t(txLimit) || tx > txLimit)
    return fail(badTx("mbarrier.expect_tx", bytes > uint64_t(txLimit) ? int64_t(bytes) : tx));
  state.tx = int32_t(tx);
  word = packMbarrier(state);
  return {};
}

MbarrierResult tileloom::sim::mbarrierCompleteTx(uint64_t &word, uint64_t bytes) {
  MbarrierState state;
  if (!unpackMbarrier(word, state))
    return fail(notLive("complete_tx"));
  int64_t tx = int64_t(state.tx) - int64_t(bytes);
  if (bytes > uint64_t(txLimit) || tx < -txLimit)
    return fail(badTx("complete_tx", bytes > uint64_t(txLimit) ? -int64_t(bytes) : tx));
  MbarrierResult result;
  state.tx = int32_t(tx);
  result.completed = testPhase(state);
  word = packMbarrier(state);
  return result;
}

MbarrierResult tileloom::sim::mbarrierArrive(uint64_t &word, uint64_t count,
                                             const ArriveOptions &options) {
  const char *op = options.drop ? "mbarrier.arrive_drop" : "mbarrier.arrive";
  MbarrierState state;
  if (!unpackMbarrier(word, state))
    return fail(notLive(op));
  if (count < 1 || count > mbarrierMaxCount)
    return fail(std::string(op) + ": count is " + std::to_string(count) + ", needs 1 to " +
                std::to_string(mbarrierMaxCount));
  if (options.expectTx && count != 1)
    return fail(std::string(op) + ".expect_tx: count is " + std::to_string(count) + ", needs 1");
  MbarrierResult result;
  result.token = word;
  if (options.expectTx) {
    int64_t tx = int64_t(state.tx) + int64_t(options.txBytes);
    if (options.txBytes > uint64_t(txLimit) || tx > txLimit)
      return fail(badTx("expect_tx", tx));
    state.tx = int32_t(tx);
  }
  if (count > state.pending)
    return fail(std::string(op) + " with count " + std::to_string(count) + " but only " +
                std::to_string(state.pending) + " arrivals are pending (" + describeMbarrier(word) +
                ")");
  if (options.drop) {
    if (count > state.expected)
      return fail(std::string(op) + " with count " + std::to_string(count) +
                  " but the barrier expects only " + std::to_string(state.expected));
    state.expected -= uint32_t(count);
  }
  state.pending -= uint32_t(count);
  if (options.noComplete && state.pending == 0 && state.tx == 0)
    return fail(std::string(op) + ".noComplete would complete the phase (" +
                describeMbarrier(word) + ")");
  result.completed = testPhase(state);
  word = packMbarrier(state);
  return result;
}

MbarrierResult tileloom::sim::mbarrierIncrementPending(uint64_t &word) {
  MbarrierState state;
  if (!unpackMbarrier(word, state))
    return fail(notLive("cp.async.mbarrier.arrive"));
  if (state.pending == mbarrierMaxCount)
    return fail("cp.async.mbarrier.arrive raises the pending count beyond " +
                std::to_string(mbarrierMaxCount));
  ++state.pending;
  word = packMbarrier(state);
  return {};
}

std::string tileloom::sim::mbarrierTestParity(uint64_t word, uint32_t parity, bool &done) {
  MbarrierState state;
  done = false;
  if (!unpackMbarrier(word, state))
    return notLive("mbarrier wait");
  if (parity > 1)
    return "mbarrier wait: phase parity is " + std::to_string(parity) + ", needs 0 or 1";
  done = parity != (state.phase & 1);
  return {};
}

std::string tileloom::sim::mbarrierTestState(uint64_t word, uint64_t token, bool &done) {
  MbarrierState state, before;
  done = false;
  if (!unpackMbarrier(word, state))
    return notLive("mbarrier wait");
  if (!unpackMbarrier(token, before))
    return "mbarrier wait: the state operand comes from no mbarrier.arrive";
  uint32_t age = (state.phase - before.phase) & 3;
  if (age > 1)
    return "mbarrier wait: the state operand is " + std::to_string(age) +
           " phases old, only the current or the preceding phase may be tested";
  done = age == 1;
  return {};
}

std::string tileloom::sim::mbarrierPendingCount(uint64_t token, uint32_t &count) {
  MbarrierState state;
  if (!unpackMbarrier(token, state))
    return "mbarrier.pending_count: the operand is no mbarrier state";
  count = state.pending;
  return {};
}

std::string tileloom::sim::describeMbarrier(uint64_t word) {
  MbarrierState state;
  if (!unpackMbarrier(word, state))
    return "no mbarrier";
  return "parity " + std::to_string(state.phase & 1) + ", " + std::to_string(state.pending) +
         " of " + std::to_string(state.expected) + " arrivals pending, tx " +
         std::to_string(state.tx);
}
