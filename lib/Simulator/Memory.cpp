//===- Memory.cpp - Global memory of the simulated device -----------------===//
//
// See Memory.h.
//
//===----------------------------------------------------------------------===//
#include "tileloom/Simulator/Memory.h"

#include <algorithm>
#include <cstdio>

namespace tileloom {
namespace sim {

static std::string hexText(uint64_t v) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "0x%llx", static_cast<unsigned long long>(v));
  return buffer;
}

bool Memory::addAt(uint64_t base, const std::string &name, void *host, uint64_t size,
                   bool writable) {
  auto at = std::upper_bound(regions.begin(), regions.end(), base,
                             [](uint64_t b, const auto &r) { return b < r->base; });
  if (at != regions.end() && base + size > (*at)->base)
    return false;
  if (at != regions.begin() && (*std::prev(at))->base + (*std::prev(at))->size > base)
    return false;
  auto r = std::make_unique<Region>();
  r->name = name;
  r->base = base;
  r->size = size;
  r->host = static_cast<uint8_t *>(host);
  r->writable = writable;
  regions.insert(at, std::move(r));
  return true;
}

uint64_t Memory::add(const std::string &name, void *host, uint64_t size, bool writable) {
  uint64_t base = next;
  // A gap of at least 64 KiB, so that an index slightly out of range meets no other buffer.
  next += (size + 0x1FFFF) / 0x10000 * 0x10000;
  while (!addAt(base, name, host, size, writable)) {
    base = next;
    next += (size + 0x1FFFF) / 0x10000 * 0x10000;
  }
  return base;
}

void Memory::remove(uint64_t base) {
  regions.erase(std::remove_if(regions.begin(), regions.end(),
                               [base](const auto &r) { return r->base == base; }),
                regions.end());
}

Region *Memory::find(uint64_t address) {
  auto at = std::upper_bound(regions.begin(), regions.end(), address,
                             [](uint64_t a, const auto &r) { return a < r->base; });
  if (at == regions.begin())
    return nullptr;
  Region *r = std::prev(at)->get();
  return address - r->base < r->size ? r : nullptr;
}

std::string Memory::describe(uint64_t address) {
  if (Region *r = find(address))
    return "'" + r->name + "' + " + hexText(address - r->base) + " (of " + hexText(r->size) +
           " bytes)";
  auto at = std::upper_bound(regions.begin(), regions.end(), address,
                             [](uint64_t a, const auto &r) { return a < r->base; });
  if (at != regions.begin()) {
    Region *r = std::prev(at)->get();
    return "no buffer is there; it is " + hexText(address - r->base - r->size) +
           " bytes past the end of '" + r->name + "' (" + hexText(r->size) + " bytes)";
  }
  return "no buffer is there";
}

void Memory::clearShadow() {
  for (auto &r : regions)
    r->writers.reset();
}

} // namespace sim
} // namespace tileloom
