//===- TmemAccessPlan.cpp - tcgen05.ld and tcgen05.st -----------------------===//
//
// The columns of a warpgroup are cut into instructions of .xN, N a power of two; the 16-lane shapes
// reach the second half of a quadrant's lanes by an instruction of their own (PTX ISA 9.7.16.8).
//
//===----------------------------------------------------------------------===//
#include "tileloom/Layout/TmemAccessPlan.h"
#include "Support.h"

using namespace llvm;

namespace tileloom::layout {

/// 32-bit columns and registers of .x1 (PTX ISA 9.7.16.2, table of register counts).
static std::pair<unsigned, unsigned> unitOf(TmemShape shape) {
  switch (shape) {
  case TmemShape::S32x32b:
    return {1, 1};
  case TmemShape::S16x64b:
    return {2, 1};
  case TmemShape::S16x128b:
    return {4, 2};
  case TmemShape::S16x256b:
    return {8, 4};
  }
  return {1, 1};
}

Expected<TmemAccessPlan> tmemAccessPlan(TmemShape shape, ArrayRef<int64_t> extents, unsigned warps,
                                        unsigned elementBits, unsigned maxWords) {
  Expected<RegisterLayout> layout = RegisterLayout::tmem(shape, extents, warps, elementBits);
  if (!layout)
    return layout.takeError();
  auto [unitColumns, unitWords] = unitOf(shape);
  if (maxWords < unitWords || maxWords > 128)
    return makeError("tensor memory access: found a limit of " + Twine(maxWords) +
                     " registers; needs " + Twine(unitWords) + " to 128");
  unsigned perWord = 32 / elementBits, groups = warps / 4;
  unsigned halves = shape != TmemShape::S32x32b && extents[0] == 128 ? 2 : 1;
  unsigned units = extents[1] / (int64_t(perWord) * unitColumns * groups);
  TmemAccessPlan plan;
  plan.columnsPerWarpgroup = groups > 1 ? units * unitColumns : 0;
  for (unsigned half = 0; half < halves; ++half)
    for (unsigned unit = 0; unit < units;) {
      TmemAccess access;
      while (access.count * 2 <= units - unit && access.count * 2 * unitWords <= maxWords)
        access.count *= 2;
      access.laneOffset = 16 * half;
      access.columnOffset = unit * unitColumns;
      for (unsigned end = unit + access.count; unit < end; ++unit)
        for (unsigned word = 0; word < unitWords; ++word) {
          access.words.emplace_back();
          for (unsigned part = 0; part < perWord; ++part)
            access.words.back().push_back(((unit * halves + half) * unitWords + word) * perWord +
                                          part);
        }
      plan.accesses.push_back(std::move(access));
    }
  return plan;
}

} // namespace tileloom::layout
