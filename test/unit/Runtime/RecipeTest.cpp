//===- RecipeTest.cpp - Parsing the launch recipe -------------------------===//
//
// What a good recipe becomes, and for each static rule one recipe that breaks it.
//
//===----------------------------------------------------------------------===//
#include "Support.h"
#include "tileloom/Runtime/Evaluate.h"

using namespace tileloom::runtime;

static std::string map(const std::string &more) {
  return R"({"kind": "tensor_map", "argument": 0, )" + more + "}";
}
static std::string error(const std::string &parameters, const std::string &launch = gridOne,
                         const std::string &arguments = tensorA) {
  return text(Recipe::parse(recipeText(arguments, parameters, launch)));
}

TEST(Recipe, LayOutOfParameters) {
  // PTX aligns a parameter to its size and a tensor map to 64 bytes.
  std::string arguments =
      std::string(tensorA) + R"(, {"name": "n", "kind": "scalar", "element": "i32"},
      {"name": "flag", "kind": "scalar", "element": "i1"}, {"name": "h", "kind": "scalar", "element": "f16"})";
  std::string parameters =
      R"({"kind": "argument", "argument": 2}, {"kind": "argument", "argument": 3},
      {"kind": "argument", "argument": 1}, {"kind": "argument", "argument": 0}, )" +
      map(R"("box": [64, 128], "swizzle": 128)") + R"(,
      {"kind": "dimension", "argument": 0, "axis": 1}, {"kind": "stride", "argument": 0, "axis": 0, "element": "i32"},
      {"kind": "workspace", "bytes": 8, "zero": true}, {"kind": "workspace", "bytes": 1000})";
  Recipe recipe = good(Recipe::parse(recipeText(arguments, parameters, gridOne)));
  std::vector<unsigned> offsets, sizes;
  for (const ParameterSpec &parameter : recipe.parameters) {
    offsets.push_back(parameter.offset);
    sizes.push_back(parameter.size);
  }
  EXPECT_EQ(offsets, (std::vector<unsigned>{0, 2, 4, 8, 64, 192, 200, 208, 216}));
  EXPECT_EQ(sizes, (std::vector<unsigned>{1, 2, 4, 8, 128, 8, 4, 8, 8}));
  EXPECT_EQ(recipe.parameterBytes, 224u);
  EXPECT_TRUE(recipe.parameters[7].zero);
  EXPECT_FALSE(recipe.parameters[8].zero);
  EXPECT_EQ(recipe.parameters[8].workspaceBytes.value, 1000);
}

TEST(Recipe, Targets) {
  std::string json = recipeText("", "", gridOne);
  TargetSpec target = good(Recipe::parse(json)).target;
  EXPECT_EQ(target.major, 9);
  EXPECT_EQ(target.minor, 0);
  EXPECT_EQ(target.suffix, 'a');
  json.replace(json.find("sm_90a"), 6, "sm_103f");
  target = good(Recipe::parse(json)).target;
  EXPECT_EQ(target.major, 10);
  EXPECT_EQ(target.minor, 3);
  EXPECT_EQ(target.suffix, 'f');
  json.replace(json.find("sm_103f"), 7, "sm_90b");
  EXPECT_EQ(text(Recipe::parse(json)),
            "recipe: target is \"sm_90b\"; needed a target such as \"sm_90a\"");
}

TEST(Recipe, SwizzleAndModes) {
  auto fixed = [](const std::string &more) {
    return good(Recipe::parse(recipeText(tensorA, map(more), gridOne))).parameters[0].map.fixed;
  };
  EXPECT_EQ(fixed(R"("box": [16, 8], "swizzle": 32)").swizzle, 1);
  EXPECT_EQ(fixed(R"("box": [32, 8], "swizzle": 64)").swizzle, 2);
  EXPECT_EQ(fixed(R"("box": [64, 8], "swizzle": 128)").swizzle, 3);
  EXPECT_EQ(fixed(R"("box": [64, 8], "swizzle": 128, "swizzle_atom": 32)").swizzle, 4);
  EXPECT_EQ(
      fixed(R"("box": [64, 8], "swizzle": 128, "swizzle_atom": 32, "swizzle_flip": true)").swizzle,
      5);
  EXPECT_EQ(fixed(R"("box": [64, 8], "swizzle": 128, "swizzle_atom": 64)").swizzle, 6);
  EXPECT_EQ(fixed(R"("box": [256, 8])").swizzle, 0);
  EXPECT_EQ(fixed(R"("box": [8, 8], "l2_promotion": 64)").l2Promotion, 1);
  EXPECT_EQ(fixed(R"("box": [8, 8], "l2_promotion": "none")").l2Promotion, 0);
  EXPECT_EQ(fixed(R"("box": [8, 8], "l2_promotion": 256)").l2Promotion, 3);
  EXPECT_EQ(fixed(R"("box": [8, 8], "fill": "nan")").fill, 1);
}

TEST(Recipe, BadTensorMaps) {
  EXPECT_EQ(error(map(R"("box": [64])")),
            "recipe: parameters[0].box is [64]; needed an array of 2 values");
  EXPECT_EQ(error(map(R"("box": [64, 257])")),
            "recipe: parameters[0].box[1] is 257; needed an integer 1..256");
  EXPECT_EQ(
      error(map(R"("box": [4, 8])")),
      "recipe: parameters[0].box[0] is 4; needed a multiple of 16 bytes (8 elements of bf16)");
  EXPECT_EQ(error(map(R"("box": [128, 8], "swizzle": 128)")),
            "recipe: parameters[0].box[0] is 128; needed at most the swizzle width of 128 bytes "
            "(64 elements)");
  EXPECT_EQ(error(map(R"("box": [64, 8], "swizzle": 96)")),
            "recipe: parameters[0].swizzle is 96; needed 0, 32, 64 or 128");
  EXPECT_EQ(
      error(map(R"("box": [32, 8], "swizzle": 64, "swizzle_atom": 32)")),
      "recipe: parameters[0].swizzle_atom is 32; needed 16, or with swizzle 128 also 32 or 64");
  EXPECT_EQ(error(map(R"("box": [8, 8], "interleave": 16)")),
            "recipe: parameters[0].interleave is 16; needed \"none\" for a tensor of rank below 3");
  EXPECT_EQ(error(map(R"("box": [8, 8], "element": "f32")")),
            "recipe: parameters[0].element is \"f32\"; needed an element as wide as the "
            "argument's, bf16");
  EXPECT_EQ(
      error(map(R"("box": [8, 8], "order": [0, 0])")),
      "recipe: parameters[0].order is [0,0]; needed each axis of the tensor once, innermost first");
  EXPECT_EQ(error(map(R"("box": [8, 8], "swizle": 0)")).substr(0, 54),
            "recipe: parameters[0].swizle is 0; needed no such key ");
}

TEST(Recipe, BadPackedMaps) {
  std::string fp4 = R"({"name": "a", "kind": "tensor", "element": "e2m1", "rank": 2})";
  EXPECT_EQ(error(map(R"("box": [128, 8], "expand": true, "swizzle": 128)"), gridOne, fp4), "");
  EXPECT_EQ(error(map(R"("box": [64, 8], "expand": true)"), gridOne, fp4),
            "recipe: parameters[0].box is [64,8]; needed 128 elements innermost with \"expand\"");
  EXPECT_EQ(error(map(R"("box": [128, 8], "fill": "nan")"), gridOne, fp4),
            "recipe: parameters[0].fill is \"nan\"; needed \"zero\" for elements that a tensor map "
            "treats as integers");
  EXPECT_EQ(error(map(R"("box": [64, 8], "expand": true)")),
            "recipe: parameters[0].expand is true; needed false unless the element is e2m1");
}

TEST(Recipe, BadIndices) {
  EXPECT_EQ(error(R"({"kind": "argument", "argument": 1})"),
            "recipe: parameters[0].argument is 1; needed an integer 0..0");
  EXPECT_EQ(error(R"({"kind": "dimension", "argument": 0, "axis": 2})"),
            "recipe: parameters[0].axis is 2; needed an integer 0..1");
  EXPECT_EQ(error("", R"("grid": {"x": {"dimension": [0, 2]}})"),
            "recipe: launch.grid.x.dimension[1] is 2; needed an integer 0..1");
  EXPECT_EQ(error("", R"("grid": {"x": {"argument": 0}})"),
            "recipe: launch.grid.x.argument is 0; needed the index of an integer scalar");
  EXPECT_EQ(
      error("", R"("grid": {"x": {"op": "pow", "of": [1, 2]}})"),
      "recipe: launch.grid.x.op is \"pow\"; needed add, sub, mul, ceildiv, floordiv, min or max");
}

TEST(Recipe, BadLaunches) {
  EXPECT_EQ(error("", R"("grid": {})"), "recipe: launch.grid.x is missing; needed an expression");
  EXPECT_EQ(error("", R"("grid": {"x": 1}, "cluster": [4, 4, 2])"),
            "recipe: launch.cluster is [4,4,2]; needed at most 16 CTAs");
  EXPECT_EQ(error("", R"("grid": {"persistent": true, "tiles": [1]}, "cluster": [1, 2, 1])"),
            "recipe: launch.cluster is [1,2,1]; needed [n, 1, 1] with a persistent grid, which "
            "extends in x");
  EXPECT_EQ(error("", R"("grid": {"persistent": true, "tiles": []})"),
            "recipe: launch.grid.tiles is []; needed an array of 1..16 values");
}

TEST(Recipe, TextThatIsNoRecipe) {
  EXPECT_EQ(text(Recipe::parse("")).substr(0, 17), "recipe: not JSON:");
  EXPECT_EQ(text(Recipe::parse("[]")), "recipe: the text is []; needed an object");
  EXPECT_EQ(text(Recipe::parse("{}")), "recipe: version is missing; needed an integer 1..1");
  EXPECT_EQ(text(Recipe::parse(R"({"version": 2})")),
            "recipe: version is 2; needed an integer 1..1");
  // The parser recurses; a hundred thousand brackets must not reach it.
  EXPECT_EQ(text(Recipe::parse(std::string(100000, '['))),
            "recipe: brackets nest deeper than 64; needed a launch recipe");
}

TEST(Recipe, DamagedTextNeverCrashes) {
  // Every byte in turn is dropped or replaced; whatever still parses must also be safe to evaluate.
  std::string arguments = std::string(tensorA) +
                          R"(, {"name": "n", "kind": "scalar", "element": "i32", "divisible": 4})";
  std::string parameters =
      map(R"("box": [64, 128], "swizzle": 128, "order": [1, 0], "interleave": "none")") +
      R"(, {"kind": "stride", "argument": 0, "axis": 1}, {"kind": "workspace", "bytes": 64})";
  std::string launch = R"("cluster": [2, 1, 1], "grid": {"persistent": true, "per_sm": 2, "tiles": [
      {"op": "ceildiv", "of": [{"dimension": [0, 0]}, {"argument": 1}]}, 7]})";
  const std::string original = recipeText(arguments, parameters, launch);
  ASSERT_EQ(text(Recipe::parse(original)), "");
  TileloomArgument given[] = {tensor(TILELOOM_BF16, {100, 64}, {64, 1}), scalar(TILELOOM_I32, 8)};
  int parsed = 0;
  for (size_t i = 0; i < original.size(); ++i)
    for (char replacement : {'\0', '9', '-', '"', '[', '}', ',', '\x80'}) {
      std::string damaged = original;
      if (replacement)
        damaged[i] = replacement;
      else
        damaged.erase(i, 1);
      llvm::Expected<Recipe> recipe = Recipe::parse(damaged);
      if (!recipe) {
        llvm::consumeError(recipe.takeError());
        continue;
      }
      ++parsed;
      llvm::consumeError(evaluateLaunch(*recipe, given, hopper()).takeError());
    }
  EXPECT_GT(parsed, 100);
}
