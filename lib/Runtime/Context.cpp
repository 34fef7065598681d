//===- Context.cpp - CUDA contexts known to the runtime -------------------===//
//
// Finding, describing and entering contexts.
//
//===----------------------------------------------------------------------===//
#include "tileloom/Runtime/Context.h"

namespace tileloom::runtime {

using llvm::Twine;

llvm::Expected<Runtime *> Runtime::get() {
  static std::mutex mutex;
  // Leaked: kernels may be released by exit handlers that run after static destructors.
  static Runtime *runtime = nullptr;
  std::lock_guard<std::mutex> lock(mutex);
  if (!runtime) {
    llvm::Expected<std::unique_ptr<Driver>> driver = Driver::open();
    if (!driver)
      return driver.takeError();
    runtime = new Runtime(std::move(*driver));
  }
  return runtime;
}

Runtime::Entered::~Entered() {
  cuda::Context popped;
  if (pushed)
    driver->contextPop(&popped);
}

llvm::Error Runtime::describeDevice(ContextState &context, int32_t ordinal) {
  const Driver &driver = *driverTable;
  TileloomDevice &device = context.device;
  device.ordinal = ordinal;
  int cooperative = 0;
  const std::pair<int, int32_t *> attributes[] = {
      {cuda::computeCapabilityMajor, &device.major},
      {cuda::computeCapabilityMinor, &device.minor},
      {cuda::multiprocessorCount, &device.multiprocessors},
      {cuda::maxSharedMemoryPerBlockOptin, &device.sharedBytes},
      {cuda::maxThreadsPerBlock, &device.maxThreads},
      {cuda::cooperativeLaunch, &cooperative},
  };
  for (auto [attribute, value] : attributes)
    if (llvm::Error error = driver.check(driver->deviceGetAttribute(value, attribute, ordinal),
                                         "cuDeviceGetAttribute(" + Twine(attribute) + ")"))
      return error;
  context.cooperative = cooperative != 0;
  char name[256] = "unknown";
  driver->deviceGetName(name, sizeof(name), ordinal);
  name[sizeof(name) - 1] = 0;
  context.name = ("CUDA device " + Twine(ordinal) + " (" + name + ")").str();
  return llvm::Error::success();
}

llvm::Expected<ContextState *> Runtime::find(cuda::Context handle, int32_t ordinal) {
  const Driver &driver = *driverTable;
  unsigned long long id = 0;
  if (llvm::Error error = driver.check(driver->contextGetId(handle, &id), "cuCtxGetId"))
    return error;
  std::lock_guard<std::mutex> lock(mutex);
  for (const std::unique_ptr<ContextState> &context : contexts)
    if (context->id == id)
      return context.get();
  auto context = std::make_unique<ContextState>();
  context->id = id;
  context->handle = handle;
  if (llvm::Error error = describeDevice(*context, ordinal))
    return error;
  contexts.push_back(std::move(context));
  return contexts.back().get();
}

llvm::Expected<cuda::Context> Runtime::primary(int32_t ordinal) {
  const Driver &driver = *driverTable;
  std::lock_guard<std::mutex> lock(mutex);
  for (auto [known, handle] : primaries)
    if (known == ordinal)
      return handle;
  RelaxedCapture relaxed(driver);
  cuda::Device device = 0;
  if (llvm::Error error =
          driver.check(driver->deviceGet(&device, ordinal), "cuDeviceGet(" + Twine(ordinal) + ")"))
    return error;
  // Never released: kernels stay loaded in it, and the primary context is the one that everybody
  // shares.
  cuda::Context handle = nullptr;
  if (llvm::Error error =
          driver.check(driver->primaryRetain(&handle, device), "cuDevicePrimaryCtxRetain"))
    return error;
  primaries.emplace_back(ordinal, handle);
  return handle;
}

llvm::Expected<Runtime::Entered> Runtime::enter(int32_t ordinal) {
  const Driver &driver = *driverTable;
  cuda::Context handle = nullptr;
  if (llvm::Error error = driver.check(driver->contextGetCurrent(&handle), "cuCtxGetCurrent"))
    return error;
  cuda::Device current = -1;
  if (handle)
    if (llvm::Error error = driver.check(driver->contextGetDevice(&current), "cuCtxGetDevice"))
      return error;
  if (handle && (ordinal < 0 || ordinal == current)) {
    llvm::Expected<ContextState *> state = find(handle, current);
    if (!state)
      return state.takeError();
    return Entered(driver, *state, /*pushed=*/false);
  }

  ordinal = ordinal < 0 ? 0 : ordinal;
  llvm::Expected<cuda::Context> wanted = primary(ordinal);
  if (!wanted)
    return wanted.takeError();
  handle = *wanted;
  if (llvm::Error error = driver.check(driver->contextPush(handle), "cuCtxPushCurrent"))
    return error;
  Entered entered(driver, nullptr, /*pushed=*/true);
  llvm::Expected<ContextState *> state = find(handle, ordinal);
  if (!state)
    return state.takeError();
  entered.state = *state;
  return entered;
}

llvm::Error Runtime::zeroLocked(ContextState &context, cuda::Pointer address, uint64_t bytes) {
  const Driver &driver = *driverTable;
  RelaxedCapture relaxed(driver);
  if (!context.setup)
    if (llvm::Error error = driver.check(
            driver->streamCreate(&context.setup, cuda::streamNonBlocking), "cuStreamCreate"))
      return error;
  if (llvm::Error error =
          driver.check(driver->memsetAsync(address, 0, bytes, context.setup), "cuMemsetD8Async"))
    return error;
  return driver.check(driver->streamSynchronize(context.setup), "cuStreamSynchronize");
}

llvm::Error Runtime::zeroNow(ContextState &context, cuda::Pointer address, uint64_t bytes) {
  std::lock_guard<std::mutex> lock(context.mutex);
  return zeroLocked(context, address, bytes);
}

llvm::Expected<cuda::Pointer> Runtime::scratch(ContextState &context) {
  constexpr size_t bytes = 256;
  const Driver &driver = *driverTable;
  std::lock_guard<std::mutex> lock(context.mutex);
  if (context.scratch)
    return context.scratch;
  RelaxedCapture relaxed(driver);
  cuda::Pointer address = 0;
  if (llvm::Error error = driver.check(driver->memAlloc(&address, bytes), "cuMemAlloc"))
    return error;
  if (llvm::Error error = zeroLocked(context, address, bytes))
    return error;
  context.scratch = address;
  return address;
}

} // namespace tileloom::runtime
