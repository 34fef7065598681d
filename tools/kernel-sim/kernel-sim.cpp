//===- kernel-sim.cpp - Runs a PTX kernel on the CPU ----------------------===//
//
// The command line over lib/Simulator: see `kernel-sim --help` and docs/simulator.md. Exit status:
// 0 for a clean run, 1 when something was found or differs, 2 when the input cannot be used.
//
//===----------------------------------------------------------------------===//
#include "Options.h"

#include <cstdio>

int main(int argc, char **argv) {
  using namespace tileloom::sim;
  try {
    ToolOptions options;
    if (!parseOptions(argc, argv, options))
      return 0; // --help
    return runTool(options);
  } catch (const std::exception &e) {
    std::fprintf(stderr, "kernel-sim: error: %s\n", e.what());
    return 2;
  }
}
