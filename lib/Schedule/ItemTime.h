//===- ItemTime.h - From the time of a tile to that of a launch ------------------*- C++ -*-===//

#ifndef TILELOOM_LIB_SCHEDULE_ITEMTIME_H
#define TILELOOM_LIB_SCHEDULE_ITEMTIME_H

#include "tileloom/Schedule/CostModel.h"
#include "tileloom/Schedule/ScalarValues.h"

namespace tileloom::schedule {

/// The norm of order `power`: nearly the largest of `values` (with a negative power the smallest),
/// and more (less) when others are as large.
double smooth(double power, llvm::ArrayRef<double> values);

/// What is known of one tile.
struct TileTime {
  mlir::func::FuncOp kernel;
  const Machine &machine;
  ScalarValues &evaluate;
  const Traffic &traffic;
  double loops;  ///< clocks of the loops with products
  double turn;   ///< clocks from the last product until the next tile can begin
  double ends;   ///< clocks from the last copy's arrival to the end of the stores
  double narrow; ///< of them, those that pieces of results with rows of less than 64 bytes take longer
  double drain;  ///< clocks that results take out of the SM
  double filled; ///< clocks of `loops` that a ring filled before would save
  double deep;   ///< bytes of memory's rows that are read together, in lines of 128
  double lines;  ///< bytes of all tiles through L2, with what half lines cost
  double firstCopy; ///< clocks until the first slot is filled, beside the latency
  int64_t raster;
  std::optional<int64_t> split;
  llvm::StringRef keep;
  bool takesTurns, reverse;
  bool ordered; ///< one product, and an order of tiles that may be chosen
  double columns = 1; ///< tiles of the last extent
  bool twoSums = false; ///< tensor memory has room for the next tile's sum while one leaves
  bool plain = false; ///< a product of the kind that the learned factor was trained on
  double pieces = 0, trips = 0; ///< of a result, of the loop
  Terms terms = {};   ///< those of the tile
};

/// `result`, with the time of all its tiles: in as many slices as the schedule says, or as are best.
Prediction timeOfItems(const TileTime &tile, const Prediction &result);

} // namespace tileloom::schedule

#endif // TILELOOM_LIB_SCHEDULE_ITEMTIME_H
