//===- SubLayoutTest.cpp - Slices, slots, sub-tiles, equality ---------------===//
//
// Each derived layout must agree with its source: register i holds the element of source register
// registers[i], with its index changed as the operation says.
//
//===----------------------------------------------------------------------===//
#include "LayoutTestSupport.h"
#include <map>
#include <set>

using namespace tileloom::layout;

/// For all places: sub.indexOf == change(source.indexOf at the listed register).
template <typename Fn>
static void check(const RegisterLayout &source, const SubLayout &sub, Fn &&change) {
  ASSERT_EQ(sub.registers.size(), sub.layout.registersPerThread());
  ASSERT_EQ(sub.layout.warps(), source.warps());
  for (unsigned warp = 0; warp < source.warps(); ++warp)
    for (unsigned lane = 0; lane < 32; ++lane)
      for (unsigned reg = 0; reg < sub.registers.size(); ++reg) {
        Index wanted = change(source.indexOf(sub.registers[reg], lane, warp));
        ASSERT_EQ(sub.layout.indexOf(reg, lane, warp), wanted) << reg << " " << lane << " " << warp;
      }
}

static const int64_t widths[] = {8, 96, 112, 176, 192, 256};

TEST(SubLayouts, SliceMergesRegisters) {
  RegisterLayout acc = get(RegisterLayout::wgmmaAccumulator({64, 256}, 4));
  SubLayout rowsOf = get(slice(acc, 1));
  EXPECT_EQ(rowsOf.layout.registersPerThread(), 2u);
  EXPECT_EQ(rowsOf.layout.replicatedLanes(), 3u);
  Random random(1);
  for (int i = 0; i < 60; ++i) {
    RegisterLayout layout = i < 6 ? get(RegisterLayout::wgmmaAccumulator({192, widths[i]}, 12))
                                  : randomLayout(random, 48, 80);
    for (unsigned dim : {0u, 1u}) {
      SubLayout sub = get(slice(layout, dim));
      check(layout, sub, [&](Index index) {
        index.erase(index.begin() + dim);
        return index;
      });
      // No two registers of a thread hold the same element.
      std::set<int64_t> held;
      for (unsigned reg = 0; reg < sub.registers.size(); ++reg)
        EXPECT_TRUE(held.insert(sub.layout.flatIndexOf(reg, 0, 0)).second);
      // The scalar: everything dropped.
      EXPECT_EQ(get(slice(sub.layout, 0)).layout.registersPerThread(), 1u);
    }
  }
}

TEST(SubLayouts, ExpandAndPermute) {
  Random random(2);
  for (int i = 0; i < 20; ++i) {
    RegisterLayout layout = randomLayout(random, 48, 80);
    std::vector<unsigned> all(layout.registersPerThread());
    for (unsigned reg = 0; reg < all.size(); ++reg)
      all[reg] = reg;
    SubLayout swapped{get(permuteDims(layout, {1, 0})), {all.begin(), all.end()}};
    check(layout, swapped, [](Index index) { return Index{index[1], index[0]}; });
    SubLayout wide{get(expandDims(layout, 1)), {all.begin(), all.end()}};
    check(layout, wide, [](Index index) { return Index{index[0], 0, index[1]}; });
    EXPECT_EQ(get(slice(wide.layout, 1)).layout, layout);
  }
}

TEST(SubLayouts, RowSlotOfTheAccumulator) {
  for (int64_t n : widths)
    for (int64_t blocks : {1, 2, 3}) {
      RegisterLayout acc = get(RegisterLayout::wgmmaAccumulator({64 * blocks, n}, 4));
      EXPECT_EQ(get(slotCount(acc, 0)), 2 * blocks);
      for (int64_t slot = 0; slot < 2 * blocks; ++slot) {
        SubLayout sub = get(rowSlot(acc, 0, slot, 2 * blocks));
        EXPECT_EQ(sub.layout.shape()[0], 32);
        EXPECT_EQ(int64_t(sub.registers.size()), n / 4);
        check(acc, sub, [&](Index index) {
          EXPECT_EQ(index[0] / 64 * 2 + index[0] / 8 % 2, slot);
          int64_t row = index[0] % 64;
          return Index{row % 8 + row / 16 * 8, index[1]};
        });
      }
    }
}

TEST(SubLayouts, SlotsCoverTheTensor) {
  Random random(3);
  for (int i = 0; i < 40; ++i) {
    RegisterLayout layout = randomLayout(random, 48, 80);
    for (unsigned dim : {0u, 1u}) {
      int64_t count = get(slotCount(layout, dim));
      std::set<unsigned> taken;
      for (int64_t slot = 0; slot < count; ++slot) {
        SubLayout sub = get(rowSlot(layout, dim, slot, count));
        EXPECT_EQ(sub.layout.shape()[dim] * count, layout.shape()[dim]);
        // All threads together hold these positions in the slot; the result numbers them in order.
        std::set<int64_t> positions;
        for (unsigned warp = 0; warp < layout.warps(); ++warp)
          for (unsigned lane = 0; lane < 32; ++lane)
            positions.insert(layout.indexOf(sub.registers[0], lane, warp)[dim]);
        ASSERT_EQ(int64_t(positions.size()), sub.layout.shape()[dim]);
        check(layout, sub, [&](Index index) {
          EXPECT_TRUE(positions.count(index[dim]));
          index[dim] = std::distance(positions.begin(), positions.find(index[dim]));
          return index;
        });
        taken.insert(sub.registers.begin(), sub.registers.end());
      }
      EXPECT_EQ(taken.size(), layout.registersPerThread());
    }
  }
}

TEST(SubLayouts, ColumnsAndRows) {
  for (int64_t n : widths) {
    RegisterLayout acc = get(RegisterLayout::wgmmaAccumulator({192, n}, 4));
    for (int64_t begin = 0; begin < n; begin += 8)
      for (int64_t size = 8; begin + size <= n; size += 8) {
        SubLayout sub = get(columns(acc, begin, size));
        ASSERT_EQ(sub.layout, get(RegisterLayout::wgmmaAccumulator({192, size}, 4)));
        check(acc, sub, [&](Index index) { return Index{index[0], index[1] - begin}; });
      }
    for (int64_t begin : {0, 64, 128}) {
      SubLayout sub = get(rows(acc, begin, 64));
      check(acc, sub, [&](Index index) { return Index{index[0] - begin, index[1]}; });
    }
  }
  // 32x32b holds single columns; the core is a power of two that has to be cut open.
  RegisterLayout tmem = get(RegisterLayout::tmem(TmemShape::S32x32b, {128, 64}, 4, 8));
  SubLayout sub = get(columns(tmem, 12, 21));
  check(tmem, sub, [](Index index) { return Index{index[0], index[1] - 12}; });
  RegisterLayout blocked = get(RegisterLayout::blocked({32, 64}, {1, 16}, {8, 4}, {4, 1}, {1, 0}));
  expectError(columns(blocked, 0, 32), "not held in whole registers");
  expectError(columns(blocked, 32, 64), "not inside extent 64");
  expectError(rowSlot(blocked, 1, 0, 3), "cannot cut");
  expectError(slice(blocked, 2), "rank 2");
  // Shares of two warpgroups: a row block lies in one of them only.
  RegisterLayout two = get(RegisterLayout::wgmmaAccumulator({128, 16}, 8));
  expectError(rows(two, 0, 64), "not held in whole registers");
}

TEST(SubLayouts, WithCoreKeepsElements) {
  RegisterLayout acc = get(RegisterLayout::wgmmaAccumulator({128, 96}, 4));
  SubLayout wide = get(withCore(acc, {128, 32}));
  EXPECT_EQ(wide.layout.coreExtent(1), 32);
  check(acc, wide, [](Index index) { return index; });
  SubLayout back = get(withCore(wide.layout, {64, 8}));
  check(wide.layout, back, [](Index index) { return index; });
  expectError(withCore(acc, {64, 64}), "cannot be cut at 64");
  expectError(withCore(acc, {32, 8}), "cannot be cut at 32");
}

TEST(SubLayouts, EqualityIsByElements) {
  // The same arrangement, once with a wider core.
  RegisterLayout acc = get(RegisterLayout::wgmmaAccumulator({64, 32}, 4));
  SubLayout wide = get(withCore(acc, {64, 32}));
  EXPECT_FALSE(acc.core() == wide.layout.core());
  EXPECT_EQ(acc, wide.layout);
  EXPECT_NE(acc, get(RegisterLayout::mmaAccumulator({64, 16}, 4)));
  EXPECT_EQ(acc, get(RegisterLayout::mmaAccumulator({64, 32}, 4)));
  EXPECT_NE(acc, get(RegisterLayout::blocked({64, 32}, {1, 2}, {8, 4}, {4, 1}, {1, 0})));
}
