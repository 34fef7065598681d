//===- LinearLayoutTest.cpp - Identities of the algebra ---------------------===//
//
// Random maps, checked against plain evaluation of every input.
//
//===----------------------------------------------------------------------===//
#include "tileloom/Layout/LinearLayout.h"
#include "LayoutTestSupport.h"

using namespace tileloom::layout;

static LinearLayout randomMap(Random &random, std::vector<LinearDim> ins,
                              std::vector<LinearDim> outs) {
  unsigned inBits = 0, outBits = 0;
  for (const LinearDim &dim : ins)
    inBits += dim.bits;
  for (const LinearDim &dim : outs)
    outBits += dim.bits;
  std::vector<uint64_t> bases;
  for (unsigned i = 0; i < inBits; ++i)
    bases.push_back(random() & ((1u << outBits) - 1));
  return get(LinearLayout::create(ins, outs, bases));
}

static LinearLayout randomInvertible(Random &random) {
  while (true) {
    LinearLayout map = randomMap(random, {{"a", 3}, {"b", 4}}, {{"x", 5}, {"y", 2}});
    if (map.isInvertible())
      return map;
  }
}

TEST(LinearLayout, AppliesNamedDimensions) {
  LinearLayout map =
      get(LinearLayout::create({{"lane", 2}, {"reg", 1}}, {{"x", 2}, {"y", 2}}, {1, 4, 0b1010}));
  EXPECT_EQ(map.apply({3, 0}), (llvm::SmallVector<int64_t, 4>{1, 1}));
  EXPECT_EQ(map.apply({0, 1}), (llvm::SmallVector<int64_t, 4>{2, 2}));
  EXPECT_EQ(map.apply({3, 1}), (llvm::SmallVector<int64_t, 4>{3, 3}));
  EXPECT_EQ(map.basis("reg", 0, "y"), 2u);
  EXPECT_EQ(map.str(), "lane: 1->(1,0), 2->(0,1)\nreg: 1->(2,2)\nout: x(4) y(4)\n");
}

TEST(LinearLayout, ComposesLikeFunctions) {
  Random random(1);
  for (int i = 0; i < 200; ++i) {
    LinearLayout f = randomMap(random, {{"a", 3}, {"b", 2}}, {{"x", 3}, {"y", 4}});
    LinearLayout g = randomMap(random, {{"y", 4}, {"x", 3}}, {{"u", 6}});
    LinearLayout h = get(f.compose(g));
    for (int64_t a = 0; a < 8; ++a)
      for (int64_t b = 0; b < 4; ++b) {
        auto xy = f.apply({a, b});
        ASSERT_EQ(h.apply({a, b}), g.apply({xy[1], xy[0]}));
      }
  }
}

TEST(LinearLayout, InverseUndoes) {
  Random random(2);
  for (int i = 0; i < 100; ++i) {
    LinearLayout f = randomInvertible(random);
    LinearLayout identity = get(f.compose(get(f.invert())));
    for (uint64_t in = 0; in < 128; ++in)
      ASSERT_EQ(identity.applyFlat(in), in);
  }
}

TEST(LinearLayout, PseudoInverseIsTheSmallestPreimage) {
  Random random(3);
  int surjective = 0;
  for (int i = 0; i < 200; ++i) {
    LinearLayout f = randomMap(random, {{"a", 4}, {"b", 4}}, {{"x", 3}, {"y", 2}});
    std::vector<int64_t> smallest(32, -1);
    for (int64_t in = 255; in >= 0; --in)
      smallest[f.applyFlat(in)] = in;
    bool all = llvm::all_of(smallest, [](int64_t in) { return in >= 0; });
    ASSERT_EQ(f.isSurjective(), all);
    for (uint64_t out = 0; out < 32; ++out) {
      auto solved = f.solve(out);
      ASSERT_EQ(solved ? int64_t(*solved) : -1, smallest[out]);
    }
    if (!all)
      continue;
    ++surjective;
    LinearLayout inverse = get(f.pseudoInvert());
    for (uint64_t out = 0; out < 32; ++out)
      ASSERT_EQ(int64_t(inverse.applyFlat(out)), smallest[out]);
  }
  EXPECT_GT(surjective, 50);
}

TEST(LinearLayout, FreeBitsMarkCopies) {
  Random random(4);
  for (int i = 0; i < 100; ++i) {
    LinearLayout f = randomMap(random, {{"a", 4}, {"b", 3}}, {{"x", 3}, {"y", 2}});
    auto masks = f.freeVariableMasks();
    std::vector<bool> seen(32, false);
    for (uint64_t in = 0; in < 128; ++in) { // ascending: the first of its copies is the smallest
      auto parts = f.splitIn(in);
      bool primary = !(parts[0] & masks[0]) && !(parts[1] & masks[1]);
      ASSERT_EQ(primary, !seen[f.applyFlat(in)]);
      seen[f.applyFlat(in)] = true;
    }
  }
}

TEST(LinearLayout, DivisionUndoesProduct) {
  Random random(5);
  for (int i = 0; i < 100; ++i) {
    LinearLayout tile = randomMap(random, {{"a", 2}, {"b", 2}}, {{"x", 2}, {"y", 2}});
    LinearLayout rest = randomMap(random, {{"a", 1}, {"b", 3}}, {{"x", 3}, {"y", 1}});
    LinearLayout product = tile * rest;
    for (int64_t a = 0; a < 8; ++a)
      for (int64_t b = 0; b < 32; ++b) {
        auto low = tile.apply({a % 4, b % 4}), high = rest.apply({a / 4, b / 4});
        auto both = product.apply({a, b});
        ASSERT_EQ(both[0], low[0] + 4 * high[0]);
        ASSERT_EQ(both[1], low[1] + 4 * high[1]);
      }
    auto quotient = product.divide(tile);
    ASSERT_TRUE(quotient.has_value());
    EXPECT_EQ(*quotient, rest);
  }
  // A tile whose bits differ, and one that a high bit reaches into, do not divide.
  LinearLayout whole = get(LinearLayout::create({{"a", 2}}, {{"x", 2}}, {1, 3}));
  EXPECT_FALSE(whole.divide(LinearLayout::identity("a", "x", 1)).has_value());
  EXPECT_FALSE(whole.divide(LinearLayout::zeros("a", "x", 1)).has_value());
  EXPECT_TRUE(whole.divide(whole).has_value());
}

TEST(LinearLayout, SublayoutAndReorder) {
  Random random(6);
  LinearLayout f = randomMap(random, {{"a", 2}, {"b", 3}}, {{"x", 3}, {"y", 2}});
  LinearLayout sub = f.sublayout({"b"}, {"y"});
  LinearLayout swapped = get(get(f.reorderIns({"b", "a"})).reorderOuts({"y", "x"}));
  for (int64_t a = 0; a < 4; ++a)
    for (int64_t b = 0; b < 8; ++b) {
      EXPECT_EQ(sub.apply({b})[0], f.apply({0, b})[1]);
      EXPECT_EQ(swapped.apply({b, a})[0], f.apply({a, b})[1]);
      EXPECT_EQ(swapped.apply({b, a})[1], f.apply({a, b})[0]);
    }
}

TEST(LinearLayout, RefusesBadInput) {
  expectError(LinearLayout::create({{"a", 2}}, {{"x", 2}}, {1}), "found 1 bases");
  expectError(LinearLayout::create({{"a", 1}}, {{"x", 2}}, {4}), "beyond the outputs' 2 bits");
  expectError(LinearLayout::create({{"a", 1}, {"a", 0}}, {{"x", 2}}, {1}), "occurs twice");
  expectError(LinearLayout::zeros("a", "x", 1, 1).invert(), "not invertible");
  expectError(LinearLayout::zeros("a", "x", 1, 1).pseudoInvert(), "not surjective");
  expectError(LinearLayout::identity("a", "x", 2).compose(LinearLayout::identity("y", "z", 2)),
              "not a dimension");
}
