//===- Shadow.cpp - Race and initialisation state of memory ---------------===//
//
// See Shadow.h. The loops remember the last writer and reader set that passed: neighbouring words
// nearly always share them.
//
//===----------------------------------------------------------------------===//
#include "Shadow.h"

namespace tileloom {
namespace sim {

uint32_t AccessTable::add(const AccessRecord &r) {
  uint64_t key = uint64_t(r.actor) << 32 | r.line;
  uint32_t &last = recent[key];
  if (last && records[last].epoch == r.epoch && records[last].what == r.what &&
      records[last].globalCta == r.globalCta && records[last].warpEpoch == r.warpEpoch)
    return last;
  records.push_back(r);
  return last = uint32_t(records.size() - 1);
}

uint32_t AccessTable::addReader(uint32_t set, uint32_t record) {
  uint64_t key = uint64_t(set) << 32 | record;
  auto it = transitions.find(key);
  if (it != transitions.end())
    return it->second;
  std::vector<uint32_t> next;
  for (uint32_t r : sets[set])
    if (records[r].actor != records[record].actor || records[r].async != records[record].async)
      next.push_back(r);
  next.push_back(record);
  sets.push_back(std::move(next));
  uint32_t id = uint32_t(sets.size() - 1);
  transitions.emplace(key, id);
  return id;
}

SharedShadow::SharedShadow(uint32_t bytes, AccessTable &table)
    : cells((bytes + 3) / 4), valid((bytes + 3) / 4, 0), lanes((bytes + 3) / 4, 0), table(table) {
  for (Cell &c : cells)
    c = Cell{0, 0, 0};
}

bool SharedShadow::ordered(uint32_t record, const Access &access) const {
  const AccessRecord &r = table[record];
  if (r.actor == access.actor && r.async == access.async)
    return true;
  const Clock &seen = access.clocks->seen;
  return r.actor < seen.size() && seen[r.actor] >= r.epoch;
}

bool SharedShadow::proxied(uint32_t record, const Access &access) const {
  const AccessRecord &r = table[record];
  if (r.async || !access.async)
    return true;
  const Clock &proxied = access.clocks->proxied;
  return r.actor < proxied.size() && proxied[r.actor] >= r.epoch;
}

/// Whether another lane of the same warp wrote the cell, and the warp has not synchronised since.
bool SharedShadow::byFellow(uint32_t cell, const Access &access) const {
  if (!lanes[cell] || lanes[cell] == access.lane + 1)
    return false;
  const AccessRecord &r = table[cells[cell].writer];
  if (r.async)
    return false;
  return r.actor == access.actor       ? r.warpEpoch == access.syncs
         : r.actor == access.copyActor ? access.copyWaitSyncs == access.syncs
                                       : false;
}

AccessCheck SharedShadow::read(uint32_t offset, uint32_t bytes, const Access &access, bool races,
                               bool uninit) {
  AccessCheck result;
  uint32_t okWriter = 0, lastSet = ~0u, nextSet = 0;
  for (uint32_t at = offset, end = offset + bytes; at < end;) {
    uint32_t i = at >> 2, first = at & 3, last = std::min(4u, first + (end - at));
    uint8_t mask = uint8_t(((1u << last) - 1) & ~((1u << first) - 1));
    Cell &c = cells[i];
    if (uninit && (valid[i] & mask) != mask && result.conflict == Conflict::None) {
      result = {Conflict::Uninitialised, at, 0};
      valid[i] |= mask; // once is enough
    }
    if (races) {
      if (access.lane >= 0 && (c.mask & mask) && byFellow(i, access) &&
          result.conflict == Conflict::None)
        result = {Conflict::Fellow, at, c.writer};
      if (c.writer != okWriter && (c.mask & mask)) {
        if (!ordered(c.writer, access)) {
          if (result.conflict == Conflict::None)
            result = {Conflict::WriteRead, at, c.writer};
        } else if (!proxied(c.writer, access)) {
          if (result.conflict == Conflict::None)
            result = {Conflict::NoProxyFence, at, c.writer};
        } else if (access.layout && table[c.writer].layout &&
                   access.layout != table[c.writer].layout) {
          if (result.conflict == Conflict::None)
            result = {Conflict::Layout, at, c.writer};
        } else {
          okWriter = c.writer;
        }
      }
      if (c.readers != lastSet) {
        lastSet = c.readers;
        nextSet = table.addReader(lastSet, access.record);
      }
      c.readers = nextSet;
    }
    at += last - first;
  }
  return result;
}

AccessCheck SharedShadow::write(uint32_t offset, uint32_t bytes, const Access &access, bool races) {
  AccessCheck result;
  uint32_t okWriter = 0, okSet = 0;
  for (uint32_t at = offset, end = offset + bytes; at < end;) {
    uint32_t i = at >> 2, first = at & 3, last = std::min(4u, first + (end - at));
    uint8_t mask = uint8_t(((1u << last) - 1) & ~((1u << first) - 1));
    Cell &c = cells[i];
    valid[i] |= mask;
    if (races) {
      if (c.writer != okWriter && (c.mask & mask)) {
        if (!ordered(c.writer, access)) {
          if (result.conflict == Conflict::None)
            result = {Conflict::WriteWrite, at, c.writer};
        } else if (!proxied(c.writer, access)) {
          if (result.conflict == Conflict::None)
            result = {Conflict::NoProxyFence, at, c.writer};
        } else {
          okWriter = c.writer;
        }
      }
      // Readers of a partly written word may have read its other bytes: only whole words are sure.
      if (c.readers != okSet && mask == 15) {
        bool fine = true;
        for (uint32_t r : table.readers(c.readers)) {
          bool inOrder = ordered(r, access);
          if (inOrder && (!access.strict || proxied(r, access)))
            continue;
          fine = false;
          if (result.conflict == Conflict::None)
            result = {inOrder ? Conflict::NoProxyFence : Conflict::ReadWrite, at, r};
        }
        if (fine)
          okSet = c.readers;
      }
      bool sameWriter = c.writer == access.record;
      c.mask = sameWriter ? (c.mask | mask) & 15 : mask & 15;
      c.writer = access.record & 0xFFFFFFF;
      lanes[i] = uint8_t(access.lane + 1);
      if (mask == 15)
        c.readers = 0;
    }
    at += last - first;
  }
  return result;
}

void SharedShadow::forget(uint32_t offset, uint32_t bytes) {
  for (uint32_t i = offset >> 2; i < (offset + bytes + 3) >> 2; ++i) {
    cells[i] = Cell{0, 0, 0};
    valid[i] = 0;
  }
}

} // namespace sim
} // namespace tileloom
