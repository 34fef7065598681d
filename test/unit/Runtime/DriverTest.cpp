//===- DriverTest.cpp - The CUDA driver as a table of functions -----------===//
//
// Opening failures, contexts, and the texts of driver errors.
//
//===----------------------------------------------------------------------===//
#include "Fake.h"

using namespace tileloom::runtime;

namespace {
struct DriverTest : FakeDriver {};
} // namespace

TEST_F(DriverTest, MissingLibrary) {
  std::string error = text(Driver::open("/nowhere/libcuda.so.1"));
  EXPECT_EQ(error.substr(0, 60), "cannot open the CUDA driver /nowhere/libcuda.so.1: /nowhere/");
}

TEST_F(DriverTest, MissingSymbol) {
  auto old = [&](const char *name) -> void * {
    return std::string(name) == "cuTensorMapEncodeTiled" ? nullptr : dlsym(library, name);
  };
  EXPECT_EQ(text(Driver::fromSymbols(old, "libcuda.so.1")),
            "the CUDA driver libcuda.so.1 has no cuTensorMapEncodeTiled; needed a driver for CUDA "
            "12.0 or later");
}

TEST_F(DriverTest, OptionalSymbolsMayLack) {
  auto old = [&](const char *name) -> void * {
    return std::string(name) == "cuFuncGetParamInfo" ? nullptr : dlsym(library, name);
  };
  EXPECT_EQ(text(Driver::fromSymbols(old, "libcuda.so.1")), "");
}

TEST_F(DriverTest, FailedInit) {
  set("fail=cuInit,fail_code=100");
  EXPECT_EQ(
      text(Driver::fromSymbols([&](const char *name) { return dlsym(library, name); }, "fake")),
      "cuInit: CUDA_ERROR_FAKE (100): fake text");
}

TEST_F(DriverTest, CurrentContextIsUsedAsItIs) {
  set("current=0");
  auto entered = good(runtime().enter(0));
  EXPECT_EQ(entered.state->device.multiprocessors, 132);
  EXPECT_EQ(entered.state->name, "CUDA device 0 (Fake 0)");
  std::string calls = log();
  EXPECT_EQ(count(calls, "cuCtxPushCurrent"), 0);
  EXPECT_EQ(count(calls, "cuDevicePrimaryCtxRetain"), 0);
}

TEST_F(DriverTest, OtherDeviceIsEnteredAndLeft) {
  set("devices=2,current=0");
  log();
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(good(runtime().enter(1)).state->device.ordinal, 1);
  std::string calls = log();
  EXPECT_EQ(count(calls, "cuDevicePrimaryCtxRetain 1"), 1);
  EXPECT_EQ(count(calls, "cuCtxPushCurrent 1"), 3);
  EXPECT_EQ(count(calls, "cuCtxPopCurrent"), 3);
}

TEST_F(DriverTest, ThreadWithoutContextGetsThePrimaryOne) {
  set("current=-1");
  EXPECT_EQ(good(runtime().enter(-1)).state->device.ordinal, 0);
  EXPECT_EQ(count(log(), "cuCtxPushCurrent 0"), 1);
}

TEST_F(DriverTest, UnknownDevice) {
  set("current=-1");
  EXPECT_EQ(text(runtime().enter(5)), "cuDeviceGet(5): CUDA_ERROR_FAKE (101): fake text");
}
