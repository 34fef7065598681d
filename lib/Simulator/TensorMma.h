//===- TensorMma.h - One tcgen05.mma ------------------------------*- C++ -*-===//
//
// What an instruction is about once its operands are known: made at issue (ExecTensorMma.cpp), shown
// to the checks then, and executed when its turn comes (TensorMma.cpp).
//
//===----------------------------------------------------------------------===//
#ifndef TILELOOM_LIB_SIMULATOR_TENSORMMA_H
#define TILELOOM_LIB_SIMULATOR_TENSORMMA_H

#include "Tensor.h"
#include "tileloom/Simulator/ColumnMask.h"
#include "tileloom/Simulator/Fragments.h"
#include "tileloom/Simulator/InstructionDescriptor.h"

namespace tileloom {
namespace sim {

struct TensorProduct {
  InstructionDescriptor d;
  TmemLayout layout = TmemLayout::D;
  uint32_t group = 1, dColumn = 0, dLane = 0, aTensor = 0, scaleA = 0, scaleB = 0, metadata = 0;
  MatrixDescriptor aDesc, bDesc;
  bool aInTensor = false, accumulate = true;
  unsigned scaleInput = 0;
  uint32_t mask[8] = {0};
  ColumnMask columns;                // .ws; no columns: the instruction has no mask
  Cta *ctas[2] = {nullptr, nullptr}; // even rank first
  bool fast = false;
  Finding badMetadata; // what to report, but for the message

  /// Rows of A and columns of B that each CTA holds.
  unsigned rows() const { return d.m / group; }
  unsigned width() const { return d.n / group; }
  /// Elements of a row of A that are stored.
  unsigned storedA() const { return d.sparse ? d.k / 2 : d.k; }
};

void executeTensorProduct(const TensorProduct &o);
/// Everything that the checks want to know about its accesses; false if it cannot be executed.
bool noteTensorProduct(Warp &w, const TensorProduct &o);

} // namespace sim
} // namespace tileloom

#endif
