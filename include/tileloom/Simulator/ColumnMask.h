//===- ColumnMask.h - The zero-column mask of tcgen05.mma.ws
//--------------------------------------===//
//
// Decodes the 64-bit descriptor (PTX ISA 9.7.16.4.3): which columns of B count as zero, and by how
// many columns B is shifted. Where the table and the examples of that section contradict each other
// (which of the two spans is zeroed), the examples hold; CUTLASS's MaskAndShiftB says the same.
//
//===----------------------------------------------------------------------------------------------===//
#ifndef TILELOOM_SIMULATOR_COLUMNMASK_H
#define TILELOOM_SIMULATOR_COLUMNMASK_H

#include "tileloom/Simulator/Formats.h"
#include "tileloom/Simulator/TensorMap.h"

#include <vector>

namespace tileloom::sim {

struct ColumnMask {
  std::vector<uint8_t> zero; ///< by column of the product: 1 where B counts as zero
  unsigned shift = 0; ///< column n of the product takes column n + shift of B
};

/// The mask for an M x N product: one run of spans over N, or over each half (M = 64) or quarter
/// (M = 32) of it. That it counts columns of the product, not of the shifted B, is UNVERIFIED.
Error decodeColumnMask(uint64_t bits, unsigned m, unsigned n, ColumnMask &mask);

} // namespace tileloom::sim

#endif // TILELOOM_SIMULATOR_COLUMNMASK_H
