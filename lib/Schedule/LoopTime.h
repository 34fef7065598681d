//===- LoopTime.h - Clocks of an iteration of a loop with copies or products --------------===//
//
// Private to lib/Schedule: the part of the cost model (CostModel.cpp) that says how the units of a processor hold each other up.
//
//===--------------------------------------------------------------------------------------===//

#ifndef TILELOOM_LIB_SCHEDULE_LOOPTIME_H
#define TILELOOM_LIB_SCHEDULE_LOOPTIME_H

#include "tileloom/Schedule/CostModel.h"

namespace tileloom::schedule {

/// What a piece of the program costs one CTA.
struct Cost {
  double products = 0; ///< clocks of the tensor core
  double dots = 0;     ///< products to wait for
  double copies = 0;   ///< bytes into shared memory
  double other = 0;    ///< clocks of everything that warps do
  double stores = 0;   ///< bytes out
  double pieces = 0;   ///< that they leave in
  double narrow = 0;   ///< pieces with rows of less than 64 bytes, times what they lack
  double widest = 0;   ///< registers of a thread for one sum
  double first = 0;    ///< the same, for that of the first product
  double sums = 0;     ///< for all sums

  void add(const Cost &more, double times) {
    products += more.products * times;
    dots += more.dots * times;
    copies += more.copies * times;
    other += more.other * times;
    stores += more.stores * times;
    pieces += more.pieces * times;
    narrow += more.narrow * times;
    widest = std::max(widest, more.widest);
    first = first > 0 ? first : more.first;
    sums += more.sums;
  }
};

/// How a loop's warpgroups go about its products.
struct LoopTime {
  const Machine &machine;
  int64_t replicas = 1;
  int64_t pending = 0;
  bool takesTurns = false;
  bool overlaid = false; ///< operands in tensor memory lie over sums

  /// Clocks of an iteration with one product (or none) for each slot.
  double stream(const Cost &body, double copies, double slots, double trips) const;
  /// Clocks for which the slots hold an iteration up.
  double heldBy(const Cost &body, double copies, double slots, double trips) const;
  /// Clocks that an iteration of one product waits for it.
  double waitOf(const Cost &body) const;
  /// Clocks of an iteration with several products and work between them.
  double chain(const Cost &body, double copies, double slots) const;
};

} // namespace tileloom::schedule

#endif // TILELOOM_LIB_SCHEDULE_LOOPTIME_H
