//===- AxisInfoRules.h - How operations hand on facts about integers -------------*- C++ -*-===//
//
// The transfer functions of the analysis in AxisInfo.h, one operation at a time.
//
//===--------------------------------------------------------------------------------------===//

#ifndef TILELOOM_LIB_ANALYSIS_AXISINFORULES_H
#define TILELOOM_LIB_ANALYSIS_AXISINFORULES_H

#include "tileloom/Analysis/AxisInfo.h"

namespace tileloom {

/// The largest power of two that divides `value`, at most 2^30 (which zero counts as).
int64_t powerOfTwoDivisor(int64_t value);

/// The facts of the only result of `op`, given those of its operands; none where no rule applies.
std::optional<AxisInfo> axisInfoOf(mlir::Operation *op, llvm::ArrayRef<AxisInfo> operands);

} // namespace tileloom

#endif // TILELOOM_LIB_ANALYSIS_AXISINFORULES_H
