//===- Deadlock.cpp - Who waits for what ----------------------------------===//
//
// The report of a run that cannot go on: one note for each waiting group of threads, with the
// barrier, the phase that it waits for, and the counts that are missing.
//
//===----------------------------------------------------------------------===//
#include "Access.h"
#include "tileloom/Simulator/Mbarrier.h"

#include <cstring>

namespace tileloom {
namespace sim {

static std::string describeWait(const Warp &w, const Group &g) {
  const WaitInfo &i = g.wait;
  Cta &cta = *w.cta;
  switch (i.kind) {
  case WaitInfo::Mbarrier:
  case WaitInfo::TryWait: {
    uint32_t offset = i.address & 0xFFFFFF;
    uint64_t word = 0;
    if (offset + 8 <= cta.shared.size())
      std::memcpy(&word, cta.shared.data() + offset, 8);
    std::string s = "waits for parity " + std::to_string(i.detail) + " of mbarrier " + hex(offset);
    if (BarrierInfo *b = cta.barrier(offset))
      s += " (initialised at line " + std::to_string(b->initLine) + ")";
    return s + ": " + describeMbarrier(word);
  }
  case WaitInfo::Named: {
    const NamedBarrier &b = cta.named[i.detail & 15];
    return "waits at barrier " + std::to_string(i.detail) + ": " + std::to_string(b.arrived) +
           " of " + std::to_string(b.expected) + " threads have arrived";
  }
  case WaitInfo::ClusterBarrier:
    return "waits for barrier.cluster: " + std::to_string(w.cluster->clusterArrived) +
           " warps have arrived, " + std::to_string(w.cluster->liveWarps) + " are alive";
  case WaitInfo::WarpSync:
    return "waits for the other lanes of mask " + hex(i.detail);
  case WaitInfo::Warpgroup:
    return "waits for the other warps of its warpgroup to issue the same wgmma";
  case WaitInfo::BulkGroup:
    return "waits for its copies";
  case WaitInfo::Registers:
    return "waits in setmaxnreg for " + std::to_string(i.detail) + " registers a thread; it has " +
           std::to_string(w.maxRegisters) + " and the pool has " +
           std::to_string(cta.registerPool) + " registers left, " +
           std::to_string((i.detail - w.maxRegisters) * 32) + " are needed";
  case WaitInfo::TensorAlloc:
    return "waits for " + std::to_string(i.detail) + " free columns of tensor memory";
  case WaitInfo::Spin:
  case WaitInfo::None:
    break;
  }
  return "runs without progress";
}

/// A kernel that has gone astray breaks the same rule for ever: stop when there is nothing to
/// learn.
constexpr uint64_t MaxOccurrences = 500000;

void Cluster::report(Finding f) {
  grid->findings->add(std::move(f));
  if (failed || grid->findings->total() < MaxOccurrences)
    return;
  failed = true;
  Finding stop;
  stop.kind = "stopped";
  stop.kernel = grid->program->name;
  stop.message = "the run was stopped after " + std::to_string(MaxOccurrences) + " findings";
  grid->findings->add(stop);
}

/// A wait that only bytes are missing for, or that has bytes too many, is the transaction count's
/// fault: a finding of its own, beside the deadlock.
static void reportByteCounts(Cluster &c) {
  for (auto &cta : c.ctas)
    for (auto &w : cta->warps)
      for (const Group &g : w->groups) {
        uint32_t offset = g.wait.address & 0xFFFFFF;
        BarrierInfo *b = cta->barrier(offset);
        if ((g.wait.kind != WaitInfo::TryWait && g.wait.kind != WaitInfo::Mbarrier) || !b ||
            !b->live)
          continue;
        uint64_t word;
        MbarrierState s;
        std::memcpy(&word, cta->shared.data() + offset, 8);
        if (!unpackMbarrier(word, s) || s.tx == 0 || (s.tx > 0 && s.pending))
          continue;
        w->current = &c.grid->program->code[g.pc];
        report(*w, "transaction-count",
               "mbarrier " + hex(offset) + " never completes: " +
                   (s.tx > 0 ? std::to_string(s.tx) + " bytes are expected that no copy brings"
                             : std::to_string(-s.tx) + " bytes were copied that nobody expects") +
                   "; " + describeMbarrier(word));
      }
}

void reportDeadlock(Cluster &c, const char *why) {
  if (c.checking(CheckBarriers))
    reportByteCounts(c);
  Finding f;
  f.kind = "deadlock";
  f.kernel = c.grid->program->name;
  f.message = std::string("the kernel cannot go on: ") + why;
  bool first = true;
  const Program &p = *c.grid->program;
  // Warps of a CTA that wait for the same thing share a note.
  std::vector<std::pair<std::string, std::vector<uint32_t>>> notes;
  auto add = [&](const Cta &cta, const Warp &w, uint32_t lanes, const std::string &text) {
    std::string key = cta.name() + "|" + (lanes == w.live ? "" : " lanes " + hex(lanes)) + text;
    for (auto &[k, warps] : notes)
      if (k == key) {
        warps.push_back(w.id);
        return;
      }
    notes.push_back({key, {w.id}});
  };
  for (auto &cta : c.ctas) {
    for (auto &w : cta->warps) {
      for (const Group &g : w->groups) {
        const Instr &in = p.code[g.pc];
        add(*cta, *w, g.mask, ", line " + std::to_string(in.line) + ": " + describeWait(*w, g));
        if (first) {
          for (int i = 0; i < 3; ++i)
            f.cta[i] = cta->id[i];
          f.warp = int(w->id);
          f.line = in.line;
          f.source = std::string(p.text[g.pc]);
          f.location = locationOf(p, g.pc);
          first = false;
        }
      }
      for (const Join &j : w->joins)
        if (j.inUse && j.arrived)
          add(*cta, *w, j.arrived,
              ", line " + std::to_string(p.code[j.pc].line) +
                  ": wait for the other lanes of the warp to come here");
    }
  }
  for (auto &[key, warps] : notes) {
    if (f.notes.size() == 64)
      break;
    size_t bar = key.find('|');
    std::string list;
    for (size_t i = 0; i < warps.size();) {
      size_t k = i;
      while (k + 1 < warps.size() && warps[k + 1] == warps[k] + 1)
        ++k;
      list += (list.empty() ? "" : ",") + std::to_string(warps[i]) +
              (k > i ? "-" + std::to_string(warps[k]) : "");
      i = k + 1;
    }
    f.notes.push_back(key.substr(0, bar) + (warps.size() > 1 ? " warps " : " warp ") + list +
                      key.substr(bar + 1));
  }
  c.report(f);
  c.failed = true;
}

} // namespace sim
} // namespace tileloom
