//===- Descriptor.h - Shared memory matrix descriptors of wgmma and tcgen05
//-----------------------===//
//
// Decodes the 64-bit descriptors (PTX ISA 9.7.15.5.1.2.2 for sm_90, 9.7.16.4.1 for sm_100) and
// gives the address of an element for every major-ness and swizzle (canonical
// layouts, 9.7.15.5.1.2.1.3 and 9.7.16.3.3). Gathers an operand into dense K-major rows, reading
// memory in 16-byte chunks.
//
//===----------------------------------------------------------------------------------------------===//
#ifndef TILELOOM_SIMULATOR_DESCRIPTOR_H
#define TILELOOM_SIMULATOR_DESCRIPTOR_H

#include "tileloom/Simulator/TensorMap.h"

#include <cstring>

namespace tileloom::sim {

enum class Major : uint8_t { K = 0, MN = 1 };

struct MatrixDescriptor {
  uint32_t start = 0;              ///< byte address in shared memory (18 bits)
  uint32_t leadingBytes = 0;       ///< LBO in bytes
  uint32_t strideBytes = 0;        ///< SBO in bytes
  uint8_t baseOffset = 0;          ///< 0..7, in 128-byte lines
  Swizzle swizzle = Swizzle::None; ///< B128Atom32 stands for 128B_BASE32B
};

/// Fails on reserved bits that are set.
Error decodeWgmmaDescriptor(uint64_t bits, MatrixDescriptor &descriptor);

/// Fails on a bad constant (bits 48:46 must be 001), reserved bits, an invalid swizzle code, or the
/// absolute-LBO mode of sm_103a.
Error decodeTcgen05Descriptor(uint64_t bits, MatrixDescriptor &descriptor);

/// Whether the layout exists for this major-ness and element size (in bytes of the container).
Error checkLayout(const MatrixDescriptor &descriptor, Major major, unsigned elementBytes);

/// Byte offset of element (mn, k) from the start, before the swizzle. `elementBytes` is 1, 2 or 4;
/// packed 4-bit elements are addressed by their byte (K-major only).
uint32_t elementOffset(const MatrixDescriptor &descriptor, Major major, unsigned elementBytes,
                       uint32_t mn, uint32_t k);

/// Swizzled shared memory address of a byte at `offset`; wraps in the 18-bit window. A base offset
/// shifts the line index that the XOR sees, ((address >> 7) - base) & 7 (H200,
/// wgmma_base_offset_*).
uint32_t physicalAddress(const MatrixDescriptor &descriptor, uint32_t offset);

inline uint32_t elementAddress(const MatrixDescriptor &descriptor, Major major,
                               unsigned elementBytes, uint32_t mn, uint32_t k) {
  return physicalAddress(descriptor, elementOffset(descriptor, major, elementBytes, mn, k));
}

/// Reads an operand of `mn` rows and `k` elements into `out`, dense [mn][k * elementBytes].
/// `read(address, bytes)` returns a pointer to that many bytes of shared memory (here always 16, or
/// fewer at a ragged end), or null to stop; the caller checks bounds and tracks the access there.
/// Returns false when `read` did.
template <typename Read>
bool gatherOperand(const MatrixDescriptor &descriptor, Major major, unsigned elementBytes,
                   uint32_t mn, uint32_t k, Read &&read, uint8_t *out) {
  uint32_t rowBytes = k * elementBytes, perChunk = 16 / elementBytes;
  if (major == Major::K) {
    for (uint32_t row = 0; row < mn; ++row)
      for (uint32_t begin = 0; begin < rowBytes; begin += 16) {
        uint32_t bytes = rowBytes - begin < 16 ? rowBytes - begin : 16;
        const uint8_t *data =
            read(elementAddress(descriptor, major, elementBytes, row, begin / elementBytes), bytes);
        if (!data)
          return false;
        std::memcpy(out + size_t(row) * rowBytes + begin, data, bytes);
      }
    return true;
  }
  for (uint32_t kk = 0; kk < k; ++kk)
    for (uint32_t row = 0; row < mn; row += perChunk) {
      uint32_t count = mn - row < perChunk ? mn - row : perChunk;
      const uint8_t *data =
          read(elementAddress(descriptor, major, elementBytes, row, kk), count * elementBytes);
      if (!data)
        return false;
      for (uint32_t i = 0; i < count; ++i)
        std::memcpy(out + size_t(row + i) * rowBytes + size_t(kk) * elementBytes,
                    data + size_t(i) * elementBytes, elementBytes);
    }
  return true;
}

} // namespace tileloom::sim

#endif // TILELOOM_SIMULATOR_DESCRIPTOR_H
