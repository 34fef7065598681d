//===- Producers.h - Who computes an operand of a product ------------------------*- C++ -*-===//
//
// An operand that is computed from copied tiles can be made by the warps that multiply, between
// their products, or by a role of its own, which runs ahead and hands it over in shared memory.
//
//===--------------------------------------------------------------------------------------===//

#ifndef TILELOOM_SCHEDULE_PRODUCERS_H
#define TILELOOM_SCHEDULE_PRODUCERS_H

#include "dialects/Tile/Tile.h"

namespace tileloom::schedule {

struct Machine;

/// Clocks of an iteration of the loop around a product: with the operand computed by the role that
/// multiplies, and by a role of its own. That is possible in a loop where nothing else needs what
/// is computed; `fits`: and registers and shared memory are there.
struct ProducerCost {
  double together = 0, apart = 0;
  bool possible = false, fits = false;

  /// Fewer roles, unless another one saves 3 %.
  bool wantsRole() const { return fits && apart < 0.97 * together; }
};

/// `source`: what the operand of `dot` (B or A) is before it is transposed for the product.
/// Hopper: the role that multiplies is that of `replicas` warpgroups, which compute all of B each
/// and their own rows of A.
ProducerCost producerCost(tile::DotOp dot, mlir::Value source, bool isB, int64_t replicas,
                          bool takesTurns, const Machine &machine);

} // namespace tileloom::schedule

#endif // TILELOOM_SCHEDULE_PRODUCERS_H
