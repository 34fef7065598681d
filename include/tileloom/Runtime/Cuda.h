//===- Cuda.h - The few CUDA driver types that the runtime uses -----------===//
//
// Declarations of the driver's C ABI (cuda.h of CUDA 13.0), so that no CUDA header is needed to
// build. Only what a launch needs; values and layouts are part of the driver's stable ABI.
//
//===----------------------------------------------------------------------===//
#ifndef TILELOOM_RUNTIME_CUDA_H
#define TILELOOM_RUNTIME_CUDA_H

#include <cstddef>
#include <cstdint>

namespace tileloom::runtime::cuda {

using Result = int;
using Device = int;
using Context = void *;
using Module = void *;
using Function = void *;
using Stream = void *;
using Graph = void *;
using UserObject = void *;
using Pointer = uint64_t;

constexpr Result success = 0;
constexpr Result errorInvalidValue = 1;
constexpr Result errorNotSupported = 801;

enum DeviceAttribute : int {
  maxThreadsPerBlock = 1,
  multiprocessorCount = 16,
  computeCapabilityMajor = 75,
  computeCapabilityMinor = 76,
  cooperativeLaunch = 95,
  maxSharedMemoryPerBlockOptin = 97,
};

enum FunctionAttribute : int {
  functionMaxThreads = 0,
  functionSharedBytes = 1,
  functionRegisters = 4,
  functionMaxDynamicSharedBytes = 8,
  functionNonPortableCluster = 14,
};

enum PointerAttribute : int {
  pointerMemoryType = 2,
  pointerDeviceOrdinal = 9,
};
constexpr unsigned memoryTypeHost = 1;

enum JitOption : int {
  jitInfoLog = 3,
  jitInfoLogBytes = 4,
  jitErrorLog = 5,
  jitErrorLogBytes = 6,
};

enum CaptureMode : int { captureGlobal = 0, captureThreadLocal = 1, captureRelaxed = 2 };
enum CaptureStatus : int { captureNone = 0, captureActive = 1, captureInvalidated = 2 };

constexpr unsigned streamNonBlocking = 1;
constexpr unsigned userObjectNoDestructorSync = 1;
constexpr unsigned graphUserObjectMove = 1;

enum LaunchAttributeId : int {
  attributeCooperative = 2,
  attributeClusterDimension = 4,
  attributeProgrammaticStreamSerialization = 6,
};

/// CUlaunchAttribute: an id, padding to 8 bytes, and a union of 64 bytes.
struct LaunchAttribute {
  LaunchAttributeId id;
  int pad;
  union {
    char bytes[64];
    struct {
      unsigned x, y, z;
    } cluster;
    int flag;
  } value;
};
static_assert(sizeof(LaunchAttribute) == 72, "layout of CUlaunchAttribute");

/// CUlaunchConfig.
struct LaunchConfig {
  unsigned gridX, gridY, gridZ;
  unsigned blockX, blockY, blockZ;
  unsigned sharedBytes;
  Stream stream;
  LaunchAttribute *attributes;
  unsigned attributeCount;
};
static_assert(sizeof(LaunchConfig) == 56, "layout of CUlaunchConfig");

} // namespace tileloom::runtime::cuda
#endif // TILELOOM_RUNTIME_CUDA_H
