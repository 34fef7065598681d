//===- CheckTest.cpp - Checks of arguments and launch limits --------------===//
//
// One wrong argument for each check, with the text that the user reads.
//
//===----------------------------------------------------------------------===//
#include "tileloom/Runtime/Check.h"
#include "Support.h"

using namespace tileloom::runtime;

namespace {
const std::string arguments =
    std::string(tensorA) + R"(, {"name": "p", "kind": "pointer", "element": "i32", "divisible": 16},
    {"name": "n", "kind": "scalar", "element": "i32", "divisible": 8})";

struct Check : testing::Test {
  Recipe recipe = good(Recipe::parse(recipeText(arguments, "", gridOne)));
  std::vector<TileloomArgument> given = {tensor(TILELOOM_BF16, {4, 8}, {8, 1}), pointer(0x100),
                                         scalar(TILELOOM_I32, 16)};
  std::string run(int32_t device = 0) { return text(checkArguments(recipe, given, device)); }
  const std::string a = "kernel 'k', argument 0 'a' (k.mlir:3:12): ";
  const std::string p = "kernel 'k', argument 1 'p': ";
};
} // namespace

TEST_F(Check, Good) { EXPECT_EQ(run(), ""); }

TEST_F(Check, Number) {
  given.pop_back();
  EXPECT_EQ(run(), "kernel 'k': 2 arguments found; needed 3 (a, p, n)");
}

TEST_F(Check, Kind) {
  given[0] = scalar(TILELOOM_I32, 0);
  EXPECT_EQ(run(), a + "is a scalar; needed a tensor");
  given[0] = pointer(0x100);
  EXPECT_EQ(run(), a + "is a pointer; needed a tensor");
  given[0].kind = 77;
  EXPECT_EQ(run(), a + "is of an unknown kind; needed a tensor");
}

TEST_F(Check, ElementRankExtent) {
  given[0].element = TILELOOM_F16;
  EXPECT_EQ(run(), a + "element type is f16; needed bf16");
  given[0] = tensor(TILELOOM_BF16, {2, 4, 8}, {32, 8, 1});
  EXPECT_EQ(run(), a + "rank is 3; needed 2");
  given[0] = tensor(TILELOOM_BF16, {-4, 8}, {8, 1});
  EXPECT_EQ(run(), a + "extent of dimension 0 is -4; needed 0 or more");
}

TEST_F(Check, Place) {
  given[0].device = 1;
  EXPECT_EQ(run(), a + "is on CUDA device 1; needed on CUDA device 0, where the launch is");
  given[0].device = TILELOOM_HOST;
  EXPECT_EQ(run(), a + "is on the CPU; needed on CUDA device 0, where the launch is");
  EXPECT_EQ(run(TILELOOM_UNKNOWN_DEVICE), a + "is on the CPU; needed on a CUDA device");
  EXPECT_EQ(run(TILELOOM_HOST), "");
}

TEST_F(Check, PointerTakesTensorOfItsType) {
  given[1] = tensor(TILELOOM_I32, {7}, {3}, 0x200);
  EXPECT_EQ(run(), "");
  given[1].element = TILELOOM_I64;
  EXPECT_EQ(run(), p + "element type is i64; needed i32");
  given[1] = tensor(TILELOOM_I32, {7}, {3}, 0x200, TILELOOM_HOST);
  EXPECT_EQ(run(), p + "is on the CPU; needed on CUDA device 0, where the launch is");
}

TEST_F(Check, Divisible) {
  given[1].value = 0x104;
  EXPECT_EQ(run(), p + "address 0x104 is not aligned; needed a multiple of 16 bytes");
  given[1].value = 0x110;
  given[2].value = 0xfffffff4; // -12
  EXPECT_EQ(run(), "kernel 'k', argument 2 'n': is -12; needed a multiple of 8");
}

TEST_F(Check, Specialised) {
  recipe = good(Recipe::parse(recipeText(
      R"({"name": "a", "kind": "tensor", "element": "bf16", "rank": 2, "shape": [null, 64], "strides": [null, 1]})",
      "", gridOne)));
  given = {tensor(TILELOOM_BF16, {100, 64}, {64, 1})};
  EXPECT_EQ(run(), "");
  given[0].shape[1] = 128;
  EXPECT_EQ(run(), "kernel 'k', argument 0 'a': extent of dimension 1 is 128; needed 64, for which "
                   "the kernel was "
                   "specialised");
  given[0].shape[1] = 64;
  given[0].strides[1] = 2;
  EXPECT_EQ(
      run(),
      "kernel 'k', argument 0 'a': stride of dimension 1 is 2; needed 1, for which the kernel was "
      "specialised");
}

static std::string onDevice(const std::string &target, int major, int minor) {
  std::string json =
      recipeText("", "", R"("grid": {"x": 1}, "shared_bytes": 232448, "cluster": [2, 1, 1])");
  json.replace(json.find("sm_90a"), 6, target);
  TileloomDevice device = hopper();
  device.major = major;
  device.minor = minor;
  return text(checkDevice(good(Recipe::parse(json)), device, "GPU"));
}

TEST(CheckDevice, Architecture) {
  EXPECT_EQ(onDevice("sm_90a", 9, 0), "");
  EXPECT_EQ(onDevice("sm_90a", 10, 0), "kernel 'k': compiled for sm_90a; GPU is sm_100");
  EXPECT_NE(onDevice("sm_100a", 10, 3), "");
  EXPECT_EQ(onDevice("sm_100f", 10, 3), "");
  EXPECT_NE(onDevice("sm_103f", 10, 0), "");
  EXPECT_NE(onDevice("sm_100f", 12, 0), "");
  EXPECT_EQ(onDevice("sm_90", 10, 0), "");
  EXPECT_NE(onDevice("sm_90", 8, 9), "");
  EXPECT_EQ(onDevice("sm_80", 8, 0),
            "kernel 'k': a cluster of 2 CTAs; GPU has no clusters (needed sm_90 or later)");
}

TEST(CheckDevice, Limits) {
  Recipe recipe =
      good(Recipe::parse(recipeText("", "", R"("grid": {"x": 1}, "shared_bytes": 232449)")));
  EXPECT_EQ(text(checkDevice(recipe, hopper(), "GPU")),
            "kernel 'k': 232449 bytes of shared memory a block; GPU allows 232448");
  recipe.sharedBytes = 0;
  TileloomDevice small = hopper();
  small.maxThreads = 64;
  EXPECT_EQ(text(checkDevice(recipe, small, "GPU")),
            "kernel 'k': 128 threads a block; GPU allows 64");
}
