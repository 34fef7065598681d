//===- MatrixKernelBase.cpp - Row kernels, base
//-----------------------------------------------------===//
//
// For the compiler's default instruction set.
//
//===----------------------------------------------------------------------------------------------===//
#define KERNEL_TABLE baseKernels
#define KERNEL_NAME "base"
#include "MatrixKernelBody.inc"
