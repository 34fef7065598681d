//===- Mbarrier.h - The mbarrier object
//-----------------------------------------------------------===//
//
// All operations on an mbarrier (PTX ISA 9.7.13.15) as functions on the 64-bit word in shared
// memory. The layout of the word is ours (PTX calls it opaque): phase, pending and expected counts,
// the transaction count, and a mark that tells a live object from other bytes.
//
//===----------------------------------------------------------------------------------------------===//
#ifndef TILELOOM_SIMULATOR_MBARRIER_H
#define TILELOOM_SIMULATOR_MBARRIER_H

#include <cstdint>
#include <string>

namespace tileloom::sim {

/// The fields of a live object.
struct MbarrierState {
  uint32_t pending = 0;  ///< arrivals still missing in this phase, 0 .. 2^20-1
  uint32_t expected = 0; ///< arrivals of the next phase, 1 .. 2^20-1 (0 after dropping all)
  int32_t tx = 0;        ///< pending transaction bytes, -(2^20-1) .. 2^20-1
  uint32_t phase = 0;    ///< completed phases modulo 4; only bit 0 is architectural
};

constexpr uint32_t mbarrierMaxCount = (1u << 20) - 1;

/// Whether the word can be a live object (bytes of other uses may look like one), and its fields.
bool isMbarrier(uint64_t word);
bool unpackMbarrier(uint64_t word, MbarrierState &state);
uint64_t packMbarrier(const MbarrierState &state);

/// What an operation did. On an error the word is unchanged, and the message says what was found.
struct MbarrierResult {
  std::string error;      ///< empty on success
  bool completed = false; ///< this operation completed the phase
  uint64_t token = 0;     ///< arrive: the state before the operation
  bool ok() const { return error.empty(); }
};

/// `live` says that the caller knows of an object at this address (an error). Bytes left by other
/// uses of the memory can look like one, so the word itself is not asked.
MbarrierResult mbarrierInit(uint64_t &word, uint64_t count, bool live = false);
MbarrierResult mbarrierInval(uint64_t &word);
MbarrierResult mbarrierExpectTx(uint64_t &word, uint64_t bytes);
MbarrierResult mbarrierCompleteTx(uint64_t &word, uint64_t bytes);

struct ArriveOptions {
  bool expectTx = false; ///< arrive.expect_tx: adds `txBytes` first, count is 1
  uint64_t txBytes = 0;
  bool drop = false;       ///< arrive_drop: lowers the count of all later phases too
  bool noComplete = false; ///< completing the phase is an error
};
MbarrierResult mbarrierArrive(uint64_t &word, uint64_t count = 1,
                              const ArriveOptions &options = {});

/// cp.async.mbarrier.arrive without .noinc raises the pending count by one when it is issued.
MbarrierResult mbarrierIncrementPending(uint64_t &word);

/// test_wait / try_wait: `done` tells whether the named phase is complete.
std::string mbarrierTestParity(uint64_t word, uint32_t parity, bool &done);
std::string mbarrierTestState(uint64_t word, uint64_t token, bool &done);

/// mbarrier.pending_count of a token of a .noComplete arrive.
std::string mbarrierPendingCount(uint64_t token, uint32_t &count);

/// One line for reports: "parity 1, 2 of 4 arrivals pending, tx 8192".
std::string describeMbarrier(uint64_t word);

} // namespace tileloom::sim

#endif // TILELOOM_SIMULATOR_MBARRIER_H
