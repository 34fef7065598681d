//===- Kernel.h - A compiled kernel and its launches ----------------------===//
//
// A kernel is an image (cubin or PTX) and its recipe. It is loaded into a context at its first
// launch there. A launch checks the arguments, computes grid and parameters, and calls the driver.
//
//===----------------------------------------------------------------------===//
#ifndef TILELOOM_RUNTIME_KERNEL_H
#define TILELOOM_RUNTIME_KERNEL_H

#include "tileloom/Runtime/Evaluate.h"
#include "tileloom/Runtime/Workspace.h"

namespace tileloom::runtime {

/// A kernel in one context.
class LoadedKernel {
public:
  /// Loads `image` into the current `context` and checks it against the recipe and the device.
  static llvm::Expected<std::unique_ptr<LoadedKernel>>
  load(Runtime &runtime, ContextState &context, const Recipe &recipe, const std::string &image);

  /// Launches on the current context; the arguments have passed checkArguments.
  llvm::Error launch(Runtime &runtime, const Recipe &recipe, Arguments arguments,
                     cuda::Stream stream, const Grid *grid);

  /// Unloads; the context must be current.
  void release(Runtime &runtime);

  ContextState &context;

private:
  LoadedKernel(ContextState &context, const Recipe &recipe)
      : context(context) {
    for (const ParameterSpec &parameter : recipe.parameters)
      if (parameter.kind == ParameterSpec::Kind::Workspace)
        workspaces.emplace_back(parameter.zero);
  }
  llvm::Error loadModule(const Driver &driver, const Recipe &recipe, const std::string &image);
  llvm::Error checkFunction(const Driver &driver, const Recipe &recipe);
  llvm::Error checkSignature(const Driver &driver, const Recipe &recipe);
  llvm::Error checkOccupancy(const Driver &driver, const Recipe &recipe);
  llvm::Error getWorkspaces(Runtime &runtime, const Recipe &recipe, Arguments arguments,
                            cuda::Stream stream, llvm::SmallVectorImpl<uint64_t> &addresses);
  llvm::Error writeMap(Runtime &runtime, const TileloomTensorMap &map, unsigned char *out);

  cuda::Module module = nullptr;
  cuda::Function function = nullptr;
  int64_t resident = 0; ///< CTAs that fit on the device at once
  std::vector<WorkspacePool> workspaces; ///< one for each workspace parameter
};

class Kernel {
public:
  /// `image` may be empty for a kernel that is only evaluated. `runtime` is null for the one of the
  /// process.
  Kernel(std::string image, Recipe recipe, Runtime *runtime = nullptr)
      : image(std::move(image)), theRecipe(std::move(recipe)), runtime(runtime) {}

  const Recipe &recipe() const { return theRecipe; }

  /// `grid`: the caller's, or null for the recipe's.
  llvm::Error launch(Arguments arguments, cuda::Stream stream, const Grid *grid = nullptr);

  /// Loads on device `ordinal`, or on the current one if it is negative.
  llvm::Error preload(int32_t ordinal);

  /// Unloads everywhere.
  void release();

private:
  llvm::Expected<Runtime *> getRuntime();
  llvm::Expected<LoadedKernel *> loaded(Runtime &runtime, ContextState &context);

  std::string image;
  Recipe theRecipe;
  std::mutex mutex; ///< guards the two below
  Runtime *runtime;
  std::vector<std::unique_ptr<LoadedKernel>> loadedKernels;
};

} // namespace tileloom::runtime
#endif // TILELOOM_RUNTIME_KERNEL_H
