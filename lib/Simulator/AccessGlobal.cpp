//===- AccessGlobal.cpp - Global memory checks and the other windows ------===//
//
// Global memory keeps the last writer of each 4 bytes: unordered writes of two warps, and reads of
// what another warp wrote without ordering. Across clusters there is no common vector clock; a CTA
// learns of another when it reads, by an atomic or volatile access, a word that the other released
// (GlobalOrder below). That may miss a race; it does not invent one.
//
//===----------------------------------------------------------------------===//
#include "Access.h"
#include "GlobalOrder.h"

#include <cstring>

namespace tileloom {
namespace sim {

void noteGlobal(Warp &w, uint64_t address, uint32_t bytes, Mode mode, const Actor &actor,
                int lane) {
  Cluster &c = *w.cluster;
  if (writes(mode))
    ++c.progress;
  if (!c.checking(CheckRaces) || mode == Mode::Update || mode == Mode::StrongRead)
    return;
  Region *r = c.lastRegion;
  if (!r || address - r->base >= r->size)
    return;
  GlobalOrder &order = GlobalOrder::of(*c.grid);
  if (mode == Mode::Read && !r->writers)
    return;
  if (!r->writers)
    r->writers = std::make_unique<std::vector<uint32_t>>((r->size + 3) / 4, 0);
  uint64_t first = (address - r->base) >> 2, last = (address - r->base + bytes + 3) >> 2;
  uint32_t mine = 0, okay = 0;
  bool whole = (address & 3) == 0 && (bytes & 3) == 0;
  if (mode == Mode::Write) {
    GlobalRecord g;
    g.cta = uint32_t(w.cta->linear);
    g.cluster = uint32_t(c.linear);
    g.epoch = order.epoch(g.cta);
    g.actor = actor.id;
    g.actorEpoch = actor.epoch;
    g.line = w.current->line;
    g.warp = uint16_t(w.id);
    g.async = actor.async;
    g.partial = !whole;
    mine = order.add(g);
  }
  for (uint64_t i = first; i < last; ++i) {
    uint32_t &cell = (*r->writers)[i];
    if (cell && cell != okay && cell != mine) {
      const GlobalRecord &g = order[cell];
      bool ordered;
      if (g.cluster == c.linear) {
        ordered = g.actor == actor.id ||
                  (g.actor < w.clocks.seen.size() && w.clocks.seen[g.actor] >= g.actorEpoch);
      } else {
        ordered = order.knows(uint32_t(w.cta->linear), g.cta, g.epoch);
      }
      bool proxied =
          g.async || !actor.async || g.cluster != c.linear ||
          (g.actor < w.clocks.proxiedGlobal.size() &&
           w.clocks.proxiedGlobal[g.actor] >= g.actorEpoch);
      // Words written in part may have been shared fairly by two writers.
      bool fair = (g.partial || !whole) && mode == Mode::Write;
      if ((!ordered || !proxied) && !fair) {
        std::string where = c.grid->memory->describe(r->base + i * 4);
        std::string by = "warp " + std::to_string(g.warp) + " of CTA " + std::to_string(g.cta) +
                         " at line " + std::to_string(g.line);
        std::string verb = mode == Mode::Read ? "reads " : "writes ";
        if (!ordered)
          report(w, "race", verb + where + " without being ordered after its write by " + by, lane);
        else
          report(w, "missing-proxy-fence",
                 verb + where + " through the asynchronous proxy; it was written by " + by +
                     " with no fence.proxy.async in between",
                 lane);
        if (mode == Mode::Read)
          return;
      } else {
        okay = cell;
      }
    }
    if (mode == Mode::Write)
      cell = mine;
  }
}

Space spaceOf(Space space, uint64_t address) {
  if (space != Space::Generic)
    return space;
  switch (address >> 48) {
  case SharedWindow >> 48:
    return Space::Shared;
  case LocalWindow >> 48:
    return Space::Local;
  case ParamWindow >> 48:
    return Space::Param;
  default:
    return Space::Global;
  }
}

uint8_t *place(Warp &w, Space space, uint64_t address, uint32_t bytes, uint32_t align, Mode mode,
               int lane, bool anyCta, const uint8_t *value) {
  anyCta |= space == Space::Generic;
  space = spaceOf(space, address);
  switch (space) {
  case Space::Shared: {
    SharedPlace p = sharedPlace(w, uint32_t(address), bytes, align, anyCta, lane);
    if (!p)
      return nullptr;
    if (writes(mode)) {
      ++w.cluster->progress;
      if (!p.cta->barriers.empty())
        for (uint32_t at = p.offset & ~7u; at < p.offset + bytes; at += 8)
          if (BarrierInfo *b = p.cta->barrier(at); b && b->live) {
            report(w, "mbarrier-overwritten",
                   "ordinary write to the live mbarrier at " + hex(at) + " (initialised at line " +
                       std::to_string(b->initLine) + ")",
                   lane);
            return nullptr;
          }
    }
    if (p.cta->shadow)
      noteShared(w, p, bytes, mode, genericActor(w), lane,
                 value && !std::memcmp(p.data(), value, bytes));
    return p.data();
  }
  case Space::Local: {
    uint64_t offset = address & 0xFFFFFFFF;
    if (offset + bytes > w.program->localBytes || (align > 1 && offset % align)) {
      report(w, offset + bytes > w.program->localBytes ? "out-of-bounds" : "misaligned",
             std::to_string(bytes) + " bytes at local address " + hex(offset) +
                 "; the thread has " + hex(w.program->localBytes) + " bytes of local memory",
             lane);
      return nullptr;
    }
    return w.local + size_t(lane) * w.program->localBytes + offset;
  }
  case Space::Param: {
    uint64_t offset = address & 0xFFFFFFFF;
    Grid &g = *w.cluster->grid;
    if (offset + bytes > g.parameters.size() || writes(mode)) {
      report(w, "out-of-bounds",
             std::to_string(bytes) + " bytes at parameter offset " + hex(offset) +
                 "; the kernel has " + hex(g.parameters.size()) +
                 " bytes of parameters (read only)",
             lane);
      return nullptr;
    }
    return g.parameters.data() + offset;
  }
  default: {
    uint8_t *p = globalPlace(w, address, bytes, align, mode, lane);
    if (p)
      noteGlobal(w, address, bytes, mode, genericActor(w), lane);
    return p;
  }
  }
}

} // namespace sim
} // namespace tileloom
