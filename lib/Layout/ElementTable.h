//===- ElementTable.h - A register layout written out -----------------------===//
//
// One number for every (register, lane, warp): a coordinate, or a byte offset. Plans are found on
// tables and checked against them in full, so that a plan that is handed out is right for every
// thread. And which registers of two layouts hold the same elements.
//
//===----------------------------------------------------------------------===//
#ifndef TILELOOM_LIB_LAYOUT_ELEMENTTABLE_H
#define TILELOOM_LIB_LAYOUT_ELEMENTTABLE_H

#include "tileloom/Layout/RegisterLayout.h"
#include <unordered_map>
#include <vector>

namespace tileloom::layout {

struct ElementTable {
  unsigned registers = 0, warps = 0;
  std::vector<int64_t> values;

  /// value(index) for every place. An index is what the register gives and what the thread gives,
  /// joined by XOR within the core and added above it.
  template <typename Fn> ElementTable(const RegisterLayout &layout, Fn &&value) {
    registers = layout.registersPerThread();
    warps = layout.warps();
    values.reserve(size_t(registers) * 32 * warps);
    std::vector<Index> ofRegisters;
    for (unsigned reg = 0; reg < registers; ++reg)
      ofRegisters.push_back(layout.indexOf(reg, 0, 0));
    Index index(layout.rank(), 0);
    for (unsigned warp = 0; warp < warps; ++warp)
      for (unsigned lane = 0; lane < 32; ++lane) {
        Index ofThread = layout.indexOf(0, lane, warp);
        for (const Index &ofRegister : ofRegisters) {
          for (unsigned dim = 0; dim < layout.rank(); ++dim) {
            int64_t core = layout.coreExtent(dim) - 1, a = ofRegister[dim], b = ofThread[dim];
            index[dim] = ((a ^ b) & core) + (a & ~core) + (b & ~core);
          }
          values.push_back(value(index));
        }
      }
  }
  int64_t at(unsigned reg, unsigned lane, unsigned warp) const {
    return values[(size_t(warp) * 32 + lane) * registers + reg];
  }
};

/// For each register of `to` a register of `from` with the same value in every thread, if all have
/// one. value(index) of `to` is what flatten(index) is of `from`. Within a warp an index is the XOR
/// of what the bits of a lane give: unless `value` breaks that, `lanes` are lane 0 and one for each
/// bit.
constexpr unsigned basisLanes[] = {0, 1, 2, 4, 8, 16};
template <typename Fn>
std::optional<llvm::SmallVector<unsigned, 16>>
matchInThread(const RegisterLayout &from, const RegisterLayout &to, Fn &&value,
              llvm::ArrayRef<unsigned> lanes = basisLanes) {
  auto held = [&](unsigned reg, unsigned lane, unsigned warp) {
    return from.flatten(from.indexOf(reg, lane, warp));
  };
  auto wanted = [&](unsigned reg, unsigned lane, unsigned warp) {
    return value(to.indexOf(reg, lane, warp));
  };
  auto same = [&](unsigned source, unsigned reg) {
    for (unsigned warp = 0; warp < to.warps(); ++warp)
      for (unsigned lane : lanes)
        if (held(source, lane, warp) != wanted(reg, lane, warp))
          return false;
    return true;
  };
  std::unordered_multimap<int64_t, unsigned> holders;
  for (unsigned reg = 0; reg < from.registersPerThread(); ++reg)
    holders.emplace(held(reg, 0, 0), reg);
  llvm::SmallVector<unsigned, 16> result;
  for (unsigned reg = 0; reg < to.registersPerThread(); ++reg) {
    std::optional<unsigned> found;
    auto range = holders.equal_range(wanted(reg, 0, 0));
    for (auto it = range.first; it != range.second; ++it)
      if ((!found || it->second < *found) && same(it->second, reg))
        found = it->second;
    if (!found)
      return std::nullopt;
    result.push_back(*found);
  }
  return result;
}

} // namespace tileloom::layout

#endif // TILELOOM_LIB_LAYOUT_ELEMENTTABLE_H
