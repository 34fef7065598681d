//===- ReportTextTest.cpp - Reports with parts missing or of the wrong kind ------------------===//

#include "tileloom/Driver/Report.h"

#include <gtest/gtest.h>

static std::string format(llvm::StringRef text) {
  llvm::Expected<llvm::json::Value> value = llvm::json::parse(text);
  EXPECT_TRUE(bool(value)) << llvm::toString(value.takeError());
  return value ? tileloom::formatReport(*value) : std::string();
}

TEST(ReportText, NothingThere) {
  EXPECT_EQ(format("3"), "");
  EXPECT_EQ(format("{}"), "target ?\n");
  EXPECT_EQ(format(R"({"target": "sm_90a", "kernels": 7, "stages": {}, "ptxas": []})"),
            "target sm_90a\n");
}

TEST(ReportText, WrongKindsAreLeftOut) {
  EXPECT_EQ(
      format(
          R"({"kernels": [1, {"name": "k", "launch": 3, "roles": {"a": 1}, "rings": [], "ptxas": "x"}]})"),
      "target ?\nkernel k\n");
}

TEST(ReportText, RowsThatAreNotObjects) {
  EXPECT_EQ(format(R"({"kernels": [{"name": "k", "roles": ["load", [1, 2]]}]})"),
            "target ?\nkernel k\n  roles\n    load\n    1 x 2\n");
}

TEST(ReportText, ColumnsAlign) {
  EXPECT_EQ(format(R"({"kernels": [{"name": "k", "rings": [
                      {"name": "a", "depth": 12, "zeta": true}, {"name": "longer", "depth": 4, "alpha": null}]}]})"),
            "target ?\nkernel k\n  rings\n"
            "    name    depth  alpha  zeta\n"
            "    a          12  -      yes\n"
            "    longer      4  -      -\n");
}

TEST(ReportText, Messages) {
  EXPECT_EQ(format(R"({"kernels": [{"name": "k", "ptxas": {"registers": 168, "messages": [
                      {"severity": "info", "code": "C7509", "text": "Serialised", "location": "a.py:3:1"}, 5]}}]})"),
            "target ?\nkernel k\n"
            "  ptxas: 168 registers, 0 + 0 bytes spilled (stores + loads), 0 bytes stack, 0 "
            "barriers, 0 bytes static shared "
            "memory\n"
            "  ptxas info: C7509: Serialised (a.py:3:1)\n");
}
