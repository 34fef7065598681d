//===- AccessPlan.cpp - Addresses, vector accesses, bank conflicts ----------===//
//
// The address of a thread is linear over F2 as long as swizzle and tile are; what a register adds
// is XORed where it meets the swizzle's bits and added elsewhere. Which constant bits are XORed is
// tried, fewest first, and checked in every thread.
//
//===----------------------------------------------------------------------===//
#include "AccessPlanSupport.h"
#include "llvm/ADT/STLExtras.h"
#include <map>
#include <set>

using namespace llvm;

namespace tileloom::layout {

int64_t ThreadFunction::at(unsigned lane, unsigned warp, int64_t xorConstant) const {
  int64_t inside = xorConstant, above = 0;
  auto add = [&](int64_t basis) {
    inside ^= basis & xorMask;
    above += basis & ~xorMask;
  };
  for (size_t bit = 0; bit < laneBases.size(); ++bit)
    if (lane >> bit & 1)
      add(laneBases[bit]);
  unsigned inner = groupWarps ? warp % groupWarps : warp;
  for (size_t bit = 0; bit < warpBases.size(); ++bit)
    if (inner >> bit & 1)
      add(warpBases[bit]);
  return inside + above + (groupWarps ? int64_t(warp / groupWarps) * groupStride : 0);
}

int64_t SharedAccessPlan::addressOf(const SharedAccess &access, unsigned lane,
                                    unsigned warp) const {
  return laneBytes.at(lane, warp, access.xorBytes) + access.addBytes;
}

SmallVector<int64_t, 8> SharedAccessPlan::xorConstants() const {
  std::set<int64_t> constants;
  for (const SharedAccess &access : accesses)
    constants.insert(access.xorBytes);
  return SmallVector<int64_t, 8>(constants.begin(), constants.end());
}

ThreadFunction warpFunction(const RegisterLayout &regs, function_ref<int64_t(unsigned)> value,
                            int64_t xorMask) {
  ThreadFunction result;
  result.xorMask = xorMask;
  for (unsigned warp = 1; warp < regs.coreWarps(); warp *= 2)
    result.warpBases.push_back(basisBetween(value(0), value(warp), xorMask));
  if (regs.warps() > regs.coreWarps()) {
    result.groupWarps = regs.coreWarps();
    result.groupStride = value(regs.coreWarps()) - value(0);
  }
  return result;
}

bool fitAddress(const SharedAccessPlan &plan, SharedAccess &access, unsigned lanes, unsigned warps,
                Swizzle swizzle, function_ref<int64_t(unsigned, unsigned)> wanted) {
  int64_t constant = wanted(0, 0), laneMask = 0;
  for (int64_t basis : plan.laneBytes.laneBases)
    laneMask |= basis;
  for (int64_t basis : plan.laneBytes.warpBases)
    laneMask |= basis;
  int64_t chunkBits =
      int64_t(applySwizzle(swizzle, 0x380)) & 0x7F; // the bits that the swizzle changes
  for (int64_t mask : {laneMask & chunkBits, laneMask, chunkBits, int64_t(0)}) {
    access.xorBytes = constant & mask & plan.laneBytes.xorMask;
    access.addBytes = constant - access.xorBytes;
    bool fits = true;
    for (unsigned warp = 0; warp < warps && fits; ++warp)
      for (unsigned lane = 0; lane < lanes && fits; ++lane)
        fits = plan.addressOf(access, lane, warp) == wanted(lane, warp);
    if (fits)
      return true;
  }
  return false;
}

Expected<ElementTable> offsetTable(const RegisterLayout &regs, const SharedLayout &shared) {
  if (regs.shape() != shared.shape())
    return makeError("shared access: the register tile is " + listText(regs.shape()) +
                     ", the shared tile " + listText(shared.shape()) + "; need the same shape");
  return ElementTable(regs, [&](const Index &index) { return shared.offsetOf(index); });
}

/// Registers by byte offset in lane 0 of warp 0, in layers: a layer has one register for an offset.
/// Stores need the first layer only, loads all.
static SmallVector<std::map<int64_t, unsigned>, 1> layersByOffset(const ElementTable &table,
                                                                  bool isStore) {
  SmallVector<std::map<int64_t, unsigned>, 1> layers(1);
  for (unsigned reg = 0; reg < table.registers; ++reg) {
    int64_t offset = table.at(reg, 0, 0);
    size_t layer = 0;
    while (layer < layers.size() && layers[layer].count(offset))
      ++layer;
    if (layer > 0 && isStore)
      continue;
    if (layer == layers.size())
      layers.emplace_back();
    layers[layer][offset] = reg;
  }
  return layers;
}

/// Runs of `bytes` bytes: each an aligned sequence of elements in every thread. Nothing if some
/// register is in none.
static std::optional<SmallVector<SmallVector<unsigned, 16>, 8>>
vectorRuns(const ElementTable &table, bool isStore, int64_t bytes, int64_t elementBytes) {
  SmallVector<SmallVector<unsigned, 16>, 8> runs;
  for (const auto &layer : layersByOffset(table, isStore))
    for (auto it = layer.begin(); it != layer.end();) {
      SmallVector<unsigned, 16> run;
      int64_t start = it->first;
      for (int64_t byte = 0; byte < bytes; byte += elementBytes, ++it) {
        if (it == layer.end() || it->first != start + byte)
          return std::nullopt;
        run.push_back(it->second);
      }
      for (unsigned warp = 0; warp < table.warps; ++warp)
        for (unsigned lane = 0; lane < 32; ++lane) {
          int64_t first = table.at(run[0], lane, warp);
          if (first % bytes)
            return std::nullopt;
          for (size_t i = 1; i < run.size(); ++i)
            if (table.at(run[i], lane, warp) != first + int64_t(i) * elementBytes)
              return std::nullopt;
        }
      runs.push_back(std::move(run));
    }
  return runs;
}

static Expected<SharedAccessPlan> vectorPlan(const RegisterLayout &regs, const SharedLayout &shared,
                                             bool isStore, int64_t maxBytes = 16) {
  Expected<ElementTable> table = offsetTable(regs, shared);
  if (!table)
    return table.takeError();
  int64_t elementBytes = shared.elementBits() / 8;
  SharedAccessPlan plan;
  plan.isStore = isStore;
  plan.elementBits = shared.elementBits();
  plan.copyLanes = regs.replicatedLanes();
  plan.copyWarps = regs.replicatedWarps();
  for (int64_t bytes = std::max(maxBytes, elementBytes); bytes >= elementBytes; bytes /= 2) {
    auto runs = vectorRuns(*table, isStore, bytes, elementBytes);
    if (!runs)
      continue;
    plan.vectorBytes = bytes;
    for (int64_t xorMask : xorMasks) {
      plan.laneBytes = warpFunction(
          regs, [&](unsigned warp) { return table->at(0, 0, warp); }, xorMask);
      for (unsigned bit = 0; bit < 5; ++bit)
        plan.laneBytes.laneBases.push_back(
            basisBetween(table->at(0, 0, 0), table->at(0, 1u << bit, 0), xorMask));
      plan.accesses.clear();
      bool fits = true;
      for (const SmallVector<unsigned, 16> &run : *runs) {
        SharedAccess access;
        access.words.push_back(run);
        auto wanted = [&](unsigned lane, unsigned warp) { return table->at(run[0], lane, warp); };
        if (!(fits = fitAddress(plan, access, 32, regs.warps(), shared.swizzle(), wanted)))
          break;
        plan.accesses.push_back(std::move(access));
      }
      if (fits)
        return plan;
    }
  }
  return makeError("shared access: the addresses are not one function of lane and warp bits: "
                   "register tile " +
                   listText(regs.shape()) + " on " + Twine(regs.warps()) + " warps, " +
                   shared.str());
}

Expected<SharedAccessPlan> vectorStorePlan(const RegisterLayout &regs, const SharedLayout &shared,
                                           int64_t maxBytes) {
  return vectorPlan(regs, shared, /*isStore=*/true, maxBytes);
}

Expected<SharedAccessPlan> vectorLoadPlan(const RegisterLayout &regs, const SharedLayout &shared) {
  return vectorPlan(regs, shared, /*isStore=*/false);
}

Expected<SharedAccessPlan> sharedStorePlan(const RegisterLayout &regs, const SharedLayout &shared) {
  Expected<SharedAccessPlan> matrix = matrixStorePlan(regs, shared);
  if (matrix)
    return matrix;
  consumeError(matrix.takeError());
  return vectorStorePlan(regs, shared);
}

Expected<SharedAccessPlan> sharedLoadPlan(const RegisterLayout &regs, const SharedLayout &shared) {
  Expected<SharedAccessPlan> matrix = matrixLoadPlan(regs, shared);
  if (matrix)
    return matrix;
  consumeError(matrix.takeError());
  return vectorLoadPlan(regs, shared);
}

/// Adds one phase, in which the given threads access `bytes` bytes each: a bank serves one word at
/// a time.
static void addPhase(BankReport &report, ArrayRef<int64_t> addresses, int64_t bytes) {
  std::set<int64_t> words;
  for (int64_t address : addresses)
    for (int64_t byte = 0; byte < bytes; byte += 4)
      words.insert((address + byte) / 4);
  unsigned perBank[32] = {};
  unsigned most = 0;
  for (int64_t word : words)
    most = std::max(most, ++perBank[word % 32]);
  report.wavefronts += most;
  report.ideal += (words.size() + 31) / 32;
}

BankReport bankConflicts(const SharedAccessPlan &plan, unsigned warps) {
  BankReport report;
  bool matrix = plan.kind == SharedAccessPlan::Matrix;
  unsigned bytes = matrix ? 16 : std::max(plan.vectorBytes, 1u);
  unsigned threadsPerPhase = std::min(32u, 128 / std::max(bytes, 4u));
  for (const SharedAccess &access : plan.accesses)
    for (unsigned warp = 0; warp < warps; ++warp) {
      unsigned lanes = matrix ? 8 * access.words.size() : 32;
      for (unsigned first = 0; first < lanes; first += threadsPerPhase) {
        SmallVector<int64_t, 32> addresses;
        for (unsigned lane = first; lane < first + threadsPerPhase; ++lane)
          addresses.push_back(plan.addressOf(access, lane, warp));
        addPhase(report, addresses, bytes);
      }
    }
  return report;
}

} // namespace tileloom::layout
