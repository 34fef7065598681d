//===- Monotone.h - How a scalar moves with another one --------------------------*- C++ -*-===//

#ifndef TILELOOM_SCHEDULE_MONOTONE_H
#define TILELOOM_SCHEDULE_MONOTONE_H

#include "mlir/IR/Value.h"

#include <optional>

namespace tileloom::schedule {

/// +1 if `value` never falls as `source` grows, -1 if it never rises, 0 if it does not depend on
/// it, nothing if that is not known. Factors and divisors of unknown sign count as positive
/// extents only if they are constants.
std::optional<int> directionOf(mlir::Value value, mlir::Value source);

} // namespace tileloom::schedule

#endif // TILELOOM_SCHEDULE_MONOTONE_H
