//===- LinearLayout.cpp - Construction, application and printing ------------===//
//
// The bookkeeping half of LinearLayout: named dimensions over flat bit numbers. The linear algebra
// is in LinearLayoutAlgebra.cpp.
//
//===----------------------------------------------------------------------===//
#include "tileloom/Layout/LinearLayout.h"
#include "Support.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace tileloom::layout {

static unsigned totalBits(ArrayRef<LinearDim> dims) {
  unsigned bits = 0;
  for (const LinearDim &dim : dims)
    bits += dim.bits;
  return bits;
}

static unsigned shiftOf(ArrayRef<LinearDim> dims, StringRef name) {
  unsigned shift = 0;
  for (const LinearDim &dim : dims) {
    if (dim.name == name)
      return shift;
    shift += dim.bits;
  }
  return 0;
}

static unsigned bitsOf(ArrayRef<LinearDim> dims, StringRef name) {
  for (const LinearDim &dim : dims)
    if (dim.name == name)
      return dim.bits;
  return 0;
}

static uint64_t flatten(ArrayRef<LinearDim> dims, ArrayRef<int64_t> values) {
  uint64_t flat = 0;
  unsigned shift = 0;
  for (size_t i = 0; i < dims.size() && i < values.size(); ++i) {
    flat |= (uint64_t(values[i]) & (uint64_t(dims[i].size()) - 1)) << shift;
    shift += dims[i].bits;
  }
  return flat;
}

static SmallVector<int64_t, 4> split(ArrayRef<LinearDim> dims, uint64_t flat) {
  SmallVector<int64_t, 4> values;
  for (const LinearDim &dim : dims) {
    values.push_back(int64_t(flat & (uint64_t(dim.size()) - 1)));
    flat >>= dim.bits;
  }
  return values;
}

static Error checkDims(ArrayRef<LinearDim> dims, StringRef what) {
  StringSet<> names;
  unsigned bits = 0;
  for (const LinearDim &dim : dims) {
    if (!names.insert(dim.name).second)
      return makeError("linear layout: " + what + " dimension '" + dim.name + "' occurs twice");
    if (dim.bits > 62)
      return makeError("linear layout: dimension '" + dim.name + "' has " + Twine(dim.bits) +
                       " bits; at most 62 are possible");
    bits += dim.bits;
  }
  if (bits > 62)
    return makeError("linear layout: " + what + " dimensions have " + Twine(bits) +
                     " bits together; at most 62 are possible");
  return Error::success();
}

Expected<LinearLayout> LinearLayout::create(ArrayRef<LinearDim> ins, ArrayRef<LinearDim> outs,
                                            ArrayRef<uint64_t> bases) {
  if (Error error = checkDims(ins, "input"))
    return error;
  if (Error error = checkDims(outs, "output"))
    return error;
  if (bases.size() != totalBits(ins))
    return makeError("linear layout: found " + Twine(bases.size()) + " bases; the inputs need " +
                     Twine(totalBits(ins)));
  for (size_t i = 0; i < bases.size(); ++i)
    if (bases[i] >> totalBits(outs))
      return makeError("linear layout: basis " + Twine(i) + " is " + Twine(bases[i]) +
                       ", beyond the outputs' " + Twine(totalBits(outs)) + " bits");
  LinearLayout result;
  result.inDims.assign(ins.begin(), ins.end());
  result.outDims.assign(outs.begin(), outs.end());
  result.bases.assign(bases.begin(), bases.end());
  return result;
}

LinearLayout LinearLayout::identity(StringRef in, StringRef out, unsigned bits) {
  LinearLayout result;
  result.inDims.push_back({in.str(), bits});
  result.outDims.push_back({out.str(), bits});
  for (unsigned i = 0; i < bits; ++i)
    result.bases.push_back(uint64_t(1) << i);
  return result;
}

LinearLayout LinearLayout::zeros(StringRef in, StringRef out, unsigned inBits, unsigned outBits) {
  LinearLayout result;
  result.inDims.push_back({in.str(), inBits});
  result.outDims.push_back({out.str(), outBits});
  result.bases.assign(inBits, 0);
  return result;
}

unsigned LinearLayout::outBits() const { return totalBits(outDims); }
unsigned LinearLayout::inBits(StringRef name) const { return bitsOf(inDims, name); }
unsigned LinearLayout::outBits(StringRef name) const { return bitsOf(outDims, name); }
unsigned LinearLayout::inShift(StringRef name) const { return shiftOf(inDims, name); }
unsigned LinearLayout::outShift(StringRef name) const { return shiftOf(outDims, name); }

uint64_t LinearLayout::basis(StringRef in, unsigned bit) const {
  return bit < inBits(in) ? bases[inShift(in) + bit] : 0;
}

uint64_t LinearLayout::basis(StringRef in, unsigned bit, StringRef out) const {
  return (basis(in, bit) >> outShift(out)) & ((uint64_t(1) << outBits(out)) - 1);
}

uint64_t LinearLayout::applyFlat(uint64_t in) const {
  uint64_t out = 0;
  for (size_t i = 0; i < bases.size(); ++i)
    if (in >> i & 1)
      out ^= bases[i];
  return out;
}

SmallVector<int64_t, 4> LinearLayout::apply(ArrayRef<int64_t> in) const {
  return splitOut(applyFlat(flattenIn(in)));
}

uint64_t LinearLayout::flattenIn(ArrayRef<int64_t> in) const { return flatten(inDims, in); }
uint64_t LinearLayout::flattenOut(ArrayRef<int64_t> out) const { return flatten(outDims, out); }
SmallVector<int64_t, 4> LinearLayout::splitIn(uint64_t flat) const { return split(inDims, flat); }
SmallVector<int64_t, 4> LinearLayout::splitOut(uint64_t flat) const { return split(outDims, flat); }

/// The position of each name in dims, or an error if names is no permutation of them.
static Expected<SmallVector<unsigned, 4>> permutation(ArrayRef<LinearDim> dims,
                                                      ArrayRef<StringRef> names) {
  SmallVector<unsigned, 4> order;
  SmallVector<bool, 4> used(dims.size(), false);
  for (StringRef name : names) {
    auto at = find_if(dims, [&](const LinearDim &dim) { return dim.name == name; });
    if (at == dims.end() || used[at - dims.begin()])
      return makeError("linear layout: '" + name + "' is not a dimension, or named twice");
    used[at - dims.begin()] = true;
    order.push_back(at - dims.begin());
  }
  if (order.size() != dims.size())
    return makeError("linear layout: found " + Twine(order.size()) + " dimension names; need " +
                     Twine(dims.size()));
  return order;
}

Expected<LinearLayout> LinearLayout::reorderIns(ArrayRef<StringRef> names) const {
  Expected<SmallVector<unsigned, 4>> order = permutation(inDims, names);
  if (!order)
    return order.takeError();
  LinearLayout result;
  result.outDims = outDims;
  for (unsigned dim : *order) {
    result.inDims.push_back(inDims[dim]);
    for (unsigned bit = 0; bit < inDims[dim].bits; ++bit)
      result.bases.push_back(basis(inDims[dim].name, bit));
  }
  return result;
}

Expected<LinearLayout> LinearLayout::reorderOuts(ArrayRef<StringRef> names) const {
  Expected<SmallVector<unsigned, 4>> order = permutation(outDims, names);
  if (!order)
    return order.takeError();
  LinearLayout result;
  result.inDims = inDims;
  for (unsigned dim : *order)
    result.outDims.push_back(outDims[dim]);
  for (uint64_t basis : bases) {
    SmallVector<int64_t, 4> values = splitOut(basis), sorted;
    for (unsigned dim : *order)
      sorted.push_back(values[dim]);
    result.bases.push_back(result.flattenOut(sorted));
  }
  return result;
}

void LinearLayout::print(raw_ostream &os) const {
  unsigned flat = 0;
  for (const LinearDim &in : inDims) {
    os << in.name << ":";
    for (unsigned bit = 0; bit < in.bits; ++bit, ++flat) {
      SmallVector<int64_t, 4> values = splitOut(bases[flat]);
      os << (bit ? ", " : " ") << (in.size() >> (in.bits - bit)) << "->(";
      for (size_t i = 0; i < values.size(); ++i)
        os << (i ? "," : "") << values[i];
      os << ")";
    }
    os << "\n";
  }
  os << "out:";
  for (const LinearDim &out : outDims)
    os << " " << out.name << "(" << out.size() << ")";
  os << "\n";
}

std::string LinearLayout::str() const {
  std::string text;
  raw_string_ostream os(text);
  print(os);
  return text;
}

} // namespace tileloom::layout
