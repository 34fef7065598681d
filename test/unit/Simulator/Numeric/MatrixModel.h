//===- MatrixModel.h - The fused dot-add in big integers
//------------------------------------------===//
//
// The tests' own model: 1280-bit integers and the definitions of the formats, sharing no code with
// the library beyond the names of its types. Also random operands.
//
//===----------------------------------------------------------------------------------------------===//
#ifndef TILELOOM_TEST_UNIT_SIMULATOR_MATRIXMODEL_H
#define TILELOOM_TEST_UNIT_SIMULATOR_MATRIXMODEL_H

#include "tileloom/Simulator/MatrixUnit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <random>

namespace matrix_model {
using namespace tileloom::sim;

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
inline Spec specOf(MmaType type) {
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
inline Part split(MmaType type, uint32_t bits) {
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

inline uint32_t roundWide(Wide sum, bool f16, int resultFraction) {
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

inline uint32_t sumTerms(std::vector<Term> terms, int F, bool f16, int resultFraction) {
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

inline uint32_t bigDot(MmaType ta, const uint32_t *a, MmaType tb, const uint32_t *b, size_t k,
                       uint32_t c, int F, bool f16, int resultFraction, int scale = 0) {
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

inline std::mt19937_64 rng(12345);
inline uint32_t random(uint32_t below) { return uint32_t(rng() % below); }

// A finite pattern; without `wild` the window limits the exponent to a window near 1 so that sums
// interact.
inline uint32_t randomPattern(MmaType type, bool wild) {
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

inline void put(std::vector<uint8_t> &bytes, size_t at, unsigned size, uint32_t value) {
  for (unsigned i = 0; i < size; ++i)
    bytes[at + i] = uint8_t(value >> (8 * i));
}
inline unsigned sizeOf(MmaType type) {
  int bits = specOf(type).bits;
  return type == MmaType::S8 || type == MmaType::U8 || bits <= 8 ? 1 : bits == 16 ? 2 : 4;
}
} // namespace matrix_model

#endif // TILELOOM_TEST_UNIT_SIMULATOR_MATRIXMODEL_H
