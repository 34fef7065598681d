//===- NamedRegisterLayouts.cpp - Blocked tiles and instruction fragments ---===//
//
// Each named layout lists its core's bits, lowest first, and what is repeated outside. To add one:
// write the table of its instruction as "bit -> (dim0, dim1)" steps, with the PTX section beside
// it, and a brute-force test that states the instruction's formula anew.
//
//===----------------------------------------------------------------------===//
#include "Support.h"
#include "tileloom/Layout/RegisterLayout.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace tileloom::layout {

namespace {
/// One bit of a core: what it adds to each coordinate (all zero: copies).
using Step = SmallVector<int64_t, 4>;

/// Collects the bits of a core.
struct CoreBuilder {
  explicit CoreBuilder(unsigned rank) : rank(rank) {}
  void addRegister(Step step) { registers.push_back(std::move(step)); }
  void addLane(Step step) { lanes.push_back(std::move(step)); }
  void addWarp(Step step) { warps.push_back(std::move(step)); }
  Step along(unsigned dim, int64_t distance) const {
    Step step(rank, 0);
    step[dim] = distance;
    return step;
  }

  Expected<RegisterLayout> build(ArrayRef<Repeat> repeats) const {
    SmallVector<LinearDim, 4> ins{{"register", unsigned(registers.size())},
                                  {"lane", unsigned(lanes.size())},
                                  {"warp", unsigned(warps.size())}};
    SmallVector<LinearDim, 4> outs;
    for (unsigned dim = 0; dim < rank; ++dim) {
      int64_t bits = 0;
      for (const auto *list : {&registers, &lanes, &warps})
        for (const Step &step : *list)
          bits |= step[dim];
      outs.push_back({dimName(dim), bits ? Log2_64(uint64_t(bits)) + 1 : 0});
    }
    SmallVector<uint64_t, 16> bases;
    for (const auto *list : {&registers, &lanes, &warps})
      for (const Step &step : *list) {
        uint64_t flat = 0;
        unsigned shift = 0;
        for (unsigned dim = 0; dim < rank; ++dim) {
          flat |= uint64_t(step[dim]) << shift;
          shift += outs[dim].bits;
        }
        bases.push_back(flat);
      }
    Expected<LinearLayout> core = LinearLayout::create(ins, outs, bases);
    if (!core)
      return core.takeError();
    return RegisterLayout::create(std::move(*core), repeats);
  }

  unsigned rank;
  SmallVector<Step, 8> registers, lanes, warps;
};
} // namespace

static Error checkMatrix(StringRef what, ArrayRef<int64_t> shape, int64_t rowUnit,
                         int64_t colUnit) {
  if (shape.size() != 2 || shape[0] <= 0 || shape[1] <= 0)
    return makeError(what + ": needs a shape of two positive extents; found " + listText(shape));
  if (shape[0] % rowUnit || shape[1] % colUnit)
    return makeError(what + ": shape " + listText(shape) + " is not a multiple of " +
                     listText({rowUnit, colUnit}));
  return Error::success();
}

static Error checkWarpgroups(StringRef what, unsigned warps) {
  if (warps == 0 || warps % 4 || warps > 64)
    return makeError(what + ": found " + Twine(warps) + " warps; needs whole warpgroups of 4");
  return Error::success();
}

static Error checkElementBits(StringRef what, unsigned elementBits) {
  if (elementBits != 8 && elementBits != 16 && elementBits != 32)
    return makeError(what + ": found elements of " + Twine(elementBits) +
                     " bits; needs 8, 16 or 32");
  return Error::success();
}

Expected<RegisterLayout> RegisterLayout::blocked(ArrayRef<int64_t> shape,
                                                 ArrayRef<int64_t> sizePerThread,
                                                 ArrayRef<int64_t> threadsPerWarp,
                                                 ArrayRef<int64_t> warpsPerCta,
                                                 ArrayRef<unsigned> order) {
  unsigned rank = shape.size();
  if (sizePerThread.size() != rank || threadsPerWarp.size() != rank || warpsPerCta.size() != rank ||
      order.size() != rank)
    return makeError("blocked layout: all parameters need the rank of the shape, " + Twine(rank));
  SmallVector<bool, 4> seen(rank, false);
  int64_t threads = 1;
  for (unsigned dim = 0; dim < rank; ++dim) {
    if (order[dim] >= rank || seen[order[dim]])
      return makeError("blocked layout: order is not a permutation of the dimensions");
    seen[order[dim]] = true;
    if (shape[dim] <= 0)
      return makeError("blocked layout: extents must be positive; found " + listText(shape));
    if (!isPowerOf2(sizePerThread[dim]) || !isPowerOf2(threadsPerWarp[dim]))
      return makeError("blocked layout: sizePerThread " + listText(sizePerThread) +
                       " and threadsPerWarp " + listText(threadsPerWarp) +
                       " must be powers of two");
    if (warpsPerCta[dim] <= 0)
      return makeError("blocked layout: warpsPerCta must be positive; found " +
                       listText(warpsPerCta));
    threads *= threadsPerWarp[dim];
  }
  if (threads != 32)
    return makeError("blocked layout: threadsPerWarp " + listText(threadsPerWarp) + " is " +
                     Twine(threads) + " threads; a warp has 32");
  for (unsigned i = 0; i + 1 < rank; ++i)
    if (!isPowerOf2(warpsPerCta[order[i]]))
      return makeError(
          "blocked layout: only the slowest dimension may have a warp count that is no "
          "power of two; found " +
          listText(warpsPerCta));

  CoreBuilder core(rank);
  Index covered(rank, 1), limit;
  for (int64_t extent : shape)
    limit.push_back(powerOf2Part(extent));
  // The next bit along a dimension, or a copy once the extent is used up.
  auto next = [&](unsigned dim) {
    if (covered[dim] == limit[dim])
      return Step(rank, 0);
    covered[dim] *= 2;
    return core.along(dim, covered[dim] / 2);
  };
  for (unsigned dim : order)
    for (int64_t i = 1; i < sizePerThread[dim]; i *= 2)
      if (covered[dim] < limit[dim]) // registers that would be copies are left out
        core.addRegister(next(dim));
  for (unsigned dim : order)
    for (int64_t i = 1; i < threadsPerWarp[dim]; i *= 2)
      core.addLane(next(dim));
  for (unsigned dim : order)
    for (int64_t i = 1; i < powerOf2Part(warpsPerCta[dim]); i *= 2)
      core.addWarp(next(dim));
  SmallVector<Repeat, 4> repeats;
  Index left;
  for (unsigned dim = 0; dim < rank; ++dim)
    left.push_back(shape[dim] / covered[dim]);
  if (rank) {
    unsigned slowest = order.back();
    int64_t odd = warpsPerCta[slowest] / powerOf2Part(warpsPerCta[slowest]);
    bool fits = left[slowest] % odd == 0;
    repeats.push_back({Repeat::Warp, fits ? int(slowest) : -1, odd});
    left[slowest] /= fits ? odd : 1;
  }
  for (unsigned dim : order)
    repeats.push_back({Repeat::Register, int(dim), left[dim]});
  return core.build(repeats);
}

/// The common 16-row fragment of mma and wgmma: an 8-row group per register bit, g = lane / 4 its
/// row, lane % 4 and the bits inside a 32-bit register the columns. `perRegister` elements share a
/// register.
static CoreBuilder fragmentCore(int64_t perRegister, bool rowsBeforeColumns) {
  CoreBuilder core(2);
  for (int64_t i = 1; i < perRegister; i *= 2)
    core.addRegister({0, i});
  core.addLane({0, perRegister});
  core.addLane({0, 2 * perRegister});
  for (int64_t row : {1, 2, 4})
    core.addLane({row, 0});
  core.addRegister({8, 0});
  if (rowsBeforeColumns)
    core.addRegister({0, 4 * perRegister});
  return core;
}

// D: row = 16w + t/4 + 8*((r>>1)&1), column = 8*(r>>2) + 2*(t%4) + (r&1)  (PTX ISA 9.7.15.5.1.1).
Expected<RegisterLayout> RegisterLayout::wgmmaAccumulator(ArrayRef<int64_t> shape, unsigned warps,
                                                          unsigned elementBits) {
  StringRef what = "wgmma accumulator";
  if (Error error = checkWarpgroups(what, warps))
    return error;
  if (elementBits != 16 && elementBits != 32)
    return makeError(what + ": found elements of " + Twine(elementBits) + " bits; needs 16 or 32");
  int64_t groups = warps / 4;
  if (Error error = checkMatrix(what, shape, 64 * groups, 8))
    return error;
  CoreBuilder core = fragmentCore(2, false);
  core.addWarp({16, 0});
  core.addWarp({32, 0});
  return core.build({{Repeat::Register, 1, shape[1] / 8},
                     {Repeat::Register, 0, shape[0] / (64 * groups)},
                     {Repeat::Warp, 0, groups}});
}

// A, register r, part b of it: row = 16w + t/4 + 8*(r&1), k = p*(t%4) + b + 4*p*(r>>1), p = parts
// in a 32-bit register (PTX ISA 9.7.15.5.1.1).
Expected<RegisterLayout> RegisterLayout::wgmmaOperandA(ArrayRef<int64_t> shape,
                                                       unsigned elementBits, unsigned warps) {
  StringRef what = "wgmma operand A";
  if (Error error = checkWarpgroups(what, warps))
    return error;
  if (Error error = checkElementBits(what, elementBits))
    return error;
  int64_t groups = warps / 4, perRegister = 32 / elementBits;
  if (Error error = checkMatrix(what, shape, 64 * groups, 8 * perRegister))
    return error;
  CoreBuilder core = fragmentCore(perRegister, true);
  core.addWarp({16, 0});
  core.addWarp({32, 0});
  return core.build({{Repeat::Register, 1, shape[1] / (8 * perRegister)},
                     {Repeat::Register, 0, shape[0] / (64 * groups)},
                     {Repeat::Warp, 0, groups}});
}

// A as above with k = 4*(t%4) + b + 16*(r>>1) read as column 2*(t%4) + (b&1) + 8*(b>>1) + 16*(r>>1).
Expected<RegisterLayout> RegisterLayout::wgmmaPairedA(ArrayRef<int64_t> shape, unsigned warps) {
  StringRef what = "paired wgmma operand A";
  if (Error error = checkWarpgroups(what, warps))
    return error;
  int64_t groups = warps / 4;
  if (Error error = checkMatrix(what, shape, 64 * groups, 32))
    return error;
  CoreBuilder core(2);
  core.addRegister({0, 1});
  core.addRegister({0, 8});
  core.addRegister({8, 0});
  core.addRegister({0, 16});
  for (Step step : {Step{0, 2}, Step{0, 4}, Step{1, 0}, Step{2, 0}, Step{4, 0}})
    core.addLane(step);
  core.addWarp({16, 0});
  core.addWarp({32, 0});
  return core.build({{Repeat::Register, 1, shape[1] / 32},
                     {Repeat::Register, 0, shape[0] / (64 * groups)},
                     {Repeat::Warp, 0, groups}});
}

/// Checks the warps of mma.sync tiles: rows first, then columns.
static Error checkMmaWarps(StringRef what, unsigned rows, unsigned columns) {
  if (rows == 0 || columns == 0 || rows * columns > 64)
    return makeError(what + ": found " + Twine(rows) + " x " + Twine(columns) +
                     " warps; needs 1 to 64");
  if (!isPowerOf2(columns))
    return makeError(what + ": found " + Twine(columns) +
                     " warps along the columns; needs a power of two");
  return Error::success();
}

/// Warps side by side along M, 16 rows each, then `columnWarps` along N, each a step of
/// `columnStep` (none: copies).
static Expected<RegisterLayout> buildOverWarps(CoreBuilder core, StringRef what,
                                               ArrayRef<int64_t> shape, unsigned warps,
                                               unsigned columnWarps, int64_t columns,
                                               int64_t columnStep) {
  if (Error error = checkMmaWarps(what, warps, columnWarps))
    return error;
  int64_t width = columnStep ? columns * columnWarps : columns;
  if (Error error = checkMatrix(what, shape, 16 * int64_t(warps), width))
    return error;
  int64_t coreWarps = powerOf2Part(warps);
  for (int64_t i = 1; i < coreWarps; i *= 2)
    core.addWarp({16 * i, 0});
  // A row count that is no power of two is a repeat, which lies outside the core's warps.
  if (coreWarps != int64_t(warps) && columnWarps > 1)
    return makeError(what + ": found " + Twine(warps) + " x " + Twine(columnWarps) +
                     " warps; needs a power of two of rows beside several columns");
  for (int64_t i = 1; i < int64_t(columnWarps); i *= 2)
    core.addWarp({0, columnStep * i});
  return core.build({{Repeat::Warp, 0, warps / coreWarps},
                     {Repeat::Register, 1, shape[1] / width},
                     {Repeat::Register, 0, shape[0] / (16 * int64_t(warps))}});
}

// PTX ISA 9.7.14.5.7, .8, .10 (m16n8k8 tf32, m16n8k16 f16/bf16, m16n8k32 8-bit).
Expected<RegisterLayout> RegisterLayout::mmaOperandA(ArrayRef<int64_t> shape, unsigned elementBits,
                                                     unsigned warps, unsigned columnWarps) {
  if (Error error = checkElementBits("mma operand A", elementBits))
    return error;
  int64_t perRegister = 32 / elementBits;
  return buildOverWarps(fragmentCore(perRegister, true), "mma operand A", shape, warps, columnWarps,
                        8 * perRegister, /*columnStep=*/0);
}

Expected<RegisterLayout> RegisterLayout::mmaAccumulator(ArrayRef<int64_t> shape, unsigned warps,
                                                        unsigned columnWarps) {
  return buildOverWarps(fragmentCore(2, false), "mma accumulator", shape, warps, columnWarps, 8,
                        /*columnStep=*/8);
}

// B, register r, part b: k = p*(t%4) + b + 4*p*r, n = t/4.
Expected<RegisterLayout> RegisterLayout::mmaOperandB(ArrayRef<int64_t> shape, unsigned elementBits,
                                                     unsigned warps, unsigned columnWarps) {
  StringRef what = "mma operand B";
  if (Error error = checkElementBits(what, elementBits))
    return error;
  if (Error error = checkMmaWarps(what, warps, columnWarps))
    return error;
  int64_t perRegister = 32 / elementBits;
  if (Error error = checkMatrix(what, shape, 8 * perRegister, 8 * int64_t(columnWarps)))
    return error;
  CoreBuilder core(2);
  for (int64_t i = 1; i < perRegister; i *= 2)
    core.addRegister({i, 0});
  core.addRegister({4 * perRegister, 0});
  core.addLane({perRegister, 0});
  core.addLane({2 * perRegister, 0});
  for (int64_t column : {1, 2, 4})
    core.addLane({0, column});
  int64_t coreWarps = powerOf2Part(warps);
  for (int64_t i = 1; i < coreWarps; i *= 2)
    core.addWarp({0, 0});
  for (int64_t i = 1; i < int64_t(columnWarps); i *= 2)
    core.addWarp({0, 8 * i});
  return core.build({{Repeat::Warp, -1, warps / coreWarps},
                     {Repeat::Register, 0, shape[0] / (8 * perRegister)},
                     {Repeat::Register, 1, shape[1] / (8 * int64_t(columnWarps))}});
}

// Lane and column of register r of lane t (PTX ISA 9.7.16.2.3, data movement shapes):
//   32x32b t, r      16x64b t/4 + 8*(t&1), ((t>>1)&1) + 2r      16x128b t/4 + 8*(r&1), t%4 +
//   4*(r>>1) 16x256b t/4 + 8*((r>>1)&1), 2*(t%4) + (r&1) + 8*(r>>2)
// A warp reaches the 32 lanes of its quadrant only (9.7.16.8.1).
Expected<RegisterLayout> RegisterLayout::tmem(TmemShape shape, ArrayRef<int64_t> extents,
                                              unsigned warps, unsigned elementBits) {
  StringRef what = "tensor memory registers";
  if (Error error = checkWarpgroups(what, warps))
    return error;
  if (Error error = checkElementBits(what, elementBits))
    return error;
  int64_t word = 32 / elementBits, columns = word, groups = warps / 4;
  CoreBuilder core(2);
  for (int64_t i = 1; i < word; i *= 2)
    core.addRegister({0, i});
  switch (shape) {
  case TmemShape::S32x32b:
    for (int64_t row : {1, 2, 4, 8, 16})
      core.addLane({row, 0});
    break;
  case TmemShape::S16x64b:
    core.addLane({8, 0});
    core.addLane({0, word});
    columns = 2 * word;
    break;
  case TmemShape::S16x128b:
    core.addLane({0, word});
    core.addLane({0, 2 * word});
    core.addRegister({8, 0});
    columns = 4 * word;
    break;
  case TmemShape::S16x256b:
    core.addRegister({0, word});
    core.addLane({0, 2 * word});
    core.addLane({0, 4 * word});
    core.addRegister({8, 0});
    columns = 8 * word;
    break;
  }
  bool wholeQuadrant = shape == TmemShape::S32x32b;
  if (extents.size() != 2 || !(extents[0] == 128 || (extents[0] == 64 && !wholeQuadrant)))
    return makeError(what + ": found shape " + listText(extents) + "; needs 128 rows" +
                     (wholeQuadrant ? "" : " or 64"));
  if (Error error = checkMatrix(what, extents, 1, columns * groups))
    return error;
  if (!wholeQuadrant)
    for (int64_t row : {1, 2, 4})
      core.addLane({row, 0});
  bool bothHalves = !wholeQuadrant && extents[0] == 128; // a second access, 16 lanes down
  if (bothHalves)
    core.addRegister({16, 0});
  for (int64_t row : {extents[0] / 4, extents[0] / 2})
    core.addWarp({row, 0});
  return core.build(
      {{Repeat::Register, 1, extents[1] / (columns * groups)}, {Repeat::Warp, 1, groups}});
}

} // namespace tileloom::layout
