//===- Driver.cpp - The CUDA driver as a table of functions ---------------===//
//
// Opening libcuda and turning its result codes into errors.
//
//===----------------------------------------------------------------------===//
#include "tileloom/Runtime/Driver.h"
#include <cstdlib>
#include <dlfcn.h>

namespace tileloom::runtime {

using llvm::Twine;

llvm::Error Driver::check(cuda::Result result, const Twine &what) const {
  if (result == cuda::success)
    return llvm::Error::success();
  const char *name = nullptr;
  const char *text = nullptr;
  if (table.getErrorName(result, &name) != cuda::success || !name)
    name = "unknown CUDA error";
  if (table.getErrorString(result, &text) != cuda::success || !text)
    text = "no description";
  return makeError(ErrorKind::Driver, what + ": " + name + " (" + Twine(result) + "): " + text);
}

llvm::Expected<std::unique_ptr<Driver>>
Driver::fromSymbols(llvm::function_ref<void *(const char *)> lookUp, llvm::StringRef origin) {
  auto driver = std::make_unique<Driver>();
  const char *missing = nullptr;
#define TILELOOM_LOAD(member, symbol, types)                                                       \
  driver->table.member = reinterpret_cast<cuda::Result(*) types>(lookUp(symbol));
#define TILELOOM_LOAD_REQUIRED(member, symbol, types)                                              \
  TILELOOM_LOAD(member, symbol, types)                                                             \
  if (!driver->table.member && !missing)                                                           \
    missing = symbol;
  TILELOOM_CUDA_REQUIRED(TILELOOM_LOAD_REQUIRED)
  TILELOOM_CUDA_OPTIONAL(TILELOOM_LOAD)
#undef TILELOOM_LOAD
#undef TILELOOM_LOAD_REQUIRED
  if (missing)
    return makeError(ErrorKind::Driver, "the CUDA driver " + origin + " has no " + missing +
                                            "; needed a driver for CUDA 12.0 or later");
  if (llvm::Error error = driver->check(driver->table.init(0), "cuInit"))
    return error;
  return driver;
}

llvm::Expected<std::unique_ptr<Driver>> Driver::open(const std::string &path) {
  std::string name = path;
  if (name.empty())
    if (const char *variable = std::getenv("TILELOOM_CUDA_LIBRARY"))
      name = variable;
  if (name.empty())
    name = "libcuda.so.1";
  // Never closed: the driver keeps threads and exit handlers of its own.
  void *library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char *reason = dlerror();
    return makeError(ErrorKind::Driver, "cannot open the CUDA driver " + name + ": " +
                                            (reason ? reason : "no reason given"));
  }
  return fromSymbols([&](const char *symbol) { return dlsym(library, symbol); }, name);
}

} // namespace tileloom::runtime
