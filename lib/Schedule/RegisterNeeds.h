//===- RegisterNeeds.h - Whether the sums of a program have room -----------------*- C++ -*-===//

#ifndef TILELOOM_LIB_SCHEDULE_REGISTERNEEDS_H
#define TILELOOM_LIB_SCHEDULE_REGISTERNEEDS_H

#include "tileloom/Schedule/CostModel.h"

namespace tileloom::schedule {

/// Why `replicas` warpgroups cannot hold what the products of `kernel` need; empty if they can.
std::string refusedRegisters(mlir::func::FuncOp kernel, const Machine &machine, int64_t replicas, bool takesTurns, bool &overlaid);

} // namespace tileloom::schedule

#endif // TILELOOM_LIB_SCHEDULE_REGISTERNEEDS_H
