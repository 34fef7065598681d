//===- BoxWalkTest.cpp - What a TMA box reads and writes ------------------===//
//
// The box walk is compared with a naive N-dimensional loop over elements for random ranks, strides
// and out-of-bounds positions, and with where an H200 puts things.
//
//===----------------------------------------------------------------------===//
#include "tileloom/Simulator/BoxWalk.h"
#include "Maps.h"
#include "tileloom/Simulator/Formats.h"

#include <algorithm>
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

using namespace tileloom::sim;

namespace {
std::mt19937_64 rng(21);
uint32_t random(uint32_t below) { return uint32_t(rng() % below); }

// Global memory of a test: bytes from `base`.
struct Memory {
  uint64_t base;
  std::vector<uint8_t> bytes;
  uint8_t *at(uint64_t address, size_t count) {
    EXPECT_GE(address, base);
    EXPECT_LE(address + count, base + bytes.size());
    return bytes.data() + (address - base);
  }
};

void load(const TensorMap &map, const BoxWalk &walk, Memory &global, std::vector<uint8_t> &shared) {
  uint32_t next = 0;
  forEachChunk(walk, [&](const BoxChunk &c) {
    EXPECT_GE(c.linear, next); // in order of the box
    next = c.linear + c.sharedBytes;
    if (c.inBounds)
      std::memcpy(&shared[c.shared], global.at(c.global, c.globalBytes), c.globalBytes);
    else
      writeFill(map, &shared[c.shared], c.sharedBytes);
  });
}
} // namespace

TEST(BoxWalk, EqualsTheNaiveLoop) {
  const TmaType types[] = {TmaType::U8, TmaType::BF16, TmaType::F32, TmaType::F64};
  for (int round = 0; round < 400; ++round) {
    TensorMap map;
    map.type = types[random(4)];
    uint32_t eb = elementBits(map.type) / 8;
    map.rank = 1 + random(5);
    map.swizzle = Swizzle(random(7));
    uint32_t width = swizzleWidth(map.swizzle) ? swizzleWidth(map.swizzle) : 256;
    map.boxDim[0] = (1 + random(width / 16)) * 16 / eb;
    uint64_t stride = 0, total = 0;
    for (unsigned i = 0; i < map.rank; ++i) {
      map.globalDim[i] = 1 + random(i == 0 ? 96 : 9);
      if (i > 0) {
        map.boxDim[i] = 1 + random(5);
        map.elementStride[i] = 1 + random(3);
        map.globalStride[i - 1] = stride;
      }
      uint64_t bytes = i == 0 ? map.globalDim[0] * eb : stride * map.globalDim[i];
      stride = (bytes + 15) / 16 * 16 + 16 * random(3);
      total = bytes;
    }
    map.globalAddress = 0x20000;
    ASSERT_EQ(validate(map), "");
    Memory global{map.globalAddress, std::vector<uint8_t>(total + 64)};
    for (auto &b : global.bytes)
      b = uint8_t(rng());
    int32_t coords[5] = {};
    for (unsigned i = 0; i < map.rank; ++i)
      coords[i] = int32_t(random(uint32_t(map.globalDim[i]) + 8)) - 6;
    int32_t group = int32_t(16 / eb);
    coords[0] = coords[0] / group * group;
    bool storable = *std::min_element(coords, coords + map.rank) >= 0;
    uint32_t base = 128 * random(16);
    BoxWalk walk;
    ASSERT_EQ(prepareBox(map, coords, base, BoxDirection::Load, walk), "");
    std::vector<uint8_t> got(base + 65536 * 4, 0xEE), want = got;
    load(map, walk, global, got);
    // Naive loop over every element of the box.
    uint32_t row = 0, n[5];
    uint32_t ts[5];
    for (unsigned i = 0; i < 5; ++i)
      ts[i] = i == 0 ? map.boxDim[0]
                     : (map.boxDim[i] + map.elementStride[i] - 1) / map.elementStride[i];
    // A row takes a whole span of the swizzle.
    uint32_t pitch = std::max(ts[0] * eb, swizzleWidth(map.swizzle));
    std::vector<uint8_t> stored(global.bytes.size(), 0x55), naiveStored = stored;
    for (n[4] = 0; n[4] < ts[4]; ++n[4])
      for (n[3] = 0; n[3] < ts[3]; ++n[3])
        for (n[2] = 0; n[2] < ts[2]; ++n[2])
          for (n[1] = 0; n[1] < ts[1]; ++n[1], row += pitch)
            for (n[0] = 0; n[0] < ts[0]; ++n[0]) {
              bool inside = true, written = true; // a store ends at 16 bytes
              uint64_t offset = 0;
              for (unsigned i = 0; i < map.rank; ++i) {
                int64_t x = coords[i] + int64_t(n[i]) * (i ? map.elementStride[i] : 1);
                int64_t end = map.globalDim[i];
                inside &= x >= 0 && x < end;
                if (i == 0)
                  end = (end * eb + 15) / 16 * 16 / eb;
                written &= x >= 0 && x < end;
                offset += uint64_t(x) * (i ? map.globalStride[i - 1] : eb);
              }
              for (uint32_t b = 0; b < eb; ++b) {
                uint8_t &cell = want[swizzleAddress(map.swizzle, base + row + n[0] * eb + b)];
                cell = inside ? global.bytes[offset + b] : 0;
                if (written && offset + b < naiveStored.size())
                  naiveStored[offset + b] = cell;
              }
            }
    ASSERT_EQ(got, want) << "round " << round;
    if (!storable) {
      ASSERT_NE(prepareBox(map, coords, base, BoxDirection::Store, walk), "");
      continue;
    }
    // A store of the same box puts back the elements inside, and zeros up to 16 bytes.
    Memory out{map.globalAddress, stored};
    ASSERT_EQ(prepareBox(map, coords, base, BoxDirection::Store, walk), "");
    uint32_t bytes = 0;
    forEachChunk(walk, [&](const BoxChunk &c) {
      bytes += c.sharedBytes;
      if (c.inBounds && c.global + c.globalBytes <= map.globalAddress + out.bytes.size())
        std::memcpy(out.at(c.global, c.globalBytes), &want[c.shared], c.globalBytes);
    });
    ASSERT_EQ(out.bytes, naiveStored);
    ASSERT_EQ(bytes, transactionBytes(map));
  }
}

TEST(BoxWalk, ABoxBeginsAtSixteenBytes) {
  TensorMap map = matrix(TmaType::BF16, 100, 40, 64, 1);
  BoxWalk walk;
  int32_t aligned[2] = {-8, -3}, odd[2] = {12, 3};
  EXPECT_EQ(prepareBox(map, aligned, 0, BoxDirection::Load, walk), "");
  EXPECT_EQ(prepareBox(map, aligned, 0, BoxDirection::Store, walk),
            "coordinate 0 of a store is -8, needed 0 or more");
  EXPECT_EQ(prepareBox(map, odd, 0, BoxDirection::Load, walk),
            "coordinate 0 is 12, BFLOAT16 needs a multiple of 8 (16 bytes)");
}

TEST(BoxWalk, GatherAndScatterRows) {
  TensorMap map = matrix(TmaType::BF16, 100, 40, 64, 1, Swizzle::B128);
  Memory global{map.globalAddress, std::vector<uint8_t>(map.globalStride[0] * 40)};
  for (auto &b : global.bytes)
    b = uint8_t(rng());
  int32_t coords[5] = {64, 39, 3, 40, 3}; // columns 100.. and row 40 are outside
  BoxWalk walk;
  ASSERT_EQ(prepareGather4(map, coords, 1024, BoxDirection::Load, walk), "");
  std::vector<uint8_t> shared(4096, 0xEE);
  load(map, walk, global, shared);
  for (uint32_t row = 0; row < 4; ++row)
    for (uint32_t i = 0; i < 128; ++i) {
      bool inside = coords[1 + row] < 40 && 64 + i / 2 < 100;
      uint8_t want = inside ? global.bytes[coords[1 + row] * map.globalStride[0] + 128 + i] : 0;
      ASSERT_EQ(shared[swizzleAddress(Swizzle::B128, 1024 + row * 128 + i)], want);
    }
  map.boxDim[1] = 2;
  EXPECT_NE(prepareGather4(map, coords, 1024, BoxDirection::Load, walk), "");
}

TEST(BoxWalk, SubByteTypes) {
  for (TmaType type : {TmaType::U4Align8, TmaType::U4Align16, TmaType::U6Align16}) {
    TensorMap map = matrix(type, 256, 6, 128, 4);
    ASSERT_EQ(validate(map), "");
    Memory global{map.globalAddress, std::vector<uint8_t>(map.globalStride[0] * 6)};
    for (auto &b : global.bytes)
      b = uint8_t(rng());
    int32_t coords[2] = {128, 3}; // the last box row is outside
    BoxWalk walk;
    ASSERT_EQ(prepareBox(map, coords, 0, BoxDirection::Load, walk), "");
    std::vector<uint8_t> shared(1024, 0xEE);
    load(map, walk, global, shared);
    uint32_t group = elementBits(type) * 2; // packed bytes of 16 elements
    uint32_t pitch = type == TmaType::U4Align8 ? group : 16;
    for (uint32_t row = 0; row < 4; ++row)
      for (uint32_t g = 0; g < 8; ++g)
        for (uint32_t i = 0; i < pitch; ++i) {
          uint8_t want =
              i >= group ? 0xEE
              : row == 3
                  ? 0
                  : global.bytes[(3 + row) * map.globalStride[0] + 8 * group + g * group + i];
          ASSERT_EQ(shared[row * 8 * pitch + g * pitch + i], want);
        }
  }
  // A 6-bit store packs bytes.
  TensorMap map = matrix(TmaType::U6Align16, 128, 2, 128, 2);
  std::vector<uint8_t> shared(256), out(map.globalStride[0] * 2);
  for (auto &b : shared)
    b = uint8_t(rng());
  int32_t origin[2] = {0, 0};
  BoxWalk walk;
  ASSERT_EQ(prepareBox(map, origin, 0, BoxDirection::Store, walk), "");
  forEachChunk(walk, [&](const BoxChunk &c) {
    ASSERT_EQ(c.sharedBytes, 16u);
    ASSERT_EQ(c.globalBytes, 12u);
    packB6(&shared[c.shared], &out[c.global - map.globalAddress]);
  });
  for (uint32_t e = 0; e < 128; ++e) {
    uint32_t bit = 6 * e, value = 0;
    for (uint32_t i = 0; i < 6; ++i)
      value |= (out[(bit + i) / 8] >> ((bit + i) % 8) & 1u) << i;
    ASSERT_EQ(value, shared[e] & 63u);
  }
  uint8_t packed[12], unpacked[16];
  packB6(shared.data(), packed);
  unpackB6(packed, unpacked);
  for (int i = 0; i < 16; ++i)
    EXPECT_EQ(unpacked[i], shared[i] & 63);
  EXPECT_NE(
      prepareBox(matrix(TmaType::U4Align16, 256, 4, 128, 4), origin, 0, BoxDirection::Store, walk),
      "");
  int32_t odd[2] = {64, 0};
  EXPECT_NE(prepareBox(map, odd, 0, BoxDirection::Load, walk), "");
  EXPECT_NE(prepareBox(map, origin, 64, BoxDirection::Load, walk), "");
}

// Where an H200 puts rows of 32 bytes with the 64- and 128-byte swizzles (bench/agreement.py, cases
// narrow_box_64 and narrow_box_128).
TEST(BoxWalk, NarrowRowsTakeASpanOfTheSwizzle) {
  auto places = [](Swizzle swizzle) {
    TensorMap map = matrix(TmaType::U8, 256, 64, 32, 40, swizzle);
    EXPECT_EQ(sharedBoxBytes(map), 40 * swizzleWidth(swizzle));
    EXPECT_EQ(transactionBytes(map), 40u * 32);
    int32_t coords[2] = {32, 3};
    BoxWalk walk;
    EXPECT_EQ(prepareBox(map, coords, 0, BoxDirection::Load, walk), "");
    std::vector<uint32_t> at;
    forEachChunk(walk, [&](const BoxChunk &c) { at.push_back(c.shared); });
    at.resize(12);
    return at;
  };
  EXPECT_EQ(places(Swizzle::B64),
            (std::vector<uint32_t>{0, 16, 64, 80, 144, 128, 208, 192, 288, 304, 352, 368}));
  EXPECT_EQ(places(Swizzle::B128),
            (std::vector<uint32_t>{0, 16, 144, 128, 288, 304, 432, 416, 576, 592, 720, 704}));
}

TEST(BoxWalk, NaNFillIsOneOfSixteenBits) {
  TensorMap map = matrix(TmaType::F32, 4, 4, 64, 1);
  map.fill = TmaFill::NaN;
  uint8_t out[6];
  writeFill(map, out, 6);
  for (int i = 0; i < 6; i += 2) {
    uint16_t half;
    std::memcpy(&half, out + i, 2);
    EXPECT_EQ(half, 0x7FF7);
  }
}

// Pairs from the H200 (cases type_tf32 and type_tf32_ftz); 0xB1E75000 is a tie.
TEST(BoxWalk, LoadsOfTf32AreRounded) {
  const uint32_t from[] = {0x941F7828, 0x3BA5C3FE, 0x002B0A18, 0x8071F494, 0xB1E75000};
  const uint32_t want[] = {0x941F8000, 0x3BA5C000, 0x002B0000, 0x80720000, 0xB1E74000};
  for (TmaType type : {TmaType::TF32, TmaType::TF32Ftz, TmaType::F32Ftz, TmaType::F32}) {
    TensorMap map = matrix(type, 64, 4, 32, 1);
    uint32_t got[5];
    loadElements(map, reinterpret_cast<uint8_t *>(got), reinterpret_cast<const uint8_t *>(from),
                 20);
    bool rounded = type == TmaType::TF32 || type == TmaType::TF32Ftz;
    for (int i = 0; i < 5; ++i)
      EXPECT_EQ(got[i], rounded ? want[i] : from[i]) << tmaTypeName(type);
  }
}

// Each side is allowed, and their product is 0 in 32 bits.
TEST(BoxWalk, RefusesBoxesBeyondSharedMemory) {
  TensorMap map;
  map.type = TmaType::U8;
  map.rank = 5;
  for (unsigned i = 0; i < 5; ++i) {
    map.globalDim[i] = map.boxDim[i] = i ? 256 : 16;
    map.elementStride[i] = 1;
  }
  ASSERT_EQ(validate(map), "");
  int32_t coords[5] = {0};
  BoxWalk walk;
  EXPECT_EQ(prepareBox(map, coords, 0, BoxDirection::Load, walk),
            "the box has 68719476736 bytes, more than shared memory can have");
}
