//===- ItemTime.cpp - From the time of a tile to that of a launch -------------------------===//
//
// Tiles, or slices of them, fall to the processors in rounds; beside that stand the bytes that all of them
// read and write.
//
//===--------------------------------------------------------------------------------------===//

#include "ItemTime.h"

#include "LearnedFactor.h"

#include "tileloom/Schedule/SplitLoop.h"

#include <cmath>
#include <vector>

using namespace mlir;

namespace tileloom::schedule {

double smooth(double power, ArrayRef<double> values) {
  double largest = *llvm::max_element(values), sum = 0;
  if (largest <= 0)
    return 0;
  for (double value : values)
    sum += std::pow(value / largest, power);
  return largest * std::pow(sum, 1 / power);
}

namespace {

/// Slices have to be faster than none by this much.
constexpr double splitGain = 0.97;
constexpr double mostSlices = 64, mostRounds = 4;
constexpr double moreSections = 1.25;
constexpr size_t nearSlices = 3;   // that the learned factor is asked about
constexpr double learnedTime = 60; // microseconds of the tensor core up to which it counts; from twice as many on it does not

/// Rows of tiles walked together, longest first, in equal sections: what fits L2, or four rounds of
/// the machine while four CTAs share a stream. A few sections more where all are alike then. How a launch ends does not depend on it, see DrawOrder.
int64_t sectionRows(const TileTime &tile, const Traffic::Order &order) {
  double processors = tile.machine.processors, half = tile.machine.processors / 2;
  double fits = tile.machine.cacheBytes / (3 * tile.traffic.stream()); // beside what else passes
  double rounds = std::min(4 * processors / order.columns, half / 2);
  double together = std::floor(std::max(fits, rounds));
  double all = std::max(order.rows, 1.0), sections = std::ceil(all / std::clamp(together, 1.0, half));
  for (double more = sections; more <= sections * moreSections; ++more)
    if (std::fmod(all, more) == 0)
      return int64_t(all / more);
  return int64_t(std::ceil(all / sections));
}

double bytesOfSums(scf::ForOp loop) {
  double bytes = 0;
  for (Type sum : loop.getResultTypes())
    bytes += 4.0 * cast<RankedTensorType>(sum).getNumElements();
  return bytes;
}

/// As many rows of tiles together as let neighbours share what is read, without more of it read again or at a time. More rows may be
/// more at a time where that stays in L2 beside what passes, so that DRAM is read less: all rows of 4096 x 2048 (19 MB with their columns)
/// gain 0 to 2 % at K 512 to 2048; 30 MB lose 2 % (K 3072), 40 MB 6. What the schedule says (2048 rows of the result) stays where all that
/// gains nothing.
void chooseOrder(const TileTime &tile, Traffic::Order &order, Prediction &result) {
  constexpr double gain = 0.97, more = 1.05, kept = 0.7;
  const Traffic &traffic = tile.traffic;
  double bytes = (traffic.dram(order) + traffic.apart(order)) * gain;
  double dram = traffic.dram(order) * more, set = traffic.workingSet(order) * more, given = order.together;
  for (int64_t rows : {64, 32, 16, 8, 4, 2, 1}) {
    Traffic::Order other = order;
    other.together = double(rows);
    double own = traffic.dram(other) + traffic.apart(other);
    // Of equal ones, the nearest neighbours.
    if (own > bytes || traffic.dram(other) > dram || traffic.workingSet(other) > (rows > given ? std::max(set, kept * order.cacheBytes) : set))
      continue;
    bytes = own;
    order = other;
    result.raster = rows;
  }
}

/// Microseconds of the tensor core.
double busyTime(const TileTime &tile, const Prediction &result) {
  return result.tiles * result.productClocks / tile.machine.processors / tile.machine.clocksPerMicrosecond;
}

/// How fast the machine's clock is. Long runs of the tensor core draw the power limit and lower it.
double clocksPerMicrosecond(const TileTime &tile, const Prediction &result) {
  const Machine &machine = tile.machine;
  return machine.clocksPerMicrosecond * (1 + machine.coolGain / (1 + busyTime(tile, result) / machine.coolTime));
}

/// Adds the time of all items of work: tiles, or `slices` of the loop of each.
void finish(const TileTime &tile, Prediction &result, scf::ForOp loop, int64_t slices) {
  const Machine &machine = tile.machine;
  double items = result.tiles * slices, through = tile.lines, ends = tile.ends;
  result.split = slices;
  result.waves = std::ceil(items / machine.processors);
  double busy = std::clamp<double>(items, 1, machine.processors), perMicrosecond = clocksPerMicrosecond(tile, result);
  double clocks = (tile.takesTurns ? tile.turn : 0) + machine.launch + machine.firstCopy * tile.firstCopy + machine.launchSlot * result.stages +
                  machine.launchSpread * std::log(busy) + (result.cluster > 1 ? machine.launchCluster : 0);
  Terms &terms = result.terms = tile.terms;
  double launch = clocks, turns = result.waves * tile.turn, drain = result.waves * tile.drain, sums = 0, own = tile.trips;
  if (slices == 1) {
    // In turns, one replica multiplies while the other stores, which it notices: 4 to 7 % for ten pieces of 16 columns
    // instead of five of 32 (zeros, 4096 x 14336 x 4096), 0 to 1 % where the machine throttles.
    double own = tile.loops + tile.turn;
    // While a tile leaves, the copies for the next one fill the ring.
    own -= std::min(tile.filled, tile.turn) * machine.fillBeside * (1 - 1 / std::max(result.waves, 1.0));
    double computing = result.waves * (tile.takesTurns ? std::max(tile.loops + tile.narrow, own / 2) : own);
    if (tile.twoSums)
      computing = (result.waves - 1) * std::max(tile.loops, tile.turn) + tile.loops + tile.turn;
    clocks += smooth(2.56, {computing, result.waves * tile.drain});
  } else {
    double trips = std::max(tripsOf(loop, tile.evaluate), 1.0), bytes = bytesOfSums(loop);
    own = std::ceil(trips / slices);
    sums = result.waves * bytes / machine.partialStore;
    double leave = bytes / machine.partialStore + machine.arrival;
    double collect = slices * bytes / machine.partialLoad + machine.copyLatency + tile.turn;
    clocks += result.waves * (tile.loops * std::ceil(trips / slices) / trips + leave) +
              std::ceil(result.waves / slices) * collect;
    through += 2 * items * bytes;
    ends = leave + collect;
  }
  Traffic::Order order{result.tiles / tile.columns, tile.columns, double(tile.raster),
                       std::max(busy / slices, 1.0), machine.cacheBytes, double(slices)};
  if (tile.reverse && tile.traffic.stream() > 0) {
    result.raster = sectionRows(tile, order);
    order.together = double(result.raster);
  }
  if (tile.ordered && slices == 1)
    chooseOrder(tile, order, result);
  Traffic::Order kept = order; // more rows together are no reason to keep one operand
  kept.together = std::min(order.together, double(std::max<int64_t>(tile.raster, 1)));
  if (tile.keep.empty())
    result.keep = tile.traffic.keep(kept);
  bool keeps = result.keep != Keep::None || (!tile.keep.empty() && tile.keep != "none");
  double dram = (keeps ? machine.keptGain : 1) *
                smooth(-4, {machine.dramBytes, busy * machine.dramBytesPerProcessor});
  // The last results leave when everything is read.
  double last = machine.base + ends / perMicrosecond;
  double read = (tile.traffic.dram(order) + (tile.ordered ? tile.traffic.apart(order) : 0)) / std::pow(tile.deep, machine.deepRows);
  result.microseconds = smooth(9.4, {clocks / perMicrosecond, read / dram + last, through / machine.l2Bytes + last});
  if (tile.ordered) {
    double fetched = tile.traffic.fetched(order) + through - tile.lines;
    result.microseconds = smooth(9.94, {result.microseconds, fetched / machine.fetchBytes + last});
    if (!tile.plain)
      return;
    double us = result.microseconds, clock = perMicrosecond * us;
    // A last round of few CTAs has their share of memory and L2 only.
    double left = items - (result.waves - 1) * machine.processors, share = left / items;
    auto rate = [&](double ctas) { return smooth(-4, {machine.dramBytes, ctas * machine.dramBytesPerProcessor}); };
    double alone = rate(left) / rate(busy);
    terms[Term::Microseconds] = std::log(us);
    terms[Term::Clocks] = clocks / clock;
    terms[Term::Memory] = read / dram / us;
    terms[Term::Through] = through / machine.l2Bytes / us;
    terms[Term::Fetched] = fetched / machine.fetchBytes / us;
    terms[Term::Last] = last / us;
    terms[Term::Launch] = launch / clock;
    terms[Term::Loops] = result.waves * tile.loops * own / std::max(tile.trips, 1.0) / clock;
    terms[Term::Turn] = turns / clock;
    terms[Term::Drain] = drain / clock;
    terms[Term::Sums] = sums / clock;
    terms[Term::MemoryTail] = terms[Term::Memory] * (1 - share + share / alone);
    terms[Term::ThroughTail] = terms[Term::Through] * result.waves * machine.processors / std::max(items, machine.processors * 1.0);
    terms[Term::Waves] = std::min(result.waves, 20.0);
    terms[Term::Fill] = items / (machine.processors * std::max(result.waves, 1.0));
    terms[Term::Items] = std::log(std::max(items, 1.0));
    terms[Term::Slices] = std::log(double(slices));
    terms[Term::Trips] = std::log(std::max(own, 1.0));
    terms[Term::Stages] = double(result.stages);
    terms[Term::Ahead] = own / double(std::max<int64_t>(result.stages, 1));
    terms[Term::TileRows] = std::log(std::max(order.rows, 1.0));
    terms[Term::TileColumns] = std::log(std::max(order.columns, 1.0));
    terms[Term::Together] = std::log(std::clamp(order.together, 1.0, std::max(order.rows, 1.0)));
    terms[Term::Keep] = keeps;
    terms[Term::Apart] = tile.traffic.apart(order) / std::max(tile.traffic.dram(order), 1.0);
    terms[Term::WorkingSet] = std::log(std::max(tile.traffic.workingSet(order), 1.0) / machine.cacheBytes);
    terms[Term::Again] = std::log(std::max(through, 1.0) / std::max(tile.traffic.dram(order), 1.0));
  }
}

/// With the factor that was learned for plain products. Those that draw the power limit are not among them: all their good schedules are
/// alike, and which is the fastest depends on what ran before.
void correct(const TileTime &tile, Prediction &result) {
  if (!tile.plain)
    return;
  double part = std::clamp(2 - busyTime(tile, result) / learnedTime, 0.0, 1.0);
  result.learned = part > 0 ? std::pow(learnedFactor(result.terms), part) : 1;
  result.microseconds *= result.learned;
}

} // namespace

Prediction timeOfItems(const TileTime &tile, const Prediction &result) {
  Prediction best = result;
  SplitLoop found;
  if (tile.split.value_or(2) > 1 && !tile.takesTurns && result.tiles > 0)
    found = findSplitLoop(tile.kernel);
  if (tile.split.value_or(1) > 1 && result.tiles > 0 && !found.loop) {
    best.reason = std::string("split: expected ") +
                  (tile.takesTurns ? "tiles that replicas share" : found.expected);
    return best;
  }
  finish(tile, best, found.loop, found.loop ? tile.split.value_or(1) : 1);
  if (tile.split || !found.loop) {
    correct(tile, best);
    return best;
  }
  double most = std::min({tripsOf(found.loop, tile.evaluate) / 2, mostSlices,
                          mostRounds * tile.machine.processors / result.tiles});
  std::vector<Prediction> others;
  for (int64_t slices = 2; slices <= most; ++slices) {
    Prediction other = result;
    finish(tile, other, found.loop, slices);
    others.push_back(other);
  }
  // The factor decides between the few that are near the best without it.
  llvm::sort(others, [](const Prediction &a, const Prediction &b) { return std::pair(a.microseconds, a.split) < std::pair(b.microseconds, b.split); });
  others.resize(std::min<size_t>(others.size(), tile.plain ? nearSlices : 1));
  correct(tile, best);
  for (Prediction &other : others) {
    correct(tile, other);
    if (other.microseconds < best.microseconds * (best.split == 1 ? splitGain : 1))
      best = other;
  }
  return best;
}

} // namespace tileloom::schedule
