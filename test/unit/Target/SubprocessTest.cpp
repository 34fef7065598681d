//===- SubprocessTest.cpp - Programs that end, fail, hang and are not there ------------------===//

#include "lib/Target/Subprocess.h"

#include <chrono>
#include <gtest/gtest.h>

using tileloom::runSubprocess;

TEST(Subprocess, CollectsBothStreams) {
  auto result = runSubprocess({"/bin/sh", "-c", "echo out; echo err >&2; exit 3"}, 10);
  EXPECT_TRUE(result.started);
  EXPECT_FALSE(result.timedOut);
  EXPECT_EQ(result.exitCode, 3);
  EXPECT_EQ(result.output, "out\nerr\n");
}

TEST(Subprocess, TakesMoreOutputThanAPipeHolds) {
  auto result = runSubprocess({"/bin/sh", "-c", "head -c 300000 /dev/zero"}, 30);
  EXPECT_EQ(result.exitCode, 0);
  EXPECT_EQ(result.output.size(), 300000u);
}

TEST(Subprocess, ReportsSignals) {
  auto result = runSubprocess({"/bin/sh", "-c", "kill -ABRT $$"}, 10);
  EXPECT_EQ(result.exitCode, -1);
  EXPECT_EQ(result.signal, 6);
}

TEST(Subprocess, KillsWithChildrenAtTheDeadline) {
  auto start = std::chrono::steady_clock::now();
  auto result = runSubprocess({"/bin/sh", "-c", "sleep 60 & sleep 60; true"}, 1);
  EXPECT_TRUE(result.timedOut);
  EXPECT_EQ(result.signal, 9);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

TEST(Subprocess, SaysWhyItDidNotStart) {
  auto result = runSubprocess({"/nowhere/program"}, 10);
  EXPECT_FALSE(result.started);
  EXPECT_EQ(result.error, "No such file or directory");
}
