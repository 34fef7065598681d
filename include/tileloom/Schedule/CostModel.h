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

#include "tileloom/Schedule/Traffic.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <optional>
#include <string>

namespace tileloom::schedule {

/// What a chip can do, in clocks of an SM. Defaults: H200.
struct Machine {
  int64_t processors = 132;
  double clocksPerMicrosecond = 1560;
  double macsPerClock = 2048;      ///< products of 16-bit floats, one SM
  double productBase = 32.2;       ///< clocks for operand A of an m64nNk16 from shared memory
  double productPerColumn = 0.256; ///< and for operand B
  double copyBytes = 125;          ///< L2 to the shared memory of one SM, per clock
  double copyLatency = 1160;       ///< clocks until a copy has arrived
  double splitCopy = 3;      ///< times the cost of a row that does not begin at a line of 128 bytes
  double narrowRow = 262;    ///< bytes that a row of less than 128 bytes takes the time of
  double productWait = 97;   ///< clocks that a wait for a product costs its warpgroup
  double sharedWait = 0.354; ///< share of it that another warpgroup does not hide
  double sharedTurn = 0.6;   ///< share of the end of a tile that is left beside three warpgroups, which take turns
  double flightWait = 0.444; ///< share of it with a product in flight over the back edge
  double flightSlots = 0.41; ///< slots that a product in flight holds longer
  double storeBytes = 17.7;  ///< results of one SM, per clock
  double storeBase = 355;    ///< clocks from the last product to the first store
  double storePiece = 172;   ///< clocks of each piece of a result
  double launch = 7460;      ///< clocks of a launch: start, first copies, end
  double partialStore = 80;  ///< bytes of a slice's sums out of one SM, per clock
  double partialLoad = 100;  ///< and in, by the last slice
  double arrival = 3000;     ///< clocks of fences and counter when a slice is done
  double dramBytes = 3950e3; ///< per microsecond
  double dramBytesPerProcessor = 57.8e3;
  double keptGain = 1.2;       ///< of it, where `keep` spares L2 from writing back
  double l2Bytes = 18.5e6;     ///< per microsecond
  double fetchBytes = 8e6;     ///< of them, where what neighbours read is counted once
  double splitFetch = 1.4;     ///< times of it for rows that do not begin at a line of 128 bytes
  double partialLines = 0.5;   ///< power of the lines that pieces of results touch, for each that they fill
  double cacheBytes = 32e6;    ///< of L2, for what tiles read again
  double base = 3.4;           ///< microseconds of the smallest kernel bound by memory
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
  Keep keep = Keep::None;
  int64_t split = 1; ///< slices of the loop: the schedule's, or what is best
};

/// `kernel`: a tile program whose schedule is assigned (tile-assign-schedule). `arguments`: values
/// of its scalar arguments, as far as they are known; of a descriptor the bytes from row to row.
Prediction predict(mlir::func::FuncOp kernel, llvm::ArrayRef<std::optional<int64_t>> arguments,
                   const Machine &machine);

} // namespace tileloom::schedule

#endif // TILELOOM_SCHEDULE_COSTMODEL_H
