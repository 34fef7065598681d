//===- Limits.h - What a CTA can have --------------------------------------------*- C++ -*-===//
//
// The limits that the planner of buffers spends and the cost model predicts with.
//
//===--------------------------------------------------------------------------------------===//

#ifndef TILELOOM_SCHEDULE_LIMITS_H
#define TILELOOM_SCHEDULE_LIMITS_H

#include "llvm/ADT/StringRef.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

namespace tileloom::schedule {

/// Shared memory that a CTA can have (227 KB), and all CTAs of an SM but for 1 KB each.
inline constexpr int64_t sharedLimit = 232448;

/// The same less room for barriers.
inline constexpr int64_t sharedBytes = sharedLimit - 1024;

/// More slots than this have never helped (docs/notes/lower-half.md): 13 for tiles of 16 KB.
inline constexpr int64_t deepestRing = 13;

/// The same where an iteration's products take slots of several rings: each slot is held for a part
/// of the iteration only (attention: two and three slots alike, five slower by 2 to 8 %).
inline constexpr int64_t deepestOfSeveral = 3;

/// Whether products of this chip (sm_100a, sm_103a) have their sums in tensor memory, not
/// registers.
inline bool hasTensorMemory(llvm::StringRef chip) { return chip.starts_with("sm_10"); }

/// Columns of tensor memory of an SM.
inline constexpr int64_t tensorMemoryColumns = 512;

/// Registers of an SM, and of each of its quarters, where every fourth warp runs.
inline constexpr int64_t registerPool = 65536, quarterPool = registerPool / 4;

/// Registers of a thread that an instruction can name.
inline constexpr int64_t namedRegisters = 255;

/// Registers of a thread that setmaxnreg may set at most, in steps of 8.
inline constexpr int64_t mostRegisters = 240;

/// Registers of a thread in roles of one warp that only copy (the least that setmaxnreg sets): what
/// they have at least.
inline constexpr int64_t narrowRegisters = 24;

/// The same where such a role issues products: descriptors and the places in many rings (24
/// spilled).
inline constexpr int64_t issuerRegisters = 80;

/// Warps that only transpose operands from slot to slot, and what their threads need: addresses and two matrices. They share the
/// warpgroup of the role that copies.
inline constexpr int64_t transposeWarps = 2, transposeRegisters = 40;

/// Registers of a thread that addresses, places in rings and the state of rows take beside sums and operands.
inline constexpr int64_t registersBesideSums = 35;

/// Registers of a thread that one sum takes at most, where two warpgroups have products.
inline constexpr int64_t widestSum = 192;

/// Registers that each thread of `groups` warpgroups can have beside one of roles with `narrow`:
/// setmaxnreg moves an SM's registers between them.
inline int64_t wideRegisters(int64_t groups, int64_t narrow = narrowRegisters) {
  return std::min(mostRegisters, (registerPool - 128 * narrow) / (128 * groups) / 8 * 8);
}

/// Columns of the pieces that a result of `columns` elements of `bits` leaves in. A row of 128
/// bytes is one span of the widest swizzle; two of them measured as well as more where the tile is
/// in registers anyway. `widest`: what the schedule asks for.
inline int64_t pieceColumns(int64_t columns, int64_t bits, std::optional<int64_t> widest,
                            bool tensorMemory) {
  int64_t span = std::max<int64_t>(1024 / bits, 8);
  int64_t most = widest.value_or(tensorMemory ? span : 2 * span);
  for (int64_t piece : {most, most / 2, span})
    if (piece > 0 && columns % piece == 0)
      return piece;
  return columns;
}

/// Rows of the pieces that a tile of `rows` leaves in where replicas take tiles in turn: 64, what one instruction of a warpgroup
/// computes. Loads of the other replica queue behind a store for as long as it is large, but less than 4 KiB a piece takes longer to
/// write than it saves (4096 x 32768 x 512, 128 x 160: two pieces of 8 KiB on the way 1.03, of 4 KiB 1, of 2 KiB 1.1).
inline int64_t pieceRowsInTurn(int64_t rows, int64_t columns, int64_t bits) {
  constexpr int64_t own = 64, leastBytes = 4096;
  return rows % own == 0 && own * columns * bits / 8 >= leastBytes ? own : rows;
}

/// Rows of the pieces that a transposed sum leaves in: at most 96, as many times 8 as divide the rows, if that is not less than 32.
inline int64_t transposedRows(int64_t rows) {
  constexpr int64_t most = 96, least = 32, group = 8;
  for (int64_t piece = most; piece >= least; piece -= group)
    if (rows % piece == 0)
      return piece;
  return rows;
}

/// And columns, of what one warpgroup has: those that one instruction computes.
inline int64_t transposedColumns(int64_t columns) {
  constexpr int64_t own = 64;
  return columns % own == 0 ? own : columns;
}

/// Registers that a launch gives to `groups` warpgroups, all together, by thread (nv-assign-warps).
inline int64_t registersAtLaunch(int64_t groups) {
  return std::min(namedRegisters, registerPool / (128 * groups)) / 8 * 8 * groups;
}

/// Registers of a thread of `groups` warpgroups with products, and of one warpgroup that gathers
/// their operands; beside them perhaps narrow roles with `narrow` (0: none).
inline std::pair<int64_t, int64_t> gatherRegisters(int64_t groups, int64_t narrow) {
  constexpr int64_t least = 96;
  int64_t pool = registersAtLaunch(groups + 1 + (narrow > 0)) - narrow;
  int64_t gather = std::clamp(pool - mostRegisters * groups, least, mostRegisters);
  return {std::min(mostRegisters, (pool - gather) / groups / 8 * 8), gather / 8 * 8};
}

} // namespace tileloom::schedule

#endif // TILELOOM_SCHEDULE_LIMITS_H
