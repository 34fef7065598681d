//===- LinearLayout.h - Linear maps over F2 between named dimensions --------===//
//
// Hardware numbers its registers, lanes and warps in binary, and nearly every arrangement of a tile
// (fragments, swizzles, interleaves) moves *bits* of those numbers to bits of tensor coordinates:
// bit i of the input contributes a fixed output vector, and contributions are XORed. Such a map is
// a matrix over F2. This class holds one as a list of columns ("bases"), gives the input and output
// bits names (register, lane, warp, offset, dim0, dim1, ...), and does the algebra: compose,
// invert, divide. The first named dimension owns the least significant bits of a flat index.
//
//===----------------------------------------------------------------------===//
#ifndef TILELOOM_LAYOUT_LINEARLAYOUT_H
#define TILELOOM_LAYOUT_LINEARLAYOUT_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <optional>
#include <string>

namespace llvm {
class raw_ostream;
}

namespace tileloom::layout {

/// A named dimension of 2^bits positions.
struct LinearDim {
  std::string name;
  unsigned bits = 0;
  int64_t size() const { return int64_t(1) << bits; }
  bool operator==(const LinearDim &o) const { return name == o.name && bits == o.bits; }
  bool operator!=(const LinearDim &o) const { return !(*this == o); }
};

class LinearLayout {
public:
  LinearLayout() = default;

  /// `bases[i]` is the image of flat input bit i, as a flat output (first output dimension lowest).
  /// Fails on more than 62 bits a side, duplicate names, a wrong number of bases or an image that
  /// does not fit the outputs.
  static llvm::Expected<LinearLayout> create(llvm::ArrayRef<LinearDim> ins,
                                             llvm::ArrayRef<LinearDim> outs,
                                             llvm::ArrayRef<uint64_t> bases);
  /// in -> out, 2^bits positions each, x -> x.
  static LinearLayout identity(llvm::StringRef in, llvm::StringRef out, unsigned bits);
  /// in -> out, everything to 0: 2^inBits copies of one position.
  static LinearLayout zeros(llvm::StringRef in, llvm::StringRef out, unsigned inBits,
                            unsigned outBits = 0);

  llvm::ArrayRef<LinearDim> ins() const { return inDims; }
  llvm::ArrayRef<LinearDim> outs() const { return outDims; }
  unsigned inBits() const { return bases.size(); }
  unsigned outBits() const;
  /// Bits of a dimension by name; 0 when there is no such dimension.
  unsigned inBits(llvm::StringRef name) const;
  unsigned outBits(llvm::StringRef name) const;
  /// First flat bit of a dimension (0 when absent).
  unsigned inShift(llvm::StringRef name) const;
  unsigned outShift(llvm::StringRef name) const;

  /// Image of bit `bit` of input `in`, as a flat output or as its part along output `out`.
  uint64_t basis(llvm::StringRef in, unsigned bit) const;
  uint64_t basis(llvm::StringRef in, unsigned bit, llvm::StringRef out) const;

  uint64_t applyFlat(uint64_t in) const;
  /// One value per input dimension, in order -> one value per output dimension, in order.
  llvm::SmallVector<int64_t, 4> apply(llvm::ArrayRef<int64_t> in) const;
  uint64_t flattenIn(llvm::ArrayRef<int64_t> in) const;
  uint64_t flattenOut(llvm::ArrayRef<int64_t> out) const;
  llvm::SmallVector<int64_t, 4> splitIn(uint64_t flat) const;
  llvm::SmallVector<int64_t, 4> splitOut(uint64_t flat) const;

  unsigned rank() const;
  bool isInjective() const { return rank() == inBits(); }
  bool isSurjective() const { return rank() == outBits(); }
  bool isInvertible() const { return isInjective() && isSurjective(); }
  /// Input bits that add nothing to the bits before them: one mask per input dimension. Flipping
  /// such a bit (and possibly lower ones) leaves the output as it is, so positions that differ only
  /// there hold copies, and a position is the first of its copies iff it has none of these bits
  /// set.
  llvm::SmallVector<uint64_t, 4> freeVariableMasks() const;

  /// outer(this(x)). The outputs of this must be the inputs of `outer`, in any order.
  llvm::Expected<LinearLayout> compose(const LinearLayout &outer) const;
  llvm::Expected<LinearLayout> invert() const;
  /// A right inverse of a surjective map: output -> the *smallest* flat input that gives it.
  llvm::Expected<LinearLayout> pseudoInvert() const;
  /// The smallest flat input with the given image, if there is one.
  std::optional<uint64_t> solve(uint64_t flatOut) const;

  /// Direct sum: dimensions of one name are joined, this one's bits below `high`'s.
  LinearLayout operator*(const LinearLayout &high) const;
  /// The q with `tile * q == *this`, or nothing if the low bits do not form `tile`, or if a higher
  /// bit meets the tile's outputs. Dimensions that the tile lacks are kept whole.
  std::optional<LinearLayout> divide(const LinearLayout &tile) const;
  /// The part with only the named inputs and outputs, in the order of this layout.
  LinearLayout sublayout(llvm::ArrayRef<llvm::StringRef> inNames,
                         llvm::ArrayRef<llvm::StringRef> outNames) const;
  /// The same map with its dimensions listed in another order; `names` is a permutation.
  llvm::Expected<LinearLayout> reorderIns(llvm::ArrayRef<llvm::StringRef> names) const;
  llvm::Expected<LinearLayout> reorderOuts(llvm::ArrayRef<llvm::StringRef> names) const;

  bool operator==(const LinearLayout &o) const {
    return inDims == o.inDims && outDims == o.outDims && bases == o.bases;
  }
  bool operator!=(const LinearLayout &o) const { return !(*this == o); }

  void print(llvm::raw_ostream &os) const;
  std::string str() const;

private:
  llvm::SmallVector<LinearDim, 4> inDims, outDims;
  llvm::SmallVector<uint64_t, 16> bases;
};

} // namespace tileloom::layout

#endif // TILELOOM_LAYOUT_LINEARLAYOUT_H
