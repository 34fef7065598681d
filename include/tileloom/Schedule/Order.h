//===- Order.h - The order of work within one turn of a loop ---------------------*- C++ -*-===//
//
// Given which stage each node of a role's loop is in, lists the work of one turn: products as early
// as their operands allow, then what does not wait for them, then one retirement at a time with
// what it makes possible.
//
//===--------------------------------------------------------------------------------------===//

#ifndef TILELOOM_SCHEDULE_ORDER_H
#define TILELOOM_SCHEDULE_ORDER_H

#include "tileloom/Schedule/Skew.h"

namespace tileloom::schedule {

enum class Part { Prologue, Body, Epilogue };

/// None if the stages contradict an edge, with the two operations in `why`.
std::optional<llvm::SmallVector<Step>>
orderSteps(const RoleLoop &graph, llvm::ArrayRef<unsigned> stages, Part part, std::string &why);

/// Clocks that one more turn of the body takes a replica that has the SM to itself.
double turnTime(const RoleLoop &graph, llvm::ArrayRef<Step> body);

/// Registers of a thread that tiles take where they take most.
int64_t peakRegisters(const RoleLoop &graph, llvm::ArrayRef<unsigned> stages,
                      llvm::ArrayRef<Step> body, int64_t threads);

} // namespace tileloom::schedule

#endif // TILELOOM_SCHEDULE_ORDER_H
