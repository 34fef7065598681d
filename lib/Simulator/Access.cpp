//===- Access.cpp - Checked accesses to simulated memory ------------------===//
//
// See Access.h.
//
//===----------------------------------------------------------------------===//
#include "Access.h"
#include "tileloom/Simulator/Swizzle.h"

#include <cstdio>

namespace tileloom {
namespace sim {

std::string hex(uint64_t v) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "0x%llx", static_cast<unsigned long long>(v));
  return buffer;
}

std::string describeShared(const Cta &cta, uint32_t offset) {
  std::string s = "shared address " + hex(offset);
  if (cta.cluster->grid->clusterSize > 1)
    s += " of CTA rank " + std::to_string(cta.rank);
  if (const BarrierInfo *b = const_cast<Cta &>(cta).barrier(offset); b && b->live)
    s += " (an mbarrier)";
  return s;
}

std::string locationOf(const Program &p, size_t at) {
  auto [number, line] = p.sources[at];
  if (!line)
    return "";
  auto file = p.ast->files.find(number);
  return (file == p.ast->files.end() ? "file " + std::to_string(number) : file->second) + ":" +
         std::to_string(line);
}

void moveTo(Finding &f, const Program &p, uint32_t line) {
  f.line = line;
  f.source.clear();
  f.location.clear();
  for (size_t i = 0; i < p.code.size() && f.location.empty(); ++i)
    if (p.code[i].line == line)
      f.location = locationOf(p, i);
}

Finding findingAt(const Warp &w, const char *kind, std::string message, int lane) {
  Finding f;
  f.kind = kind;
  f.message = std::move(message);
  f.kernel = w.program->name;
  for (int i = 0; i < 3; ++i)
    f.cta[i] = w.cta->id[i];
  f.warp = int(w.id);
  f.lane = lane;
  if (w.current) {
    f.line = w.current->line;
    size_t at = size_t(w.current - w.program->code.data());
    f.source = std::string(w.program->text[at]);
    f.location = locationOf(*w.program, at);
  }
  return f;
}

void report(Warp &w, const char *kind, const std::string &message, int lane) {
  w.cluster->report(findingAt(w, kind, message, lane));
}

Actor genericActor(const Warp &w) {
  Actor a;
  a.id = w.actor;
  a.epoch = w.clocks.seen.empty() ? 0 : w.clocks.seen[w.actor];
  return a;
}

static void raise(Clock &clock, uint32_t actor, uint32_t epoch) {
  if (clock.size() <= actor)
    clock.resize(actor + 1, 0);
  clock[actor] = std::max(clock[actor], epoch);
}

void learn(Clocks &c, uint32_t actor, uint32_t epoch, bool proxied, bool tensor) {
  raise(c.seen, actor, epoch);
  if (proxied) {
    raise(c.proxied, actor, epoch);
    raise(c.proxiedGlobal, actor, epoch);
  }
  if (tensor)
    raise(c.tensor, actor, epoch);
}

/// Only some lanes are about to learn something; true if all are, or have since the last
/// synchronisation of the warp.
static bool byAllLanes(Warp &w, uint32_t lanes) {
  lanes |= ~w.live;
  if (w.aheadSyncs == w.syncs)
    return (lanes == ~0u ? lanes : w.ahead |= lanes) == ~0u;
  if (lanes == ~0u)
    return true;
  w.aheadSyncs = w.syncs;
  w.ahead = lanes;
  w.seenBefore = w.clocks.seen;
  return false;
}

void learn(Warp &w, uint32_t actor, uint32_t epoch, uint32_t lanes, bool proxied) {
  if (w.clocks.empty())
    return;
  if (byAllLanes(w, lanes) && w.aheadSyncs == w.syncs)
    raise(w.seenBefore, actor, epoch);
  learn(w.clocks, actor, epoch, proxied);
}

void nextEpoch(Warp &w, uint32_t lanes) {
  w.cluster->records.released(w.actor, w.clocks.seen[w.actor]++, lanes, w.syncs);
}

void releaseInto(Warp &w, Clocks &to, uint32_t lanes) {
  if (w.clocks.empty())
    return;
  to.join(w.clocks);
  nextEpoch(w, lanes | ~w.live); // lanes that have exited make no difference
}

void acquireFrom(Warp &w, const Clocks &from) {
  if (w.clocks.empty() || from.empty())
    return;
  uint32_t own = w.clocks.seen[w.actor];
  if (byAllLanes(w, w.active) && w.aheadSyncs == w.syncs)
    joinInto(w.seenBefore, from.seen);
  if (w.actor < from.seen.size())
    w.ownSeen = std::max(w.ownSeen, from.seen[w.actor]);
  uint32_t copies = bulkActor(w);
  if (copies < from.seen.size() && from.seen[copies] > w.clocks.seen[copies])
    w.copyWaitSyncs = 0; // waited for through an mbarrier
  w.clocks.join(from);
  w.clocks.seen[w.actor] = own;
}

SharedPlace sharedPlace(Warp &w, uint32_t address, uint32_t bytes, uint32_t align, bool anyCta,
                        int lane, const char *what) {
  uint32_t rank = address >> 24, offset = address & 0xFFFFFF;
  std::string name = what ? std::string(what) + ": " : "";
  Cta *cta = w.cta;
  if (rank != cta->rank) {
    if (!anyCta) {
      report(w, "out-of-bounds",
             name + "shared::cta access at " + hex(address) + ", which lies in CTA rank " +
                 std::to_string(rank) + " of the cluster; the own rank is " +
                 std::to_string(cta->rank),
             lane);
      return {};
    }
    cta = w.cluster->cta(rank);
    if (!cta) {
      report(w, "out-of-bounds",
             name + "shared::cluster address " + hex(address) + " names CTA rank " +
                 std::to_string(rank) + "; the cluster has " +
                 std::to_string(w.cluster->ctas.size()) + " CTAs",
             lane);
      return {};
    }
    if (cta->done) {
      report(w, "remote-exited",
             name + "access to shared memory of CTA rank " + std::to_string(rank) +
                 ", which has exited; the cluster must synchronise before a CTA exits",
             lane);
      return {};
    }
  }
  if (offset < SharedBase || uint64_t(offset) + bytes > cta->shared.size()) {
    report(w, "out-of-bounds",
           name + std::to_string(bytes) + " bytes at shared address " + hex(offset) +
               "; shared memory is " + hex(SharedBase) + " to " + hex(cta->shared.size()),
           lane);
    return {};
  }
  if (align > 1 && offset % align) {
    report(w, "misaligned",
           name + "shared address " + hex(offset) + " must be a multiple of " +
               std::to_string(align),
           lane);
    return {};
  }
  return {cta, offset};
}

static const char *opcodeName(const Warp &w, const Actor &actor) {
  if (actor.what)
    return actor.what;
  return w.current ? w.program->text[size_t(w.current - w.program->code.data())].data() : "?";
}

static AccessRecord recordOf(Warp &w, const Actor &actor) {
  AccessRecord r;
  r.actor = actor.id;
  r.epoch = actor.epoch;
  r.line = w.current ? w.current->line : 0;
  r.cta = uint16_t(w.cta->rank);
  r.warp = uint16_t(w.id);
  r.globalCta = uint32_t(w.cta->linear);
  r.async = actor.async;
  r.layout = actor.layout;
  r.update = actor.update;
  r.warpEpoch = w.syncs;
  r.what = opcodeName(w, actor);
  return r;
}

static std::string describeAccess(const Cluster &c, const AccessRecord &r) {
  std::string what(r.what);
  size_t end = what.find_first_of(" \t\n;");
  if (!r.async && end != std::string::npos)
    what.resize(end);
  std::string s = what + " of warp " + std::to_string(r.warp);
  if (c.grid->clusterSize > 1)
    s += " of CTA rank " + std::to_string(r.cta);
  return s + " at line " + std::to_string(r.line) + (r.async ? " (asynchronous proxy)" : "");
}

/// What makes one lane's access another one's business.
static constexpr const char *unsynchronised = "; nothing has synchronised the warp since (bar.warp.sync, or a barrier)";
static constexpr const char *releasedByOthers = "; only other lanes of that warp have released since (bar.warp.sync is missing before)";

static void reportConflict(Warp &w, const AccessCheck &check, const SharedPlace &p,
                           const Actor &actor, int lane) {
  Cluster &c = *w.cluster;
  std::string at = describeShared(*p.cta, check.offset);
  std::string me = actor.async ? opcodeName(w, actor) : "this access";
  if (check.conflict == Conflict::Uninitialised) {
    report(w, "uninitialised", me + " reads " + at + ", which was never written", lane);
    return;
  }
  std::string other = describeAccess(c, c.records[check.other]);
  const char *kind = "race";
  std::string text;
  switch (check.conflict) {
  case Conflict::WriteRead:
    text = me + " reads " + at + " without being ordered after its write by " + other;
    break;
  case Conflict::WriteWrite:
    text = me + " writes " + at + " without being ordered after its write by " + other;
    break;
  case Conflict::ReadWrite:
    text = me + " overwrites " + at + ", which may still be read by " + other;
    break;
  case Conflict::Fellow:
    text = me + " reads " + at + ", which another lane of the warp wrote by " + other + unsynchronised;
    break;
  case Conflict::FellowRead:
    text = me + " overwrites " + at + ", which another lane of the warp may still read by " + other + unsynchronised;
    break;
  case Conflict::LaneWrite:
    text = me + " reads " + at + ", written by " + other + releasedByOthers;
    break;
  case Conflict::LaneRead:
    text = me + " overwrites " + at + ", which may still be read by " + other + releasedByOthers;
    break;
  case Conflict::UnfencedRead:
    kind = "missing-proxy-fence";
    text = me + " overwrites " + at + " through the asynchronous proxy; " + other +
           " may still be under way: what released it does not wait for loads (needed: fence.proxy.async "
           "between the read and the release)";
    break;
  case Conflict::Layout:
    kind = "swizzle-mismatch";
    text = me + " reads " + at + " with swizzle " + swizzleName(Swizzle(actor.layout - 1)) + "; " +
           other + " wrote it with swizzle " +
           swizzleName(Swizzle(c.records[check.other].layout - 1));
    break;
  default:
    kind = "missing-proxy-fence";
    text = me + " touches " + at + " through the asynchronous proxy; it was accessed by " + other +
           " with no fence.proxy.async in between";
  }
  report(w, kind, text, lane);
}

void noteShared(Warp &w, const SharedPlace &p, uint32_t bytes, Mode mode, const Actor &actor,
                int lane, bool sameValue) {
  Cta &cta = *p.cta;
  if (!cta.shadow)
    return;
  Cluster &c = *w.cluster;
  // Atomic operations of threads are ordered by what they read (GlobalOrder); reductions that complete on
  // an mbarrier, by that.
  bool update = mode == Mode::Update && actor.id != w.actor;
  bool races = c.checking(CheckRaces) && (mode == Mode::Read || mode == Mode::Write || update);
  Access a;
  a.update = update;
  a.actor = actor.id;
  a.async = actor.async;
  a.layout = actor.layout;
  a.strict = c.checking(CheckStrict);
  a.clocks = &w.clocks;
  a.seen = lane >= 0 && w.behind(unsigned(lane)) ? &w.seenBefore : &w.clocks.seen;
  a.lane = lane;
  a.collective = w.collective;
  a.warp = w.actor;
  a.syncs = w.syncs;
  a.ownSeen = w.ownSeen;
  a.copyActor = bulkActor(w);
  a.copyWaitSyncs = w.copyWaitSyncs;
  a.copyWaitEpoch = w.copyWaitEpoch;
  if (races) {
    if (w.recordSyncs != w.syncs) { // records are shared by equal accesses of one epoch
      w.recordSyncs = w.syncs;
      w.recordInstr = nullptr;
    }
    if (w.recordInstr != w.current || w.recordEpoch != actor.epoch || w.recordActor != actor.id) {
      w.recordId = c.records.add(recordOf(w, actor));
      w.recordInstr = w.current;
      w.recordEpoch = actor.epoch;
      w.recordActor = actor.id;
    }
    a.record = w.recordId;
    if (mode == Mode::Read && !actor.async)
      w.readRecord = w.recordId;
  }
  AccessCheck check;
  if (mode != Mode::Write)
    check = cta.shadow->read(p.offset, bytes, a, races && !update, c.checking(CheckUninitialised));
  if (check.conflict == Conflict::None && writes(mode))
    check = cta.shadow->write(p.offset, bytes, a, races);
  if (sameValue && check.conflict == Conflict::WriteWrite)
    return;
  if (check.conflict != Conflict::None)
    reportConflict(w, check, p, actor, lane);
}

uint8_t *globalPlace(Warp &w, uint64_t address, uint32_t bytes, uint32_t align, Mode mode, int lane,
                     const char *what) {
  Region *r = w.cluster->lastRegion;
  if (!r || address - r->base >= r->size)
    r = w.cluster->lastRegion = w.cluster->grid->memory->find(address);
  std::string name = what ? std::string(what) + ": " : "";
  if (!r || address - r->base + bytes > r->size) {
    report(w, "out-of-bounds",
           name + std::to_string(bytes) + " bytes at global address " + hex(address) + ": " +
               w.cluster->grid->memory->describe(address),
           lane);
    return nullptr;
  }
  if (align > 1 && address % align) {
    report(w, "misaligned",
           name + "global address " + hex(address) + " (" +
               w.cluster->grid->memory->describe(address) + ") must be a multiple of " +
               std::to_string(align),
           lane);
    return nullptr;
  }
  if (writes(mode) && !r->writable) {
    report(w, "read-only",
           name + "write to read-only " + w.cluster->grid->memory->describe(address), lane);
    return nullptr;
  }
  return r->host + (address - r->base);
}

} // namespace sim
} // namespace tileloom
