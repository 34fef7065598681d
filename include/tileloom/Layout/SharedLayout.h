//===- SharedLayout.h - Which byte of shared memory holds which element -----===//
//
// A tile in shared memory as TMA writes it and the tensor cores read it. The trailing two
// dimensions form a matrix; its contiguous dimension is cut into *atoms* of the swizzle's width,
// and the atoms of one matrix lie one after the other, each [rows][width bytes] (as a sequence of
// TMA boxes lands). The swizzle XORs bits of the 128-byte line number into the 16-byte chunk
// number, on absolute addresses (PTX ISA 5.5.7); so offsets here are relative to a base aligned to
// requiredAlignment(). Leading dimensions (stages) are whole matrices apart.
//
//===----------------------------------------------------------------------===//
#ifndef TILELOOM_LAYOUT_SHAREDLAYOUT_H
#define TILELOOM_LAYOUT_SHAREDLAYOUT_H

#include "tileloom/Layout/RegisterLayout.h"

namespace tileloom::layout {

/// Swizzle modes of tensor maps and matrix descriptors. Bytes128Atom32 (XOR of 32-byte chunks,
/// sm_100) is what tf32 operands with contiguous M or N need.
enum class Swizzle { None, Bytes32, Bytes64, Bytes128, Bytes128Atom32 };

/// Width of a swizzle in bytes (0 for none), the distance after which its pattern repeats, and the
/// map itself, an involution on absolute byte addresses.
unsigned swizzleWidth(Swizzle swizzle);
unsigned swizzlePeriod(Swizzle swizzle);
uint64_t applySwizzle(Swizzle swizzle, uint64_t address);
llvm::Expected<Swizzle> swizzleFromBytes(unsigned bytes);

/// Seen as an operand [..., mn, k]: K = the last dimension is contiguous, MN = the last but one is
/// (a transposed view).
enum class Major { K, MN };

/// One TMA copy of a tile.
struct TmaBox {
  Index extents;          ///< box extents in elements, innermost (contiguous) first
  Index origin;           ///< first element in the tile, innermost first
  int64_t byteOffset = 0; ///< where the box starts in shared memory
};

class SharedLayout {
public:
  /// Fails unless the contiguous extent fills whole atoms. Elements of 8, 16, 32 or 64 bits.
  /// Swizzle::None is plain row-major (rank 1 and up).
  static llvm::Expected<SharedLayout> create(llvm::ArrayRef<int64_t> shape, unsigned elementBits,
                                             Swizzle swizzle, Major major = Major::K);
  /// The no-swizzle form that matrix descriptors can address: atoms of 16 bytes, i.e. 8x16-byte
  /// core matrices.
  static llvm::Expected<SharedLayout> coreMatrices(llvm::ArrayRef<int64_t> shape,
                                                   unsigned elementBits, Major major = Major::K);
  /// The widest swizzle whose atoms divide the contiguous extent; None if not even 32 bytes do.
  static Swizzle widestSwizzle(llvm::ArrayRef<int64_t> shape, unsigned elementBits,
                               Major major = Major::K);

  llvm::ArrayRef<int64_t> shape() const { return extents; }
  unsigned rank() const { return extents.size(); }
  unsigned elementBits() const { return 8 * elementBytes; }
  Swizzle swizzle() const { return mode; }
  Major major() const { return majorDim; }
  /// Bytes of one row of an atom.
  int64_t atomBytes() const { return widthBytes; }
  /// Extents of the matrix in memory: contiguous elements, and rows of an atom.
  int64_t contiguousExtent() const;
  int64_t rowCount() const;
  int64_t matrixBytes() const { return contiguousExtent() * rowCount() * elementBytes; }
  int64_t sizeBytes() const;
  /// 1024 / 512 / 256 for the swizzles (their period), 128 otherwise (TMA's own need).
  int64_t requiredAlignment() const;

  int64_t offsetOf(llvm::ArrayRef<int64_t> index) const;
  /// The element that covers a byte offset, if the offset lies in the tile.
  std::optional<Index> indexOf(int64_t byteOffset) const;
  /// As an F2 map offset (bits of bytes) -> dims; nothing when an extent is not a power of two.
  std::optional<LinearLayout> toLinear() const;

  /// Boxes that fill the tile, in address order; all have the same extents (one tensor map). Boxes
  /// have at most 256 elements a side.
  llvm::Expected<llvm::SmallVector<TmaBox, 4>> tmaBoxes() const;

  /// The same bytes with the trailing two dimensions exchanged and the other major.
  SharedLayout transposed() const;
  /// The layout of one matrix (leading dimensions dropped); matrix i starts at i * matrixBytes().
  SharedLayout matrix() const;

  bool operator==(const SharedLayout &o) const {
    return extents == o.extents && elementBytes == o.elementBytes && mode == o.mode &&
           majorDim == o.majorDim && widthBytes == o.widthBytes;
  }
  bool operator!=(const SharedLayout &o) const { return !(*this == o); }
  void print(llvm::raw_ostream &os) const;
  std::string str() const;

private:
  static llvm::Expected<SharedLayout> make(llvm::ArrayRef<int64_t> shape, unsigned elementBits,
                                           Swizzle swizzle, Major major, int64_t atomBytes);
  Index extents;
  int64_t elementBytes = 1, widthBytes = 0;
  Swizzle mode = Swizzle::None;
  Major majorDim = Major::K;
};

} // namespace tileloom::layout

#endif // TILELOOM_LAYOUT_SHAREDLAYOUT_H
