//===- Evaluate.cpp - From arguments to grid and parameters ---------------===//
//
// Grid arithmetic and the parameter block.
//
//===----------------------------------------------------------------------===//
#include "tileloom/Runtime/Evaluate.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <cstring>

namespace tileloom::runtime {

using llvm::Twine;

// CUDA programming guide, compute capabilities: 2^31-1 blocks in x, 65535 in y and z.
constexpr int64_t maxGridX = 0x7fffffff;
constexpr int64_t maxGridYZ = 65535;

static llvm::Expected<Grid> persistentGrid(const Recipe &recipe, llvm::ArrayRef<int64_t> tiles,
                                           int32_t multiprocessors) {
  int64_t cluster = recipe.cluster[0];
  int64_t used = std::max<int64_t>(int64_t(multiprocessors) - recipe.grid.margin, 0);
  int64_t resident = recipe.grid.perMultiprocessor * used / cluster * cluster;
  if (resident == 0 && recipe.grid.margin)
    return makeError(ErrorKind::Launch, "kernel '" + recipe.kernel + "': a margin of " + Twine(recipe.grid.margin) + " of " +
                                            Twine(multiprocessors) + " multiprocessors; needed room for " + Twine(cluster) + " CTAs beside it");
  if (resident == 0)
    return makeError(ErrorKind::Launch, "kernel '" + recipe.kernel + "': a cluster of " +
                                            Twine(cluster) + " CTAs on " + Twine(multiprocessors) +
                                            " multiprocessors; needed room for one cluster");
  if (llvm::is_contained(tiles, 0))
    return Grid{};
  // The product may be huge; past the resident CTAs its size no longer matters.
  int64_t total = tiles.empty() ? resident : 1;
  for (int64_t extent : tiles)
    total = extent >= resident ? resident : std::min(resident, total * extent);
  return Grid{static_cast<unsigned>(llvm::alignTo(total, cluster)), 1, 1};
}

/// A grid that the caller gave to a kernel that takes one.
static llvm::Error checkGiven(const Recipe &recipe, const Grid *given) {
  if (given && recipe.grid.persistent)
    return makeError(ErrorKind::Launch, "kernel '" + recipe.kernel + "': a grid of (" +
                                            Twine(given->x) + ", " + Twine(given->y) + ", " +
                                            Twine(given->z) +
                                            ") is given; needed none, as the kernel is persistent");
  if (!given && recipe.grid.given)
    return makeError(ErrorKind::Launch,
                     "kernel '" + recipe.kernel + "': no grid is given; needed one at the launch");
  return llvm::Error::success();
}

llvm::Expected<Grid> computeGrid(const Recipe &recipe, Arguments arguments, int32_t multiprocessors,
                                 const Grid *given) {
  if (llvm::Error error = checkGiven(recipe, given))
    return error;
  llvm::SmallVector<int64_t, 8> extents;
  llvm::ArrayRef<Expression> expressions = recipe.grid.extents;
  if (given) {
    extents = {int64_t(given->x), int64_t(given->y), int64_t(given->z)};
    expressions = {};
  }
  for (const Expression &expression : expressions) {
    llvm::Expected<int64_t> value = expression.evaluate(arguments);
    if (!value)
      return makeError(ErrorKind::Argument,
                       "kernel '" + recipe.kernel + "': " + llvm::toString(value.takeError()));
    if (*value < 0)
      return makeError(ErrorKind::Argument, "kernel '" + recipe.kernel + "': grid extent " +
                                                Twine(extents.size()) + " is " + Twine(*value) +
                                                "; needed 0 or more");
    extents.push_back(*value);
  }
  if (recipe.grid.persistent)
    return persistentGrid(recipe, extents, multiprocessors);
  if (llvm::is_contained(extents, 0))
    return Grid{};
  for (unsigned i = 0; i < 3; ++i) {
    int64_t limit = i == 0 ? maxGridX : maxGridYZ;
    auto fail = [&](const Twine &needed) {
      return makeError(ErrorKind::Launch, "kernel '" + recipe.kernel + "': grid " +
                                              Twine("xyz"[i]) + " is " + Twine(extents[i]) +
                                              "; needed " + needed);
    };
    if (extents[i] > limit)
      return fail("at most " + Twine(limit));
    if (extents[i] % recipe.cluster[i] != 0)
      return fail("a multiple of the cluster's " + Twine(recipe.cluster[i]));
  }
  // Enough CTAs have to be left that all multiprocessors are used, and used alike.
  unsigned packed = recipe.grid.packed;
  while (packed > 1 && (extents[0] % packed != 0 || extents[0] * extents[1] * extents[2] / packed < 3 * int64_t(multiprocessors)))
    packed /= 2;
  return Grid{static_cast<unsigned>(extents[0] / packed), static_cast<unsigned>(extents[1]),
              static_cast<unsigned>(extents[2]), packed};
}

static llvm::Error fillInteger(const Recipe &recipe, const ParameterSpec &parameter, int64_t value,
                               unsigned char *out) {
  if (parameter.size == 4 && (value > INT32_MAX || value < INT32_MIN))
    return makeError(ErrorKind::Argument,
                     argumentPrefix(recipe, parameter.argument) +
                         (parameter.kind == ParameterSpec::Kind::Stride ? "stride" : "extent") +
                         " of dimension " + Twine(parameter.axis) + " is " + Twine(value) +
                         "; needed at most 2^31-1, as the kernel counts in 32 bits");
  std::memcpy(out, &value, parameter.size); // little-endian
  return llvm::Error::success();
}

llvm::Expected<uint64_t> workspaceBytes(const Recipe &recipe, const ParameterSpec &parameter,
                                        Arguments arguments) {
  llvm::Expected<int64_t> bytes = parameter.workspaceBytes.evaluate(arguments);
  if (!bytes)
    return makeError(ErrorKind::Argument,
                     "kernel '" + recipe.kernel + "': " + llvm::toString(bytes.takeError()));
  if (*bytes < 0 || *bytes > mostWorkspaceBytes)
    return makeError(ErrorKind::Argument, "kernel '" + recipe.kernel + "': a workspace of " +
                                              Twine(*bytes) + " bytes; needed 0 to " +
                                              Twine(mostWorkspaceBytes));
  return *bytes;
}

llvm::Error fillParameters(const Recipe &recipe, Arguments arguments, llvm::ArrayRef<uint64_t> workspaces,
                           unsigned char *block, MapWriter writeMap) {
  using Kind = ParameterSpec::Kind;
  for (const ParameterSpec &parameter : recipe.parameters) {
    unsigned char *out = block + parameter.offset;
    if (parameter.kind == Kind::Workspace) {
      uint64_t address = workspaces.empty() ? 0 : workspaces.consume_front();
      std::memcpy(out, &address, sizeof(address));
      continue;
    }
    const TileloomArgument &argument = arguments[parameter.argument];
    if (parameter.kind == Kind::TensorMap) {
      llvm::Expected<TileloomTensorMap> map = makeTensorMap(recipe, parameter, argument);
      if (!map)
        return map.takeError();
      if (llvm::Error error = writeMap(*map, out))
        return error;
      continue;
    }
    if (parameter.kind == Kind::Argument) {
      std::memcpy(out, &argument.value, parameter.size); // little-endian: the low bytes
      continue;
    }
    int64_t value = parameter.kind == Kind::Stride ? argument.strides[parameter.axis]
                                                   : argument.shape[parameter.axis];
    if (llvm::Error error = fillInteger(recipe, parameter, value, out))
      return error;
  }
  return llvm::Error::success();
}

static TileloomParameter describeParameter(const ParameterSpec &parameter) {
  using Kind = ParameterSpec::Kind;
  TileloomParameter result = {};
  result.kind = parameter.kind == Kind::TensorMap   ? TILELOOM_PARAMETER_TENSOR_MAP
                : parameter.kind == Kind::Workspace ? TILELOOM_PARAMETER_WORKSPACE
                                                    : TILELOOM_PARAMETER_VALUE;
  result.offset = parameter.offset;
  result.size = parameter.size;
  result.zero = parameter.zero;
  return result;
}

llvm::Expected<std::unique_ptr<EvaluatedLaunch>>
evaluateLaunch(const Recipe &recipe, Arguments arguments, const TileloomDevice &device,
               const Grid *given) {
  if (llvm::Error error = checkArguments(recipe, arguments, device.ordinal))
    return error;
  if (llvm::Error error = checkDevice(recipe, device, "the device"))
    return error;
  llvm::Expected<Grid> grid = computeGrid(recipe, arguments, device.multiprocessors, given);
  if (!grid)
    return grid.takeError();

  auto result = std::make_unique<EvaluatedLaunch>();
  result->bytes.resize(recipe.parameterBytes);
  if (!grid->empty()) {
    auto writeMap = [](const TileloomTensorMap &map, unsigned char *out) {
      std::memcpy(out, &map, sizeof(map));
      return llvm::Error::success();
    };
    if (llvm::Error error =
            fillParameters(recipe, arguments, /*workspaces=*/{}, result->bytes.data(), writeMap))
      return error;
  }
  for (const ParameterSpec &parameter : recipe.parameters) {
    result->parameters.push_back(describeParameter(parameter));
    if (parameter.kind != ParameterSpec::Kind::Workspace)
      continue;
    llvm::Expected<uint64_t> bytes = workspaceBytes(recipe, parameter, arguments);
    if (!bytes)
      return bytes.takeError();
    result->parameters.back().workspaceBytes = *bytes;
  }
  TileloomLaunch &launch = result->launch;
  launch.grid[0] = grid->x;
  launch.grid[1] = grid->y;
  launch.grid[2] = grid->z;
  std::copy(recipe.cluster, recipe.cluster + 3, launch.cluster);
  launch.threads = recipe.threads * grid->programs;
  launch.sharedBytes = recipe.sharedBytes;
  launch.cooperative = recipe.cooperative;
  launch.dependent = recipe.dependent;
  launch.parameterCount = result->parameters.size();
  launch.parameterBytes = recipe.parameterBytes;
  launch.parameters = result->parameters.data();
  launch.bytes = result->bytes.data();
  return result;
}

} // namespace tileloom::runtime
