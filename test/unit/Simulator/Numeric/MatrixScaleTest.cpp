//===- MatrixScaleTest.cpp - Block-scaled kinds and packed operands
//-------------------------------===//
//
// mxf8f6f4 adds the scale exponents to every product; mxf4 and mxf4nvf4 sum groups of 16 exactly
// and multiply by the scales. Both against the big-integer model, and every packing against plain
// bytes.
//
//===----------------------------------------------------------------------------------------------===//
#include "MatrixModel.h"

#include <gtest/gtest.h>

using namespace tileloom::sim;
using namespace matrix_model;

namespace {
// A scale pattern: mostly near one, sometimes extreme, sometimes NaN.
uint8_t randomScale(Format format) {
  if (format == Format::UE4M3)
    return uint8_t(random(40) == 0 ? 0x7F : random(10) == 0 ? random(0x80) : 0x28 + random(0x20));
  return uint8_t(random(40) == 0 ? 0xFF : random(10) == 0 ? random(255) : 122 + random(10));
}

struct ScalePart {
  uint64_t significand;
  int exponent, fraction;
  bool nan;
};
ScalePart splitScale(Format format, uint8_t bits) {
  if (format == Format::UE8M0)
    return {1, int(bits) - 127, 0, bits == 0xFF};
  uint32_t e = bits >> 3 & 15, m = bits & 7;
  if (!e && !m)
    return {0, -126, 3, false};
  return {e ? m | 8 : m, int(e ? e : 1) - 7, 3, (bits & 0x7F) == 0x7F};
}

uint32_t bigBlockDot(const uint32_t *a, const uint32_t *b, size_t k, uint32_t c, Format format,
                     const uint8_t *sa, const uint8_t *sb, size_t scales) {
  std::vector<Term> terms;
  Part pc = split(MmaType::F32, c);
  terms.push_back({pc.negative, pc.significand, pc.exponent, pc.fraction});
  static const int doubled[] = {0, 1, 2, 3, 4, 6, 8, 12};
  for (size_t g = 0; g < k / 16; ++g) {
    size_t i = g / (k / 16 / scales);
    ScalePart x = splitScale(format, sa[i]), y = splitScale(format, sb[i]);
    if (x.nan || y.nan)
      return 0x7FFFFFFF;
    int64_t dot = 0; // in quarters
    for (size_t j = 16 * g; j < 16 * g + 16; ++j)
      dot += (a[j] & 8 ? -1 : 1) * (b[j] & 8 ? -1 : 1) * doubled[a[j] & 7] * doubled[b[j] & 7];
    uint64_t magnitude = uint64_t(dot < 0 ? -dot : dot) * x.significand * y.significand;
    terms.push_back({dot < 0, magnitude, x.exponent + y.exponent, 2 + x.fraction + y.fraction});
  }
  return sumTerms(terms, 35, false, 23);
}
} // namespace

TEST(MatrixScale, RowScalesOfMxf8f6f4) {
  const size_t M = 6, N = 37, K = 32;
  const MmaType types[] = {MmaType::E4M3, MmaType::E5M2, MmaType::E2M3, MmaType::E3M2,
                           MmaType::E2M1};
  for (const char *kernel : {"base", "avx2", "avx512"}) {
    if (!setMatrixKernel(kernel))
      continue;
    for (MmaType ta : types)
      for (MmaType tb : types) {
        std::vector<uint32_t> a(M * K), b(N * K), c(M * N);
        std::vector<uint8_t> aBytes(M * K), bBytes(N * K), sa(M), sb(N);
        for (size_t i = 0; i < a.size(); ++i)
          aBytes[i] = uint8_t(a[i] = randomPattern(ta, true));
        for (size_t i = 0; i < b.size(); ++i)
          bBytes[i] = uint8_t(b[i] = randomPattern(tb, true));
        for (auto &x : sa)
          x = randomScale(Format::UE8M0);
        for (auto &x : sb)
          x = randomScale(Format::UE8M0);
        for (auto &x : c)
          x = randomPattern(MmaType::F32, random(5) == 0);
        DecodedOperand da, db;
        da.load(ta, Packing::Container, aBytes.data(), K, M, K);
        db.load(tb, Packing::Container, bBytes.data(), K, N, K);
        da.setScales(Format::UE8M0, sa.data(), 1);
        db.setScales(Format::UE8M0, sb.data(), 1);
        std::vector<uint32_t> d = c;
        multiplyAccumulate({}, da, db, {d.data(), N});
        for (size_t m = 0; m < M; ++m)
          for (size_t n = 0; n < N; ++n) {
            uint32_t want = 0x7FFFFFFF;
            if (sa[m] != 0xFF && sb[n] != 0xFF)
              want = bigDot(ta, &a[m * K], tb, &b[n * K], K, c[m * N + n], 25, false, 23,
                            int(sa[m]) + int(sb[n]) - 254);
            ASSERT_EQ(d[m * N + n], want)
                << kernel << " " << mmaTypeName(ta) << " " << mmaTypeName(tb) << " " << int(sa[m])
                << " " << int(sb[n]);
          }
      }
  }
}

TEST(MatrixScale, BlockScalesOfMxf4) {
  const size_t M = 16, N = 45, K = 64;
  struct {
    Format format;
    size_t scales;
  } forms[] = {{Format::UE8M0, 2}, {Format::UE8M0, 4}, {Format::UE4M3, 4}};
  for (const char *kernel : {"base", "avx2", "avx512"}) {
    if (!setMatrixKernel(kernel))
      continue;
    for (auto &form : forms) {
      std::vector<uint32_t> a(M * K), b(N * K), c(M * N);
      std::vector<uint8_t> aBytes(M * K / 2), bBytes(N * K / 2);
      std::vector<uint8_t> sa(M * form.scales), sb(N * form.scales);
      for (size_t i = 0; i < a.size(); ++i)
        aBytes[i / 2] |= uint8_t((a[i] = random(16)) << (4 * (i & 1)));
      for (size_t i = 0; i < b.size(); ++i)
        bBytes[i / 2] |= uint8_t((b[i] = random(16)) << (4 * (i & 1)));
      for (auto &x : sa)
        x = randomScale(form.format);
      for (auto &x : sb)
        x = randomScale(form.format);
      for (auto &x : c)
        x = randomPattern(MmaType::F32, random(5) == 0);
      DecodedOperand da, db;
      da.load(MmaType::E2M1, Packing::Packed4, aBytes.data(), K / 2, M, K);
      db.load(MmaType::E2M1, Packing::Packed4, bBytes.data(), K / 2, N, K);
      da.setScales(form.format, sa.data(), form.scales);
      db.setScales(form.format, sb.data(), form.scales);
      std::vector<uint32_t> d = c, fast = c;
      multiplyAccumulate({}, da, db, {d.data(), N});
      multiplyAccumulateFast({}, da, db, {fast.data(), N});
      for (size_t m = 0; m < M; ++m)
        for (size_t n = 0; n < N; ++n) {
          const uint8_t *x = &sa[m * form.scales], *y = &sb[n * form.scales];
          uint32_t want =
              bigBlockDot(&a[m * K], &b[n * K], K, c[m * N + n], form.format, x, y, form.scales);
          ASSERT_EQ(d[m * N + n], want) << kernel << " " << form.scales;
          uint32_t px[4], py[4];
          for (size_t i = 0; i < form.scales; ++i)
            px[i] = x[i], py[i] = y[i];
          ASSERT_EQ(fusedDotAddBlockScaled(&a[m * K], &b[n * K], K, c[m * N + n], form.format, px,
                                           py, form.scales),
                    want);
          float exact = floatOf(want), quick = floatOf(fast[m * N + n]);
          if (std::fabs(exact) > 1 && std::fabs(exact) < 1e30) {
            ASSERT_NEAR(quick, exact, 1e-2 * std::fabs(exact));
          }
        }
    }
  }
}

TEST(MatrixScale, PackingsHoldTheSameElements) {
  const size_t rows = 19, K = 32;
  auto compare = [&](MmaType type, Packing packing, const std::vector<uint8_t> &packed,
                     const std::vector<uint8_t> &plain) {
    DecodedOperand p, q;
    size_t rowBytes = packedRowBytes(type, packing, K);
    ASSERT_EQ(packed.size(), rows * rowBytes);
    p.load(type, packing, packed.data(), rowBytes, rows, K);
    q.load(type, Packing::Container, plain.data(), K, rows, K);
    EXPECT_EQ(p.pattern, q.pattern);
    EXPECT_EQ(p.value, q.value);
  };
  std::vector<uint8_t> four(rows * K), six(rows * K);
  for (auto &x : four)
    x = uint8_t(random(16));
  for (auto &x : six)
    x = uint8_t(random(64));
  std::vector<uint8_t> packed4(rows * K / 2), padded4(rows * K, 0xEE), padded6(rows * K, 0xEE),
      tmem4(rows * K);
  for (size_t i = 0; i < four.size(); i += 16) {
    std::memset(&padded4[i], 0, 8);
    std::memset(&padded6[i], 0, 12);
  }
  for (size_t i = 0; i < four.size(); ++i) {
    packed4[i / 2] |= uint8_t(four[i] << (4 * (i & 1)));
    padded4[i / 16 * 16 + i % 16 / 2] |= uint8_t(four[i] << (4 * (i & 1)));
    tmem4[i] = uint8_t(four[i] << 2 | 0xC1); // other bits are ignored
    for (int bit = 0; bit < 6; ++bit)
      padded6[i / 16 * 16 + (i % 16 * 6 + bit) / 8] |=
          uint8_t((six[i] >> bit & 1) << ((i % 16 * 6 + bit) % 8));
  }
  compare(MmaType::E2M1, Packing::Packed4, packed4, four);
  compare(MmaType::E2M1, Packing::Padded4, padded4, four);
  compare(MmaType::E2M1, Packing::Tmem4, tmem4, four);
  compare(MmaType::E2M3, Packing::Padded6, padded6, six);
  compare(MmaType::E3M2, Packing::Padded6, padded6, six);
}
