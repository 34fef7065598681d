//===- MatrixKernelAvx2.cpp - Row kernels, avx2
//-----------------------------------------------------===//
//
// Compiled with avx2 enabled; called only where the processor has it.
//
//===----------------------------------------------------------------------------------------------===//
#if defined(__x86_64__)
#define KERNEL_TABLE avx2Kernels
#define KERNEL_NAME "avx2"
#define KERNEL_BYTES 32
#include "MatrixKernelBody.inc"
#endif
