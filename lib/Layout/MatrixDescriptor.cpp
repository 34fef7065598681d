//===- MatrixDescriptor.cpp - Fields and steps of matrix descriptors --------===//
//
// The canonical layouts of PTX ISA 9.7.15.5.1.2.1.3 (wgmma) and 9.7.16.3.3 (tcgen05) are the atoms
// of SharedLayout; the two families share them and differ in the descriptor's codes and in what
// they allow. Which field walks which dimension: K-major, SBO goes to the next 8 rows and LBO
// (without swizzle) to the next 16 bytes of k. MN-major with a swizzle, LBO goes to the next atom
// along MN and SBO to the next 8 rows of k; without a swizzle these two change places.
//
//===----------------------------------------------------------------------===//
#include "tileloom/Layout/MatrixDescriptor.h"
#include "Support.h"

using namespace llvm;

namespace tileloom::layout {

static unsigned descriptorCode(Swizzle swizzle, MmaTarget target) {
  bool sm90 = target == MmaTarget::Sm90;
  switch (swizzle) {
  case Swizzle::None:
    return 0;
  case Swizzle::Bytes32:
    return sm90 ? 3 : 6;
  case Swizzle::Bytes64:
    return sm90 ? 2 : 4;
  case Swizzle::Bytes128:
    return sm90 ? 1 : 2;
  case Swizzle::Bytes128Atom32:
    return 1;
  }
  return 0;
}

static Error checkLegal(const SharedLayout &layout, MmaTarget target) {
  bool transposed = layout.major() == Major::MN;
  bool atom32 = layout.swizzle() == Swizzle::Bytes128Atom32;
  if (layout.rank() < 2)
    return makeError("matrix descriptor: found rank 1; an operand has two dimensions");
  if (layout.elementBits() > 32)
    return makeError("matrix descriptor: found elements of " + Twine(layout.elementBits()) +
                     " bits; needs 8, 16 or 32");
  if (layout.swizzle() == Swizzle::None && layout.atomBytes() != 16)
    return makeError(
        "matrix descriptor: rows of " + Twine(layout.atomBytes()) +
        " bytes without a swizzle; needs a swizzle, or atoms of 16 bytes (core matrices)");
  if (target == MmaTarget::Sm90 && transposed && layout.elementBits() != 16)
    return makeError("matrix descriptor: wgmma reads " + Twine(layout.elementBits()) +
                     "-bit operands K-major only; found MN-major");
  if (target == MmaTarget::Sm90 && atom32)
    return makeError("matrix descriptor: wgmma has no swizzle of 32-byte chunks");
  // PTX ISA 9.7.16, Tables 50-53.
  if (target == MmaTarget::Sm100 && atom32 != (transposed && layout.elementBits() == 32))
    return makeError("matrix descriptor: tcgen05 reads MN-major 32-bit operands with the 128-byte "
                     "swizzle of 32-byte chunks, and nothing else with it; found " +
                     layout.str());
  return Error::success();
}

Expected<OperandDescriptor> OperandDescriptor::get(const SharedLayout &layout, MmaTarget target) {
  if (Error error = checkLegal(layout, target))
    return std::move(error);
  OperandDescriptor result;
  result.swizzle = layout.swizzle();
  result.target = target;
  result.transposed = layout.major() == Major::MN;
  result.code = descriptorCode(layout.swizzle(), target);
  result.stage = layout.matrixBytes();
  result.width = layout.atomBytes();
  int64_t elementBytes = layout.elementBits() / 8, rows = layout.rowCount();
  int64_t k = layout.shape().back();
  result.kPerInstruction = 32 / elementBytes;
  result.mnExtent = layout.shape()[layout.rank() - 2];
  result.columnBytes = rows * result.width;
  bool plain = layout.swizzle() == Swizzle::None;
  if (k % result.kPerInstruction)
    return makeError("matrix descriptor: K is " + Twine(k) + "; one instruction takes " +
                     Twine(result.kPerInstruction));
  result.steps = k / result.kPerInstruction;
  if (result.mnExtent % 8 || rows % 8)
    return makeError("matrix descriptor: M or N is " + Twine(result.mnExtent) +
                     "; needs a multiple of 8");
  if (layout.rank() > 2 && result.stage % layout.requiredAlignment())
    return makeError("matrix descriptor: stages of " + Twine(result.stage) +
                     " bytes break the swizzle's period of " + Twine(layout.requiredAlignment()));
  int64_t eightRows = 8 * result.width;
  if (!result.transposed) {
    result.sbo = eightRows;
    result.lbo = plain ? result.columnBytes : 16; // ignored with a swizzle: "assumed 1"
    result.mnUnit = 8;
    result.mnUnitBytes = eightRows;
  } else {
    if (layout.swizzle() == Swizzle::Bytes128Atom32)
      eightRows /= 2; // its atoms are 4 rows high
    result.sbo = plain ? result.columnBytes : eightRows;
    result.lbo = plain ? eightRows : result.columnBytes;
    result.mnUnit = result.width / elementBytes;
    result.mnUnitBytes = result.columnBytes;
  }
  if (result.lbo > 0x3FFF0 || result.sbo > 0x3FFF0)
    return makeError("matrix descriptor: byte offsets " + Twine(result.lbo) + " and " +
                     Twine(result.sbo) + " do not fit into 18 bits");
  return result;
}

uint64_t OperandDescriptor::encode(uint64_t startAddress) const {
  uint64_t word =
      ((startAddress & 0x3FFFF) >> 4) | uint64_t(lbo >> 4) << 16 | uint64_t(sbo >> 4) << 32;
  if (target == MmaTarget::Sm90)
    return word | uint64_t(code) << 62;
  return word | uint64_t(1) << 46 | uint64_t(code) << 61; // bits 48:46 are 0b001
}

Expected<int64_t> OperandDescriptor::stepBytes(int64_t step) const {
  if (step < 0 || step >= steps)
    return makeError("matrix descriptor: instruction step " + Twine(step) + " of " + Twine(steps));
  if (transposed)
    return step * kPerInstruction * width;
  // Inside an atom the start moves below the bits that the swizzle reads, so it stays a legal
  // start.
  int64_t byte = step * 32;
  return byte / width * columnBytes + byte % width;
}

Expected<int64_t> OperandDescriptor::mnOffsetBytes(int64_t mn) const {
  if (mn < 0 || mn >= mnExtent || mn % mnUnit)
    return makeError("matrix descriptor: offset " + Twine(mn) +
                     " along M or N; needs a multiple of " + Twine(mnUnit) + " below " +
                     Twine(mnExtent));
  return mn / mnUnit * mnUnitBytes;
}

} // namespace tileloom::layout
