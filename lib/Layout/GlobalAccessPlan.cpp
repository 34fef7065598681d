//===- GlobalAccessPlan.cpp - Register tiles to and from global memory ------===//
//
// Strides are known at run time only, so the plan speaks of coordinates: per dimension a function
// of the thread plus a constant per access. Layouts whose lanes and registers meet in one bit of a
// coordinate have no such form and are refused.
//
//===----------------------------------------------------------------------===//
#include "AccessPlanSupport.h"
#include "llvm/ADT/STLExtras.h"
#include <map>

using namespace llvm;

namespace tileloom::layout {

/// Coordinate of every place along one dimension.
static ElementTable coordinateTable(const RegisterLayout &regs, unsigned dim) {
  return ElementTable(regs, [dim](const Index &index) { return index[dim]; });
}

/// Whether the registers are `count` neighbours along `dim`, the first aligned, in every thread.
static bool isRun(ArrayRef<ElementTable> tables, ArrayRef<unsigned> run, unsigned dim) {
  const ElementTable &table = tables[dim];
  for (unsigned warp = 0; warp < table.warps; ++warp)
    for (unsigned lane = 0; lane < 32; ++lane)
      for (size_t i = 0; i < run.size(); ++i) {
        int64_t first = table.at(run[0], lane, warp);
        if (first % int64_t(run.size()) || table.at(run[i], lane, warp) != first + int64_t(i))
          return false;
        for (unsigned other = 0; other < tables.size(); ++other)
          if (other != dim &&
              tables[other].at(run[i], lane, warp) != tables[other].at(run[0], lane, warp))
            return false;
      }
  return true;
}

Expected<GlobalAccessPlan> globalAccessPlan(const RegisterLayout &regs, unsigned elementBits,
                                            unsigned contiguousDim, unsigned alignmentBytes,
                                            bool isStore) {
  if (contiguousDim >= regs.rank())
    return makeError("global access: contiguous dimension " + Twine(contiguousDim) +
                     " of a tile of rank " + Twine(regs.rank()));
  if (elementBits % 8 || elementBits == 0 || elementBits > 128 || !isPowerOf2(elementBits))
    return makeError("global access: found elements of " + Twine(elementBits) +
                     " bits; needs 8, 16, 32, 64 or 128");
  unsigned elementBytes = elementBits / 8;
  if (alignmentBytes < elementBytes || !isPowerOf2(alignmentBytes))
    return makeError("global access: found alignment " + Twine(alignmentBytes) +
                     "; needs a power of two of at least " + Twine(elementBytes) + " bytes");
  GlobalAccessPlan plan;
  plan.contiguousDim = contiguousDim;
  plan.copyLanes = regs.replicatedLanes();
  plan.copyWarps = regs.replicatedWarps();
  SmallVector<ElementTable, 4> tables;
  for (unsigned dim = 0; dim < regs.rank(); ++dim) {
    tables.push_back(coordinateTable(regs, dim));
    const ElementTable &table = tables.back();
    ThreadFunction f = warpFunction(regs, [&](unsigned warp) { return table.at(0, 0, warp); });
    for (unsigned bit = 0; bit < 5; ++bit)
      f.laneBases.push_back(table.at(0, 1u << bit, 0) ^ table.at(0, 0, 0));
    for (unsigned warp = 0; warp < regs.warps(); ++warp)
      for (unsigned lane = 0; lane < 32; ++lane)
        for (unsigned reg = 0; reg < table.registers; ++reg)
          if (table.at(reg, lane, warp) != table.at(reg, 0, 0) + f.at(lane, warp))
            return makeError("global access: register " + Twine(reg) + " of lane " + Twine(lane) +
                             " and its lane share a bit of coordinate " + Twine(dim));
    plan.coordinate.push_back(std::move(f));
  }
  // Registers in the order of their index, the contiguous dimension fastest; layers as for shared
  // memory.
  SmallVector<std::map<Index, unsigned>, 1> layers(1);
  for (unsigned reg = 0; reg < regs.registersPerThread(); ++reg) {
    Index key = regs.indexOf(reg, 0, 0);
    std::rotate(key.begin() + contiguousDim, key.begin() + contiguousDim + 1, key.end());
    size_t layer = 0;
    while (layer < layers.size() && layers[layer].count(key))
      ++layer;
    if (layer > 0 && isStore)
      continue;
    if (layer == layers.size())
      layers.emplace_back();
    layers[layer][key] = reg;
  }
  for (unsigned bytes = std::min(16u, alignmentBytes);; bytes /= 2) {
    unsigned count = std::max(1u, bytes / elementBytes);
    plan.accesses.clear();
    bool fits = true;
    for (const auto &layer : layers) {
      SmallVector<unsigned, 16> run;
      for (const auto &[key, reg] : layer) {
        run.push_back(reg);
        if (run.size() < count)
          continue;
        fits &= isRun(tables, run, contiguousDim);
        plan.accesses.push_back({run, regs.indexOf(run[0], 0, 0)});
        run.clear();
      }
      fits &= run.empty();
    }
    plan.vectorElements = count;
    if (fits || count == 1)
      return plan;
  }
}

} // namespace tileloom::layout
