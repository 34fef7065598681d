//===- Options.h - The command line of kernel-sim -----------------*- C++ -*-===//
//
// Options as parsed, and the run that they describe.
//
//===----------------------------------------------------------------------===//
#ifndef TILELOOM_TOOLS_KERNEL_SIM_OPTIONS_H
#define TILELOOM_TOOLS_KERNEL_SIM_OPTIONS_H

#include "lib/Simulator/Host/Host.h"

#include <string>
#include <utility>
#include <vector>

namespace tileloom {
namespace sim {

struct ToolOptions {
  std::string input, kernel, recipe, trace, json;
  std::vector<std::string> arguments;
  std::vector<std::pair<std::string, std::string>> outputs, compares; // name, file
  Launch launch;
  unsigned schedules = 1;
  double tolerance = 1e-2;
  bool summary = false, quiet = false, list = false;
};

/// False after --help. Throws LoadError.
bool parseOptions(int argc, char **argv, ToolOptions &options);
int runTool(ToolOptions &options);
/// Fills in the launch that a recipe (docs/recipe.md) describes; returns the parameter bytes.
std::vector<uint8_t> applyRecipe(const ToolOptions &options, ArgumentList &arguments,
                                 Launch &launch);

} // namespace sim
} // namespace tileloom

#endif
