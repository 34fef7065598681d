//===- Descriptor.cpp - Decoding and addressing of matrix descriptors
//-----------------------------===//
//
// See Descriptor.h. The address formulas restate the canonical layouts of the PTX ISA; LBO and SBO
// change roles between the swizzled and the unswizzled MN-major layouts.
//
//===----------------------------------------------------------------------------------------------===//
#include "tileloom/Simulator/Descriptor.h"

#include <cstdio>

using namespace tileloom::sim;

static std::string hex(uint64_t value) {
  char buffer[24];
  std::snprintf(buffer, sizeof(buffer), "0x%016llx", static_cast<unsigned long long>(value));
  return buffer;
}

static uint64_t field(uint64_t bits, unsigned high, unsigned low) {
  return (bits >> low) & ((uint64_t(1) << (high - low + 1)) - 1);
}

static void decodeCommon(uint64_t bits, MatrixDescriptor &descriptor) {
  descriptor = MatrixDescriptor();
  descriptor.start = uint32_t(field(bits, 13, 0)) << 4;
  descriptor.leadingBytes = uint32_t(field(bits, 29, 16)) << 4;
  descriptor.strideBytes = uint32_t(field(bits, 45, 32)) << 4;
  descriptor.baseOffset = uint8_t(field(bits, 51, 49));
}

static Error reserved(const char *what, uint64_t bits, unsigned high, unsigned low) {
  return std::string(what) + " descriptor " + hex(bits) + ": bits " + std::to_string(high) + ":" +
         std::to_string(low) + " are " + std::to_string(field(bits, high, low)) + ", needs 0";
}

Error tileloom::sim::decodeWgmmaDescriptor(uint64_t bits, MatrixDescriptor &descriptor) {
  decodeCommon(bits, descriptor);
  static constexpr unsigned zero[][2] = {{15, 14}, {31, 30}, {48, 46}, {61, 52}};
  for (auto &range : zero)
    if (field(bits, range[0], range[1]))
      return reserved("wgmma", bits, range[0], range[1]);
  static constexpr Swizzle modes[] = {Swizzle::None, Swizzle::B128, Swizzle::B64, Swizzle::B32};
  descriptor.swizzle = modes[field(bits, 63, 62)];
  return {};
}

Error tileloom::sim::decodeTcgen05Descriptor(uint64_t bits, MatrixDescriptor &descriptor) {
  decodeCommon(bits, descriptor);
  if (field(bits, 48, 46) != 1)
    return "tcgen05 descriptor " + hex(bits) + ": bits 48:46 are " +
           std::to_string(field(bits, 48, 46)) + ", needs the constant 1";
  if (field(bits, 52, 52))
    return "tcgen05 descriptor " + hex(bits) +
           ": bit 52 selects an absolute leading offset, which exists on sm_103a only";
  static constexpr unsigned zero[][2] = {{15, 14}, {31, 30}, {60, 53}};
  for (auto &range : zero)
    if (field(bits, range[0], range[1]))
      return reserved("tcgen05", bits, range[0], range[1]);
  switch (field(bits, 63, 61)) {
  case 0:
    descriptor.swizzle = Swizzle::None;
    return {};
  case 1:
    descriptor.swizzle = Swizzle::B128Atom32;
    return {};
  case 2:
    descriptor.swizzle = Swizzle::B128;
    return {};
  case 4:
    descriptor.swizzle = Swizzle::B64;
    return {};
  case 6:
    descriptor.swizzle = Swizzle::B32;
    return {};
  default:
    return "tcgen05 descriptor " + hex(bits) + ": swizzle code is " +
           std::to_string(field(bits, 63, 61)) +
           ", needs 0 (none), 1 (128B with 32B atoms), 2 (128B), 4 (64B) or 6 (32B)";
  }
}

Error tileloom::sim::checkLayout(const MatrixDescriptor &descriptor, Major major,
                                 unsigned elementBytes) {
  bool wideAtom = descriptor.swizzle == Swizzle::B128Atom32;
  if (elementBytes != 1 && elementBytes != 2 && elementBytes != 4)
    return "element size is " + std::to_string(elementBytes) + " bytes, needs 1, 2 or 4";
  if (major == Major::K && wideAtom)
    return "a K-major operand has no layout with swizzle 128B_BASE32B";
  if (major == Major::MN && elementBytes == 4 && !wideAtom)
    return std::string(
               "an MN-major operand of 32-bit elements needs swizzle 128B_BASE32B, found ") +
           swizzleName(descriptor.swizzle);
  if (major == Major::MN && elementBytes != 4 && wideAtom)
    return "swizzle 128B_BASE32B is for MN-major 32-bit elements, found " +
           std::to_string(8 * elementBytes) + "-bit elements";
  return {};
}

uint32_t tileloom::sim::elementOffset(const MatrixDescriptor &descriptor, Major major,
                                      unsigned elementBytes, uint32_t mn, uint32_t k) {
  uint32_t eb = elementBytes, lbo = descriptor.leadingBytes, sbo = descriptor.strideBytes;
  uint32_t width = swizzleWidth(descriptor.swizzle), core = 16 / eb;
  if (major == Major::K) {
    if (!width) // core matrices of 8 rows of 16 bytes
      return (mn % 8) * 16 + (mn / 8) * sbo + (k % core) * eb + (k / core) * lbo;
    return (mn % 8) * width + (mn / 8) * sbo + k * eb;
  }
  if (!width)
    return (mn % core) * eb + (mn / core) * sbo + (k % 8) * 16 + (k / 8) * lbo;
  uint32_t perRow = width / eb, rows = descriptor.swizzle == Swizzle::B128Atom32 ? 4 : 8;
  return (mn % perRow) * eb + (mn / perRow) * lbo + (k % rows) * width + (k / rows) * sbo;
}

uint32_t tileloom::sim::physicalAddress(const MatrixDescriptor &descriptor, uint32_t offset) {
  uint32_t address = (descriptor.start + offset) & 0x3FFFF;
  if (!descriptor.baseOffset)
    return swizzleAddress(descriptor.swizzle, address);
  uint32_t line = (((address >> 7) - descriptor.baseOffset) & 7) << 7;
  return address ^ swizzleAddress(descriptor.swizzle, line) ^ line;
}
