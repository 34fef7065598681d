//===- ExecCalls.cpp - vprintf and __assertfail (CUDA guide 10.32, 10.33) -===//
//
// What is printed goes to the standard output of the process, line by line as the threads print it; on
// a device it comes when the host synchronises.
//
//===----------------------------------------------------------------------===//
#include "Access.h"
#include "DriverCalls.h"
#include "Lanes.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace tileloom {
namespace sim {
namespace {

template <class T> T read(Warp &w, Space space, uint64_t address, unsigned lane) {
  T value{};
  if (const uint8_t *p = place(w, space, address, sizeof(T), sizeof(T), Mode::Read, int(lane)))
    std::memcpy(&value, p, sizeof(T));
  return value;
}

/// Parameter `index` of a call in local memory.
template <class T> T parameter(Warp &w, const Instr &in, unsigned index, unsigned lane) {
  return read<T>(w, Space::Local, uint64_t(w.program->lists[in.list + index]), lane);
}

constexpr size_t MaxText = 1 << 16;

std::string textAt(Warp &w, uint64_t address, unsigned lane) {
  std::string text;
  while (text.size() < MaxText) {
    char c = read<char>(w, Space::Generic, address + text.size(), lane);
    if (!c)
      break;
    text += c;
  }
  return text;
}

/// C's format with the values at `values`, each aligned to its size.
std::string formatted(Warp &w, const std::string &format, uint64_t values, unsigned lane) {
  std::string out;
  auto next = [&](auto like) {
    using T = decltype(like);
    values = (values + sizeof(T) - 1) / sizeof(T) * sizeof(T);
    T value = read<T>(w, Space::Generic, values, lane);
    values += sizeof(T);
    return value;
  };
  for (size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%') {
      out += format[i];
      continue;
    }
    size_t end = format.find_first_not_of("-+ #0123456789.", i + 1);
    bool wide = end != std::string::npos && format.compare(end, 2, "ll") == 0;
    end += end == std::string::npos ? 0 : wide ? 2 : 0;
    if (end >= format.size()) {
      out += format.substr(i);
      break;
    }
    std::string spec = format.substr(i, end - i + 1);
    char buffer[512];
    buffer[0] = 0;
    switch (format[end]) {
    case '%':
      std::strcpy(buffer, "%");
      break;
    case 'd': case 'i': case 'u': case 'x': case 'X': case 'o': case 'c':
      if (wide)
        std::snprintf(buffer, sizeof(buffer), spec.c_str(), (long long)(next(uint64_t())));
      else
        std::snprintf(buffer, sizeof(buffer), spec.c_str(), next(uint32_t()));
      break;
    case 'p':
      std::snprintf(buffer, sizeof(buffer), spec.c_str(), reinterpret_cast<void *>(next(uint64_t())));
      break;
    case 'a': case 'e': case 'E': case 'f': case 'g': case 'G':
      std::snprintf(buffer, sizeof(buffer), spec.c_str(), next(double()));
      break;
    case 's':
      out += textAt(w, next(uint64_t()), lane);
      break;
    default:
      report(w, "bad-format", "vprintf of '" + spec + "', which is no conversion", int(lane));
    }
    out += buffer;
    i = end;
  }
  return out;
}

/// Parameters: the number of characters printed; the format, the values.
Step print(Warp &w, const Instr &in) {
  eachLane(w.active, [&](unsigned lane) {
    std::string text = formatted(w, textAt(w, parameter<uint64_t>(w, in, 1, lane), lane), parameter<uint64_t>(w, in, 2, lane), lane);
    std::fwrite(text.data(), 1, text.size(), stdout);
    int32_t count = int32_t(text.size());
    if (uint8_t *p = place(w, Space::Local, uint64_t(w.program->lists[in.list]), 4, 4, Mode::Write, int(lane)))
      std::memcpy(p, &count, sizeof(count));
  });
  std::fflush(stdout);
  return Step::Next;
}

/// Parameters: message, file, line, function, bytes of a character.
Step failAssertion(Warp &w, const Instr &in) {
  unsigned lane = w.firstLane();
  auto text = [&](unsigned index) { return textAt(w, parameter<uint64_t>(w, in, index, lane), lane); };
  report(w, "assert", text(1) + ":" + std::to_string(parameter<uint32_t>(w, in, 2, lane)) + ": " + text(3) + ": assertion failed: " + text(0), int(lane));
  w.cluster->failed = true;
  return Step::Stop;
}

} // namespace

Handler driverFunction(const Function &declared) {
  auto has = [&](std::initializer_list<uint64_t> returns, std::initializer_list<uint64_t> params) {
    auto same = [](const std::vector<Variable> &own, std::initializer_list<uint64_t> sizes) {
      return std::equal(own.begin(), own.end(), sizes.begin(), sizes.end(),
                        [](const Variable &variable, uint64_t size) { return variable.space == Space::Param && variable.size == size; });
    };
    return same(declared.returns, returns) && same(declared.params, params);
  };
  if (declared.name == "vprintf" && has({4}, {8, 8}))
    return print;
  if (declared.name == "__assertfail" && has({}, {8, 8, 4, 8, 8}))
    return failAssertion;
  return nullptr;
}

} // namespace sim
} // namespace tileloom
