//===- MatrixUnit.cpp - Tile-wide fused dot-add
//---------------------------------------------------===//
//
// Runs the row kernels over a tile and replaces the outputs that they mark (non-finite or extreme
// operands) by the scalar reference, so that the tile has the reference's bits everywhere.
//
//===----------------------------------------------------------------------------------------------===//
#include "tileloom/Simulator/MatrixUnit.h"

#include "MatrixKernels.h"

#include <cmath>

using namespace tileloom::sim;
using detail::KernelTable;
using detail::RowArgs;

// Whether the processor runs a kernel.
static bool available(const KernelTable &table) {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (&table == &detail::avx512Kernels)
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
  if (&table == &detail::avx2Kernels)
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#endif
  return true;
}

// Best first.
static const KernelTable *const tables[] = {
#if defined(__x86_64__)
    &detail::avx512Kernels,
    &detail::avx2Kernels,
#endif
    &detail::baseKernels,
};

static const KernelTable *&kernels() {
  static const KernelTable *table = [] {
    for (const KernelTable *candidate : tables)
      if (available(*candidate))
        return candidate;
    return &detail::baseKernels;
  }();
  return table;
}

const char *tileloom::sim::matrixKernelName() { return kernels()->name; }

bool tileloom::sim::setMatrixKernel(const char *name) {
  for (const KernelTable *candidate : tables)
    if (std::strcmp(candidate->name, name) == 0 && available(*candidate)) {
      kernels() = candidate;
      return true;
    }
  return false;
}

DotModel tileloom::sim::dotModel(MmaUnit unit, MmaType a, MmaType b, MmaType d) {
  auto isFp8 = [](MmaType t) { return t == MmaType::E4M3 || t == MmaType::E5M2; };
  DotModel model;
  model.f16Result = d == MmaType::F16;
  if (unit == MmaUnit::Wgmma && isFp8(a) && isFp8(b)) {
    model.fractionBits = 13;
    model.resultFractionBits = 13;
  }
  return model;
}

namespace {
constexpr size_t maxRow = 512; // columns of D that one row buffer holds

// One tile, row by row, in column panels of at most maxRow.
struct Tile {
  const DotModel &model;
  const DecodedOperand &a, &b;
  Accumulator d;
  const TileOptions &options;
  bool fast;

  float a1[detail::kernelMaxK];
  int32_t aExp[detail::kernelMaxK];
  float aScale[4];
  int32_t aScaleExp[4];
  alignas(64) float c[maxRow];
  alignas(64) float result[maxRow];
  alignas(64) int32_t bad[maxRow];

  // The accumulators of a row as floats (integers: as bits).
  void loadRow(const uint32_t *words, size_t count, size_t padded) {
    bool integer = isInteger(a.type);
    if (!options.accumulate) {
      std::memset(c, 0, padded * sizeof(float));
      return;
    }
    if (model.f16Result && !integer) {
      for (size_t i = 0; i < count; ++i)
        c[i] = f16ToFloat(uint16_t(words[i]));
    } else {
      std::memcpy(c, words, count * sizeof(float));
    }
    if (options.scaleInputD && !integer) // rounded in f32 first: UNVERIFIED
      for (size_t i = 0; i < count; ++i)
        c[i] *= floatOf((127 - options.scaleInputD) << 23);
    for (size_t i = count; i < padded; ++i)
      c[i] = 0;
  }

  bool isSpecial(size_t row, size_t column) const {
    return a.rowState[row] == DecodedOperand::HasSpecial ||
           b.rowState[column] == DecodedOperand::HasSpecial;
  }

  uint32_t reference(size_t row, size_t column, float accumulator) const {
    uint32_t pa[detail::kernelMaxK], pb[detail::kernelMaxK];
    size_t count = 0;
    for (size_t k = 0; k < a.k; ++k)
      if (a.present.empty() || a.present[k * a.stride + row]) {
        pa[count] = a.pattern[k * a.stride + row];
        pb[count++] = b.pattern[k * b.stride + column];
      }
    uint32_t cBits = model.f16Result ? floatToF16(accumulator) : bitsOf(accumulator);
    uint32_t nan = model.f16Result ? 0x7FFF : 0x7FFFFFFF;
    if (a.scaleCount > 1) {
      uint32_t sa[4], sb[4];
      for (size_t i = 0; i < a.scaleCount; ++i) {
        sa[i] = a.scalePattern[i * a.stride + row];
        sb[i] = b.scalePattern[i * b.stride + column];
      }
      return fusedDotAddBlockScaled(pa, pb, count, cBits, a.scaleFormat, sa, sb, a.scaleCount);
    }
    int scale = 0;
    if (a.scaleCount == 1) {
      int32_t ea = a.scaleExponent[row], eb = b.scaleExponent[column];
      if (ea == specialExponent || eb == specialExponent)
        return nan;
      scale = ea + eb;
    }
    bool zeroA = a.rowState[row] == DecodedOperand::AllZero;
    bool zeroB = b.rowState[column] == DecodedOperand::AllZero;
    bool special = isSpecial(row, column);
    if ((zeroA || zeroB) && !special && accumulator == 0)
      return 0; // padding: all products and the accumulator are zero
    return fusedDotAdd(model, formatOf(a.type), pa, formatOf(b.type), pb, count, cBits, scale);
  }

  void storeRow(uint32_t *words, size_t count) const {
    if (model.f16Result && !isInteger(a.type))
      for (size_t i = 0; i < count; ++i)
        words[i] = floatToF16(result[i]);
    else
      std::memcpy(words, result, count * sizeof(float));
  }

  void runRow(size_t row, size_t column, size_t count) {
    size_t padded = (count + detail::kernelWidth - 1) / detail::kernelWidth * detail::kernelWidth;
    uint32_t *words = d.words + row * d.stride + column;
    loadRow(words, count, padded);
    bool blocks = a.scaleCount > 1;
    RowArgs args = {};
    args.a = a1;
    args.aExp = aExp;
    args.b = b.value.data() + column;
    args.bExp = b.exponent.data() + column;
    args.bStride = b.stride;
    args.k = a.k;
    args.n = padded;
    args.scales = a.scaleCount;
    args.aScale = aScale;
    args.aScaleExp = aScaleExp;
    if (a.scaleCount) {
      args.bScale = (fast ? b.scaleValue : b.scaleSignificand).data() + column;
      args.bScaleExp = b.scaleExponent.data() + column;
    }
    args.fractionBits = blocks ? 35 : model.fractionBits;
    args.resultFractionBits = model.resultFractionBits;
    args.f16Result = model.f16Result;
    args.satfinite = options.satfinite;
    args.c = c;
    args.d = result;
    args.bad = bad;
    const KernelTable &table = *kernels();
    bool anyBad = false;
    // The block kernel adds 16 neighbours exactly; of a sparse row these are 16 stored ones.
    bool scattered = blocks && !a.present.empty();
    if (scattered && !fast) {
      for (size_t i = 0; i < count; ++i)
        words[i] = reference(row, column + i, c[i]);
      return;
    }
    if (isInteger(a.type))
      table.integerRow(args);
    else if (fast)
      table.fastRow(args);
    else
      anyBad = blocks ? table.blockRow(args) : table.exactRow(args);
    storeRow(words, count);
    if (isInteger(a.type))
      return;
    // The fast kernel sees zeros in place of infinities and NaNs.
    for (size_t i = 0; (anyBad || fast) && i < count; ++i)
      if (fast ? isSpecial(row, column + i) : bad[i] != 0)
        words[i] = reference(row, column + i, c[i]);
  }

  void run() {
    for (size_t row = 0; row < a.rows; ++row) {
      for (size_t k = 0; k < a.k; ++k) {
        a1[k] = a.value[k * a.stride + row];
        aExp[k] = a.exponent[k * a.stride + row];
      }
      for (size_t i = 0; i < a.scaleCount; ++i) {
        aScale[i] = (fast ? a.scaleValue : a.scaleSignificand)[i * a.stride + row];
        aScaleExp[i] = a.scaleExponent[i * a.stride + row];
      }
      for (size_t column = 0; column < b.rows; column += maxRow)
        runRow(row, column, b.rows - column < maxRow ? b.rows - column : maxRow);
    }
  }
};
} // namespace

// What the kernels rely on; the message names the operand.
static std::string check(const DecodedOperand &a, const DecodedOperand &b,
                         const TileOptions &options) {
  auto number = [](size_t value) { return std::to_string(value); };
  if (a.k != b.k || a.k > detail::kernelMaxK)
    return "matrix multiply: A has k = " + number(a.k) + " and B has k = " + number(b.k) +
           ", needs equal values up to " + number(detail::kernelMaxK);
  if (isInteger(a.type) != isInteger(b.type))
    return std::string("matrix multiply: A is ") + mmaTypeName(a.type) + " and B is " +
           mmaTypeName(b.type) + ", needs two integers or two floating-point types";
  if (a.scaleCount != b.scaleCount || a.scaleCount > 4 || a.scaleCount == 3)
    return "matrix multiply: A has " + number(a.scaleCount) + " scales per row and B has " +
           number(b.scaleCount) + ", needs equal counts of 0, 1, 2 or 4";
  bool blocks = a.scaleCount > 1;
  if (blocks && (a.type != MmaType::E2M1 || b.type != MmaType::E2M1 || a.k % (16 * a.scaleCount) ||
                 a.scaleFormat != b.scaleFormat))
    return std::string("matrix multiply: several scales per row need e2m1 operands, one scale "
                       "format and k a multiple of 16 per scale; found ") +
           mmaTypeName(a.type) + " and " + mmaTypeName(b.type) + ", k = " + number(a.k);
  if (options.scaleInputD > 15)
    return "matrix multiply: scale-input-d is " + number(options.scaleInputD) + ", needs 0 to 15";
  return {};
}

static std::string multiply(const DotModel &model, const DecodedOperand &a, const DecodedOperand &b,
                            Accumulator d, const TileOptions &options, bool fast) {
  if (std::string error = check(a, b, options); !error.empty())
    return error;
  Tile tile{model, a, b, d, options, fast, {}, {}, {}, {}, {}, {}, {}};
  tile.run();
  return {};
}

std::string tileloom::sim::multiplyAccumulate(const DotModel &model, const DecodedOperand &a,
                                              const DecodedOperand &b, Accumulator d,
                                              const TileOptions &options) {
  return multiply(model, a, b, d, options, false);
}

std::string tileloom::sim::multiplyAccumulateFast(const DotModel &model, const DecodedOperand &a,
                                                  const DecodedOperand &b, Accumulator d,
                                                  const TileOptions &options) {
  return multiply(model, a, b, d, options, true);
}
