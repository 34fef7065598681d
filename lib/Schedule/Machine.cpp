//===- Machine.cpp - What the cost model knows of a target --------------------------------===//

#include "tileloom/Schedule/CostModel.h"
#include "tileloom/Schedule/Limits.h"

using namespace mlir;

namespace tileloom::schedule {

Machine Machine::of(StringRef chip) {
  Machine machine;
  if (hasTensorMemory(chip)) { // B200, published rates; not measured
    machine.processors = 148;
    machine.macsPerClock = 4096;
    machine.clocksPerMicrosecond = 1700;
    machine.productWait = 0; // issued ahead by one thread
    machine.productBase = 16; // operand A of 64 of an instruction's 128 rows, 128 bytes a clock from shared memory
    machine.productPerColumn = 0.125;
    machine.flightSlots = 0;
    machine.tensorMemory = true;
    machine.dramBytes = 7000e3;
    machine.dramBytesPerProcessor = 80e3;
  }
  return machine;
}

} // namespace tileloom::schedule
