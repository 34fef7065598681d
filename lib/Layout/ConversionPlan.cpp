//===- ConversionPlan.cpp - Renaming, shuffles, or shared memory ------------===//
//
// Shuffles. Write both layouts over one core; then word d of lane t of the result is word Q(d, t)
// of lane S(d, t) of the source, linear maps. A shuffle moves one word per lane, and a lane sends
// one word, whoever reads it. So round i serves word i ^ D(t) in lane t, with D chosen such that
// the lane read, S(i, t) ^ S(D(t)), differs wherever the word read differs: kernel vectors of S(0,
// t) are sent to lanes that no other lane reads. That takes exactly one round per word, the least
// possible.
//
//===----------------------------------------------------------------------===//
#include "tileloom/Layout/ConversionPlan.h"
#include "ElementTable.h"
#include "Support.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace tileloom::layout {

std::optional<unsigned> ShuffleRound::xorMask() const {
  for (unsigned lane = 1; lane < 32; ++lane)
    if ((from[lane] ^ lane) != from[0])
      return std::nullopt;
  return from[0];
}

namespace {
/// Source place of something: a lane and a (recut) register.
struct Place {
  uint64_t lane = 0, reg = 0;
  Place operator^(const Place &o) const { return {lane ^ o.lane, reg ^ o.reg}; }
};

/// What lane t of round 0 reads (place) and which word of its result that is (word).
struct LaneRule {
  Place place[5];
  uint64_t word[5] = {0, 0, 0, 0, 0};
};

/// Rows reduced by the lane they read, each with the lane mask, place and word that made it.
struct Row {
  uint64_t mask;
  Place place;
  uint64_t word;
};
} // namespace

static void reduceBy(ArrayRef<Row> rows, Row &row) {
  for (const Row &other : rows)
    if ((row.place.lane ^ other.place.lane) < row.place.lane)
      row = {row.mask ^ other.mask, row.place ^ other.place, row.word ^ other.word};
}

static void insertRow(SmallVectorImpl<Row> &rows, const Row &row) {
  rows.insert(find_if(rows, [&](const Row &o) { return o.place.lane < row.place.lane; }), row);
}

/// Chooses D. `lanePlaces` is S, Q of the lane bits; `wordPlaces` of the result's word bits; `free`
/// are source places that may be added at will (copies). Nothing if some lane would have to send
/// two words.
static std::optional<LaneRule> chooseRule(ArrayRef<Place> lanePlaces, ArrayRef<Place> wordPlaces,
                                          ArrayRef<Place> free) {
  LaneRule rule;
  SmallVector<Row, 8> rows;
  SmallVector<Row, 5> conflicts; // lane masks that read one lane but different words
  for (unsigned bit = 0; bit < 5; ++bit) {
    rule.place[bit] = lanePlaces[bit];
    Row row{uint64_t(1) << bit, lanePlaces[bit], 0};
    reduceBy(rows, row);
    if (row.place.lane)
      insertRow(rows, row);
    else if (row.place.reg)
      conflicts.push_back(row);
  }
  // Ways to read another lane: copies first (they may make the read local), then other words.
  SmallVector<Row, 16> ways;
  for (const Place &place : free)
    ways.push_back({0, place, 0});
  for (auto [bit, place] : enumerate(wordPlaces))
    ways.push_back({0, place, uint64_t(1) << bit});
  size_t way = 0;
  for (const Row &conflict : conflicts) {
    std::optional<Row> chosen;
    for (; way < ways.size() && !chosen; ++way) {
      Row reduced = ways[way];
      reduceBy(rows, reduced);
      if (reduced.place.lane)
        chosen = ways[way];
    }
    if (!chosen)
      return std::nullopt;
    // Each conflict's top bit is in no other conflict: it carries the change alone.
    unsigned bit = Log2_64(conflict.mask);
    rule.place[bit] = rule.place[bit] ^ chosen->place;
    rule.word[bit] ^= chosen->word;
    Row row{conflict.mask, conflict.place ^ chosen->place, chosen->word};
    reduceBy(rows, row);
    insertRow(rows, row);
  }
  return rule;
}

/// Both layouts over one core, or nothing if they cannot be.
static std::optional<std::pair<SubLayout, SubLayout>> commonCore(const RegisterLayout &from,
                                                                 const RegisterLayout &to) {
  SmallVector<int64_t, 4> extents;
  for (unsigned dim = 0; dim < from.rank(); ++dim)
    extents.push_back(std::max(from.coreExtent(dim), to.coreExtent(dim)));
  Expected<SubLayout> a = withCore(from, extents), b = withCore(to, extents);
  bool ok = bool(a) && bool(b);
  if (!a)
    consumeError(a.takeError());
  if (!b)
    consumeError(b.takeError());
  if (!ok)
    return std::nullopt;
  // Along each dimension the same digits must be in registers, and the same in warps.
  auto sameAlong = [&](int dim) {
    auto along = [dim](const Repeat &repeat) { return repeat.dim == dim; };
    return llvm::equal(make_filter_range(a->layout.repeats(), along),
                       make_filter_range(b->layout.repeats(), along));
  };
  for (unsigned dim = 0; dim < from.rank(); ++dim)
    if (!sameAlong(dim))
      return std::nullopt;
  auto warpRepeats = [](const RegisterLayout &layout) {
    SmallVector<Repeat, 4> result(make_filter_range(
        layout.repeats(), [](const Repeat &repeat) { return repeat.kind == Repeat::Warp; }));
    return result;
  };
  if (a->layout.coreWarps() != b->layout.coreWarps() ||
      warpRepeats(a->layout) != warpRepeats(b->layout))
    return std::nullopt;
  return std::make_pair(std::move(*a), std::move(*b));
}

/// The rounds with words of 2^unitBits registers, or nothing.
static std::optional<SmallVector<ShuffleRound, 8>>
shuffleRounds(const SubLayout &from, const SubLayout &to, unsigned unitBits) {
  const LinearLayout &source = from.layout.core(), &target = to.layout.core();
  unsigned sourceBits = source.inBits("register"), targetBits = target.inBits("register");
  if (unitBits > sourceBits || unitBits > targetBits)
    return std::nullopt;
  for (unsigned bit = 0; bit < unitBits; ++bit)
    if (source.basis("register", bit) != target.basis("register", bit))
      return std::nullopt;
  for (unsigned bit = 0; bit < source.inBits("warp"); ++bit)
    if (source.basis("warp", bit) != target.basis("warp", bit))
      return std::nullopt; // data would have to cross warps
  // The source's words and lanes, to be solved for places.
  SmallVector<uint64_t, 16> columns;
  for (unsigned bit = unitBits; bit < sourceBits; ++bit)
    columns.push_back(source.basis("register", bit));
  for (unsigned bit = 0; bit < 5; ++bit)
    columns.push_back(source.basis("lane", bit));
  unsigned wordBits = sourceBits - unitBits;
  Expected<LinearLayout> places = LinearLayout::create({{"word", wordBits}, {"lane", 5}},
                                                       {{"element", source.outBits()}}, columns);
  if (!places) {
    consumeError(places.takeError());
    return std::nullopt;
  }
  auto split = [&](uint64_t flat) {
    return Place{flat >> wordBits, (flat & ((uint64_t(1) << wordBits) - 1)) << unitBits};
  };
  SmallVector<Place, 8> lanePlaces, wordPlaces, free;
  for (unsigned bit = 0; bit < 5 + targetBits - unitBits; ++bit) {
    bool isLane = bit < 5;
    std::optional<uint64_t> place = places->solve(
        isLane ? target.basis("lane", bit) : target.basis("register", unitBits + bit - 5));
    if (!place)
      return std::nullopt;
    (isLane ? lanePlaces : wordPlaces).push_back(split(*place));
  }
  for (unsigned bit = 0; bit < 5; ++bit) { // a dependent lane bit, plus what it equals: a copy
    if (!(places->freeVariableMasks()[1] >> bit & 1))
      continue;
    uint64_t flat = uint64_t(1) << (wordBits + bit);
    free.push_back(split(flat ^ *places->solve(places->applyFlat(flat))));
  }
  std::optional<LaneRule> rule = chooseRule(lanePlaces, wordPlaces, free);
  if (!rule)
    return std::nullopt;

  // Which lane (relative to the round's constant) is read by whom, and so which word it sends.
  SmallVector<Row, 8> readers;
  for (unsigned bit = 0; bit < 5; ++bit) {
    Row row{uint64_t(1) << bit, rule->place[bit], rule->word[bit]};
    reduceBy(readers, row);
    if (row.place.lane)
      insertRow(readers, row);
  }
  SmallVector<ShuffleRound, 8> rounds;
  unsigned coreWords = to.layout.coreRegisters() >> unitBits;
  for (unsigned reg = 0; reg < to.layout.registersPerThread(); reg += to.layout.coreRegisters()) {
    unsigned sourceRepeat = from.layout.ownerOf(to.layout.indexOf(reg, 0, 0)).reg;
    for (unsigned word = 0; word < coreWords; ++word) {
      Place base;
      for (unsigned bit = 0; bit < wordPlaces.size(); ++bit)
        if (word >> bit & 1)
          base = base ^ wordPlaces[bit];
      ShuffleRound round;
      for (unsigned lane = 0; lane < 32; ++lane) {
        Place place = base;
        uint64_t received = word;
        for (unsigned bit = 0; bit < 5; ++bit)
          if (lane >> bit & 1) {
            place = place ^ rule->place[bit];
            received ^= rule->word[bit];
          }
        round.from[lane] = place.lane;
        round.receive[lane] = to.registers[reg + (received << unitBits)] >> unitBits;
        uint64_t rest = lane ^ base.lane, sent = base.reg;
        for (const Row &row : readers)
          if ((rest ^ row.place.lane) < rest) {
            rest ^= row.place.lane;
            sent ^= row.place.reg;
          }
        round.send[lane] = from.registers[sourceRepeat + sent] >> unitBits;
      }
      rounds.push_back(round);
    }
  }
  return rounds;
}

Expected<ConversionPlan> convertPlan(const RegisterLayout &from, const RegisterLayout &to,
                                     unsigned elementBits) {
  if (from.shape() != to.shape())
    return makeError("convert: found shapes " + listText(from.shape()) + " and " +
                     listText(to.shape()) + "; need the same");
  if (from.warps() != to.warps())
    return makeError("convert: found " + Twine(from.warps()) + " and " + Twine(to.warps()) +
                     " warps; need the same");
  if (elementBits == 0 || elementBits > 64)
    return makeError("convert: found elements of " + Twine(elementBits) + " bits; needs 1 to 64");
  ConversionPlan plan;
  if (auto registers = matchInThread(
          from, to, [&](const Index &index) { return from.flatten(index); })) {
    plan.registers = std::move(*registers);
    return plan;
  }
  if (auto common = commonCore(from, to)) {
    unsigned widest = elementBits <= 32 ? Log2_32(32 / elementBits) : 0;
    for (unsigned unitBits = widest + 1; unitBits-- > 0;)
      if (auto rounds = shuffleRounds(common->first, common->second, unitBits)) {
        plan.kind = ConversionPlan::Shuffle;
        plan.unit = 1u << unitBits;
        plan.rounds = std::move(*rounds);
        return plan;
      }
  }
  plan.kind = ConversionPlan::SharedMemory;
  plan.scratchBytes = (from.numElements() * elementBits + 7) / 8;
  return plan;
}

} // namespace tileloom::layout
