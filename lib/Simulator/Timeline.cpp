//===- Timeline.cpp - When things happened --------------------------------===//
//
// See Timeline.h. The JSON is Chrome's trace event format: a process for each CTA, a thread for
// each warp and engine, one cycle shown as one microsecond.
//
//===----------------------------------------------------------------------===//
#include "Timeline.h"
#include "Access.h"

#include <cstdio>
#include <set>

namespace tileloom {
namespace sim {

static std::string waitName(const Cta &cta, const WaitInfo &i) {
  switch (i.kind) {
  case WaitInfo::Mbarrier:
  case WaitInfo::TryWait:
    return "mbarrier " + hex(i.address & 0xFFFFFF);
  case WaitInfo::Named:
    return "barrier " + std::to_string(i.detail);
  case WaitInfo::ClusterBarrier:
    return "barrier.cluster";
  case WaitInfo::WarpSync:
    return "lanes of the warp";
  case WaitInfo::BulkGroup:
    return "copies";
  case WaitInfo::Registers:
    return "setmaxnreg";
  case WaitInfo::TensorAlloc:
    return "tensor memory";
  case WaitInfo::Warpgroup:
    return "wgmma";
  default:
    return "other";
  }
}

void noteWait(Warp &w, uint64_t from, uint64_t to, const WaitInfo &info) {
  Timeline *t = w.cluster->grid->timeline;
  if (!t)
    return;
  std::string name = waitName(*w.cta, info);
  t->waits[{uint32_t(w.cta->linear), int(w.id)}][name] += to - from;
  if (t->events.size() < t->limit)
    t->events.push_back(
        {uint32_t(w.cta->linear), int(w.id), from, to, "wait " + name, w.current->line});
}

void noteWork(Cta &cta, const char *track, int warp, uint64_t from, uint64_t to, const char *what,
              uint32_t line) {
  Timeline *t = cta.cluster->grid->timeline;
  if (!t)
    return;
  int id = std::string(track) == "TMA" ? -1 : -2;
  t->work[{uint32_t(cta.linear), id}][what] += to - from;
  if (t->events.size() < t->limit)
    t->events.push_back({uint32_t(cta.linear), id, from, to,
                         std::string(what) + " (warp " + std::to_string(warp) + ")", line});
}

void Timeline::finish(const Cta &cta) {
  for (auto &w : cta.warps) {
    WarpTotal total{uint32_t(cta.linear), w->id, w->time, {}, {}};
    std::copy(std::begin(w->waited), std::end(w->waited), total.waited);
    warps.push_back(total);
  }
}

std::string Timeline::json() const {
  std::string s = "{\"traceEvents\": [";
  char buffer[160];
  bool first = true;
  std::set<std::pair<uint32_t, int>> tracks;
  auto add = [&](const std::string &e) {
    s += first ? "\n" : ",\n";
    s += e;
    first = false;
  };
  auto tid = [](int track) { return track >= 0 ? track : 1000 - track; };
  for (const Event &e : events) {
    tracks.insert({e.cta, e.track});
    std::snprintf(buffer, sizeof buffer,
                  "\"ph\": \"X\", \"pid\": %u, \"tid\": %d, \"ts\": %llu, \"dur\": %llu, "
                  "\"args\": {\"line\": %u}}",
                  e.cta, tid(e.track), static_cast<unsigned long long>(e.from),
                  static_cast<unsigned long long>(e.to - e.from), e.line);
    add("{\"name\": \"" + jsonEscape(e.name) + "\", " + buffer);
  }
  for (const WarpTotal &w : warps)
    tracks.insert({w.cta, int(w.warp)});
  for (auto &[cta, track] : tracks) {
    std::string name = track >= 0    ? "warp " + std::to_string(track)
                       : track == -1 ? "TMA"
                                     : "tensor core";
    std::snprintf(buffer, sizeof buffer,
                  "{\"name\": \"thread_name\", \"ph\": \"M\", \"pid\": %u, \"tid\": %d, ", cta,
                  tid(track));
    add(std::string(buffer) + "\"args\": {\"name\": \"" + name + "\"}}");
    std::snprintf(buffer, sizeof buffer,
                  "{\"name\": \"process_name\", \"ph\": \"M\", \"pid\": %u, ", cta);
    add(std::string(buffer) + "\"args\": {\"name\": \"CTA " + std::to_string(cta) + "\"}}");
  }
  return s + "\n]}\n";
}

std::string Timeline::summary() const {
  std::string s = "CTA  warp     cycles   busy  waited for\n";
  char buffer[128];
  for (const WarpTotal &w : warps) {
    auto it = waits.find({w.cta, int(w.warp)});
    uint64_t waited = 0;
    std::vector<std::pair<uint64_t, std::string>> sorted;
    if (it != waits.end())
      for (auto &[name, cycles] : it->second) {
        waited += cycles;
        sorted.emplace_back(cycles, name);
      }
    std::sort(sorted.rbegin(), sorted.rend());
    double end = w.end ? double(w.end) : 1;
    std::snprintf(buffer, sizeof buffer, "%4u %4u %10llu %5.1f%%  ", w.cta, w.warp,
                  static_cast<unsigned long long>(w.end), 100 * (1 - double(waited) / end));
    s += buffer;
    for (size_t i = 0; i < sorted.size() && i < 4; ++i) {
      std::snprintf(buffer, sizeof buffer, "%s%s %.1f%%", i ? ", " : "", sorted[i].second.c_str(),
                    100 * double(sorted[i].first) / end);
      s += buffer;
    }
    s += "\n";
  }
  for (auto &[key, kinds] : work)
    for (auto &[what, cycles] : kinds)
      s += std::to_string(key.first) + " " + (key.second == -1 ? "TMA" : "tensor core") + ": " +
           what + " " + std::to_string(cycles) + " cycles\n";
  return s;
}

} // namespace sim
} // namespace tileloom
