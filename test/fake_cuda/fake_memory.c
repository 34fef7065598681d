//===- fake_memory.c - Memory, streams and graphs of the recording driver -===//
//
// The half of the fake driver that is about memory, tensor maps, streams, graph capture and user
// objects.
//
//===----------------------------------------------------------------------===//
#include "fake_cuda.h"
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static uint64_t nextPointer = 0x700000000000u;
static unsigned long long nextStream = 100;

EXPORT int cuMemAlloc_v2(uint64_t *pointer, size_t bytes) {
  fakeRecord("cuMemAlloc %zu", bytes);
  UNCAPTURABLE();
  FAILS();
  *pointer = nextPointer;
  nextPointer += (bytes + 511) / 512 * 512;
  return 0;
}
EXPORT int cuMemFree_v2(uint64_t pointer) {
  fakeRecord("cuMemFree 0x%llx", (unsigned long long)pointer);
  UNCAPTURABLE();
  return 0;
}
EXPORT int cuMemsetD8Async(uint64_t pointer, unsigned char value, size_t bytes, void *stream) {
  fakeRecord("cuMemsetD8Async 0x%llx %u %zu stream=%p", (unsigned long long)pointer, value, bytes,
             stream);
  FAILS();
  return 0;
}
EXPORT int cuPointerGetAttribute(void *value, int attribute, uint64_t pointer) {
  fakeRecord("cuPointerGetAttribute %d 0x%llx", attribute, (unsigned long long)pointer);
  if (!fakeSetting("pointer_known"))
    return 1;
  *(int *)value = attribute == 2 ? 2 : (int)fakeSetting("pointer_device");
  return 0;
}
EXPORT int cuStreamCreate(void **stream, unsigned flags) {
  fakeRecord("cuStreamCreate %u", flags);
  UNCAPTURABLE();
  *stream = (void *)(uintptr_t)nextStream++;
  return 0;
}
EXPORT int cuStreamSynchronize(void *stream) {
  fakeRecord("cuStreamSynchronize %p", stream);
  UNCAPTURABLE();
  return 0;
}
EXPORT int cuStreamGetId(void *stream, unsigned long long *id) {
  *id = (uintptr_t)stream;
  return 0;
}
// "capture" is the handle of the capturing stream, "graph" the id of its capture.
EXPORT int cuStreamGetCaptureInfo_v2(void *stream, int *status, uint64_t *id, void **graph,
                                     const void **dependencies, size_t *count) {
  (void)dependencies, (void)count;
  FAILS();
  *status = fakeSetting("capture") && (long)(uintptr_t)stream == fakeSetting("capture");
  if (*status) {
    *id = (uint64_t)fakeSetting("graph");
    *graph = (void *)(uintptr_t)(0x5000 + fakeSetting("graph"));
  }
  return 0;
}
EXPORT int cuThreadExchangeStreamCaptureMode(int *mode) {
  int old = fakeCaptureMode;
  fakeCaptureMode = *mode;
  *mode = old;
  return 0;
}

static struct {
  void (*destroy)(void *);
  void *pointer;
  void *graph;
} objects[64];
static int objectCount;

EXPORT int cuUserObjectCreate(void **object, void *pointer, void (*destroy)(void *), unsigned count,
                              unsigned flags) {
  fakeRecord("cuUserObjectCreate %u %u", count, flags);
  FAILS();
  objects[objectCount].destroy = destroy;
  objects[objectCount].pointer = pointer;
  *object = (void *)(uintptr_t)(++objectCount);
  return 0;
}
EXPORT int cuGraphRetainUserObject(void *graph, void *object, unsigned count, unsigned flags) {
  fakeRecord("cuGraphRetainUserObject %p %u %u", graph, count, flags);
  objects[(uintptr_t)object - 1].graph = graph;
  return 0;
}
/// The graph with this capture id goes away, as cuGraphDestroy and cuGraphExecDestroy do it.
EXPORT void fakeCudaDestroyGraph(long id) {
  for (int i = 0; i < objectCount; ++i)
    if (objects[i].graph == (void *)(uintptr_t)(0x5000 + id)) {
      objects[i].graph = NULL;
      objects[i].destroy(objects[i].pointer);
    }
}

EXPORT int cuTensorMapEncodeTiled(void *map, int type, uint32_t rank, void *address,
                                  const uint64_t *extents, const uint64_t *strides,
                                  const uint32_t *box, const uint32_t *elementStrides,
                                  int interleave, int swizzle, int promotion, int fill) {
  char text[512];
  int n = snprintf(text, sizeof(text), "type=%d rank=%u address=%p extents=", type, rank, address);
  for (uint32_t i = 0; i < rank; ++i)
    n += snprintf(text + n, sizeof(text) - (size_t)n, "%s%llu", i ? "," : "",
                  (unsigned long long)extents[i]);
  n += snprintf(text + n, sizeof(text) - (size_t)n, " strides=");
  for (uint32_t i = 0; i + 1 < rank; ++i)
    n += snprintf(text + n, sizeof(text) - (size_t)n, "%s%llu", i ? "," : "",
                  (unsigned long long)strides[i]);
  n += snprintf(text + n, sizeof(text) - (size_t)n, " box=");
  for (uint32_t i = 0; i < rank; ++i)
    n += snprintf(text + n, sizeof(text) - (size_t)n, "%s%u", i ? "," : "", box[i]);
  n += snprintf(text + n, sizeof(text) - (size_t)n, " element_strides=");
  for (uint32_t i = 0; i < rank; ++i)
    n += snprintf(text + n, sizeof(text) - (size_t)n, "%s%u", i ? "," : "", elementStrides[i]);
  fakeRecord("cuTensorMapEncodeTiled %s interleave=%d swizzle=%d promotion=%d fill=%d", text,
             interleave, swizzle, promotion, fill);
  FAILS();
  if ((uintptr_t)map % 64)
    return 1;
  memset(map, 0xab, 128);
  memcpy(map, &address, sizeof(address));
  return 0;
}
