//===- Sparse.h - Structured sparsity of matrix A
//------------------------------------------------===//
//
// Half of the elements of a sparse A are stored; a code of four bits says where those of a chunk of
// the row stand (PTX ISA 9.7.14.6.1, 9.7.15.6.1, 9.7.16.10.8). Where the codes themselves lie:
// registers as in the figures of 9.7.14.6.2 (the H200 agrees, cases mma_sp_* and wgmma_sp_*), tensor
// memory as in CUTLASS's tmem_e_frg and tmem_e_frg_ws (mma_traits_sm100_frag.hpp).
//
//===----------------------------------------------------------------------------------------------===//
#ifndef TILELOOM_SIMULATOR_SPARSE_H
#define TILELOOM_SIMULATOR_SPARSE_H

#include <cstdint>
#include <string>

namespace tileloom::sim {

/// Elements of A that share one code: 2 (tf32), 8 in pairs (4-bit elements, two to a byte), or 4.
constexpr uint32_t sparseChunk(uint32_t elementBits) {
  return elementBits == 32 ? 2 : elementBits == 4 ? 8 : 4;
}

/// Places in the chunk of its chunk / 2 stored elements. False if the code has no meaning; `ordered`
/// asks for increasing places, too.
bool sparsePlaces(uint32_t chunk, uint32_t code, bool ordered, uint8_t *places);

/// A code as the messages show it: 0b0101.
std::string sparseCode(uint32_t code);

/// Where a code lies: lane, 32-bit column (tensor memory only) and lowest bit.
struct SparsePlace {
  uint32_t lane, column, bit;
};

/// mma.sp, and a warp's 16 rows of wgmma.sp: `chunks` (4, 8 or 16) codes for each row. Elements of 16
/// and 32 bits: 4 codes of rows r and r + 8 in a register; others: 8 codes of one row.
constexpr SparsePlace sparseRegister(uint32_t elementBits, uint32_t chunks, uint32_t selector,
                                     uint32_t row, uint32_t chunk) {
  uint32_t group = 4 * (row % 8);
  if (elementBits >= 16)
    return {group + selector * (chunks / 4) + chunk / 4, 0, 16 * (row / 8) + 4 * (chunk % 4)};
  return {group + 2 * (selector + chunk / 8) + row / 8, 0, 4 * (chunk % 8)};
}

/// tcgen05.mma.sp: row of the CTA's part of A. The selector (f16 and tf32) is a column.
constexpr SparsePlace sparseTensor(uint32_t elementBits, uint32_t selector, uint32_t row,
                                   uint32_t chunk) {
  if (elementBits >= 16)
    return {row % 8 + 8 * (chunk / 4) + 16 * (row / 16), selector,
            16 * (row % 16 / 8) + 4 * (chunk % 4)};
  return {row, chunk / 8, 4 * (chunk % 8)};
}

} // namespace tileloom::sim

#endif // TILELOOM_SIMULATOR_SPARSE_H
