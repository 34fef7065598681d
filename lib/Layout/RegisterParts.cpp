//===- RegisterParts.cpp - Taking layouts apart and building them -----------===//
//
// The edits that derived layouts are made of: dropping a dimension or one bit position, and moving
// a step between the core and the repeats.
//
//===----------------------------------------------------------------------===//
#include "RegisterParts.h"
#include "Support.h"

using namespace llvm;

namespace tileloom::layout {

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

} // namespace tileloom::layout
