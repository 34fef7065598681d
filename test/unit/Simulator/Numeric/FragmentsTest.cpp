//===- FragmentsTest.cpp - Every fragment map is a bijection
//--------------------------------------===//
//
// Each map must cover its tile once (replicated maps: the stated number of times), plus a few
// points read off the figures of the PTX ISA.
//
//===----------------------------------------------------------------------------------------------===//
#include "tileloom/Simulator/Fragments.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

using namespace tileloom::sim;

namespace {
// Counts visits of (x, y) and checks that [0, width) x [0, height) is covered `times` times.
struct Cover {
  std::map<std::pair<uint32_t, uint32_t>, int> seen;
  void add(uint32_t x, uint32_t y) { ++seen[{x, y}]; }
  void add(Coord c) { add(c.row, c.col); }
  void expect(uint32_t rows, uint32_t cols, int times = 1) {
    EXPECT_EQ(seen.size(), size_t(rows) * cols);
    for (auto &[at, count] : seen) {
      EXPECT_LT(at.first, rows);
      EXPECT_LT(at.second, cols);
      EXPECT_EQ(count, times);
    }
  }
};
} // namespace

TEST(Fragments, LdmatrixAndStmatrix) {
  for (bool trans : {false, true}) {
    Cover c;
    for (uint32_t t = 0; t < 32; ++t)
      for (uint32_t b = 0; b < 2; ++b)
        c.add(ldmatrixM8N8(t, b, trans));
    c.expect(8, 8);
  }
  EXPECT_EQ(ldmatrixM8N8(5, 1, false), (Coord{1, 3}));
  EXPECT_EQ(ldmatrixM8N8(5, 1, true), (Coord{3, 1}));
  Cover wide, expand, store;
  for (uint32_t t = 0; t < 32; ++t)
    for (uint32_t b = 0; b < 4; ++b) {
      for (uint32_t q = 0; q < 2; ++q)
        wide.add(ldmatrixM16N16(t, q, b));
      expand.add(ldmatrixM8N16(t, b));
      store.add(stmatrixM16N8(t, b));
    }
  wide.expect(16, 16);
  expand.expect(8, 16);
  store.expect(8, 16);
}

TEST(Fragments, MmaSync) {
  for (uint32_t bits : {8u, 16u, 32u}) {
    uint32_t per = 32 / bits;
    Cover a, b, half;
    for (uint32_t t = 0; t < 32; ++t)
      for (uint32_t s = 0; s < per; ++s) {
        for (uint32_t r = 0; r < 4; ++r)
          a.add(mmaA(bits, t, r, s));
        for (uint32_t r = 0; r < 2; ++r) {
          b.add(mmaB(bits, t, r, s));
          half.add(mmaA(bits, t, r, s)); // m16n8k8: the first two registers
        }
      }
    a.expect(16, 8 * per);
    b.expect(8 * per, 8);
    half.expect(16, 4 * per);
  }
  Cover c;
  for (uint32_t t = 0; t < 32; ++t)
    for (uint32_t i = 0; i < 4; ++i)
      c.add(mmaC(t, i));
  c.expect(16, 8);
  EXPECT_EQ(mmaA(16, 6, 3, 1), (Coord{9, 13}));
  EXPECT_EQ(mmaA(32, 6, 2, 0), (Coord{1, 6}));
  EXPECT_EQ(mmaB(8, 6, 1, 3), (Coord{27, 1}));
}

TEST(Fragments, Wgmma) {
  for (uint32_t n : {8u, 24u, 256u}) {
    Cover d;
    for (uint32_t w = 0; w < 4; ++w)
      for (uint32_t t = 0; t < 32; ++t)
        for (uint32_t r = 0; r < n / 2; ++r)
          d.add(wgmmaD(w, t, r));
    d.expect(64, n);
  }
  for (uint32_t bits : {8u, 16u, 32u}) {
    Cover a;
    for (uint32_t w = 0; w < 4; ++w)
      for (uint32_t t = 0; t < 32; ++t)
        for (uint32_t r = 0; r < 4; ++r)
          for (uint32_t b = 0; b < 32 / bits; ++b)
            a.add(wgmmaA(bits, w, t, r, b));
    a.expect(64, 256 / bits);
  }
  // D (f32) registers 8j..8j+7 become the bf16 A fragment of k block j in the same thread.
  for (uint32_t t = 0; t < 32; ++t)
    for (uint32_t j = 0; j < 4; ++j)
      for (uint32_t r = 0; r < 4; ++r)
        for (uint32_t b = 0; b < 2; ++b) {
          Coord d = wgmmaD(2, t, 8 * j + 2 * r + b), a = wgmmaA(16, 2, t, r, b);
          EXPECT_EQ(d, (Coord{a.row, a.col + 16 * j}));
        }
}

TEST(Fragments, TmemLoads) {
  struct {
    TmemShape shape;
    uint32_t lanes, columns;
  } shapes[] = {{TmemShape::S32x32b, 32, 1},
                {TmemShape::S16x64b, 16, 2},
                {TmemShape::S16x128b, 16, 4},
                {TmemShape::S16x256b, 16, 8},
                {TmemShape::S16x32bx2, 16, 2}};
  for (auto &s : shapes)
    for (uint32_t num : {1u, 2u, 8u}) {
      Cover c, packed;
      for (uint32_t t = 0; t < 32; ++t)
        for (uint32_t r = 0; r < tmemRegisters(s.shape) * num; ++r) {
          TmemCoord e = tmemElement(s.shape, t, r, num);
          c.add(e.lane, e.column);
          for (uint32_t b = 0; b < 2; ++b) {
            TmemCoord p = tmemPacked(s.shape, t, r, b, 2 * num);
            packed.add(p.lane, p.column);
          }
        }
      c.expect(s.lanes, s.columns * num);
      packed.expect(s.lanes, 2 * s.columns * num);
    }
  // 16x256b is the accumulator fragment of mma.
  for (uint32_t t = 0; t < 32; ++t)
    for (uint32_t r = 0; r < 4; ++r) {
      TmemCoord e = tmemElement(TmemShape::S16x256b, t, r);
      EXPECT_EQ((Coord{e.lane, e.column}), mmaC(t, r));
    }
}

TEST(Fragments, TmemLayoutsOfD) {
  struct {
    uint32_t m, group;
    bool ws, sparse;
    TmemLayout layout;
  } cases[] = {{256, 2, false, false, TmemLayout::A}, {128, 2, false, false, TmemLayout::B},
               {128, 2, false, true, TmemLayout::C},  {128, 1, false, false, TmemLayout::D},
               {128, 1, true, false, TmemLayout::D},  {64, 1, true, false, TmemLayout::E},
               {64, 1, false, false, TmemLayout::F},  {32, 1, true, false, TmemLayout::G}};
  const uint32_t n = 64;
  for (auto &c : cases) {
    TmemLayout layout;
    ASSERT_TRUE(tmemLayoutOf(c.m, c.group, c.ws, c.sparse, layout));
    EXPECT_EQ(layout, c.layout);
    std::set<std::tuple<uint32_t, uint32_t, uint32_t>> places;
    std::set<uint32_t> lanes;
    for (uint32_t row = 0; row < c.m; ++row)
      for (uint32_t col = 0; col < n; ++col) {
        TmemPlace p = tmemD(layout, n, row, col);
        EXPECT_LT(p.cta, c.group);
        EXPECT_LT(p.lane, 128u);
        places.insert({p.cta, p.lane, p.column});
        lanes.insert(p.lane);
      }
    EXPECT_EQ(places.size(), c.m * n);
    EXPECT_EQ(lanes.size(), layout == TmemLayout::C || layout == TmemLayout::F ? 64u : 128u);
    // A rows sit with the rows of D (in the half of the lanes that layouts B, E and G have).
    std::set<std::tuple<uint32_t, uint32_t, uint32_t, uint32_t>> bits;
    for (uint32_t row = 0; row < c.m; ++row)
      for (uint32_t k = 0; k < 16; ++k) {
        TmemBits b = tmemA(layout, row, k, 16);
        bits.insert({b.cta, b.lane, b.column, b.bit});
        EXPECT_EQ(b.lane, tmemD(layout, n, row, 0).lane);
        EXPECT_EQ(b.column * 2 + b.bit / 16, k);
      }
    EXPECT_EQ(bits.size(), c.m * 16);
  }
  TmemLayout layout;
  EXPECT_FALSE(tmemLayoutOf(64, 2, false, false, layout));
  EXPECT_FALSE(tmemLayoutOf(32, 1, false, false, layout));
  EXPECT_FALSE(tmemLayoutOf(256, 1, false, false, layout));
  // Layout F leaves rows 16w.. in lanes 32w..
  EXPECT_EQ(tmemD(TmemLayout::F, 64, 20, 0, 16).lane, 32u + 4 + 16);
}

TEST(Fragments, ScalesAndCopies) {
  // tcgen05.cp.32x128b.warpx4 of a scale block (byte (m%32)*16 + (m/32)*4 + s) gives the map of
  // SFs.
  for (uint32_t m = 0; m < 128; ++m)
    for (uint32_t s = 0; s < 4; ++s) {
      uint32_t byte = m % 32 * 16 + m / 32 * 4 + s;
      for (uint32_t copy = 0; copy < 4; ++copy) {
        TmemScale at = tmemScale(m, s, 0, copy);
        EXPECT_EQ(at.lane, tmemCopyLane(TmemCopyShape::S32x128bWarpx4, byte / 16, copy));
        EXPECT_EQ(at.column, byte % 16 / 4);
        EXPECT_EQ(at.byte, byte % 4);
      }
    }
  for (TmemCopyShape s : {TmemCopyShape::S128x256b, TmemCopyShape::S128x128b,
                          TmemCopyShape::S4x256b, TmemCopyShape::S64x128bWarpx2_02_13,
                          TmemCopyShape::S64x128bWarpx2_01_23, TmemCopyShape::S32x128bWarpx4}) {
    std::set<uint32_t> lanes;
    for (uint32_t row = 0; row < tmemCopyRows(s); ++row)
      for (uint32_t i = 0; i < tmemCopyCopies(s); ++i)
        lanes.insert(tmemCopyLane(s, row, i));
    EXPECT_EQ(lanes.size(), s == TmemCopyShape::S4x256b ? 4u : 128u);
  }
  EXPECT_EQ(tmemCopyLane(TmemCopyShape::S64x128bWarpx2_01_23, 33, 1), 97u);
  EXPECT_EQ(tmemCopyLane(TmemCopyShape::S64x128bWarpx2_02_13, 33, 1), 97u);
}
