//===- MatrixKernelAvx512.cpp - Row kernels, avx512
//-----------------------------------------------------===//
//
// Compiled with avx512 enabled; called only where the processor has it.
//
//===----------------------------------------------------------------------------------------------===//
#if defined(__x86_64__)
#define KERNEL_TABLE avx512Kernels
#define KERNEL_NAME "avx512"
#define KERNEL_BYTES 64
#include "MatrixKernelBody.inc"
#endif
