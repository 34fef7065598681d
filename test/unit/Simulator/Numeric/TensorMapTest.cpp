//===- TensorMapTest.cpp - Tensor map rules, opaque form, swizzles, reductions
//--------------------===//
//
// The rules and their messages, the device-side edits, and the swizzles against tables of chunk
// numbers.
//
//===----------------------------------------------------------------------------------------------===//
#include "Maps.h"
#include "tileloom/Simulator/Formats.h"
#include "tileloom/Simulator/Reduce.h"

#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <vector>

using namespace tileloom::sim;

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

TEST(Reduce, TablesAndElements) {
  // A NaN of f64 passes as it is (H200, case atom_half).
  EXPECT_EQ(reduceElement(ReduceOp::Add, ReduceType::F64, 0x7FF0000000000001, 0, false),
            0x7FF0000000000001u);
  EXPECT_EQ(reduceElement(ReduceOp::Add, ReduceType::F64, 0, 0x7FF4123456789ABC, false),
            0x7FF4123456789ABCu);
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
