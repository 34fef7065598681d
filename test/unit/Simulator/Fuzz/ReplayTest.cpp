//===- ReplayTest.cpp - The fuzzers' corpus, once more --------------------===//
//
// Every file of test/fuzz/corpus goes through the fuzzers' targets: what once crashed, and inputs that
// reach much code. Malformed PTX has a line and a reason.
//
//===----------------------------------------------------------------------===//
#include "Targets.h"
#include "gtest/gtest.h"

#include <filesystem>
#include <fstream>
#include <iterator>

using namespace tileloom::sim;

template <class F> static unsigned replay(const char *folder, F target) {
  unsigned files = 0;
  for (auto &entry : std::filesystem::directory_iterator(std::string(FUZZ_CORPUS "/") + folder)) {
    std::ifstream file(entry.path(), std::ios::binary);
    std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    SCOPED_TRACE(entry.path().string());
    target(reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size());
    ++files;
  }
  return files;
}

TEST(FuzzReplay, Ptx) {
  EXPECT_GT(replay("ptx",
                   [](const uint8_t *data, size_t size) {
                     std::string error = fuzzPtx(data, size);
                     if (!error.empty() && error.find("no .entry") == std::string::npos) {
                       EXPECT_EQ(error.compare(0, 5, "line "), 0) << error;
                     }
                   }),
            10u);
}

TEST(FuzzReplay, TensorMap) {
  EXPECT_GT(replay("map", [](const uint8_t *data, size_t size) { fuzzTensorMap(data, size); }), 10u);
}
