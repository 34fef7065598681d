//===- RegisterLayout.h - Which thread and register holds which element -----===//
//
// A tile in registers: (register, lane, warp) -> tensor index. Two parts: a *core*, an F2-linear
// map over a power-of-two tile, and *repeats* outside it, which lay copies of the core side by side
// and may have any count (N = 96 is 12 cores of 8 columns). Register r is core register r % C of
// repeat r / C, the first repeat fastest; a repeat may also run over warps (three warpgroups on M =
// 192). A "register" is one element: 16-bit elements 2i and 2i+1 share 32-bit register i, four
// 8-bit elements likewise. Derived layouts (slices, sub-tiles) come with the registers that they
// take.
//
//===----------------------------------------------------------------------===//
#ifndef TILELOOM_LAYOUT_REGISTERLAYOUT_H
#define TILELOOM_LAYOUT_REGISTERLAYOUT_H

#include "tileloom/Layout/LinearLayout.h"

namespace tileloom::layout {

using Index = llvm::SmallVector<int64_t, 4>;

struct ElementOwner {
  unsigned reg = 0, lane = 0, warp = 0;
  bool operator==(const ElementOwner &o) const {
    return reg == o.reg && lane == o.lane && warp == o.warp;
  }
};

/// Copies of everything inside, side by side along `dim`, held in further registers or further
/// warps.
struct Repeat {
  enum Kind { Register, Warp };
  Kind kind = Register;
  int dim = 0; ///< -1: the copies hold the same elements (warps only)
  int64_t count = 1;
  bool operator==(const Repeat &o) const {
    return kind == o.kind && dim == o.dim && count == o.count;
  }
};

/// Lane shapes of tcgen05.ld/st (PTX ISA 9.7.16.2).
enum class TmemShape { S32x32b, S16x64b, S16x128b, S16x256b };

struct SubLayout;

class RegisterLayout {
public:
  static constexpr unsigned laneBits = 5;

  /// The general form. `core` has inputs register, lane (5 bits) and warp and outputs dim0, dim1,
  /// ... and is surjective; the shape is the core's extents times the repeats.
  static llvm::Expected<RegisterLayout> create(LinearLayout core,
                                               llvm::ArrayRef<Repeat> repeats = {});

  //--- Named layouts ------------------------------------------------------------------------------
  /// Each thread holds sizePerThread elements, 32 threads and the warps tile further out, all in
  /// `order` (fastest dimension first); what is left of the shape is repeated in registers. Where
  /// the shape is smaller, threads hold copies.
  static llvm::Expected<RegisterLayout> blocked(llvm::ArrayRef<int64_t> shape,
                                                llvm::ArrayRef<int64_t> sizePerThread,
                                                llvm::ArrayRef<int64_t> threadsPerWarp,
                                                llvm::ArrayRef<int64_t> warpsPerCta,
                                                llvm::ArrayRef<unsigned> order);
  /// D of wgmma m64nNk* (PTX ISA 9.7.15.5.1.1): M a multiple of 64 per warpgroup, N of 8. With
  /// several warpgroups each holds a contiguous share of the rows. f16 D packs neighbours: same
  /// map.
  static llvm::Expected<RegisterLayout> wgmmaAccumulator(llvm::ArrayRef<int64_t> shape,
                                                         unsigned warps, unsigned elementBits = 32);
  /// A of wgmma from registers, 8, 16 or 32 bits (PTX ISA 9.7.15.5.1.1); K in steps of 32 bytes.
  static llvm::Expected<RegisterLayout> wgmmaOperandA(llvm::ArrayRef<int64_t> shape,
                                                      unsigned elementBits, unsigned warps);
  /// The same registers for 8 bits, where position 4t + b of each 16 along K is column
  /// 2t + b % 2 + 8 (b / 2): a thread has the columns that it has of an accumulator.
  static llvm::Expected<RegisterLayout> wgmmaPairedA(llvm::ArrayRef<int64_t> shape, unsigned warps);
  /// Fragments of mma.sync m16n8 (PTX ISA 9.7.14.5), K in steps of 32 bytes; warps x columnWarps
  /// warps tile M (A and C) and N (B and C). Those along the other dimension hold copies.
  static llvm::Expected<RegisterLayout> mmaOperandA(llvm::ArrayRef<int64_t> shape,
                                                    unsigned elementBits, unsigned warps,
                                                    unsigned columnWarps = 1);
  static llvm::Expected<RegisterLayout> mmaOperandB(llvm::ArrayRef<int64_t> shapeKN,
                                                    unsigned elementBits, unsigned warps,
                                                    unsigned columnWarps = 1);
  static llvm::Expected<RegisterLayout> mmaAccumulator(llvm::ArrayRef<int64_t> shape,
                                                       unsigned warps, unsigned columnWarps = 1);
  /// Registers of tcgen05.ld/st over a tensor memory tile (PTX ISA 9.7.16.2): M = 128, or 64 in the
  /// 16-lane shapes (accumulator layout F); warp w reads the lanes of quadrant w % 4, warpgroups
  /// share the columns.
  static llvm::Expected<RegisterLayout> tmem(TmemShape shape, llvm::ArrayRef<int64_t> extents,
                                             unsigned warps, unsigned elementBits = 32);
  static llvm::Expected<RegisterLayout> tmemLoad32x32b(llvm::ArrayRef<int64_t> extents,
                                                       unsigned warps) {
    return tmem(TmemShape::S32x32b, extents, warps);
  }

  //--- Queries ------------------------------------------------------------------------------------
  llvm::ArrayRef<int64_t> shape() const { return extents; }
  unsigned rank() const { return extents.size(); }
  int64_t numElements() const;
  unsigned warps() const { return numWarps; }
  unsigned registersPerThread() const { return numRegisters; }
  const LinearLayout &core() const { return coreMap; }
  llvm::ArrayRef<Repeat> repeats() const { return outer; }
  unsigned coreRegisters() const { return numCoreRegisters; }
  unsigned coreWarps() const { return numCoreWarps; }
  int64_t coreExtent(unsigned dim) const;

  /// The element in a register of a thread. The three must be in range.
  Index indexOf(unsigned reg, unsigned lane, unsigned warp) const;
  /// The same as a row-major number (last dimension fastest).
  int64_t flatIndexOf(unsigned reg, unsigned lane, unsigned warp) const;
  int64_t flatten(llvm::ArrayRef<int64_t> index) const;
  Index unflatten(int64_t flat) const;
  /// The holder of an element: of several the one with the lowest warp, then lane, then register.
  ElementOwner ownerOf(llvm::ArrayRef<int64_t> index) const;
  /// True for the holder that ownerOf names: the one that should store or count an element.
  bool isPrimary(unsigned reg, unsigned lane, unsigned warp) const;

  /// Lane bits (warp bits, core register bits) that only make copies: a thread is primary iff it
  /// has none of them set.
  unsigned replicatedLanes() const;
  unsigned replicatedWarps() const;
  unsigned replicatedRegisters() const;
  bool isReplicatedLaneBit(unsigned bit) const { return replicatedLanes() >> bit & 1; }

  /// Same shape and the same element in every (register, lane, warp), however it is written down.
  bool operator==(const RegisterLayout &o) const;
  bool operator!=(const RegisterLayout &o) const { return !(*this == o); }

  void print(llvm::raw_ostream &os) const;
  std::string str() const;

private:
  LinearLayout coreMap, coreInverse;
  llvm::SmallVector<Repeat, 4> outer;
  Index extents, strides; ///< strides: what one step of each repeat adds
  unsigned numRegisters = 1, numWarps = 1, numCoreRegisters = 1, numCoreWarps = 1;
};

/// A layout made from a part of another: `registers[i]` of the source is register i of `layout`.
struct SubLayout {
  RegisterLayout layout;
  llvm::SmallVector<unsigned, 16> registers;
};

/// Drop a dimension (as reducing along it does). Registers that differ only along it are merged: a
/// 64x256 accumulator sliced along dim 1 has 2 registers. `registers` names the first source of
/// each.
llvm::Expected<SubLayout> slice(const RegisterLayout &layout, unsigned dim);
/// Insert a dimension of extent 1 before `dim`. Registers stay as they are.
llvm::Expected<RegisterLayout> expandDims(const RegisterLayout &layout, unsigned dim);
/// New dimension i is old dimension order[i]. Registers stay as they are.
llvm::Expected<RegisterLayout> permuteDims(const RegisterLayout &layout,
                                           llvm::ArrayRef<unsigned> order);
/// Positions along `dim` that one thread holds in registers (wgmma accumulator, dim 0: 2 per 64
/// rows).
llvm::Expected<int64_t> slotCount(const RegisterLayout &layout, unsigned dim);
/// Share `slot` of `count` equal shares of those positions, in ascending order: for the accumulator
/// with count 2, the rows t/4 (slot 0) or t/4 + 8 (slot 1), a 32xN tensor whose row number has the
/// slot's bit squeezed out. Several slots of one count cover the tensor.
llvm::Expected<SubLayout> rowSlot(const RegisterLayout &layout, unsigned dim, int64_t slot,
                                  int64_t count);
/// The sub-tile [begin, begin + size) along `dim`, if whole registers of every thread hold it.
llvm::Expected<SubLayout> extract(const RegisterLayout &layout, unsigned dim, int64_t begin,
                                  int64_t size);
inline llvm::Expected<SubLayout> columns(const RegisterLayout &layout, int64_t begin,
                                         int64_t size) {
  return extract(layout, layout.rank() - 1, begin, size);
}
inline llvm::Expected<SubLayout> rows(const RegisterLayout &layout, int64_t begin, int64_t size) {
  return extract(layout, layout.rank() < 2 ? 0 : layout.rank() - 2, begin, size);
}
/// Move power-of-two repeats into the core until it spans coreExtents (or peel core register bits
/// off into repeats until it spans no more). Same elements; `registers` maps new to old numbers.
llvm::Expected<SubLayout> withCore(const RegisterLayout &layout,
                                   llvm::ArrayRef<int64_t> coreExtents);

} // namespace tileloom::layout

#endif // TILELOOM_LAYOUT_REGISTERLAYOUT_H
