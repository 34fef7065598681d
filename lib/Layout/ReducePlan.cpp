//===- ReducePlan.cpp - What a reduction combines ---------------------------===//
//
// Along the reduced dimension a result is spread over registers, lanes and warps. Places whose
// *other* coordinates agree belong to one result; of places that hold the same element only one
// counts. Both are linear conditions on the core (kernels and independent vectors over F2); repeats
// add whole digits.
//
//===----------------------------------------------------------------------===//
#include "tileloom/Layout/ReducePlan.h"
#include "ElementTable.h"
#include "Support.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/STLExtras.h"
#include <map>

using namespace llvm;

namespace tileloom::layout {

namespace {
/// A growing F2 span.
struct Span {
  SmallVector<uint64_t, 16> rows; // highest leading bit first
  uint64_t reduce(uint64_t vector) const {
    for (uint64_t row : rows)
      vector = std::min(vector, vector ^ row);
    return vector;
  }
  bool insert(uint64_t vector) {
    vector = reduce(vector);
    if (!vector)
      return false;
    rows.insert(find_if(rows, [&](uint64_t row) { return row < vector; }), vector);
    return true;
  }
};
} // namespace

/// Combinations of the input's bits under which the coordinates other than `dim` stay: masks of
/// bits.
static SmallVector<uint64_t, 8> keepingOthers(const LinearLayout &core, StringRef in,
                                              unsigned dim) {
  // Rows (image, mask of bits); a row whose image vanishes is a kernel vector.
  SmallVector<std::pair<uint64_t, uint64_t>, 8> rows;
  SmallVector<uint64_t, 8> kernel;
  for (unsigned bit = 0; bit < core.inBits(in); ++bit) {
    SmallVector<int64_t, 4> image = core.splitOut(core.basis(in, bit));
    image[dim] = 0;
    uint64_t vector = core.flattenOut(image), mask = uint64_t(1) << bit;
    for (const auto &row : rows)
      if ((vector ^ row.first) < vector) {
        vector ^= row.first;
        mask ^= row.second;
      }
    if (!vector) {
      kernel.push_back(mask);
      continue;
    }
    rows.insert(find_if(rows, [&](const auto &row) { return row.first < vector; }), {vector, mask});
  }
  return kernel;
}

Expected<ReducePlan> reducePlan(const RegisterLayout &layout, unsigned dim) {
  Expected<SubLayout> sliced = slice(layout, dim);
  if (!sliced)
    return sliced.takeError();
  const LinearLayout &core = layout.core();
  ReducePlan plan;
  plan.result = sliced->layout;

  // Registers, by their other coordinates, then by position along dim.
  auto others = [&](Index index) {
    index[dim] = 0;
    return layout.flatten(index);
  };
  std::map<int64_t, std::map<int64_t, unsigned>> byResult;
  for (unsigned reg = 0; reg < layout.registersPerThread(); ++reg) {
    Index index = layout.indexOf(reg, 0, 0);
    byResult[others(index)].try_emplace(index[dim], reg);
  }
  int64_t perThread = 0;
  for (unsigned first : sliced->registers) {
    plan.sources.emplace_back();
    for (const auto &[position, reg] : byResult[others(layout.indexOf(first, 0, 0))])
      plan.sources.back().push_back(reg);
    perThread = plan.sources.back().size();
  }

  // Lanes and warps that add elements; `held` is what the places inside already span along dim.
  std::string dimension = dimName(dim);
  auto alongDim = [&](StringRef in, uint64_t mask) {
    uint64_t value = 0;
    for (unsigned bit = 0; bit < core.inBits(in); ++bit)
      if (mask >> bit & 1)
        value ^= core.basis(in, bit, dimension);
    return value;
  };
  Span held;
  for (uint64_t mask : keepingOthers(core, "register", dim))
    held.insert(alongDim("register", mask));
  int64_t combined = perThread;
  for (uint64_t mask : keepingOthers(core, "lane", dim))
    if (held.insert(alongDim("lane", mask))) {
      plan.laneMasks.push_back(mask);
      combined *= 2;
    }

  std::map<int64_t, std::map<std::pair<int64_t, uint64_t>, SmallVector<unsigned, 4>>> sets;
  for (unsigned warp = 0; warp < layout.warps(); ++warp) {
    Index index = layout.indexOf(0, 0, warp);
    int64_t extent = layout.coreExtent(dim);
    auto part = std::make_pair(index[dim] / extent, held.reduce(index[dim] % extent));
    sets[others(index)][part].push_back(warp);
  }
  for (auto &[key, parts] : sets) {
    ReducePlan::WarpSet set;
    set.distinct = parts.size();
    for (auto &[part, warps] : parts)
      set.warps.push_back(warps.front());
    llvm::sort(set.warps);
    for (auto &[part, warps] : parts)
      set.warps.append(warps.begin() + 1, warps.end());
    if (combined * set.distinct != layout.shape()[dim])
      return makeError("reduce: along dimension " + Twine(dim) + " each thread group holds " +
                       Twine(combined * set.distinct) + " of " + Twine(layout.shape()[dim]) +
                       " elements under one register; convert the layout first");
    if (set.distinct > 1)
      plan.warpSets.push_back(std::move(set));
  }
  return plan;
}

Expected<SmallVector<unsigned, 16>> broadcastPlan(const RegisterLayout &source,
                                                  const RegisterLayout &layout, unsigned dim) {
  if (dim >= layout.rank())
    return makeError("broadcast: dimension " + Twine(dim) + " of a layout of rank " +
                     Twine(layout.rank()));
  auto without = [&](ArrayRef<int64_t> values) {
    Index rest(values.begin(), values.end());
    rest.erase(rest.begin() + dim);
    return rest;
  };
  if (source.shape() != ArrayRef<int64_t>(without(layout.shape())) ||
      source.warps() != layout.warps())
    return makeError("broadcast: the source is " + listText(source.shape()) + " on " +
                     Twine(source.warps()) + " warps; needs " + listText(without(layout.shape())) +
                     " on " + Twine(layout.warps()) + " warps");
  if (auto registers = matchInThread(
          source, layout, [&](const Index &index) { return source.flatten(without(index)); }))
    return std::move(*registers);
  return makeError(
      "broadcast: threads do not hold the elements that they need; convert the source to "
      "the slice of the result's layout first");
}

Expected<SmallVector<unsigned, 16>> foldPlan(const RegisterLayout &source,
                                             const RegisterLayout &result) {
  if (source.rank() != 2 || result.rank() != 2 || source.shape()[0] != result.shape()[0] ||
      source.shape()[1] % result.shape()[1] || source.warps() != result.warps())
    return makeError("fold: the source is " + listText(source.shape()) + " on " +
                     Twine(source.warps()) + " warps and the result " + listText(result.shape()) +
                     " on " + Twine(result.warps()) +
                     "; needs the same rows and warps, and columns that divide the source's");
  // A remainder by a power of two is some of the bits; another one is no XOR.
  auto lanes = isPowerOf2(result.shape()[1]) ? llvm::to_vector<32>(basisLanes)
                                             : llvm::to_vector<32>(llvm::seq(32u));
  auto folded = [&](const Index &index) {
    return result.flatten({index[0], index[1] % result.shape()[1]});
  };
  if (auto registers = matchInThread(result, source, folded, lanes))
    return std::move(*registers);
  return makeError("fold: expected a result whose columns repeat in each thread's registers, found " +
                   Twine(result.shape()[1]) + " columns");
}

} // namespace tileloom::layout
