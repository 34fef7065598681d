//===- Tensor.h - Tensor memory of a CTA -------------------------*- C++ -*-===//
//
// 128 lanes of 512 columns of 32 bits, with their allocations (PTX ISA 9.7.16.1), and the helpers
// that the tcgen05 instructions share. Race and initialisation checks use the shadow of shared
// memory: word (lane, column) has offset 4 * (lane * 512 + column).
//
//===----------------------------------------------------------------------===//
#ifndef TILELOOM_LIB_SIMULATOR_TENSOR_H
#define TILELOOM_LIB_SIMULATOR_TENSOR_H

#include "Access.h"

namespace tileloom {
namespace sim {

struct TensorMemory {
  static constexpr uint32_t Lanes = 128, Columns = 512;
  std::vector<uint32_t> words = std::vector<uint32_t>(Lanes * Columns, 0xFFFFFFFF);
  std::vector<uint16_t> owner = std::vector<uint16_t>(Columns, 0); // allocation number, 0: free
  struct Allocation {
    uint32_t column, columns, line;
    bool live;
  };
  std::vector<Allocation> allocations;
  std::unique_ptr<SharedShadow> shadow;
  bool relinquished = false;
  uint32_t group = 0;  // cta_group of the kernel's instructions; 0: none yet
  uint64_t lastOp = 0; // the youngest queued mma, cp, shift or commit
  uint64_t lastTime = 0;
  /// What a collector buffer of A or of B (b0 to b3) was last filled with.
  struct Collected {
    bool valid = false;
    uint64_t operand = 0;
    uint32_t idesc = 0, line = 0;
  } collectors[5];
  uint32_t &word(uint32_t lane, uint32_t column) { return words[lane * Columns + column]; }
};

TensorMemory &tensorOf(Cta &cta);
void checkTensorLeaks(Cta &cta);

/// Whether all columns are allocated; reports if not.
bool tensorColumns(Warp &w, Cta &cta, uint32_t column, uint32_t columns, const char *what);
/// Tells the checks about an access of `columns` words in one lane. `clocks`: what it is ordered
/// after, by default what the tcgen05 fences have made visible to the warp.
void noteTensor(Warp &w, Cta &cta, uint32_t lane, uint32_t column, uint32_t columns, Mode mode,
                const Actor &actor, const Clocks *clocks = nullptr);
/// The access of an asynchronous tcgen05 operation of this warp.
Actor tensorStream(Warp &w, const char *what);
/// All instructions of a kernel must use one cta_group; reports otherwise.
void tensorGroup(Warp &w, uint32_t group);
/// Queues an operation behind the earlier ones of the CTA.
void queueTensor(Warp &w, const char *what, uint64_t cycles, std::function<void()> run);
/// The other CTA of the pair; null (reported) if there is none.
Cta *pairOf(Warp &w);

} // namespace sim
} // namespace tileloom

#endif
