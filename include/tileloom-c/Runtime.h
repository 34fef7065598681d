//===- Runtime.h - C API of the Tileloom runtime --------------------------===//
//
// Load a compiled kernel (cubin or PTX, with its launch recipe) and launch it on CUDA memory.
// Plain C, no CUDA header needed; libcuda is opened at the first launch, so everything except
// the launch itself works without a GPU. docs/recipe.md describes the recipe.
//
// All functions may be called from any thread. No function throws or aborts on bad input:
// each returns a status, and the kernel handle keeps the text of each thread's last failure.
//
//===----------------------------------------------------------------------===//
#ifndef TILELOOM_C_RUNTIME_H
#define TILELOOM_C_RUNTIME_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define TILELOOM_API __attribute__((visibility("default")))
#else
#define TILELOOM_API
#endif

#define TILELOOM_MAX_RANK 8
#define TILELOOM_MAX_MAP_RANK 5

/// What went wrong. Everything but OK leaves a text in the handle.
typedef enum TileloomStatus {
  TILELOOM_OK = 0,
  TILELOOM_ARGUMENT_ERROR = 1, ///< an argument does not fit the recipe
  TILELOOM_RECIPE_ERROR = 2,   ///< the recipe (or the API call itself) is malformed
  TILELOOM_LAUNCH_ERROR = 3,   ///< the launch does not fit the device
  TILELOOM_DRIVER_ERROR = 4    ///< the CUDA driver is missing or refused a call
} TileloomStatus;

/// Element types, with the names used in recipes. TF32 exists only inside tensor maps.
typedef enum TileloomElement {
  TILELOOM_I1 = 0,
  TILELOOM_I8,
  TILELOOM_I16,
  TILELOOM_I32,
  TILELOOM_I64,
  TILELOOM_U8,
  TILELOOM_U16,
  TILELOOM_U32,
  TILELOOM_U64,
  TILELOOM_F16,
  TILELOOM_BF16,
  TILELOOM_F32,
  TILELOOM_F64,
  TILELOOM_E4M3,
  TILELOOM_E5M2,
  TILELOOM_E2M1, ///< two to a byte; shapes and strides count single elements
  TILELOOM_E8M0,
  TILELOOM_TF32
} TileloomElement;

/// What the caller passes for one argument of the recipe.
typedef enum TileloomArgumentKind {
  TILELOOM_TENSOR = 0,  ///< value = address; element, device, rank, shape, strides are set
  TILELOOM_POINTER = 1, ///< value = address; element and device may be unknown
  TILELOOM_SCALAR = 2   ///< value = bits of the scalar, in its low bytes; element is set
} TileloomArgumentKind;

#define TILELOOM_UNKNOWN_ELEMENT 0xffffffffu
#define TILELOOM_HOST (-1)           ///< device of memory that is not on a GPU
#define TILELOOM_UNKNOWN_DEVICE (-2) ///< device of a bare address

/// One argument. Shape and strides are in elements, outermost dimension first.
typedef struct TileloomArgument {
  uint32_t kind;    ///< TileloomArgumentKind
  uint32_t element; ///< TileloomElement
  int32_t device;   ///< CUDA device ordinal, TILELOOM_HOST or TILELOOM_UNKNOWN_DEVICE
  uint32_t rank;    ///< 0..TILELOOM_MAX_RANK
  uint64_t value;
  int64_t shape[TILELOOM_MAX_RANK];
  int64_t strides[TILELOOM_MAX_RANK];
} TileloomArgument;

/// The limits of a device that the grid and the checks depend on.
typedef struct TileloomDevice {
  int32_t ordinal; ///< tensors must carry this device (TILELOOM_HOST for a simulator)
  int32_t major;   ///< compute capability
  int32_t minor;
  int32_t multiprocessors;
  int32_t sharedBytes; ///< largest shared memory of one block (opt-in limit)
  int32_t maxThreads;  ///< largest block
} TileloomDevice;

/// A tensor map as numbers: what cuTensorMapEncodeTiled is given. Dimension 0 is the innermost;
/// strides[i] is the byte stride of dimension i + 1. The enumerated fields have the driver's values
/// (CUtensorMapDataType, CUtensorMapSwizzle, ...). It is exactly as large as the opaque map, and
/// stands in its place in the parameters that tileloomKernelEvaluate computes.
typedef struct TileloomTensorMap {
  uint64_t address;
  uint64_t extents[TILELOOM_MAX_MAP_RANK];
  uint64_t strides[TILELOOM_MAX_MAP_RANK - 1];
  uint32_t box[TILELOOM_MAX_MAP_RANK];
  uint8_t rank;
  uint8_t dataType;
  uint8_t interleave;
  uint8_t swizzle;
  uint8_t l2Promotion;
  uint8_t fill;
  uint8_t reserved[2];
  uint32_t magic; ///< TILELOOM_TENSOR_MAP_MAGIC
  uint32_t padding[4];
} TileloomTensorMap;

#define TILELOOM_TENSOR_MAP_MAGIC 0x50414d54u /* "TMAP" */

typedef enum TileloomParameterKind {
  TILELOOM_PARAMETER_VALUE = 0,      ///< scalar, address, extent or stride: the bytes are final
  TILELOOM_PARAMETER_TENSOR_MAP = 1, ///< the bytes are a TileloomTensorMap
  TILELOOM_PARAMETER_WORKSPACE = 2   ///< eight zero bytes: put the address of a buffer there
} TileloomParameterKind;

typedef struct TileloomParameter {
  uint32_t kind;           ///< TileloomParameterKind
  uint32_t offset;         ///< byte offset in the parameter space, as PTX lays it out
  uint32_t size;           ///< bytes
  uint32_t zero;           ///< workspace: needs zero bytes at first use
  uint64_t workspaceBytes; ///< workspace: size of the buffer
} TileloomParameter;

/// A computed launch. `grid` has a zero extent if nothing is to be launched.
typedef struct TileloomLaunch {
  uint32_t grid[3];
  uint32_t cluster[3];
  uint32_t threads;
  uint32_t sharedBytes;
  uint32_t cooperative;
  uint32_t dependent;
  uint32_t parameterCount;
  uint32_t parameterBytes;
  const TileloomParameter *parameters;
  const unsigned char *bytes; ///< parameterBytes bytes
} TileloomLaunch;

typedef struct TileloomKernel TileloomKernel;

/// Version of the library, "major.minor.patch".
TILELOOM_API const char *tileloomVersion(void);

/// Makes a kernel of `image` (cubin, fatbin or PTX text; copied; may be null when the kernel is
/// only evaluated) and `recipe` (JSON). `*kernel` is set even on failure, to hold the error text;
/// it must be released in either case.
TILELOOM_API TileloomStatus tileloomKernelCreate(const void *image, size_t imageSize,
                                                 const char *recipe, size_t recipeSize,
                                                 TileloomKernel **kernel);

/// Unloads the kernel and frees its workspaces. The caller makes sure that nothing still runs it,
/// and that no captured graph refers to it.
TILELOOM_API void tileloomKernelRelease(TileloomKernel *kernel);

/// Text of the calling thread's last failed call on this kernel; "" if there was none. The text is
/// valid until the same thread's next failing call on the handle, or its release.
TILELOOM_API const char *tileloomKernelError(TileloomKernel *kernel);

/// Checks the arguments and launches on `stream` (a CUstream; null is the legacy default stream).
/// The device is that of the tensors; without any, the current one. Legal during graph capture,
/// also as the first launch.
TILELOOM_API TileloomStatus tileloomKernelLaunch(TileloomKernel *kernel,
                                                 const TileloomArgument *arguments, size_t count,
                                                 void *stream);

/// As tileloomKernelLaunch, on a grid of three extents (null: the recipe's). For kernels whose
/// recipe has `"grid": {"given": true}`; instead of the grid that a recipe computes it is taken too.
TILELOOM_API TileloomStatus tileloomKernelLaunchGrid(TileloomKernel *kernel,
                                                     const TileloomArgument *arguments,
                                                     size_t count, const uint32_t *grid,
                                                     void *stream);

/// Loads the kernel on a device ahead of its first launch. A negative ordinal means the current
/// one.
TILELOOM_API TileloomStatus tileloomKernelPreload(TileloomKernel *kernel, int32_t ordinal);

/// Computes the launch that these arguments ask for on `device`, without a GPU. Release the result.
TILELOOM_API TileloomStatus tileloomKernelEvaluate(TileloomKernel *kernel,
                                                   const TileloomDevice *device,
                                                   const TileloomArgument *arguments, size_t count,
                                                   TileloomLaunch **launch);
/// The same on a grid of three extents (null: the recipe's).
TILELOOM_API TileloomStatus tileloomKernelEvaluateGrid(
    TileloomKernel *kernel, const TileloomDevice *device, const TileloomArgument *arguments,
    size_t count, const uint32_t *grid, TileloomLaunch **launch);
TILELOOM_API void tileloomLaunchRelease(TileloomLaunch *launch);

#ifdef __cplusplus
}
#endif
#endif // TILELOOM_C_RUNTIME_H
