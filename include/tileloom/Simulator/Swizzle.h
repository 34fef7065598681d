//===- Swizzle.h - Shared memory swizzles as an XOR on the byte address
//---------------------------===//
//
// The swizzle modes of TMA, wgmma and tcgen05 (PTX ISA 5.5.7). All of them act on the absolute
// shared memory address, so a pattern must start on its repeat to look as drawn in the manuals.
//
//===----------------------------------------------------------------------------------------------===//
#ifndef TILELOOM_SIMULATOR_SWIZZLE_H
#define TILELOOM_SIMULATOR_SWIZZLE_H

#include <cstdint>

namespace tileloom::sim {

/// Values of CUtensorMapSwizzle.
enum class Swizzle : uint8_t {
  None = 0,
  B32 = 1,
  B64 = 2,
  B128 = 3,
  B128Atom32 = 4,
  B128Atom32Flip8 = 5, ///< which lines are flipped is only in a figure: odd lines here, UNVERIFIED
  B128Atom64 = 6,
};

inline uint32_t swizzleAddress(Swizzle mode, uint32_t address) {
  switch (mode) {
  case Swizzle::None:
    return address;
  case Swizzle::B32:
    return address ^ ((address >> 3) & 0x10);
  case Swizzle::B64:
    return address ^ ((address >> 3) & 0x30);
  case Swizzle::B128:
    return address ^ ((address >> 3) & 0x70);
  case Swizzle::B128Atom32:
    return address ^ ((address >> 2) & 0x60);
  case Swizzle::B128Atom32Flip8:
    return address ^ ((address >> 2) & 0x60) ^ ((address >> 4) & 0x08);
  case Swizzle::B128Atom64:
    return address ^ ((address >> 1) & 0x40);
  }
  return address;
}

/// Bytes that stay contiguous and aligned under the swizzle (0 for None: everything does).
inline uint32_t swizzleAtom(Swizzle mode) {
  switch (mode) {
  case Swizzle::None:
    return 0;
  case Swizzle::B32:
  case Swizzle::B64:
  case Swizzle::B128:
    return 16;
  case Swizzle::B128Atom32:
    return 32;
  case Swizzle::B128Atom32Flip8:
    return 8;
  case Swizzle::B128Atom64:
    return 64;
  }
  return 0;
}

/// Largest inner box in bytes (0: no limit), and the period of the pattern in bytes.
inline uint32_t swizzleWidth(Swizzle mode) {
  return mode == Swizzle::None ? 0 : mode == Swizzle::B32 ? 32 : mode == Swizzle::B64 ? 64 : 128;
}
inline uint32_t swizzlePeriod(Swizzle mode) {
  switch (mode) {
  case Swizzle::None:
    return 16;
  case Swizzle::B32:
  case Swizzle::B128Atom64:
    return 256;
  case Swizzle::B64:
  case Swizzle::B128Atom32:
  case Swizzle::B128Atom32Flip8:
    return 512;
  case Swizzle::B128:
    return 1024;
  }
  return 16;
}

const char *swizzleName(Swizzle mode);

} // namespace tileloom::sim

#endif // TILELOOM_SIMULATOR_SWIZZLE_H
