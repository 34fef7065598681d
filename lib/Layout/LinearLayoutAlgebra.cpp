//===- LinearLayoutAlgebra.cpp - Rank, inverse, composition, division -------===//
//
// Gaussian elimination over F2 on the columns of the map, lowest input bit first. The order
// matters: the columns that enter the reduced basis are the lexicographically first independent
// ones, so a solution built from them alone is the smallest one (any other differs by a kernel
// vector, whose top bit is a bit that this solution leaves clear).
//
//===----------------------------------------------------------------------===//
#include "Support.h"
#include "tileloom/Layout/LinearLayout.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace tileloom::layout {

namespace {
/// An incrementally reduced set of vectors; each row remembers which inputs it is made of.
class Elimination {
public:
  explicit Elimination(ArrayRef<uint64_t> columns) {
    for (size_t i = 0; i < columns.size(); ++i)
      if (!insert(columns[i], uint64_t(1) << i))
        freeMask |= uint64_t(1) << i;
  }
  std::optional<uint64_t> solve(uint64_t target) const {
    uint64_t made = 0;
    reduce(target, made);
    if (target)
      return std::nullopt;
    return made;
  }
  unsigned rank() const { return rows.size(); }
  uint64_t freeInputs() const { return freeMask; }

private:
  void reduce(uint64_t &vector, uint64_t &made) const {
    for (const auto &row : rows)
      if (vector >> Log2_64(row.first) & 1) {
        vector ^= row.first;
        made ^= row.second;
      }
  }
  bool insert(uint64_t vector, uint64_t made) {
    reduce(vector, made);
    if (!vector)
      return false;
    // Kept sorted by leading bit, highest first, so that one sweep reduces completely.
    auto at = llvm::find_if(rows, [&](const auto &row) { return row.first < vector; });
    rows.insert(at, {vector, made});
    return true;
  }
  SmallVector<std::pair<uint64_t, uint64_t>, 16> rows;
  uint64_t freeMask = 0;
};
} // namespace

unsigned LinearLayout::rank() const { return Elimination(bases).rank(); }

SmallVector<uint64_t, 4> LinearLayout::freeVariableMasks() const {
  SmallVector<uint64_t, 4> masks;
  for (int64_t mask : splitIn(Elimination(bases).freeInputs()))
    masks.push_back(uint64_t(mask));
  return masks;
}

std::optional<uint64_t> LinearLayout::solve(uint64_t flatOut) const {
  return Elimination(bases).solve(flatOut);
}

Expected<LinearLayout> LinearLayout::compose(const LinearLayout &outer) const {
  SmallVector<StringRef, 4> names;
  for (const LinearDim &dim : outer.inDims)
    names.push_back(dim.name);
  Expected<LinearLayout> sorted = reorderOuts(names);
  if (!sorted)
    return sorted.takeError();
  if (sorted->outDims != outer.inDims)
    return makeError("linear layout: compose needs outputs of the size of the second map's inputs");
  for (uint64_t &basis : sorted->bases)
    basis = outer.applyFlat(basis);
  sorted->outDims = outer.outDims;
  return sorted;
}

Expected<LinearLayout> LinearLayout::invert() const {
  if (!isInvertible())
    return makeError("linear layout: not invertible: rank " + Twine(rank()) + " of " +
                     Twine(inBits()) + " input and " + Twine(outBits()) + " output bits");
  return pseudoInvert();
}

Expected<LinearLayout> LinearLayout::pseudoInvert() const {
  Elimination elimination(bases);
  if (elimination.rank() != outBits())
    return makeError("linear layout: not surjective: rank " + Twine(elimination.rank()) + " of " +
                     Twine(outBits()) + " output bits");
  LinearLayout result;
  result.inDims = outDims;
  result.outDims = inDims;
  for (unsigned bit = 0; bit < outBits(); ++bit)
    result.bases.push_back(*elimination.solve(uint64_t(1) << bit));
  return result;
}

static LinearDim &findOrAdd(SmallVectorImpl<LinearDim> &dims, StringRef name) {
  for (LinearDim &dim : dims)
    if (dim.name == name)
      return dim;
  dims.push_back({name.str(), 0});
  return dims.back();
}

LinearLayout LinearLayout::operator*(const LinearLayout &high) const {
  LinearLayout result;
  result.inDims = inDims;
  result.outDims = outDims;
  for (const LinearDim &dim : high.inDims)
    findOrAdd(result.inDims, dim.name).bits += dim.bits;
  for (const LinearDim &dim : high.outDims)
    findOrAdd(result.outDims, dim.name).bits += dim.bits;
  for (const LinearDim &in : result.inDims) {
    unsigned ownBits = inBits(in.name);
    for (unsigned bit = 0; bit < in.bits; ++bit) {
      SmallVector<int64_t, 4> image;
      for (const LinearDim &out : result.outDims)
        image.push_back(bit < ownBits
                            ? basis(in.name, bit, out.name)
                            : high.basis(in.name, bit - ownBits, out.name) << outBits(out.name));
      result.bases.push_back(result.flattenOut(image));
    }
  }
  return result;
}

std::optional<LinearLayout> LinearLayout::divide(const LinearLayout &tile) const {
  for (const LinearDim &dim : tile.inDims)
    if (dim.bits > inBits(dim.name))
      return std::nullopt;
  for (const LinearDim &dim : tile.outDims)
    if (dim.bits > outBits(dim.name))
      return std::nullopt;
  LinearLayout quotient;
  for (const LinearDim &dim : inDims)
    quotient.inDims.push_back({dim.name, dim.bits - tile.inBits(dim.name)});
  for (const LinearDim &dim : outDims)
    quotient.outDims.push_back({dim.name, dim.bits - tile.outBits(dim.name)});
  for (const LinearDim &in : inDims) {
    unsigned tileBits = tile.inBits(in.name);
    for (unsigned bit = 0; bit < in.bits; ++bit) {
      SmallVector<int64_t, 4> image;
      for (const LinearDim &out : outDims) {
        uint64_t part = basis(in.name, bit, out.name);
        unsigned low = tile.outBits(out.name);
        if (bit < tileBits && part != tile.basis(in.name, bit, out.name))
          return std::nullopt;
        if (bit >= tileBits && (part & ((uint64_t(1) << low) - 1)))
          return std::nullopt;
        image.push_back(part >> low);
      }
      if (bit >= tileBits)
        quotient.bases.push_back(quotient.flattenOut(image));
    }
  }
  return quotient;
}

LinearLayout LinearLayout::sublayout(ArrayRef<StringRef> inNames,
                                     ArrayRef<StringRef> outNames) const {
  LinearLayout result;
  for (const LinearDim &dim : outDims)
    if (is_contained(outNames, dim.name))
      result.outDims.push_back(dim);
  for (const LinearDim &in : inDims) {
    if (!is_contained(inNames, in.name))
      continue;
    result.inDims.push_back(in);
    for (unsigned bit = 0; bit < in.bits; ++bit) {
      SmallVector<int64_t, 4> image;
      for (const LinearDim &out : result.outDims)
        image.push_back(basis(in.name, bit, out.name));
      result.bases.push_back(result.flattenOut(image));
    }
  }
  return result;
}

} // namespace tileloom::layout
