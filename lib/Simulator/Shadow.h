//===- Shadow.h - Race and initialisation state of memory --------*- C++ -*-===//
//
// For every 4 bytes of shared memory: who wrote last, who has read since, and which bytes hold
// data. Writers are numbers of AccessRecords; sets of readers are interned, so that a tile whose
// words have the same history costs one comparison a word. Global memory keeps only the last
// writer.
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

private:
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
  Layout,
  Fellow // written by another lane of the warp, which has not synchronised since
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
  const Clocks *clocks = nullptr;
  // Generic accesses of one lane (else -1): what the lane's fellows have written since the last
  // synchronisation of the warp is not ordered before it.
  int lane = -1;
  uint32_t syncs = 0, copyActor = 0, copyWaitSyncs = 0;
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
  bool ordered(uint32_t record, const Access &access) const;
  bool proxied(uint32_t record, const Access &access) const;
  bool byFellow(uint32_t cell, const Access &access) const;
  std::vector<Cell> cells;
  std::vector<uint8_t> valid; // 4 bits a cell
  std::vector<uint8_t> lanes; // of the last writer, plus 1; 0: no single lane
  AccessTable &table;
};

} // namespace sim
} // namespace tileloom

#endif
