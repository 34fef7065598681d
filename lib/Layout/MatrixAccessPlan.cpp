//===- MatrixAccessPlan.cpp - stmatrix and ldmatrix -------------------------===//
//
// An 8x8 matrix of 16-bit units (PTX ISA 9.7.14.5.15-16): 32-bit register i of lane t is row t/4,
// bytes 4*(t%4) to +3 of matrix i; with .trans its half b is row 2*(t%4) + b, unit t/4. Lane 8i + j
// supplies the address of row j of matrix i, 16 aligned bytes. First every register pair (or
// element) is made a word whose rows fit; then words whose addresses differ by fixed XORs are
// joined to .x4 and .x2, so that lane bits 3 and 4 of the address function are these XORs in all
// instructions alike.
//
//===----------------------------------------------------------------------===//
#include "AccessPlanSupport.h"
#include "llvm/ADT/STLExtras.h"
#include <map>
#include <set>

using namespace llvm;

namespace tileloom::layout {

namespace {
struct Word {
  SmallVector<unsigned, 16> registers; ///< lowest bits first
  int64_t offset = 0;                  ///< of row 0, in warp 0
};

/// The planner for one pair of layouts.
class MatrixPlanner {
public:
  MatrixPlanner(const RegisterLayout &regs, const SharedLayout &shared, const ElementTable &table,
                bool isStore)
      : regs(regs), shared(shared), table(table), elementBytes(shared.elementBits() / 8),
        isStore(isStore) {}

  std::optional<SharedAccessPlan> plan() {
    if (makeWords())
      if (auto best = bestPlan(false))
        return best;
    if (elementBytes == 2 && makeTransposedWords())
      return bestPlan(true);
    return std::nullopt;
  }

private:
  bool makeWords();
  bool makeTransposedWords();
  bool fitsNormal(const Word &word) const;
  bool fitsTransposed(const Word &word) const;
  std::optional<SharedAccessPlan> bestPlan(bool transposed);
  bool makePlan(bool transposed, int64_t xorMask);
  void chooseDeltas(int64_t &first, int64_t &second) const;
  bool add(ArrayRef<const Word *> members);
  /// Address of row j of a word's matrix.
  int64_t rowAddress(const Word &word, unsigned j, unsigned warp) const {
    if (result.transposed)
      return table.at(word.registers[j & 1], j >> 1, warp);
    return table.at(word.registers[0], 4 * j, warp);
  }

  const RegisterLayout &regs;
  const SharedLayout &shared;
  const ElementTable &table;
  int64_t elementBytes;
  bool isStore;
  std::vector<Word> words;
  SharedAccessPlan result;
};
} // namespace

bool MatrixPlanner::fitsNormal(const Word &word) const {
  for (unsigned warp = 0; warp < table.warps; ++warp)
    for (unsigned lane = 0; lane < 32; ++lane) {
      int64_t row = table.at(word.registers[0], lane & ~3u, warp);
      if (row % 16)
        return false;
      for (size_t i = 0; i < word.registers.size(); ++i)
        if (table.at(word.registers[i], lane, warp) !=
            row + 4 * (lane & 3) + int64_t(i) * elementBytes)
          return false;
    }
  return true;
}

bool MatrixPlanner::fitsTransposed(const Word &word) const {
  for (unsigned warp = 0; warp < table.warps; ++warp)
    for (unsigned lane = 0; lane < 32; ++lane)
      for (unsigned reg : word.registers) {
        int64_t row = table.at(reg, lane & 3, warp);
        if (row % 16 || table.at(reg, lane, warp) != row + 2 * (lane >> 2))
          return false;
      }
  return true;
}

/// Words of neighbours in memory.
bool MatrixPlanner::makeWords() {
  std::map<int64_t, std::map<int64_t, unsigned>> byWord;
  for (unsigned reg = 0; reg < table.registers; ++reg) {
    int64_t offset = table.at(reg, 0, 0);
    if (!byWord[offset / 4].try_emplace(offset % 4, reg).second && !isStore)
      return false; // two registers want one element: a load gives it to one
  }
  words.clear();
  for (auto &[number, members] : byWord) {
    Word word;
    word.offset = number * 4;
    for (auto &[byte, reg] : members)
      word.registers.push_back(reg);
    if (int64_t(word.registers.size()) * elementBytes != 4 || !fitsNormal(word))
      return false;
    words.push_back(std::move(word));
  }
  return true;
}

/// Words of two elements in neighbouring rows of memory: which rows pair up is tried, the register
/// order first, since pairs of consecutive registers are packed already.
bool MatrixPlanner::makeTransposedWords() {
  std::map<int64_t, unsigned> byOffset;
  for (unsigned reg = 0; reg < table.registers; ++reg)
    if (!byOffset.try_emplace(table.at(reg, 0, 0), reg).second && !isStore)
      return false;
  SmallVector<int64_t, 16> deltas;
  for (unsigned reg = 1; reg < std::min(table.registers, 64u); ++reg)
    deltas.push_back(table.at(reg, 0, 0) ^ table.at(0, 0, 0));
  for (int64_t delta : deltas) {
    words.clear();
    std::set<int64_t> used;
    bool fits = delta != 0;
    for (auto &[offset, reg] : byOffset) {
      if (!fits || used.count(offset))
        continue;
      auto partner = byOffset.find(offset ^ delta);
      fits = partner != byOffset.end();
      if (!fits)
        continue;
      Word word;
      word.offset = offset;
      word.registers = {reg, partner->second};
      used.insert(partner->first);
      fits = fitsTransposed(word);
      words.push_back(std::move(word));
    }
    if (fits && !words.empty())
      return true;
  }
  return false;
}

/// The two steps that join the most words: first pairs, then pairs of pairs; smallest first.
void MatrixPlanner::chooseDeltas(int64_t &first, int64_t &second) const {
  int64_t xorMask = result.laneBytes.xorMask;
  std::set<int64_t> offsets;
  SmallVector<int64_t, 16> deltas;
  for (const Word &word : words)
    offsets.insert(word.offset);
  for (const Word &word : ArrayRef<Word>(words).take_front(64))
    if (word.offset != words[0].offset)
      deltas.push_back(basisBetween(words[0].offset, word.offset, xorMask));
  llvm::sort(deltas);
  // Words that can be joined by a step, each used once, lowest first as makePlan does.
  auto joined = [&](const std::set<int64_t> &among, int64_t delta) {
    std::set<int64_t> used;
    for (int64_t offset : among) {
      int64_t partner = applyBasis(offset, delta, xorMask);
      if (among.count(partner) && !used.count(offset) && !used.count(partner)) {
        used.insert(offset);
        used.insert(partner);
      }
    }
    return used;
  };
  auto best = [&](const std::set<int64_t> &among, int64_t excluded) {
    int64_t chosen = 0;
    size_t most = 0;
    for (int64_t delta : deltas)
      if (size_t count = joined(among, delta).size(); delta != excluded && count > most) {
        most = count;
        chosen = delta;
      }
    return chosen;
  };
  first = best(offsets, 0);
  std::set<int64_t> heads; // the first words of pairs
  if (first)
    for (int64_t offset : joined(offsets, first))
      if (!heads.count(applyBasis(offset, first, xorMask)) &&
          !heads.count(basisBetween(first, offset, xorMask)))
        heads.insert(offset);
  second = first ? best(heads, first) : 0;
}

bool MatrixPlanner::add(ArrayRef<const Word *> members) {
  SharedAccess access;
  for (const Word *word : members)
    access.words.push_back(word->registers);
  bool fits = fitAddress(
      result, access, 8 * members.size(), table.warps, shared.swizzle(),
      [&](unsigned lane, unsigned warp) { return rowAddress(*members[lane / 8], lane % 8, warp); });
  if (fits)
    result.accesses.push_back(std::move(access));
  return fits;
}

/// The plan with the fewest instructions; of equals the one with XOR alone.
std::optional<SharedAccessPlan> MatrixPlanner::bestPlan(bool transposed) {
  std::optional<SharedAccessPlan> best;
  for (int64_t xorMask : xorMasks)
    if (makePlan(transposed, xorMask) && (!best || result.accesses.size() < best->accesses.size()))
      best = result;
  return best;
}

bool MatrixPlanner::makePlan(bool transposed, int64_t xorMask) {
  result = SharedAccessPlan();
  result.kind = SharedAccessPlan::Matrix;
  result.isStore = isStore;
  result.transposed = transposed;
  result.elementBits = shared.elementBits();
  result.laneBytes = warpFunction(
      regs, [&](unsigned warp) { return rowAddress(words[0], 0, warp); }, xorMask);
  int64_t first = 0, second = 0;
  chooseDeltas(first, second);
  for (unsigned j : {1, 2, 4})
    result.laneBytes.laneBases.push_back(
        basisBetween(rowAddress(words[0], 0, 0), rowAddress(words[0], j, 0), xorMask));
  result.laneBytes.laneBases.push_back(first);
  result.laneBytes.laneBases.push_back(second);

  std::map<int64_t, const Word *> left;
  for (const Word &word : words)
    left[word.offset] = &word;
  while (!left.empty()) {
    int64_t offset = left.begin()->first;
    bool done = false;
    for (unsigned size : {4u, 2u, 1u}) {
      SmallVector<const Word *, 4> members;
      int64_t second0 = applyBasis(offset, second, xorMask);
      SmallVector<int64_t, 4> keys{offset, applyBasis(offset, first, xorMask), second0,
                                   applyBasis(second0, first, xorMask)};
      if ((size > 1 && !first) || (size > 2 && !second))
        continue;
      for (int64_t key : ArrayRef<int64_t>(keys).take_front(size))
        if (auto it = left.find(key); it != left.end())
          members.push_back(it->second);
      if (members.size() != size || !add(members))
        continue;
      for (int64_t key : ArrayRef<int64_t>(keys).take_front(size))
        left.erase(key);
      done = true;
      break;
    }
    if (!done)
      return false;
  }
  return true;
}

static Expected<SharedAccessPlan> matrixPlan(const RegisterLayout &regs, const SharedLayout &shared,
                                             bool isStore) {
  if (shared.elementBits() > 32)
    return makeError("matrix access: found elements of " + Twine(shared.elementBits()) +
                     " bits; needs 8, 16 or 32");
  Expected<ElementTable> table = offsetTable(regs, shared);
  if (!table)
    return table.takeError();
  if (auto plan = MatrixPlanner(regs, shared, *table, isStore).plan())
    return std::move(*plan);
  return makeError("matrix access: the lanes of register tile " + listText(regs.shape()) +
                   " do not hold 8x8 matrices whose rows are 16 aligned bytes of " + shared.str());
}

Expected<SharedAccessPlan> matrixStorePlan(const RegisterLayout &regs, const SharedLayout &shared) {
  return matrixPlan(regs, shared, /*isStore=*/true);
}

Expected<SharedAccessPlan> matrixLoadPlan(const RegisterLayout &regs, const SharedLayout &shared) {
  return matrixPlan(regs, shared, /*isStore=*/false);
}

} // namespace tileloom::layout
