//===- TensorMapTest.cpp - From a tensor argument to a tensor map ---------===//
//
// Order of dimensions, byte strides, the rules of cuTensorMapEncodeTiled, and the cache.
//
//===----------------------------------------------------------------------===//
#include "tileloom/Runtime/TensorMap.h"
#include "Support.h"
#include <cstring>

using namespace tileloom::runtime;

static Recipe withMap(const std::string &element, int rank, const std::string &more) {
  return good(
      Recipe::parse(recipeText(R"({"name": "a", "kind": "tensor", "element": ")" + element +
                                   R"(", "rank": )" + std::to_string(rank) + "}",
                               R"({"kind": "tensor_map", "argument": 0, )" + more + "}", gridOne)));
}
static llvm::Expected<TileloomTensorMap> make(const Recipe &recipe,
                                              const TileloomArgument &argument) {
  return makeTensorMap(recipe, recipe.parameters[0], argument);
}
static std::vector<uint64_t> list(const uint64_t *values, unsigned count) {
  return {values, values + count};
}
static const std::string prefix = "kernel 'k', argument 0 'a': ";

TEST(TensorMap, DimensionsAreReversed) {
  // q[B, S, H, D] = [2, 100, 3, 64], a view of one row block of D for each head.
  Recipe recipe = withMap("bf16", 4, R"("box": [64, 1, 128, 1], "swizzle": 128)");
  TileloomTensorMap map = good(
      make(recipe, tensor(TILELOOM_BF16, {2, 100, 3, 64}, {19200, 192, 64, 1}, 0x7f0000000010)));
  EXPECT_EQ(map.rank, 4);
  EXPECT_EQ(map.address, 0x7f0000000010u);
  EXPECT_EQ(list(map.extents, 4), (std::vector<uint64_t>{64, 3, 100, 2}));
  EXPECT_EQ(list(map.strides, 3), (std::vector<uint64_t>{128, 384, 38400}));
  EXPECT_EQ(map.box[0], 64u);
  EXPECT_EQ(map.box[2], 128u);
  EXPECT_EQ(map.swizzle, 3);
  EXPECT_EQ(map.dataType, 9);
}

TEST(TensorMap, OrderNamesAxes) {
  // A column-major matrix: axis 0 is contiguous.
  Recipe recipe = withMap("bf16", 2, R"("box": [64, 8], "order": [0, 1])");
  TileloomTensorMap map = good(make(recipe, tensor(TILELOOM_BF16, {512, 100}, {1, 512})));
  EXPECT_EQ(list(map.extents, 2), (std::vector<uint64_t>{512, 100}));
  EXPECT_EQ(map.strides[0], 1024u);
}

TEST(TensorMap, LargeTensorsCountIn64Bits) {
  Recipe recipe = withMap("f32", 2, R"("box": [32, 8])");
  int64_t rows = INT64_C(1) << 32, columns = INT64_C(1) << 30;
  TileloomTensorMap map = good(make(recipe, tensor(TILELOOM_F32, {rows, columns}, {columns, 1})));
  EXPECT_EQ(list(map.extents, 2), (std::vector<uint64_t>{1u << 30, UINT64_C(1) << 32}));
  EXPECT_EQ(map.strides[0], UINT64_C(1) << 32);
  EXPECT_EQ(text(make(recipe, tensor(TILELOOM_F32, {rows + 1, columns}, {columns, 1}))),
            prefix + "extent of dimension 0 is 4294967297; needed at most 2^32");
  EXPECT_EQ(
      text(make(recipe, tensor(TILELOOM_F32, {2, 8}, {INT64_C(1) << 38, 1}))),
      prefix +
          "stride of dimension 0 is 274877906944 elements of 32 bits; needed below 2^40 bytes");
  EXPECT_NE(text(make(recipe, tensor(TILELOOM_F32, {2, 8}, {INT64_MAX, 1}))), "");
}

TEST(TensorMap, Alignment) {
  Recipe recipe = withMap("bf16", 2, R"("box": [64, 8])");
  EXPECT_EQ(text(make(recipe, tensor(TILELOOM_BF16, {128, 511}, {511, 1}))),
            prefix + "stride of dimension 0 is 511 elements (1022 bytes); needed a multiple of 16 "
                     "bytes for TMA");
  EXPECT_EQ(text(make(recipe, tensor(TILELOOM_BF16, {128, 512}, {512, 1}, 0x1008))),
            prefix + "address is 0x1008; needed a multiple of 16 bytes for TMA");
  EXPECT_EQ(text(make(recipe, tensor(TILELOOM_BF16, {128, 512}, {512, 1}, 0))),
            prefix + "address is 0x0; needed device memory");
  EXPECT_EQ(text(make(recipe, tensor(TILELOOM_BF16, {128, 512}, {1, 128}))),
            prefix + "stride of dimension 1 is 128 elements; needed 1, as TMA reads it in one run");
  EXPECT_EQ(text(make(recipe, tensor(TILELOOM_BF16, {128, 512}, {-512, 1}))),
            prefix + "stride of dimension 0 is -512; needed 0 or more");
  // The extent itself need not be a multiple of anything.
  EXPECT_EQ(text(make(recipe, tensor(TILELOOM_BF16, {128, 511}, {512, 1}))), "");
}

TEST(TensorMap, StridesOfUnitExtentsDoNotMatter) {
  Recipe recipe = withMap("bf16", 3, R"("box": [64, 8, 1])");
  TileloomTensorMap map = good(make(recipe, tensor(TILELOOM_BF16, {1, 1, 511}, {7, 511, 1})));
  EXPECT_EQ(list(map.strides, 2), (std::vector<uint64_t>{1024, 1024}));
  EXPECT_EQ(text(make(recipe, tensor(TILELOOM_BF16, {4, 4, 1}, {32, 8, 5}))), "");
}

TEST(TensorMap, EmptyTensorHasNoAddress) {
  Recipe recipe = withMap("bf16", 2, R"("box": [64, 8])");
  TileloomTensorMap map = good(make(recipe, tensor(TILELOOM_BF16, {0, 511}, {511, 1}, 0)));
  EXPECT_EQ(map.address, 0u);
  EXPECT_EQ(list(map.extents, 2), (std::vector<uint64_t>{1, 1}));
}

TEST(TensorMap, PackedFp4) {
  Recipe recipe = withMap("e2m1", 2, R"("box": [128, 8])");
  TileloomTensorMap map = good(make(recipe, tensor(TILELOOM_E2M1, {64, 256}, {256, 1})));
  EXPECT_EQ(map.dataType, 13);
  EXPECT_EQ(map.strides[0], 128u);
  EXPECT_EQ(text(make(recipe, tensor(TILELOOM_E2M1, {64, 33}, {64, 1}))),
            prefix + "extent of dimension 1 is 33; needed a multiple of 2 for e2m1");
  EXPECT_EQ(
      text(make(recipe, tensor(TILELOOM_E2M1, {64, 24}, {24, 1}))),
      prefix +
          "stride of dimension 0 is 24 elements (12 bytes); needed a multiple of 16 bytes for TMA");
  recipe = withMap("e2m1", 2, R"("box": [128, 8], "expand": true)");
  EXPECT_EQ(text(make(recipe, tensor(TILELOOM_E2M1, {64, 128}, {160, 1}))),
            prefix + "stride of dimension 0 is 160 elements (80 bytes); needed a multiple of 32 "
                     "bytes for TMA");
  EXPECT_EQ(text(make(recipe, tensor(TILELOOM_E2M1, {64, 128}, {128, 1}, 0x10010))),
            prefix + "address is 0x10010; needed a multiple of 32 bytes for TMA");
}

TEST(TensorMapCache, EncodesEachMapOnce) {
  Recipe recipe = withMap("bf16", 2, R"("box": [64, 8])");
  TensorMapCache cache;
  int encoded = 0;
  auto encode = [&](const TileloomTensorMap &map, EncodedTensorMap &out) {
    ++encoded;
    std::memcpy(out.bytes, &map.address, 8);
    return llvm::Error::success();
  };
  auto get = [&](const TileloomArgument &argument) {
    unsigned char out[128];
    EXPECT_EQ(text(cache.get(good(make(recipe, argument)), out, encode)), "");
    uint64_t address;
    std::memcpy(&address, out, 8);
    EXPECT_EQ(address, argument.value);
    return encoded;
  };
  EXPECT_EQ(get(tensor(TILELOOM_BF16, {64, 64}, {64, 1}, 0x1000)), 1);
  EXPECT_EQ(get(tensor(TILELOOM_BF16, {64, 64}, {64, 1}, 0x1000)), 1);
  EXPECT_EQ(get(tensor(TILELOOM_BF16, {64, 64}, {64, 1}, 0x2000)), 2); // pointer
  EXPECT_EQ(get(tensor(TILELOOM_BF16, {65, 64}, {64, 1}, 0x1000)), 3); // shape
  EXPECT_EQ(get(tensor(TILELOOM_BF16, {64, 64}, {72, 1}, 0x1000)), 4); // stride
  for (uint64_t address = 0x10000; address < 0x10000 + 16 * 5000; address += 16)
    get(tensor(TILELOOM_BF16, {64, 64}, {64, 1}, address));
  EXPECT_EQ(encoded, 5004);
}

TEST(TensorMapCache, FailureIsNotKept) {
  Recipe recipe = withMap("bf16", 2, R"("box": [64, 8])");
  TensorMapCache cache;
  TileloomTensorMap map = good(make(recipe, tensor(TILELOOM_BF16, {64, 64}, {64, 1})));
  unsigned char out[128];
  auto refuse = [](const TileloomTensorMap &, EncodedTensorMap &) {
    return makeError(ErrorKind::Driver, "refused");
  };
  auto accept = [](const TileloomTensorMap &, EncodedTensorMap &) {
    return llvm::Error::success();
  };
  EXPECT_EQ(text(cache.get(map, out, refuse)), "refused");
  EXPECT_EQ(text(cache.get(map, out, accept)), "");
}
