//===- MatrixUnitTest.cpp - The fused dot-add against a big-integer model
//-------------------------===//
//
// Scalar and tile-wide results must equal the model of MatrixModel.h bit by bit, with every kernel
// that this processor runs.
//
//===----------------------------------------------------------------------------------------------===//
#include "MatrixModel.h"

#include <gtest/gtest.h>

using namespace tileloom::sim;
using namespace matrix_model;

namespace {
struct Case {
  MmaUnit unit;
  MmaType a, b, d;
  size_t k;
};

void checkTile(const Case &t, size_t M, size_t N, bool wild) {
  DotModel model = dotModel(t.unit, t.a, t.b, t.d);
  bool fp8 = t.unit == MmaUnit::Wgmma && sizeOf(t.a) == 1;
  int F = fp8 ? 13 : 25, rf = fp8 ? 13 : 23;
  bool f16 = t.d == MmaType::F16;
  std::vector<uint32_t> a(M * t.k), b(N * t.k), c(M * N);
  std::vector<uint8_t> aBytes(M * t.k * sizeOf(t.a)), bBytes(N * t.k * sizeOf(t.b));
  for (size_t i = 0; i < a.size(); ++i)
    put(aBytes, i * sizeOf(t.a), sizeOf(t.a), a[i] = randomPattern(t.a, wild));
  for (size_t i = 0; i < b.size(); ++i)
    put(bBytes, i * sizeOf(t.b), sizeOf(t.b), b[i] = randomPattern(t.b, wild));
  for (auto &x : c)
    x = randomPattern(f16 ? MmaType::F16 : MmaType::F32, wild);
  DecodedOperand da, db;
  da.load(t.a, Packing::Container, aBytes.data(), t.k * sizeOf(t.a), M, t.k);
  db.load(t.b, Packing::Container, bBytes.data(), t.k * sizeOf(t.b), N, t.k);
  std::vector<uint32_t> d = c;
  ASSERT_EQ(multiplyAccumulate(model, da, db, {d.data(), N}), "");
  size_t wrong = 0;
  for (size_t m = 0; m < M; ++m)
    for (size_t n = 0; n < N; ++n) {
      uint32_t want = bigDot(t.a, &a[m * t.k], t.b, &b[n * t.k], t.k, c[m * N + n], F, f16, rf);
      uint32_t scalar = fusedDotAdd(model, formatOf(t.a), &a[m * t.k], formatOf(t.b), &b[n * t.k],
                                    t.k, c[m * N + n]);
      if (want != scalar || want != d[m * N + n]) {
        if (++wrong < 4)
          ADD_FAILURE() << mmaTypeName(t.a) << " x " << mmaTypeName(t.b) << " at " << m << "," << n
                        << std::hex << ": model " << want << " scalar " << scalar << " tile "
                        << d[m * N + n];
      }
    }
  EXPECT_EQ(wrong, 0u);
}
} // namespace

TEST(MatrixUnit, AgreesWithBigIntegers) {
  const Case cases[] = {
      {MmaUnit::Wgmma, MmaType::BF16, MmaType::BF16, MmaType::F32, 16},
      {MmaUnit::Wgmma, MmaType::F16, MmaType::F16, MmaType::F32, 16},
      {MmaUnit::Wgmma, MmaType::F16, MmaType::F16, MmaType::F16, 16},
      {MmaUnit::Wgmma, MmaType::TF32, MmaType::TF32, MmaType::F32, 8},
      {MmaUnit::Wgmma, MmaType::E4M3, MmaType::E4M3, MmaType::F32, 32},
      {MmaUnit::Wgmma, MmaType::E5M2, MmaType::E4M3, MmaType::F32, 32},
      {MmaUnit::Wgmma, MmaType::E4M3, MmaType::E5M2, MmaType::F16, 32},
      {MmaUnit::Tcgen05, MmaType::E4M3, MmaType::E4M3, MmaType::F32, 32},
      {MmaUnit::Tcgen05, MmaType::E5M2, MmaType::E5M2, MmaType::F32, 32},
      {MmaUnit::Tcgen05, MmaType::E2M3, MmaType::E3M2, MmaType::F32, 32},
      {MmaUnit::Tcgen05, MmaType::E2M1, MmaType::E4M3, MmaType::F16, 32},
      {MmaUnit::MmaSync, MmaType::BF16, MmaType::BF16, MmaType::F32, 8},
      {MmaUnit::MmaSync, MmaType::E4M3, MmaType::E5M2, MmaType::F32, 32},
  };
  for (const char *kernel : {"base", "avx2", "avx512"}) {
    if (!setMatrixKernel(kernel))
      continue;
    EXPECT_STREQ(matrixKernelName(), kernel);
    for (const Case &t : cases)
      for (bool wild : {false, true})
        checkTile(t, 7, 37, wild);
  }
  checkTile(cases[0], 2, 530, false); // wider than one row buffer
}

TEST(MatrixUnit, HopperFp8KeepsFourteenBits) {
  // 1 + 2^-13 is kept, 1 + 2^-14 is truncated: F = 13 (ptx model), against F = 25 elsewhere.
  auto sum = [](MmaUnit unit, float c) {
    uint32_t one = uint32_t(encode(Format::E4M3, 1));
    DotModel model = dotModel(unit, MmaType::E4M3, MmaType::E4M3, MmaType::F32);
    return floatOf(fusedDotAdd(model, Format::E4M3, &one, Format::E4M3, &one, 1, bitsOf(c)));
  };
  EXPECT_EQ(sum(MmaUnit::Wgmma, 0x1p-13f), 1 + 0x1p-13f);
  EXPECT_EQ(sum(MmaUnit::Wgmma, 0x1p-14f), 1.0f);
  EXPECT_EQ(sum(MmaUnit::Tcgen05, 0x1p-14f), 1 + 0x1p-14f);
  EXPECT_EQ(sum(MmaUnit::MmaSync, 0x1p-14f), 1 + 0x1p-14f);
  EXPECT_EQ(sum(MmaUnit::Wgmma, -0x1p-14f), 1.0f); // truncation toward zero, not down
  EXPECT_EQ(sum(MmaUnit::Tcgen05, -0x1p-26f), 1.0f);
  EXPECT_EQ(sum(MmaUnit::Tcgen05, -0x1p-25f), 1 - 0x1p-24f); // RZ of 1 - 2^-25
}

TEST(MatrixUnit, ZeroRule) {
  // 0 * 2^127 raises the largest exponent to 1 with PerOperand, so 2^-30 is lost.
  uint32_t a[2] = {0, uint32_t(encode(Format::BF16, 0x1p-30))};
  uint32_t b[2] = {uint32_t(encode(Format::BF16, 0x1p127)), uint32_t(encode(Format::BF16, 1))};
  DotModel model; // PerTerm, as the H200 computes
  EXPECT_EQ(fusedDotAdd(model, Format::BF16, a, Format::BF16, b, 2, 0), bitsOf(0x1p-30f));
  model.zero = ZeroRule::PerOperand;
  EXPECT_EQ(fusedDotAdd(model, Format::BF16, a, Format::BF16, b, 2, 0), 0u);
  uint8_t aBytes[4], bBytes[4];
  for (int i = 0; i < 2; ++i) {
    std::memcpy(aBytes + 2 * i, &a[i], 2);
    std::memcpy(bBytes + 2 * i, &b[i], 2);
  }
  for (ZeroRule rule : {ZeroRule::PerOperand, ZeroRule::PerTerm}) {
    model.zero = rule;
    DecodedOperand da, db;
    da.load(MmaType::BF16, Packing::Container, aBytes, 4, 1, 2, false, rule);
    db.load(MmaType::BF16, Packing::Container, bBytes, 4, 1, 2, false, rule);
    uint32_t d = 0;
    multiplyAccumulate(model, da, db, {&d, 1});
    EXPECT_EQ(d, fusedDotAdd(model, Format::BF16, a, Format::BF16, b, 2, 0));
  }
}

TEST(MatrixUnit, InfinitiesAndNaNs) {
  const size_t M = 24, N = 40, K = 16;
  for (MmaType type : {MmaType::F16, MmaType::BF16}) {
    Format format = formatOf(type);
    uint32_t infinity = uint32_t(encode(format, INFINITY));
    std::vector<uint32_t> a(M * K), b(N * K), c(M * N);
    std::vector<uint8_t> aBytes(M * K * 2), bBytes(N * K * 2);
    auto fill = [&](std::vector<uint32_t> &v, std::vector<uint8_t> &bytes) {
      for (size_t i = 0; i < v.size(); ++i) {
        v[i] = randomPattern(type, false);
        if (random(60) == 0)
          v[i] = infinity | random(2) << 15 | (random(3) == 0);
        put(bytes, 2 * i, 2, v[i]);
      }
    };
    fill(a, aBytes);
    fill(b, bBytes);
    for (auto &x : c)
      x = random(30) == 0 ? 0x7F800000u | random(2) << 31 | (random(4) == 0)
                          : randomPattern(MmaType::F32, false);
    DecodedOperand da, db;
    da.load(type, Packing::Container, aBytes.data(), 2 * K, M, K);
    db.load(type, Packing::Container, bBytes.data(), 2 * K, N, K);
    std::vector<uint32_t> d = c, fast = c;
    DotModel model;
    multiplyAccumulate(model, da, db, {d.data(), N});
    multiplyAccumulateFast(model, da, db, {fast.data(), N});
    size_t special = 0;
    for (size_t m = 0; m < M; ++m)
      for (size_t n = 0; n < N; ++n) {
        double sum = decode(Format::F32, c[m * N + n]); // IEEE decides which special value
        for (size_t k = 0; k < K; ++k)
          sum += decode(format, a[m * K + k]) * decode(format, b[n * K + k]);
        uint32_t got = d[m * N + n];
        if (sum != sum) {
          ASSERT_EQ(got, 0x7FFFFFFFu);
        } else if (std::isinf(sum)) {
          ASSERT_EQ(got, bitsOf(float(sum)));
        } else {
          ASSERT_EQ(got, bigDot(type, &a[m * K], type, &b[n * K], K, c[m * N + n], 25, false, 23));
        }
        special += !std::isfinite(sum);
        float f = floatOf(fast[m * N + n]);
        ASSERT_EQ(std::isfinite(f), std::isfinite(sum));
        if (std::isfinite(sum)) {
          ASSERT_NEAR(f, sum, 1e-4 * (1 + std::fabs(sum)));
        }
      }
    EXPECT_GT(special, 50u);
  }
}

TEST(MatrixUnit, OptionsOfTheTile) {
  const size_t M = 5, N = 20, K = 16;
  std::vector<uint8_t> a(M * K * 2), b(N * K * 2);
  for (auto *v : {&a, &b})
    for (size_t i = 0; i < v->size(); i += 2)
      put(*v, i, 2, randomPattern(MmaType::F16, false));
  DecodedOperand da, db, negated;
  da.load(MmaType::F16, Packing::Container, a.data(), 2 * K, M, K);
  negated.load(MmaType::F16, Packing::Container, a.data(), 2 * K, M, K, true);
  db.load(MmaType::F16, Packing::Container, b.data(), 2 * K, N, K);
  DotModel model;
  const size_t stride = N + 3;
  std::vector<uint32_t> old(M * stride, bitsOf(8.0f)), zero(M * stride, 0), d = old, e = zero;
  TileOptions overwrite;
  overwrite.accumulate = false;
  multiplyAccumulate(model, da, db, {d.data(), stride}, overwrite);
  multiplyAccumulate(model, da, db, {e.data(), stride});
  for (size_t m = 0; m < M; ++m)
    for (size_t n = 0; n < stride; ++n) // columns past N are not touched
      EXPECT_EQ(d[m * stride + n], n < N ? e[m * stride + n] : bitsOf(8.0f));
  // Negation of A; the sum is exactly antisymmetric because it truncates toward zero.
  std::vector<uint32_t> n = zero;
  multiplyAccumulate(model, negated, db, {n.data(), stride});
  for (size_t i = 0; i < n.size(); ++i)
    EXPECT_EQ(floatOf(n[i]), -floatOf(e[i]));
  // scale-input-d: 8 * 2^-3 is the accumulator 1.
  TileOptions scaled;
  scaled.scaleInputD = 3;
  std::vector<uint32_t> s = old, one(M * stride, bitsOf(1.0f));
  multiplyAccumulate(model, da, db, {s.data(), stride}, scaled);
  multiplyAccumulate(model, da, db, {one.data(), stride});
  for (size_t m = 0; m < M; ++m)
    for (size_t k = 0; k < N; ++k)
      EXPECT_EQ(s[m * stride + k], one[m * stride + k]);
}

TEST(MatrixUnit, Integers) {
  const size_t M = 9, N = 33, K = 32;
  for (MmaType ta : {MmaType::S8, MmaType::U8})
    for (MmaType tb : {MmaType::S8, MmaType::U8})
      for (bool sat : {false, true}) {
        std::vector<uint8_t> a(M * K), b(N * K);
        for (auto *v : {&a, &b})
          for (auto &x : *v)
            x = uint8_t(random(4) ? random(256) : 0x80 + random(2) * 0x7F);
        std::vector<uint32_t> c(M * N);
        for (auto &x : c) // often close to the limits
          x = (random(2) ? 0x7FFFFFFFu - random(2000000) : 0x80000000u + random(2000000));
        DecodedOperand da, db;
        da.load(ta, Packing::Container, a.data(), K, M, K);
        db.load(tb, Packing::Container, b.data(), K, N, K);
        std::vector<uint32_t> d = c;
        TileOptions options;
        options.satfinite = sat;
        multiplyAccumulate({}, da, db, {d.data(), N}, options);
        for (size_t m = 0; m < M; ++m)
          for (size_t n = 0; n < N; ++n) {
            int64_t sum = int32_t(c[m * N + n]);
            int32_t x[K], y[K];
            for (size_t k = 0; k < K; ++k) {
              x[k] = ta == MmaType::S8 ? int8_t(a[m * K + k]) : a[m * K + k];
              y[k] = tb == MmaType::S8 ? int8_t(b[n * K + k]) : b[n * K + k];
              sum += x[k] * y[k];
            }
            if (sat)
              sum = std::min<int64_t>(INT32_MAX, std::max<int64_t>(INT32_MIN, sum));
            ASSERT_EQ(d[m * N + n], uint32_t(sum));
            ASSERT_EQ(integerDotAdd(x, y, K, int32_t(c[m * N + n]), sat), int32_t(uint32_t(sum)));
          }
      }
}

TEST(MatrixUnit, RefusesOperandsThatDoNotFit) {
  std::vector<uint8_t> bytes(4096);
  DecodedOperand a, b;
  uint32_t d[4] = {1, 2, 3, 4};
  auto message = [&](TileOptions options = {}) {
    std::string error = multiplyAccumulate({}, a, b, {d, 2}, options);
    EXPECT_EQ(error, multiplyAccumulateFast({}, a, b, {d, 2}, options));
    return error;
  };
  a.load(MmaType::BF16, Packing::Container, bytes.data(), 32, 2, 16);
  b.load(MmaType::BF16, Packing::Container, bytes.data(), 16, 2, 8);
  EXPECT_NE(message().find("k = 8"), std::string::npos);
  a.load(MmaType::BF16, Packing::Container, bytes.data(), 288, 2, 144);
  b = a;
  EXPECT_NE(message().find("up to 128"), std::string::npos);
  a.load(MmaType::S8, Packing::Container, bytes.data(), 32, 2, 32);
  b.load(MmaType::E4M3, Packing::Container, bytes.data(), 32, 2, 32);
  EXPECT_NE(message().find("A is s8"), std::string::npos);
  a = b;
  a.setScales(Format::UE8M0, bytes.data(), 1);
  EXPECT_NE(message().find("1 scales per row"), std::string::npos);
  a.setScales(Format::UE8M0, bytes.data(), 2);
  b.setScales(Format::UE8M0, bytes.data(), 2);
  EXPECT_NE(message().find("e2m1"), std::string::npos);
  b.load(MmaType::E4M3, Packing::Container, bytes.data(), 32, 2, 32);
  a = b;
  TileOptions options;
  options.scaleInputD = 16;
  EXPECT_NE(message(options).find("needs 0 to 15"), std::string::npos);
  EXPECT_EQ(d[3], 4u);
  EXPECT_EQ(message(), "");
}
