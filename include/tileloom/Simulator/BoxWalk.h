//===- BoxWalk.h - The memory accesses of one TMA box
//---------------------------------------------===//
//
// Turns a box at given coordinates into chunks that are contiguous in global and in (swizzled)
// shared memory, in shared order. The caller does the accesses, so that it can check and track
// them. Order and out-of-bounds rule: PTX ISA 5.5.3; sub-byte types: 5.5.1.1.
//
//===----------------------------------------------------------------------------------------------===//
#ifndef TILELOOM_SIMULATOR_BOXWALK_H
#define TILELOOM_SIMULATOR_BOXWALK_H

#include "tileloom/Simulator/TensorMap.h"

namespace tileloom::sim {

/// A piece of a box. For in-bounds data `global` is valid. `sharedBytes` differs from `globalBytes`
/// only for the 6-bit store, where 16 shared bytes are packed into 12 (see packB6).
struct BoxChunk {
  uint64_t global; ///< address of the data in global memory (inBounds only)
  uint32_t shared; ///< address in shared memory after the swizzle
  uint32_t linear; ///< byte offset in the box, before the swizzle
  uint32_t globalBytes;
  uint32_t sharedBytes; ///< bytes written (load) or read (store) at `shared`
  bool inBounds;        ///< false: a load writes the fill here, a store skips it
};

/// Direction only matters for code 15, which has a different shared form for stores.
enum class BoxDirection : uint8_t { Load, Store };

/// A box prepared for walking: extents, pitches and the in-bounds window, worked out once.
struct BoxWalk {
  uint64_t origin = 0;    ///< global address of coordinate 0
  uint64_t pitch[5] = {}; ///< global bytes per coordinate; entry 0 is per unit
  int64_t start[5] = {};  ///< first coordinate
  uint32_t count[5] = {1, 1, 1, 1, 1};
  uint32_t step[5] = {1, 1, 1, 1, 1};
  uint64_t limit[5] = {1, 1, 1, 1, 1}; ///< globalDim
  uint32_t sharedBase = 0;
  uint32_t rowGroups = 0;                    ///< 16-element groups of a padded row, else 0
  uint32_t groupGlobal = 0, groupShared = 0; ///< bytes of a group (global; shared without the gap)
  uint32_t rowBytes = 0; ///< shared bytes from row to row of dimension 0 (sharedRowPitch)
  uint32_t unit = 0; ///< bytes of an element, or of the smallest in-bounds unit of sub-byte types
  uint32_t unitElements = 1; ///< elements in a unit
  uint32_t atom = 0;         ///< contiguous shared bytes under the swizzle, 0 = whole row
  Swizzle swizzle = Swizzle::None;
  bool gather = false;
  int32_t rows[4] = {}; ///< gather4/scatter4: dimension 1 coordinates
};

/// Prepares a tiled access; `coords` has map.rank entries, innermost first. Fails on a misaligned
/// shared address (128 B), interleaved maps (not simulated), store to a load-only type, a first
/// coordinate that is no multiple of 16 bytes, and negative coordinates of a store.
Error prepareBox(const TensorMap &map, const int32_t *coords, uint32_t sharedAddress,
                 BoxDirection direction, BoxWalk &walk);

/// tile::gather4 / tile::scatter4: coords = {column, row0, row1, row2, row3}, 2-D maps with one
/// row.
Error prepareGather4(const TensorMap &map, const int32_t coords[5], uint32_t sharedAddress,
                     BoxDirection direction, BoxWalk &walk);

namespace detail {
/// Calls visit for bytes [begin, end) of one row, cut at swizzle atoms.
template <typename Visit>
void visitSpan(const BoxWalk &walk, uint64_t rowGlobal, uint32_t rowLinear, uint32_t begin,
               uint32_t end, bool inBounds, Visit &visit) {
  while (begin < end) {
    uint32_t address = walk.sharedBase + rowLinear + begin;
    uint32_t bytes = end - begin;
    if (walk.atom) {
      uint32_t left = walk.atom - (address & (walk.atom - 1));
      bytes = bytes < left ? bytes : left;
    }
    BoxChunk chunk{
        rowGlobal + begin, swizzleAddress(walk.swizzle, address), rowLinear + begin, bytes, bytes,
        inBounds};
    visit(static_cast<const BoxChunk &>(chunk));
    begin += bytes;
  }
}

template <typename Visit>
void visitRow(const BoxWalk &walk, uint64_t rowGlobal, uint32_t rowLinear, bool rowInBounds,
              Visit &visit) {
  // Window [low, high) of in-bounds elements along dimension 0, in units.
  int64_t count = walk.count[0] / walk.unitElements;
  int64_t low = 0, high = 0;
  if (rowInBounds) {
    int64_t first = walk.start[0] / int64_t(walk.unitElements);
    int64_t limit = int64_t(walk.limit[0] / walk.unitElements) - first;
    low = first < 0 ? -first : 0;
    low = low < count ? low : count;
    high = limit < low ? low : (limit < count ? limit : count);
  }
  if (!walk.rowGroups) {
    visitSpan(walk, rowGlobal, rowLinear, 0, uint32_t(low) * walk.unit, false, visit);
    visitSpan(walk, rowGlobal, rowLinear, uint32_t(low) * walk.unit, uint32_t(high) * walk.unit,
              true, visit);
    visitSpan(walk, rowGlobal, rowLinear, uint32_t(high) * walk.unit, uint32_t(count) * walk.unit,
              false, visit);
    return;
  }
  for (uint32_t group = 0; group < walk.rowGroups; ++group) {
    uint32_t linear = rowLinear + group * 16;
    BoxChunk chunk{rowGlobal + uint64_t(group) * walk.groupGlobal,
                   swizzleAddress(walk.swizzle, walk.sharedBase + linear),
                   linear,
                   walk.groupGlobal,
                   walk.groupShared,
                   group >= low && group < high};
    visit(static_cast<const BoxChunk &>(chunk));
  }
}
} // namespace detail

/// Visits every chunk of the box: visit(const BoxChunk &). Chunks come in order of `linear`.
template <typename Visit> void forEachChunk(const BoxWalk &walk, Visit &&visit) {
  uint32_t linear = 0;
  uint64_t column =
      walk.origin + uint64_t(walk.start[0] / int64_t(walk.unitElements)) * walk.pitch[0];
  for (uint32_t i4 = 0; i4 < walk.count[4]; ++i4)
    for (uint32_t i3 = 0; i3 < walk.count[3]; ++i3)
      for (uint32_t i2 = 0; i2 < walk.count[2]; ++i2)
        for (uint32_t i1 = 0; i1 < walk.count[1]; ++i1) {
          int64_t x[5] = {0,
                          walk.gather ? walk.rows[i1] : walk.start[1] + int64_t(i1) * walk.step[1],
                          walk.start[2] + int64_t(i2) * walk.step[2],
                          walk.start[3] + int64_t(i3) * walk.step[3],
                          walk.start[4] + int64_t(i4) * walk.step[4]};
          bool inBounds = true;
          uint64_t address = column;
          for (unsigned dim = 1; dim < 5; ++dim) {
            inBounds &= x[dim] >= 0 && uint64_t(x[dim]) < walk.limit[dim];
            address += uint64_t(x[dim]) * walk.pitch[dim];
          }
          detail::visitRow(walk, address, linear, inBounds, visit);
          linear += walk.rowBytes;
        }
}

/// Writes `bytes` of the map's fill: 0, or the out-of-bounds NaN, which is 0x7FF7 in every 16 bits
/// whatever the type (H200, cases nan_fill_*).
void writeFill(const TensorMap &map, uint8_t *out, uint32_t bytes);

/// Copies elements of a load. A map of type TFLOAT32 rounds them to nearest even on the way;
/// FLOAT32_FTZ and the FTZ of TFLOAT32_FTZ change nothing (H200, cases type_*).
void loadElements(const TensorMap &map, uint8_t *out, const uint8_t *in, uint32_t bytes);

/// 16 bytes with 6 data bits each (low) to 12 packed bytes, and back.
void packB6(const uint8_t in[16], uint8_t out[12]);
void unpackB6(const uint8_t in[12], uint8_t out[16]);

} // namespace tileloom::sim

#endif // TILELOOM_SIMULATOR_BOXWALK_H
