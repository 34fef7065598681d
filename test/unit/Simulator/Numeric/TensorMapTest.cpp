//===- TensorMapTest.cpp - Tensor map rules, opaque form, swizzles and box walks
//------------------===//
//
// The box walk is compared with a naive N-dimensional loop over elements for random ranks, strides
// and out-of-bounds positions, and the swizzles with tables of chunk numbers.
//
//===----------------------------------------------------------------------------------------------===//
#include "tileloom/Simulator/BoxWalk.h"
#include "tileloom/Simulator/Formats.h"
#include "tileloom/Simulator/Reduce.h"

#include <algorithm>
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <set>
#include <vector>

using namespace tileloom::sim;

namespace {
std::mt19937_64 rng(21);
uint32_t random(uint32_t below) { return uint32_t(rng() % below); }

TensorMap matrix(TmaType type, uint64_t columns, uint64_t rows, uint32_t boxColumns,
                 uint32_t boxRows, Swizzle swizzle = Swizzle::None) {
  TensorMap map;
  map.rank = 2;
  map.type = type;
  map.globalAddress = 0x10000;
  map.globalDim[0] = columns;
  map.globalDim[1] = rows;
  map.globalStride[0] = (columns * elementBits(type) / 8 + 31) / 32 * 32;
  map.boxDim[0] = boxColumns;
  map.boxDim[1] = boxRows;
  map.swizzle = swizzle;
  return map;
}

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
    EXPECT_GE(c.linear, next); // in order of the dense box
    next = c.linear + c.sharedBytes;
    if (c.inBounds)
      std::memcpy(&shared[c.shared], global.at(c.global, c.globalBytes), c.globalBytes);
    else
      writeFill(map, &shared[c.shared], c.linear, c.sharedBytes);
  });
}
} // namespace

TEST(Swizzle, MatchesChunkTables) {
  // Line l (128 bytes), chunk c of the mode's atom: where it goes inside the line.
  auto line = [](uint32_t a) { return a / 128; };
  for (uint32_t a = 0; a < 4096; ++a) {
    uint32_t l = line(a), in = a % 128, base = a - in;
    EXPECT_EQ(swizzleAddress(Swizzle::None, a), a);
    EXPECT_EQ(swizzleAddress(Swizzle::B128, a), base + ((in / 16) ^ (l % 8)) * 16 + in % 16);
    EXPECT_EQ(swizzleAddress(Swizzle::B64, a),
              base + in / 64 * 64 + ((in % 64 / 16) ^ (l % 4)) * 16 + in % 16);
    EXPECT_EQ(swizzleAddress(Swizzle::B32, a),
              base + in / 32 * 32 + ((in % 32 / 16) ^ (l % 2)) * 16 + in % 16);
    EXPECT_EQ(swizzleAddress(Swizzle::B128Atom32, a), base + ((in / 32) ^ (l % 4)) * 32 + in % 32);
    EXPECT_EQ(swizzleAddress(Swizzle::B128Atom64, a), base + ((in / 64) ^ (l % 2)) * 64 + in % 64);
    uint32_t flip = swizzleAddress(Swizzle::B128Atom32, a);
    EXPECT_EQ(swizzleAddress(Swizzle::B128Atom32Flip8, a), l % 2 ? flip ^ 8 : flip);
  }
  for (unsigned mode = 0; mode < 7; ++mode) {
    Swizzle swizzle = Swizzle(mode);
    uint32_t period = swizzlePeriod(swizzle);
    std::set<uint32_t> seen;
    for (uint32_t a = 0; a < period; ++a)
      seen.insert(swizzleAddress(swizzle, a));
    EXPECT_EQ(seen.size(), period);
    EXPECT_EQ(*seen.rbegin(), period - 1);
    for (uint32_t a = 0; a < 4096; ++a)
      EXPECT_EQ(swizzleAddress(swizzle, a + period), swizzleAddress(swizzle, a) + period);
  }
}

TEST(TensorMap, EveryRuleHasAMessage) {
  auto expect = [](const char *part, auto edit) {
    TensorMap map = matrix(TmaType::BF16, 256, 128, 64, 64, Swizzle::B128);
    ASSERT_EQ(validate(map), "");
    edit(map);
    EXPECT_NE(validate(map).find(part), std::string::npos) << part << " / " << validate(map);
  };
  expect("rank is 6", [](TensorMap &m) { m.rank = 6; });
  expect("globalAddress", [](TensorMap &m) { m.globalAddress += 8; });
  expect("globalDim[1] is 0", [](TensorMap &m) { m.globalDim[1] = 0; });
  expect("globalDim[0]", [](TensorMap &m) { m.globalDim[0] = (uint64_t(1) << 32) + 1; });
  expect("globalStrides[0]", [](TensorMap &m) { m.globalStride[0] = 520; });
  expect("2^40", [](TensorMap &m) { m.globalStride[0] = uint64_t(1) << 40; });
  expect("boxDim[1] is 257", [](TensorMap &m) { m.boxDim[1] = 257; });
  expect("multiple of 16 bytes", [](TensorMap &m) { m.boxDim[0] = 60; });
  expect("allows at most 128", [](TensorMap &m) { m.boxDim[0] = 128; });
  expect("elementStrides[1] is 9", [](TensorMap &m) { m.elementStride[1] = 9; });
  expect("at least 3", [](TensorMap &m) { m.interleave = TmaInterleave::B16; });
  expect("NaN fill", [](TensorMap &m) {
    m.type = TmaType::U16;
    m.fill = TmaFill::NaN;
  });
  expect("exactly 128", [](TensorMap &m) { m.type = TmaType::U4Align16; });
  expect("not available", [](TensorMap &m) {
    m.type = TmaType::U4Align16;
    m.boxDim[0] = 128;
    m.swizzle = Swizzle::B64;
  });
  expect("even", [](TensorMap &m) {
    m.type = TmaType::U4Align8;
    m.globalDim[0] = 255;
  });
  std::string warning;
  TensorMap map = matrix(TmaType::BF16, 256, 128, 64, 64, Swizzle::B128);
  map.globalAddress += 16;
  EXPECT_EQ(validate(map, &warning), "");
  EXPECT_NE(warning.find("128"), std::string::npos);
}

TEST(TensorMap, OpaqueFormAndReplace) {
  TensorMap map = matrix(TmaType::F16, uint64_t(1) << 32, 77, 64, 32, Swizzle::B128Atom32);
  map.globalStride[0] = 1 << 20;
  map.l2Promotion = TmaL2Promotion::B256;
  map.fill = TmaFill::NaN;
  uint8_t blob[tensorMapBytes];
  encode(map, blob);
  TensorMap back;
  ASSERT_EQ(decode(blob, back), "");
  EXPECT_EQ(back.globalDim[0], uint64_t(1) << 32);
  EXPECT_EQ(back.globalDim[1], 77u);
  EXPECT_EQ(back.globalStride[0], 1u << 20);
  EXPECT_EQ(back.swizzle, Swizzle::B128Atom32);
  EXPECT_EQ(back.fill, TmaFill::NaN);
  EXPECT_EQ(back.l2Promotion, TmaL2Promotion::B256);
  ASSERT_EQ(replaceField(blob, TmaField::GlobalDim, 1, 5), "");
  ASSERT_EQ(replaceField(blob, TmaField::ElementType, 0, 10), "");
  ASSERT_EQ(replaceField(blob, TmaField::SwizzleAtomicity, 0, 0), "");
  ASSERT_EQ(decode(blob, back), "");
  EXPECT_EQ(back.globalDim[1], 5u);
  EXPECT_EQ(back.type, TmaType::BF16); // PTX code 10 is not driver code 10
  EXPECT_EQ(back.swizzle, Swizzle::B128);

  uint8_t zero[tensorMapBytes] = {};
  EXPECT_NE(decode(zero, back), "");
  const std::tuple<TmaField, unsigned, uint64_t> steps[] = {{TmaField::GlobalAddress, 0, 0x4000},
                                                            {TmaField::Rank, 0, 1},
                                                            {TmaField::BoxDim, 0, 64},
                                                            {TmaField::BoxDim, 1, 8},
                                                            {TmaField::GlobalDim, 0, 100},
                                                            {TmaField::GlobalDim, 1, 50},
                                                            {TmaField::GlobalStride, 0, 256},
                                                            {TmaField::ElementStride, 0, 1},
                                                            {TmaField::FillMode, 0, 0},
                                                            {TmaField::ElementType, 0, 6},
                                                            {TmaField::SwizzleMode, 0, 3},
                                                            {TmaField::ElementStride, 1, 1}};
  for (auto &[field, ordinal, value] : steps) {
    Error error = decode(zero, back);
    EXPECT_NE(error, "") << "before field " << int(field);
    ASSERT_EQ(replaceField(zero, field, ordinal, value), "");
  }
  ASSERT_EQ(decode(zero, back), "");
  EXPECT_EQ(back.globalStride[0], 256u);
  EXPECT_EQ(back.swizzle, Swizzle::B128);
  EXPECT_NE(replaceField(zero, TmaField::Rank, 0, 5).find("rank"), std::string::npos);
  EXPECT_NE(replaceField(zero, TmaField::GlobalStride, 4, 0).find("ordinal"), std::string::npos);
  uint8_t junk[tensorMapBytes] = {1, 2, 3};
  EXPECT_NE(replaceField(junk, TmaField::Rank, 0, 1), "");
  EXPECT_NE(decode(junk, back), "");
}

TEST(TensorMap, TransactionBytes) {
  EXPECT_EQ(transactionBytes(matrix(TmaType::BF16, 8, 8, 64, 32)), 64u * 32 * 2);
  TensorMap p64 = matrix(TmaType::U4Align16, 256, 8, 128, 4);
  EXPECT_EQ(transactionBytes(p64), 64u * 4);
  EXPECT_EQ(sharedBoxBytes(p64), 128u * 4);
  EXPECT_EQ(transactionBytes(matrix(TmaType::U6Align16, 256, 8, 128, 4)), 96u * 4);
  EXPECT_EQ(transactionBytes(matrix(TmaType::U4Align8, 256, 8, 64, 4)), 32u * 4);
  TensorMap strided = matrix(TmaType::F32, 64, 64, 16, 7);
  strided.elementStride[1] = 3;
  EXPECT_EQ(transactionBytes(strided), 16u * 4 * 3);
  EXPECT_EQ(gather4TransactionBytes(matrix(TmaType::BF16, 64, 64, 64, 1)), 512u);
}

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
    uint32_t lin = 0, n[5];
    uint32_t ts[5];
    for (unsigned i = 0; i < 5; ++i)
      ts[i] = i == 0 ? map.boxDim[0]
                     : (map.boxDim[i] + map.elementStride[i] - 1) / map.elementStride[i];
    std::vector<uint8_t> stored(global.bytes.size(), 0x55), naiveStored = stored;
    for (n[4] = 0; n[4] < ts[4]; ++n[4])
      for (n[3] = 0; n[3] < ts[3]; ++n[3])
        for (n[2] = 0; n[2] < ts[2]; ++n[2])
          for (n[1] = 0; n[1] < ts[1]; ++n[1])
            for (n[0] = 0; n[0] < ts[0]; ++n[0], ++lin) {
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
                uint8_t &cell = want[swizzleAddress(map.swizzle, base + lin * eb + b)];
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

TEST(BoxWalk, NaNFill) {
  TensorMap map = matrix(TmaType::BF16, 4, 4, 64, 1);
  map.fill = TmaFill::NaN;
  uint8_t out[6];
  writeFill(map, out, 2, 6);
  uint16_t word;
  std::memcpy(&word, out + 2, 2);
  EXPECT_TRUE(decode(Format::BF16, word) != decode(Format::BF16, word));
}

TEST(Reduce, TablesAndElements) {
  EXPECT_EQ(checkBulkReduce(ReduceOp::Add, ReduceType::F32, false), "");
  EXPECT_NE(checkBulkReduce(ReduceOp::Min, ReduceType::F32, false), "");
  EXPECT_EQ(checkBulkReduce(ReduceOp::Add, ReduceType::F64, false), "");
  EXPECT_NE(checkBulkReduce(ReduceOp::Add, ReduceType::F32, true), "");
  EXPECT_NE(checkBulkReduce(ReduceOp::Inc, ReduceType::S32, false), "");
  ReduceType type;
  EXPECT_EQ(tensorReduceType(ReduceOp::Add, TmaType::BF16, type), "");
  EXPECT_EQ(type, ReduceType::BF16);
  EXPECT_EQ(tensorReduceType(ReduceOp::Xor, TmaType::S64, type), "");
  EXPECT_EQ(type, ReduceType::B64);
  EXPECT_NE(tensorReduceType(ReduceOp::Add, TmaType::F64, type), "");
  EXPECT_NE(tensorReduceType(ReduceOp::Add, TmaType::U4Align8, type), "");
  EXPECT_NE(tensorReduceType(ReduceOp::Max, TmaType::F32, type), "");
  EXPECT_EQ(reduceElement(ReduceOp::Add, ReduceType::U32, 0xFFFFFFFF, 2, false), 1u);
  EXPECT_EQ(reduceElement(ReduceOp::Min, ReduceType::S32, 5, 0xFFFFFFFF, false), 0xFFFFFFFFu);
  EXPECT_EQ(reduceElement(ReduceOp::Min, ReduceType::U32, 5, 0xFFFFFFFF, false), 5u);
  EXPECT_EQ(reduceElement(ReduceOp::Inc, ReduceType::U32, 7, 7, false), 0u);
  EXPECT_EQ(reduceElement(ReduceOp::Inc, ReduceType::U32, 6, 7, false), 7u);
  EXPECT_EQ(reduceElement(ReduceOp::Dec, ReduceType::U32, 0, 7, false), 7u);
  EXPECT_EQ(reduceElement(ReduceOp::Dec, ReduceType::U32, 9, 7, false), 7u);
  EXPECT_EQ(reduceElement(ReduceOp::Add, ReduceType::F32, 1, 1, true), 0u);
  EXPECT_EQ(reduceElement(ReduceOp::Add, ReduceType::F32, 1, 1, false), 2u);
  uint8_t d[8] = {}, s[8] = {};
  for (int i = 0; i < 8; i += 2)
    s[i + 1] = 0x3F, s[i] = 0x80; // bf16 1.0
  reduceSpan(ReduceOp::Add, ReduceType::BF16, d, s, 8, false);
  reduceSpan(ReduceOp::Add, ReduceType::BF16, d, s, 8, false);
  EXPECT_EQ(d[7], 0x40); // 2.0
  EXPECT_EQ(d[6], 0x00);
}
