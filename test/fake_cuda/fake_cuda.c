//===- fake_cuda.c - A CUDA driver that records its calls -----------------===//
//
// Stands in for libcuda in tests without a GPU. Every call is appended as one line to a log: in
// memory (fakeCudaLog), and in the file $TILELOOM_FAKE_CUDA_LOG if set. It keeps the rules that the
// runtime relies on: allocation, module load and synchronisation spoil a capture unless the calling
// thread is in relaxed mode, and an unknown stream or device is refused. $TILELOOM_FAKE_CUDA (or
// fakeCudaSet) changes it: "devices=2,major=10,multiprocessors=148,...".
//
//===----------------------------------------------------------------------===//
#include "fake_cuda.h"
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  const char *name;
  long value;
} Setting;

static Setting settings[] = {
    {"devices", 1},
    {"major", 9},
    {"minor", 0},
    {"multiprocessors", 132},
    {"shared", 232448},
    {"threads", 1024},
    {"cooperative", 1},
    {"function_threads", 1024},
    {"static_shared", 0},
    {"registers", 64},
    {"blocks", 1},
    {"clusters", 16},
    {"current", 0},
    {"capture", 0},
    {"graph", 1},
    {"fail_code", 1},
    {"parameters", -1},
    {"pointer_device", 0},
    {"pointer_known", 1},
    {"quiet", 0},
    {NULL, 0},
};
static char failing[64]; // name of the function that fails
static size_t parameterOffsets[64], parameterSizes[64];

static char *logText;
static size_t logSize, logRoom;
_Thread_local int fakeCaptureMode;
static _Thread_local int depth; // pushed contexts
static _Thread_local long stack[16];
static int spoilt;

static long *find(const char *name, size_t length) {
  for (Setting *s = settings; s->name; ++s)
    if (strlen(s->name) == length && !strncmp(s->name, name, length))
      return &s->value;
  return NULL;
}
long fakeSetting(const char *name) { return *find(name, strlen(name)); }

void fakeRecord(const char *format, ...) {
  if (fakeSetting("quiet"))
    return;
  char line[2048];
  va_list list;
  va_start(list, format);
  vsnprintf(line, sizeof(line) - 1, format, list);
  va_end(list);
  strcat(line, "\n");
  size_t length = strlen(line);
  if (logSize + length + 1 > logRoom) {
    logRoom = (logRoom + length) * 2 + 4096;
    logText = realloc(logText, logRoom);
  }
  memcpy(logText + logSize, line, length + 1);
  logSize += length;
  const char *path = getenv("TILELOOM_FAKE_CUDA_LOG");
  if (path) {
    FILE *file = fopen(path, "a");
    if (file) {
      fputs(line, file);
      fclose(file);
    }
  }
}

EXPORT void fakeCudaClear(void) {
  logSize = 0;
  if (logText)
    logText[0] = 0;
}

/// "key=value,key=value"; "fail=cuMemAlloc_v2" makes that function fail with fail_code.
EXPORT void fakeCudaSet(const char *text) {
  while (*text) {
    const char *equals = strchr(text, '=');
    const char *end = strchr(text, ',');
    if (!equals)
      return;
    if (!end)
      end = text + strlen(text);
    size_t length = (size_t)(equals - text);
    if (length == 4 && !strncmp(text, "fail", 4)) {
      size_t size = (size_t)(end - equals - 1);
      memcpy(failing, equals + 1, size);
      failing[size] = 0;
    } else if (find(text, length)) {
      *find(text, length) = strtol(equals + 1, NULL, 0);
    } else {
      fprintf(stderr, "fake_cuda: unknown setting %.*s\n", (int)length, text);
      abort();
    }
    text = *end ? end + 1 : end;
  }
}
/// Puts all settings back and forgets the log and pushed contexts.
EXPORT void fakeCudaReset(void) {
  static Setting first[sizeof(settings) / sizeof(settings[0])];
  if (!first[0].name)
    memcpy(first, settings, sizeof(settings));
  memcpy(settings, first, sizeof(settings));
  failing[0] = 0;
  depth = 0;
  spoilt = 0;
  fakeCudaClear();
}
EXPORT void fakeCudaSetParameter(int index, size_t offset, size_t size) {
  parameterOffsets[index] = offset;
  parameterSizes[index] = size;
}
EXPORT const char *fakeCudaLog(void) { return logText ? logText : ""; }
EXPORT int fakeCudaSpoilt(void) { return spoilt; }

int fakeFailure(const char *name) {
  return !strcmp(failing, name) ? (int)fakeSetting("fail_code") : 0;
}
int fakeSpoils(const char *name) {
  if (!fakeSetting("capture") || fakeCaptureMode == 2)
    return 0;
  spoilt = 1;
  fakeRecord("SPOILT %s", name);
  return 1;
}

EXPORT int cuInit(unsigned flags) {
  const char *text = getenv("TILELOOM_FAKE_CUDA");
  if (text)
    fakeCudaSet(text);
  fakeRecord("cuInit %u", flags);
  FAILS();
  return 0;
}
EXPORT int cuGetErrorName(int code, const char **name) {
  *name = code == 1     ? "CUDA_ERROR_INVALID_VALUE"
          : code == 2   ? "CUDA_ERROR_OUT_OF_MEMORY"
          : code == 218 ? "CUDA_ERROR_INVALID_PTX"
          : code == 900 ? "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"
                        : "CUDA_ERROR_FAKE";
  return 0;
}
EXPORT int cuGetErrorString(int code, const char **text) {
  *text = code == 2 ? "out of memory" : "fake text";
  return 0;
}
EXPORT int cuDeviceGet(int *device, int ordinal) {
  FAILS();
  *device = ordinal;
  return ordinal < fakeSetting("devices") ? 0 : 101;
}
EXPORT int cuDeviceGetName(char *name, int size, int device) {
  snprintf(name, (size_t)size, "Fake %d", device);
  return 0;
}
EXPORT int cuDeviceGetAttribute(int *value, int attribute, int device) {
  FAILS();
  (void)device;
  const char *name = attribute == 1    ? "threads"
                     : attribute == 16 ? "multiprocessors"
                     : attribute == 75 ? "major"
                     : attribute == 76 ? "minor"
                     : attribute == 95 ? "cooperative"
                     : attribute == 97 ? "shared"
                                       : NULL;
  if (!name)
    return 1;
  *value = (int)fakeSetting(name);
  return 0;
}

// Context n is the address 0x1000 + n; "current" is what the thread had before anything was pushed,
// -1 none.
EXPORT int cuDevicePrimaryCtxRetain(void **context, int device) {
  fakeRecord("cuDevicePrimaryCtxRetain %d", device);
  *context = (void *)(uintptr_t)(0x1000 + device);
  return 0;
}
static long currentContext(void) { return depth ? stack[depth - 1] : fakeSetting("current"); }
EXPORT int cuCtxGetCurrent(void **context) {
  long current = currentContext();
  *context = current < 0 ? NULL : (void *)(uintptr_t)(0x1000 + current);
  return 0;
}
EXPORT int cuCtxGetDevice(int *device) {
  *device = (int)currentContext();
  return 0;
}
EXPORT int cuCtxGetId(void *context, unsigned long long *id) {
  *id = (uintptr_t)context;
  return 0;
}
EXPORT int cuCtxPushCurrent_v2(void *context) {
  stack[depth++] = (long)((uintptr_t)context - 0x1000);
  fakeRecord("cuCtxPushCurrent %ld", stack[depth - 1]);
  return 0;
}
EXPORT int cuCtxPopCurrent_v2(void **context) {
  *context = (void *)(uintptr_t)(0x1000 + stack[--depth]);
  fakeRecord("cuCtxPopCurrent");
  return 0;
}

EXPORT int cuModuleLoadDataEx(void **module, const void *image, unsigned count, int *options,
                              void **values) {
  fakeRecord("cuModuleLoadDataEx %.16s", (const char *)image);
  UNCAPTURABLE();
  int code = fakeFailure(__func__);
  for (unsigned i = 0; i < count && code; ++i)
    if (options[i] == 5)
      strcpy(values[i], "ptxas: line 7: unknown instruction\n");
  if (code)
    return code;
  *module = (void *)0x2000;
  return 0;
}
EXPORT int cuModuleUnload(void *module) {
  fakeRecord("cuModuleUnload");
  UNCAPTURABLE();
  (void)module;
  return 0;
}
EXPORT int cuModuleGetFunction(void **function, void *module, const char *name) {
  fakeRecord("cuModuleGetFunction %s", name);
  FAILS();
  (void)module;
  *function = (void *)0x3000;
  return 0;
}
EXPORT int cuFuncGetAttribute(int *value, int attribute, void *function) {
  (void)function;
  *value = (int)fakeSetting(attribute == 0   ? "function_threads"
                            : attribute == 1 ? "static_shared"
                                             : "registers");
  return 0;
}
EXPORT int cuFuncSetAttribute(void *function, int attribute, int value) {
  (void)function;
  fakeRecord("cuFuncSetAttribute %d %d", attribute, value);
  FAILS();
  return 0;
}
EXPORT int cuFuncGetParamInfo(void *function, size_t index, size_t *offset, size_t *size) {
  (void)function;
  long count = fakeSetting("parameters");
  if (count < 0)
    return 801; // not supported: as if the recipe could not be compared
  if ((long)index >= count)
    return 1;
  *offset = parameterOffsets[index];
  *size = parameterSizes[index];
  return 0;
}
EXPORT int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void *function, int threads,
                                                       size_t shared) {
  (void)function, (void)threads, (void)shared;
  *blocks = (int)fakeSetting("blocks");
  return 0;
}

typedef struct {
  int id, pad;
  union {
    char bytes[64];
    unsigned cluster[3];
    int flag;
  } value;
} Attribute;
typedef struct {
  unsigned grid[3], block[3], shared;
  void *stream;
  Attribute *attributes;
  unsigned count;
} Config;

EXPORT int cuOccupancyMaxActiveClusters(int *clusters, void *function, const Config *config) {
  (void)function, (void)config;
  *clusters = (int)fakeSetting("clusters");
  return 0;
}

EXPORT int cuLaunchKernelEx(const Config *config, void *function, void **parameters, void **extra) {
  (void)function, (void)extra;
  FAILS();
  if (fakeSetting("quiet"))
    return 0;
  char attributes[256] = "";
  for (unsigned i = 0; i < config->count; ++i) {
    const Attribute *a = &config->attributes[i];
    char text[64];
    if (a->id == 4)
      snprintf(text, sizeof(text), " cluster=%ux%ux%u", a->value.cluster[0], a->value.cluster[1],
               a->value.cluster[2]);
    else
      snprintf(text, sizeof(text), " attribute%d=%d", a->id, a->value.flag);
    strcat(attributes, text);
  }
  fakeRecord("cuLaunchKernelEx grid=%ux%ux%u block=%ux%ux%u shared=%u stream=%p%s", config->grid[0],
             config->grid[1], config->grid[2], config->block[0], config->block[1], config->block[2],
             config->shared, config->stream, attributes);
  long count = fakeSetting("parameters");
  for (long i = 0; i < count; ++i) {
    char text[300] = "";
    for (size_t b = 0; b < parameterSizes[i]; ++b)
      sprintf(text + 2 * b, "%02x", ((unsigned char *)parameters[i])[b]);
    fakeRecord("parameter %ld %s", i, text);
  }
  return 0;
}
