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

#include "tileloom/Schedule/Terms.h"
#include "tileloom/Schedule/Traffic.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <optional>
#include <string>

namespace tileloom::schedule {

/// What a chip can do, in clocks of an SM. Defaults: H200.
struct Machine {
  int64_t processors = 132;
  double clocksPerMicrosecond = 1560;
  double coolGain = 0.12;           ///< that the clock is faster in short kernels, which do not draw the power limit
  double coolTime = 24.3;           ///< microseconds of the tensor core after which half of that is gone
  double macsPerClock = 2048;      ///< products of 16-bit floats, one SM
  double productBase = 25.6;       ///< clocks for operand A of an m64nNk16 from shared memory
  double productPerColumn = 0.328; ///< and for operand B
  double copyBytes = 138;          ///< L2 to the shared memory of one SM, per clock
  double copyLatency = 1970;       ///< clocks until a copy has arrived
  double chainLatency = 1220;      ///< the same where an iteration has several products
  double splitCopy = 1.23;   ///< power of the lines of 128 bytes that a box's row touches, for each that it would fill
  double sectorCopy = 1.79;  ///< and of its sectors of 32 bytes
  double narrowRow = 289;    ///< bytes that a row of less than 128 bytes takes the time of
  double productWait = 75.4;   ///< clocks that a wait for a product costs its warpgroup
  double sharedWait = 0.386; ///< share of it that another warpgroup does not hide
  double sharedTurn = 0.599;   ///< share of the end of a tile that is left beside three warpgroups, which take turns
  double flightWait = 0.326; ///< share of it with a product in flight over the back edge
  double heldCopies = 0.658; ///< of the time of a slot's copies, what the slot is held for beside the latency
  double heldBusy = 0.576;   ///< of the product that reads it
  double flightSlots = 0.501; ///< and of another one, with a product in flight
  double storeBytes = 23.3;  ///< results of one SM, per clock
  double storeBase = 598;    ///< clocks from the last product to the first store
  double storeRow = 142;     ///< bytes of a row of results below which each takes longer: their ratio to the power
  double storeRowPower = 0.633;
  double storeBeside = 0.544; ///< share of what is on the way out that the next tile does not wait for
  double fillBeside = 0.496;  ///< share of the copies for the next tile that run while one leaves
  double storePiece = 127;   ///< clocks of each piece of a result
  double launch = 6430;      ///< clocks of a launch: start, end
  double launchSlot = 21.9;    ///< and for each slot of the ring
  double launchSpread = 225;  ///< and for each factor e of CTAs
  double launchCluster = 2100; ///< and where CTAs run in clusters
  double firstCopy = 1.35;    ///< times the copies of the first slot
  double partialStore = 40;  ///< bytes of a slice's sums out of one SM, per clock
  double partialLoad = 40;  ///< and in, by the last slice
  double arrival = 2600;     ///< clocks of fences and counter when a slice is done
  double dramBytes = 4463e3; ///< per microsecond
  double dramBytesPerProcessor = 60.65e3;
  double keptGain = 1.06;       ///< of it, where `keep` spares L2 from writing back
  double l2Bytes = 23.6e6;     ///< per microsecond
  double fetchBytes = 8.73e6;     ///< of them, where what neighbours read is counted once
  double splitFetch = 0.466;    ///< power of the lines that rows touch in it
  double sectorFetch = 0.416;   ///< and of their sectors
  double partialLines = 2.08;   ///< power of the lines that rows of results touch, for each that they fill
  double partialRow = 32;      ///< bytes of a row of a piece below which memory takes longer: their ratio to the power
  double partialRowPower = 0.435;
  double deepRows = 0.0662;      ///< power of the bytes of a row that are read together, in lines: what memory gains
  double cacheBytes = 32e6;      ///< of L2, for what tiles read again
  double base = 2.04;           ///< microseconds of the smallest kernel bound by memory
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
  int64_t cluster = 1; ///< CTAs that load for each other, in the same way
  llvm::StringRef multicast; ///< what they share
  double learned = 1; ///< factor in `microseconds` that was learned for plain products
  Terms terms;        ///< what the time is made of, for plain products
};

/// `kernel`: a tile program whose schedule is assigned (tile-assign-schedule). `arguments`: values
/// of its scalar arguments, as far as they are known; of a descriptor the bytes from row to row.
Prediction predict(mlir::func::FuncOp kernel, llvm::ArrayRef<std::optional<int64_t>> arguments,
                   const Machine &machine);

} // namespace tileloom::schedule

#endif // TILELOOM_SCHEDULE_COSTMODEL_H
