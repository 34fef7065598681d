//===- LoadedKernel.cpp - A kernel in one context -------------------------===//
//
// Loading with the assembler's log, checks of the function against recipe and device, and the
// launch itself.
//
//===----------------------------------------------------------------------===//
#include "tileloom/Runtime/Kernel.h"
#include "llvm/ADT/SmallVector.h"
#include <cstring>

namespace tileloom::runtime {

using llvm::Twine;

llvm::Error LoadedKernel::loadModule(const Driver &driver, const Recipe &recipe,
                                     const std::string &image) {
  // The logs are filled only when the driver assembles PTX. Option values are passed in the
  // pointers themselves.
  std::vector<char> errors(8192), infos(1024);
  int options[] = {cuda::jitErrorLog, cuda::jitErrorLogBytes, cuda::jitInfoLog,
                   cuda::jitInfoLogBytes};
  void *values[] = {errors.data(), reinterpret_cast<void *>(errors.size() - 1), infos.data(),
                    reinterpret_cast<void *>(infos.size() - 1)};
  cuda::Result result =
      driver->moduleLoad(&module, image.c_str(), std::size(options), options, values);
  std::string log = errors.data();
  std::string what = "kernel '" + recipe.kernel + "' for " + recipe.target.name + " on " +
                     context.name + ": cuModuleLoadDataEx";
  if (result != cuda::success && !log.empty())
    what += ", whose log says: " + llvm::StringRef(log).rtrim().str();
  if (llvm::Error error = driver.check(result, what))
    return error;
  return driver.check(driver->moduleGetFunction(&function, module, recipe.kernel.c_str()),
                      "kernel '" + recipe.kernel + "': cuModuleGetFunction of that name");
}

llvm::Error LoadedKernel::checkSignature(const Driver &driver, const Recipe &recipe) {
  if (!driver->functionGetParameter) // CUDA 12.4
    return llvm::Error::success();
  auto fail = [&](const Twine &text) {
    return makeError(ErrorKind::Recipe,
                     "kernel '" + recipe.kernel + "': recipe and code disagree: " + text);
  };
  size_t count = recipe.parameters.size();
  size_t offset = 0, size = 0;
  for (size_t index = 0; index < count; ++index) {
    cuda::Result result = driver->functionGetParameter(function, index, &offset, &size);
    if (result == cuda::errorNotSupported)
      return llvm::Error::success();
    if (result == cuda::errorInvalidValue)
      return fail("the recipe has " + Twine(count) + " parameters, the code " + Twine(index));
    if (llvm::Error error = driver.check(result, "cuFuncGetParamInfo"))
      return error;
    const ParameterSpec &parameter = recipe.parameters[index];
    // Sizes only: the driver's offsets align parameters in its constant bank, whose parameters begin 16
    // bytes past a multiple of 64 (seen: a first tensor map at 48).
    if (size != parameter.size)
      return fail("parameter " + Twine(index) + " has " + Twine(parameter.size) +
                  " bytes in the recipe, " + Twine(size) + " in the code");
  }
  if (driver->functionGetParameter(function, count, &offset, &size) == cuda::success)
    return fail("the recipe has " + Twine(count) + " parameters, the code more");
  return llvm::Error::success();
}

llvm::Error LoadedKernel::checkFunction(const Driver &driver, const Recipe &recipe) {
  auto fail = [&](const Twine &text) {
    return makeError(ErrorKind::Launch, "kernel '" + recipe.kernel + "': " + text);
  };
  int staticShared = 0, threads = 0, registers = 0;
  const std::pair<int, int *> attributes[] = {{cuda::functionSharedBytes, &staticShared},
                                              {cuda::functionMaxThreads, &threads},
                                              {cuda::functionRegisters, &registers}};
  for (auto [attribute, value] : attributes)
    if (llvm::Error error = driver.check(driver->functionGetAttribute(value, attribute, function),
                                         "cuFuncGetAttribute(" + Twine(attribute) + ")"))
      return error;
  // This limit counts registers: it is where launch error 701 would come from.
  if (recipe.threads > static_cast<unsigned>(threads))
    return fail(Twine(recipe.threads) + " threads a block; its " + Twine(registers) +
                " registers a thread and its launch bounds allow " + Twine(threads) + " on " +
                context.name);
  int64_t shared = int64_t(staticShared) + recipe.sharedBytes;
  if (shared > context.device.sharedBytes)
    return fail(Twine(shared) + " bytes of shared memory a block (" + Twine(staticShared) +
                " of them static); " + context.name + " allows " +
                Twine(context.device.sharedBytes));
  if (recipe.cooperative && !context.cooperative)
    return fail("needs a cooperative launch, which " + context.name + " does not support");
  if (recipe.sharedBytes > 0)
    if (llvm::Error error =
            driver.check(driver->functionSetAttribute(function, cuda::functionMaxDynamicSharedBytes,
                                                      recipe.sharedBytes),
                         "kernel '" + recipe.kernel + "': cuFuncSetAttribute of " +
                             Twine(recipe.sharedBytes) + " bytes of shared memory"))
      return error;
  if (recipe.clusterSize() > 8)
    return driver.check(driver->functionSetAttribute(function, cuda::functionNonPortableCluster, 1),
                        "kernel '" + recipe.kernel + "': cuFuncSetAttribute for a cluster of " +
                            Twine(recipe.clusterSize()));
  return llvm::Error::success();
}

static cuda::LaunchConfig makeConfig(const Recipe &recipe, const Grid &grid, cuda::Stream stream,
                                     cuda::LaunchAttribute *attributes) {
  cuda::LaunchConfig config = {};
  config.gridX = grid.x;
  config.gridY = grid.y;
  config.gridZ = grid.z;
  config.blockX = recipe.threads * grid.programs;
  config.blockY = config.blockZ = 1;
  config.sharedBytes = recipe.sharedBytes;
  config.stream = stream;
  config.attributes = attributes;
  auto add = [&](cuda::LaunchAttributeId id) -> cuda::LaunchAttribute & {
    cuda::LaunchAttribute &attribute = attributes[config.attributeCount++];
    attribute = {};
    attribute.id = id;
    return attribute;
  };
  if (recipe.clusterSize() > 1) {
    auto &cluster = add(cuda::attributeClusterDimension).value.cluster;
    cluster.x = recipe.cluster[0];
    cluster.y = recipe.cluster[1];
    cluster.z = recipe.cluster[2];
  }
  if (recipe.cooperative)
    add(cuda::attributeCooperative).value.flag = 1;
  if (recipe.dependent)
    add(cuda::attributeProgrammaticStreamSerialization).value.flag = 1;
  return config;
}

llvm::Error LoadedKernel::checkOccupancy(const Driver &driver, const Recipe &recipe) {
  int count = 0;
  unsigned cluster = recipe.clusterSize();
  if (cluster == 1) {
    if (llvm::Error error = driver.check(
            driver->occupancyBlocks(&count, function, recipe.threads, recipe.sharedBytes),
            "cuOccupancyMaxActiveBlocksPerMultiprocessor"))
      return error;
    resident = int64_t(count) * context.device.multiprocessors;
  } else {
    cuda::LaunchAttribute attributes[3];
    Grid one{recipe.cluster[0], recipe.cluster[1], recipe.cluster[2]};
    cuda::LaunchConfig config = makeConfig(recipe, one, nullptr, attributes);
    if (llvm::Error error = driver.check(driver->occupancyClusters(&count, function, &config),
                                         "cuOccupancyMaxActiveClusters"))
      return error;
    resident = int64_t(count) * cluster;
  }
  if (resident > 0)
    return llvm::Error::success();
  return makeError(ErrorKind::Launch, "kernel '" + recipe.kernel + "': " + Twine(recipe.threads) +
                                          " threads, " + Twine(recipe.sharedBytes) +
                                          " bytes of shared memory and clusters of " +
                                          Twine(cluster) + " do not fit on " + context.name);
}

llvm::Expected<std::unique_ptr<LoadedKernel>> LoadedKernel::load(Runtime &runtime,
                                                                 ContextState &context,
                                                                 const Recipe &recipe,
                                                                 const std::string &image) {
  const Driver &driver = runtime.driver();
  if (image.empty())
    return makeError(ErrorKind::Recipe,
                     "kernel '" + recipe.kernel +
                         "' was made without code; needed a cubin or PTX to launch");
  if (llvm::Error error = checkDevice(recipe, context.device, context.name))
    return error;
  // Loading allocates, which a capture does not allow, not even one on another thread's stream.
  RelaxedCapture relaxed(driver);
  std::unique_ptr<LoadedKernel> kernel(new LoadedKernel(context, recipe));
  llvm::Error error = kernel->loadModule(driver, recipe, image);
  if (!error)
    error = kernel->checkSignature(driver, recipe);
  if (!error)
    error = kernel->checkFunction(driver, recipe);
  if (!error)
    error = kernel->checkOccupancy(driver, recipe);
  if (!error)
    return kernel;
  kernel->release(runtime);
  return error;
}

void LoadedKernel::release(Runtime &runtime) {
  RelaxedCapture relaxed(runtime.driver());
  for (WorkspacePool &pool : workspaces)
    pool.release(runtime);
  if (module)
    runtime.driver()->moduleUnload(module);
  module = nullptr;
}

llvm::Error LoadedKernel::writeMap(Runtime &runtime, const TileloomTensorMap &map,
                                   unsigned char *out) {
  const Driver &driver = runtime.driver();
  auto encode = [&](const TileloomTensorMap &key, EncodedTensorMap &encoded) {
    const uint32_t unit[TILELOOM_MAX_MAP_RANK] = {1, 1, 1, 1, 1};
    cuda::Result result = driver->encodeTiled(
        encoded.bytes, key.dataType, key.rank, reinterpret_cast<void *>(key.address), key.extents,
        key.strides, key.box, unit, key.interleave, key.swizzle, key.l2Promotion, key.fill);
    return result == cuda::success
               ? llvm::Error::success()
               : driver.check(result, "cuTensorMapEncodeTiled(" + describe(key) + ")");
  };
  if (map.address != 0)
    return context.maps.get(map, out, encode);
  TileloomTensorMap stand = map;
  llvm::Expected<cuda::Pointer> scratch = runtime.scratch(context);
  if (!scratch)
    return scratch.takeError();
  stand.address = *scratch;
  return context.maps.get(stand, out, encode);
}

llvm::Error LoadedKernel::getWorkspaces(Runtime &runtime, const Recipe &recipe, Arguments arguments,
                                        cuda::Stream stream,
                                        llvm::SmallVectorImpl<uint64_t> &addresses) {
  for (const ParameterSpec &parameter : recipe.parameters) {
    if (parameter.kind != ParameterSpec::Kind::Workspace)
      continue;
    llvm::Expected<uint64_t> bytes = workspaceBytes(recipe, parameter, arguments);
    if (!bytes)
      return bytes.takeError();
    llvm::Expected<cuda::Pointer> address =
        workspaces[addresses.size()].get(runtime, context, stream, *bytes);
    if (!address)
      return address.takeError();
    addresses.push_back(*address);
  }
  return llvm::Error::success();
}

llvm::Error LoadedKernel::launch(Runtime &runtime, const Recipe &recipe, Arguments arguments,
                                 cuda::Stream stream, const Grid *given) {
  const Driver &driver = runtime.driver();
  // The CTAs of a cluster need multiprocessors that lie together: some are left over. Another cluster would wait for a whole one to end.
  int64_t multiprocessors = context.device.multiprocessors;
  if (recipe.clusterSize() > 1 && recipe.grid.persistent)
    multiprocessors = std::min(multiprocessors, resident / recipe.grid.perMultiprocessor);
  llvm::Expected<Grid> grid = computeGrid(recipe, arguments, multiprocessors, given);
  if (!grid)
    return grid.takeError();
  if (grid->empty())
    return llvm::Error::success();
  int64_t blocks = int64_t(grid->x) * grid->y * grid->z;
  if (recipe.cooperative && blocks > resident)
    return makeError(ErrorKind::Launch, "kernel '" + recipe.kernel + "': a cooperative launch of " +
                                            Twine(blocks) + " CTAs; " + context.name + " holds " +
                                            Twine(resident) + " at once");

  llvm::SmallVector<uint64_t, 2> addresses;
  if (llvm::Error error = getWorkspaces(runtime, recipe, arguments, stream, addresses))
    return error;

  // Parameters are passed by address, each in a block that is laid out as the kernel sees it.
  llvm::SmallVector<EncodedTensorMap, 8> block((recipe.parameterBytes + 127) / 128);
  unsigned char *bytes = block.empty() ? nullptr : block.front().bytes;
  auto write = [&](const TileloomTensorMap &map, unsigned char *out) {
    return writeMap(runtime, map, out);
  };
  if (llvm::Error error = fillParameters(recipe, arguments, addresses, bytes, write))
    return error;
  llvm::SmallVector<void *, 32> parameters;
  for (const ParameterSpec &parameter : recipe.parameters)
    parameters.push_back(bytes + parameter.offset);

  cuda::LaunchAttribute attributes[3];
  cuda::LaunchConfig config = makeConfig(recipe, *grid, stream, attributes);
  cuda::Result result = driver->launch(&config, function, parameters.data(), nullptr);
  if (result == cuda::success)
    return llvm::Error::success();
  return driver.check(result, "kernel '" + recipe.kernel + "': cuLaunchKernelEx of (" +
                                  Twine(grid->x) + ", " + Twine(grid->y) + ", " + Twine(grid->z) +
                                  ") CTAs, " + Twine(config.blockX) + " threads, " +
                                  Twine(recipe.sharedBytes) + " bytes of shared memory");
}

} // namespace tileloom::runtime
