//===- Findings.cpp - What a simulated run found wrong --------------------===//
//
// See Findings.h.
//
//===----------------------------------------------------------------------===//
#include "tileloom/Simulator/Findings.h"

#include <algorithm>
#include <cstdio>

namespace tileloom {
namespace sim {

bool parseChecks(const std::string &text, uint32_t &checks, std::string &error) {
  checks = 0;
  size_t pos = 0;
  while (pos <= text.size()) {
    size_t comma = std::min(text.find(',', pos), text.size());
    std::string word = text.substr(pos, comma - pos);
    pos = comma + 1;
    if (word == "all")
      checks |= CheckAll;
    else if (word == "none")
      checks |= CheckNone;
    else if (word == "uninit")
      checks |= CheckUninitialised;
    else if (word == "race")
      checks |= CheckRaces;
    else if (word == "inflight")
      checks |= CheckInFlight;
    else if (word == "barrier")
      checks |= CheckBarriers;
    else if (word == "strict")
      checks |= CheckStrict;
    else {
      error =
          "unknown check '" + word + "'; known: all, none, uninit, race, inflight, barrier, strict";
      return false;
    }
  }
  return true;
}

std::string Finding::text() const {
  std::string s = "error: " + kind + ": " + message + "\n  in " + kernel + ", CTA (" +
                  std::to_string(cta[0]) + "," + std::to_string(cta[1]) + "," +
                  std::to_string(cta[2]) + ")";
  if (warp >= 0)
    s += ", warp " + std::to_string(warp);
  if (lane >= 0)
    s += ", lane " + std::to_string(lane);
  if (line)
    s += ", PTX line " + std::to_string(line);
  if (!location.empty())
    s += " (" + location + ")";
  if (!source.empty()) {
    std::string shown;
    for (char c : source)
      shown += c == '\n' || c == '\t' ? ' ' : c;
    s += ": " + (shown.size() > 120 ? shown.substr(0, 117) + "..." : shown);
  }
  if (count > 1)
    s += "\n  (found " + std::to_string(count) + " times)";
  for (const std::string &n : notes)
    s += "\n  " + n;
  return s + "\n";
}

void Findings::add(Finding f) {
  std::lock_guard<std::mutex> lock(mutex);
  ++occurrences;
  char line[16];
  std::snprintf(line, sizeof line, "%08u", f.line);
  // A deadlock comes last: what was found before is likely to be its cause.
  std::string key = (f.kind == "deadlock" ? "1" : "0") + std::string(line) + f.kind;
  auto it = byKey.find(key);
  if (it != byKey.end()) {
    ++it->second.count;
    return;
  }
  if (byKey.size() < limit)
    byKey.emplace(key, std::move(f));
}

std::vector<Finding> Findings::list() const {
  std::lock_guard<std::mutex> lock(mutex);
  std::vector<Finding> all;
  for (auto &[key, f] : byKey)
    all.push_back(f);
  return all;
}

std::vector<Finding> Findings::take() {
  std::vector<Finding> all = list();
  std::lock_guard<std::mutex> lock(mutex);
  byKey.clear();
  occurrences = 0;
  return all;
}

uint64_t Findings::total() const {
  std::lock_guard<std::mutex> lock(mutex);
  return occurrences;
}

bool Findings::empty() const {
  std::lock_guard<std::mutex> lock(mutex);
  return byKey.empty();
}

std::string jsonEscape(const std::string &text) {
  std::string s;
  for (char c : text) {
    if (c == '"' || c == '\\') {
      s += '\\';
      s += c;
    } else if (c == '\n') {
      s += "\\n";
    } else if (c == '\t') {
      s += "\\t";
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char buffer[8];
      std::snprintf(buffer, sizeof buffer, "\\u%04x", c);
      s += buffer;
    } else {
      s += c;
    }
  }
  return s;
}

std::string Findings::json() const {
  std::string s = "[";
  for (const Finding &f : list()) {
    s += s.size() > 1 ? ",\n " : "\n ";
    s += "{\"kind\": \"" + jsonEscape(f.kind) + "\", \"message\": \"" + jsonEscape(f.message) +
         "\", \"kernel\": \"" + jsonEscape(f.kernel) + "\", \"cta\": [" + std::to_string(f.cta[0]) +
         ", " + std::to_string(f.cta[1]) + ", " + std::to_string(f.cta[2]) +
         "], \"warp\": " + std::to_string(f.warp) + ", \"lane\": " + std::to_string(f.lane) +
         ", \"line\": " + std::to_string(f.line) + ", \"location\": \"" + jsonEscape(f.location) +
         "\", \"source\": \"" + jsonEscape(f.source) +
         "\", \"count\": " + std::to_string(f.count) + ", \"notes\": [";
    for (size_t i = 0; i < f.notes.size(); ++i)
      s += (i ? ", \"" : "\"") + jsonEscape(f.notes[i]) + "\"";
    s += "]}";
  }
  return s + (s.size() > 1 ? "\n]" : "]");
}

} // namespace sim
} // namespace tileloom
