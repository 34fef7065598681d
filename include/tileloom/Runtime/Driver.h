//===- Driver.h - The CUDA driver as a table of functions -----------------===//
//
// libcuda is opened at run time and looked up by symbol name. The table can be filled from any
// source of symbols, so tests put a recording driver in its place. Optional functions (newer than
// CUDA 12.0, the first release that knows tensor maps) are null where the driver lacks them.
//
//===----------------------------------------------------------------------===//
#ifndef TILELOOM_RUNTIME_DRIVER_H
#define TILELOOM_RUNTIME_DRIVER_H

#include "tileloom/Runtime/Cuda.h"
#include "tileloom/Runtime/Error.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <memory>

namespace tileloom::runtime {

// X(member, symbol, parameter types). The symbols are those that libcuda exports for the current
// versions.
#define TILELOOM_CUDA_REQUIRED(X)                                                                  \
  X(init, "cuInit", (unsigned))                                                                    \
  X(getErrorName, "cuGetErrorName", (cuda::Result, const char **))                                 \
  X(getErrorString, "cuGetErrorString", (cuda::Result, const char **))                             \
  X(deviceGet, "cuDeviceGet", (cuda::Device *, int))                                               \
  X(deviceGetName, "cuDeviceGetName", (char *, int, cuda::Device))                                 \
  X(deviceGetAttribute, "cuDeviceGetAttribute", (int *, int, cuda::Device))                        \
  X(primaryRetain, "cuDevicePrimaryCtxRetain", (cuda::Context *, cuda::Device))                    \
  X(contextGetCurrent, "cuCtxGetCurrent", (cuda::Context *))                                       \
  X(contextGetDevice, "cuCtxGetDevice", (cuda::Device *))                                          \
  X(contextGetId, "cuCtxGetId", (cuda::Context, unsigned long long *))                             \
  X(contextPush, "cuCtxPushCurrent_v2", (cuda::Context))                                           \
  X(contextPop, "cuCtxPopCurrent_v2", (cuda::Context *))                                           \
  X(moduleLoad, "cuModuleLoadDataEx", (cuda::Module *, const void *, unsigned, int *, void **))    \
  X(moduleUnload, "cuModuleUnload", (cuda::Module))                                                \
  X(moduleGetFunction, "cuModuleGetFunction", (cuda::Function *, cuda::Module, const char *))      \
  X(functionGetAttribute, "cuFuncGetAttribute", (int *, int, cuda::Function))                      \
  X(functionSetAttribute, "cuFuncSetAttribute", (cuda::Function, int, int))                        \
  X(occupancyBlocks, "cuOccupancyMaxActiveBlocksPerMultiprocessor",                                \
    (int *, cuda::Function, int, size_t))                                                          \
  X(occupancyClusters, "cuOccupancyMaxActiveClusters",                                             \
    (int *, cuda::Function, const cuda::LaunchConfig *))                                           \
  X(launch, "cuLaunchKernelEx", (const cuda::LaunchConfig *, cuda::Function, void **, void **))    \
  X(memAlloc, "cuMemAlloc_v2", (cuda::Pointer *, size_t))                                          \
  X(pointerGetAttribute, "cuPointerGetAttribute", (void *, int, cuda::Pointer))                    \
  X(memFree, "cuMemFree_v2", (cuda::Pointer))                                                      \
  X(memsetAsync, "cuMemsetD8Async", (cuda::Pointer, unsigned char, size_t, cuda::Stream))          \
  X(streamCreate, "cuStreamCreate", (cuda::Stream *, unsigned))                                    \
  X(streamSynchronize, "cuStreamSynchronize", (cuda::Stream))                                      \
  X(streamGetId, "cuStreamGetId", (cuda::Stream, unsigned long long *))                            \
  X(streamGetCaptureInfo, "cuStreamGetCaptureInfo_v2",                                             \
    (cuda::Stream, int *, uint64_t *, cuda::Graph *, const void **, size_t *))                     \
  X(exchangeCaptureMode, "cuThreadExchangeStreamCaptureMode", (int *))                             \
  X(encodeTiled, "cuTensorMapEncodeTiled",                                                         \
    (void *, int, uint32_t, void *, const uint64_t *, const uint64_t *, const uint32_t *,          \
     const uint32_t *, int, int, int, int))

#define TILELOOM_CUDA_OPTIONAL(X)                                                                  \
  X(functionGetParameter, "cuFuncGetParamInfo", (cuda::Function, size_t, size_t *, size_t *))      \
  X(userObjectCreate, "cuUserObjectCreate",                                                        \
    (cuda::UserObject *, void *, void (*)(void *), unsigned, unsigned))                            \
  X(graphRetainUserObject, "cuGraphRetainUserObject",                                              \
    (cuda::Graph, cuda::UserObject, unsigned, unsigned))

struct DriverTable {
#define TILELOOM_MEMBER(member, symbol, types) cuda::Result(*member) types = nullptr;
  TILELOOM_CUDA_REQUIRED(TILELOOM_MEMBER)
  TILELOOM_CUDA_OPTIONAL(TILELOOM_MEMBER)
#undef TILELOOM_MEMBER
};

class Driver {
public:
  /// Opens `path`, or if it is empty $TILELOOM_CUDA_LIBRARY or libcuda.so.1, and initialises CUDA.
  static llvm::Expected<std::unique_ptr<Driver>> open(const std::string &path = "");

  /// Fills the table from `lookUp` (null for an unknown symbol) and initialises.
  static llvm::Expected<std::unique_ptr<Driver>>
  fromSymbols(llvm::function_ref<void *(const char *)> lookUp, llvm::StringRef origin);

  const DriverTable *operator->() const { return &table; }

  /// An error of kind Driver: "WHAT: CUDA_ERROR_X (n): text", or success.
  llvm::Error check(cuda::Result result, const llvm::Twine &what) const;

private:
  DriverTable table;
};

/// While it lives, calls of this thread that may not be captured (allocation, module load) neither
/// fail nor spoil a graph capture that is under way anywhere in the process (CUDA driver API,
/// cuThreadExchangeStreamCaptureMode).
class RelaxedCapture {
public:
  explicit RelaxedCapture(const Driver &driver) : driver(driver) { exchange(); }
  ~RelaxedCapture() { exchange(); }
  RelaxedCapture(const RelaxedCapture &) = delete;

private:
  void exchange() { driver->exchangeCaptureMode(&mode); }
  const Driver &driver;
  int mode = cuda::captureRelaxed;
};

} // namespace tileloom::runtime
#endif // TILELOOM_RUNTIME_DRIVER_H
