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

AccessTable::Release &AccessTable::releaseOf(uint32_t actor, uint32_t epoch) {
  if (releases.size() <= actor)
    releases.resize(actor + 1);
  if (releases[actor].size() <= epoch)
    releases[actor].resize(epoch + 1);
  return releases[actor][epoch];
}

void AccessTable::released(uint32_t actor, uint32_t epoch, uint32_t lanes, uint32_t syncs) {
  Release &r = releaseOf(actor, epoch);
  r.lanes = lanes;
  r.syncs = syncs;
}

void AccessTable::fenced(uint32_t actor, uint32_t epoch, uint32_t lanes, uint32_t syncs) {
  Release &r = releaseOf(actor, epoch);
  r.fenced |= lanes;
  r.fenceSyncs = std::max(r.fenceSyncs, syncs);
}

void AccessTable::fencedByOther(uint32_t self, const Clock &seen) {
  for (uint32_t i = 0, n = uint32_t(std::min(seen.size(), releases.size())); i < n; ++i)
    if (i != self && seen[i] && !releases[i].empty())
      fenced(i, seen[i], ~0u, 0);
}

void AccessTable::loadEnds(uint32_t record, uint32_t epoch) {
  AccessRecord &r = records[record];
  --r.loadsUnderWay;
  r.loadedAt = std::max(r.loadedAt, epoch);
}

void AccessTable::tensorFenced(uint32_t actor, uint32_t lanes, uint32_t syncs, const Clock &seen) {
  for (uint32_t i = 0; i < seen.size(); ++i) {
    if (i != actor && (!seen[i] || i >= releases.size() || releases[i].empty()))
      continue;
    Release &r = releaseOf(i, seen[i]);
    r.tensor |= i == actor ? lanes : ~0u;
    r.tensorSyncs = std::max(r.tensorSyncs, i == actor ? syncs : 0);
  }
}

void AccessTable::relaxed(uint32_t actor, uint32_t epoch, uint32_t lane, uint32_t syncs) {
  Release &r = releaseOf(actor, epoch);
  r.lanes |= 1u << lane;
  r.syncs = std::max(r.syncs, syncs);
}

/// More releases than this between an access and the next one: lenient.
constexpr uint32_t MostReleases = 256;

uint32_t AccessTable::lanesOf(uint32_t Release::*of, uint32_t Release::*at, uint32_t actor,
                              uint32_t epoch, uint32_t syncs, uint32_t upTo) const {
  if (actor >= releases.size()) // an asynchronous stream
    return ~0u;
  const std::vector<Release> &r = releases[actor];
  uint32_t lanes = 0;
  for (uint32_t i = epoch; i <= upTo && lanes != ~0u; ++i) {
    if (i >= r.size() || r[i].*at > syncs || i - epoch > MostReleases)
      return ~0u;
    lanes |= r[i].*of;
  }
  return lanes;
}

uint32_t AccessTable::releasedLanes(uint32_t actor, uint32_t epoch, uint32_t syncs,
                                    uint32_t upTo) const {
  return upTo < epoch ? 0 : lanesOf(&Release::lanes, &Release::syncs, actor, epoch, syncs, upTo);
}

uint32_t AccessTable::fencedLanes(uint32_t actor, uint32_t epoch, uint32_t syncs,
                                  uint32_t upTo) const {
  return lanesOf(&Release::fenced, &Release::fenceSyncs, actor, epoch, syncs, upTo);
}

bool AccessTable::tensorReleased(const AccessRecord &r, uint32_t upTo) const {
  return upTo >= r.epoch && lanesOf(&Release::tensor, &Release::tensorSyncs, r.actor, r.epoch, r.warpEpoch, upTo) == ~0u;
}

SharedShadow::SharedShadow(uint32_t bytes, AccessTable &table)
    : cells((bytes + 3) / 4), valid((bytes + 3) / 4, 0), writeLanes((bytes + 3) / 4, 0),
      readLanes((bytes + 3) / 4, 0), table(table) {
  for (Cell &c : cells)
    c = Cell{0, 0, 0};
}

uint32_t SharedShadow::ordered(uint32_t record, const Access &access) const {
  const AccessRecord &r = table[record];
  if (!r.async && (r.actor == access.warp || r.actor == access.copyActor)) {
    bool copy = r.actor != access.warp; // cp.async: as if written when it was waited for
    if (copy && access.actor == access.copyActor && !access.async)
      return ~0u;
    if (copy && (*access.seen)[r.actor] < r.epoch)
      return 0;
    uint32_t syncs = copy ? access.copyWaitSyncs : r.warpEpoch;
    if (access.lane < 0 || syncs != access.syncs)
      return ~0u;
    return 1u << access.lane | table.releasedLanes(access.warp, copy ? access.copyWaitEpoch : r.epoch,
                                                   syncs, access.ownSeen);
  }
  if (r.actor == access.actor && r.async == access.async)
    return ~0u;
  const Clock &seen = *access.seen;
  if (r.actor >= seen.size() || seen[r.actor] < r.epoch)
    return 0;
  if (r.byWarp) {
    bool fenced = &seen == access.ordinary || table.tensorReleased(r, seen[r.actor]);
    uint32_t upTo = r.actor < access.ordinary->size() ? (*access.ordinary)[r.actor] : 0;
    return fenced && table.releasedLanes(r.actor, r.epoch, r.warpEpoch, upTo) == ~0u ? ~0u : 0;
  }
  return r.async ? ~0u : table.releasedLanes(r.actor, r.epoch, r.warpEpoch, seen[r.actor]);
}

bool SharedShadow::proxied(uint32_t record, uint32_t lanes, const Access &access) const {
  const AccessRecord &r = table[record];
  if (r.async || !access.async)
    return true;
  const Clock &proxied = access.clocks->proxied;
  return r.actor < proxied.size() && proxied[r.actor] >= r.epoch &&
         !(lanes & ~table.fencedLanes(r.actor, r.epoch, r.warpEpoch, proxied[r.actor]));
}

/// A copy of the asynchronous proxy over an ordinary read: a proxy fence orders them (PTX ISA 8.9.5). Without
/// one, an arrival does not wait for a load; that the reader has waited for it is enough, unless strict.
bool SharedShadow::readEnded(uint32_t record, uint32_t lanes, const Access &access) const {
  const AccessRecord &r = table[record];
  if (r.async || !access.async || proxied(record, lanes, access))
    return true;
  return !access.strict && r.actor < access.seen->size() && table.loaded(record, (*access.seen)[r.actor]);
}

/// Which lanes have read the cell since the warp of its last reader released or synchronised.
void SharedShadow::noteReader(uint32_t cell, uint32_t oldSet, const Access &access) {
  uint32_t mine = access.lane < 0 || access.async ? 0 : access.collective ? ~0u : 1u << access.lane;
  const std::vector<uint32_t> &before = table.readers(oldSet);
  if (mine && readLanes[cell] && !before.empty()) {
    const AccessRecord &r = table[before.back()];
    if (r.actor == access.actor && !r.async && r.warpEpoch == access.syncs &&
        r.epoch == table[access.record].epoch)
      mine |= readLanes[cell];
  }
  readLanes[cell] = mine;
}

AccessCheck SharedShadow::read(uint32_t offset, uint32_t bytes, const Access &access, bool races,
                               bool uninit) {
  AccessCheck result;
  uint32_t okWriter = 0, okLanes = ~0u, lastSet = ~0u, nextSet = 0;
  auto found = [&](Conflict conflict, uint32_t at, uint32_t other) {
    if (result.conflict == Conflict::None)
      result = {conflict, at, other};
  };
  for (uint32_t at = offset, end = offset + bytes; at < end;) {
    uint32_t i = at >> 2, first = at & 3, last = std::min(4u, first + (end - at));
    uint8_t mask = uint8_t(((1u << last) - 1) & ~((1u << first) - 1));
    Cell &c = cells[i];
    if (uninit && (valid[i] & mask) != mask && result.conflict == Conflict::None) {
      found(Conflict::Uninitialised, at, 0);
      valid[i] |= mask; // once is enough
    }
    if (races) {
      if ((c.writer != okWriter || writeLanes[i] & ~okLanes) && (c.mask & mask)) {
        const AccessRecord &r = table[c.writer];
        uint32_t lanes = ordered(c.writer, access);
        if (!lanes)
          found(Conflict::WriteRead, at, c.writer);
        else if (writeLanes[i] & ~lanes)
          found(access.fellow(r) ? Conflict::Fellow : Conflict::LaneWrite, at, c.writer);
        else if (!proxied(c.writer, writeLanes[i], access))
          found(Conflict::NoProxyFence, at, c.writer);
        else if (access.layout && r.layout && access.layout != r.layout)
          found(Conflict::Layout, at, c.writer);
        else
          okWriter = c.writer, okLanes = access.async ? writeLanes[i] : lanes;
      }
      if (c.readers != lastSet) {
        lastSet = c.readers;
        nextSet = table.addReader(lastSet, access.record);
      }
      noteReader(i, lastSet, access);
      c.readers = nextSet;
    }
    at += last - first;
  }
  return result;
}

AccessCheck SharedShadow::write(uint32_t offset, uint32_t bytes, const Access &access, bool races) {
  AccessCheck result;
  uint32_t okWriter = 0, okLanes = ~0u, okSet = 0, okReadLanes = ~0u;
  auto found = [&](Conflict conflict, uint32_t at, uint32_t other) {
    if (result.conflict == Conflict::None)
      result = {conflict, at, other};
    return false;
  };
  for (uint32_t at = offset, end = offset + bytes; at < end;) {
    uint32_t i = at >> 2, first = at & 3, last = std::min(4u, first + (end - at));
    uint8_t mask = uint8_t(((1u << last) - 1) & ~((1u << first) - 1));
    Cell &c = cells[i];
    valid[i] |= mask;
    if (races) {
      if ((c.writer != okWriter || writeLanes[i] & ~okLanes) && (c.mask & mask)) {
        uint32_t lanes = access.update && table[c.writer].update ? ~0u : ordered(c.writer, access);
        if (!lanes || writeLanes[i] & ~lanes)
          found(Conflict::WriteWrite, at, c.writer);
        else if (!proxied(c.writer, writeLanes[i], access))
          found(Conflict::NoProxyFence, at, c.writer);
        else
          okWriter = c.writer, okLanes = access.async ? writeLanes[i] : lanes;
      }
      // Readers of a partly written word may have read its other bytes: only whole words are sure.
      if ((c.readers != okSet || readLanes[i] & ~okReadLanes) && mask == 15) {
        bool fine = true;
        const std::vector<uint32_t> &readers = table.readers(c.readers);
        for (uint32_t r : readers) {
          uint32_t lanes = ordered(r, access);
          if (!lanes)
            fine = found(Conflict::ReadWrite, at, r);
          else if (r == readers.back() && readLanes[i] & ~lanes)
            fine = found(access.fellow(table[r]) ? Conflict::FellowRead : Conflict::LaneRead, at, r);
          else if (!readEnded(r, r == readers.back() ? readLanes[i] : 0, access))
            fine = found(Conflict::UnfencedRead, at, r);
          okReadLanes = access.async ? readLanes[i] : lanes;
        }
        if (fine)
          okSet = c.readers;
      }
      bool sameWriter = c.writer == access.record;
      c.mask = sameWriter ? (c.mask | mask) & 15 : mask & 15;
      c.writer = access.record & 0xFFFFFFF;
      writeLanes[i] = access.lane < 0 || access.async ? 0 : 1u << access.lane;
      if (mask == 15)
        c.readers = 0, readLanes[i] = 0;
    }
    at += last - first;
  }
  return result;
}

void SharedShadow::forget(uint32_t offset, uint32_t bytes) {
  for (uint32_t i = offset >> 2; i < (offset + bytes + 3) >> 2; ++i) {
    cells[i] = Cell{0, 0, 0};
    valid[i] = 0;
    writeLanes[i] = readLanes[i] = 0;
  }
}

} // namespace sim
} // namespace tileloom
