//===- ConversionPlan.h - From one register layout to another ---------------===//
//
// How to move a tensor between two register layouts of one shape and warp count: by renaming
// registers, by shuffles inside each warp, or through shared memory. Data only; lowering prints the
// code.
//
//===----------------------------------------------------------------------===//
#ifndef TILELOOM_LAYOUT_CONVERSIONPLAN_H
#define TILELOOM_LAYOUT_CONVERSIONPLAN_H

#include "tileloom/Layout/RegisterLayout.h"
#include <array>

namespace tileloom::layout {

/// One shfl.sync.idx. Words are groups of ConversionPlan::unit consecutive registers. Lane t sends
/// word send[t] of the source, reads lane from[t], and what it gets is word receive[t] of the
/// result. The tables vary with a few parities of lane bits, so each is a few selects; `from`
/// differs between rounds only by an XOR constant. When from[t] == t in all lanes no shuffle is
/// needed.
struct ShuffleRound {
  std::array<uint16_t, 32> send, receive;
  std::array<uint8_t, 32> from;
  /// The mask m with from[t] == t ^ m, if there is one (shfl.bfly).
  std::optional<unsigned> xorMask() const;
};

struct ConversionPlan {
  enum Kind { InThread, Shuffle, SharedMemory };
  Kind kind = InThread;
  /// InThread: result register i is source register registers[i].
  llvm::SmallVector<unsigned, 16> registers;
  /// Shuffle: elements per shuffled word, and one round per word of the result.
  unsigned unit = 1;
  llvm::SmallVector<ShuffleRound, 8> rounds;
  /// SharedMemory: scratch bytes for the whole tensor (plan the accesses with AccessPlan.h).
  int64_t scratchBytes = 0;
};

/// `elementBits` bounds how many elements one 32-bit shuffle can carry.
llvm::Expected<ConversionPlan> convertPlan(const RegisterLayout &from, const RegisterLayout &to,
                                           unsigned elementBits);

} // namespace tileloom::layout

#endif // TILELOOM_LAYOUT_CONVERSIONPLAN_H
