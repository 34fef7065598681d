//===- PtxFuzzer.cpp - libFuzzer on the PTX parser and decoder ------------===//
#include "Targets.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  tileloom::sim::fuzzPtx(data, size);
  return 0;
}
