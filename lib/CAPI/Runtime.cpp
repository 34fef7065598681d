//===- Runtime.cpp - C API of the runtime ---------------------------------===//
//
// Plain C functions over lib/Runtime. The handle keeps one error text for each thread, so that
// threads that share a kernel do not overwrite each other's.
//
//===----------------------------------------------------------------------===//
#include "tileloom-c/Runtime.h"
#include "tileloom/Runtime/Kernel.h"
#include <map>
#include <optional>
#include <thread>

using namespace tileloom::runtime;

static_assert(TILELOOM_ARGUMENT_ERROR == int(ErrorKind::Argument) &&
                  TILELOOM_RECIPE_ERROR == int(ErrorKind::Recipe) &&
                  TILELOOM_LAUNCH_ERROR == int(ErrorKind::Launch) &&
                  TILELOOM_DRIVER_ERROR == int(ErrorKind::Driver),
              "statuses and error kinds are the same numbers");

struct TileloomKernel {
  std::optional<Kernel> kernel;
  std::mutex mutex;
  std::map<std::thread::id, std::string> errors;

  TileloomStatus finish(llvm::Error error) {
    if (!error)
      return TILELOOM_OK;
    std::string text;
    ErrorKind kind = consumeError(std::move(error), text);
    std::lock_guard<std::mutex> lock(mutex);
    errors[std::this_thread::get_id()] = std::move(text);
    return static_cast<TileloomStatus>(kind);
  }
  llvm::Error check(const TileloomArgument *arguments, size_t count) const {
    if (!kernel)
      return makeError(ErrorKind::Recipe, "the kernel was not created; its creation failed");
    if (count > 0 && !arguments)
      return makeError(ErrorKind::Argument, "the arguments are a null pointer; needed " +
                                                llvm::Twine(count) + " arguments");
    for (size_t i = 0; i < count; ++i)
      if (arguments[i].kind == TILELOOM_TENSOR && arguments[i].rank > TILELOOM_MAX_RANK)
        return makeError(ErrorKind::Argument,
                         "kernel '" + kernel->recipe().kernel + "', argument " + llvm::Twine(i) +
                             ": rank is " + llvm::Twine(arguments[i].rank) + "; needed at most " +
                             llvm::Twine(TILELOOM_MAX_RANK));
    return llvm::Error::success();
  }
};

const char *tileloomVersion(void) { return TILELOOM_VERSION; }

TileloomStatus tileloomKernelCreate(const void *image, size_t imageSize, const char *recipe,
                                    size_t recipeSize, TileloomKernel **kernel) {
  auto *handle = new TileloomKernel;
  *kernel = handle;
  if (!recipe)
    return handle->finish(makeError(ErrorKind::Recipe, "recipe: a null pointer; needed JSON text"));
  llvm::Expected<Recipe> parsed = Recipe::parse(llvm::StringRef(recipe, recipeSize));
  if (!parsed)
    return handle->finish(parsed.takeError());
  std::string bytes;
  if (image)
    bytes.assign(static_cast<const char *>(image), imageSize);
  handle->kernel.emplace(std::move(bytes), std::move(*parsed));
  return TILELOOM_OK;
}

void tileloomKernelRelease(TileloomKernel *kernel) {
  if (kernel && kernel->kernel)
    kernel->kernel->release();
  delete kernel;
}

const char *tileloomKernelError(TileloomKernel *kernel) {
  std::lock_guard<std::mutex> lock(kernel->mutex);
  auto found = kernel->errors.find(std::this_thread::get_id());
  return found == kernel->errors.end() ? "" : found->second.c_str();
}

TileloomStatus tileloomKernelLaunch(TileloomKernel *kernel, const TileloomArgument *arguments,
                                    size_t count, void *stream) {
  if (llvm::Error error = kernel->check(arguments, count))
    return kernel->finish(std::move(error));
  return kernel->finish(kernel->kernel->launch(Arguments(arguments, count), stream));
}

/// The caller's grid in `storage`; null if there is none.
static const Grid *toGrid(const uint32_t *grid, Grid &storage) {
  if (!grid)
    return nullptr;
  storage = {grid[0], grid[1], grid[2]};
  return &storage;
}

TileloomStatus tileloomKernelLaunchGrid(TileloomKernel *kernel, const TileloomArgument *arguments,
                                        size_t count, const uint32_t *grid, void *stream) {
  if (llvm::Error error = kernel->check(arguments, count))
    return kernel->finish(std::move(error));
  Grid storage;
  return kernel->finish(
      kernel->kernel->launch(Arguments(arguments, count), stream, toGrid(grid, storage)));
}

TileloomStatus tileloomKernelPreload(TileloomKernel *kernel, int32_t ordinal) {
  if (llvm::Error error = kernel->check(nullptr, 0))
    return kernel->finish(std::move(error));
  return kernel->finish(kernel->kernel->preload(ordinal));
}

TileloomStatus tileloomKernelEvaluate(TileloomKernel *kernel, const TileloomDevice *device,
                                      const TileloomArgument *arguments, size_t count,
                                      TileloomLaunch **launch) {
  return tileloomKernelEvaluateGrid(kernel, device, arguments, count, nullptr, launch);
}

TileloomStatus tileloomKernelEvaluateGrid(TileloomKernel *kernel, const TileloomDevice *device,
                                          const TileloomArgument *arguments, size_t count,
                                          const uint32_t *grid, TileloomLaunch **launch) {
  *launch = nullptr;
  if (llvm::Error error = kernel->check(arguments, count))
    return kernel->finish(std::move(error));
  if (!device)
    return kernel->finish(
        makeError(ErrorKind::Argument, "the device is a null pointer; needed its limits"));
  Grid storage;
  llvm::Expected<std::unique_ptr<EvaluatedLaunch>> result = evaluateLaunch(
      kernel->kernel->recipe(), Arguments(arguments, count), *device, toGrid(grid, storage));
  if (!result)
    return kernel->finish(result.takeError());
  // `launch` is the first member: the address of the one is the address of the other.
  static_assert(offsetof(EvaluatedLaunch, launch) == 0, "released through its first member");
  *launch = &result->release()->launch;
  return TILELOOM_OK;
}

void tileloomLaunchRelease(TileloomLaunch *launch) {
  delete reinterpret_cast<EvaluatedLaunch *>(launch);
}
