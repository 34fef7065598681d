//===- RegisterSubLayouts.cpp - Slices, slots, sub-tiles, recut cores -------===//
//
// Layouts made from parts of others. Each operation takes a layout apart into its bits and repeats,
// every register digit with the source registers that it stands for, edits those, and builds the
// result together with the list of source registers.
//
//===----------------------------------------------------------------------===//
#include "Support.h"
#include "tileloom/Layout/RegisterLayout.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace tileloom::layout {

namespace {
/// A layout in pieces.
struct Parts {
  struct Bit {
    SmallVector<int64_t, 4> image; ///< per dimension
    unsigned source = 0;           ///< register bits: register number that the bit stood for
  };
  struct Digit {
    Repeat repeat;
    SmallVector<unsigned, 8> sources; ///< register repeats: one source offset per copy
  };
  SmallVector<unsigned, 4> dimBits;
  SmallVector<Bit, 8> registers, lanes, warps;
  SmallVector<Digit, 4> digits; ///< innermost first
  unsigned base = 0;            ///< source register of register 0

  explicit Parts(const RegisterLayout &layout);
  Expected<SubLayout> build() const;

  /// The register bit that alone makes bit `position` of `dim`, and nothing else; -1 if none.
  int pureRegisterBit(unsigned dim, unsigned position) const;
  /// Removes that bit position from `dim`: higher positions move down.
  void dropPosition(unsigned dim, unsigned position);
  void dropDim(unsigned dim);
  /// Turns the top bit of `dim` into (part of) its innermost repeat.
  bool peel(unsigned dim);
  /// Turns a factor two of the innermost repeat of `dim` into a core register bit.
  bool absorb(unsigned dim);
  /// Innermost repeat along dim, or digits.end().
  Digit *innermost(unsigned dim) {
    return find_if(digits, [&](const Digit &digit) { return digit.repeat.dim == int(dim); });
  }
};
} // namespace

Parts::Parts(const RegisterLayout &layout) {
  const LinearLayout &core = layout.core();
  for (const LinearDim &dim : core.outs())
    dimBits.push_back(dim.bits);
  auto take = [&](StringRef in, SmallVectorImpl<Bit> &bits) {
    for (unsigned bit = 0; bit < core.inBits(in); ++bit)
      bits.push_back({core.splitOut(core.basis(in, bit)), 1u << bit});
  };
  take("register", registers);
  take("lane", lanes);
  take("warp", warps);
  unsigned scale = layout.coreRegisters();
  for (const Repeat &repeat : layout.repeats()) {
    Digit digit{repeat, {}};
    if (repeat.kind == Repeat::Register) {
      for (int64_t copy = 0; copy < repeat.count; ++copy)
        digit.sources.push_back(scale * copy);
      scale *= repeat.count;
    }
    digits.push_back(std::move(digit));
  }
}

Expected<SubLayout> Parts::build() const {
  SmallVector<LinearDim, 4> ins{{"register", unsigned(registers.size())},
                                {"lane", unsigned(lanes.size())},
                                {"warp", unsigned(warps.size())}};
  SmallVector<LinearDim, 4> outs;
  for (size_t dim = 0; dim < dimBits.size(); ++dim)
    outs.push_back({dimName(dim), dimBits[dim]});
  SmallVector<uint64_t, 16> bases;
  for (const auto *bits : {&registers, &lanes, &warps})
    for (const Bit &bit : *bits) {
      uint64_t flat = 0;
      unsigned shift = 0;
      for (size_t dim = 0; dim < dimBits.size(); ++dim) {
        flat |= uint64_t(bit.image[dim]) << shift;
        shift += dimBits[dim];
      }
      bases.push_back(flat);
    }
  Expected<LinearLayout> core = LinearLayout::create(ins, outs, bases);
  if (!core)
    return core.takeError();
  SmallVector<Repeat, 4> repeats;
  SubLayout result;
  result.registers.push_back(base);
  auto expand = [&](ArrayRef<unsigned> sources) {
    SmallVector<unsigned, 16> grown;
    for (unsigned source : sources)
      for (unsigned inner : result.registers)
        grown.push_back(inner + source);
    result.registers = std::move(grown);
  };
  for (const Bit &bit : registers)
    expand({0u, bit.source});
  for (const Digit &digit : digits) {
    repeats.push_back(digit.repeat);
    if (digit.repeat.kind == Repeat::Register)
      expand(digit.sources);
  }
  Expected<RegisterLayout> layout = RegisterLayout::create(std::move(*core), repeats);
  if (!layout)
    return layout.takeError();
  result.layout = std::move(*layout);
  return result;
}

int Parts::pureRegisterBit(unsigned dim, unsigned position) const {
  int found = -1;
  for (size_t i = 0; i < registers.size(); ++i) {
    if (!(registers[i].image[dim] >> position & 1))
      continue;
    for (size_t other = 0; other < dimBits.size(); ++other)
      if (registers[i].image[other] != (other == dim ? int64_t(1) << position : 0))
        return -1;
    if (found >= 0)
      return -1;
    found = i;
  }
  for (const auto *bits : {&lanes, &warps})
    for (const Bit &bit : *bits)
      if (bit.image[dim] >> position & 1)
        return -1;
  return found;
}

void Parts::dropPosition(unsigned dim, unsigned position) {
  int64_t below = (int64_t(1) << position) - 1;
  for (auto *bits : {&registers, &lanes, &warps})
    for (Bit &bit : *bits)
      bit.image[dim] = (bit.image[dim] & below) | (bit.image[dim] >> 1 & ~below);
  --dimBits[dim];
}

void Parts::dropDim(unsigned dim) {
  for (auto *bits : {&registers, &lanes, &warps})
    for (Bit &bit : *bits)
      bit.image.erase(bit.image.begin() + dim);
  dimBits.erase(dimBits.begin() + dim);
  for (Digit &digit : digits)
    if (digit.repeat.dim > int(dim))
      --digit.repeat.dim;
}

bool Parts::peel(unsigned dim) {
  if (dimBits[dim] == 0)
    return false;
  int bit = pureRegisterBit(dim, dimBits[dim] - 1);
  if (bit < 0)
    return false;
  unsigned source = registers[bit].source;
  registers.erase(registers.begin() + bit);
  --dimBits[dim];
  for (auto *bits : {&registers, &lanes, &warps})
    for (Bit &other : *bits)
      other.image[dim] &= (int64_t(1) << dimBits[dim]) - 1;
  Digit *next = innermost(dim);
  if (next != digits.end() && next->repeat.kind == Repeat::Register) {
    SmallVector<unsigned, 8> merged;
    for (unsigned outer : next->sources)
      for (unsigned inner : {0u, source})
        merged.push_back(outer + inner);
    next->sources = std::move(merged);
    next->repeat.count *= 2;
  } else {
    digits.insert(digits.begin(), Digit{{Repeat::Register, int(dim), 2}, {0u, source}});
  }
  return true;
}

bool Parts::absorb(unsigned dim) {
  Digit *digit = innermost(dim);
  if (digit == digits.end() || digit->repeat.kind != Repeat::Register || digit->repeat.count % 2)
    return false;
  Bit bit{SmallVector<int64_t, 4>(dimBits.size(), 0), digit->sources[1] - digit->sources[0]};
  bit.image[dim] = int64_t(1) << dimBits[dim]++;
  registers.push_back(std::move(bit));
  SmallVector<unsigned, 8> kept;
  for (size_t i = 0; i < digit->sources.size(); i += 2)
    kept.push_back(digit->sources[i]);
  digit->sources = std::move(kept);
  digit->repeat.count /= 2;
  if (digit->repeat.count == 1) {
    base += digit->sources[0];
    digits.erase(digit);
  }
  return true;
}

static Error checkDim(const RegisterLayout &layout, unsigned dim) {
  if (dim < layout.rank())
    return Error::success();
  return makeError("dimension " + Twine(dim) + " of a layout of rank " + Twine(layout.rank()));
}

Expected<SubLayout> slice(const RegisterLayout &layout, unsigned dim) {
  if (Error error = checkDim(layout, dim))
    return std::move(error);
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
    return std::move(error);
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
    return std::move(error);
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
    return std::move(error);
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
