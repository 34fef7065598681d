//===- Recipe.cpp - Parsing the launch recipe -----------------------------===//
//
// JSON to Recipe, with every check that needs no arguments and no device. Unknown keys are refused,
// so that a recipe from a newer compiler cannot be half understood.
//
//===----------------------------------------------------------------------===//
#include "tileloom/Runtime/Recipe.h"
#include "JsonReader.h"
#include "RecipeTensorMap.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/MathExtras.h"

namespace tileloom::runtime {

constexpr int64_t maxInt32 = 0x7fffffff;
// The kernel parameter space of sm_70 and later (PTX ISA 7.x: 32764 bytes).
constexpr unsigned maxParameterBytes = 32764;

static TargetSpec parseTarget(const JsonReader &json) {
  TargetSpec target;
  target.name = json.string();
  llvm::StringRef rest = target.name;
  unsigned number = 0;
  bool good = rest.consume_front("sm_") && !rest.consumeInteger(10, number) && number >= 50 &&
              number < 10000;
  if (good && (rest == "a" || rest == "f"))
    target.suffix = rest[0];
  else if (!rest.empty())
    good = false;
  if (!good)
    json.fail("a target such as \"sm_90a\"");
  target.major = number / 10;
  target.minor = number % 10;
  return target;
}

static std::vector<FixedValue> parseFixed(const JsonReader &json, unsigned rank) {
  std::vector<FixedValue> values;
  if (json.present())
    for (const JsonReader &item : json.items(rank, rank))
      values.push_back(item.isNull() ? -1 : item.integer(0, INT64_MAX));
  return values;
}

static ArgumentSpec parseArgument(const JsonReader &json) {
  json.onlyKeys({"name", "kind", "element", "rank", "location", "shape", "strides", "divisible"});
  ArgumentSpec spec;
  spec.name = json["name"].string();
  spec.location = json["location"].stringOr("");
  std::string kind = json["kind"].string();
  if (kind == "tensor")
    spec.kind = TILELOOM_TENSOR;
  else if (kind == "pointer")
    spec.kind = TILELOOM_POINTER;
  else if (kind == "scalar")
    spec.kind = TILELOOM_SCALAR;
  else
    json["kind"].fail("\"tensor\", \"pointer\" or \"scalar\"");

  std::optional<Element> element = parseElement(json["element"].string());
  if (!element || *element == TILELOOM_TF32)
    json["element"].fail("an element type such as \"bf16\"");
  spec.element = element.value_or(TILELOOM_I8);
  if (spec.kind == TILELOOM_SCALAR && isFloat(spec.element) && elementBits(spec.element) < 16)
    json["element"].fail("an integer, f16, bf16, f32 or f64 for a scalar");

  if (spec.kind == TILELOOM_TENSOR) {
    spec.rank = json["rank"].integer(0, TILELOOM_MAX_RANK);
    spec.shape = parseFixed(json["shape"], spec.rank);
    spec.strides = parseFixed(json["strides"], spec.rank);
  } else {
    for (const char *key : {"rank", "shape", "strides"})
      if (json[key].present() && !(spec.kind == TILELOOM_POINTER && key == llvm::StringRef("rank")))
        json[key].fail("nothing for a " + llvm::Twine(kind));
  }
  spec.divisible = json["divisible"].integerOr(1, 1, maxInt32);
  if (spec.divisible != 1 && spec.kind == TILELOOM_SCALAR && isFloat(spec.element))
    json["divisible"].fail("nothing for a floating-point scalar");
  return spec;
}

static Expression parseExpression(const JsonReader &json, llvm::ArrayRef<ArgumentSpec> arguments) {
  Expression result;
  if (!json.isObject()) {
    result.value = json.integer(INT64_MIN, INT64_MAX);
    return result;
  }
  int64_t last = static_cast<int64_t>(arguments.size()) - 1;
  if (JsonReader index = json["argument"]; index.present()) {
    json.onlyKeys({"argument"});
    result.op = Expression::Op::Argument;
    result.argument = index.integer(0, last);
    if (!json.failed() && (arguments[result.argument].kind != TILELOOM_SCALAR ||
                           !isInteger(arguments[result.argument].element)))
      index.fail("the index of an integer scalar");
    return result;
  }
  if (JsonReader pair = json["dimension"]; pair.present()) {
    json.onlyKeys({"dimension"});
    result.op = Expression::Op::Dimension;
    std::vector<JsonReader> items = pair.items(2, 2);
    if (json.failed())
      return result;
    result.argument = items[0].integer(0, last);
    if (json.failed())
      return result;
    const ArgumentSpec &argument = arguments[result.argument];
    if (argument.kind != TILELOOM_TENSOR)
      items[0].fail("the index of a tensor");
    result.axis = items[1].integer(0, static_cast<int64_t>(argument.rank) - 1);
    return result;
  }
  json.onlyKeys({"op", "of"});
  using Op = Expression::Op;
  result.op = llvm::StringSwitch<Op>(json["op"].string())
                  .Case("add", Op::Add)
                  .Case("sub", Op::Sub)
                  .Case("mul", Op::Mul)
                  .Case("ceildiv", Op::CeilDiv)
                  .Case("floordiv", Op::FloorDiv)
                  .Case("min", Op::Min)
                  .Case("max", Op::Max)
                  .Default(Op::Constant);
  if (result.op == Op::Constant)
    json["op"].fail("add, sub, mul, ceildiv, floordiv, min or max");
  for (const JsonReader &item : json["of"].items(2, 2))
    result.of.push_back(parseExpression(item, arguments));
  return result;
}

static ParameterSpec parseParameter(const JsonReader &json,
                                    llvm::ArrayRef<ArgumentSpec> arguments) {
  using Kind = ParameterSpec::Kind;
  ParameterSpec spec;
  std::string kind = json["kind"].string();
  if (kind == "workspace") {
    json.onlyKeys({"kind", "bytes", "zero"});
    spec.kind = Kind::Workspace;
    spec.workspaceBytes = parseExpression(json["bytes"], arguments);
    if (!json.failed() && spec.workspaceBytes.op == Expression::Op::Constant)
      json["bytes"].integer(1, mostWorkspaceBytes);
    spec.zero = json["zero"].booleanOr(false);
    return spec;
  }
  spec.argument = json["argument"].integer(0, static_cast<int64_t>(arguments.size()) - 1);
  if (json.failed())
    return spec;
  const ArgumentSpec &argument = arguments[spec.argument];
  if (kind == "tensor_map") {
    spec.kind = Kind::TensorMap;
    spec.size = sizeof(TileloomTensorMap);
    spec.map = parseTensorMap(json, argument);
  } else if (kind == "argument") {
    json.onlyKeys({"kind", "argument"});
    spec.kind = Kind::Argument;
    spec.size = argument.kind == TILELOOM_SCALAR ? elementBits(argument.element) / 8 : 8;
  } else if (kind == "dimension" || kind == "stride") {
    json.onlyKeys({"kind", "argument", "axis", "element"});
    spec.kind = kind == "stride" ? Kind::Stride : Kind::Dimension;
    if (argument.kind != TILELOOM_TENSOR)
      json["argument"].fail("the index of a tensor");
    spec.axis = json["axis"].integer(0, static_cast<int64_t>(argument.rank) - 1);
    std::string element = json["element"].stringOr("i64");
    if (element != "i32" && element != "i64")
      json["element"].fail("\"i32\" or \"i64\"");
    spec.size = element == "i32" ? 4 : 8;
  } else {
    json["kind"].fail("\"tensor_map\", \"argument\", \"dimension\", \"stride\" or \"workspace\"");
  }
  return spec;
}

static void parseLaunch(const JsonReader &json, Recipe &recipe) {
  json.onlyKeys({"grid", "threads", "cluster", "shared_bytes", "cooperative", "dependent"});
  JsonReader grid = json["grid"];
  recipe.grid.persistent = grid["persistent"].booleanOr(false);
  if (recipe.grid.persistent) {
    grid.onlyKeys({"persistent", "per_sm", "margin", "tiles"});
    recipe.grid.margin = int32_t(grid["margin"].integerOr(0, 0, 1024));
    recipe.grid.perMultiprocessor = grid["per_sm"].integerOr(1, 1, 64);
    if (grid["tiles"].present()) // else the kernel counts its tiles itself
      for (const JsonReader &item : grid["tiles"].items(1, 16))
        recipe.grid.extents.push_back(parseExpression(item, recipe.arguments));
  } else if (grid["given"].booleanOr(false)) {
    grid.onlyKeys({"persistent", "given", "packed"});
    recipe.grid.given = true;
    recipe.grid.packed = grid["packed"].integerOr(1, 1, 32);
    if (!llvm::isPowerOf2_32(recipe.grid.packed))
      grid["packed"].fail("a power of two");
  } else {
    grid.onlyKeys({"persistent", "given", "x", "y", "z"});
    if (!grid["x"].present())
      grid["x"].fail("an expression");
    for (const char *axis : {"x", "y", "z"}) {
      Expression one;
      one.value = 1;
      recipe.grid.extents.push_back(
          grid[axis].present() ? parseExpression(grid[axis], recipe.arguments) : one);
    }
  }
  recipe.threads = json["threads"].integer(1, 1024 / recipe.grid.packed);
  if (JsonReader cluster = json["cluster"]; cluster.present()) {
    std::vector<JsonReader> items = cluster.items(3, 3);
    for (size_t i = 0; i < items.size(); ++i)
      recipe.cluster[i] = items[i].integer(1, 16);
    // 8 is the portable size; 16 is the most that a kernel may ask for (CUDA programming guide,
    // clusters).
    if (recipe.clusterSize() > 16)
      cluster.fail("at most 16 CTAs");
  }
  if (recipe.grid.persistent && (recipe.cluster[1] != 1 || recipe.cluster[2] != 1))
    json["cluster"].fail("[n, 1, 1] with a persistent grid, which extends in x");
  recipe.sharedBytes = json["shared_bytes"].integerOr(0, 0, maxInt32);
  recipe.cooperative = json["cooperative"].booleanOr(false);
  recipe.dependent = json["dependent"].booleanOr(false);
}

static void layOut(const JsonReader &json, Recipe &recipe) {
  unsigned bytes = 0;
  for (ParameterSpec &parameter : recipe.parameters) {
    unsigned alignment = parameter.kind == ParameterSpec::Kind::TensorMap ? 64 : parameter.size;
    parameter.offset = llvm::alignTo(bytes, alignment);
    bytes = parameter.offset + parameter.size;
  }
  recipe.parameterBytes = bytes;
  if (bytes > maxParameterBytes)
    json["parameters"].fail("at most " + llvm::Twine(maxParameterBytes) + " bytes of parameters");
}

llvm::Expected<Recipe> Recipe::parse(llvm::StringRef text) {
  if (!nestingIsShallow(text))
    return makeError(ErrorKind::Recipe,
                     "recipe: brackets nest deeper than 64; needed a launch recipe");
  llvm::Expected<llvm::json::Value> value = llvm::json::parse(text);
  if (!value)
    return makeError(ErrorKind::Recipe, "recipe: not JSON: " + llvm::toString(value.takeError()));

  std::string error;
  Recipe recipe;
  JsonReader json(&*value, "", &error);
  json.onlyKeys({"version", "kernel", "target", "arguments", "parameters", "launch"});
  json["version"].integer(1, 1);
  recipe.kernel = json["kernel"].string();
  if (recipe.kernel.empty())
    json["kernel"].fail("the name of the entry function");
  recipe.target = parseTarget(json["target"]);
  for (const JsonReader &item : json["arguments"].items(0, 1024))
    recipe.arguments.push_back(parseArgument(item));
  if (error.empty())
    for (const JsonReader &item : json["parameters"].items(0, 4096))
      recipe.parameters.push_back(parseParameter(item, recipe.arguments));
  if (error.empty())
    parseLaunch(json["launch"], recipe);
  if (error.empty())
    layOut(json, recipe);
  if (!error.empty())
    return makeError(ErrorKind::Recipe, error);
  return recipe;
}

} // namespace tileloom::runtime
