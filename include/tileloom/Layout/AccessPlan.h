//===- AccessPlan.h - Register tiles to and from memory ---------------------===//
//
// Covers a register tile with memory instructions: stmatrix/ldmatrix (PTX ISA 9.7.14.5.15-16) where
// the layouts allow it, else vector accesses of each thread, to shared memory or to a row-major
// tile in global memory. All instructions of a shared memory plan share one address function of the thread,
//   address = base + (laneBytes(lane, warp) ^ xorBytes) + addBytes   [= laneBytes.at(...)]
// so a code generator makes one address per distinct xorBytes and puts addBytes into the instruction.
//
//===----------------------------------------------------------------------===//
#ifndef TILELOOM_LAYOUT_ACCESSPLAN_H
#define TILELOOM_LAYOUT_ACCESSPLAN_H

#include "tileloom/Layout/SharedLayout.h"

namespace tileloom::layout {

/// What lane and warp add to an address or coordinate. Each set bit of lane and warp contributes
/// its basis; contributions are XORed in the bits of xorMask and added above them (xorMask is -1,
/// pure XOR, unless row pitches that are no powers of two make carries). Warps beyond the core's
/// (three warpgroups) add a whole multiple.
struct ThreadFunction {
  llvm::SmallVector<int64_t, 5> laneBases;
  llvm::SmallVector<int64_t, 4> warpBases;
  int64_t xorMask = -1;
  unsigned groupWarps = 0; ///< 0: none; else + (warp / groupWarps) * groupStride
  int64_t groupStride = 0;
  /// The value, with a constant XORed into the XORed part.
  int64_t at(unsigned lane, unsigned warp, int64_t xorConstant = 0) const;
};

struct SharedAccess {
  /// Each word: the element registers of one 32-bit register, lowest bits first (matrix accesses:
  /// 1, 2 or 4 words = .x1/.x2/.x4), or one run of elements at ascending addresses (vector
  /// accesses).
  llvm::SmallVector<llvm::SmallVector<unsigned, 16>, 4> words;
  int64_t xorBytes = 0, addBytes = 0;
};

struct SharedAccessPlan {
  enum Kind { Matrix, Vector };
  Kind kind = Vector;
  bool isStore = true, transposed = false;
  unsigned elementBits = 0;
  unsigned vectorBytes = 0; ///< Vector: bytes that each thread moves per instruction (1 to 16)
  /// Address of the row that a lane supplies (Matrix) or of its run (Vector), relative to the tile.
  ThreadFunction laneBytes;
  llvm::SmallVector<SharedAccess, 8> accesses;
  /// Lanes and warps with one of these bits set hold copies: a vector store may leave them out.
  unsigned copyLanes = 0, copyWarps = 0;

  int64_t addressOf(const SharedAccess &access, unsigned lane, unsigned warp) const;
  /// Distinct xorBytes, i.e. address registers needed.
  llvm::SmallVector<int64_t, 8> xorConstants() const;
};

/// stmatrix / ldmatrix. Fails, saying why, when the layouts do not fit; then use the vector plans.
llvm::Expected<SharedAccessPlan> matrixStorePlan(const RegisterLayout &regs,
                                                 const SharedLayout &shared);
llvm::Expected<SharedAccessPlan> matrixLoadPlan(const RegisterLayout &regs,
                                                const SharedLayout &shared);
/// The widest st.shared / ld.shared of each thread (at most `maxBytes`).
llvm::Expected<SharedAccessPlan> vectorStorePlan(const RegisterLayout &regs,
                                                 const SharedLayout &shared, int64_t maxBytes = 16);
llvm::Expected<SharedAccessPlan> vectorLoadPlan(const RegisterLayout &regs,
                                                const SharedLayout &shared);
/// The matrix plan if there is one, else the vector plan.
llvm::Expected<SharedAccessPlan> sharedStorePlan(const RegisterLayout &regs,
                                                 const SharedLayout &shared);
llvm::Expected<SharedAccessPlan> sharedLoadPlan(const RegisterLayout &regs,
                                                const SharedLayout &shared);

/// Accesses to a tile of a global tensor with run-time strides, contiguous along `contiguousDim`:
/// thread (lane, warp) accesses the run at index[d] = coordinate[d].at(lane, warp) +
/// access.index[d].
struct GlobalAccessPlan {
  struct Access {
    llvm::SmallVector<unsigned, 16> registers; ///< ascending along contiguousDim
    Index index;
  };
  unsigned vectorElements = 1, contiguousDim = 0;
  llvm::SmallVector<ThreadFunction, 4> coordinate;
  llvm::SmallVector<Access, 8> accesses;
  unsigned copyLanes = 0, copyWarps = 0;
};

/// `alignmentBytes` is what base, strides and the tile's origin are known to be multiples of (it
/// bounds the vector, as 16 bytes do).
llvm::Expected<GlobalAccessPlan> globalAccessPlan(const RegisterLayout &regs, unsigned elementBits,
                                                  unsigned contiguousDim, unsigned alignmentBytes,
                                                  bool isStore);

/// The registers of a thread as runs of `count` neighbours along `dim`, the first aligned to
/// `count`, in every thread; of fewer (a power of two) where the layout has no such runs.
llvm::SmallVector<llvm::SmallVector<unsigned, 16>, 8> registerRuns(const RegisterLayout &regs,
                                                                   unsigned dim, int64_t count);

/// 128-byte wavefronts that the plan takes for all warps, and the fewest that its bytes allow.
struct BankReport {
  int64_t wavefronts = 0, ideal = 0;
  bool conflictFree() const { return wavefronts == ideal; }
};
BankReport bankConflicts(const SharedAccessPlan &plan, unsigned warps);

} // namespace tileloom::layout

#endif // TILELOOM_LAYOUT_ACCESSPLAN_H
