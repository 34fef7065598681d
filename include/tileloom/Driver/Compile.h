//===- Compile.h - From a program to its artifacts --------------------------------*- C++ -*-===//
//
// The whole compiler as one function: parse, run the stages as far as the asked artifacts need,
// translate, optimise, print PTX, assemble. kernel-opt's compile mode and the C API are thin
// callers of it.
//
// All failures, and ptxas's findings, are MLIR diagnostics of the context. Nothing here prints.
//
//===--------------------------------------------------------------------------------------===//

#ifndef TILELOOM_DRIVER_COMPILE_H
#define TILELOOM_DRIVER_COMPILE_H

#include "tileloom/Target/LLVMBackend.h"
#include "tileloom/Target/Ptxas.h"
#include "tileloom/Target/StageTimes.h"

#include <array>
#include <functional>
#include <optional>

namespace mlir {
class MLIRContext;
class PassManager;
} // namespace mlir

namespace tileloom {

/// What a compilation can yield, in the order in which it is made.
enum class Artifact : unsigned {
  Tile,   ///< the program as it was read, verified
  Warp,   ///< IR after the warp stage
  NV,     ///< IR after the nv stage
  LLVM,   ///< IR in the LLVM and NVVM dialects
  Recipe, ///< launch recipe, JSON (docs/recipe.md)
  LLVMIR, ///< LLVM IR after optimisation
  PTX,
  Cubin,
};
inline constexpr unsigned artifactCount = 8;

/// "ptx", the file name extension. Stages have two parts: "warp.mlir".
llvm::StringRef artifactExtension(Artifact artifact);
std::optional<Artifact> lookupArtifact(llvm::StringRef name);

class ArtifactSet {
public:
  void insert(Artifact artifact) { bits |= 1u << static_cast<unsigned>(artifact); }
  bool contains(Artifact artifact) const { return bits >> static_cast<unsigned>(artifact) & 1; }
  bool empty() const { return bits == 0; }
  /// True if something made at or after `artifact` is in the set.
  bool reaches(Artifact artifact) const { return bits >> static_cast<unsigned>(artifact) != 0; }

private:
  unsigned bits = 0;
};

struct CompileOptions {
  const Chip *chip = nullptr;
  ArtifactSet emit;
  bool report = false;          ///< fill in CompileResult::reportJson; runs ptxas if there is one
  bool cubinIfPossible = false; ///< a cubin too, unless there is no ptxas
  bool werrorPtxas = false;     ///< spills and C75xx/C76xx messages are errors; needs ptxas
  bool lineInfo = false;        ///< .loc lines in the PTX and the cubin
  bool verifyEachPass = true;   ///< verify the IR after every pass, not only after every stage
  std::string schedule;         ///< #tile.schedule<...> for the tile kernels, over what they have
  BackendOptions backend;
  PtxasOptions ptxas;
  std::string
      saveTemps; ///< directory for everything that is made on the way, even if a later stage fails
  std::string stem; ///< base name of those files
  /// Called on each stage's pass manager before it runs (printing, timing, reproducers).
  std::function<mlir::LogicalResult(mlir::PassManager &)> configure;
};

struct CompileResult {
  std::array<std::string, artifactCount> artifacts; ///< those asked for; others may be empty
  std::string reportJson;
  PtxasResult ptxas;
  bool ptxasRan = false;
  StageTimes times;

  const std::string &get(Artifact artifact) const {
    return artifacts[static_cast<unsigned>(artifact)];
  }
};

/// Compiles `source`. `name` is the file name of locations in diagnostics. On failure `result`
/// holds what was made before.
mlir::LogicalResult compileSource(llvm::StringRef source, llvm::StringRef name,
                                  mlir::MLIRContext &context, const CompileOptions &options,
                                  CompileResult &result);

/// The same for a module that is already there; it is changed in place.
mlir::LogicalResult compileModule(mlir::ModuleOp module, const CompileOptions &options,
                                  CompileResult &result);

} // namespace tileloom

#endif // TILELOOM_DRIVER_COMPILE_H
