//===- Fake.h - The recording driver in a unit test -----------------------===//
//
// A fixture that opens test/fake_cuda, resets it, and gives a Runtime on it. Expectations are made
// on the log of calls.
//
//===----------------------------------------------------------------------===//
#ifndef TILELOOM_TEST_UNIT_RUNTIME_FAKE_H
#define TILELOOM_TEST_UNIT_RUNTIME_FAKE_H

#include "Support.h"
#include "tileloom/Runtime/Kernel.h"
#include <dlfcn.h>

namespace tileloom::runtime {

struct FakeDriver : testing::Test {
  FakeDriver() : library(dlopen(FAKE_CUDA, RTLD_NOW)) { function<void()>("fakeCudaReset")(); }

  template <typename T> T *function(const char *name) {
    void *symbol = dlsym(library, name);
    EXPECT_TRUE(symbol) << name;
    return reinterpret_cast<T *>(symbol);
  }
  void set(const char *settings) { function<void(const char *)>("fakeCudaSet")(settings); }
  bool spoilt() { return function<int()>("fakeCudaSpoilt")() != 0; }

  Runtime &runtime() {
    if (!theRuntime)
      theRuntime = std::make_unique<Runtime>(good(
          Driver::fromSymbols([&](const char *name) { return dlsym(library, name); }, "fake")));
    return *theRuntime;
  }

  /// The calls since the last look.
  std::string log() {
    std::string text = function<const char *()>("fakeCudaLog")();
    function<void()>("fakeCudaClear")();
    return text;
  }
  /// How many calls of `name` are in `text`.
  static int count(const std::string &text, const std::string &name) {
    int n = 0;
    for (size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + 1))
      ++n;
    return n;
  }
  /// The first line that starts with `name`.
  static std::string line(const std::string &text, const std::string &name) {
    size_t at = text.find(name);
    return at == std::string::npos ? "" : text.substr(at, text.find('\n', at) - at);
  }

  Kernel kernel(const std::string &arguments, const std::string &parameters,
                const std::string &launch) {
    return Kernel("// PTX", good(Recipe::parse(recipeText(arguments, parameters, launch))),
                  &runtime());
  }
  static cuda::Stream stream(uintptr_t number) { return reinterpret_cast<cuda::Stream>(number); }

  void *library;
  std::unique_ptr<Runtime> theRuntime;
};

} // namespace tileloom::runtime
#endif // TILELOOM_TEST_UNIT_RUNTIME_FAKE_H
