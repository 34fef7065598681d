/*===- RuntimeTest.c - The C API of the runtime from C ---------------------===*\
|*
|* Create, evaluate, launch, error texts and release, in plain C. Prints what failed and returns how
many.
|*
\*===----------------------------------------------------------------------===*/
#include "tileloom-c/Runtime.h"
#include <stdio.h>
#include <string.h>

static int failures;
#define CHECK(condition)                                                                           \
  do {                                                                                             \
    if (!(condition)) {                                                                            \
      printf("%s:%d: failed: %s\n", __FILE__, __LINE__, #condition);                               \
      ++failures;                                                                                  \
    }                                                                                              \
  } while (0)

static const char recipe[] =
    "{\"version\": 1, \"kernel\": \"k\", \"target\": \"sm_90a\","
    " \"arguments\": [{\"name\": \"a\", \"kind\": \"tensor\", \"element\": \"f32\", \"rank\": 2},"
    "                 {\"name\": \"n\", \"kind\": \"scalar\", \"element\": \"i32\"}],"
    " \"parameters\": [{\"kind\": \"tensor_map\", \"argument\": 0, \"box\": [32, 8], \"swizzle\": "
    "128},"
    "                  {\"kind\": \"argument\", \"argument\": 1}, {\"kind\": \"workspace\", "
    "\"bytes\": 16}],"
    " \"launch\": {\"grid\": {\"x\": {\"argument\": 1}}, \"threads\": 64}}";

static TileloomArgument tensor(void) {
  TileloomArgument a;
  memset(&a, 0, sizeof(a));
  a.kind = TILELOOM_TENSOR;
  a.element = TILELOOM_F32;
  a.rank = 2;
  a.value = 0x1000;
  a.shape[0] = 100;
  a.shape[1] = 32;
  a.strides[0] = 32;
  a.strides[1] = 1;
  return a;
}

static TileloomArgument scalar(int value) {
  TileloomArgument a;
  memset(&a, 0, sizeof(a));
  a.kind = TILELOOM_SCALAR;
  a.element = TILELOOM_I32;
  a.device = TILELOOM_UNKNOWN_DEVICE;
  a.value = (uint32_t)value;
  return a;
}

static void evaluate(TileloomKernel *kernel) {
  TileloomArgument arguments[2];
  TileloomDevice device = {0, 9, 0, 132, 232448, 1024};
  TileloomLaunch *launch = NULL;
  arguments[0] = tensor();
  arguments[1] = scalar(7);
  CHECK(tileloomKernelEvaluate(kernel, &device, arguments, 2, &launch) == TILELOOM_OK);
  if (launch) {
    TileloomTensorMap map;
    CHECK(launch->grid[0] == 7 && launch->grid[1] == 1 && launch->grid[2] == 1);
    CHECK(launch->threads == 64 && launch->parameterCount == 3 && launch->parameterBytes == 144);
    CHECK(launch->parameters[1].offset == 128 && launch->bytes[128] == 7);
    CHECK(launch->parameters[2].workspaceBytes == 16);
    memcpy(&map, launch->bytes, sizeof(map));
    CHECK(map.magic == TILELOOM_TENSOR_MAP_MAGIC && map.extents[0] == 32 && map.extents[1] == 100);
    CHECK(map.strides[0] == 128);
  }
  tileloomLaunchRelease(launch);
  CHECK(tileloomKernelEvaluate(kernel, NULL, arguments, 2, &launch) == TILELOOM_ARGUMENT_ERROR);
  CHECK(launch == NULL);
  CHECK(!strcmp(tileloomKernelError(kernel), "the device is a null pointer; needed its limits"));
}

static void launch(TileloomKernel *kernel) {
  TileloomArgument arguments[2];
  arguments[0] = tensor();
  arguments[1] = scalar(7);
  CHECK(tileloomKernelLaunch(kernel, arguments, 2, NULL) == TILELOOM_OK);
  CHECK(tileloomKernelPreload(kernel, 0) == TILELOOM_OK);
  CHECK(tileloomKernelPreload(kernel, 99) == TILELOOM_DRIVER_ERROR);
  arguments[0].rank = 1000000;
  CHECK(tileloomKernelLaunch(kernel, arguments, 2, NULL) == TILELOOM_ARGUMENT_ERROR);
  CHECK(!strcmp(tileloomKernelError(kernel),
                "kernel 'k', argument 0: rank is 1000000; needed at most 8"));
  CHECK(tileloomKernelLaunch(kernel, NULL, 2, NULL) == TILELOOM_ARGUMENT_ERROR);
  CHECK(
      !strcmp(tileloomKernelError(kernel), "the arguments are a null pointer; needed 2 arguments"));
}

int main(void) {
  TileloomKernel *kernel = NULL;
  CHECK(sizeof(TileloomTensorMap) == 128);
  CHECK(strlen(tileloomVersion()) >= 5);

  CHECK(tileloomKernelCreate("// PTX", 6, recipe, sizeof(recipe) - 1, &kernel) == TILELOOM_OK);
  CHECK(!strcmp(tileloomKernelError(kernel), ""));
  evaluate(kernel);
  launch(kernel);
  tileloomKernelRelease(kernel);

  CHECK(tileloomKernelCreate(NULL, 0, "{}", 2, &kernel) == TILELOOM_RECIPE_ERROR);
  CHECK(!strcmp(tileloomKernelError(kernel), "recipe: version is missing; needed an integer 1..1"));
  CHECK(tileloomKernelLaunch(kernel, NULL, 0, NULL) == TILELOOM_RECIPE_ERROR);
  tileloomKernelRelease(kernel);
  CHECK(tileloomKernelCreate(NULL, 0, NULL, 0, &kernel) == TILELOOM_RECIPE_ERROR);
  tileloomKernelRelease(kernel);
  tileloomKernelRelease(NULL);
  tileloomLaunchRelease(NULL);
  return failures;
}
