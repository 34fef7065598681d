//===- Evaluate.h - From arguments to grid and parameters -----------------===//
//
// The part of a launch that is arithmetic: how many CTAs, and which bytes each kernel parameter
// holds. Used by the launch itself, and without a GPU by the C API and the simulator.
//
//===----------------------------------------------------------------------===//
#ifndef TILELOOM_RUNTIME_EVALUATE_H
#define TILELOOM_RUNTIME_EVALUATE_H

#include "tileloom/Runtime/TensorMap.h"

namespace tileloom::runtime {

struct Grid {
  unsigned x = 0, y = 0, z = 0;
  unsigned programs = 1; ///< of the recipe's threads in each CTA
  bool empty() const { return x == 0 || y == 0 || z == 0; }
};

/// The grid for these (checked) arguments on a device with this many multiprocessors. `given` is the
/// caller's grid: needed if the recipe says so, refused by a persistent kernel; null if there is none.
llvm::Expected<Grid> computeGrid(const Recipe &recipe, Arguments arguments, int32_t multiprocessors,
                                 const Grid *given = nullptr);

/// Writes the 128 bytes of a tensor map parameter.
using MapWriter = llvm::function_ref<llvm::Error(const TileloomTensorMap &, unsigned char *)>;

/// The size of a workspace parameter for these (checked) arguments.
llvm::Expected<uint64_t> workspaceBytes(const Recipe &recipe, const ParameterSpec &parameter,
                                        Arguments arguments);

/// Fills `block` (recipe.parameterBytes, aligned to 64) from checked arguments. `workspaces`: addresses
/// for the workspace parameters, in their order.
llvm::Error fillParameters(const Recipe &recipe, Arguments arguments, llvm::ArrayRef<uint64_t> workspaces,
                           unsigned char *block, MapWriter writeMap);

/// A whole launch evaluated without a GPU; owns what `launch` points to.
struct EvaluatedLaunch {
  TileloomLaunch launch = {};
  std::vector<TileloomParameter> parameters;
  std::vector<unsigned char> bytes;
};
llvm::Expected<std::unique_ptr<EvaluatedLaunch>>
evaluateLaunch(const Recipe &recipe, Arguments arguments, const TileloomDevice &device,
               const Grid *given = nullptr);

} // namespace tileloom::runtime
#endif // TILELOOM_RUNTIME_EVALUATE_H
