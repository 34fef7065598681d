//===- Targets.h - What the fuzzers call -------------------------*- C++ -*-===//
//
// Input from outside that the simulator takes apart: PTX text (scanner, parser, decoder) and tensor
// maps (decoder, rules, box walk). Whatever the bytes, the answer is a result or an error with a
// reason; a crash, a hang or memory without bound is a bug. Shared by the libFuzzer programs and by
// the test that replays the corpus.
//
//===----------------------------------------------------------------------===//
#ifndef TILELOOM_TEST_FUZZ_TARGETS_H
#define TILELOOM_TEST_FUZZ_TARGETS_H

#include "tileloom/Simulator/BoxWalk.h"
#include "tileloom/Simulator/Simulator.h"
#include "tileloom/Simulator/TensorMap.h"

#include <cstring>
#include <string>

namespace tileloom {
namespace sim {

/// Loads PTX. Returns the error; it must have a reason.
inline std::string fuzzPtx(const uint8_t *data, size_t size) {
  try {
    Simulator sim;
    sim.load(std::string(reinterpret_cast<const char *>(data), size));
  } catch (const LoadError &e) {
    if (!*e.what())
      __builtin_trap();
    return e.what();
  }
  return "";
}

/// 128 bytes of map, then 20 of coordinates and one of direction; shorter inputs are filled up.
inline std::string fuzzTensorMap(const uint8_t *data, size_t size) {
  uint8_t bytes[tensorMapBytes + 21] = {0};
  std::memcpy(bytes, data, std::min(size, sizeof bytes));
  TensorMap map;
  std::string error = decode(bytes, map);
  if (error.empty())
    error = validate(map);
  if (!error.empty())
    return error;
  int32_t coords[5];
  std::memcpy(coords, bytes + tensorMapBytes, sizeof coords);
  unsigned flags = bytes[tensorMapBytes + 20];
  BoxDirection direction = flags & 1 ? BoxDirection::Load : BoxDirection::Store;
  BoxWalk walk;
  uint32_t shared = 1024 + 128 * (flags >> 2);
  error = flags & 2 ? prepareGather4(map, coords, shared, direction, walk)
                    : prepareBox(map, coords, shared, direction, walk);
  if (!error.empty())
    return error;
  uint64_t end = uint64_t(sharedBoxBytes(map)) * (flags & 2 ? 4 : 1), visited = 0;
  if (end > 1 << 24)
    return "large";
  forEachChunk(walk, [&](const BoxChunk &c) {
    if (uint64_t(c.linear) + c.sharedBytes > end)
      __builtin_trap(); // outside of the box
    visited += c.sharedBytes;
  });
  if (visited > end)
    __builtin_trap();
  transactionBytes(map);
  return "";
}

} // namespace sim
} // namespace tileloom

#endif
