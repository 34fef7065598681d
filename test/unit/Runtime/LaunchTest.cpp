//===- LaunchTest.cpp - A compiled kernel and its launches ----------------===//
//
// What reaches the driver: the configuration, the parameter bytes, the tensor map calls, the loads;
// and what never reaches it.
//
//===----------------------------------------------------------------------===//
#include "Fake.h"

using namespace tileloom::runtime;

namespace {
struct LaunchTest : FakeDriver {
  const std::string mapA =
      R"({"kind": "tensor_map", "argument": 0, "box": [64, 8], "swizzle": 128, "l2_promotion": 256})";
  std::vector<TileloomArgument> given = {tensor(TILELOOM_BF16, {100, 64}, {72, 1}, 0xabc0)};
};
} // namespace

TEST_F(LaunchTest, ConfigurationAndParameters) {
  Kernel k = kernel(
      std::string(tensorA) + R"(, {"name": "n", "kind": "scalar", "element": "i32"})",
      R"({"kind": "argument", "argument": 1}, {"kind": "argument", "argument": 0},
                       {"kind": "stride", "argument": 0, "axis": 0})",
      R"("grid": {"x": {"argument": 1}, "y": 2}, "cluster": [2, 1, 1], "shared_bytes": 100000,
                       "cooperative": false, "dependent": true)");
  set("parameters=3");
  auto setParameter = function<void(int, size_t, size_t)>("fakeCudaSetParameter");
  setParameter(0, 0, 4);
  setParameter(1, 8, 8);
  setParameter(2, 16, 8);
  given.push_back(scalar(TILELOOM_I32, 6));
  EXPECT_EQ(text(k.launch(given, stream(0x55))), "");
  std::string calls = log();
  EXPECT_EQ(line(calls, "cuLaunchKernelEx"),
            "cuLaunchKernelEx grid=6x2x1 block=128x1x1 shared=100000 stream=0x55 cluster=2x1x1 "
            "attribute6=1");
  EXPECT_EQ(line(calls, "parameter 0"), "parameter 0 06000000");
  EXPECT_EQ(line(calls, "parameter 1"), "parameter 1 c0ab000000000000");
  EXPECT_EQ(line(calls, "parameter 2"), "parameter 2 4800000000000000");
  EXPECT_EQ(line(calls, "cuFuncSetAttribute"), "cuFuncSetAttribute 8 100000");
}

TEST_F(LaunchTest, GridOfTheCaller) {
  Kernel k = kernel(tensorA, "", R"("grid": {"given": true})");
  Grid grid{6, 2, 1}, empty{6, 0, 1};
  EXPECT_EQ(text(k.launch(given, nullptr, &empty)), "");
  EXPECT_EQ(count(log(), "cuLaunch"), 0);
  EXPECT_EQ(text(k.launch(given, nullptr, &grid)), "");
  EXPECT_EQ(line(log(), "cuLaunchKernelEx"),
            "cuLaunchKernelEx grid=6x2x1 block=128x1x1 shared=0 stream=(nil)");
  EXPECT_EQ(text(k.launch(given, nullptr)),
            "kernel 'k': no grid is given; needed one at the launch");
}

TEST_F(LaunchTest, PlainLaunchHasNoAttributes) {
  Kernel k = kernel(tensorA, "", gridOne);
  EXPECT_EQ(text(k.launch(given, nullptr)), "");
  std::string calls = log();
  EXPECT_EQ(line(calls, "cuLaunchKernelEx"),
            "cuLaunchKernelEx grid=1x1x1 block=128x1x1 shared=0 stream=(nil)");
  EXPECT_EQ(count(calls, "cuFuncSetAttribute"), 0);
  EXPECT_EQ(count(calls, "cuMemAlloc"), 0);
}

TEST_F(LaunchTest, LargeClustersAreAllowedFirst) {
  Kernel k = kernel(tensorA, "", R"("grid": {"x": 16}, "cluster": [16, 1, 1])");
  EXPECT_EQ(text(k.launch(given, nullptr)), "");
  EXPECT_EQ(line(log(), "cuFuncSetAttribute"), "cuFuncSetAttribute 14 1");
}

TEST_F(LaunchTest, NoMoreClustersThanRunAtOnce) {
  set("clusters=30");
  Kernel k = kernel(tensorA, "", R"("grid": {"persistent": true, "tiles": [1000]}, "cluster": [4, 1, 1])");
  EXPECT_EQ(text(k.launch(given, nullptr)), "");
  EXPECT_EQ(line(log(), "cuLaunchKernelEx"), "cuLaunchKernelEx grid=120x1x1 block=128x1x1 shared=0 stream=(nil) cluster=4x1x1");
}

TEST_F(LaunchTest, LoadedOnceEncodedOnce) {
  Kernel k = kernel(tensorA, mapA, gridOne);
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(text(k.launch(given, nullptr)), "");
  std::string calls = log();
  EXPECT_EQ(count(calls, "cuModuleLoadDataEx"), 1);
  EXPECT_EQ(count(calls, "cuLaunchKernelEx"), 3);
  EXPECT_EQ(count(calls, "cuTensorMapEncodeTiled"), 1);
  EXPECT_EQ(
      line(calls, "cuTensorMapEncodeTiled"),
      "cuTensorMapEncodeTiled type=9 rank=2 address=0xabc0 extents=64,100 strides=144 box=64,8 "
      "element_strides=1,1 interleave=0 swizzle=3 promotion=3 fill=0");
}

TEST_F(LaunchTest, LoadedOnceForEachDevice) {
  set("devices=2");
  Kernel k = kernel(tensorA, "", gridOne);
  EXPECT_EQ(text(k.launch(given, nullptr)), "");
  given[0].device = 1;
  EXPECT_EQ(text(k.launch(given, nullptr)), "");
  EXPECT_EQ(text(k.launch(given, nullptr)), "");
  EXPECT_EQ(count(log(), "cuModuleLoadDataEx"), 2);
}

TEST_F(LaunchTest, EmptyTensorGetsScratchMemory) {
  Kernel k = kernel(tensorA, mapA, gridOne);
  given[0] = tensor(TILELOOM_BF16, {100, 0}, {0, 1}, 0);
  EXPECT_EQ(text(k.launch(given, nullptr)), "");
  EXPECT_EQ(text(k.launch(given, nullptr)), "");
  std::string calls = log();
  EXPECT_EQ(count(calls, "cuMemAlloc 256"), 1);
  EXPECT_NE(line(calls, "cuTensorMapEncodeTiled").find("address=0x7"), std::string::npos);
  EXPECT_NE(line(calls, "cuTensorMapEncodeTiled").find("extents=1,1 "), std::string::npos);
}

TEST_F(LaunchTest, EmptyGridLaunchesNothing) {
  Kernel k = kernel(tensorA, mapA, R"("grid": {"x": {"dimension": [0, 0]}})");
  given[0] = tensor(TILELOOM_BF16, {0, 64}, {64, 1}, 0);
  EXPECT_EQ(text(k.launch(given, nullptr)), "");
  EXPECT_EQ(count(log(), "cuLaunchKernelEx"), 0);
}

TEST_F(LaunchTest, WrongArgumentsNeverReachTheDriver) {
  Kernel k = kernel(tensorA, mapA, gridOne);
  log();
  given[0].element = TILELOOM_F16;
  EXPECT_NE(text(k.launch(given, nullptr)), "");
  given[0] = tensor(TILELOOM_BF16, {100, 64}, {64, 1}, 0xabc0, TILELOOM_HOST);
  EXPECT_NE(text(k.launch(given, nullptr)), "");
  EXPECT_EQ(log(), "");
}

TEST_F(LaunchTest, PlaceOfTensorsIsAsked) {
  set("devices=2,pointer_device=1");
  Kernel k = kernel(tensorA, "", gridOne);
  given[0].device = TILELOOM_UNKNOWN_DEVICE;
  EXPECT_EQ(text(k.launch(given, nullptr)), "");
  EXPECT_EQ(count(log(), "cuCtxPushCurrent 1"), 1);
  set("pointer_known=0");
  EXPECT_EQ(text(k.launch(given, nullptr)),
            "kernel 'k', argument 0 'a' (k.mlir:3:12): is on the CPU; needed on a CUDA device");
}

TEST_F(LaunchTest, AssemblerLogIsInTheError) {
  set("fail=cuModuleLoadDataEx,fail_code=218");
  Kernel k = kernel(tensorA, "", gridOne);
  EXPECT_EQ(text(k.launch(given, nullptr)),
            "kernel 'k' for sm_90a on CUDA device 0 (Fake 0): cuModuleLoadDataEx, whose log says: "
            "ptxas: line 7: "
            "unknown instruction: CUDA_ERROR_INVALID_PTX (218): fake text");
  set("fail=");
  EXPECT_EQ(text(k.launch(given, nullptr)), ""); // a failed load is tried again
}

TEST_F(LaunchTest, SignatureMustAgree) {
  Kernel k = kernel(tensorA, R"({"kind": "argument", "argument": 0})", gridOne);
  auto setParameter = function<void(int, size_t, size_t)>("fakeCudaSetParameter");
  setParameter(0, 0, 4);
  setParameter(1, 8, 8);
  set("parameters=1");
  const std::string prefix = "kernel 'k': recipe and code disagree: ";
  EXPECT_EQ(text(k.launch(given, nullptr)),
            prefix + "parameter 0 has 8 bytes in the recipe, 4 in the code");
  setParameter(0, 0, 8);
  set("parameters=2");
  EXPECT_EQ(text(k.launch(given, nullptr)), prefix + "the recipe has 1 parameters, the code more");
  set("parameters=0");
  EXPECT_EQ(text(k.launch(given, nullptr)), prefix + "the recipe has 1 parameters, the code 0");
  EXPECT_EQ(count(log(), "cuModuleUnload"), 3);
}

TEST_F(LaunchTest, DeviceLimits) {
  const std::string prefix = "kernel 'k': ";
  const std::string gpu = "CUDA device 0 (Fake 0)";
  auto launch = [&](const std::string &settings, const std::string &more) {
    function<void()>("fakeCudaReset")();
    set(settings.c_str());
    theRuntime.reset();
    return text(kernel(tensorA, "", R"("grid": {"x": 133})" + more).launch(given, nullptr));
  };
  EXPECT_EQ(launch("major=10", ""), prefix + "compiled for sm_90a; " + gpu + " is sm_100");
  EXPECT_EQ(launch("static_shared=1000", R"(, "shared_bytes": 232000)"),
            prefix + "233000 bytes of shared memory a block (1000 of them static); " + gpu +
                " allows 232448");
  EXPECT_EQ(
      launch("function_threads=96,registers=255", ""),
      prefix +
          "128 threads a block; its 255 registers a thread and its launch bounds allow 96 on " +
          gpu);
  EXPECT_EQ(launch("cooperative=0", R"(, "cooperative": true)"),
            prefix + "needs a cooperative launch, which " + gpu + " does not support");
  EXPECT_EQ(launch("", R"(, "cooperative": true)"),
            prefix + "a cooperative launch of 133 CTAs; " + gpu + " holds 132 at once");
  EXPECT_EQ(launch("blocks=2", R"(, "cooperative": true)"), "");
  EXPECT_EQ(line(log(), "cuLaunchKernelEx"),
            "cuLaunchKernelEx grid=133x1x1 block=128x1x1 shared=0 stream=(nil) attribute2=1");
  EXPECT_EQ(launch("blocks=0", ""),
            prefix + "128 threads, 0 bytes of shared memory and clusters of 1 do not fit on " +
                gpu);
}

TEST_F(LaunchTest, DriverRefusals) {
  Kernel k = kernel(tensorA, mapA, gridOne);
  set("fail=cuLaunchKernelEx,fail_code=1");
  EXPECT_EQ(
      text(k.launch(given, nullptr)),
      "kernel 'k': cuLaunchKernelEx of (1, 1, 1) CTAs, 128 threads, 0 bytes of shared memory: "
      "CUDA_ERROR_INVALID_VALUE (1): fake text");
  set("fail=cuTensorMapEncodeTiled");
  given[0].value = 0x2000;
  EXPECT_EQ(text(k.launch(given, nullptr)),
            "cuTensorMapEncodeTiled(address 0x2000, type 9, extents [64, 100], byte strides [144], "
            "box [64, 8], swizzle "
            "3, interleave 0): CUDA_ERROR_INVALID_VALUE (1): fake text");
}

TEST_F(LaunchTest, NoCode) {
  Kernel k("", good(Recipe::parse(recipeText(tensorA, "", gridOne))), &runtime());
  EXPECT_EQ(text(k.launch(given, nullptr)),
            "kernel 'k' was made without code; needed a cubin or PTX to launch");
}

TEST_F(LaunchTest, PreloadAndRelease) {
  Kernel k = kernel(tensorA, R"({"kind": "workspace", "bytes": 8})", gridOne);
  EXPECT_EQ(text(k.preload(-1)), "");
  EXPECT_EQ(count(log(), "cuModuleLoadDataEx"), 1);
  EXPECT_EQ(text(k.launch(given, nullptr)), "");
  EXPECT_EQ(count(log(), "cuModuleLoadDataEx"), 0);
  k.release();
  std::string calls = log();
  EXPECT_EQ(count(calls, "cuModuleUnload"), 1);
  EXPECT_EQ(count(calls, "cuMemFree"), 1);
}
