//===- TensorMemoryLayoutTest.cpp - Operand maps of tcgen05 -----------------===//
//
// Each layout letter against its row of the table in PTX ISA 9.7.16.10.5, the A operand, scale
// factors as tcgen05.cp 32x128b.warpx4 leaves them, and the inverse of all.
//
//===----------------------------------------------------------------------===//
#include "tileloom/Layout/TensorMemoryLayout.h"
#include "LayoutTestSupport.h"
#include "tileloom/Layout/TmemAccessPlan.h"
#include <set>

using namespace tileloom::layout;
using Layout = TensorMemoryLayout;

/// formula(m, n) -> {cta, lane, column, bit}; also: places are distinct, inside columns(), and
/// invert.
template <typename Fn> static void check(const Layout &layout, Fn &&formula) {
  std::set<std::tuple<unsigned, unsigned, unsigned, unsigned>> used;
  for (int64_t m = 0; m < layout.shape()[0]; ++m)
    for (int64_t n = 0; n < layout.shape()[1]; ++n) {
      auto places = layout.placesOf(m, n);
      std::vector<TmemPlace> wanted = formula(unsigned(m), unsigned(n));
      ASSERT_EQ(places.size(), wanted.size());
      for (size_t i = 0; i < places.size(); ++i) {
        ASSERT_TRUE(places[i] == wanted[i]) << layout.name().str() << " " << m << " " << n;
        ASSERT_LT(places[i].lane, 128u);
        ASSERT_LT(places[i].column, layout.columns());
        ASSERT_TRUE(
            used.insert({places[i].cta, places[i].lane, places[i].column, places[i].bit}).second);
        ASSERT_EQ(layout.indexOf(places[i]), (Index{m, n}));
      }
    }
}

using Places = std::vector<TmemPlace>;

TEST(TensorMemory, Accumulators) {
  for (unsigned n : {16u, 96u, 176u, 256u}) {
    check(get(Layout::accumulator(256, n, 2)), [](unsigned m, unsigned c) {
      return Places{{m / 128, m % 128, c, 0}};
    });
    check(get(Layout::accumulator(128, n, 2)), [n](unsigned m, unsigned c) {
      return Places{{m / 64, m % 64 + 64 * (c / (n / 2)), c % (n / 2), 0}};
    });
    check(get(Layout::accumulator(128, n, 1)), [](unsigned m, unsigned c) {
      return Places{{0, m, c, 0}};
    });
    for (unsigned base : {0u, 16u})
      check(get(Layout::accumulator(64, n, 1, false, base)), [=](unsigned m, unsigned c) {
        return Places{{0, base + m % 16 + 32 * (m / 16), c, 0}};
      });
  }
  for (unsigned n : {64u, 128u, 256u}) {
    check(get(Layout::accumulator(64, n, 1, true)), [n](unsigned m, unsigned c) {
      return Places{{0, m + 64 * (c / (n / 2)), c % (n / 2), 0}};
    });
    check(get(Layout::accumulator(32, n, 1, true)), [n](unsigned m, unsigned c) {
      return Places{{0, m + 32 * (c / (n / 4)), c % (n / 4), 0}};
    });
  }
}

TEST(TensorMemory, ReadsBackThroughWarps) {
  // Layout D through 32x32b, and F through the 16-lane shapes: what warp w loads from its quadrant.
  RegisterLayout regs = get(RegisterLayout::tmem(TmemShape::S32x32b, {128, 48}, 4));
  Layout d = get(Layout::accumulator(128, 48, 1));
  RegisterLayout narrow = get(RegisterLayout::tmem(TmemShape::S16x256b, {64, 48}, 4));
  Layout f = get(Layout::accumulator(64, 48, 1));
  for (unsigned warp = 0; warp < 4; ++warp)
    for (unsigned t = 0; t < 32; ++t) {
      for (unsigned r = 0; r < 48; ++r)
        EXPECT_EQ(d.indexOf({0, 32 * warp + t, r, 0}), regs.indexOf(r, t, warp));
      for (unsigned r = 0; r < 24; ++r) {
        TmemPlace place{0, 32 * warp + t / 4 + 8 * ((r >> 1) & 1),
                        2 * (t % 4) + (r & 1) + 8 * (r >> 2), 0};
        EXPECT_EQ(f.indexOf(place), narrow.indexOf(r, t, warp));
      }
    }
}

TEST(TensorMemory, OperandA) {
  for (unsigned bits : {4u, 8u, 16u, 32u}) {
    unsigned k = 512 / bits;
    check(get(Layout::operandA(128, k, bits, 1)), [=](unsigned m, unsigned c) {
      return Places{{0, m, c * bits / 32, c * bits % 32}};
    });
    check(get(Layout::operandA(64, k, bits, 1, 16)), [=](unsigned m, unsigned c) {
      return Places{{0, 16 + m % 16 + 32 * (m / 16), c * bits / 32, c * bits % 32}};
    });
    check(get(Layout::operandA(256, k, bits, 2)), [=](unsigned m, unsigned c) {
      return Places{{m / 128, m % 128, c * bits / 32, c * bits % 32}};
    });
    check(get(Layout::operandA(128, k, bits, 2)), [=](unsigned m, unsigned c) {
      return Places{{m / 64, m % 64, c * bits / 32, c * bits % 32},
                    {m / 64, m % 64 + 64, c * bits / 32, c * bits % 32}};
    });
    EXPECT_EQ(get(Layout::operandA(128, k, bits, 1)).columns(), 16);
  }
}

TEST(TensorMemory, ScalesAreWhatTheCopyLeaves) {
  // A block of 128 rows x 4 scales is 512 bytes, byte (m%32)*16 + (m/32)*4 + s; the copy brings row
  // l of 16 bytes to lanes l, l+32, l+64, l+96, 4 columns.
  for (unsigned rows : {128u, 192u, 256u}) {
    Layout layout = get(Layout::scalesB(rows, 8));
    unsigned blocks = (rows + 127) / 128;
    EXPECT_EQ(layout.columns(), 8 * blocks);
    check(layout, [&](unsigned m, unsigned k) {
      unsigned byte = (m % 128 % 32) * 16 + (m % 128 / 32) * 4 + k % 4;
      unsigned column = k / 4 * 4 * blocks + m / 128 * 4 + byte % 16 / 4;
      Places places;
      for (unsigned quadrant = 0; quadrant < 4; ++quadrant)
        places.push_back({0, byte / 16 + 32 * quadrant, column, byte % 4 * 8});
      return places;
    });
  }
  EXPECT_EQ(get(Layout::scalesA(128, 4)).columns(), 4);
}

/// (lane, column) of register r of lane t of a tcgen05.ld, PTX ISA 9.7.16.2.3.
static std::pair<unsigned, unsigned> loadPlace(TmemShape shape, unsigned r, unsigned t) {
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
}

TEST(TensorMemory, AccessPlansLoadTheTile) {
  for (TmemShape shape :
       {TmemShape::S32x32b, TmemShape::S16x64b, TmemShape::S16x128b, TmemShape::S16x256b})
    for (int64_t m : {64, 128})
      for (int64_t n : {64, 96, 256})
        for (unsigned warps : {4u, 8u})
          for (unsigned bits : {8u, 16u, 32u})
            for (unsigned limit : {16u, 128u}) {
              if ((shape == TmemShape::S32x32b && m == 64) || n * bits % (8 * 32 * warps / 4))
                continue;
              RegisterLayout regs = get(RegisterLayout::tmem(shape, {m, n}, warps, bits));
              TmemAccessPlan plan = get(tmemAccessPlan(shape, {m, n}, warps, bits, limit));
              std::vector<int> loaded(regs.registersPerThread(), 0);
              for (const TmemAccess &access : plan.accesses) {
                ASSERT_LE(access.words.size(), limit);
                ASSERT_EQ(access.count & (access.count - 1), 0u);
                for (unsigned r = 0; r < access.words.size(); ++r)
                  for (unsigned part = 0; part < 32 / bits; ++part) {
                    ++loaded[access.words[r][part]];
                    for (unsigned w = 0; w < warps; ++w)
                      for (unsigned t = 0; t < 32; ++t) {
                        auto [lane, column] = loadPlace(shape, r, t);
                        lane += access.laneOffset;
                        column += access.columnOffset + w / 4 * plan.columnsPerWarpgroup;
                        // Lanes of quadrant w: rows 32w.. of 128, or 16w.. of 64 (layout F).
                        Index wanted = {m / 4 * (w % 4) + lane, column * 32 / bits + part};
                        ASSERT_EQ(regs.indexOf(access.words[r][part], t, w), wanted);
                      }
                  }
              }
              for (int count : loaded)
                ASSERT_EQ(count, 1);
            }
  TmemAccessPlan plan = get(tmemAccessPlan(TmemShape::S32x32b, {128, 96}, 4));
  ASSERT_EQ(plan.accesses.size(), 2u);
  EXPECT_EQ(plan.accesses[0].count, 64u);
  EXPECT_EQ(plan.accesses[1].columnOffset, 64u);
  expectError(tmemAccessPlan(TmemShape::S16x256b, {128, 64}, 4, 32, 2), "needs 4 to 128");
}

TEST(TensorMemory, Columns) {
  EXPECT_EQ(get(Layout::accumulator(128, 96, 1)).allocationColumns(), 128);
  EXPECT_EQ(get(Layout::accumulator(128, 8, 1)).allocationColumns(), 32);
  EXPECT_EQ(get(Layout::accumulator(128, 256, 2)).columns(), 128);
  EXPECT_EQ(get(Layout::accumulator(32, 256, 1, true)).columns(), 64);
}

TEST(TensorMemory, RefusesBadInput) {
  expectError(Layout::accumulator(96, 64, 1), "found M = 96");
  expectError(Layout::accumulator(256, 64, 1), "found M = 256");
  expectError(Layout::accumulator(128, 24, 2), "found N = 24");
  expectError(Layout::accumulator(64, 96, 1, true), "64, 128 or 256");
  expectError(Layout::accumulator(128, 64, 1, false, 16), "first lane 16");
  expectError(Layout::operandA(128, 8, 16, 1), "multiple of 256");
  expectError(Layout::scalesA(64, 4), "found 64 rows");
}
