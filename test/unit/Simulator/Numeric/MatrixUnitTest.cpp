//===- MatrixUnitTest.cpp - The fused dot-add against a big-integer model
//-------------------------===//
//
// The model is written again here with 1280-bit integers and decimal definitions of the formats,
// sharing nothing with the library; scalar and tile-wide results must equal it bit by bit.
//
//===----------------------------------------------------------------------------------------------===//
#include "tileloom/Simulator/MatrixUnit.h"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cmath>
#include <random>

using namespace tileloom::sim;

namespace {
// A signed fixed-point number: 1280 bits, two's complement, scaled by 2^scale.
struct Wide {
  static constexpr int words = 20, scale = 640;
  std::array<uint64_t, words> w{};

  bool negative() const { return w[words - 1] >> 63; }
  void negate() {
    uint64_t carry = 1;
    for (auto &x : w) {
      x = ~x + carry;
      carry = carry && x == 0;
    }
  }
  void add(const Wide &o) {
    unsigned __int128 carry = 0;
    for (int i = 0; i < words; ++i) {
      carry += (unsigned __int128)w[i] + o.w[i];
      w[i] = uint64_t(carry);
      carry >>= 64;
    }
  }
  bool bit(int i) const { return w[i / 64] >> (i % 64) & 1; }
  int top() const { // of a non-negative number
    for (int i = words * 64 - 1; i >= 0; --i)
      if (bit(i))
        return i;
    return -1;
  }
  void clearBelow(int position) {
    for (int i = 0; i < position && i < words * 64; ++i)
      w[i / 64] &= ~(uint64_t(1) << (i % 64));
  }
  // magnitude * 2^exponent
  static Wide of(uint64_t magnitude, int exponent) {
    Wide r;
    for (int i = 0; i < 64; ++i)
      if (magnitude >> i & 1)
        r.w[(i + exponent + scale) / 64] |= uint64_t(1) << ((i + exponent + scale) % 64);
    return r;
  }
};

struct Spec {
  int exponentBits, mantissaBits, bias, bits, low;
};
Spec specOf(MmaType type) {
  switch (type) {
  case MmaType::F16:
    return {5, 10, 15, 16, 0};
  case MmaType::BF16:
    return {8, 7, 127, 16, 0};
  case MmaType::TF32:
    return {8, 10, 127, 32, 13};
  case MmaType::E4M3:
    return {4, 3, 7, 8, 0};
  case MmaType::E5M2:
    return {5, 2, 15, 8, 0};
  case MmaType::E2M3:
    return {2, 3, 1, 6, 0};
  case MmaType::E3M2:
    return {3, 2, 3, 6, 0};
  case MmaType::E2M1:
    return {2, 1, 1, 4, 0};
  default:
    return {8, 23, 127, 32, 0};
  }
}

struct Part {
  bool negative;
  uint64_t significand;
  int exponent, fraction;
};
Part split(MmaType type, uint32_t bits) {
  Spec s = specOf(type);
  uint32_t m = bits >> s.low & ((1u << s.mantissaBits) - 1);
  uint32_t e = bits >> (s.low + s.mantissaBits) & ((1u << s.exponentBits) - 1);
  bool negative = bits >> (s.bits - 1) & 1;
  if (e == 0 && m == 0)
    return {negative, 0, -126, s.mantissaBits};
  return {negative, e ? m | 1u << s.mantissaBits : m, int(e ? e : 1) - s.bias, s.mantissaBits};
}

struct Term {
  bool negative;
  uint64_t significand;
  int exponent, fraction;
};

uint32_t roundWide(Wide sum, bool f16, int resultFraction) {
  bool negative = sum.negative();
  if (negative)
    sum.negate();
  int top = sum.top();
  if (top < 0)
    return 0;
  int exponent = top - Wide::scale, minExponent = f16 ? -14 : -126;
  int p = f16 ? 10 : resultFraction;
  int last = (exponent < minExponent ? minExponent : exponent) - p; // weight of the last kept bit
  int position = last + Wide::scale;
  bool up = false;
  if (f16) {
    bool half = sum.bit(position - 1), sticky = false;
    for (int i = 0; i < position - 1; ++i)
      sticky |= sum.bit(i);
    up = half && (sticky || sum.bit(position));
  }
  uint64_t kept = 0;
  for (int i = 0; i <= p; ++i)
    kept |= uint64_t(sum.bit(position + i)) << i;
  double value = std::ldexp(double(kept + up), last);
  if (f16) {
    if (value >= 65536)
      return 0x7C00 | negative << 15;
    int e;
    std::frexp(value, &e);
    uint32_t bits = value < 0x1p-14 ? uint32_t(std::ldexp(value, 24))
                                    : uint32_t(e - 1 + 15) << 10 |
                                          (uint32_t(std::ldexp(value, 11 - e)) & 0x3FF);
    return value == 0 ? 0 : bits | uint32_t(negative) << 15;
  }
  float f = value >= 0x1p128 ? INFINITY : float(value);
  return value == 0 ? 0 : bitsOf(negative ? -f : f);
}

uint32_t sumTerms(std::vector<Term> terms, int F, bool f16, int resultFraction) {
  int emax = -100000;
  for (auto &t : terms)
    emax = std::max(emax, t.exponent);
  Wide sum;
  for (auto &t : terms) {
    Wide w = Wide::of(t.significand, t.exponent - t.fraction);
    w.clearBelow(emax - F + Wide::scale);
    if (t.negative)
      w.negate();
    sum.add(w);
  }
  return roundWide(sum, f16, resultFraction);
}

uint32_t bigDot(MmaType ta, const uint32_t *a, MmaType tb, const uint32_t *b, size_t k, uint32_t c,
                int F, bool f16, int resultFraction, int scale = 0) {
  std::vector<Term> terms;
  Part pc = split(f16 ? MmaType::F16 : MmaType::F32, c);
  terms.push_back({pc.negative, pc.significand, pc.exponent, pc.fraction});
  for (size_t i = 0; i < k; ++i) {
    Part x = split(ta, a[i]), y = split(tb, b[i]);
    terms.push_back({x.negative != y.negative, x.significand * y.significand,
                     x.exponent + y.exponent + scale, x.fraction + y.fraction});
  }
  return sumTerms(terms, F, f16, resultFraction);
}

std::mt19937_64 rng(12345);
uint32_t random(uint32_t below) { return uint32_t(rng() % below); }

// A finite pattern; without `wild` the window limits the exponent to a window near 1 so that sums
// interact.
uint32_t randomPattern(MmaType type, bool wild) {
  Spec s = specOf(type);
  if (type == MmaType::S8 || type == MmaType::U8)
    return random(256);
  if (random(16) == 0)
    return uint32_t(random(2)) << (s.bits - 1); // zeros of both signs
  for (;;) {
    uint32_t m = random(1u << s.mantissaBits), e;
    int window = std::min(12, (1 << s.exponentBits) - 1);
    if (wild)
      e = random(1u << s.exponentBits);
    else
      e = uint32_t(std::max(
          0, std::min((1 << s.exponentBits) - 1, s.bias - window / 2 + int(random(window)))));
    uint32_t bits = (m | e << s.mantissaBits) << s.low | uint32_t(random(2)) << (s.bits - 1) |
                    random(1u << s.low);
    if (std::isfinite(decode(formatOf(type), bits)))
      return bits;
  }
}

void put(std::vector<uint8_t> &bytes, size_t at, unsigned size, uint32_t value) {
  for (unsigned i = 0; i < size; ++i)
    bytes[at + i] = uint8_t(value >> (8 * i));
}
unsigned sizeOf(MmaType type) {
  int bits = specOf(type).bits;
  return type == MmaType::S8 || type == MmaType::U8 || bits <= 8 ? 1 : bits == 16 ? 2 : 4;
}

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
  multiplyAccumulate(model, da, db, {d.data(), N});
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
  for (const Case &t : cases)
    for (bool wild : {false, true})
      checkTile(t, 9, 37, wild);
}
