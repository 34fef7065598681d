//===- Machine.h - The state of a running cluster ----------------*- C++ -*-===//
//
// Warps with their diverged thread groups, CTAs with shared memory and barriers, and the cluster
// that one host thread runs at a time. Handlers (Exec*.cpp) work on a Warp; Interpreter.cpp runs
// one warp, Scheduler.cpp chooses between warps and asynchronous completions.
//
//===----------------------------------------------------------------------===//
#ifndef TILELOOM_LIB_SIMULATOR_MACHINE_H
#define TILELOOM_LIB_SIMULATOR_MACHINE_H

#include "AsyncOps.h"
#include "Program.h"
#include "Shadow.h"
#include "tileloom/Simulator/Simulator.h"

#include <array>
#include <atomic>
#include <deque>
#include <memory>
#include <random>
#include <unordered_map>

namespace tileloom {
namespace sim {

struct Cta;
struct Cluster;
struct Timeline;
class GlobalOrder;

/// What a blocked or spinning thread group waits for.
struct WaitInfo {
  enum Kind : uint8_t {
    None,
    Mbarrier,
    TryWait,
    Named,
    ClusterBarrier,
    WarpSync,
    Warpgroup,
    BulkGroup,
    Registers,
    TensorAlloc,
    Spin
  } kind = None;
  uint32_t address = 0; // mbarrier: shared address
  uint32_t detail = 0;  // parity, barrier id, register count
  uint64_t phase = 0;   // mbarrier: absolute phase waited for
  uint64_t since = 0;   // cycles
};

/// Owner of the registers of a tcgen05.ld (Warp::inFlight), which a wgmma never has.
constexpr uint16_t TensorLoadOwner = 0xFFFE;

/// Threads of a warp with one pc. `join` is the innermost place where they wait for their fellows.
struct Group {
  uint32_t pc = 0, mask = 0;
  int32_t join = -1;
  bool blocked = false, entered = false, released = false;
  uint64_t seenEvents = 0; // cluster events when it blocked
  uint64_t token = 0;
  uint32_t spins = 0;
  WaitInfo wait;
};

struct Join {
  uint32_t pc = 0, expected = 0, arrived = 0;
  int32_t parent = -1;
  bool inUse = false;
};

/// A wgmma of a warpgroup: runs when its four warps have issued it, at the latest when one waits.
struct WgmmaOp {
  const Instr *instr = nullptr;
  uint64_t aDescriptor = 0, bDescriptor = 0;
  bool scaleD = true;
  uint32_t arrived = 0; // bit for each warp of the warpgroup
  uint64_t time = 0, doneTime = 0;
  std::vector<uint8_t> places; // sparse A: of the stored elements of its 64 rows
};
struct Warpgroup {
  std::deque<WgmmaOp> ops;
  uint64_t first = 0;             // number of ops.front()
  uint64_t executed = 0;          // ops done
  std::deque<uint64_t> doneTimes; // of ops first .. executed-1 that have left the queue
  uint64_t lastDone = 0;
};

struct Warp {
  // Hot.
  uint8_t *regs = nullptr;
  uint32_t active = 0; // lanes of the running instruction
  uint32_t live = 0;   // lanes that have not exited
  Cta *cta = nullptr;
  Cluster *cluster = nullptr;
  const Program *program = nullptr;
  uint8_t *local = nullptr; // 32 * localBytes
  uint32_t id = 0;
  uint32_t carry = 0; // the CC.CF flag of each lane
  const Instr *current = nullptr;
  Group *group = nullptr; // the running one; invalid after a split
  std::vector<Group> groups;
  std::vector<Join> joins;
  bool done = false;
  uint8_t pace = 64; // random schedules: turns of 64 that it takes
  uint64_t time = 0; // cycles of the cost model
  uint64_t instructions = 0;
  uint64_t waited[16] = {0}; // cycles by WaitInfo::Kind

  // Checks.
  std::vector<uint32_t> written;       // lanes of each register that hold a value
  // Of lanes that `written` lacks: those that hold a value in each byte (PartialRegisters.cpp).
  std::unordered_map<uint32_t, std::array<uint32_t, 16>> partial;
  std::vector<uint16_t> inFlight;      // wgmma or tcgen05.ld operations that own each register
  std::vector<uint32_t> inFlightGroup; // the youngest wgmma group of each
  uint32_t inFlightCount = 0;
  Clocks clocks;
  Clocks fenced;       // clocks at the last release fence, for relaxed arrives
  Clocks relaxedReads; // what words told that were read by relaxed loads, for the next fence
  uint32_t actor = 0;
  // Lanes of a warp are ordered by what makes them wait for each other (bar.warp.sync, CTA and
  // cluster barriers), counted here, and by releases of their own that the warp has acquired
  // (mbarriers): the last of them. Likewise the count and the epoch at the last wait for cp.async,
  // whose data only the waiting lane may read before.
  bool collective = false; // the running instruction reads on behalf of all lanes (ldmatrix)
  uint32_t syncs = 1, ownSeen = 0, copyWaitSyncs = 0, copyWaitEpoch = 0;
  // What only some lanes, those `ahead`, have acquired since the warp synchronised, the others do not
  // know: they are at `seenBefore`.
  uint32_t ahead = 0, aheadSyncs = 0;
  Clock seenBefore;
  bool behind(unsigned lane) const { return aheadSyncs == syncs && !(ahead >> lane & 1); }
  // The access record of the running instruction: its lanes share one.
  const Instr *recordInstr = nullptr;
  uint32_t recordEpoch = 0, recordActor = 0, recordId = 0, recordSyncs = 0;
  // Loads from shared memory that may be under way (Loads.cpp): the youngest that each register depends
  // on, counted from 1, and the records of those from firstLoad on.
  uint32_t readRecord = 0; // of the running instruction
  std::vector<uint32_t> loadOf, loads;
  uint32_t firstLoad = 1;

  // Asynchronous state.
  uint64_t wgmmaIssued = 0, wgmmaCommits = 0;
  std::deque<uint64_t> wgmmaGroupEnds; // op count at each commit that has not been waited for
  std::deque<std::vector<uint32_t>> wgmmaGroupRegs;
  std::vector<uint32_t> wgmmaOpenRegs; // registers of the open group
  uint32_t wgmmaFences = 0;
  std::vector<uint32_t> fenceMark, readMark; // by register: wgmmaFences at its last write, read
  struct Copy {
    uint64_t id;       // in the asynchronous queue
    uint32_t sequence; // epoch of the warp's bulk stream
    uint64_t time;
    uint32_t line;
  };
  struct BulkState {
    std::vector<Copy> open;               // not yet committed
    std::deque<std::vector<Copy>> groups; // committed, oldest first
    bool readsPending = false;            // stores whose source has not been waited for
  };
  std::unordered_map<uint32_t, BulkState> bulk; // by lane
  std::vector<BulkState> cpAsync;               // by lane, non-bulk
  uint32_t bulkSequence = 0;
  uint32_t tensorSequence = 0;
  Clocks tensorSeen;                    // what tcgen05.fence::after_thread_sync has made visible
  std::vector<uint32_t> tensorLoadRegs; // registers of tcgen05.ld that have not been waited for
  bool tensorStores = false;
  // What tcgen05.ld and st access that have not been waited for.
  struct TensorAccess {
    uint32_t lanes; // of the warp's 32, a bit each
    uint32_t begin, end, line;
    bool store;
  };
  std::vector<TensorAccess> tensorPending;
  uint32_t maxRegisters = 0;
  std::vector<const Instr *> registerChanges; // the setmaxnregs that it has executed
  uint64_t clusterToken = 0;
  bool clusterArrived = false; // at a barrier.cluster that it has not waited for
  uint32_t clusterWaited = 0;  // lanes that have
  std::vector<std::pair<Cta *, uint32_t>>
      initialised; // mbarriers since the last fence that covers them

  template <class T> T *reg(int32_t slot) { return reinterpret_cast<T *>(regs + slot); }
  uint32_t predicate(int32_t slot) const { return *reinterpret_cast<uint32_t *>(regs + slot); }
  unsigned firstLane() const { return unsigned(__builtin_ctz(active)); }
  bool block(WaitInfo::Kind kind, uint32_t address = 0, uint32_t detail = 0);
};

struct NamedBarrier {
  uint32_t expected = 0; // threads; 0 when idle
  bool counted = false;  // the instruction gave a count: exited warps are not taken off
  uint32_t arrived = 0;  // threads
  uint64_t generation = 0;
  std::vector<uint32_t> arrivedLanes; // by warp, of an arrival that is not complete
  uint32_t arrivedWarps = 0;
  Clocks clocks, done;
  // Who arrived for the current completion, and for the last one: warp, its epoch then, line.
  struct Arrival {
    uint32_t warp, epoch, line;
  };
  std::vector<Arrival> arrivals, lastArrivals;
  uint32_t reduction = 0; // popc / and / or so far
  uint32_t result = 0;
  uint64_t time = 0, doneTime = 0;
};

/// Bookkeeping of an mbarrier beside its 8 bytes.
struct BarrierInfo {
  uint32_t address = 0; // shared offset
  uint32_t actor = 0;
  uint64_t phase = 0; // completed phases since init
  bool live = false;
  uint64_t firstPhase = 0; // of this life
  uint32_t initActor = 0, initEpoch = 0;
  Clocks clocks, done;
  uint64_t time = 0, doneTime = 0; // of the last arrival; of the last completion
  uint32_t initLine = 0;
  bool initFenced = false;                   // a fence followed the initialisation
  uint64_t copiesPhase = 0, waitedPhase = 0; // last phase with copies; last phase waited for
  uint32_t copyLine = 0;                     // of the youngest copy
  // The youngest arrival of another CTA: who, when, and the cluster barrier that orders it at last.
  uint64_t remotePhase = 0, remoteGeneration = 0;
  uint32_t remoteActor = 0, remoteEpoch = 0, remoteLine = 0;
};

struct TensorMemory; // ExecTensor.cpp

struct Cta {
  Cluster *cluster = nullptr;
  uint32_t rank = 0; // in the cluster
  uint32_t id[3] = {0, 0, 0};
  uint64_t linear = 0;
  std::vector<uint8_t> shared; // the base (1024 bytes) included
  std::vector<std::unique_ptr<Warp>> warps;
  NamedBarrier named[16];
  std::vector<BarrierInfo> barriers;
  std::vector<uint16_t> barrierAt; // shared offset / 8 -> index + 1
  std::unique_ptr<SharedShadow> shadow;
  std::unique_ptr<TensorMemory> tensor;
  /// Tensor maps in global memory: their last writers when the CTA acquired them.
  std::unordered_map<uint64_t, std::vector<uint32_t>> mapsAcquired;
  bool cancelRefused = false; // it has seen that no cluster is left to cancel
  std::vector<Warpgroup> warpgroups;
  uint64_t tensorTime = 0; // when the tensor cores are free
  uint32_t registerPool = 0;
  uint32_t liveWarps = 0;
  bool done = false;
  uint64_t engineTime = 0; // when the copy engine is free
  std::vector<uint8_t> registerFiles, locals;

  BarrierInfo *barrier(uint32_t offset) {
    uint16_t i = (offset >> 3) < barrierAt.size() ? barrierAt[offset >> 3] : 0;
    return i ? &barriers[i - 1] : nullptr;
  }
  std::string name() const;
};

/// Whether tcgen05 accesses are held to PTX's fences: not so in kernels that have none at all, as
/// Triton's, which run; there the ordinary order is looked at.
inline bool followsTensorFences(const Warp &w);

/// The source line of an instruction, "file:line", if the PTX says it (.loc).
std::string locationOf(const Program &program, size_t instruction);
/// Makes another line that of a finding.
void moveTo(Finding &f, const Program &program, uint32_t line);
/// Where a bad access or a broken rule is reported from; filled in from the warp.
Finding findingAt(const Warp &w, const char *kind, std::string message, int lane = -1);

/// What all clusters of a launch share.
struct Grid {
  const Program *program = nullptr;
  Memory *memory = nullptr;
  Findings *findings = nullptr;
  Launch launch;
  uint32_t blockThreads = 0, warpsPerCta = 0, clusterSize = 1;
  uint32_t sharedBytes = 0; // including the base
  uint64_t clusters = 1;
  uint32_t checks = 0;
  uint32_t actorsPerCta = 0;
  std::vector<uint8_t> parameters;
  Timeline *timeline = nullptr;
  bool singleThread = true;
  std::atomic<uint64_t> *next = nullptr; // the next cluster to launch, a place in launchOrder
  std::vector<uint32_t> launchOrder;     // of the clusters; empty: as they are numbered
  uint64_t clusterAt(uint64_t place) const {
    return launchOrder.empty() ? place : launchOrder[place];
  }
  std::shared_ptr<GlobalOrder> order;    // race checks across clusters
};

constexpr uint32_t MaxBarriers = 128; // mbarriers of a CTA with a clock of their own

struct Cluster {
  Grid *grid = nullptr;
  uint64_t linear = 0;
  uint32_t id[3] = {0, 0, 0};
  std::vector<std::unique_ptr<Cta>> ctas;
  uint64_t events = 1;   // anything that may unblock a warp
  uint64_t progress = 1; // anything that changes memory or a barrier
  AsyncQueue async;
  AccessTable records;
  std::mt19937_64 random;
  bool randomised = false;
  bool failed = false; // a finding that ends the run
  bool openedJoin = false; // nothing got on, so lanes no longer waited for others of their warp
  uint64_t steps = 0, lastProgress = 0, lastProgressStep = 0, wokeAtProgress = 0;
  // barrier.cluster
  uint32_t clusterArrived = 0;
  uint64_t clusterGeneration = 0;
  Clocks clusterClocks, clusterDone;
  std::vector<std::vector<uint32_t>> clusterLanes; // [cta][warp] lanes that have arrived
  uint64_t clusterTime = 0, clusterDoneTime = 0;
  uint32_t liveWarps = 0;
  Region *lastRegion = nullptr;

  void report(Finding f);
  bool checking(Check c) const { return grid->checks & c; }
  Cta *cta(uint32_t rank) { return rank < ctas.size() ? ctas[rank].get() : nullptr; }
};

inline bool followsTensorFences(const Warp &w) {
  return w.program->usesTensorFences || w.cluster->checking(CheckStrict);
}

std::unique_ptr<Cluster> makeCluster(Grid &grid, uint64_t linear);

/// Loads.cpp: an instruction that has read shared memory by ordinary loads; any other one while loads are
/// under way; one that waits for all of them.
void noteLoad(Warp &w, const Instr &in);
void useLoads(Warp &w, const Instr &in);
void endLoads(Warp &w);

enum class RunStatus : uint8_t { Done, Stalled, Failed };
/// Runs a cluster until it ends, or spins on global memory without progress.
RunStatus runCluster(Cluster &cluster);
/// Threads that wait for others of their warp go ahead; false if there are none.
bool openJoins(Cluster &cluster);
/// Reports why nothing can go on: who waits for which barrier, phase and counts.
void reportDeadlock(Cluster &cluster, const char *why);
/// Ends a wait of the running warp: its clock moves on to `ready` (cycles of the cost model).
void finishWait(Warp &w, uint64_t ready);
/// Timeline.cpp: a wait, and an interval of an engine ("TMA", "tensor core") or of a warp.
void noteWait(Warp &w, uint64_t from, uint64_t to, const WaitInfo &info);
void noteWork(Cta &cta, const char *track, int warp, uint64_t from, uint64_t to, const char *what,
              uint32_t line);
/// Runs one warp for up to `budget` instructions; false if nothing of it can run.
bool runWarp(Warp &warp, uint32_t budget);
void exitLanes(Warp &w, uint32_t mask);
/// Whether the warps of each warpgroup have executed the same setmaxnregs (ExecControl.cpp).
void checkRegisterChanges(Cta &cta);

} // namespace sim
} // namespace tileloom

#endif
