//===- FloatOpsTest.cpp - Arithmetic against the host and against integers
//------------------------===//
//
// f32 in each mode is compared with the host under that mode; f16 and bf16 with exact 128-bit
// integer results and a search of the neighbours.
//
//===----------------------------------------------------------------------------------------------===//
#include "tileloom/Simulator/FloatOps.h"

#include <gtest/gtest.h>

#include <cfenv>
#include <cmath>
#include <random>

using namespace tileloom::sim;

namespace {
std::mt19937_64 rng(11);

uint32_t randomF32() {
  switch (rng() % 8) {
  case 0:
    return uint32_t(rng()); // anything
  case 1:
    return uint32_t(rng() & 0x807FFFFF); // subnormal
  default:                               // near one, so that operations interact
    return uint32_t((rng() & 0x807FFFFF) | (110 + rng() % 35) << 23);
  }
}

int hostMode(Rounding mode) {
  return mode == Rounding::RZ   ? FE_TOWARDZERO
         : mode == Rounding::RM ? FE_DOWNWARD
         : mode == Rounding::RP ? FE_UPWARD
                                : FE_TONEAREST;
}

template <typename F> uint32_t onHost(Rounding mode, F f) {
  std::fesetround(hostMode(mode));
  volatile float result = f();
  std::fesetround(FE_TONEAREST);
  float r = result;
  return r == r ? bitsOf(r) : 0x7FFFFFFF;
}

// Exact value times 2^scale of a format's pattern with a small exponent.
__int128 scaled(Format format, uint64_t bits, int scale = 60) {
  double value = decode(format, bits);
  int e;
  double m = std::frexp(value, &e);
  __int128 i = __int128(std::ldexp(m, 53));
  int shift = e - 53 + scale;
  return shift >= 0 ? i * (__int128(1) << shift) : i / (__int128(1) << -shift);
}
} // namespace

TEST(FloatOps, SinglePrecisionInEveryMode) {
  for (int i = 0; i < 60000; ++i) {
    uint32_t a = randomF32(), b = randomF32(), c = randomF32();
    volatile float x = floatOf(a), y = floatOf(b), z = floatOf(c);
    for (Rounding mode : {Rounding::RN, Rounding::RZ, Rounding::RM, Rounding::RP}) {
      ArithOptions o;
      o.rounding = mode;
      ASSERT_EQ(addOp(Format::F32, a, b, o), onHost(mode, [&] { return x + y; })) << x << " " << y;
      ASSERT_EQ(subOp(Format::F32, a, b, o), onHost(mode, [&] { return x - y; }));
      ASSERT_EQ(mulOp(Format::F32, a, b, o), onHost(mode, [&] { return x * y; })) << x << " " << y;
      ASSERT_EQ(fmaOp(Format::F32, a, b, c, o), onHost(mode, [&] { return std::fma(x, y, z); }))
          << x << " " << y << " " << z << " mode " << int(mode);
      ASSERT_EQ(divOp(Format::F32, a, b, o), onHost(mode, [&] { return x / y; })) << x << " " << y;
      ASSERT_EQ(sqrtOp(Format::F32, a, o), onHost(mode, [&] { return std::sqrt(x); }));
      ASSERT_EQ(bitsOf(fmaF32(x, y, z, o)), uint32_t(fmaOp(Format::F32, a, b, c, o)));
      ASSERT_EQ(bitsOf(addF32(x, y, o)), uint32_t(addOp(Format::F32, a, b, o)));
      ASSERT_EQ(bitsOf(mulF32(x, y, o)), uint32_t(mulOp(Format::F32, a, b, o)));
    }
  }
  ArithOptions down;
  down.rounding = Rounding::RM;
  EXPECT_EQ(addOp(Format::F32, bitsOf(1.0f), bitsOf(-1.0f), down), 0x80000000u);
  EXPECT_EQ(addOp(Format::F32, bitsOf(1.0f), bitsOf(-1.0f)), 0u);
}

TEST(FloatOps, HalfPrecisionFmaIsRoundedOnce) {
  for (Format format : {Format::F16, Format::BF16}) {
    for (int i = 0; i < 60000; ++i) {
      auto pick = [&] {
        return format == Format::F16 ? uint64_t(rng() & 0x83FF) | (8 + rng() % 14) << 10
                                     : uint64_t(rng() & 0x807F) | (120 + rng() % 14) << 7;
      };
      uint64_t a = pick(), b = pick(), c = pick();
      uint64_t got = fmaOp(format, a, b, c);
      // |exact - got| must be minimal among got and its neighbours, ties to even.
      // Every factor is a multiple of 2^-30 here, so this is the exact result times 2^60.
      __int128 exact = scaled(format, a, 30) * scaled(format, b, 30) + scaled(format, c);
      auto distance = [&](uint64_t bits) {
        __int128 d = scaled(format, bits) - exact;
        return d < 0 ? -d : d;
      };
      if ((got & 0x7FFF) == 0) {
        ASSERT_EQ(exact, 0);
        continue;
      }
      __int128 mine = distance(got);
      for (uint64_t other : {got - 1, got + 1}) {
        __int128 theirs = distance(other);
        ASSERT_LE(mine, theirs) << formatInfo(format).name << std::hex << " " << a << " " << b
                                << " " << c << " -> " << got;
        if (mine == theirs) {
          ASSERT_EQ(got & 1, 0u);
        }
      }
    }
  }
  // A double-rounding trap: f16 1 + 2^-11 + 2^-24 * 2^-10 must round up.
  uint64_t one = encode(Format::F16, 1), tiny = encode(Format::F16, 0x1p-24);
  EXPECT_EQ(fmaOp(Format::F16, tiny, tiny, encode(Format::F16, 1 + 0x1p-10)), 0x3C01u);
  EXPECT_EQ(addOp(Format::F16, one, encode(Format::F16, 0x1p-11)), 0x3C00u);
  EXPECT_EQ(fmaOp(Format::F16, encode(Format::F16, 0x1.004p-11), one, one), 0x3C01u);
}

TEST(FloatOps, DoublePrecision) {
  ArithOptions up;
  up.rounding = Rounding::RP;
  uint64_t one = bitsOf(1.0), third = divOp(Format::F64, one, bitsOf(3.0), up);
  EXPECT_EQ(third, divOp(Format::F64, one, bitsOf(3.0)) + 1);
  EXPECT_EQ(addOp(Format::F64, one, bitsOf(0x1p-60), up), one + 1);
  EXPECT_EQ(addOp(Format::F64, one, bitsOf(0x1p-60)), one);
  EXPECT_EQ(std::fegetround(), FE_TONEAREST);
}

TEST(FloatOps, FlushAndSaturate) {
  ArithOptions ftz;
  ftz.ftz = true;
  EXPECT_EQ(addOp(Format::F32, 0x00000001, 0, ftz), 0u);
  EXPECT_EQ(addOp(Format::F32, 0x80000001, 0x80000001, ftz), 0x80000000u);
  EXPECT_EQ(mulOp(Format::F32, 0x00800000, bitsOf(-0.5f), ftz), 0x80000000u);
  EXPECT_EQ(mulOp(Format::F32, 0x00800000, bitsOf(0.5f)), 0x00400000u);
  ArithOptions sat;
  sat.sat = true;
  EXPECT_EQ(addOp(Format::F32, bitsOf(1.0f), bitsOf(1.0f), sat), bitsOf(1.0f));
  EXPECT_EQ(addOp(Format::F32, bitsOf(-1.0f), bitsOf(-1.0f), sat), 0u);
  EXPECT_EQ(addOp(Format::F32, 0x7FC00000, bitsOf(1.0f), sat), 0u);
  ArithOptions relu;
  relu.relu = true;
  EXPECT_EQ(fmaOp(Format::BF16, 0xBF80, 0x3F80, 0, relu), 0u);
  EXPECT_EQ(fmaOp(Format::BF16, 0x7FC0, 0x3F80, 0, relu), 0x7FFFu);
}

TEST(FloatOps, MinMax) {
  uint32_t nan = 0x7FC00001, one = bitsOf(1.0f), two = bitsOf(-2.0f);
  MinMaxOptions strict;
  strict.nan = true;
  EXPECT_EQ(maxOp(Format::F32, nan, one), one);
  EXPECT_EQ(maxOp(Format::F32, nan, one, strict), 0x7FFFFFFFu);
  EXPECT_EQ(minOp(Format::F32, nan, nan), 0x7FFFFFFFu);
  for (bool swap : {false, true}) {
    uint32_t a = swap ? 0x80000000u : 0, b = swap ? 0 : 0x80000000u;
    EXPECT_EQ(maxOp(Format::F32, a, b), 0u);
    EXPECT_EQ(minOp(Format::F32, a, b), 0x80000000u);
  }
  MinMaxOptions magnitude;
  magnitude.xorsignAbs = true;
  EXPECT_EQ(maxOp(Format::F32, one, two, magnitude), two);
  EXPECT_EQ(minOp(Format::F32, one, two, magnitude), bitsOf(-1.0f));
  EXPECT_EQ(maxOp(Format::F16, 0x3C00, 0xC000), 0x3C00u);
}

// The values of the tests named after the H200 were computed by one (bench/agreement.py).
TEST(FloatOps, FlushesWhatAnH200Flushes) {
  // Tiny is what is below the smallest normal after rounding with an unbounded exponent.
  ArithOptions near, down, up;
  near.ftz = down.ftz = up.ftz = true;
  down.rounding = Rounding::RM;
  up.rounding = Rounding::RP;
  EXPECT_EQ(mulOp(Format::F32, 0x00800000, 0x3F7FFFFF, near), 0u);
  EXPECT_EQ(mulOp(Format::F32, 0x80800000, 0xBF7FFFFF, up), 0u);
  EXPECT_EQ(mulOp(Format::F32, 0x00800000, 0xBF7FFFFF, down), 0x80000000u);
  EXPECT_EQ(divOp(Format::F32, 0x80800000, 0x3F800001, down), 0x80000000u);
  struct Sum {
    uint32_t a, b, c, near, down, up;
  } sums[] = {{0x296B1FFF, 0x88E6FA3E, 0x00800000, 0x00800000, 0x00000000, 0x00800000},
              {0x0F64BB2A, 0x254011C5, 0x80800001, 0x80000000, 0x80800000, 0x80000000},
              {0x0265455C, 0xB24A36E8, 0x00800001, 0x00000000, 0x00000000, 0x00800000}};
  for (const Sum &s : sums) {
    EXPECT_EQ(fmaOp(Format::F32, s.a, s.b, s.c, near), s.near);
    EXPECT_EQ(fmaOp(Format::F32, s.a, s.b, s.c, down), s.down);
    EXPECT_EQ(fmaOp(Format::F32, s.a, s.b, s.c, up), s.up);
    EXPECT_EQ(bitsOf(fmaF32(floatOf(s.a), floatOf(s.b), floatOf(s.c), near)), s.near);
  }
}

TEST(FloatOps, NaNsOfAnH200) {
  MinMaxOptions xorsign;
  xorsign.xorsignAbs = true;
  EXPECT_EQ(minOp(Format::F32, 0x3FF107B2, 0xFFC00000, xorsign), 0xBFF107B2u);
  EXPECT_EQ(maxOp(Format::F32, 0xFF800001, 0xC0404DC9, xorsign), 0x40404DC9u);
  EXPECT_EQ(minOp(Format::F16, 0x0068, 0xFE9A, xorsign), 0x8068u);
  EXPECT_EQ(minOp(Format::BF16, 0x02B0, 0xFFC5, xorsign), 0x82B0u);
  for (auto op : {negOp, absOp}) {
    EXPECT_EQ(op(Format::F32, 0xFF800001, false), 0x7FFFFFFFu);
    EXPECT_EQ(op(Format::F32, 0x7FFFFFFF, true), 0x7FFFFFFFu);
    EXPECT_EQ(op(Format::F16, 0x7C01, false), 0x7FFFu);
    EXPECT_EQ(op(Format::BF16, 0xFF81, false), 0x7FFFu);
    EXPECT_EQ(op(Format::F64, 0xFFF8000000000000, false), 0xFFF8000000000000u);
    EXPECT_EQ(op(Format::F64, 0x7FFB7CC63E833E5E, false), 0x7FFB7CC63E833E5Eu);
  }
  // f64: an operand, b before c before a; division a before b.
  uint64_t plus = 0x7FF8000000000000, minus = 0xFFF8000000000000, one = bitsOf(1.0);
  EXPECT_EQ(addOp(Format::F64, minus, plus), plus);
  EXPECT_EQ(subOp(Format::F64, minus, plus), plus);
  EXPECT_EQ(mulOp(Format::F64, minus, plus), plus);
  EXPECT_EQ(divOp(Format::F64, minus, plus), minus);
  EXPECT_EQ(fmaOp(Format::F64, one, plus, minus), plus);
  EXPECT_EQ(fmaOp(Format::F64, minus, one, plus), plus);
  EXPECT_EQ(fmaOp(Format::F64, minus, plus, one), plus);
  EXPECT_EQ(minOp(Format::F64, minus, minus), minus);
  EXPECT_EQ(mulOp(Format::F64, bitsOf(0.0), 0x7FF0000000000000), minus); // no operand
}

TEST(FloatOps, ApproximationsStayInTheirBounds) {
  for (int i = 0; i < 20000; ++i) {
    float x = float(int64_t(rng() % 200000) - 100000) / 1000.0f;
    float e = floatOf(uint32_t(approxOp(Approx::Ex2, Format::F32, bitsOf(x))));
    double exact = std::exp2(double(x));
    ASSERT_LE(std::fabs(e - exact), exact * 0x1p-23);
    float t = floatOf(uint32_t(approxOp(Approx::Tanh, Format::F32, bitsOf(x))));
    ASSERT_LE(std::fabs(t - std::tanh(double(x))), std::fabs(std::tanh(double(x))) * 0x1p-11);
    float r = floatOf(uint32_t(approxOp(Approx::Rsqrt, Format::F32, bitsOf(std::fabs(x) + 1e-3f))));
    double want = 1 / std::sqrt(double(std::fabs(x) + 1e-3f));
    ASSERT_LE(std::fabs(r - want), want * 0x1p-22);
  }
  auto f = [](Approx a, uint32_t bits, bool ftz = false) {
    return approxOp(a, Format::F32, bits, ftz);
  };
  EXPECT_EQ(f(Approx::Ex2, 0xFF800000), 0u);
  EXPECT_EQ(f(Approx::Ex2, 0x80000000), bitsOf(1.0f));
  EXPECT_EQ(f(Approx::Ex2, 0x7F800000), 0x7F800000u);
  EXPECT_EQ(f(Approx::Ex2, 0x7FC00000), 0x7FFFFFFFu);
  EXPECT_EQ(f(Approx::Ex2, bitsOf(-130.0f)), bitsOf(0x1p-130f));
  EXPECT_EQ(f(Approx::Ex2, bitsOf(-130.0f), true), 0u);
  EXPECT_EQ(f(Approx::Lg2, 0), 0xFF800000u);
  EXPECT_EQ(f(Approx::Lg2, bitsOf(-1.0f)), 0x7FFFFFFFu);
  EXPECT_EQ(f(Approx::Rcp, 0x80000000), 0xFF800000u);
  EXPECT_EQ(f(Approx::Rsqrt, 0), 0x7F800000u);
  EXPECT_EQ(f(Approx::Rsqrt, bitsOf(-1.0f)), 0x7FFFFFFFu);
  EXPECT_EQ(f(Approx::Tanh, 0x7F800000), bitsOf(1.0f));
  EXPECT_EQ(divApproxF32(bitsOf(1.0f), bitsOf(0x1.8p127f), false, false), 0u);
  EXPECT_EQ(divApproxF32(bitsOf(1.0f), bitsOf(0x1.8p127f), false, true), bitsOf(1.0f / 0x1.8p127f));
}

TEST(FloatOps, InlineFormsAgreeWithTheGeneral) {
  for (int i = 0; i < 40000; ++i) {
    uint32_t a = randomF32(), b = randomF32(), c = randomF32();
    float x = floatOf(a), y = floatOf(b), z = floatOf(c);
    ArithOptions o;
    o.ftz = rng() & 1;
    o.sat = rng() & 1;
    if (x == x && y == y && x != y) {
      ASSERT_EQ(maxOp(Format::F32, a, b), x > y ? a : b);
      ASSERT_EQ(minOp(Format::F32, a, b), x > y ? b : a);
    }
    ASSERT_EQ(bitsOf(addF32(x, y, o)), addOp(Format::F32, a, b, o)) << x << " " << y;
    ASSERT_EQ(bitsOf(mulF32(x, y, o)), mulOp(Format::F32, a, b, o)) << x << " " << y;
    ASSERT_EQ(bitsOf(fmaF32(x, y, z, o)), fmaOp(Format::F32, a, b, c, o)) << x << " " << y;
  }
}
