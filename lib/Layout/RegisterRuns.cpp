//===- RegisterRuns.cpp - Registers that hold neighbouring elements -----------------------===//
//
// Elements whose index along a dimension differs in its low bits only lie in one thread exactly if
// no lane and no warp contributes to these bits.
//
//===--------------------------------------------------------------------------------------===//

#include "tileloom/Layout/AccessPlan.h"

#include <map>

using namespace llvm;

namespace tileloom::layout {

/// Runs of `count`, or nothing if some register is in none.
static std::optional<SmallVector<SmallVector<unsigned, 16>, 8>>
runsOf(const RegisterLayout &regs, unsigned dim, int64_t count) {
  for (unsigned bit = 0; bit < RegisterLayout::laneBits; ++bit)
    if (regs.indexOf(0, 1u << bit, 0)[dim] % count)
      return std::nullopt;
  for (unsigned warp = 0; warp < regs.warps(); ++warp)
    if (regs.indexOf(0, 0, warp)[dim] % count)
      return std::nullopt;
  SmallVector<SmallVector<unsigned, 16>, 8> runs;
  std::map<std::pair<Index, unsigned>, size_t> known; // by place and number of the copy
  std::map<int64_t, unsigned> copies;
  for (unsigned reg = 0; reg < regs.registersPerThread(); ++reg) {
    Index index = regs.indexOf(reg, 0, 0);
    unsigned copy = copies[regs.flatten(index)]++;
    int64_t place = index[dim] % count;
    index[dim] -= place;
    auto [found, fresh] = known.try_emplace({index, copy}, runs.size());
    if (fresh)
      runs.emplace_back(count, ~0u);
    runs[found->second][place] = reg;
  }
  for (const auto &run : runs)
    if (is_contained(run, ~0u))
      return std::nullopt;
  return runs;
}

SmallVector<SmallVector<unsigned, 16>, 8> registerRuns(const RegisterLayout &regs, unsigned dim,
                                                       int64_t count) {
  for (; count > 1; count /= 2)
    if (auto runs = runsOf(regs, dim, count))
      return *runs;
  return *runsOf(regs, dim, 1);
}

} // namespace tileloom::layout
