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
  t->issued[{uint32_t(cta.linear), warp}].insert(what);
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

/// Cycles, the share of work, and the waits that took longest.
static std::string shares(uint64_t end, const std::map<std::string, uint64_t> &waits) {
  char buffer[128];
  uint64_t waited = 0;
  std::vector<std::pair<uint64_t, std::string>> sorted;
  for (auto &[name, cycles] : waits) {
    waited += cycles;
    sorted.emplace_back(cycles, name);
  }
  std::sort(sorted.rbegin(), sorted.rend());
  double total = end ? double(end) : 1;
  std::snprintf(buffer, sizeof buffer, "%10llu %5.1f%%  ", static_cast<unsigned long long>(end),
                100 * (1 - double(waited) / total));
  std::string s = buffer;
  for (size_t i = 0; i < sorted.size() && i < 4; ++i) {
    std::snprintf(buffer, sizeof buffer, "%s%s %.1f%%", i ? ", " : "", sorted[i].second.c_str(),
                  100 * double(sorted[i].first) / total);
    s += buffer;
  }
  return s + "\n";
}

/// Neighbours in a warpgroup that run about as long have one role, named by the copies and products
/// that they issue; the same warps of other CTAs with the same name count together.
std::string Timeline::roles() const {
  struct Role {
    uint64_t end = 0;
    std::map<std::string, uint64_t> waits;
  };
  std::map<std::pair<uint32_t, std::string>, Role> roles;
  for (size_t i = 0; i < warps.size();) {
    size_t k = i;
    uint64_t low = warps[i].end, high = low;
    std::set<std::string> names;
    do {
      auto it = issued.find({warps[k].cta, int(warps[k].warp)});
      if (it != issued.end())
        names.insert(it->second.begin(), it->second.end());
      ++k;
      if (k < warps.size()) {
        low = std::min(low, warps[k].end);
        high = std::max(high, warps[k].end);
      }
    } while (k < warps.size() && warps[k].cta == warps[i].cta &&
             warps[k].warp / 4 == warps[i].warp / 4 && high <= low + low / 4);
    std::string name = k - i > 1 ? "warps " + std::to_string(warps[i].warp) + "-" +
                                       std::to_string(warps[k - 1].warp)
                                 : "warp " + std::to_string(warps[i].warp);
    std::string did;
    for (const std::string &n : names)
      did += (did.empty() ? " (" : ", ") + n;
    Role &role = roles[{warps[i].warp, name + did + (did.empty() ? "" : ")")}];
    for (; i < k; ++i) {
      role.end += warps[i].end;
      auto it = waits.find({warps[i].cta, int(warps[i].warp)});
      if (it != waits.end())
        for (auto &[what, cycles] : it->second)
          role.waits[what] += cycles;
    }
  }
  std::string s = "role                                      cycles   busy  waited for (all CTAs)\n";
  for (auto &[key, role] : roles) {
    std::string name = key.second;
    name.resize(std::max<size_t>(name.size(), 38), ' ');
    s += name + shares(role.end, role.waits);
  }
  return s;
}

std::string Timeline::summary() const {
  std::string s = roles() + "\nCTA  warp     cycles   busy  waited for\n";
  char buffer[32];
  for (const WarpTotal &w : warps) {
    auto it = waits.find({w.cta, int(w.warp)});
    std::snprintf(buffer, sizeof buffer, "%4u %4u ", w.cta, w.warp);
    s += buffer + shares(w.end, it == waits.end() ? std::map<std::string, uint64_t>() : it->second);
  }
  for (auto &[key, kinds] : work)
    for (auto &[what, cycles] : kinds)
      s += std::to_string(key.first) + " " + (key.second == -1 ? "TMA" : "tensor core") + ": " +
           what + " " + std::to_string(cycles) + " cycles\n";
  return s;
}

} // namespace sim
} // namespace tileloom
