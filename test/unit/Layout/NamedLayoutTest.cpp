//===- NamedLayoutTest.cpp - Fragments against the PTX ISA's formulas -------===//
//
// Every (register, lane, warp) of every fragment, with the formula of its instruction written out
// anew.
//
//===----------------------------------------------------------------------===//
#include "LayoutTestSupport.h"

#include "tileloom/Layout/ConversionPlan.h"

using namespace tileloom::layout;
using llvm::ArrayRef;

/// Compares with formula(register, lane, warp) -> (row, column) everywhere, and ownerOf with a
/// search.
template <typename Fn> static void check(const RegisterLayout &layout, Fn &&formula) {
  std::map<std::pair<int64_t, int64_t>, ElementOwner> owners;
  for (unsigned warp = 0; warp < layout.warps(); ++warp)
    for (unsigned lane = 0; lane < 32; ++lane)
      for (unsigned reg = 0; reg < layout.registersPerThread(); ++reg) {
        std::pair<int64_t, int64_t> wanted = formula(int(reg), int(lane), int(warp));
        Index found = layout.indexOf(reg, lane, warp);
        ASSERT_EQ(found[0], wanted.first) << reg << " " << lane << " " << warp;
        ASSERT_EQ(found[1], wanted.second) << reg << " " << lane << " " << warp;
        owners.try_emplace(wanted, ElementOwner{reg, lane, warp});
      }
  ASSERT_EQ(int64_t(owners.size()), layout.numElements());
  for (auto &[index, owner] : owners) {
    ElementOwner found = layout.ownerOf({index.first, index.second});
    // The search meets the lowest warp first, then the lowest lane, then the lowest register.
    ASSERT_TRUE(found == owner) << index.first << " " << index.second;
  }
}

using Pair = std::pair<int64_t, int64_t>;

TEST(NamedLayouts, WgmmaAccumulator) {
  for (int64_t n = 8; n <= 256; n += 8) {
    RegisterLayout layout = get(RegisterLayout::wgmmaAccumulator({64, n}, 4));
    ASSERT_EQ(layout.registersPerThread(), n / 2);
    check(layout, [](int r, int t, int w) {
      return Pair(16 * w + t / 4 + 8 * ((r >> 1) & 1), 8 * (r >> 2) + 2 * (t % 4) + (r & 1));
    });
    // f16: 32-bit register q holds elements 2q and 2q+1 of the same map.
    EXPECT_TRUE(layout == get(RegisterLayout::wgmmaAccumulator({64, n}, 4, 16)));
  }
}

TEST(NamedLayouts, WgmmaAccumulatorOfSeveralBlocksAndWarpgroups) {
  for (int64_t groups : {1, 2, 3})
    for (int64_t blocks : {1, 2, 3}) {
      int64_t n = 48, perBlock = n / 2;
      RegisterLayout layout =
          get(RegisterLayout::wgmmaAccumulator({64 * groups * blocks, n}, 4 * groups));
      ASSERT_EQ(layout.registersPerThread(), perBlock * blocks);
      check(layout, [&](int r, int t, int w) {
        int64_t block = r / perBlock;
        r %= perBlock;
        int64_t row = 64 * (blocks * (w / 4) + block) + 16 * (w % 4) + t / 4 + 8 * ((r >> 1) & 1);
        return Pair(row, 8 * (r >> 2) + 2 * (t % 4) + (r & 1));
      });
    }
}

TEST(NamedLayouts, WgmmaOperandA) {
  for (unsigned bits : {8u, 16u, 32u})
    for (int64_t steps : {1, 2, 3, 5}) {
      int p = 32 / bits;
      RegisterLayout layout = get(RegisterLayout::wgmmaOperandA({64, 8 * p * steps}, bits, 4));
      check(layout, [&](int element, int t, int w) {
        int r = element / p % 4, b = element % p, block = element / (4 * p);
        int64_t row = 16 * w + t / 4 + 8 * (r & 1), k = 0;
        if (bits == 16)
          k = 2 * (t % 4) + b + 8 * (r >> 1);
        if (bits == 32)
          k = t % 4 + 4 * (r >> 1);
        if (bits == 8)
          k = 4 * (t % 4) + b + 16 * (r >> 1);
        return Pair(row, k + 8 * p * block);
      });
    }
}

TEST(NamedLayouts, WgmmaPairedA) {
  for (int64_t steps : {1, 2, 5}) {
    check(get(RegisterLayout::wgmmaPairedA({64, 32 * steps}, 4)), [&](int element, int t, int w) {
      int r = element / 4 % 4, b = element % 4, block = element / 16;
      int64_t row = 16 * w + t / 4 + 8 * (r & 1);
      return Pair(row, 2 * (t % 4) + b % 2 + 8 * (b / 2) + 16 * (r >> 1) + 32 * block);
    });
    // From an accumulator it is a matter of names.
    auto plan = convertPlan(get(RegisterLayout::wgmmaAccumulator({64, 32 * steps}, 4)), get(RegisterLayout::wgmmaPairedA({64, 32 * steps}, 4)), 8);
    ASSERT_TRUE(bool(plan));
    EXPECT_EQ(plan->kind, ConversionPlan::InThread);
  }
  expectError(RegisterLayout::wgmmaPairedA({64, 16}, 4), "not a multiple of [64, 32]");
}

TEST(NamedLayouts, MmaFragments) {
  for (unsigned warps : {1u, 2u, 4u, 6u, 8u})
    for (unsigned bits : {8u, 16u, 32u}) {
      int p = 32 / bits;
      check(get(RegisterLayout::mmaOperandA({16 * warps, 24 * p}, bits, warps)),
            [&](int element, int t, int w) {
              int r = element / p % 4, b = element % p, g = t / 4, c = t % 4;
              int64_t k = bits == 16   ? 2 * c + b + 8 * (r >> 1)
                          : bits == 32 ? c + 4 * (r >> 1)
                                       : 4 * c + b + 16 * (r >> 1);
              return Pair(16 * w + g + 8 * (r & 1), k + 8 * p * (element / (4 * p)));
            });
      check(get(RegisterLayout::mmaOperandB({16 * p, 24}, bits, warps)), [&](int element, int t,
                                                                             int w) {
        int r = element / p % 2, b = element % p, g = t / 4, c = t % 4;
        int64_t k = bits == 16 ? 2 * c + b + 8 * r : bits == 32 ? c + 4 * r : 4 * c + b + 16 * r;
        int rest = element / (2 * p);
        return Pair(k + 8 * p * (rest % 2), g + 8 * (rest / 2));
      });
    }
  check(get(RegisterLayout::mmaAccumulator({64, 24}, 2)), [](int i, int t, int w) {
    int block = i / 4;
    i %= 4;
    return Pair(32 * (block / 3) + 16 * w + t / 4 + 8 * (i >> 1),
                8 * (block % 3) + 2 * (t % 4) + (i & 1));
  });
}

// Warps r + rows * c: r along M, c along N, each column of warps 8 columns further.
TEST(NamedLayouts, MmaFragmentsOverColumns) {
  for (int rows : {1, 2})
    for (int columns : {2, 4}) {
      check(get(RegisterLayout::mmaAccumulator({16 * rows, 16 * columns}, rows, columns)),
            [&](int i, int t, int w) {
              int64_t block = i / 4 * columns + w / rows;
              i %= 4;
              return Pair(16 * (w % rows) + t / 4 + 8 * (i >> 1),
                          8 * block + 2 * (t % 4) + (i & 1));
            });
      check(get(RegisterLayout::mmaOperandA({16 * rows, 32}, 16, rows, columns)),
            [&](int element, int t, int w) {
              int r = element / 2 % 4, b = element % 2;
              return Pair(16 * (w % rows) + t / 4 + 8 * (r & 1),
                          2 * (t % 4) + b + 8 * (r >> 1) + 16 * (element / 8));
            });
      check(get(RegisterLayout::mmaOperandB({32, 16 * columns}, 16, rows, columns)),
            [&](int element, int t, int w) {
              int r = element / 2 % 2, b = element % 2, rest = element / 4;
              return Pair(2 * (t % 4) + b + 8 * r + 16 * (rest % 2),
                          8 * (rest / 2 * columns + w / rows) + t / 4);
            });
    }
  expectError(RegisterLayout::mmaAccumulator({16, 24}, 1, 3), "needs a power of two");
  expectError(RegisterLayout::mmaAccumulator({16, 24}, 1, 2), "mma accumulator");
}

TEST(NamedLayouts, TensorMemoryLoads) {
  // (lane, column) of register r of lane t, PTX ISA 9.7.16.2.3.
  auto place = [](TmemShape shape, int r, int t) -> Pair {
    switch (shape) {
    case TmemShape::S32x32b:
      return {t, r};
    case TmemShape::S16x64b:
      return {t / 4 + 8 * (t & 1), ((t >> 1) & 1) + 2 * r};
    case TmemShape::S16x128b:
      return {t / 4 + 8 * (r & 1), t % 4 + 4 * (r >> 1)};
    case TmemShape::S16x256b:
      return {t / 4 + 8 * ((r >> 1) & 1), 2 * (t % 4) + (r & 1) + 8 * (r >> 2)};
    }
    return {0, 0};
  };
  struct Case {
    TmemShape shape;
    int columns, maximum;
  };
  for (Case c : {Case{TmemShape::S32x32b, 1, 128}, Case{TmemShape::S16x64b, 2, 128},
                 Case{TmemShape::S16x128b, 4, 64}, Case{TmemShape::S16x256b, 8, 32}})
    for (int num = 1; num <= c.maximum; num *= 2) {
      bool whole = c.shape == TmemShape::S32x32b;
      int64_t rows = whole ? 128 : 64;
      check(get(RegisterLayout::tmem(c.shape, {rows, int64_t(c.columns) * num}, 4)),
            [&](int r, int t, int w) {
              Pair p = place(c.shape, r, t);
              return Pair(p.first + (whole ? 32 : 16) * w, p.second);
            });
    }
  // 16-bit columns, two warpgroups, 96 columns each: element = half of a 32-bit register.
  check(get(RegisterLayout::tmem(TmemShape::S32x32b, {128, 192}, 8, 16)),
        [](int e, int t, int w) { return Pair(32 * (w % 4) + t, e + 96 * (w / 4)); });
  // 128 rows through a 16-lane shape: a second access 16 lanes down.
  check(get(RegisterLayout::tmem(TmemShape::S16x256b, {128, 24}, 4)), [&](int r, int t, int w) {
    int half = r >> 2 & 1, inner = (r & 3) | (r >> 3 << 2);
    Pair p = place(TmemShape::S16x256b, inner, t);
    return Pair(32 * w + 16 * half + p.first, p.second);
  });
}

TEST(NamedLayouts, Blocked) {
  // 4 warps x (4 x 8 threads) x 1x4 elements = a 16x32 tile, columns fastest.
  RegisterLayout layout = get(RegisterLayout::blocked({48, 96}, {1, 4}, {4, 8}, {4, 1}, {1, 0}));
  check(layout, [](int r, int t, int w) {
    int repeat = r / 4;
    return Pair(4 * w + t / 8 + 16 * (repeat / 3), 4 * (t % 8) + r % 4 + 32 * (repeat % 3));
  });
  // Warps along the rows in threes.
  check(get(RegisterLayout::blocked({48, 16}, {1, 4}, {8, 4}, {6, 1}, {1, 0})),
        [](int r, int t, int w) { return Pair(8 * w + t / 4, 4 * (t % 4) + r); });
  // Smaller than the tile: copies, and ownerOf names the lowest.
  RegisterLayout small = get(RegisterLayout::blocked({8, 4}, {1, 4}, {4, 8}, {4, 1}, {1, 0}));
  check(small, [](int r, int t, int w) { return Pair(4 * (w & 1) + t / 8, r); });
  EXPECT_EQ(small.replicatedLanes(), 7u);
  EXPECT_EQ(small.replicatedWarps(), 2u);
  EXPECT_TRUE(small.isReplicatedLaneBit(0) && !small.isReplicatedLaneBit(3));
  EXPECT_TRUE(small.isPrimary(0, 8, 1) && !small.isPrimary(0, 9, 1) && !small.isPrimary(0, 8, 3));
  // Order: rows fastest.
  check(
      get(RegisterLayout::blocked({32, 8}, {2, 1}, {16, 2}, {1, 2}, {0, 1})),
      [](int r, int t, int w) { return Pair(2 * (t % 16) + r % 2, t / 16 + 2 * w + 4 * (r / 2)); });
}

TEST(NamedLayouts, RefuseBadInput) {
  expectError(RegisterLayout::wgmmaAccumulator({64, 12}, 4), "not a multiple of [64, 8]");
  expectError(RegisterLayout::wgmmaAccumulator({96, 16}, 4), "not a multiple of [64, 8]");
  expectError(RegisterLayout::wgmmaAccumulator({64, 16}, 8), "not a multiple of [128, 8]");
  expectError(RegisterLayout::wgmmaAccumulator({64, 16}, 6), "found 6 warps");
  expectError(RegisterLayout::wgmmaAccumulator({64}, 4), "needs a shape of two");
  expectError(RegisterLayout::wgmmaOperandA({64, 16}, 64, 4), "64 bits; needs 8, 16 or 32");
  expectError(RegisterLayout::wgmmaOperandA({64, 24}, 16, 4), "not a multiple of [64, 16]");
  expectError(RegisterLayout::tmem(TmemShape::S32x32b, {64, 16}, 4), "needs 128 rows");
  expectError(RegisterLayout::blocked({8, 8}, {1, 1}, {4, 4}, {1, 1}, {1, 0}), "16 threads");
  expectError(RegisterLayout::blocked({8, 8}, {1, 3}, {4, 8}, {1, 1}, {1, 0}), "powers of two");
  expectError(RegisterLayout::blocked({8, 8}, {1, 1}, {4, 8}, {1, 3}, {1, 0}), "slowest dimension");
  expectError(RegisterLayout::blocked({8, 8}, {1, 1}, {4, 8}, {1, 1}, {1, 1}), "permutation");
  expectError(RegisterLayout::create(LinearLayout::identity("lane", "dim0", 5)), "register, lane");
}
