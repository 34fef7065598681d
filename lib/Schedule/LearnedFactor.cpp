//===- LearnedFactor.cpp - What the cost model's terms leave out --------------------------===//
//
// Each tree asks `depth` questions whether a term is above a cut, and has a leaf for each answer. The sum of the leaves is the logarithm
// of the factor.
//
//===--------------------------------------------------------------------------------------===//

#include "LearnedFactor.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>

namespace tileloom::schedule {

namespace {
#include "LearnedFactor.inc"
} // namespace

double learnedFactor(const Terms &terms) {
  constexpr unsigned leavesOfTree = 1u << depth, cutsOfTree = leavesOfTree - 1;
  static_assert(std::size(asked) == trees * cutsOfTree && std::size(cuts) == std::size(asked) && std::size(leaves) == trees * leavesOfTree);
  double sum = 0;
  for (unsigned tree = 0; tree < trees; ++tree) {
    unsigned node = 0;
    for (unsigned level = 0; level < depth; ++level) {
      unsigned place = tree * cutsOfTree + (1u << level) - 1 + node;
      node = 2 * node + (terms.begin()[asked[place]] > cuts[place]);
    }
    sum += leaves[tree * leavesOfTree + node];
  }
  return std::exp(std::clamp(sum, -0.5, 0.5));
}

} // namespace tileloom::schedule
