//===- MatrixDescriptor.h - Shared memory operands of wgmma and tcgen05 -----===//
//
// How the tensor cores address a SharedLayout seen as [mn, k]: the fields of the 64-bit matrix
// descriptor (PTX ISA 9.7.15.5.1.2.2 for sm_90, 9.7.16.4.1 for sm_100) and the byte distances by
// which its start moves for the k-th instruction, for an offset along M or N, and for a stage.
//
//===----------------------------------------------------------------------===//
#ifndef TILELOOM_LAYOUT_MATRIXDESCRIPTOR_H
#define TILELOOM_LAYOUT_MATRIXDESCRIPTOR_H

#include "tileloom/Layout/SharedLayout.h"

namespace tileloom::layout {

enum class MmaTarget { Sm90, Sm100 };

class OperandDescriptor {
public:
  /// `layout` as an operand [..., mn, k] (use transposed() first for a tensor written [k, n]).
  /// Fails when the instruction family cannot read it: extents off the 8-row grid, a major that the
  /// type does not allow (sm_90: MN only for 16-bit types; sm_100: 32-bit MN only with
  /// Bytes128Atom32), plain row-major.
  static llvm::Expected<OperandDescriptor> get(const SharedLayout &layout, MmaTarget target);

  int64_t leadingByteOffset() const { return lbo; }
  int64_t strideByteOffset() const { return sbo; }
  /// The instruction's "transposed" bit: 1 when M or N is contiguous.
  bool isTransposed() const { return transposed; }
  /// Elements of K in one instruction (32 bytes).
  int64_t instructionK() const { return kPerInstruction; }
  int64_t instructionSteps() const { return steps; }

  /// Everything but the start address, ready to be ORed with (address & 0x3FFFF) >> 4.
  uint64_t encode(uint64_t startAddress = 0) const;

  /// Byte distance from the start of the matrix to the k-th instruction's operand.
  llvm::Expected<int64_t> stepBytes(int64_t step) const;
  /// Byte distance to row (column of B) `mn`; fails off the grid of whole 8-row groups or atoms.
  llvm::Expected<int64_t> mnOffsetBytes(int64_t mn) const;
  /// Byte distance from one leading index (stage) to the next.
  int64_t stageBytes() const { return stage; }

private:
  Swizzle swizzle = Swizzle::None;
  MmaTarget target = MmaTarget::Sm90;
  bool transposed = false;
  int64_t lbo = 0, sbo = 0, kPerInstruction = 0, steps = 0, stage = 0;
  int64_t width = 0;       ///< bytes of an atom row
  int64_t columnBytes = 0; ///< from one atom column to the next
  int64_t mnExtent = 0, mnUnit = 0, mnUnitBytes = 0;
  unsigned code = 0;
};

} // namespace tileloom::layout

#endif // TILELOOM_LAYOUT_MATRIXDESCRIPTOR_H
