//===- Operand.cpp - Decoding matrix operands
//-----------------------------------------------------===//
//
// Unpacks a dense operand and splits it into values and exponents, laid out so that the kernels
// read consecutive rows. Two passes: the raw patterns are transposed, then decoded in plain loops
// that vectorise.
//
//===----------------------------------------------------------------------------------------------===//
#include "tileloom/Simulator/MatrixUnit.h"

#include <cmath>

using namespace tileloom::sim;

const char *tileloom::sim::mmaTypeName(MmaType type) {
  static const char *const names[] = {"f16",  "bf16", "tf32", "e4m3", "e5m2", "e2m3", "e3m2",
                                      "e2m1", "s8",   "u8",   "f32",  "s32",  "f64"};
  return unsigned(type) < 13 ? names[unsigned(type)] : "invalid";
}

Format tileloom::sim::formatOf(MmaType type) {
  switch (type) {
  case MmaType::F16:
    return Format::F16;
  case MmaType::BF16:
    return Format::BF16;
  case MmaType::TF32:
    return Format::TF32;
  case MmaType::E4M3:
    return Format::E4M3;
  case MmaType::E5M2:
    return Format::E5M2;
  case MmaType::E2M3:
    return Format::E2M3;
  case MmaType::E3M2:
    return Format::E3M2;
  case MmaType::E2M1:
    return Format::E2M1;
  case MmaType::F64:
    return Format::F64;
  default:
    return Format::F32;
  }
}

static unsigned containerBytes(MmaType type) {
  switch (type) {
  case MmaType::F16:
  case MmaType::BF16:
    return 2;
  case MmaType::TF32:
  case MmaType::F32:
  case MmaType::S32:
    return 4;
  default:
    return 1;
  }
}

size_t tileloom::sim::packedRowBytes(MmaType type, Packing packing, size_t k) {
  if (packing == Packing::Packed4)
    return (k + 1) / 2;
  if (packing == Packing::Padded4 || packing == Packing::Padded6)
    return (k + 15) / 16 * 16;
  return k * containerBytes(type);
}

// One element of a sub-byte form.
static uint32_t extract(Packing packing, const uint8_t *row, size_t k) {
  switch (packing) {
  case Packing::Packed4:
    return (row[k / 2] >> (4 * (k & 1))) & 15;
  case Packing::Padded4:
    return (row[k / 16 * 16 + k % 16 / 2] >> (4 * (k & 1))) & 15;
  case Packing::Padded6: {
    size_t bit = k % 16 * 6, byte = k / 16 * 16 + bit / 8;
    uint32_t word = row[byte] | (bit % 8 > 2 ? uint32_t(row[byte + 1]) << 8 : 0);
    return (word >> (bit % 8)) & 63;
  }
  case Packing::Tmem4:
    return (row[k] >> 2) & 15;
  case Packing::Container:
    break;
  }
  return row[k];
}

static void loadPatterns(DecodedOperand &o, Packing packing, const uint8_t *data, size_t rowBytes) {
  unsigned bytes = packing == Packing::Container ? containerBytes(o.type) : 0;
  for (size_t row = 0; row < o.rows; ++row) {
    const uint8_t *source = data + row * rowBytes;
    uint32_t *out = o.pattern.data() + row;
    switch (bytes) {
    case 1:
      for (size_t k = 0; k < o.k; ++k)
        out[k * o.stride] = source[k];
      break;
    case 2:
      for (size_t k = 0; k < o.k; ++k) {
        uint16_t word;
        std::memcpy(&word, source + 2 * k, 2);
        out[k * o.stride] = word;
      }
      break;
    case 4:
      for (size_t k = 0; k < o.k; ++k)
        std::memcpy(out + k * o.stride, source + 4 * k, 4);
      break;
    default:
      for (size_t k = 0; k < o.k; ++k)
        out[k * o.stride] = extract(packing, source, k);
      break;
    }
  }
}

// Values and exponents of a floating-point type. `unit` is 2^(1 - bias - mantissa bits), the value
// of the last subnormal bit. All arithmetic is on 32-bit lanes.
static void decodeFloats(DecodedOperand &o, Format format, bool negate, int zeroExponent) {
  const FormatInfo &info = formatInfo(format);
  unsigned low = format == Format::TF32 ? 13 : 0, p = info.mantissaBits;
  uint32_t sign = 1u << (info.bits - 1), flip = negate ? sign : 0;
  uint32_t magnitudeMask = (1u << (info.exponentBits + p)) - 1;
  uint32_t limit = uint32_t(maxFiniteBits(format) >> low);
  int bias = info.bias;
  size_t count = o.k * o.stride;
  uint32_t *pattern = o.pattern.data();
  int32_t *exponent = o.exponent.data();
  float *value = o.value.data();
  // f32 numbers with the same mantissa: the exponent is moved by the difference of the biases, by a
  // multiply that also normalises subnormals.
  float rebias = std::ldexp(1.0f, 127 - bias);
  for (size_t i = 0; i < count; ++i) {
    uint32_t bits = pattern[i] ^ flip;
    uint32_t magnitude = (bits >> low) & magnitudeMask;
    int32_t field = int32_t(magnitude >> p);
    int32_t e = (field > 1 ? field : 1) - bias;
    e = magnitude == 0 ? zeroExponent : e;
    bool special = magnitude > limit;
    float number = floatOf(magnitude << (23 - p)) * rebias;
    uint32_t signedBits = bitsOf(number) | (bits & sign ? 0x80000000u : 0);
    pattern[i] = bits;
    exponent[i] = special ? specialExponent : e;
    value[i] = special ? 0.0f : floatOf(signedBits);
  }
}

void DecodedOperand::load(MmaType newType, Packing packing, const uint8_t *data, size_t rowBytes,
                          size_t rowCount, size_t kCount, bool negate, ZeroRule zero) {
  type = newType;
  rows = rowCount;
  k = kCount;
  stride = (rows + 15) / 16 * 16;
  scaleCount = 0;
  present.clear();
  size_t count = k * stride;
  pattern.resize(count);
  value.resize(count);
  exponent.resize(count);
  for (size_t i = 0; i < k; ++i)
    for (size_t row = rows; row < stride; ++row)
      pattern[i * stride + row] = 0;
  loadPatterns(*this, packing, data, rowBytes);
  if (isInteger(type)) {
    for (size_t i = 0; i < count; ++i) {
      value[i] = type == MmaType::S8 ? float(int8_t(pattern[i])) : float(pattern[i] & 255);
      exponent[i] = 0;
    }
  } else {
    // With the PerTerm rule a zero must not raise the maximum; the floor of -126 lies below the
    // kernels' window and is left to the reference.
    decodeFloats(*this, formatOf(type), negate,
                 zero == ZeroRule::PerOperand ? -126 : -specialExponent / 10);
  }
  rowState.assign(stride, AllZero);
  for (size_t i = 0; i < count; i += stride)
    for (size_t row = 0; row < stride; ++row) {
      uint8_t state = exponent[i + row] == specialExponent ? HasSpecial
                      : value[i + row] == 0                ? AllZero
                                                           : Normal;
      // Normal < AllZero < HasSpecial: zero survives only if every element is zero.
      uint8_t &now = rowState[row];
      now = state == HasSpecial || now == HasSpecial ? HasSpecial : now & state;
    }
}

void DecodedOperand::setScales(Format format, const uint8_t *scales, size_t count) {
  scaleCount = count;
  scaleFormat = format;
  scalePattern.assign(count * stride, format == Format::UE8M0 ? 127 : 0);
  scaleSignificand.assign(count * stride, 0);
  scaleExponent.assign(count * stride, -126);
  scaleValue.assign(count * stride, 0);
  for (size_t row = 0; row < rows; ++row)
    for (size_t i = 0; i < count; ++i) {
      size_t at = i * stride + row;
      uint8_t bits = scales[row * count + i];
      double scale = decode(format, bits);
      scalePattern[at] = bits;
      scaleValue[at] = float(scale);
      if (scale != scale) {
        scaleExponent[at] = specialExponent;
        continue;
      }
      if (scale == 0)
        continue; // zero keeps exponent -126
      int e = std::ilogb(scale), minimum = format == Format::UE8M0 ? -127 : -6;
      scaleExponent[at] = e < minimum ? minimum : e;
      scaleSignificand[at] = float(std::ldexp(scale, -scaleExponent[at]));
    }
}
