//===- SharedLayout.cpp - Swizzled tiles in shared memory -------------------===//
//
// Offsets, their inverse, the TMA boxes that fill a tile, and the linear map of power-of-two tiles.
// All follow from one formula: a plain offset [matrix][atom column][row][byte in the atom's row],
// then the swizzle.
//
//===----------------------------------------------------------------------===//
#include "tileloom/Layout/SharedLayout.h"
#include "Support.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace tileloom::layout {

unsigned swizzleWidth(Swizzle swizzle) {
  switch (swizzle) {
  case Swizzle::None:
    return 0;
  case Swizzle::Bytes32:
    return 32;
  case Swizzle::Bytes64:
    return 64;
  case Swizzle::Bytes128:
  case Swizzle::Bytes128Atom32:
    return 128;
  }
  return 0;
}

unsigned swizzlePeriod(Swizzle swizzle) {
  return swizzle == Swizzle::Bytes128Atom32 ? 512 : 8 * swizzleWidth(swizzle);
}

// PTX ISA 5.5.7: bits of the 128-byte line number are XORed into the chunk number.
uint64_t applySwizzle(Swizzle swizzle, uint64_t address) {
  switch (swizzle) {
  case Swizzle::None:
    return address;
  case Swizzle::Bytes32:
    return address ^ ((address >> 3) & 0x10);
  case Swizzle::Bytes64:
    return address ^ ((address >> 3) & 0x30);
  case Swizzle::Bytes128:
    return address ^ ((address >> 3) & 0x70);
  case Swizzle::Bytes128Atom32:
    return address ^ ((address >> 2) & 0x60);
  }
  return address;
}

static StringRef swizzleName(Swizzle swizzle) {
  switch (swizzle) {
  case Swizzle::None:
    return "none";
  case Swizzle::Bytes32:
    return "32";
  case Swizzle::Bytes64:
    return "64";
  case Swizzle::Bytes128:
    return "128";
  case Swizzle::Bytes128Atom32:
    return "128 (32-byte chunks)";
  }
  return "";
}

Expected<Swizzle> swizzleFromBytes(unsigned bytes) {
  for (Swizzle swizzle : {Swizzle::None, Swizzle::Bytes32, Swizzle::Bytes64, Swizzle::Bytes128})
    if (swizzleWidth(swizzle) == bytes)
      return swizzle;
  return makeError("swizzle: found " + Twine(bytes) + " bytes; needs 0, 32, 64 or 128");
}

Expected<SharedLayout> SharedLayout::make(ArrayRef<int64_t> shape, unsigned elementBits,
                                          Swizzle swizzle, Major major, int64_t atomBytes) {
  if (elementBits != 8 && elementBits != 16 && elementBits != 32 && elementBits != 64)
    return makeError("shared layout: found elements of " + Twine(elementBits) +
                     " bits; needs 8, 16, 32 or 64");
  for (int64_t extent : shape)
    if (extent <= 0)
      return makeError("shared layout: extents must be positive; found " + listText(shape));
  if (shape.empty() || (shape.size() == 1 && (major == Major::MN || atomBytes)))
    return makeError("shared layout: found rank " + Twine(shape.size()) + "; needs at least " +
                     (shape.empty() ? "1" : "2 for a swizzle or a transposed view"));
  SharedLayout result;
  result.extents.assign(shape.begin(), shape.end());
  result.elementBytes = elementBits / 8;
  result.mode = swizzle;
  result.majorDim = major;
  int64_t rowBytes = result.contiguousExtent() * result.elementBytes;
  result.widthBytes = atomBytes ? atomBytes : rowBytes;
  if (rowBytes % result.widthBytes)
    return makeError("shared layout: the contiguous extent of " + listText(shape) + " is " +
                     Twine(rowBytes) + " bytes; needs a multiple of " + Twine(result.widthBytes) +
                     " (swizzle " + swizzleName(swizzle) + ")");
  return result;
}

Expected<SharedLayout> SharedLayout::create(ArrayRef<int64_t> shape, unsigned elementBits,
                                            Swizzle swizzle, Major major) {
  return make(shape, elementBits, swizzle, major, swizzleWidth(swizzle));
}

Expected<SharedLayout> SharedLayout::coreMatrices(ArrayRef<int64_t> shape, unsigned elementBits,
                                                  Major major) {
  return make(shape, elementBits, Swizzle::None, major, 16);
}

Swizzle SharedLayout::widestSwizzle(ArrayRef<int64_t> shape, unsigned elementBits, Major major) {
  for (Swizzle swizzle : {Swizzle::Bytes128, Swizzle::Bytes64, Swizzle::Bytes32}) {
    Expected<SharedLayout> layout = create(shape, elementBits, swizzle, major);
    if (layout)
      return swizzle;
    consumeError(layout.takeError());
  }
  return Swizzle::None;
}

int64_t SharedLayout::contiguousExtent() const {
  return majorDim == Major::K ? extents.back() : extents[rank() - 2];
}

int64_t SharedLayout::rowCount() const {
  if (rank() < 2)
    return 1;
  return majorDim == Major::K ? extents[rank() - 2] : extents.back();
}

int64_t SharedLayout::sizeBytes() const {
  int64_t size = elementBytes;
  for (int64_t extent : extents)
    size *= extent;
  return size;
}

int64_t SharedLayout::requiredAlignment() const {
  return mode == Swizzle::None ? 128 : std::max(128u, swizzlePeriod(mode));
}

int64_t SharedLayout::offsetOf(ArrayRef<int64_t> index) const {
  int64_t matrixIndex = 0;
  for (unsigned dim = 0; dim + 2 < rank(); ++dim)
    matrixIndex = matrixIndex * extents[dim] + index[dim];
  int64_t row = rank() < 2 ? 0 : index[rank() - 2], column = index[rank() - 1];
  if (majorDim == Major::MN)
    std::swap(row, column);
  int64_t byte = column * elementBytes;
  int64_t plain = matrixIndex * matrixBytes() +
                  (byte / widthBytes * rowCount() + row) * widthBytes + byte % widthBytes;
  return applySwizzle(mode, plain);
}

std::optional<Index> SharedLayout::indexOf(int64_t byteOffset) const {
  if (byteOffset < 0 || byteOffset >= sizeBytes())
    return std::nullopt;
  int64_t plain = applySwizzle(mode, byteOffset);
  int64_t matrixIndex = plain / matrixBytes();
  plain %= matrixBytes();
  int64_t row = plain / widthBytes % rowCount();
  int64_t column =
      (plain / widthBytes / rowCount() * widthBytes + plain % widthBytes) / elementBytes;
  Index index(rank(), 0);
  if (majorDim == Major::MN)
    std::swap(row, column);
  index[rank() - 1] = column;
  if (rank() >= 2)
    index[rank() - 2] = row;
  for (unsigned dim = rank() < 2 ? 0 : rank() - 2; dim-- > 0;) {
    index[dim] = matrixIndex % extents[dim];
    matrixIndex /= extents[dim];
  }
  return index;
}

std::optional<LinearLayout> SharedLayout::toLinear() const {
  SmallVector<LinearDim, 4> outs;
  unsigned bits = 0;
  for (unsigned dim = 0; dim < rank(); ++dim) {
    if (!isPowerOf2(extents[dim]))
      return std::nullopt;
    outs.push_back({dimName(dim), log2Exact(extents[dim])});
    bits += outs.back().bits;
  }
  unsigned byteBits = log2Exact(elementBytes);
  SmallVector<uint64_t, 16> bases(byteBits, 0);
  for (unsigned bit = byteBits; bit < bits + byteBits; ++bit) {
    uint64_t flat = 0;
    unsigned shift = 0;
    std::optional<Index> index = indexOf(int64_t(1) << bit);
    for (unsigned dim = 0; dim < rank(); ++dim) {
      flat |= uint64_t((*index)[dim]) << shift;
      shift += outs[dim].bits;
    }
    bases.push_back(flat);
  }
  Expected<LinearLayout> result = LinearLayout::create({{"offset", bits + byteBits}}, outs, bases);
  if (!result) {
    consumeError(result.takeError());
    return std::nullopt;
  }
  return std::move(*result);
}

static int64_t largestDivisor(int64_t value, int64_t limit) {
  int64_t divisor = std::min(value, limit);
  while (value % divisor)
    --divisor;
  return divisor;
}

Expected<SmallVector<TmaBox, 4>> SharedLayout::tmaBoxes() const {
  if (rank() > 5)
    return makeError("TMA: found rank " + Twine(rank()) +
                     "; a tensor map has at most 5 dimensions");
  int64_t inner = widthBytes / elementBytes, rowsPerBox = largestDivisor(rowCount(), 256);
  if (inner > 256 && rowCount() == 1)
    inner = largestDivisor(inner, 256);
  if (inner > 256)
    return makeError("TMA: rows of " + Twine(inner) +
                     " elements without a swizzle; a box has at most 256 a side");
  if (inner * elementBytes % 16)
    return makeError("TMA: a box's rows are " + Twine(inner * elementBytes) +
                     " bytes; need a multiple of 16");
  int64_t perRow = contiguousExtent() / inner, leading = 1;
  bool whole = perRow == 1 && rowsPerBox == rowCount(); // then leading dimensions fit into the box
  TmaBox box;
  box.extents = {inner};
  if (rank() >= 2)
    box.extents.push_back(rowsPerBox);
  for (unsigned dim = rank() < 2 ? 0 : rank() - 2; dim-- > 0;) {
    whole &= extents[dim] <= 256;
    leading *= extents[dim];
  }
  for (unsigned dim = rank() < 2 ? 0 : rank() - 2; dim-- > 0;)
    box.extents.push_back(whole ? extents[dim] : 1);
  SmallVector<TmaBox, 4> boxes;
  for (int64_t matrixIndex = 0; matrixIndex < (whole ? 1 : leading); ++matrixIndex)
    for (int64_t column = 0; column < perRow; ++column)
      for (int64_t row = 0; row < rowCount(); row += rowsPerBox) {
        box.origin = {column * inner};
        if (rank() >= 2)
          box.origin.push_back(row);
        int64_t rest = matrixIndex;
        for (unsigned dim = rank() < 2 ? 0 : rank() - 2; dim-- > 0;) {
          box.origin.push_back(rest % extents[dim]);
          rest /= extents[dim];
        }
        box.byteOffset =
            matrixIndex * matrixBytes() + (column * rowCount() + row) * inner * elementBytes;
        if (box.byteOffset % 128)
          return makeError("TMA: box " + Twine(boxes.size()) + " of " + listText(extents) +
                           " would start at byte " + Twine(box.byteOffset) +
                           "; needs a multiple of 128");
        boxes.push_back(box);
      }
  return boxes;
}

SharedLayout SharedLayout::transposed() const {
  SharedLayout result = *this;
  if (rank() < 2)
    return result;
  std::swap(result.extents[rank() - 1], result.extents[rank() - 2]);
  result.majorDim = majorDim == Major::K ? Major::MN : Major::K;
  return result;
}

SharedLayout SharedLayout::matrix() const {
  SharedLayout result = *this;
  if (rank() > 2)
    result.extents.erase(result.extents.begin(), result.extents.end() - 2);
  return result;
}

void SharedLayout::print(raw_ostream &os) const {
  os << "shared " << listText(extents) << " x " << elementBits() << " bits, swizzle "
     << swizzleName(mode) << ", " << (majorDim == Major::K ? "K" : "MN") << "-major, atoms of "
     << widthBytes << " bytes";
}

std::string SharedLayout::str() const {
  std::string text;
  raw_string_ostream os(text);
  print(os);
  return text;
}

} // namespace tileloom::layout
