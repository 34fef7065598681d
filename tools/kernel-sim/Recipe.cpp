//===- Recipe.cpp - Launches described by a recipe ------------------------===//
//
// Reads a launch recipe (docs/recipe.md) with the runtime's own parser, binds the --arg values to
// its arguments, and takes grid, block, shared memory and parameter bytes from the runtime's
// evaluation: the simulator launches what the driver would.
//
//===----------------------------------------------------------------------===//
#include "Options.h"
#include "tileloom/Runtime/Check.h"
#include "tileloom/Runtime/Evaluate.h"
#include "tileloom/Simulator/RuntimeMap.h"

#include "llvm/Support/MemoryBuffer.h"

#include <cstring>

namespace tileloom {
namespace sim {

template <class T> static T unwrap(llvm::Expected<T> value, const std::string &what) {
  if (!value)
    throw LoadError(what + ": " + llvm::toString(value.takeError()));
  return std::move(*value);
}

static uint32_t runtimeElement(Element e) {
  static const std::pair<Element, TileloomElement> table[] = {
      {Element::I1, TILELOOM_I1},    {Element::I8, TILELOOM_I8},     {Element::I16, TILELOOM_I16},
      {Element::I32, TILELOOM_I32},  {Element::I64, TILELOOM_I64},   {Element::U8, TILELOOM_U8},
      {Element::U16, TILELOOM_U16},  {Element::U32, TILELOOM_U32},   {Element::U64, TILELOOM_U64},
      {Element::F16, TILELOOM_F16},  {Element::BF16, TILELOOM_BF16}, {Element::F32, TILELOOM_F32},
      {Element::F64, TILELOOM_F64},  {Element::E4M3, TILELOOM_E4M3}, {Element::E5M2, TILELOOM_E5M2},
      {Element::E2M1, TILELOOM_E2M1}};
  for (auto &[from, to] : table)
    if (from == e)
      return to;
  return TILELOOM_UNKNOWN_ELEMENT;
}

static TileloomArgument tensorArgument(const HostTensor &t, uint32_t kind) {
  TileloomArgument a = {};
  a.kind = kind;
  a.element = runtimeElement(t.element);
  a.device = TILELOOM_HOST;
  a.value = t.address;
  if (t.shape.size() > TILELOOM_MAX_RANK)
    throw LoadError("buffer '" + t.name + "' has more than 8 dimensions");
  a.rank = uint32_t(t.shape.size());
  int64_t stride = 1;
  for (size_t i = t.shape.size(); i-- > 0;) {
    a.shape[i] = int64_t(t.shape[i]);
    a.strides[i] = stride;
    stride *= a.shape[i];
  }
  return a;
}

std::vector<uint8_t> applyRecipe(const ToolOptions &o, ArgumentList &list, Launch &launch) {
  using namespace tileloom::runtime;
  auto file = llvm::MemoryBuffer::getFile(o.recipe);
  if (!file)
    throw LoadError("cannot open '" + o.recipe + "'");
  Recipe recipe = unwrap(Recipe::parse((*file)->getBuffer()), o.recipe);
  if (o.arguments.size() != recipe.arguments.size())
    throw LoadError("found " + std::to_string(o.arguments.size()) + " --arg, the recipe has " +
                    std::to_string(recipe.arguments.size()) + " arguments");
  std::vector<TileloomArgument> arguments;
  for (size_t i = 0; i < o.arguments.size(); ++i) {
    const std::string &text = o.arguments[i];
    size_t before = list.all().size();
    std::vector<uint8_t> value = list.addValue(text);
    if (list.all().size() > before || text.compare(0, 4, "ref:") == 0) {
      HostTensor &t = list.all().size() > before ? *list.all().back() : list.tensor(text.substr(4));
      arguments.push_back(tensorArgument(t, recipe.arguments[i].kind));
      continue;
    }
    TileloomArgument a = {};
    a.kind = TILELOOM_SCALAR;
    Element e;
    if (!parseElement(text.substr(0, text.find(':')), e))
      throw LoadError("--arg " + text + " cannot be an argument of a recipe");
    a.element = runtimeElement(e);
    a.device = TILELOOM_HOST;
    std::memcpy(&a.value, value.data(), value.size());
    arguments.push_back(a);
  }
  Arguments view(arguments.data(), arguments.size());
  TileloomDevice device = {};
  device.ordinal = TILELOOM_HOST;
  device.major = recipe.target.major;
  device.minor = recipe.target.minor;
  device.multiprocessors = int32_t(o.launch.options.smCount);
  device.sharedBytes = 232448;
  device.maxThreads = 1024;
  if (llvm::Error e = checkArguments(recipe, view, TILELOOM_HOST))
    throw LoadError(o.recipe + ": " + llvm::toString(std::move(e)));
  auto evaluated = unwrap(evaluateLaunch(recipe, view, device), o.recipe);
  const TileloomLaunch &l = evaluated->launch;
  launch.kernel = recipe.kernel;
  launch.grid = {l.grid[0], l.grid[1], l.grid[2]};
  launch.cluster = {l.cluster[0], l.cluster[1], l.cluster[2]};
  launch.block = {l.threads, 1, 1};
  launch.dynamicShared = l.sharedBytes;
  std::vector<uint8_t> bytes(l.bytes, l.bytes + l.parameterBytes);
  for (uint32_t i = 0; i < l.parameterCount; ++i) {
    const TileloomParameter &p = l.parameters[i];
    if (p.kind == TILELOOM_PARAMETER_TENSOR_MAP) {
      TileloomTensorMap map;
      std::memcpy(&map, bytes.data() + p.offset, sizeof map);
      Error error = encodeRuntimeMap(map, bytes.data() + p.offset);
      if (!error.empty())
        throw LoadError("tensor map of the recipe: " + error);
    } else if (p.kind == TILELOOM_PARAMETER_WORKSPACE) {
      auto t = std::make_unique<HostTensor>();
      t->name = "workspace" + std::to_string(i);
      t->element = Element::U8;
      t->shape = {p.workspaceBytes};
      t->data.assign(p.workspaceBytes, p.zero ? 0 : 0xFF);
      uint64_t address = list.addTensor(std::move(t)).address;
      std::memcpy(bytes.data() + p.offset, &address, 8);
    }
  }
  return bytes;
}

} // namespace sim
} // namespace tileloom
