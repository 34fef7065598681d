//===- RegisterSubLayouts.cpp - Slices, slots, sub-tiles, recut cores -------===//
//
// Layouts made from parts of others, by editing the pieces of RegisterParts.h. Each comes with the
// list of source registers that it takes, because its own numbering may differ.
//
//===----------------------------------------------------------------------===//
#include "RegisterParts.h"
#include "Support.h"

using namespace llvm;

namespace tileloom::layout {

static Error checkDim(const RegisterLayout &layout, unsigned dim) {
  if (dim < layout.rank())
    return Error::success();
  return makeError("dimension " + Twine(dim) + " of a layout of rank " + Twine(layout.rank()));
}

Expected<SubLayout> slice(const RegisterLayout &layout, unsigned dim) {
  if (Error error = checkDim(layout, dim))
    return error;
  Parts parts(layout);
  erase_if(parts.digits, [&](const Parts::Digit &digit) {
    return digit.repeat.dim == int(dim) && digit.repeat.kind == Repeat::Register;
  });
  for (Parts::Digit &digit : parts.digits)
    if (digit.repeat.dim == int(dim))
      digit.repeat.dim = -1;
  parts.dropDim(dim);
  // Registers that now hold what lower ones hold add nothing. Found per bit: the free bits of the
  // map.
  Expected<SubLayout> whole = parts.build();
  if (!whole)
    return whole.takeError();
  unsigned copies = whole->layout.replicatedRegisters();
  for (unsigned bit = parts.registers.size(); bit-- > 0;)
    if (copies >> bit & 1)
      parts.registers.erase(parts.registers.begin() + bit);
  return parts.build();
}

Expected<RegisterLayout> expandDims(const RegisterLayout &layout, unsigned dim) {
  if (dim > layout.rank())
    return makeError("expandDims: position " + Twine(dim) + " in a layout of rank " +
                     Twine(layout.rank()));
  Parts parts(layout);
  for (auto *bits : {&parts.registers, &parts.lanes, &parts.warps})
    for (Parts::Bit &bit : *bits)
      bit.image.insert(bit.image.begin() + dim, 0);
  parts.dimBits.insert(parts.dimBits.begin() + dim, 0);
  for (Parts::Digit &digit : parts.digits)
    if (digit.repeat.dim >= int(dim))
      ++digit.repeat.dim;
  Expected<SubLayout> result = parts.build();
  if (!result)
    return result.takeError();
  return std::move(result->layout);
}

Expected<RegisterLayout> permuteDims(const RegisterLayout &layout, ArrayRef<unsigned> order) {
  SmallVector<int, 4> newPlace(layout.rank(), -1);
  for (size_t i = 0; i < order.size(); ++i) {
    if (order[i] >= layout.rank() || newPlace[order[i]] >= 0)
      return makeError("permuteDims: the order is not a permutation of the dimensions");
    newPlace[order[i]] = i;
  }
  if (order.size() != layout.rank())
    return makeError("permuteDims: found " + Twine(order.size()) + " dimensions; the layout has " +
                     Twine(layout.rank()));
  Parts parts(layout);
  auto permuted = [&](auto values) {
    auto result = values;
    for (size_t i = 0; i < order.size(); ++i)
      result[i] = values[order[i]];
    return result;
  };
  for (auto *bits : {&parts.registers, &parts.lanes, &parts.warps})
    for (Parts::Bit &bit : *bits)
      bit.image = permuted(bit.image);
  parts.dimBits = permuted(parts.dimBits);
  for (Parts::Digit &digit : parts.digits)
    if (digit.repeat.dim >= 0)
      digit.repeat.dim = newPlace[digit.repeat.dim];
  Expected<SubLayout> result = parts.build();
  if (!result)
    return result.takeError();
  return std::move(result->layout);
}

Expected<int64_t> slotCount(const RegisterLayout &layout, unsigned dim) {
  if (Error error = checkDim(layout, dim))
    return error;
  Parts parts(layout);
  int64_t count = 1;
  for (const Parts::Digit &digit : parts.digits)
    if (digit.repeat.dim == int(dim) && digit.repeat.kind == Repeat::Register)
      count *= digit.repeat.count;
  for (unsigned position = 0; position < parts.dimBits[dim]; ++position)
    if (parts.pureRegisterBit(dim, position) >= 0)
      count *= 2;
  return count;
}

Expected<SubLayout> rowSlot(const RegisterLayout &layout, unsigned dim, int64_t slot,
                            int64_t count) {
  if (Error error = checkDim(layout, dim))
    return error;
  if (count < 1 || slot < 0 || slot >= count)
    return makeError("rowSlot: no slot " + Twine(slot) + " among " + Twine(count));
  Parts parts(layout);
  int64_t left = count;
  // Shares are cut from the outside in, so that slots ascend with the index: register repeats, then
  // register bits of the core.
  for (size_t i = parts.digits.size(); i-- > 0 && left > 1;) {
    Parts::Digit &digit = parts.digits[i];
    if (digit.repeat.dim != int(dim) || digit.repeat.kind != Repeat::Register)
      continue;
    int64_t have = digit.repeat.count;
    if (left % have && have % left)
      break;
    int64_t shares = std::min(left, have), kept = have / shares;
    left /= shares;
    int64_t share = slot / left;
    slot %= left;
    SmallVector<unsigned, 8> sources(digit.sources.begin() + share * kept,
                                     digit.sources.begin() + (share + 1) * kept);
    unsigned first = sources[0];
    for (unsigned &source : sources)
      source -= first;
    parts.base += first;
    digit.sources = std::move(sources);
    digit.repeat.count = kept;
    if (kept == 1)
      parts.digits.erase(&digit);
  }
  for (unsigned position = parts.dimBits[dim]; position-- > 0 && left > 1;) {
    int bit = parts.pureRegisterBit(dim, position);
    if (bit < 0 || left % 2)
      continue;
    left /= 2;
    if (slot / left)
      parts.base += parts.registers[bit].source;
    slot %= left;
    parts.registers.erase(parts.registers.begin() + bit);
    parts.dropPosition(dim, position);
  }
  if (left > 1) {
    Expected<int64_t> slots = slotCount(layout, dim);
    if (!slots)
      return slots.takeError();
    return makeError("rowSlot: cannot cut the " + Twine(*slots) +
                     " positions that a thread holds along "
                     "dimension " +
                     Twine(dim) + " into " + Twine(count) + " equal shares");
  }
  return parts.build();
}

Expected<SubLayout> extract(const RegisterLayout &layout, unsigned dim, int64_t begin,
                            int64_t size) {
  if (Error error = checkDim(layout, dim))
    return error;
  if (begin < 0 || size < 1 || begin + size > layout.shape()[dim])
    return makeError("extract: [" + Twine(begin) + ", " + Twine(begin + size) +
                     ") is not inside extent " + Twine(layout.shape()[dim]));
  Parts parts(layout);
  while (parts.peel(dim))
    ;
  int64_t extent = layout.shape()[dim], first = begin;
  for (size_t i = parts.digits.size(); i-- > 0 && size < extent;) {
    Parts::Digit &digit = parts.digits[i];
    if (digit.repeat.dim != int(dim))
      continue;
    if (digit.repeat.kind == Repeat::Warp)
      break;
    int64_t stride = extent / digit.repeat.count, from = first / stride;
    int64_t to = (first + size - 1) / stride + 1; // copies [from, to)
    bool whole = first % stride == 0 && size % stride == 0;
    if (!whole && to - from > 1)
      break;
    parts.base += digit.sources[from];
    SmallVector<unsigned, 8> sources;
    for (int64_t copy = from; copy < to; ++copy)
      sources.push_back(digit.sources[copy] - digit.sources[from]);
    digit.sources = std::move(sources);
    digit.repeat.count = to - from;
    first -= from * stride;
    extent = (to - from) * stride;
    if (digit.repeat.count == 1)
      parts.digits.erase(&digit);
  }
  if (size < extent)
    return makeError("extract: [" + Twine(begin) + ", " + Twine(begin + size) + ") of dimension " +
                     Twine(dim) + " is not held in whole registers of every thread");
  return parts.build();
}

Expected<SubLayout> withCore(const RegisterLayout &layout, ArrayRef<int64_t> coreExtents) {
  if (coreExtents.size() != layout.rank())
    return makeError("withCore: found " + Twine(coreExtents.size()) + " extents; the layout has " +
                     Twine(layout.rank()));
  Parts parts(layout);
  for (unsigned dim = 0; dim < layout.rank(); ++dim) {
    if (!isPowerOf2(coreExtents[dim]))
      return makeError("withCore: extents must be powers of two; found " + listText(coreExtents));
    unsigned target = log2Exact(coreExtents[dim]);
    while (parts.dimBits[dim] != target)
      if (!(parts.dimBits[dim] < target ? parts.absorb(dim) : parts.peel(dim)))
        return makeError("withCore: dimension " + Twine(dim) + " (core extent " +
                         Twine(int64_t(1) << parts.dimBits[dim]) + ") cannot be cut at " +
                         Twine(coreExtents[dim]) + ": no register holds that step");
  }
  return parts.build();
}

} // namespace tileloom::layout
