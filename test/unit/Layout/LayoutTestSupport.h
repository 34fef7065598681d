//===- LayoutTestSupport.h - Helpers of the layout tests --------------------===//
//
// Unwrapping Expected values, expecting error texts, and a source of random layouts.
//
//===----------------------------------------------------------------------===//
#ifndef TILELOOM_TEST_UNIT_LAYOUT_LAYOUTTESTSUPPORT_H
#define TILELOOM_TEST_UNIT_LAYOUT_LAYOUTTESTSUPPORT_H

#include "tileloom/Layout/RegisterLayout.h"
#include "llvm/Support/MathExtras.h"
#include "gtest/gtest.h"
#include <map>
#include <random>

namespace tileloom::layout {

/// The value, or a test failure (and an exception, so that the test stops).
template <typename T> T get(llvm::Expected<T> value) {
  if (value)
    return std::move(*value);
  std::string message = llvm::toString(value.takeError());
  ADD_FAILURE() << message;
  throw std::runtime_error(message);
}

template <typename T> void expectError(llvm::Expected<T> value, const std::string &part) {
  if (value) {
    ADD_FAILURE() << "expected an error with: " << part;
    return;
  }
  std::string message = llvm::toString(value.takeError());
  EXPECT_NE(message.find(part), std::string::npos) << message;
}

using Random = std::mt19937;

inline int pick(Random &random, int low, int high) {
  return std::uniform_int_distribution<int>(low, high)(random);
}

/// A random 2-D layout of the shape on 4 warps: a bit permutation of the power-of-two part, with
/// the rest of the bits copies, and repeats outside.
inline RegisterLayout randomLayout(Random &random, int64_t rows, int64_t cols, unsigned warps = 4) {
  int64_t rowPart = rows & -rows, colPart = cols & -cols;
  unsigned rowBits = llvm::Log2_64(rowPart), colBits = llvm::Log2_64(colPart);
  std::vector<uint64_t> bits;
  for (unsigned bit = 0; bit < rowBits + colBits; ++bit)
    bits.push_back(uint64_t(1) << bit);
  std::shuffle(bits.begin(), bits.end(), random);
  unsigned warpBits = llvm::Log2_32(warps);
  std::vector<uint64_t> threads(5 + warpBits, 0);
  for (uint64_t &basis : threads)
    if (pick(random, 0, 7) && !bits.empty()) {
      basis = bits.back();
      bits.pop_back();
    }
  std::vector<uint64_t> bases(bits.begin(), bits.end()); // registers hold the rest
  bases.insert(bases.end(), threads.begin(), threads.end());
  LinearLayout core = get(
      LinearLayout::create({{"register", unsigned(bits.size())}, {"lane", 5}, {"warp", warpBits}},
                           {{"dim0", rowBits}, {"dim1", colBits}}, bases));
  std::vector<Repeat> repeats{{Repeat::Register, 1, cols / colPart},
                              {Repeat::Register, 0, rows / rowPart}};
  if (pick(random, 0, 1))
    std::swap(repeats[0], repeats[1]);
  return get(RegisterLayout::create(core, repeats));
}

} // namespace tileloom::layout

#endif // TILELOOM_TEST_UNIT_LAYOUT_LAYOUTTESTSUPPORT_H
