//===- Tensor.h - Tensor memory of a CTA -------------------------*- C++ -*-===//
//
// 128 lanes of 512 columns of 32 bits, with their allocations (PTX ISA 9.7.16.1).
//
//===----------------------------------------------------------------------===//
#ifndef TILELOOM_LIB_SIMULATOR_TENSOR_H
#define TILELOOM_LIB_SIMULATOR_TENSOR_H

#include "Machine.h"

namespace tileloom {
namespace sim {

struct TensorMemory {
  static constexpr uint32_t Lanes = 128, Columns = 512;
  std::vector<uint32_t> words = std::vector<uint32_t>(Lanes * Columns, 0xFFFFFFFF);
  std::vector<uint8_t> valid = std::vector<uint8_t>(Lanes * Columns, 0);
  std::vector<uint32_t> owner = std::vector<uint32_t>(Columns, 0); // allocation number, 0: free
  struct Allocation {
    uint32_t column, columns, line;
    bool live;
  };
  std::vector<Allocation> allocations;
  bool relinquished = false;
  uint32_t lastColumns = 0;
  // Writes of mma/cp that have not been observed: per column the (actor, sequence) that wrote it.
  std::vector<uint32_t> writerActor = std::vector<uint32_t>(Columns, 0);
  std::vector<uint32_t> writerEpoch = std::vector<uint32_t>(Columns, 0);
  uint32_t &word(uint32_t lane, uint32_t column) { return words[lane * Columns + column]; }
};

void checkTensorLeaks(Cta &cta);

} // namespace sim
} // namespace tileloom

#endif
