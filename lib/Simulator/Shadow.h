//===- Shadow.h - Race and initialisation state of memory --------*- C++ -*-===//
//
// For every 4 bytes of shared memory: who wrote last, who has read since, and which bytes hold
// data. Writers are numbers of AccessRecords; sets of readers are interned, so that a tile whose
// words have the same history costs one comparison a word. Global memory keeps only the last
// writer.
//
// Clocks are those of warps. Lanes are told apart by what each release of a warp covered: the lanes
// that executed it, and, after the warp has synchronised, all. An access by a lane that no release
// covers is not ordered before whoever acquired them.
//
//===----------------------------------------------------------------------===//
#ifndef TILELOOM_LIB_SIMULATOR_SHADOW_H
#define TILELOOM_LIB_SIMULATOR_SHADOW_H

#include "Clocks.h"

#include <unordered_map>

namespace tileloom {
namespace sim {

/// The records of one cluster run and the interned reader sets over them.
class AccessTable {
public:
  AccessTable() : records(1), sets(1) {}
  uint32_t add(const AccessRecord &r);
  const AccessRecord &operator[](uint32_t id) const { return records[id]; }
  /// The set `set` plus a reader; an older read of the same actor is replaced.
  uint32_t addReader(uint32_t set, uint32_t record);
  const std::vector<uint32_t> &readers(uint32_t set) const { return sets[set]; }
  /// A warp's release at `epoch`, by some of its lanes; `syncs`: Warp::syncs.
  void released(uint32_t actor, uint32_t epoch, uint32_t lanes, uint32_t syncs);
  /// Lanes whose accesses at `epoch` and `syncs` the releases until `upTo` cover.
  uint32_t releasedLanes(uint32_t actor, uint32_t epoch, uint32_t syncs, uint32_t upTo) const;
  /// A warp's proxy fence over shared memory, and lanes whose writes such fences cover. Another
  /// warp's fence covers all that is ordered before it (`syncs` 0).
  void fenced(uint32_t actor, uint32_t epoch, uint32_t lanes, uint32_t syncs);
  void fencedByOther(uint32_t self, const Clock &seen);
  /// Likewise tcgen05.fence::before_thread_sync, for the warps' accesses of tensor memory.
  void tensorFenced(uint32_t actor, uint32_t lanes, uint32_t syncs, const Clock &seen);
  bool tensorReleased(const AccessRecord &r, uint32_t upTo) const;
  /// A relaxed arrival passes on what was ordered before the last fence, whose epoch it is.
  void relaxed(uint32_t actor, uint32_t epoch, uint32_t lane, uint32_t syncs);
  uint32_t fencedLanes(uint32_t actor, uint32_t epoch, uint32_t syncs, uint32_t upTo) const;
  /// An ordinary read begins; its warp has its result (Loads.cpp).
  void loadBegins(uint32_t record) { ++records[record].loadsUnderWay; }
  void loadEnds(uint32_t record, uint32_t epoch);
  /// Whether all loads of a record had ended before the reader's release `upTo`.
  bool loaded(uint32_t record, uint32_t upTo) const {
    return !records[record].loadsUnderWay && records[record].loadedAt <= upTo;
  }

private:
  struct Release {
    uint32_t lanes = ~0u, syncs = 0, fenced = 0, fenceSyncs = 0, tensor = 0, tensorSyncs = 0;
  };
  Release &releaseOf(uint32_t actor, uint32_t epoch);
  /// Lanes that took part in `of` from epoch to upTo; all where that is not known.
  uint32_t lanesOf(uint32_t Release::*of, uint32_t Release::*at, uint32_t actor, uint32_t epoch,
                   uint32_t syncs, uint32_t upTo) const;
  std::vector<std::vector<Release>> releases; // by actor and epoch
  std::vector<AccessRecord> records;
  std::vector<std::vector<uint32_t>> sets;
  std::unordered_map<uint64_t, uint32_t> transitions;
  std::unordered_map<uint64_t, uint32_t> recent; // last record of (actor, line)
};

enum class Conflict : uint8_t {
  None,
  Uninitialised,
  WriteRead,
  WriteWrite,
  ReadWrite,
  NoProxyFence,
  UnfencedRead, // copies over what an ordinary load may still be reading
  Layout,
  Fellow,      // written by another lane of the warp, which has not synchronised since
  FellowRead,  // overwrites what another lane of the warp may still read
  LaneWrite,   // reads what a lane wrote that has not released it, only others of its warp
  LaneRead     // overwrites what such a lane may still read
};

struct AccessCheck {
  Conflict conflict = Conflict::None;
  uint32_t offset = 0; // byte offset of the first conflict
  uint32_t other = 0;  // record of the earlier access
};

/// What a new access is ordered after.
struct Access {
  uint32_t record = 0;
  uint32_t actor = 0;
  bool async = false;
  uint8_t layout = 0;
  bool strict = false; // an asynchronous overwrite after a generic read needs a proxy fence too
  bool update = false; // a reduction
  const Clocks *clocks = nullptr;
  const Clock *seen = nullptr; // of the lane
  const Clock *ordinary = nullptr; // tensor memory: without regard to its fences
  // Accesses of one lane (else -1), or issued by it: what the lane's fellows have done since the
  // last synchronisation of the warp is not ordered before it, unless they released it (mbarriers).
  int lane = -1;
  bool collective = false; // a read on behalf of all lanes
  uint32_t warp = 0, syncs = 0, ownSeen = 0, copyActor = 0, copyWaitSyncs = 0, copyWaitEpoch = 0;
  bool fellow(const AccessRecord &r) const { return r.actor == warp || r.actor == copyActor; }
};

class SharedShadow {
public:
  SharedShadow(uint32_t bytes, AccessTable &table);
  /// Both return the first conflict, and note the access.
  AccessCheck read(uint32_t offset, uint32_t bytes, const Access &access, bool races, bool uninit);
  AccessCheck write(uint32_t offset, uint32_t bytes, const Access &access, bool races);
  void forget(uint32_t offset, uint32_t bytes); // e.g. mbarrier.inval

private:
  struct Cell {
    uint32_t writer : 28;
    uint32_t mask : 4; // bytes that the last writer wrote
    uint32_t readers;
  };
  /// Lanes of the record's warp whose access is ordered before; 0: none.
  uint32_t ordered(uint32_t record, const Access &access) const;
  bool proxied(uint32_t record, uint32_t lanes, const Access &access) const;
  bool readEnded(uint32_t record, uint32_t lanes, const Access &access) const;
  void noteReader(uint32_t cell, uint32_t oldSet, const Access &access);
  std::vector<Cell> cells;
  std::vector<uint8_t> valid; // 4 bits a cell
  std::vector<uint32_t> writeLanes, readLanes; // of the last writer and reader; 0: unknown
  AccessTable &table;
};

} // namespace sim
} // namespace tileloom

#endif
