//===- ThreadTest.cpp - One kernel, many threads --------------------------===//
//
// Threads share a kernel and its cache of tensor maps: all launches succeed, the kernel is loaded
// once, and each stream has a workspace. Run under a thread sanitizer it also shows races.
//
//===----------------------------------------------------------------------===//
#include "Fake.h"
#include <thread>

using namespace tileloom::runtime;

namespace {
struct ThreadTest : FakeDriver {};
} // namespace

TEST_F(ThreadTest, SharedKernel) {
  constexpr int threadCount = 8, launches = 500;
  Kernel k = kernel(tensorA, R"({"kind": "tensor_map", "argument": 0, "box": [64, 8]},
                                {"kind": "workspace", "bytes": 64, "zero": true})",
                    gridOne);
  log();
  set("quiet=1");
  std::vector<std::string> errors(threadCount);
  std::vector<std::thread> threads;
  for (int t = 0; t < threadCount; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < launches; ++i) {
        TileloomArgument a[] = {tensor(TILELOOM_BF16, {100, 64}, {64, 1}, 0x1000 * (1 + i % 50))};
        if (llvm::Error error = k.launch(a, stream(1 + t)))
          errors[t] = text(std::move(error));
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  for (const std::string &error : errors)
    EXPECT_EQ(error, "");
  // Releasing frees one workspace for each stream and unloads once.
  set("quiet=0");
  k.release();
  std::string calls = log();
  EXPECT_EQ(count(calls, "cuMemFree"), threadCount);
  EXPECT_EQ(count(calls, "cuModuleUnload"), 1);
}
