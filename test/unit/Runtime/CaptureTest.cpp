//===- CaptureTest.cpp - Workspaces, streams and graph capture ------------===//
//
// The fake driver spoils a capture as the real one does: when a thread that is not in relaxed mode
// allocates, loads or synchronises meanwhile.
//
//===----------------------------------------------------------------------===//
#include "Fake.h"

using namespace tileloom::runtime;

namespace {
struct CaptureTest : FakeDriver {
  CaptureTest() {
    set("parameters=1");
    function<void(int, size_t, size_t)>("fakeCudaSetParameter")(0, 0, 8);
  }
  Kernel k = kernel(tensorA, R"({"kind": "workspace", "bytes": 1000, "zero": true})", gridOne);
  std::vector<TileloomArgument> given = {tensor(TILELOOM_BF16, {4, 8}, {8, 1})};

  /// Launches; the address of the workspace as the log shows it.
  std::string launch(uintptr_t number) {
    EXPECT_EQ(text(k.launch(given, stream(number))), "");
    calls = log();
    return line(calls, "parameter 0");
  }
  std::string calls;
};
} // namespace

TEST_F(CaptureTest, OneWorkspaceForEachStream) {
  std::string first = launch(1);
  EXPECT_EQ(count(calls, "cuMemAlloc 1000"), 1);
  EXPECT_NE(first, "parameter 0 0000000000000000");
  EXPECT_EQ(launch(1), first);
  EXPECT_EQ(count(calls, "cuMemAlloc"), 0);
  std::string second = launch(2);
  EXPECT_NE(second, first);
  EXPECT_EQ(count(calls, "cuMemAlloc 1000"), 1);
  EXPECT_EQ(launch(1), first);
}

TEST_F(CaptureTest, ZeroedBeforeFirstUseOnly) {
  launch(1);
  size_t zeroed = calls.find("cuMemsetD8Async");
  ASSERT_NE(zeroed, std::string::npos);
  EXPECT_NE(calls.substr(zeroed).find(" 0 1000 "), std::string::npos);
  EXPECT_LT(zeroed, calls.find("cuStreamSynchronize"));
  EXPECT_LT(calls.find("cuStreamSynchronize"), calls.find("cuLaunchKernelEx"));
  launch(1);
  EXPECT_EQ(count(calls, "cuMemsetD8Async"), 0);
}

TEST_F(CaptureTest, FirstUseInsideCapture) {
  set("capture=9");
  launch(9);
  EXPECT_FALSE(spoilt());
  EXPECT_EQ(count(calls, "SPOILT"), 0);
  EXPECT_EQ(count(calls, "cuModuleLoadDataEx"), 1);
  EXPECT_EQ(count(calls, "cuLaunchKernelEx"), 1);
  // The zeroing happened outside the graph: not on the captured stream.
  EXPECT_EQ(line(calls, "cuMemsetD8Async").find("stream=0x9"), std::string::npos);
}

TEST_F(CaptureTest, FirstUseWhileAnotherStreamCaptures) {
  set("capture=9");
  launch(1);
  EXPECT_FALSE(spoilt());
}

TEST_F(CaptureTest, TheFakeDoesSpoil) {
  // The two tests above mean something only if an unguarded call is caught.
  set("capture=9");
  cuda::Pointer pointer = 0;
  EXPECT_EQ(runtime().driver()->memAlloc(&pointer, 8), 900);
  EXPECT_TRUE(spoilt());
}

TEST_F(CaptureTest, ReleaseWhileAnotherStreamCaptures) {
  launch(1);
  set("capture=9");
  k.release();
  EXPECT_FALSE(spoilt());
}

TEST_F(CaptureTest, CapturedLaunchHasItsGraphsWorkspace) {
  // A graph can be replayed on any stream, so its buffer may not be that of the stream it was
  // captured on.
  std::string eager = launch(9);
  set("capture=9,graph=1");
  std::string captured = launch(9);
  EXPECT_NE(captured, eager);
  EXPECT_EQ(launch(9), captured);
  set("graph=2");
  std::string other = launch(9);
  EXPECT_NE(other, captured);
  EXPECT_NE(other, eager);
  set("capture=0");
  EXPECT_EQ(launch(9), eager);
}

TEST_F(CaptureTest, WorkspacesStayWhenTheirGraphsAreGone) {
  // Each capture has one of its own, and none is freed before the kernel is released.
  std::vector<std::string> seen{launch(9)};
  for (int graph = 1; graph <= 20; ++graph) {
    set(("capture=9,graph=" + std::to_string(graph)).c_str());
    std::string own = launch(9);
    EXPECT_EQ(llvm::count(seen, own), 0);
    EXPECT_EQ(count(calls, "cuMemAlloc"), 1);
    EXPECT_EQ(count(calls, "cuGraphRetainUserObject"), 0); // which would slow down each replay
    EXPECT_EQ(launch(9), own);
    EXPECT_EQ(count(calls, "cuMemAlloc"), 0);
    function<void(long)>("fakeCudaDestroyGraph")(graph);
    seen.push_back(own);
  }
  set("capture=0");
  EXPECT_EQ(launch(9), seen.front());
  k.release();
  calls = log();
  EXPECT_EQ(count(calls, "cuMemFree"), 21);
}

TEST_F(CaptureTest, BeyondALimitWorkspacesComeBackWithTheirGraphs) {
  Kernel large = kernel(tensorA, R"({"kind": "workspace", "bytes": 40000000})", gridOne);
  auto launchLarge = [&](int graph) {
    set(("capture=9,graph=" + std::to_string(graph)).c_str());
    EXPECT_EQ(text(large.launch(given, stream(9))), "");
    calls = log();
    return line(calls, "parameter 0");
  };
  std::string first = launchLarge(1);
  EXPECT_EQ(count(calls, "cuGraphRetainUserObject"), 0);
  std::string second = launchLarge(2);
  EXPECT_EQ(count(calls, "cuGraphRetainUserObject 0x5002 1 1"), 1);
  function<void(long)>("fakeCudaDestroyGraph")(1);
  function<void(long)>("fakeCudaDestroyGraph")(2);
  EXPECT_EQ(launchLarge(3), second);
  EXPECT_EQ(count(calls, "cuMemAlloc"), 0);
  EXPECT_EQ(count(calls, "cuGraphRetainUserObject 0x5003"), 1);
}

TEST_F(CaptureTest, WorkspaceGrowsWithTheArguments) {
  Kernel grown = kernel(tensorA, R"({"kind": "workspace", "zero": true,
      "bytes": {"op": "mul", "of": [{"dimension": [0, 0]}, 100]}})", gridOne);
  auto launchRows = [&](int64_t rows) {
    std::vector<TileloomArgument> own = {tensor(TILELOOM_BF16, {rows, 8}, {8, 1})};
    EXPECT_EQ(text(grown.launch(own, stream(1))), "");
    calls = log();
    return line(calls, "parameter 0");
  };
  std::string first = launchRows(4);
  EXPECT_EQ(count(calls, "cuMemAlloc 400"), 1);
  EXPECT_EQ(launchRows(2), first);
  // At least twice as much, zeroed; the old buffer is not freed, for the launches before may still run.
  std::string second = launchRows(5);
  EXPECT_NE(second, first);
  EXPECT_EQ(count(calls, "cuMemAlloc 800"), 1);
  EXPECT_EQ(count(calls, "cuMemsetD8Async"), 1);
  EXPECT_EQ(count(calls, "cuMemFree"), 0);
  EXPECT_EQ(launchRows(8), second);
  EXPECT_EQ(launchRows(4), second);
  grown.release();
  calls = log();
  EXPECT_EQ(count(calls, "cuMemFree"), 2);
}

TEST_F(CaptureTest, WorkspaceTooLarge) {
  Kernel huge = kernel(tensorA, R"({"kind": "workspace",
      "bytes": {"op": "mul", "of": [{"dimension": [0, 0]}, 1099511627776]}})", gridOne);
  EXPECT_EQ(text(huge.launch(given, stream(1))),
            "kernel 'k': a workspace of 4398046511104 bytes; needed 0 to 1099511627776");
}

TEST_F(CaptureTest, GraphOutlivesKernel) {
  set("capture=9,graph=3");
  {
    Kernel other = kernel(tensorA, R"({"kind": "workspace", "bytes": 80000000})", gridOne);
    EXPECT_EQ(text(other.launch(given, stream(9))), "");
    other.release();
  }
  function<void(long)>("fakeCudaDestroyGraph")(3);
}

TEST_F(CaptureTest, FailedAllocation) {
  set("fail=cuMemAlloc_v2,fail_code=2");
  EXPECT_EQ(text(k.launch(given, stream(1))),
            "cuMemAlloc of 1000 bytes of workspace: CUDA_ERROR_OUT_OF_MEMORY (2): out of memory");
  set("fail=");
  launch(1);
}
