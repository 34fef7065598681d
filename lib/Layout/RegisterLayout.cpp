//===- RegisterLayout.cpp - Core map plus outer repeats ---------------------===//
//
// Evaluation in both directions. Forward: the core map of the low digits of (register, lane, warp),
// plus per repeat its digit times the extent of what it repeats. Backward: the quotients by the
// core's extents are split into repeat digits, innermost first, and the core is inverted towards
// its smallest holder.
//
//===----------------------------------------------------------------------===//
#include "tileloom/Layout/RegisterLayout.h"
#include "Support.h"
#include "llvm/Support/raw_ostream.h"
#include <cassert>

using namespace llvm;

namespace tileloom::layout {

Expected<RegisterLayout> RegisterLayout::create(LinearLayout core, ArrayRef<Repeat> repeats) {
  Expected<LinearLayout> sorted = core.reorderIns({"register", "lane", "warp"});
  if (!sorted)
    return makeError("register layout: the core's inputs must be register, lane and warp: " +
                     toString(sorted.takeError()));
  if (sorted->inBits("lane") != laneBits)
    return makeError("register layout: the core has " + Twine(1u << sorted->inBits("lane")) +
                     " lanes; a warp has 32");
  if (sorted->inBits("register") > 16 || sorted->inBits("warp") > 6)
    return makeError("register layout: the core has 2^" + Twine(sorted->inBits("register")) +
                     " registers and 2^" + Twine(sorted->inBits("warp")) +
                     " warps; at most 2^16 and 2^6 are possible");
  RegisterLayout result;
  for (const LinearDim &dim : sorted->outs()) {
    if (dim.name != dimName(result.extents.size()))
      return makeError("register layout: output '" + dim.name + "' found where '" +
                       dimName(result.extents.size()) + "' was expected");
    result.extents.push_back(dim.size());
  }
  Expected<LinearLayout> inverse = sorted->pseudoInvert();
  if (!inverse)
    return makeError("register layout: the core does not hold every element: " +
                     toString(inverse.takeError()));
  uint64_t registers = uint64_t(1) << sorted->inBits("register");
  uint64_t warpCount = uint64_t(1) << sorted->inBits("warp");
  for (const Repeat &repeat : repeats) {
    bool copies = repeat.dim == -1 && repeat.kind == Repeat::Warp;
    if (repeat.count < 1 || repeat.count > (1 << 20) ||
        (!copies && (repeat.dim < 0 || repeat.dim >= int(result.rank()))))
      return makeError("register layout: bad repeat of count " + Twine(repeat.count) +
                       " along dimension " + Twine(repeat.dim) + " of " + Twine(result.rank()));
    if (repeat.count == 1)
      continue;
    result.outer.push_back(repeat);
    result.strides.push_back(copies ? 0 : result.extents[repeat.dim]);
    if (!copies)
      result.extents[repeat.dim] *= repeat.count;
    (repeat.kind == Repeat::Register ? registers : warpCount) *= repeat.count;
    if (registers > (1 << 20) || warpCount > 64)
      return makeError("register layout: " + Twine(registers) + " registers and " +
                       Twine(warpCount) + " warps are more than a CTA can have");
  }
  result.numRegisters = registers;
  result.numWarps = warpCount;
  result.coreMap = std::move(*sorted);
  result.coreInverse = std::move(*inverse);
  return result;
}

int64_t RegisterLayout::numElements() const {
  int64_t count = 1;
  for (int64_t extent : extents)
    count *= extent;
  return count;
}

int64_t RegisterLayout::coreExtent(unsigned dim) const {
  return dim < rank() ? coreMap.outs()[dim].size() : 1;
}

Index RegisterLayout::indexOf(unsigned reg, unsigned lane, unsigned warp) const {
  assert(reg < numRegisters && lane < 32 && warp < numWarps && "no such register, lane or warp");
  Index index = coreMap.apply({reg % coreRegisters(), lane, warp % coreWarps()});
  reg /= coreRegisters();
  warp /= coreWarps();
  for (size_t i = 0; i < outer.size(); ++i) {
    unsigned &digits = outer[i].kind == Repeat::Register ? reg : warp;
    if (outer[i].dim >= 0)
      index[outer[i].dim] += strides[i] * (digits % outer[i].count);
    digits /= outer[i].count;
  }
  return index;
}

int64_t RegisterLayout::flatIndexOf(unsigned reg, unsigned lane, unsigned warp) const {
  return flatten(indexOf(reg, lane, warp));
}

int64_t RegisterLayout::flatten(ArrayRef<int64_t> index) const {
  assert(index.size() == rank() && "index of another rank");
  int64_t flat = 0;
  for (unsigned dim = 0; dim < rank(); ++dim)
    flat = flat * extents[dim] + index[dim];
  return flat;
}

Index RegisterLayout::unflatten(int64_t flat) const {
  Index index(rank(), 0);
  for (unsigned dim = rank(); dim-- > 0;) {
    index[dim] = flat % extents[dim];
    flat /= extents[dim];
  }
  return index;
}

ElementOwner RegisterLayout::ownerOf(ArrayRef<int64_t> index) const {
  assert(index.size() == rank() && "index of another rank");
  Index inner, quotient;
  for (unsigned dim = 0; dim < rank(); ++dim) {
    assert(index[dim] >= 0 && index[dim] < extents[dim] && "index outside the tile");
    inner.push_back(index[dim] % coreExtent(dim));
    quotient.push_back(index[dim] / coreExtent(dim));
  }
  SmallVector<int64_t, 4> holder = coreInverse.apply(inner);
  ElementOwner owner{unsigned(holder[0]), unsigned(holder[1]), unsigned(holder[2])};
  unsigned regScale = coreRegisters(), warpScale = coreWarps();
  for (const Repeat &repeat : outer) {
    int64_t digit = 0;
    if (repeat.dim >= 0) {
      digit = quotient[repeat.dim] % repeat.count;
      quotient[repeat.dim] /= repeat.count;
    }
    if (repeat.kind == Repeat::Register) {
      owner.reg += regScale * digit;
      regScale *= repeat.count;
    } else {
      owner.warp += warpScale * digit;
      warpScale *= repeat.count;
    }
  }
  return owner;
}

bool RegisterLayout::isPrimary(unsigned reg, unsigned lane, unsigned warp) const {
  return ownerOf(indexOf(reg, lane, warp)) == ElementOwner{reg, lane, warp};
}

unsigned RegisterLayout::replicatedRegisters() const { return coreMap.freeVariableMasks()[0]; }
unsigned RegisterLayout::replicatedLanes() const { return coreMap.freeVariableMasks()[1]; }

unsigned RegisterLayout::replicatedWarps() const {
  unsigned mask = coreMap.freeVariableMasks()[2], scale = coreWarps();
  for (const Repeat &repeat : outer) {
    if (repeat.kind != Repeat::Warp)
      continue;
    if (repeat.dim < 0 && isPowerOf2(repeat.count) && isPowerOf2(scale))
      mask |= unsigned(repeat.count - 1) * scale;
    scale *= repeat.count;
  }
  return mask;
}

bool RegisterLayout::operator==(const RegisterLayout &o) const {
  if (extents != o.extents || numRegisters != o.numRegisters || numWarps != o.numWarps)
    return false;
  if (coreMap == o.coreMap && outer == o.outer)
    return true;
  for (unsigned warp = 0; warp < numWarps; ++warp)
    for (unsigned lane = 0; lane < 32; ++lane)
      for (unsigned reg = 0; reg < numRegisters; ++reg)
        if (flatIndexOf(reg, lane, warp) != o.flatIndexOf(reg, lane, warp))
          return false;
  return true;
}

void RegisterLayout::print(raw_ostream &os) const {
  os << "shape " << listText(extents) << ", " << numRegisters << " registers, " << numWarps
     << " warps\n";
  coreMap.print(os);
  for (const Repeat &repeat : outer) {
    os << "repeat " << repeat.count << " in "
       << (repeat.kind == Repeat::Register ? "registers" : "warps");
    if (repeat.dim >= 0)
      os << " along " << dimName(repeat.dim) << "\n";
    else
      os << " (copies)\n";
  }
}

std::string RegisterLayout::str() const {
  std::string text;
  raw_string_ostream os(text);
  print(os);
  return text;
}

} // namespace tileloom::layout
