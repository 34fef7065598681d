//===- FatalErrorsTest.cpp - LLVM's fatal errors become text --------------------------------===//

#include "tileloom/Target/FatalErrors.h"

#include "llvm/Support/ErrorHandling.h"

#include <gtest/gtest.h>
#include <thread>

using tileloom::runCatchingFatalErrors;

TEST(FatalErrors, PassesThroughWithoutOne) {
  std::string error = "untouched";
  int runs = 0;
  EXPECT_TRUE(runCatchingFatalErrors([&] { ++runs; }, error));
  EXPECT_EQ(runs, 1);
  EXPECT_EQ(error, "untouched");
}

TEST(FatalErrors, BecomesText) {
  std::string error;
  EXPECT_FALSE(runCatchingFatalErrors([] { llvm::report_fatal_error("Cannot select: x"); }, error));
  EXPECT_EQ(error, "Cannot select: x");
}

TEST(FatalErrors, InnermostCatches) {
  std::string inner, outer;
  bool innerOk = true;
  EXPECT_TRUE(runCatchingFatalErrors(
      [&] { innerOk = runCatchingFatalErrors([] { llvm::report_fatal_error("inner"); }, inner); },
      outer));
  EXPECT_FALSE(innerOk);
  EXPECT_EQ(inner, "inner");
  EXPECT_EQ(outer, "");
}

TEST(FatalErrors, EachThreadHasItsOwn) {
  std::string errors[2];
  std::thread threads[2];
  for (int i = 0; i < 2; ++i)
    threads[i] = std::thread([&errors, i] {
      for (int round = 0; round < 100; ++round)
        EXPECT_FALSE(runCatchingFatalErrors(
            [i] { llvm::report_fatal_error(i == 0 ? "first" : "second"); }, errors[i]));
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(errors[0], "first");
  EXPECT_EQ(errors[1], "second");
}
