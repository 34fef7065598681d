//===- EvaluateTest.cpp - From arguments to grid and parameters -----------===//
//
// Grid arithmetic of persistent and plain grids, and the bytes of the parameters.
//
//===----------------------------------------------------------------------===//
#include "tileloom/Runtime/Evaluate.h"
#include "Support.h"
#include <cstring>

using namespace tileloom::runtime;

static const char *const sizes =
    R"({"name": "m", "kind": "scalar", "element": "i64"}, {"name": "n", "kind": "scalar", "element": "i64"})";

static llvm::Expected<Grid> grid(const std::string &launch, int64_t m, int64_t n,
                                 int multiprocessors = 132) {
  Recipe recipe = good(Recipe::parse(recipeText(sizes, "", launch)));
  TileloomArgument arguments[] = {scalar(TILELOOM_I64, m), scalar(TILELOOM_I64, n)};
  return computeGrid(recipe, arguments, multiprocessors);
}
static const std::string persistent =
    R"("grid": {"persistent": true, "tiles": [{"argument": 0}, {"argument": 1}]})";
static const std::string plain = R"("grid": {"x": {"argument": 0}, "y": {"argument": 1}})";

TEST(Grid, PersistentIsTheSmallerOfTilesAndResident) {
  EXPECT_EQ(good(grid(persistent, 1, 1)).x, 1u);
  EXPECT_EQ(good(grid(persistent, 11, 12)).x, 132u);
  EXPECT_EQ(good(grid(persistent, 11, 13)).x, 132u);
  EXPECT_EQ(good(grid(persistent, 11, 11)).x, 121u);
  EXPECT_EQ(good(grid(persistent, INT64_MAX, INT64_MAX)).x, 132u);
  EXPECT_EQ(good(grid(persistent, 5, 5)).y, 1u);
  std::string two = R"("grid": {"persistent": true, "per_sm": 2, "tiles": [{"argument": 0}]})";
  EXPECT_EQ(good(grid(two, 1000, 0)).x, 264u);
}

TEST(Grid, PersistentLeavesAMargin) {
  auto leaving = [](int margin) { return R"("grid": {"persistent": true, "margin": )" + std::to_string(margin) + R"(, "tiles": [{"argument": 0}]})"; };
  EXPECT_EQ(good(grid(leaving(32), 1000, 0)).x, 100u);
  EXPECT_EQ(good(grid(leaving(32), 7, 0)).x, 7u);
  EXPECT_EQ(text(grid(leaving(132), 7, 0)), "kernel 'k': a margin of 132 of 132 multiprocessors; needed room for 1 CTAs beside it");
}

TEST(Grid, SeveralProgramsInACta) {
  auto onGiven = [](Grid given, int multiprocessors) {
    Recipe recipe = good(Recipe::parse(recipeText(sizes, "", R"("grid": {"given": true, "packed": 8})")));
    TileloomArgument arguments[] = {scalar(TILELOOM_I64, 2), scalar(TILELOOM_I64, 3)};
    Grid grid = good(computeGrid(recipe, arguments, multiprocessors, &given));
    return std::make_pair(grid.x, grid.programs);
  };
  using Pair = std::pair<unsigned, unsigned>;
  EXPECT_EQ(onGiven({4096, 1, 1}, 132), Pair(512, 8));
  EXPECT_EQ(onGiven({4092, 1, 1}, 132), Pair(1023, 4)) << "a power of two that divides the grid";
  EXPECT_EQ(onGiven({4095, 1, 1}, 132), Pair(4095, 1));
  EXPECT_EQ(onGiven({1024, 1, 1}, 132), Pair(512, 2)) << "three CTAs for each multiprocessor are left";
  EXPECT_EQ(onGiven({1024, 4, 1}, 132), Pair(128, 8));
  EXPECT_EQ(onGiven({24, 1, 1}, 1), Pair(3, 8));
  EXPECT_EQ(text(Recipe::parse(recipeText(sizes, "", R"("grid": {"given": true, "packed": 6})"))),
            "recipe: launch.grid.packed is 6; needed a power of two");
}

TEST(Grid, GivenByTheCaller) {
  auto onGiven = [](const std::string &launch, const Grid *given) {
    Recipe recipe = good(Recipe::parse(recipeText(sizes, "", launch)));
    TileloomArgument arguments[] = {scalar(TILELOOM_I64, 2), scalar(TILELOOM_I64, 3)};
    return computeGrid(recipe, arguments, 132, given);
  };
  const std::string given = R"("grid": {"given": true})";
  Grid grid{7, 5, 3}, tall{1, 65536, 1}, empty{0, 1, 1};
  EXPECT_EQ(good(onGiven(given, &grid)).x, 7u);
  EXPECT_EQ(good(onGiven(given, &grid)).z, 3u);
  EXPECT_TRUE(good(onGiven(given, &empty)).empty());
  EXPECT_EQ(good(onGiven(plain, &grid)).y, 5u) << "instead of what the recipe computes";
  EXPECT_EQ(text(onGiven(given, nullptr)),
            "kernel 'k': no grid is given; needed one at the launch");
  EXPECT_EQ(text(onGiven(given, &tall)), "kernel 'k': grid y is 65536; needed at most 65535");
  EXPECT_EQ(text(onGiven(given + R"(, "cluster": [2, 1, 1])", &grid)),
            "kernel 'k': grid x is 7; needed a multiple of the cluster's 2");
  EXPECT_EQ(text(onGiven(persistent, &grid)), "kernel 'k': a grid of (7, 5, 3) is given; needed "
                                              "none, as the kernel is persistent");
}

TEST(Grid, PersistentCountsWholeClusters) {
  std::string clustered = persistent + R"(, "cluster": [4, 1, 1])";
  EXPECT_EQ(good(grid(clustered, 1, 1)).x, 4u);
  EXPECT_EQ(good(grid(clustered, 5, 1)).x, 8u);
  EXPECT_EQ(good(grid(clustered, 1000, 1)).x, 132u);
  EXPECT_EQ(good(grid(clustered, 1000, 1, /*multiprocessors=*/78)).x, 76u);
  EXPECT_EQ(text(grid(clustered, 1000, 1, /*multiprocessors=*/3)),
            "kernel 'k': a cluster of 4 CTAs on 3 multiprocessors; needed room for one cluster");
}

TEST(Grid, ZeroExtentLaunchesNothing) {
  EXPECT_TRUE(good(grid(persistent, 0, 5)).empty());
  EXPECT_TRUE(good(grid(persistent, INT64_MAX, 0)).empty());
  EXPECT_TRUE(good(grid(plain, 5, 0)).empty());
  EXPECT_FALSE(good(grid(plain, 5, 1)).empty());
}

TEST(Grid, Limits) {
  EXPECT_EQ(good(grid(plain, 0x7fffffff, 65535)).y, 65535u);
  EXPECT_EQ(text(grid(plain, 0x80000000, 1)),
            "kernel 'k': grid x is 2147483648; needed at most 2147483647");
  EXPECT_EQ(text(grid(plain, 1, 65536)), "kernel 'k': grid y is 65536; needed at most 65535");
  EXPECT_EQ(text(grid(plain, -1, 1)), "kernel 'k': grid extent 0 is -1; needed 0 or more");
  EXPECT_EQ(text(grid(plain + R"(, "cluster": [1, 2, 1])", 3, 3)),
            "kernel 'k': grid y is 3; needed a multiple of the cluster's 2");
}

TEST(Evaluate, ParameterBytes) {
  std::string arguments =
      std::string(tensorA) + R"(, {"name": "s", "kind": "scalar", "element": "f32"})";
  std::string parameters = R"({"kind": "tensor_map", "argument": 0, "box": [64, 8]},
      {"kind": "argument", "argument": 1}, {"kind": "argument", "argument": 0},
      {"kind": "dimension", "argument": 0, "axis": 0, "element": "i32"}, {"kind": "stride", "argument": 0, "axis": 0},
      {"kind": "workspace", "bytes": 24, "zero": true})";
  Recipe recipe = good(Recipe::parse(recipeText(arguments, parameters, gridOne)));
  TileloomArgument given[] = {tensor(TILELOOM_BF16, {100, 64}, {72, 1}, 0xabc0),
                              scalar(TILELOOM_F32, 0x3f800000)};
  auto result = good(evaluateLaunch(recipe, given, hopper()));
  const TileloomLaunch &launch = result->launch;
  EXPECT_EQ(launch.grid[0], 1u);
  EXPECT_EQ(launch.threads, 128u);
  ASSERT_EQ(launch.parameterCount, 6u);
  auto value = [&](unsigned index) {
    uint64_t bits = 0;
    std::memcpy(&bits, launch.bytes + launch.parameters[index].offset,
                launch.parameters[index].size);
    return bits;
  };
  TileloomTensorMap map;
  std::memcpy(&map, launch.bytes, sizeof(map));
  EXPECT_EQ(map.magic, uint32_t(TILELOOM_TENSOR_MAP_MAGIC));
  EXPECT_EQ(map.address, 0xabc0u);
  EXPECT_EQ(map.strides[0], 144u);
  EXPECT_EQ(value(1), 0x3f800000u);
  EXPECT_EQ(value(2), 0xabc0u);
  EXPECT_EQ(value(3), 100u);
  EXPECT_EQ(value(4), 72u);
  EXPECT_EQ(value(5), 0u);
  EXPECT_EQ(launch.parameters[5].kind, uint32_t(TILELOOM_PARAMETER_WORKSPACE));
  EXPECT_EQ(launch.parameters[5].workspaceBytes, 24u);
  EXPECT_EQ(launch.parameters[5].zero, 1u);
}

TEST(Evaluate, ThirtyTwoBitExtents) {
  Recipe recipe = good(Recipe::parse(recipeText(
      tensorA, R"({"kind": "dimension", "argument": 0, "axis": 0, "element": "i32"})", gridOne)));
  TileloomArgument given[] = {tensor(TILELOOM_BF16, {INT64_C(1) << 31, 64}, {64, 1})};
  EXPECT_EQ(text(evaluateLaunch(recipe, given, hopper())),
            "kernel 'k', argument 0 'a' (k.mlir:3:12): extent of dimension 0 is 2147483648; needed "
            "at most 2^31-1, as "
            "the kernel counts in 32 bits");
}

TEST(Evaluate, EmptyGridNeedsNoValidMap) {
  // Rows of 511 elements are no TMA tensor, but nothing is launched.
  Recipe recipe = good(
      Recipe::parse(recipeText(tensorA, R"({"kind": "tensor_map", "argument": 0, "box": [64, 8]})",
                               R"("grid": {"x": {"dimension": [0, 0]}})")));
  TileloomArgument given[] = {tensor(TILELOOM_BF16, {0, 511}, {511, 1}, 0)};
  EXPECT_EQ(good(evaluateLaunch(recipe, given, hopper()))->launch.grid[0], 0u);
}
