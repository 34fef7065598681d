//===- MatrixKernels.h - Row kernels of the matrix unit (private)
//---------------------------------===//
//
// One call computes a row of D for one instruction. The same source is compiled for several
// instruction sets; the table is chosen once at run time. Only C headers here: inline library
// functions compiled with wider instruction sets must not leak into the rest of the program.
//
//===----------------------------------------------------------------------------------------------===//
#ifndef TILELOOM_LIB_SIMULATOR_ENGINES_MATRIXKERNELS_H
#define TILELOOM_LIB_SIMULATOR_ENGINES_MATRIXKERNELS_H

#include <stddef.h>
#include <stdint.h>

namespace tileloom::sim::detail {

/// Vector length in outputs; rows are padded to a multiple of it.
constexpr size_t kernelWidth = 16;
/// Largest k of one instruction.
constexpr size_t kernelMaxK = 128;

/// Exponent window in which the float arithmetic of the kernels is exact; outputs outside it are
/// marked and computed by the scalar reference. The lower end keeps results normal in f32.
constexpr int32_t kernelMinExponent = -90, kernelMaxExponent = 120;

struct RowArgs {
  const float *a;      ///< k values of this row of A
  const int32_t *aExp; ///< k exponents
  const float *b;      ///< [k][bStride]
  const int32_t *bExp;
  size_t bStride, k, n; ///< n is a multiple of kernelWidth
  // Scales: `scales` per row, one per k / scales elements; entry i of B at [i * bStride].
  size_t scales;
  const float *aScale; ///< significands (exact) or values (fast)
  const int32_t *aScaleExp;
  const float *bScale;
  const int32_t *bScaleExp;
  int fractionBits, resultFractionBits;
  bool f16Result; ///< c has f16 exponents; the result is rounded to odd in f32
  bool satfinite; ///< integer
  const float *c; ///< n accumulators (integer: bits)
  float *d;       ///< n results (integer: bits)
  int32_t *bad;   ///< n words, non-zero where the reference must be used
};

struct KernelTable {
  const char *name;
  bool (*exactRow)(const RowArgs &); ///< unscaled or one UE8M0 scale; true if any output is bad
  bool (*blockRow)(const RowArgs &); ///< mxf4, mxf4nvf4: groups of 16 exact
  void (*fastRow)(const RowArgs &);
  void (*integerRow)(const RowArgs &);
};

extern const KernelTable baseKernels;
#if defined(__x86_64__)
extern const KernelTable avx2Kernels;
extern const KernelTable avx512Kernels;
#endif

} // namespace tileloom::sim::detail

#endif // TILELOOM_LIB_SIMULATOR_ENGINES_MATRIXKERNELS_H
