//===- TensorMapFuzzer.cpp - libFuzzer on tensor maps ---------------------===//
#include "Targets.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  tileloom::sim::fuzzTensorMap(data, size);
  return 0;
}
