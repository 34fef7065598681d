//===- MatrixKernelBase.cpp - Row kernels, base
//-----------------------------------------------------===//
//
// For the compiler's default instruction set.
//
//===----------------------------------------------------------------------------------------------===//
#define KERNEL_TABLE baseKernels
#define KERNEL_NAME "base"
#define KERNEL_BYTES 16
#include "MatrixKernelBody.inc"
