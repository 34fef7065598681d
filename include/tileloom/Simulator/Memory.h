//===- Memory.h - Global memory of the simulated device ---------*- C++ -*-===//
//
// Global memory is a set of named regions of host memory with device addresses and sizes. Every
// access names a region; between regions lie gaps, so that running off a buffer is always found.
//
//===----------------------------------------------------------------------===//
#ifndef TILELOOM_SIMULATOR_MEMORY_H
#define TILELOOM_SIMULATOR_MEMORY_H

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tileloom {
namespace sim {

struct Region {
  std::string name;
  uint64_t base = 0, size = 0;
  uint8_t *host = nullptr;
  bool writable = true;
  /// Race checking: record of the last writer of each 4 bytes; allocated at the first write.
  std::unique_ptr<std::vector<uint32_t>> writers;
};

class Memory {
public:
  /// Registers host memory; returns its device address (256-byte aligned, the same in every run).
  uint64_t add(const std::string &name, void *host, uint64_t size, bool writable = true);
  /// Registers host memory at a device address of the caller's choice; false if it overlaps.
  bool addAt(uint64_t base, const std::string &name, void *host, uint64_t size,
             bool writable = true);
  void remove(uint64_t base);
  /// The region of an address, or null.
  Region *find(uint64_t address);
  /// "buffer 'a' + 0x40 (size 0x100)" or "no buffer; the nearest is ...".
  std::string describe(uint64_t address);
  std::vector<std::unique_ptr<Region>> &all() { return regions; }
  void clearShadow();

private:
  std::vector<std::unique_ptr<Region>> regions; // sorted by base
  uint64_t next = uint64_t(1) << 40;
};

} // namespace sim
} // namespace tileloom

#endif
