//===- Kernel.cpp - A compiled kernel and its launches --------------------===//
//
// From a call to the right context and the kernel loaded in it.
//
//===----------------------------------------------------------------------===//
#include "tileloom/Runtime/Kernel.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

namespace tileloom::runtime {

/// The device of the launch: that of the first argument on a CUDA device.
static int32_t launchDevice(Arguments arguments) {
  for (const TileloomArgument &argument : arguments)
    if (argument.kind != TILELOOM_SCALAR && argument.device >= 0)
      return argument.device;
  return TILELOOM_UNKNOWN_DEVICE;
}

static bool needsPlace(const TileloomArgument &argument) {
  return argument.kind == TILELOOM_TENSOR && argument.device == TILELOOM_UNKNOWN_DEVICE &&
         argument.value != 0;
}

/// Asks the driver where the tensors are whose owner could not tell.
static llvm::Error findPlaces(const Driver &driver,
                              llvm::MutableArrayRef<TileloomArgument> arguments) {
  for (TileloomArgument &argument : arguments) {
    if (!needsPlace(argument))
      continue;
    unsigned type = 0;
    int ordinal = 0;
    cuda::Result result =
        driver->pointerGetAttribute(&type, cuda::pointerMemoryType, argument.value);
    if (result == cuda::errorInvalidValue ||
        (result == cuda::success && type == cuda::memoryTypeHost)) {
      argument.device = TILELOOM_HOST; // memory that CUDA does not know is the host's
      continue;
    }
    if (result == cuda::success)
      result = driver->pointerGetAttribute(&ordinal, cuda::pointerDeviceOrdinal, argument.value);
    if (llvm::Error error = driver.check(result, "cuPointerGetAttribute of 0x" +
                                                     llvm::Twine::utohexstr(argument.value)))
      return error;
    argument.device = ordinal;
  }
  return llvm::Error::success();
}

llvm::Expected<Runtime *> Kernel::getRuntime() {
  std::lock_guard<std::mutex> lock(mutex);
  if (!runtime) {
    llvm::Expected<Runtime *> opened = Runtime::get();
    if (!opened)
      return opened.takeError();
    runtime = *opened;
  }
  return runtime;
}

llvm::Expected<LoadedKernel *> Kernel::loaded(Runtime &runtime, ContextState &context) {
  std::lock_guard<std::mutex> lock(mutex);
  for (const std::unique_ptr<LoadedKernel> &kernel : loadedKernels)
    if (&kernel->context == &context)
      return kernel.get();
  llvm::Expected<std::unique_ptr<LoadedKernel>> kernel =
      LoadedKernel::load(runtime, context, theRecipe, image);
  if (!kernel)
    return kernel.takeError();
  loadedKernels.push_back(std::move(*kernel));
  return loadedKernels.back().get();
}

llvm::Error Kernel::launch(Arguments arguments, cuda::Stream stream, const Grid *grid) {
  llvm::SmallVector<TileloomArgument, 0> placed;
  if (llvm::any_of(arguments, needsPlace)) {
    llvm::Expected<Runtime *> runtime = getRuntime();
    if (!runtime)
      return runtime.takeError();
    placed.assign(arguments.begin(), arguments.end());
    if (llvm::Error error = findPlaces((*runtime)->driver(), placed))
      return error;
    arguments = placed;
  }
  // Arguments first: their errors are the user's, and need no driver to find.
  int32_t device = launchDevice(arguments);
  if (llvm::Error error = checkArguments(theRecipe, arguments, device))
    return error;
  llvm::Expected<Runtime *> runtime = getRuntime();
  if (!runtime)
    return runtime.takeError();
  llvm::Expected<Runtime::Entered> entered = (*runtime)->enter(device);
  if (!entered)
    return entered.takeError();
  llvm::Expected<LoadedKernel *> kernel = loaded(**runtime, *entered->state);
  if (!kernel)
    return kernel.takeError();
  return (*kernel)->launch(**runtime, theRecipe, arguments, stream, grid);
}

llvm::Error Kernel::preload(int32_t ordinal) {
  llvm::Expected<Runtime *> runtime = getRuntime();
  if (!runtime)
    return runtime.takeError();
  llvm::Expected<Runtime::Entered> entered = (*runtime)->enter(ordinal);
  if (!entered)
    return entered.takeError();
  return loaded(**runtime, *entered->state).takeError();
}

void Kernel::release() {
  std::lock_guard<std::mutex> lock(mutex);
  for (const std::unique_ptr<LoadedKernel> &kernel : loadedKernels) {
    const Driver &driver = runtime->driver();
    cuda::Context popped;
    if (driver->contextPush(kernel->context.handle) != cuda::success)
      continue; // the context is gone, and the module with it
    kernel->release(*runtime);
    driver->contextPop(&popped);
  }
  loadedKernels.clear();
}

} // namespace tileloom::runtime
