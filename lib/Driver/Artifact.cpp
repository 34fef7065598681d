//===- Artifact.cpp - Names of what a compilation yields -----------------------------------===//
//
// One table: the name on the command line and the extension of the file.
//
//===--------------------------------------------------------------------------------------===//

#include "tileloom/Driver/Compile.h"

namespace tileloom {

static constexpr struct {
  llvm::StringLiteral name, extension;
} artifactTable[artifactCount] = {
    {"tile", "tile.mlir"}, {"warp", "warp.mlir"}, {"nv", "nv.mlir"}, {"llvm", "llvm.mlir"},
    {"recipe", "json"},    {"llvmir", "ll"},      {"ptx", "ptx"},    {"cubin", "cubin"},
};

llvm::StringRef artifactExtension(Artifact artifact) {
  return artifactTable[static_cast<unsigned>(artifact)].extension;
}

std::optional<Artifact> lookupArtifact(llvm::StringRef name) {
  for (unsigned i = 0; i < artifactCount; ++i)
    if (artifactTable[i].name == name)
      return static_cast<Artifact>(i);
  return std::nullopt;
}

} // namespace tileloom
