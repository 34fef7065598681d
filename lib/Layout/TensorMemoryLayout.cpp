//===- TensorMemoryLayout.cpp - Operands of tcgen05 in tensor memory --------===//
//
// The maps of PTX ISA 9.7.16.10.5 (accumulators), of A in tensor memory, and of scale factors
// (9.7.16.10.7). Layout C (pairs, sparse, M = 128) is left out: its figure leaves the lanes open.
//
//===----------------------------------------------------------------------===//
#include "tileloom/Layout/TensorMemoryLayout.h"
#include "Support.h"

using namespace llvm;

namespace tileloom::layout {

using Kind = TensorMemoryLayout::Kind;

static Error checkLaneBase(unsigned laneBase, bool mayShift) {
  if (laneBase == 0 || (laneBase == 16 && mayShift))
    return Error::success();
  return makeError("tensor memory: found first lane " + Twine(laneBase) + "; needs 0" +
                   (mayShift ? " or 16" : ""));
}

Expected<TensorMemoryLayout> TensorMemoryLayout::accumulator(int64_t m, int64_t n,
                                                             unsigned ctaGroup, bool ws,
                                                             unsigned laneBase) {
  TensorMemoryLayout result;
  result.extents = {m, n};
  result.laneBase = laneBase;
  int64_t nStep = ctaGroup == 2 ? 16 : 8;
  bool found = false;
  auto choose = [&](bool condition, Kind kind) {
    if (condition) {
      result.form = kind;
      found = true;
    }
  };
  choose(ctaGroup == 2 && !ws && m == 256, Kind::A);
  choose(ctaGroup == 2 && !ws && m == 128, Kind::B);
  choose(ctaGroup == 1 && m == 128, Kind::D);
  choose(ctaGroup == 1 && ws && m == 64, Kind::E);
  choose(ctaGroup == 1 && !ws && m == 64, Kind::F);
  choose(ctaGroup == 1 && ws && m == 32, Kind::G);
  if (!found)
    return makeError(
        "tensor memory accumulator: found M = " + Twine(m) + " with cta_group " + Twine(ctaGroup) +
        (ws ? ", .ws" : "") +
        "; needs 64 or 128 (cta_group 1; 32 too with .ws) or 128 or 256 (cta_group 2)");
  if (ws ? (n != 64 && n != 128 && n != 256) : (n < nStep || n > 256 || n % nStep))
    return makeError(
        "tensor memory accumulator: found N = " + Twine(n) + "; needs " +
        (ws ? Twine("64, 128 or 256") : "a multiple of " + Twine(nStep) + " up to 256"));
  if (Error error = checkLaneBase(laneBase, result.form == Kind::F))
    return std::move(error);
  return result;
}

Expected<TensorMemoryLayout> TensorMemoryLayout::operandA(int64_t m, int64_t k,
                                                          unsigned elementBits, unsigned ctaGroup,
                                                          unsigned laneBase) {
  if (elementBits != 4 && elementBits != 8 && elementBits != 16 && elementBits != 32)
    return makeError("tensor memory operand A: found elements of " + Twine(elementBits) +
                     " bits; needs 4, 8, 16 or 32");
  if (!((ctaGroup == 1 && (m == 64 || m == 128)) || (ctaGroup == 2 && (m == 128 || m == 256))))
    return makeError("tensor memory operand A: found M = " + Twine(m) + " with cta_group " +
                     Twine(ctaGroup) + "; needs 64 or 128 (cta_group 1), 128 or 256 (cta_group 2)");
  if (k <= 0 || k * elementBits % 256 || k * elementBits / 32 > 512)
    return makeError("tensor memory operand A: K = " + Twine(k) + " is " + Twine(k * elementBits) +
                     " bits; needs a multiple of 256 up to 512 columns of 32");
  if (Error error = checkLaneBase(laneBase, m == 64))
    return std::move(error);
  TensorMemoryLayout result;
  result.form = ctaGroup == 2 && m == 128 ? Kind::OperandATwice : Kind::OperandA;
  result.extents = {m, k};
  result.bits = elementBits;
  result.laneBase = laneBase;
  return result;
}

static Error checkScales(int64_t rows, int64_t kBlocks) {
  if (rows > 0 && rows <= 256 && rows % 8 == 0 && kBlocks > 0)
    return Error::success();
  return makeError("tensor memory scales: found " + Twine(rows) + " rows and " + Twine(kBlocks) +
                   " blocks along K; needs a multiple of 8 up to 256, and at least one block");
}

Expected<TensorMemoryLayout> TensorMemoryLayout::scalesA(int64_t rows, int64_t kBlocks) {
  Expected<TensorMemoryLayout> result = scalesB(rows, kBlocks);
  if (result && rows != 128)
    return makeError("tensor memory scales of A: found " + Twine(rows) +
                     " rows; a CTA has 128 with block scaling");
  if (result)
    result->form = Kind::ScalesA;
  return result;
}

Expected<TensorMemoryLayout> TensorMemoryLayout::scalesB(int64_t rows, int64_t kBlocks) {
  if (Error error = checkScales(rows, kBlocks))
    return std::move(error);
  TensorMemoryLayout result;
  result.form = Kind::ScalesB;
  result.extents = {rows, kBlocks};
  result.bits = 8;
  return result;
}

/// Columns of one group of four scale blocks: storage is rounded up to 128 rows.
static int64_t scaleGroupColumns(int64_t rows) { return (rows + 127) / 128 * 4; }

int64_t TensorMemoryLayout::columns() const {
  switch (form) {
  case Kind::A:
  case Kind::D:
  case Kind::F:
    return extents[1];
  case Kind::B:
  case Kind::E:
    return extents[1] / 2;
  case Kind::G:
    return extents[1] / 4;
  case Kind::OperandA:
  case Kind::OperandATwice:
    return extents[1] * bits / 32;
  case Kind::ScalesA:
  case Kind::ScalesB:
    return (extents[1] + 3) / 4 * scaleGroupColumns(extents[0]);
  }
  return 0;
}

int64_t TensorMemoryLayout::allocationColumns() const {
  return std::max<int64_t>(32, int64_t(PowerOf2Ceil(uint64_t(columns()))));
}

SmallVector<TmemPlace, 4> TensorMemoryLayout::placesOf(int64_t row, int64_t col) const {
  auto at = [](int64_t cta, int64_t lane, int64_t column, int64_t bit = 0) {
    return TmemPlace{unsigned(cta), unsigned(lane), unsigned(column), unsigned(bit)};
  };
  int64_t half = extents[1] / 2, quarter = extents[1] / 4;
  int64_t spread = laneBase + row % 16 + 32 * (row / 16); // 16 rows in each warp's quadrant
  switch (form) {
  case Kind::A:
    return {at(row / 128, row % 128, col)};
  case Kind::B:
    return {at(row / 64, row % 64 + 64 * (col / half), col % half)};
  case Kind::D:
    return {at(0, row, col)};
  case Kind::E:
    return {at(0, row + 64 * (col / half), col % half)};
  case Kind::F:
    return {at(0, spread, col)};
  case Kind::G:
    return {at(0, row + 32 * (col / quarter), col % quarter)};
  case Kind::OperandA: {
    int64_t word = col * bits / 32, bit = col * bits % 32;
    if (extents[0] == 64)
      return {at(0, spread, word, bit)};
    return {at(row / 128, row % 128, word, bit)};
  }
  case Kind::OperandATwice: {
    int64_t word = col * bits / 32, bit = col * bits % 32;
    return {at(row / 64, row % 64, word, bit), at(row / 64, row % 64 + 64, word, bit)};
  }
  case Kind::ScalesA:
  case Kind::ScalesB: {
    SmallVector<TmemPlace, 4> places;
    int64_t column = row / 32 + col / 4 * scaleGroupColumns(extents[0]);
    for (int64_t quadrant = 0; quadrant < 4; ++quadrant)
      places.push_back(at(0, row % 32 + 32 * quadrant, column, 8 * (col % 4)));
    return places;
  }
  }
  return {};
}

std::optional<Index> TensorMemoryLayout::indexOf(const TmemPlace &place) const {
  int64_t lane = place.lane, column = place.column, half = extents[1] / 2, quarter = extents[1] / 4;
  Index index;
  switch (form) {
  case Kind::A:
    index = {place.cta * 128 + lane, column};
    break;
  case Kind::B:
    index = {place.cta * 64 + lane % 64, column + lane / 64 * half};
    break;
  case Kind::D:
    index = {lane, column};
    break;
  case Kind::E:
    index = {lane % 64, column + lane / 64 * half};
    break;
  case Kind::F:
    index = {(lane - laneBase) % 32 + lane / 32 * 16, column};
    break;
  case Kind::G:
    index = {lane % 32, column + lane / 32 * quarter};
    break;
  case Kind::OperandA:
  case Kind::OperandATwice: {
    int64_t row = extents[0] == 64         ? (lane - laneBase) % 32 + lane / 32 * 16
                  : form == Kind::OperandA ? place.cta * 128 + lane
                                           : place.cta * 64 + lane % 64;
    index = {row, (column * 32 + place.bit) / bits};
    break;
  }
  case Kind::ScalesA:
  case Kind::ScalesB: {
    int64_t group = scaleGroupColumns(extents[0]);
    index = {lane % 32 + column % group * 32, column / group * 4 + place.bit / 8};
    break;
  }
  }
  // The formulas above only have to be right for places in use: asking back settles the rest.
  if (index[0] < 0 || index[0] >= extents[0] || index[1] < 0 || index[1] >= extents[1])
    return std::nullopt;
  for (const TmemPlace &found : placesOf(index[0], index[1]))
    if (found == place)
      return index;
  return std::nullopt;
}

StringRef TensorMemoryLayout::name() const {
  static const char *const names[] = {
      "A", "B", "D", "E", "F", "G", "operand A", "operand A, twice", "scales of A", "scales of B"};
  return names[unsigned(form)];
}

} // namespace tileloom::layout
