//===- TensorMemoryLayout.h - Which lane and column holds which element -----===//
//
// Tensor memory of sm_100: 128 lanes x 512 columns of 32 bits per CTA. Operands of tcgen05.mma lie
// there in a fixed set of forms, chosen by M, the CTA group and .ws: accumulators (PTX
// ISA 9.7.16.10.5; layout letters as there), the A operand, and scale factors (9.7.16.10.7), which
// are replicated over lanes. Positions are relative to the allocation's first column.
//
//===----------------------------------------------------------------------===//
#ifndef TILELOOM_LAYOUT_TENSORMEMORYLAYOUT_H
#define TILELOOM_LAYOUT_TENSORMEMORYLAYOUT_H

#include "tileloom/Layout/RegisterLayout.h"

namespace tileloom::layout {

/// A place in tensor memory; `bit` is the first bit inside the 32-bit word.
struct TmemPlace {
  unsigned cta = 0, lane = 0, column = 0, bit = 0;
  bool operator==(const TmemPlace &o) const {
    return cta == o.cta && lane == o.lane && column == o.column && bit == o.bit;
  }
};

class TensorMemoryLayout {
public:
  enum class Kind { A, B, D, E, F, G, OperandA, OperandATwice, ScalesA, ScalesB };

  /// D of tcgen05.mma. `ctaGroup` 1 or 2, `ws` the weight-stationary form; 16- and 32-bit elements
  /// take one column each. `laneBase` 0 or 16, only for layout F.
  static llvm::Expected<TensorMemoryLayout> accumulator(int64_t m, int64_t n, unsigned ctaGroup,
                                                        bool ws = false, unsigned laneBase = 0);
  /// A of tcgen05.mma, K packed densely (elementBits 4 only for the mxf4 kinds; pass 8 for 4- and
  /// 6-bit elements in 8-bit containers). A pair with M = 128 keeps each CTA's 64 rows twice.
  static llvm::Expected<TensorMemoryLayout> operandA(int64_t m, int64_t k, unsigned elementBits,
                                                     unsigned ctaGroup, unsigned laneBase = 0);
  /// Scale factors, one byte each, [rows][blocks along K]: `rows` of this CTA's A, or all N of B.
  /// Four blocks share a word; each further four take the next rows/32 columns.
  static llvm::Expected<TensorMemoryLayout> scalesA(int64_t rows, int64_t kBlocks);
  static llvm::Expected<TensorMemoryLayout> scalesB(int64_t rows, int64_t kBlocks);

  Kind kind() const { return form; }
  llvm::ArrayRef<int64_t> shape() const { return extents; }
  unsigned elementBits() const { return bits; }
  /// 32-bit columns that the tile spans, and what tcgen05.alloc must be asked for (a power of two
  /// >= 32).
  int64_t columns() const;
  int64_t allocationColumns() const;

  /// Where an element lies; replicated elements (scale factors, OperandATwice) have several places,
  /// all of which must be written.
  llvm::SmallVector<TmemPlace, 4> placesOf(int64_t row, int64_t col) const;
  /// The element at a place, if it is one of ours.
  std::optional<Index> indexOf(const TmemPlace &place) const;

  llvm::StringRef name() const;
  bool operator==(const TensorMemoryLayout &o) const {
    return form == o.form && extents == o.extents && bits == o.bits && laneBase == o.laneBase;
  }

private:
  Kind form = Kind::D;
  Index extents;
  unsigned bits = 32, laneBase = 0;
};

} // namespace tileloom::layout

#endif // TILELOOM_LAYOUT_TENSORMEMORYLAYOUT_H
