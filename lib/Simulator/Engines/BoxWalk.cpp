//===- BoxWalk.cpp - Preparing the walk of a TMA box
//----------------------------------------------===//
//
// Works out pitches, limits and units of a box once, so that the walk in the header is a plain
// loop.
//
//===----------------------------------------------------------------------------------------------===//
#include "tileloom/Simulator/BoxWalk.h"

#include "tileloom/Simulator/Formats.h"

using namespace tileloom::sim;

/// More than the shared memory of any CTA.
static constexpr uint64_t mostBoxBytes = 1 << 24;

static Error prepare(const TensorMap &map, uint32_t sharedAddress, BoxDirection direction,
                     BoxWalk &walk) {
  // Each side of a box has a limit, their product has not: 16 x 256^4 bytes are 0 in 32 bits.
  uint64_t bytes = sharedRowPitch(map);
  for (unsigned i = 1; i < map.rank; ++i)
    bytes *= map.extent(i);
  if (bytes > mostBoxBytes)
    return "the box has " + std::to_string(bytes) + " bytes, more than shared memory can have";
  if (map.interleave != TmaInterleave::None)
    return "interleaved tensor maps are not simulated; use interleave NONE";
  if (sharedAddress % 128)
    return "shared memory address " + std::to_string(sharedAddress) +
           " of a tensor copy is not a multiple of 128";
  if (direction == BoxDirection::Store && map.type == TmaType::U4Align16)
    return "16U4_ALIGN16B (.b4x16_p64) can only be loaded";
  if (direction == BoxDirection::Load && map.type == TmaType::U6Align16 &&
      map.swizzle == Swizzle::B128Atom64)
    return "16U6_ALIGN16B with swizzle 128B_ATOM_64B can only be stored";
  walk = BoxWalk();
  walk.origin = map.globalAddress;
  walk.sharedBase = sharedAddress;
  walk.swizzle = map.swizzle;
  walk.atom = swizzleAtom(map.swizzle);
  unsigned bits = elementBits(map.type);
  for (unsigned i = 0; i < map.rank; ++i) {
    walk.count[i] = map.extent(i);
    walk.limit[i] = map.globalDim[i];
    walk.step[i] = i == 0 ? 1 : map.elementStride[i];
    walk.pitch[i] = i == 0 ? 0 : map.globalStride[i - 1];
  }
  switch (map.type) {
  case TmaType::U4Align8:
    walk.unit = 1; // two elements; the dimension is even, so bounds fall between bytes
    walk.unitElements = 2;
    break;
  case TmaType::U4Align16:
  case TmaType::U6Align16:
    walk.unitElements = 16;
    walk.unit = 16;
    walk.groupGlobal = bits * 2; // 8 or 12 bytes
    walk.groupShared = direction == BoxDirection::Store ? 16 : walk.groupGlobal;
    walk.rowGroups = walk.count[0] / 16;
    break;
  default:
    walk.unit = bits / 8;
    // A store ends at 16 bytes and not at the last element of a row: seen on an H200, where results
    // with ragged rows spoilt what lay behind them (also triton-lang/triton#11583).
    if (direction == BoxDirection::Store)
      walk.limit[0] = (walk.limit[0] * walk.unit + 15) / 16 * 16 / walk.unit;
    break;
  }
  walk.pitch[0] = walk.rowGroups ? walk.groupGlobal : walk.unit;
  walk.rowBytes = sharedRowPitch(map);
  return {};
}

/// A box begins at a multiple of 16 bytes in its row, and a store at no negative coordinate. No
/// document says so; an H200 ends every other copy with "an illegal instruction was encountered"
/// (bench/agreement.py, cases column_*).
static Error checkStart(const TensorMap &map, const int32_t *coords, unsigned count,
                        BoxDirection direction) {
  bool padded = map.type == TmaType::U4Align16 || map.type == TmaType::U6Align16;
  int32_t align = padded ? 128 : 128 / int32_t(elementBits(map.type));
  if (coords[0] % align)
    return "coordinate 0 is " + std::to_string(coords[0]) + ", " + tmaTypeName(map.type) +
           " needs a multiple of " + std::to_string(align) + " (16 bytes)";
  for (unsigned i = 0; i < count && direction == BoxDirection::Store; ++i)
    if (coords[i] < 0)
      return "coordinate " + std::to_string(i) + " of a store is " + std::to_string(coords[i]) +
             ", needed 0 or more";
  return {};
}

Error tileloom::sim::prepareBox(const TensorMap &map, const int32_t *coords, uint32_t sharedAddress,
                                BoxDirection direction, BoxWalk &walk) {
  if (Error error = prepare(map, sharedAddress, direction, walk); !error.empty())
    return error;
  if (Error error = checkStart(map, coords, map.rank, direction); !error.empty())
    return error;
  for (unsigned i = 0; i < map.rank; ++i)
    walk.start[i] = coords[i];
  return {};
}

Error tileloom::sim::prepareGather4(const TensorMap &map, const int32_t coords[5],
                                    uint32_t sharedAddress, BoxDirection direction, BoxWalk &walk) {
  if (map.rank != 2)
    return "gather4 and scatter4 need a map of rank 2, found " + std::to_string(map.rank);
  if (map.boxDim[1] != 1)
    return "gather4 and scatter4 need a box of one row, found " + std::to_string(map.boxDim[1]);
  if (Error error = prepare(map, sharedAddress, direction, walk); !error.empty())
    return error;
  if (Error error = checkStart(map, coords, 1, direction); !error.empty())
    return error;
  walk.gather = true;
  walk.start[0] = coords[0];
  walk.count[1] = 4;
  for (unsigned i = 0; i < 4; ++i)
    walk.rows[i] = coords[1 + i];
  return {};
}

void tileloom::sim::writeFill(const TensorMap &map, uint8_t *out, uint32_t bytes) {
  if (map.fill == TmaFill::Zero) {
    std::memset(out, 0, bytes);
    return;
  }
  for (uint32_t i = 0; i < bytes; ++i)
    out[i] = i & 1 ? 0x7F : 0xF7;
}

void tileloom::sim::loadElements(const TensorMap &map, uint8_t *out, const uint8_t *in,
                                 uint32_t bytes) {
  std::memcpy(out, in, bytes);
  if (map.type != TmaType::TF32 && map.type != TmaType::TF32Ftz)
    return;
  for (uint32_t i = 0; i + 4 <= bytes; i += 4) {
    uint32_t value;
    std::memcpy(&value, out + i, 4);
    value = uint32_t(convert(Format::TF32, Format::F32, value));
    std::memcpy(out + i, &value, 4);
  }
}

void tileloom::sim::packB6(const uint8_t in[16], uint8_t out[12]) {
  for (unsigned group = 0; group < 4; ++group) {
    uint32_t word = 0;
    for (unsigned i = 0; i < 4; ++i)
      word |= uint32_t(in[4 * group + i] & 0x3F) << (6 * i);
    for (unsigned i = 0; i < 3; ++i)
      out[3 * group + i] = uint8_t(word >> (8 * i));
  }
}

void tileloom::sim::unpackB6(const uint8_t in[12], uint8_t out[16]) {
  for (unsigned group = 0; group < 4; ++group) {
    uint32_t word = in[3 * group] | in[3 * group + 1] << 8 | uint32_t(in[3 * group + 2]) << 16;
    for (unsigned i = 0; i < 4; ++i)
      out[4 * group + i] = (word >> (6 * i)) & 0x3F;
  }
}
