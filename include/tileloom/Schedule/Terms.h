//===- Terms.h - What a prediction is made of -----------------------------------*- C++ -*-===//
//
// Numbers without a unit that say what kind of kernel a schedule makes of a product: shares of the predicted time, logarithms of counts,
// the form of the tile. A learned factor corrects the prediction by them (lib/Schedule/LearnedFactor.cpp, bench/fit.py).
//
//===--------------------------------------------------------------------------------------===//

#ifndef TILELOOM_SCHEDULE_TERMS_H
#define TILELOOM_SCHEDULE_TERMS_H

#include <array>

namespace tileloom::schedule {

enum class Term : unsigned {
  // Of the predicted time: its logarithm, and the shares that each unit alone would take.
  Microseconds, Clocks, Memory, Through, Fetched, Last, Launch, Loops, Turn, Drain, Sums,
  MemoryTail, ThroughTail, ///< with the last round's CTAs alone
  // Items of work.
  Waves, Fill, Items, Slices, Trips, Stages, Ahead,
  // Of one iteration: shares of the units, and the logarithm of its clocks.
  Products, Waits, Copies, Held, Iteration,
  // The tile.
  Rows, Columns, Depth, Turns, Replicas, Pending, Registers,
  UsefulRows, UsefulColumns, UsefulDepth, ///< shares of all tiles that are within the tensors
  // Results and rows of operands.
  Pieces, Leave, Write, Deep, CopyRows, FetchRows,
  // The order of tiles.
  TileRows, TileColumns, Together, Cluster, Multicast, Keep, Apart, WorkingSet, Again,
  Count
};

inline constexpr unsigned termCount = unsigned(Term::Count);

class Terms {
public:
  double &operator[](Term term) { return values[unsigned(term)]; }
  double operator[](Term term) const { return values[unsigned(term)]; }
  const double *begin() const { return values.begin(); }
  const double *end() const { return values.end(); }

private:
  std::array<double, termCount> values{};
};

} // namespace tileloom::schedule

#endif // TILELOOM_SCHEDULE_TERMS_H
