//===- ConversionPlanTest.cpp - Conversions and reductions, executed --------===//
//
// Plans are run on element numbers: a conversion must bring every element to its place, a reduction
// must gather every element of a result exactly once.
//
//===----------------------------------------------------------------------===//
#include "tileloom/Layout/ConversionPlan.h"
#include "LayoutTestSupport.h"
#include "tileloom/Layout/ReducePlan.h"

using namespace tileloom::layout;

/// Runs an in-thread or shuffle plan and compares with `to`.
static void execute(const RegisterLayout &from, const RegisterLayout &to,
                    const ConversionPlan &plan) {
  ASSERT_NE(plan.kind, ConversionPlan::SharedMemory);
  for (unsigned warp = 0; warp < from.warps(); ++warp) {
    std::vector<std::vector<int64_t>> result(32, std::vector<int64_t>(to.registersPerThread(), -1));
    for (unsigned lane = 0; lane < 32; ++lane) {
      if (plan.kind == ConversionPlan::InThread)
        for (unsigned reg = 0; reg < plan.registers.size(); ++reg)
          result[lane][reg] = from.flatIndexOf(plan.registers[reg], lane, warp);
      for (const ShuffleRound &round : plan.rounds) {
        unsigned other = round.from[lane];
        for (unsigned i = 0; i < plan.unit; ++i)
          result[lane][round.receive[lane] * plan.unit + i] =
              from.flatIndexOf(round.send[other] * plan.unit + i, other, warp);
      }
      for (unsigned reg = 0; reg < to.registersPerThread(); ++reg)
        ASSERT_EQ(result[lane][reg], to.flatIndexOf(reg, lane, warp)) << reg << " " << lane;
    }
  }
}

TEST(Conversions, AccumulatorTo16BitOperandIsRenaming) {
  for (int64_t k = 16; k <= 256; k += 16) {
    RegisterLayout from = get(RegisterLayout::wgmmaAccumulator({64, k}, 4));
    RegisterLayout to = get(RegisterLayout::wgmmaOperandA({64, k}, 16, 4));
    ConversionPlan plan = get(convertPlan(from, to, 16));
    ASSERT_EQ(plan.kind, ConversionPlan::InThread);
    execute(from, to, plan);
    for (unsigned reg = 0; reg < plan.registers.size(); ++reg)
      ASSERT_EQ(plan.registers[reg], reg); // k block j takes D registers 8j to 8j+7, in order
  }
}

TEST(Conversions, AccumulatorTo8BitOperandShufflesPairs) {
  for (int64_t k : {32, 64, 96, 128, 192, 256})
    for (unsigned warps : {4u, 8u, 12u}) {
      RegisterLayout from = get(RegisterLayout::wgmmaAccumulator({16 * warps, k}, warps));
      RegisterLayout to = get(RegisterLayout::wgmmaOperandA({16 * warps, k}, 8, warps));
      ConversionPlan plan = get(convertPlan(from, to, 8));
      ASSERT_EQ(plan.kind, ConversionPlan::Shuffle);
      EXPECT_EQ(plan.unit, 2u); // neighbouring columns travel together
      EXPECT_EQ(plan.rounds.size(), to.registersPerThread() / 2);
      execute(from, to, plan);
    }
}

TEST(Conversions, BroadcastRegisters) {
  RegisterLayout acc = get(RegisterLayout::wgmmaAccumulator({64, 96}, 4));
  RegisterLayout rowsOf = get(slice(acc, 1)).layout;
  // The slice of a narrower accumulator is the same slice, and that of a 16-bit operand a renaming.
  RegisterLayout other = get(slice(get(RegisterLayout::wgmmaOperandA({64, 32}, 16, 4)), 1)).layout;
  EXPECT_EQ(rowsOf, other);
  EXPECT_EQ(get(convertPlan(rowsOf, other, 32)).kind, ConversionPlan::InThread);
}

TEST(Conversions, RandomLayouts) {
  Random random(7);
  unsigned kinds[3] = {};
  for (int i = 0; i < 400; ++i) {
    int64_t rows = i % 2 ? 48 : 32, cols = i % 3 ? 32 : 40;
    unsigned warps = i % 4 ? 1 : 4;
    RegisterLayout from = randomLayout(random, rows, cols, warps, i % 5 == 0);
    RegisterLayout to = randomLayout(random, rows, cols, warps, i % 7 == 0);
    ConversionPlan plan = get(convertPlan(from, to, 16));
    ++kinds[plan.kind];
    if (plan.kind == ConversionPlan::SharedMemory) {
      EXPECT_EQ(plan.scratchBytes, rows * cols * 2);
      EXPECT_GT(warps, 1u) << from.str() << to.str(); // one warp holds all it needs
    } else {
      execute(from, to, plan);
    }
    execute(from, from, get(convertPlan(from, from, 16)));
  }
  EXPECT_GT(kinds[ConversionPlan::Shuffle], 150u);
  EXPECT_GT(kinds[ConversionPlan::SharedMemory], 10u);
}

TEST(Conversions, TransposedFragmentsShuffle) {
  // 8x8 blocks: rows over lane/4 against rows over lane%4.
  RegisterLayout from = get(RegisterLayout::mmaAccumulator({16, 16}, 1));
  RegisterLayout to = get(permuteDims(from, {1, 0}));
  ConversionPlan plan = get(convertPlan(from, to, 32));
  ASSERT_EQ(plan.kind, ConversionPlan::Shuffle);
  EXPECT_EQ(plan.rounds.size(), 8u);
  execute(from, to, plan);
}

TEST(Conversions, RefuseBadInput) {
  RegisterLayout a = get(RegisterLayout::wgmmaAccumulator({64, 32}, 4));
  RegisterLayout b = get(RegisterLayout::wgmmaAccumulator({64, 64}, 4));
  RegisterLayout c = get(RegisterLayout::mmaAccumulator({64, 32}, 2));
  expectError(convertPlan(a, b, 16), "need the same");
  expectError(convertPlan(a, c, 16), "found 4 and 2 warps");
  expectError(convertPlan(a, a, 0), "0 bits");
  expectError(broadcastPlan(a, b, 0), "needs [64] on 4 warps");
}

/// Runs a reduction on sets of element numbers.
static void executeReduction(const RegisterLayout &layout, unsigned dim, const ReducePlan &plan) {
  ASSERT_EQ(plan.result, get(slice(layout, dim)).layout);
  unsigned registers = plan.result.registersPerThread(), warps = layout.warps();
  ASSERT_EQ(plan.sources.size(), registers);
  using Set = std::vector<int64_t>;
  auto slot = [&](unsigned reg, unsigned lane, unsigned warp) {
    return (warp * 32 + lane) * registers + reg;
  };
  std::vector<Set> held(registers * 32 * warps);
  for (unsigned warp = 0; warp < warps; ++warp)
    for (unsigned lane = 0; lane < 32; ++lane)
      for (unsigned reg = 0; reg < registers; ++reg) {
        int64_t previous = -1;
        for (unsigned source : plan.sources[reg]) {
          held[slot(reg, lane, warp)].push_back(layout.flatIndexOf(source, lane, warp));
          int64_t position = layout.indexOf(source, 0, 0)[dim];
          EXPECT_GT(position, previous);
          previous = position;
        }
      }
  for (unsigned mask : plan.laneMasks) {
    std::vector<Set> before = held;
    for (unsigned warp = 0; warp < warps; ++warp)
      for (unsigned lane = 0; lane < 32; ++lane)
        for (unsigned reg = 0; reg < registers; ++reg) {
          Set &set = held[slot(reg, lane, warp)];
          const Set &other = before[slot(reg, lane ^ mask, warp)];
          set.insert(set.end(), other.begin(), other.end());
        }
  }
  std::vector<Set> before = held;
  for (const ReducePlan::WarpSet &set : plan.warpSets)
    for (unsigned warp : set.warps)
      for (unsigned lane = 0; lane < 32; ++lane)
        for (unsigned reg = 0; reg < registers; ++reg) {
          Set all;
          for (unsigned i = 0; i < set.distinct; ++i) {
            const Set &part = before[slot(reg, lane, set.warps[i])];
            all.insert(all.end(), part.begin(), part.end());
          }
          held[slot(reg, lane, warp)] = all;
        }
  for (unsigned warp = 0; warp < warps; ++warp)
    for (unsigned lane = 0; lane < 32; ++lane)
      for (unsigned reg = 0; reg < registers; ++reg) {
        Set wanted, found = held[slot(reg, lane, warp)];
        Index index = plan.result.indexOf(reg, lane, warp);
        index.insert(index.begin() + dim, 0);
        for (; index[dim] < layout.shape()[dim]; ++index[dim])
          wanted.push_back(layout.flatten(index));
        std::sort(found.begin(), found.end());
        ASSERT_EQ(found, wanted);
      }
  // And back: the broadcast of the result.
  auto broadcast = get(broadcastPlan(plan.result, layout, dim));
  for (unsigned warp = 0; warp < warps; ++warp)
    for (unsigned lane = 0; lane < 32; ++lane)
      for (unsigned reg = 0; reg < broadcast.size(); ++reg) {
        Index index = layout.indexOf(reg, lane, warp);
        index.erase(index.begin() + dim);
        ASSERT_EQ(plan.result.indexOf(broadcast[reg], lane, warp), index);
      }
}

static void executeReduction(const RegisterLayout &layout, unsigned dim) {
  executeReduction(layout, dim, get(reducePlan(layout, dim)));
}

TEST(Folds, Accumulators) {
  for (int64_t n : {16, 96, 176, 256}) {
    RegisterLayout source = get(RegisterLayout::wgmmaAccumulator({64, n}, 4));
    RegisterLayout result = get(RegisterLayout::wgmmaAccumulator({64, 8}, 4));
    auto targets = get(foldPlan(source, result));
    ASSERT_EQ(targets.size(), source.registersPerThread());
    for (unsigned warp = 0; warp < 4; ++warp)
      for (unsigned lane = 0; lane < 32; ++lane)
        for (unsigned reg = 0; reg < targets.size(); ++reg) {
          Index index = source.indexOf(reg, lane, warp);
          ASSERT_EQ(result.indexOf(targets[reg], lane, warp), (Index{index[0], index[1] % 8}));
        }
  }
  RegisterLayout source = get(RegisterLayout::wgmmaAccumulator({64, 32}, 4));
  RegisterLayout rows = get(RegisterLayout::blocked({64, 8}, {1, 2}, {16, 2}, {4, 1}, {1, 0}));
  expectError(foldPlan(source, rows), "repeat in each thread's registers, found 8 columns");
  RegisterLayout wide = get(RegisterLayout::wgmmaAccumulator({64, 24}, 4));
  expectError(foldPlan(source, wide), "columns that divide the source's");
}

TEST(Reductions, Accumulators) {
  for (int64_t n : {8, 96, 112, 176, 192, 256}) {
    RegisterLayout acc = get(RegisterLayout::wgmmaAccumulator({64, n}, 4));
    executeReduction(acc, 1);
    executeReduction(acc, 0);
    ReducePlan plan = get(reducePlan(acc, 1));
    EXPECT_EQ(plan.laneMasks, (llvm::SmallVector<unsigned, 5>{1, 2}));
    EXPECT_TRUE(plan.warpSets.empty());
    EXPECT_EQ(plan.sources.size(), 2u);
    EXPECT_EQ(int64_t(plan.sources[1].size()), n / 4);
    EXPECT_EQ(get(reducePlan(acc, 0)).warpSets.size(), 1u);
  }
  executeReduction(get(RegisterLayout::wgmmaAccumulator({384, 24}, 12)), 0);
  executeReduction(get(RegisterLayout::wgmmaAccumulator({384, 24}, 12)), 1);
  executeReduction(get(RegisterLayout::tmem(TmemShape::S32x32b, {128, 48}, 8)), 1);
  executeReduction(get(RegisterLayout::mmaOperandB({32, 24}, 16, 6)), 0);
}

TEST(Reductions, RandomLayouts) {
  Random random(8);
  for (int i = 0; i < 60; ++i) {
    RegisterLayout layout = randomLayout(random, 48, 40);
    executeReduction(layout, 0);
    executeReduction(layout, 1);
    // Of a reduced tensor, where lanes and warps hold copies.
    executeReduction(get(expandDims(get(slice(layout, 0)).layout, 0)), 1);
  }
}

TEST(Reductions, MixedLayoutsAreRightOrRefused) {
  Random random(11);
  int done = 0;
  for (int i = 0; i < 60; ++i) {
    RegisterLayout layout = randomLayout(random, 16, 24, 4, true);
    for (unsigned dim : {0u, 1u}) {
      llvm::Expected<ReducePlan> plan = reducePlan(layout, dim);
      if (!plan) {
        expectError(std::move(plan), "convert the layout first");
        continue;
      }
      executeReduction(layout, dim, *plan);
      ++done;
    }
  }
  EXPECT_GT(done, 10);
}

TEST(Reductions, CopiesCountOnce) {
  RegisterLayout small = get(RegisterLayout::blocked({8, 4}, {1, 4}, {4, 8}, {4, 1}, {1, 0}));
  executeReduction(small, 0);
  executeReduction(small, 1);
  ReducePlan plan = get(reducePlan(small, 0));
  ASSERT_EQ(plan.warpSets.size(), 1u);
  EXPECT_EQ(plan.warpSets[0].distinct, 2u);
  EXPECT_EQ(plan.warpSets[0].warps.size(), 4u);
}
