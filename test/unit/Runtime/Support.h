//===- Support.h - Shared pieces of the runtime's unit tests --------------===//
//
// Short ways to make recipes, arguments and error texts.
//
//===----------------------------------------------------------------------===//
#ifndef TILELOOM_TEST_UNIT_RUNTIME_SUPPORT_H
#define TILELOOM_TEST_UNIT_RUNTIME_SUPPORT_H

#include "tileloom/Runtime/Recipe.h"
#include "gtest/gtest.h"
#include <string>

namespace tileloom::runtime {

/// The text of an error, "" for success.
inline std::string text(llvm::Error error) {
  std::string result;
  if (error)
    consumeError(std::move(error), result);
  return result;
}
template <typename T> std::string text(llvm::Expected<T> value) { return text(value.takeError()); }

template <typename T> T good(llvm::Expected<T> value) {
  if (!value) {
    ADD_FAILURE() << text(value.takeError());
    std::abort();
  }
  return std::move(*value);
}

/// A recipe of these parts; `launch` holds what stands beside threads.
inline std::string recipeText(const std::string &arguments, const std::string &parameters,
                              const std::string &launch) {
  return R"({"version": 1, "kernel": "k", "target": "sm_90a", "arguments": [)" + arguments +
         R"(], "parameters": [)" + parameters + R"(], "launch": {"threads": 128, )" + launch + "}}";
}

inline const char *const tensorA =
    R"({"name": "a", "kind": "tensor", "element": "bf16", "rank": 2, "location": "k.mlir:3:12"})";
inline const char *const gridOne = R"("grid": {"x": 1})";

inline TileloomArgument tensor(TileloomElement element, std::vector<int64_t> shape,
                               std::vector<int64_t> strides, uint64_t address = 0x10000,
                               int32_t device = 0) {
  TileloomArgument argument = {};
  argument.kind = TILELOOM_TENSOR;
  argument.element = element;
  argument.device = device;
  argument.rank = shape.size();
  argument.value = address;
  std::copy(shape.begin(), shape.end(), argument.shape);
  std::copy(strides.begin(), strides.end(), argument.strides);
  return argument;
}

inline TileloomArgument scalar(TileloomElement element, uint64_t bits) {
  TileloomArgument argument = {};
  argument.kind = TILELOOM_SCALAR;
  argument.element = element;
  argument.device = TILELOOM_UNKNOWN_DEVICE;
  argument.value = bits;
  return argument;
}

inline TileloomArgument pointer(uint64_t address) {
  TileloomArgument argument = {};
  argument.kind = TILELOOM_POINTER;
  argument.element = TILELOOM_UNKNOWN_ELEMENT;
  argument.device = TILELOOM_UNKNOWN_DEVICE;
  argument.value = address;
  return argument;
}

inline TileloomDevice hopper() { return {0, 9, 0, 132, 232448, 1024}; }

} // namespace tileloom::runtime
#endif // TILELOOM_TEST_UNIT_RUNTIME_SUPPORT_H
