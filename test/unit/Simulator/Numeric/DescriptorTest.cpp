//===- DescriptorTest.cpp - Matrix and instruction descriptors
//------------------------------------===//
//
// Operands are placed in a shared memory image the way a program would (TMA boxes, core matrices)
// and gathered back through descriptors of every swizzle and major-ness.
//
//===----------------------------------------------------------------------------------------------===//
#include "tileloom/Simulator/Descriptor.h"
#include "tileloom/Simulator/InstructionDescriptor.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

using namespace tileloom::sim;

namespace {
std::mt19937 rng(31);

uint64_t wgmmaBits(uint32_t start, uint32_t lbo, uint32_t sbo, unsigned code, unsigned base = 0) {
  return uint64_t(start >> 4) | uint64_t(lbo >> 4) << 16 | uint64_t(sbo >> 4) << 32 |
         uint64_t(base) << 49 | uint64_t(code) << 62;
}
uint64_t tcgen05Bits(uint32_t start, uint32_t lbo, uint32_t sbo, unsigned code) {
  return uint64_t(start >> 4) | uint64_t(lbo >> 4) << 16 | uint64_t(sbo >> 4) << 32 |
         uint64_t(1) << 46 | uint64_t(code) << 61;
}

// Element (mn, k) of the random operand, dense K-major bytes.
std::vector<uint8_t> randomMatrix(uint32_t mn, uint32_t k, unsigned eb) {
  std::vector<uint8_t> m(mn * k * eb);
  for (auto &x : m)
    x = uint8_t(rng());
  return m;
}

void expectGather(const MatrixDescriptor &d, Major major, unsigned eb, uint32_t mn, uint32_t k,
                  const std::vector<uint8_t> &shared, const std::vector<uint8_t> &want) {
  ASSERT_EQ(checkLayout(d, major, eb), "");
  std::vector<uint8_t> got(want.size(), 0xEE);
  bool ok = gatherOperand(
      d, major, eb, mn, k,
      [&](uint32_t address, uint32_t bytes) -> const uint8_t * {
        EXPECT_LE(address + bytes, shared.size());
        return &shared[address];
      },
      got.data());
  EXPECT_TRUE(ok);
  EXPECT_EQ(got, want);
}
} // namespace

TEST(Descriptor, FieldsAndErrors) {
  MatrixDescriptor d;
  ASSERT_EQ(decodeWgmmaDescriptor(wgmmaBits(0x3400, 16, 1024, 1, 5), d), "");
  EXPECT_EQ(d.start, 0x3400u);
  EXPECT_EQ(d.leadingBytes, 16u);
  EXPECT_EQ(d.strideBytes, 1024u);
  EXPECT_EQ(d.baseOffset, 5);
  EXPECT_EQ(d.swizzle, Swizzle::B128);
  ASSERT_EQ(decodeWgmmaDescriptor(wgmmaBits(0, 0, 0, 2), d), "");
  EXPECT_EQ(d.swizzle, Swizzle::B64);
  ASSERT_EQ(decodeWgmmaDescriptor(wgmmaBits(0, 0, 0, 3), d), "");
  EXPECT_EQ(d.swizzle, Swizzle::B32);
  EXPECT_NE(decodeWgmmaDescriptor(uint64_t(1) << 46, d).find("48:46"), std::string::npos);
  EXPECT_NE(decodeWgmmaDescriptor(uint64_t(1) << 14, d).find("15:14"), std::string::npos);
  EXPECT_NE(decodeWgmmaDescriptor(uint64_t(1) << 55, d).find("61:52"), std::string::npos);
  const Swizzle codes[] = {Swizzle::None, Swizzle::B128Atom32, Swizzle::B128, Swizzle::None,
                           Swizzle::B64,  Swizzle::None,       Swizzle::B32};
  for (unsigned code = 0; code < 8; ++code) {
    Error error = decodeTcgen05Descriptor(tcgen05Bits(0x400, 0, 512, code), d);
    bool invalid = code == 3 || code == 5 || code == 7;
    EXPECT_EQ(error.empty(), !invalid) << code;
    if (!invalid) {
      EXPECT_EQ(d.swizzle, codes[code]);
    }
  }
  EXPECT_NE(decodeTcgen05Descriptor(wgmmaBits(0, 0, 0, 0), d).find("48:46"), std::string::npos);
  EXPECT_NE(decodeTcgen05Descriptor(tcgen05Bits(0, 0, 0, 0) | uint64_t(1) << 52, d), "");
  EXPECT_NE(decodeTcgen05Descriptor(tcgen05Bits(0, 0, 0, 0) | uint64_t(1) << 58, d), "");
  d = MatrixDescriptor();
  d.swizzle = Swizzle::B128Atom32;
  EXPECT_NE(checkLayout(d, Major::K, 2), "");
  EXPECT_NE(checkLayout(d, Major::MN, 2), "");
  EXPECT_EQ(checkLayout(d, Major::MN, 4), "");
  d.swizzle = Swizzle::B128;
  EXPECT_NE(checkLayout(d, Major::MN, 4), "");
}

TEST(Descriptor, KMajorTilesOfTmaBoxes) {
  for (Swizzle swizzle : {Swizzle::B32, Swizzle::B64, Swizzle::B128})
    for (unsigned eb : {1u, 2u, 4u}) {
      uint32_t width = swizzleWidth(swizzle), rows = 64, k = width / eb, base = 0x2000;
      std::vector<uint8_t> tile = randomMatrix(rows, k, eb), shared(0x8000);
      for (uint32_t i = 0; i < tile.size(); ++i) // a box [rows][width bytes] as TMA writes it
        shared[swizzleAddress(swizzle, base + i)] = tile[i];
      MatrixDescriptor d;
      d.swizzle = swizzle;
      d.strideBytes = 8 * width;
      uint32_t step = 32 / eb; // one MMA along K: the start advances by 32 bytes
      for (uint32_t k0 = 0; k0 < k; k0 += step) {
        d.start = base + k0 * eb;
        std::vector<uint8_t> want;
        for (uint32_t row = 0; row < rows; ++row)
          want.insert(want.end(), &tile[(row * k + k0) * eb], &tile[(row * k + k0) * eb] + 32);
        expectGather(d, Major::K, eb, rows, step, shared, want);
      }
    }
}

TEST(Descriptor, MNMajorTilesOfTmaBoxes) {
  struct {
    Swizzle swizzle;
    unsigned eb, rowsPerAtom;
  } cases[] = {{Swizzle::B32, 2, 8},
               {Swizzle::B64, 2, 8},
               {Swizzle::B128, 2, 8},
               {Swizzle::B128, 1, 8},
               {Swizzle::B128Atom32, 4, 4}};
  for (auto &c : cases) {
    uint32_t width = swizzleWidth(c.swizzle), perRow = width / c.eb, boxes = 2;
    uint32_t mn = perRow * boxes, kTile = 64, base = 0x1000, k = 32 / c.eb;
    std::vector<uint8_t> tile = randomMatrix(mn, kTile, c.eb), shared(0x10000);
    for (uint32_t m = 0; m < mn; ++m) // boxes of [kTile rows][width bytes], one after the other
      for (uint32_t kk = 0; kk < kTile; ++kk)
        for (uint32_t b = 0; b < c.eb; ++b) {
          uint32_t address = base + m / perRow * kTile * width + kk * width + m % perRow * c.eb + b;
          shared[swizzleAddress(c.swizzle, address)] = tile[(m * kTile + kk) * c.eb + b];
        }
    MatrixDescriptor d;
    d.swizzle = c.swizzle;
    d.strideBytes = c.rowsPerAtom * width;
    d.leadingBytes = kTile * width;
    for (uint32_t k0 = 0; k0 < kTile; k0 += k) {
      d.start = base + k0 * width;
      std::vector<uint8_t> want;
      for (uint32_t m = 0; m < mn; ++m)
        want.insert(want.end(), &tile[(m * kTile + k0) * c.eb],
                    &tile[(m * kTile + k0) * c.eb] + 32);
      expectGather(d, Major::MN, c.eb, mn, k, shared, want);
    }
  }
}

TEST(Descriptor, CoreMatricesWithoutSwizzle) {
  const unsigned eb = 2;
  const uint32_t mn = 32, k = 16, base = 0x800;
  std::vector<uint8_t> tile = randomMatrix(mn, k, eb), shared(0x4000);
  // K-major: 8 rows x 16 bytes are contiguous; SBO to the next 8 rows, LBO to the next 16 bytes of
  // K.
  MatrixDescriptor d;
  d.start = base;
  d.leadingBytes = 1024;
  d.strideBytes = 128;
  for (uint32_t m = 0; m < mn; ++m)
    for (uint32_t i = 0; i < k * eb; ++i)
      shared[base + i / 16 * 1024 + m / 8 * 128 + m % 8 * 16 + i % 16] = tile[m * k * eb + i];
  expectGather(d, Major::K, eb, mn, k, shared, tile);
  // MN-major: 8 k values x 16 bytes of MN; SBO walks MN, LBO walks K.
  std::fill(shared.begin(), shared.end(), 0);
  d.leadingBytes = 2048;
  d.strideBytes = 256;
  for (uint32_t m = 0; m < mn; ++m)
    for (uint32_t kk = 0; kk < k; ++kk)
      for (uint32_t b = 0; b < eb; ++b)
        shared[base + m / 8 * 256 + kk / 8 * 2048 + kk % 8 * 16 + m % 8 * eb + b] =
            tile[(m * k + kk) * eb + b];
  expectGather(d, Major::MN, eb, mn, k, shared, tile);
}

TEST(Descriptor, BaseOffsetAndWrap) {
  // A pattern that starts 3 lines off its period, described with base offset 3, reads as if
  // aligned.
  MatrixDescriptor aligned, shifted;
  aligned.swizzle = shifted.swizzle = Swizzle::B128;
  aligned.strideBytes = shifted.strideBytes = 1024;
  aligned.start = 0x400;
  shifted.start = 0x400 + 3 * 128;
  shifted.baseOffset = 3;
  for (uint32_t row = 0; row < 64; ++row)
    for (uint32_t k = 0; k < 64; ++k)
      ASSERT_EQ(elementAddress(shifted, Major::K, 2, row, k),
                elementAddress(aligned, Major::K, 2, row, k) + 3 * 128);
  MatrixDescriptor top;
  top.start = 0x3FFF0;
  EXPECT_EQ(physicalAddress(top, 32), 0x10u); // 14 bits of 16-byte units
}

namespace {
struct Fields {
  uint32_t d = 1, a = 0, b = 0, n = 128, m = 128, extra = 0;
  uint32_t plain() const {
    return d << 4 | a << 7 | b << 10 | (n >> 3) << 17 | (m >> 4) << 24 | extra;
  }
  uint32_t scaled() const { return a << 7 | b << 10 | (n >> 3) << 17 | (m >> 7) << 27 | extra; }
};
Error check(MmaKind kind, uint32_t bits, unsigned group = 1, bool ws = false, unsigned vector = 0) {
  InstructionDescriptor d;
  MmaForm form;
  form.ctaGroup = group;
  form.ws = ws;
  form.scaleVector = vector;
  return decodeInstructionDescriptor(kind, bits, form, d);
}
} // namespace

TEST(InstructionDescriptor, DecodesPlainKinds) {
  Fields f;
  f.a = f.b = 1;
  f.extra = 1u << 16 | 1u << 13;
  f.n = 256;
  InstructionDescriptor d;
  ASSERT_EQ(decodeInstructionDescriptor(MmaKind::F16, f.plain(), {}, d), "");
  EXPECT_EQ(d.aType, MmaType::BF16);
  EXPECT_EQ(d.dType, MmaType::F32);
  EXPECT_EQ(d.m, 128u);
  EXPECT_EQ(d.n, 256u);
  EXPECT_EQ(d.k, 16u);
  EXPECT_EQ(d.bMajor, Major::MN);
  EXPECT_EQ(d.aMajor, Major::K);
  EXPECT_TRUE(d.negateA);
  EXPECT_FALSE(d.negateB);
  EXPECT_EQ(d.containerBytesA, 2);
  f = Fields();
  f.a = 5;
  f.b = 3;
  f.d = 0;
  ASSERT_EQ(decodeInstructionDescriptor(MmaKind::F8F6F4, f.plain(), {}, d), "");
  EXPECT_EQ(d.aType, MmaType::E2M1);
  EXPECT_EQ(d.bType, MmaType::E2M3);
  EXPECT_EQ(d.dType, MmaType::F16);
  EXPECT_EQ(d.k, 32u);
  f = Fields();
  f.d = 2;
  f.a = 1;
  f.extra = 8;
  ASSERT_EQ(decodeInstructionDescriptor(MmaKind::I8, f.plain(), {}, d), "");
  EXPECT_EQ(d.aType, MmaType::S8);
  EXPECT_EQ(d.bType, MmaType::U8);
  EXPECT_TRUE(d.saturate);
}

TEST(InstructionDescriptor, DecodesScaledKinds) {
  Fields f;
  f.a = f.b = 0;
  f.extra = 1u << 23 | 3u << 29 | 2u << 4;
  InstructionDescriptor d;
  ASSERT_EQ(decodeInstructionDescriptor(MmaKind::MXF8F6F4, f.scaled(), {}, d), "");
  EXPECT_EQ(d.scaleIdA, 3);
  EXPECT_EQ(d.scaleIdB, 2);
  EXPECT_EQ(d.scalesPerRow, 1);
  EXPECT_EQ(d.m, 128u);
  f.a = f.b = 1;
  f.extra = 0;
  MmaForm four;
  four.scaleVector = 4;
  ASSERT_EQ(decodeInstructionDescriptor(MmaKind::MXF4NVF4, f.scaled(), four, d), "");
  EXPECT_EQ(d.scaleType, Format::UE4M3);
  EXPECT_EQ(d.k, 64u);
  EXPECT_EQ(d.containerBytesA, 0);
  f.m = 256;
  four.ctaGroup = 2;
  ASSERT_EQ(decodeInstructionDescriptor(MmaKind::MXF4NVF4, f.scaled(), four, d), "");
  EXPECT_EQ(d.m, 256u);
  // The qualifier is mandatory, ue4m3 needs 4X, mxf4 needs ue8m0, ids follow the vector size.
  f.m = 128;
  EXPECT_NE(check(MmaKind::MXF4NVF4, f.scaled()), "");
  EXPECT_NE(check(MmaKind::MXF4NVF4, f.scaled(), 1, false, 2), "");
  EXPECT_NE(check(MmaKind::MXF4, f.scaled()), "");
  f.extra = 1u << 23;
  EXPECT_EQ(check(MmaKind::MXF4, f.scaled()), "");
  f.extra = 1u << 23 | 1u << 29;
  EXPECT_NE(check(MmaKind::MXF4, f.scaled()).find("scale factor id"), std::string::npos);
  f.extra = 1u << 23 | 1u << 31;
  EXPECT_NE(check(MmaKind::MXF4, f.scaled()).find("sm_103a"), std::string::npos);
  f.extra = 1u << 23 | 1u << 15;
  EXPECT_NE(check(MmaKind::MXF4, f.scaled()).find("K-major"), std::string::npos);
  f.extra = 1u << 23;
  EXPECT_NE(check(MmaKind::MXF4, f.scaled(), 1, true), "");
}

TEST(InstructionDescriptor, ShapesOfTable39) {
  auto shape = [](MmaKind kind, unsigned m, unsigned n, unsigned group, bool ws) {
    Fields f;
    f.m = m;
    f.n = n;
    if (kind == MmaKind::TF32)
      f.a = f.b = 2;
    if (kind == MmaKind::I8)
      f.d = 2;
    f.extra = isBlockScaled(kind) ? 1u << 23 : 0;
    return check(kind, isBlockScaled(kind) ? f.scaled() : f.plain(), group, ws).empty();
  };
  for (unsigned m : {32u, 64u, 96u, 128u, 256u})
    for (unsigned n = 0; n <= 264; n += 8) {
      if (n >= 8 * 64)
        continue;
      bool one = (m == 64 || m == 128) && n >= 8 && n <= 256;
      bool two = (m == 128 || m == 256) && n >= 16 && n <= 256 && n % 16 == 0;
      bool ws = (m == 32 || m == 64 || m == 128) && (n == 64 || n == 128 || n == 256);
      for (MmaKind kind : {MmaKind::F16, MmaKind::TF32, MmaKind::F8F6F4}) {
        EXPECT_EQ(shape(kind, m, n, 1, false), one) << m << "x" << n;
        EXPECT_EQ(shape(kind, m, n, 2, false), two) << m << "x" << n;
        EXPECT_EQ(shape(kind, m, n, 1, true), ws) << m << "x" << n;
      }
      bool i8 = one && (n == 8 || n == 24 || n % 16 == 0);
      EXPECT_EQ(shape(MmaKind::I8, m, n, 1, false), i8) << m << "x" << n;
      EXPECT_EQ(shape(MmaKind::I8, m, n, 2, false), two && n % 32 == 0) << m << "x" << n;
      if (m % 128 == 0) {
        EXPECT_EQ(shape(MmaKind::MXF8F6F4, m, n, 1, false), one && m == 128) << m << "x" << n;
        EXPECT_EQ(shape(MmaKind::MXF8F6F4, m, n, 2, false), two) << m << "x" << n;
        EXPECT_FALSE(shape(MmaKind::MXF8F6F4, m, n, 1, true));
      }
    }
}

TEST(InstructionDescriptor, ReservedBitsAndTypes) {
  Fields f;
  for (uint32_t bit : {3u, 6u, 23u, 29u, 30u}) {
    f.extra = 1u << bit;
    EXPECT_NE(check(MmaKind::F16, f.plain()), "") << bit;
  }
  f.extra = 0;
  f.a = 2;
  EXPECT_NE(check(MmaKind::F16, f.plain()).find("A type is 2"), std::string::npos);
  EXPECT_NE(check(MmaKind::F8F6F4, f.plain()), "");
  f = Fields();
  f.a = f.b = 1;
  f.d = 0;
  EXPECT_NE(check(MmaKind::F16, f.plain()).find("bf16"), std::string::npos);
  f = Fields();
  f.d = 2;
  EXPECT_NE(check(MmaKind::F16, f.plain()).find("D type"), std::string::npos);
  f.extra = 1u << 13;
  EXPECT_NE(check(MmaKind::I8, f.plain()).find("negation"), std::string::npos);
  f = Fields();
  f.extra = 1u << 16; // MN-major 8-bit B wants N % 16
  f.n = 24;
  EXPECT_NE(check(MmaKind::F8F6F4, f.plain()), "");
  f.n = 32;
  EXPECT_EQ(check(MmaKind::F8F6F4, f.plain()), "");
  f.b = 5;
  EXPECT_NE(check(MmaKind::F8F6F4, f.plain()).find("K-major"), std::string::npos);
  EXPECT_NE(check(MmaKind::F16, Fields().plain(), 3), "");
}
