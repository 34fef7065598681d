//===- CostModel.h - How long a tile program will take ---------------------------*- C++ -*-===//
//
// A prediction from the program, its schedule and the values of its scalar arguments: clocks of the
// tensor core, bytes through L2 and shared memory, waves of tiles, the turn from tile to tile. No
// shape and no kernel is known by name: the same walk serves every program. The constants are
// fitted to measurements (docs/notes/upper-half.md).
//
//===--------------------------------------------------------------------------------------===//

#ifndef TILELOOM_SCHEDULE_COSTMODEL_H
#define TILELOOM_SCHEDULE_COSTMODEL_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <optional>
#include <string>

namespace tileloom::schedule {

/// What a chip can do, in clocks of an SM. Defaults: H200.
struct Machine {
  int64_t processors = 132;
  double clocksPerMicrosecond = 1464;
  double macsPerClock = 2048;      ///< products of 16-bit floats, one SM
  double productBase = 32.2;       ///< clocks for operand A of an m64nNk16 from shared memory
  double productPerColumn = 0.256; ///< and for operand B
  double copyBytes = 74.9;         ///< L2 to the shared memory of one SM, per clock
  double copyLatency = 1435;       ///< clocks until a copy has arrived
  double productWait = 73;         ///< clocks that a wait for a product costs its warpgroup
  double sharedWait = 0.486;       ///< share of it that another warpgroup does not hide
  double storeBytes = 44.4;        ///< results of one SM, per clock
  double launch = 15160;           ///< clocks of a launch: start, first copies, end
  double dramBytes = 4566e3;       ///< per microsecond
  double dramBytesPerProcessor = 61.0e3;
  double l2Bytes = 11004e3;    ///< per microsecond
  double cacheBytes = 32e6;    ///< of L2, for what tiles stream again and again
  double base = 4.4;           ///< microseconds of the smallest kernel bound by memory
  int64_t otherRegisters = 16; ///< of a thread, beside sums and operands, at the least
  bool tensorMemory = false;

  static Machine of(llvm::StringRef chip);
};

struct Prediction {
  std::string reason; ///< why the schedule cannot be used; empty if it can
  double microseconds = 0;
  double tiles = 0, waves = 0;
  double productClocks = 0, copyClocks = 0, otherClocks = 0, turnClocks = 0; ///< of one tile
  int64_t stages = 0;
  double bytes = 0;   ///< through L2
  int64_t raster = 0; ///< rows of tiles whose streams fit L2 together, where the order matters
};

/// `kernel`: a tile program whose schedule is assigned (tile-assign-schedule). `arguments`: values
/// of its scalar arguments, as far as they are known.
Prediction predict(mlir::func::FuncOp kernel, llvm::ArrayRef<std::optional<int64_t>> arguments,
                   const Machine &machine);

} // namespace tileloom::schedule

#endif // TILELOOM_SCHEDULE_COSTMODEL_H
