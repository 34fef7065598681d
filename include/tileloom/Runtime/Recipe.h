//===- Recipe.h - The launch recipe, parsed -------------------------------===//
//
// The data of docs/recipe.md after parsing. Everything that does not depend on the arguments is
// checked by the parser (indices, box sizes, swizzle widths, cluster sizes, ...), so the launch
// path only looks at the arguments. Parameters carry their place in the parameter space: PTX aligns
// each to its own size, a tensor map to 64 bytes (PTX ISA 5.5.8).
//
//===----------------------------------------------------------------------===//
#ifndef TILELOOM_RUNTIME_RECIPE_H
#define TILELOOM_RUNTIME_RECIPE_H

#include "tileloom/Runtime/Element.h"
#include "tileloom/Runtime/Expression.h"
#include <string>
#include <vector>

namespace tileloom::runtime {

/// An extent or stride that the kernel was specialised for; negative means any.
using FixedValue = int64_t;

struct ArgumentSpec {
  std::string name;
  std::string location; ///< "file:line:column", or empty
  TileloomArgumentKind kind = TILELOOM_POINTER;
  Element element = TILELOOM_I8;
  unsigned rank = 0;               ///< tensors
  std::vector<FixedValue> shape;   ///< tensors: required extents (empty: any)
  std::vector<FixedValue> strides; ///< tensors: required strides (empty: any)
  uint64_t divisible = 1;          ///< scalars: the value; tensors and pointers: the address
};

/// How to make one tensor map, apart from the tensor itself.
struct TensorMapSpec {
  Element element = TILELOOM_I8;
  std::vector<unsigned> axes; ///< tensor axis of each map dimension, innermost first
  /// The fields that do not depend on the argument: box, rank, types and modes.
  TileloomTensorMap fixed = {};
  unsigned addressAlignment = 16;
  unsigned strideAlignment = 16;
  unsigned innerMultiple = 1; ///< extent of dimension 0 must be a multiple of this
};

/// Of one workspace.
inline constexpr int64_t mostWorkspaceBytes = INT64_C(1) << 40;

struct ParameterSpec {
  enum class Kind : uint8_t { TensorMap, Argument, Dimension, Stride, Workspace };
  Kind kind = Kind::Argument;
  unsigned argument = 0;
  unsigned axis = 0;
  unsigned offset = 0;
  unsigned size = 8;
  Expression workspaceBytes;
  bool zero = false;
  TensorMapSpec map;
};

struct GridSpec {
  bool persistent = false;
  bool given = false; ///< by the caller, at the launch
  unsigned packed = 1; ///< programs of `threads` that a CTA holds at most, a power of two
  unsigned perMultiprocessor = 1;
  int32_t margin = 0; ///< multiprocessors that a persistent kernel leaves to others
  std::vector<Expression> extents; ///< tiles if persistent; otherwise x, y, z
};

/// The target of the kernel, "sm_90a": `suffix` is 0, 'a' (exactly this device) or 'f' (this
/// family).
struct TargetSpec {
  std::string name;
  int major = 0;
  int minor = 0;
  char suffix = 0;
};

struct Recipe {
  std::string kernel;
  TargetSpec target;
  std::vector<ArgumentSpec> arguments;
  std::vector<ParameterSpec> parameters;
  GridSpec grid;
  unsigned threads = 0;
  unsigned cluster[3] = {1, 1, 1};
  unsigned sharedBytes = 0;
  bool cooperative = false;
  bool dependent = false;

  unsigned parameterBytes = 0;

  unsigned clusterSize() const { return cluster[0] * cluster[1] * cluster[2]; }

  static llvm::Expected<Recipe> parse(llvm::StringRef json);
};

} // namespace tileloom::runtime
#endif // TILELOOM_RUNTIME_RECIPE_H
