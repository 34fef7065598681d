//===- LoopTime.cpp - Clocks of an iteration of a loop with copies or products ------------===//

#include "LoopTime.h"

#include "ItemTime.h"

#include <algorithm>

namespace tileloom::schedule {

/// What a row waits for before its first exponential (clocks, measured), as far as the other replica's products are too short to cover it.
static constexpr double rowWait = 430;
static double uncovered(double products, double other) {
  double covered = std::min(products / std::max(other, 1.0), 1.0);
  return rowWait * (1 - covered * covered);
}

/// One product (or none) for each slot. The units run beside each other, and none quite reaches
/// its speed when another one is as slow.
double LoopTime::stream(const Cost &body, double copies, double slots, double trips) const {
  double busy = body.products + waitOf(body) + body.other;
  // A slot is filled, read, and with a product in flight held while the next one runs. Two slots are then none ahead: the next copy begins
  // when the one before has arrived (4096^3, 128 x 256 x 128: 273 us, with BK 64 and four slots 184).
  return smooth(7.74, {busy, copies, heldBy(body, copies, slots, trips)});
}

double LoopTime::heldBy(const Cost &body, double copies, double slots, double trips) const {
  double busy = body.products + waitOf(body) + body.other;
  bool serial = pending > 0 && slots < 3 && trips > slots;
  double held = machine.copyLatency + machine.heldCopies * copies + (machine.heldBusy + (serial ? 0 : pending * machine.flightSlots)) * busy;
  return held / (serial ? 1 : std::max(slots, 1.0));
}

double LoopTime::waitOf(const Cost &body) const {
  bool alone = !takesTurns && replicas == 1;
  double wait = machine.productWait * body.dots;
  if (pending > 0)
    return wait * machine.flightWait * (alone ? 1 : machine.sharedWait);
  return wait * (takesTurns ? 2 : alone ? 1 : machine.sharedWait);
}

/// Several products with work between them. Each slot is held for a part of the iteration only.
double LoopTime::chain(const Cost &body, double copies, double slots) const {
  bool alone = takesTurns || replicas == 1;
  double wait = machine.productWait * body.dots *
                (takesTurns ? 2
                 : alone    ? 1
                            : machine.sharedWait);
  // Work of the warps runs beside a product if no other replica waits for the turn; a warpgroup alone overlaps with itself
  // only where it waits (measured: 1, 2 and 3 warpgroups, which take turns). Of two, the slower unit is held up as the other
  // one comes near it. Beside sums of 80 registers and more of three, ptxas cannot move all other work in front of the
  // exponentials, which then start earlier; nor has it to where the second product runs an iteration late (lib/Schedule/Skew.cpp), for
  // which sums and 16 bits of the first one have 128 registers. Of less than 64 columns a thread that gained nothing.
  bool late = body.first >= 64 && body.sums + body.first / 2 <= 128;
  double apart = takesTurns ? 1 : alone ? 0.6 : late ? 0 : body.widest < 80 ? 0.3 : 0.02;
  double products = body.products + wait;
  double together = !alone && replicas == 2 ? smooth(4, {products, body.other}) + uncovered(products, body.other)
                                            : std::max(products, body.other) + apart * std::min(products, body.other);
  // An operand over the sum that it is made of: the next sum of these rows waits until it is multiplied, so that all of a block's work is
  // one chain, beside which the other blocks' run.
  if (overlaid)
    together = alone ? products + body.other : smooth(4, {products, body.other, (products + body.other) / replicas + rowWait});
  return std::max({together, copies, machine.chainLatency / slots}) * (slots == 1 ? 1.35 : 1);
}

} // namespace tileloom::schedule
