//===- RecipeTensorMap.cpp - The tensor maps of a recipe ------------------===//
//
// The static half of the rules of cuTensorMapEncodeTiled (cuda.h, CUDA 13.0): rank, box, swizzle,
// interleave, fill. The half that depends on the tensor is in TensorMap.cpp.
//
//===----------------------------------------------------------------------===//
#include "RecipeTensorMap.h"
#include "llvm/ADT/STLExtras.h"

namespace tileloom::runtime {

// Values of CUtensorMapSwizzle, CUtensorMapInterleave and CUtensorMapFloatOOBfill (cuda.h).
constexpr uint8_t swizzle32 = 1;
constexpr uint8_t swizzle128 = 3;
constexpr uint8_t swizzle128Atom32 = 4;

static uint8_t parseSwizzle(const JsonReader &json) {
  JsonReader width = json["swizzle"];
  JsonReader atom = json["swizzle_atom"];
  int64_t bytes = width.integerOr(0, 0, 128);
  if (bytes != 0 && bytes != 32 && bytes != 64 && bytes != 128)
    width.fail("0, 32, 64 or 128");
  // The atoms other than 16 bytes exist for the 128-byte swizzle only.
  int64_t atomBytes = atom.integerOr(16, 16, 64);
  bool flip = json["swizzle_flip"].booleanOr(false);
  if (atomBytes != 16 && (bytes != 128 || (atomBytes != 32 && atomBytes != 64)))
    atom.fail("16, or with swizzle 128 also 32 or 64");
  if (flip && atomBytes != 32)
    json["swizzle_flip"].fail("false unless swizzle_atom is 32");
  if (atomBytes == 32)
    return flip ? 5 : swizzle128Atom32;
  if (atomBytes == 64)
    return 6;
  return bytes == 0 ? 0 : bytes == 32 ? swizzle32 : bytes == 64 ? 2 : swizzle128;
}

static unsigned swizzleBytes(uint8_t swizzle) {
  return swizzle == 0 ? 0 : swizzle == 1 ? 32 : swizzle == 2 ? 64 : 128;
}

static uint8_t parseChoice(const JsonReader &json, llvm::ArrayRef<int64_t> choices) {
  // "none" and 0 are the same; the index in `choices` is the driver's value.
  int64_t found = json.present() ? json.integerOrWord("none", 0) : 0;
  for (auto [index, choice] : llvm::enumerate(choices))
    if (found == choice)
      return index;
  std::string list = "\"none\"";
  for (int64_t choice : choices.drop_front())
    list += " or " + std::to_string(choice);
  json.fail(list);
  return 0;
}

static void checkPadded(const JsonReader &json, TensorMapSpec &spec) {
  // 16U4_ALIGN16B: whole 64-byte groups of 128 values, 32-byte alignment, and only three swizzles.
  spec.addressAlignment = spec.strideAlignment = 32;
  spec.innerMultiple = 128;
  if (spec.fixed.box[0] != 128)
    json["box"].fail("128 elements innermost with \"expand\"");
  uint8_t swizzle = spec.fixed.swizzle;
  if (swizzle != 0 && swizzle != swizzle128 && swizzle != swizzle128Atom32)
    json["swizzle"].fail("0 or 128 (swizzle_atom 16 or 32) with \"expand\"");
}

TensorMapSpec parseTensorMap(const JsonReader &json, const ArgumentSpec &argument) {
  json.onlyKeys({"kind", "argument", "element", "box", "order", "swizzle", "swizzle_atom",
                 "swizzle_flip", "interleave", "l2_promotion", "fill", "expand", "stored"});
  TensorMapSpec spec;
  TileloomTensorMap &map = spec.fixed;
  map.magic = TILELOOM_TENSOR_MAP_MAGIC;

  unsigned rank = argument.rank;
  if (argument.kind != TILELOOM_TENSOR || rank < 1 || rank > TILELOOM_MAX_MAP_RANK) {
    json["argument"].fail("a tensor argument of rank 1..5");
    return spec;
  }
  map.rank = rank;

  spec.element = argument.element;
  JsonReader elementJson = json["element"];
  if (elementJson.present()) {
    std::optional<Element> element = parseElement(elementJson.string());
    if (!element || elementBits(*element) != elementBits(argument.element))
      elementJson.fail("an element as wide as the argument's, " + elementName(argument.element));
    else
      spec.element = *element;
  }
  bool expand = json["expand"].booleanOr(false);
  if (expand && spec.element != TILELOOM_E2M1)
    json["expand"].fail("false unless the element is e2m1");
  map.dataType = tensorMapDataType(spec.element, expand);
  map.swizzle = parseSwizzle(json);
  map.interleave = parseChoice(json["interleave"], {0, 16, 32});
  map.l2Promotion = parseChoice(json["l2_promotion"], {0, 64, 128, 256});

  std::string fill = json["fill"].stringOr("zero");
  if (fill != "zero" && fill != "nan")
    json["fill"].fail("\"zero\" or \"nan\"");
  map.fill = fill == "nan";
  // The tensor map's own type decides: fp8 travels as bytes, which have no NaN.
  if (map.fill && (map.dataType < 6 || map.dataType > 12))
    json["fill"].fail("\"zero\" for elements that a tensor map treats as integers");

  unsigned bits = elementBits(spec.element);
  std::vector<JsonReader> box = json["box"].items(rank, rank);
  for (auto [index, item] : llvm::enumerate(box))
    map.box[index] = item.integer(1, 256);

  JsonReader order = json["order"];
  if (order.present()) {
    unsigned seen = 0;
    for (const JsonReader &item : order.items(rank, rank)) {
      spec.axes.push_back(item.integer(0, rank - 1));
      seen |= 1u << spec.axes.back();
    }
    if (seen != (1u << rank) - 1)
      order.fail("each axis of the tensor once, innermost first");
  } else {
    for (unsigned i = 0; i < rank; ++i)
      spec.axes.push_back(rank - 1 - i);
  }
  if (json.failed())
    return spec;

  unsigned innerBytes = map.box[0] * bits / 8;
  if (map.interleave == 0 && (map.box[0] * bits) % 128 != 0)
    box[0].fail("a multiple of 16 bytes (" + llvm::Twine(128 / bits) + " elements of " +
                elementName(spec.element) + ")");
  if (map.interleave == 0 && map.swizzle != 0 && !expand && innerBytes > swizzleBytes(map.swizzle))
    box[0].fail("at most the swizzle width of " + llvm::Twine(swizzleBytes(map.swizzle)) +
                " bytes (" + llvm::Twine(swizzleBytes(map.swizzle) * 8 / bits) + " elements)");
  if (map.interleave != 0 && rank < 3)
    json["interleave"].fail("\"none\" for a tensor of rank below 3");
  if (map.interleave == 2) {
    spec.addressAlignment = spec.strideAlignment = 32;
    if (map.swizzle != swizzle32)
      json["swizzle"].fail("32 with interleave 32");
  }
  if (spec.element == TILELOOM_E2M1)
    spec.innerMultiple = 2;
  // A store ends at 16 bytes, not at the last element of a row: it would spoil what lies behind.
  if (json["stored"].booleanOr(false))
    spec.innerMultiple = std::max<uint64_t>(spec.innerMultiple, 128 / bits);
  if (expand)
    checkPadded(json, spec);
  return spec;
}

} // namespace tileloom::runtime
