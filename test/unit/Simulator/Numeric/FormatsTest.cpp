//===- FormatsTest.cpp - Conversions against enumerated formats
//-----------------------------------===//
//
// Every format up to 16 bits is enumerated and sorted; a conversion must give the neighbour that
// the rounding mode names. Wider formats are checked against the host and against defining
// inequalities.
//
//===----------------------------------------------------------------------------------------------===//
#include "tileloom/Simulator/Formats.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

using namespace tileloom::sim;

namespace {
constexpr Format small[] = {Format::E4M3, Format::E5M2, Format::E2M3, Format::E3M2,
                            Format::E2M1, Format::F16,  Format::BF16};

// Magnitudes of the finite values, ascending, from the definition of the format.
std::vector<double> magnitudes(Format format) {
  struct {
    int e, m, bias;
    bool inf, nan;
  } spec;
  switch (format) {
  case Format::E4M3:
    spec = {4, 3, 7, false, true};
    break;
  case Format::E5M2:
    spec = {5, 2, 15, true, true};
    break;
  case Format::E2M3:
    spec = {2, 3, 1, false, false};
    break;
  case Format::E3M2:
    spec = {3, 2, 3, false, false};
    break;
  case Format::E2M1:
    spec = {2, 1, 1, false, false};
    break;
  case Format::F16:
    spec = {5, 10, 15, true, true};
    break;
  default:
    spec = {8, 7, 127, true, true};
    break;
  }
  std::vector<double> values;
  for (int e = 0; e < (1 << spec.e) - (spec.inf ? 1 : 0); ++e)
    for (int m = 0; m < 1 << spec.m; ++m) {
      if (spec.nan && !spec.inf && e == (1 << spec.e) - 1 && m == (1 << spec.m) - 1)
        continue;
      double fraction = double(m) / (1 << spec.m);
      values.push_back(e ? (1 + fraction) * std::pow(2.0, e - spec.bias)
                         : fraction * std::pow(2.0, 1 - spec.bias));
    }
  return values;
}

// Pattern expected for a finite x: index in the magnitudes, plus the sign bit.
uint64_t expected(Format format, const std::vector<double> &values, double x, Rounding mode,
                  bool satfinite) {
  bool negative = std::signbit(x);
  double magnitude = std::fabs(x);
  uint64_t sign = negative ? uint64_t(1) << (formatInfo(format).bits - 1) : 0;
  size_t above = std::upper_bound(values.begin(), values.end(), magnitude) - values.begin();
  size_t low = above - 1; // values[low] <= magnitude
  size_t last = values.size() - 1;
  bool exact = values[low] == magnitude;
  // Past the largest value the grid goes on with the same step, as IEEE 754 rounds.
  double next = low == last ? values[last] + (values[last] - values[last - 1]) : values[low + 1];
  double middle = (values[low] + next) / 2;
  bool up = false;
  switch (mode) {
  case Rounding::RN:
    up = magnitude > middle || (magnitude == middle && low % 2);
    break;
  case Rounding::RNA:
    up = magnitude >= middle;
    break;
  case Rounding::RM:
    up = negative && !exact;
    break;
  case Rounding::RP:
    up = !negative && !exact;
    break;
  default:
    break;
  }
  if (low == last && up) {
    bool clamp = satfinite || !formatInfo(format).hasInf;
    return sign | (clamp ? last : last + 1);
  }
  return sign | (low + up);
}
} // namespace

TEST(Formats, RoundTripsEveryPattern) {
  for (Format format : {Format::E4M3, Format::E5M2, Format::E2M3, Format::E3M2, Format::E2M1,
                        Format::F16, Format::BF16, Format::UE8M0, Format::UE4M3}) {
    uint64_t count = uint64_t(1) << formatInfo(format).bits;
    for (uint64_t bits = 0; bits < count; ++bits) {
      double value = decode(format, bits);
      uint64_t back = encode(format, value);
      if (value != value) {
        EXPECT_EQ(back, canonicalNaN(format));
      } else {
        ASSERT_EQ(back, bits) << formatInfo(format).name << " " << value;
      }
    }
  }
}

TEST(Formats, DecodesTheDefinition) {
  for (Format format : small) {
    std::vector<double> values = magnitudes(format);
    EXPECT_EQ(values.back(), maxFinite(format)) << formatInfo(format).name;
    EXPECT_EQ(values.size() - 1, maxFiniteBits(format));
    uint64_t sign = uint64_t(1) << (formatInfo(format).bits - 1);
    for (size_t i = 0; i < values.size(); ++i) {
      ASSERT_EQ(decode(format, i), values[i]);
      ASSERT_EQ(decode(format, i | sign), -values[i]);
    }
  }
}

TEST(Formats, RoundsToTheNamedNeighbour) {
  std::mt19937_64 rng(7);
  for (Format format : small) {
    std::vector<double> values = magnitudes(format);
    std::vector<double> inputs;
    for (size_t i = 0; i + 1 < values.size(); i += values.size() > 1000 ? 13 : 1) {
      double middle = (values[i] + values[i + 1]) / 2;
      for (double x :
           {values[i], middle, std::nextafter(middle, 0.0), std::nextafter(middle, 1e300),
            std::nextafter(values[i + 1], 0.0), std::nextafter(values[i], 1e300)})
        inputs.push_back(x);
    }
    double top = values.back(), step = top - values[values.size() - 2];
    for (double x : {top + step / 2, std::nextafter(top + step / 2, 0.0), top + step, top * 4,
                     values[1] / 2, values[1] / 4, 0x1p-1000})
      inputs.push_back(x);
    for (int i = 0; i < 2000; ++i)
      inputs.push_back(std::ldexp(1 + double(rng()) / 0x1p64, int(rng() % 60) - 40));
    for (double x : inputs)
      for (double signedX : {x, -x})
        for (Rounding mode :
             {Rounding::RN, Rounding::RZ, Rounding::RM, Rounding::RP, Rounding::RNA})
          for (bool sat : {false, true}) {
            ConvertOptions options;
            options.rounding = mode;
            options.satfinite = sat;
            ASSERT_EQ(encode(format, signedX, options),
                      expected(format, values, signedX, mode, sat))
                << formatInfo(format).name << " " << signedX << " mode " << int(mode);
          }
  }
}

TEST(Formats, TableOfSpecialValues) {
  auto to = [](Format f, double x) { return encode(f, x); };
  EXPECT_EQ(to(Format::E4M3, 448), 0x7Eu);
  EXPECT_EQ(to(Format::E4M3, 465), 0x7Eu);
  EXPECT_EQ(to(Format::E4M3, 0x1p-10), 0u);
  EXPECT_EQ(to(Format::E4M3, std::nextafter(0x1p-10, 1)), 1u);
  EXPECT_EQ(to(Format::E4M3, INFINITY), 0x7Eu);
  EXPECT_EQ(to(Format::E4M3, -INFINITY), 0xFEu);
  EXPECT_EQ(to(Format::E5M2, 57344), 0x7Bu);
  EXPECT_EQ(to(Format::E5M2, INFINITY), 0x7Cu);
  ConvertOptions sat;
  sat.satfinite = true;
  EXPECT_EQ(encode(Format::E5M2, INFINITY, sat), 0x7Bu);
  const std::pair<double, uint64_t> e2m1[] = {{0.25, 0}, {0.26, 1}, {0.75, 2}, {1.25, 2}, {2.5, 4},
                                              {3.5, 6},  {5, 6},    {7, 7},    {100, 7}};
  for (auto &pair : e2m1)
    EXPECT_EQ(to(Format::E2M1, pair.first), pair.second) << pair.first;
  EXPECT_EQ(to(Format::E2M1, -0.0), 8u);
  EXPECT_EQ(to(Format::E2M1, NAN), 7u);
  EXPECT_EQ(to(Format::E2M3, NAN), 0x1Fu);
  EXPECT_EQ(to(Format::E3M2, NAN), 0x1Fu);
  EXPECT_EQ(to(Format::E4M3, NAN), 0x7Fu);
  EXPECT_EQ(to(Format::F16, NAN), 0x7FFFu);
  EXPECT_EQ(convert(Format::F32, Format::F16, 0xFE01), 0x7FFFFFFFu);
  ConvertOptions relu;
  relu.relu = true;
  EXPECT_EQ(encode(Format::BF16, -3.0, relu), 0u);
  EXPECT_EQ(encode(Format::BF16, -INFINITY, relu), 0u);
  EXPECT_EQ(encode(Format::BF16, NAN, relu), 0x7FFFu);
  ConvertOptions ftz;
  ftz.ftz = true;
  EXPECT_EQ(convert(Format::BF16, Format::F32, 0x80400000, ftz), 0x8000u);
  EXPECT_EQ(convert(Format::BF16, Format::F32, 0x80400000), 0x8040u);
}

TEST(Formats, PowersOfTwoScales) {
  auto scale = [](double x, Rounding mode, bool sat) {
    ConvertOptions options;
    options.rounding = mode;
    options.satfinite = sat;
    return encode(Format::UE8M0, x, options);
  };
  EXPECT_EQ(scale(-1.5, Rounding::RZ, true), 0x7Fu);
  EXPECT_EQ(scale(1.5, Rounding::RP, true), 0x80u);
  EXPECT_EQ(scale(1.0, Rounding::RP, true), 0x7Fu);
  EXPECT_EQ(scale(0, Rounding::RZ, true), 0u);
  EXPECT_EQ(scale(0x1p-149, Rounding::RZ, true), 0u);
  EXPECT_EQ(scale(0x1p-127, Rounding::RP, true), 0u);
  EXPECT_EQ(scale(0x1.8p-127, Rounding::RP, true), 1u);
  EXPECT_EQ(scale(INFINITY, Rounding::RP, true), 0xFEu);
  EXPECT_EQ(scale(INFINITY, Rounding::RP, false), 0xFFu);
  EXPECT_EQ(scale(0x1.8p127, Rounding::RP, true), 0xFEu);
  EXPECT_EQ(scale(0x1.8p127, Rounding::RP, false), 0xFFu);
  EXPECT_EQ(scale(NAN, Rounding::RZ, true), 0xFFu);
  EXPECT_EQ(convert(Format::BF16, Format::UE8M0, 0), 0x0040u);
  EXPECT_EQ(convert(Format::BF16, Format::UE8M0, 0xFF), 0x7FFFu);
  for (uint32_t e = 1; e < 255; ++e) // rz of a normal f32 is its exponent field
    ASSERT_EQ(scale(floatOf(e << 23 | 0x345678), Rounding::RZ, true), e);
}

TEST(Formats, SinglePrecisionAndTF32) {
  std::mt19937_64 rng(3);
  for (int i = 0; i < 100000; ++i) {
    double x =
        std::ldexp((rng() & 1 ? 1 : -1) * (1 + double(rng()) / 0x1p64), int(rng() % 290) - 155);
    float nearest = float(x);
    ASSERT_EQ(uint32_t(encode(Format::F32, x)), bitsOf(nearest)) << x;
    ConvertOptions options;
    options.rounding = Rounding::RZ;
    float zero = floatOf(uint32_t(encode(Format::F32, x, options)));
    ASSERT_LE(std::fabs(zero), std::fabs(x));
    ASSERT_GT(std::fabs(double(std::nextafter(zero, x > 0 ? INFINITY : -INFINITY))), std::fabs(x));
    options.rounding = Rounding::RP;
    float up = floatOf(uint32_t(encode(Format::F32, x, options)));
    ASSERT_GE(double(up), x);
    ASSERT_LT(double(std::nextafter(up, -INFINITY)), x);
    if (std::fabs(nearest) > 1e-30 && std::fabs(nearest) < 1e30) {
      uint32_t tf32 = uint32_t(convert(Format::TF32, Format::F32, bitsOf(nearest)));
      ASSERT_EQ(tf32 & 0x1FFF, 0u);
      ASSERT_LE(std::fabs(double(floatOf(tf32)) - nearest), std::fabs(nearest) * 0x1p-11);
    }
  }
  ConvertOptions away;
  away.rounding = Rounding::RNA;
  EXPECT_EQ(convert(Format::TF32, Format::F32, 0x3F801000, away), 0x3F802000u); // tie
  EXPECT_EQ(convert(Format::TF32, Format::F32, 0x3F801000), 0x3F800000u);
}

TEST(Formats, FastPathsAgree) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    ASSERT_EQ(bitsOf(f16ToFloat(uint16_t(bits))),
              uint32_t(convert(Format::F32, Format::F16, bits)));
    double value = decode(Format::BF16, bits);
    if (value == value) {
      ASSERT_EQ(bf16ToFloat(uint16_t(bits)), float(value));
    }
  }
  for (uint64_t bits = 0; bits <= 0xFFFFFFFFu; bits += 4099) {
    ASSERT_EQ(floatToF16(floatOf(uint32_t(bits))), convert(Format::F16, Format::F32, bits));
    ASSERT_EQ(floatToBF16(floatOf(uint32_t(bits))), convert(Format::BF16, Format::F32, bits));
  }
  for (uint32_t h = 0; h < 0x7C00; ++h) // around every tie of f16
    for (int d = -1; d <= 1; ++d) {
      float middle = float(
          (decode(Format::F16, h) + (h == 0x7BFF ? 65536.0 : decode(Format::F16, h + 1))) / 2);
      uint32_t bits = bitsOf(middle) + uint32_t(d);
      ASSERT_EQ(floatToF16(floatOf(bits)), convert(Format::F16, Format::F32, bits));
    }
}

TEST(Formats, ConversionsFromSinglePrecisionAgreeWithTheGeneralEncoder) {
  std::mt19937_64 rng(17);
  for (Format to : small)
    for (bool sat : {false, true}) {
      ConvertOptions options;
      options.satfinite = sat;
      auto check = [&](uint32_t bits) {
        ASSERT_EQ(convert(to, Format::F32, bits, options),
                  encode(to, decode(Format::F32, bits), options))
            << formatInfo(to).name << " " << floatOf(bits);
      };
      for (uint64_t bits = 0; bits <= 0xFFFFFFFFu; bits += 50021)
        check(uint32_t(bits));
      std::vector<double> values = magnitudes(to);
      for (size_t i = 0; i + 1 < values.size(); i += values.size() > 1000 ? 7 : 1)
        for (int d = -1; d <= 1; ++d)
          check(bitsOf(float((values[i] + values[i + 1]) / 2)) + uint32_t(d));
      for (int i = 0; i < 20000; ++i)
        check(uint32_t((rng() & 0x807FFFFF) | (100 + rng() % 48) << 23));
    }
}

TEST(Formats, StochasticRoundingFollowsTheRandomBits) {
  // bf16 drops 16 bits of an f32: up exactly when dropped + random >= 2^16.
  std::mt19937 rng(5);
  for (int i = 0; i < 20000; ++i) {
    uint32_t x = 0x3F800000 + (rng() & 0xFFFFFF), random = rng() & 0xFFFF;
    ConvertOptions options;
    options.rounding = Rounding::RS;
    options.randomBits = random;
    options.randomCount = 16;
    uint32_t want = (x >> 16) + ((x & 0xFFFF) + random >= 0x10000);
    ASSERT_EQ(convert(Format::BF16, Format::F32, x, options), want);
  }
  uint8_t count;
  EXPECT_EQ(stochasticBits(Format::BF16, 1, 0xABCD1234, count), 0xABCDu);
  EXPECT_EQ(count, 16);
}

// Values computed by an H200 (bench/agreement.py, cases cvt_*).
TEST(Formats, NaNsAndFlushesOfAnH200) {
  ConvertOptions away, flush, flushDown;
  away.rounding = Rounding::RNA;
  flush.ftz = flushDown.ftz = true;
  flushDown.rounding = Rounding::RM;
  EXPECT_EQ(convert(Format::F32, Format::F64, 0xFFF5F091AEF7F2DD), 0xFFEF848Du);
  EXPECT_EQ(convert(Format::F16, Format::F64, 0xFFF5F091AEF7F2DD), 0xFF7Cu);
  EXPECT_EQ(convert(Format::F32, Format::F64, 0x7FF8000000000000), 0x7FC00000u);
  EXPECT_EQ(convert(Format::BF16, Format::F64, 0x7FFC0FEDCBA98765), 0x7FE0u);
  EXPECT_EQ(convert(Format::F64, Format::F32, 0xFFA57A80), 0xFFFCAF5000000000u);
  EXPECT_EQ(convert(Format::F64, Format::F32, 0xFFA57A80, flush), 0x7FFFFFFFE0000000u);
  EXPECT_EQ(convert(Format::F64, Format::F16, 0x7D4C), 0x7FFD300000000000u);
  EXPECT_EQ(convert(Format::F64, Format::BF16, 0xFFA5), 0xFFFCA00000000000u);
  EXPECT_EQ(roundToIntegral(Format::F64, 0xFFF24A2B8D9EB09D, Rounding::RN), 0xFFFA4A2B8D9EB09Du);
  EXPECT_EQ(convert(Format::TF32, Format::F32, 0xFFC00000), 0x7FFFE000u);
  EXPECT_EQ(convert(Format::TF32, Format::F32, 0xFFFFFFFF, away), 0xFFFFE000u);
  EXPECT_EQ(convert(Format::TF32, Format::F32, 0x7F800001, away), 0x7F800000u);
  EXPECT_EQ(convert(Format::F32, Format::F64, 0x380FFFFFE0000000, flush), 0u);
  EXPECT_EQ(convert(Format::F32, Format::F64, 0x380FFFFFFFFFFFFF, flush), 0x00800000u);
  EXPECT_EQ(convert(Format::F16, Format::F32, 0x80000002, flushDown), 0x8001u);
}

TEST(Formats, IntegersSaturateAndNaNsFollowTheTable) {
  auto f32 = [](float x, unsigned width, bool isSigned, Rounding r) {
    return floatToInt(Format::F32, bitsOf(x), width, isSigned, r);
  };
  EXPECT_EQ(int32_t(f32(2.5f, 32, true, Rounding::RN)), 2);
  EXPECT_EQ(int32_t(f32(-2.5f, 32, true, Rounding::RM)), -3);
  EXPECT_EQ(int32_t(f32(-2.5f, 32, true, Rounding::RP)), -2);
  EXPECT_EQ(int32_t(f32(3e9f, 32, true, Rounding::RZ)), INT32_MAX);
  EXPECT_EQ(int32_t(f32(-3e9f, 32, true, Rounding::RZ)), INT32_MIN);
  EXPECT_EQ(f32(-1.0f, 32, false, Rounding::RZ), 0u);
  EXPECT_EQ(f32(5e9f, 32, false, Rounding::RZ), 0xFFFFFFFFu);
  EXPECT_EQ(f32(300.0f, 8, false, Rounding::RZ), 255u);
  EXPECT_EQ(int64_t(f32(-300.0f, 8, true, Rounding::RZ)), -128);
  EXPECT_EQ(f32(NAN, 32, true, Rounding::RZ), 0u);
  EXPECT_EQ(f32(NAN, 64, true, Rounding::RZ), uint64_t(1) << 63);
  EXPECT_EQ(uint32_t(floatToInt(Format::F64, bitsOf(double(NAN)), 32, true, Rounding::RZ)),
            0x80000000u);
  EXPECT_EQ(floatToInt(Format::F64, bitsOf(1.9e19), 64, false, Rounding::RZ), ~uint64_t(0));
  EXPECT_EQ(intToFloat(Format::F32, 16777217, false), bitsOf(16777216.0f));
  EXPECT_EQ(intToFloat(Format::F32, 16777217, false, Rounding::RP), bitsOf(16777218.0f));
  EXPECT_EQ(intToFloat(Format::F64, uint64_t(-3), true), bitsOf(-3.0));
  EXPECT_EQ(intToFloat(Format::F64, ~uint64_t(0), false), bitsOf(0x1p64));
  EXPECT_EQ(intToFloat(Format::F64, ~uint64_t(0), false, Rounding::RZ),
            bitsOf(0x1.fffffffffffffp63));
  EXPECT_EQ(intToFloat(Format::F16, 70000, true), 0x7C00u);
  EXPECT_EQ(roundToIntegral(Format::F32, bitsOf(-0.5f), Rounding::RN), 0x80000000u);
  EXPECT_EQ(roundToIntegral(Format::F32, bitsOf(1.5f), Rounding::RN), bitsOf(2.0f));
}
