//===- Engines.h - What operations cost, and on which unit -----------------------*- C++ -*-===//
//
// A table of rates: for each operation of a role the unit of the SM that carries it out, for how
// many clocks one replica keeps that unit busy, and when the result is there.
//
//===--------------------------------------------------------------------------------------===//

#ifndef TILELOOM_SCHEDULE_ENGINES_H
#define TILELOOM_SCHEDULE_ENGINES_H

#include "mlir/IR/Operation.h"

namespace tileloom::schedule {

enum class Engine { Tensor, Special, Alu, Lanes, Memory, None };
inline constexpr unsigned engineCount = 6;

/// In clocks. `busy`: how long the unit is taken; `latency`: until the result can be used.
struct OpCost {
  Engine engine = Engine::None;
  double busy = 0;
  double latency = 0;
};

/// The cost of an operation on the tiles of one replica of four warps. An operation that the table
/// does not know is charged to the ALU by its number of elements.
OpCost costOf(mlir::Operation *op);

/// 32-bit registers of each of `threads` threads that a tile takes (0 for scalars and views).
int64_t registersOf(mlir::Type type, int64_t threads);

} // namespace tileloom::schedule

#endif // TILELOOM_SCHEDULE_ENGINES_H
